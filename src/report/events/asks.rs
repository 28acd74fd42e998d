//! What is told of calls to agents that are asked.

use serde_json::Value;

use crate::domain::{AgentId, Answer, AskId, GradeGiven, Probe, Purpose, TaskId, Timestamp};
use crate::engine::AskEvent;
use crate::mission::model::Remedy;
use crate::report::ids::task_key;

use super::expander::EventExpander;
use super::payload::{Payload, file, findings_of, scores, tool_ledger, with_answers};

impl EventExpander {
    pub(super) fn failed_dependency(&self, task: TaskId, dependency: TaskId) -> Payload {
        self.task(task).with("failedDepId", task_key(dependency))
    }

    /// Whether anything but skipping can be tried for a task.
    pub(super) fn is_resolvable(&self, task: TaskId) -> bool {
        let rules = &self.plan().rules;
        let own = self.plan().task(task).on_dependency_failed;
        let order = own.unwrap_or(rules.settings.on_dependency_failed);
        order.iter().any(|remedy| match remedy {
            Remedy::Skip => false,
            Remedy::Resolve => rules.orchestrator.is_some(),
            Remedy::Artifacts | Remedy::Partial => true,
        })
    }

    /// What is told of a call to an agent that is asked.
    pub(super) fn ask_details(&self, id: AskId, of: &AskEvent) -> Payload {
        match of {
            AskEvent::Requested {
                purpose,
                agent,
                strict,
                not_before,
            } => {
                let payload = self.ask(id, *purpose, *agent);
                let payload = payload.maybe("failedDepId", purpose.dependency().map(task_key));
                let payload = payload.maybe("name", purpose.step().map(|step| self.step_name(id.task, step)));
                // The round of a seat is in its place.
                let round = purpose.round().filter(|_| purpose.seat().is_none());
                let payload = payload.maybe("round", round);
                let payload = payload.maybe("strict", strict.as_deref());
                payload.maybe("notBefore", not_before.map(Timestamp::to_rfc3339))
            }
            AskEvent::Replied {
                purpose,
                agent,
                reply,
                answer,
            } => {
                let payload = self.ask(id, *purpose, *agent);
                let payload = payload.maybe("model", reply.model.as_deref());
                let payload = payload.usage(&reply.usage).with("reply", file(&reply.file));
                let payload = payload.maybe("tools", reply.tools.as_deref().map(tool_ledger));
                let payload = payload.maybe("judgement", reply.judgement.as_deref().map(file));
                answered(payload, answer)
            }
            AskEvent::Failed {
                purpose,
                agent,
                gave_up,
                class,
                message,
                used,
                until,
                ..
            } => {
                let payload = self.ask(id, *purpose, *agent).failure(*class, Some(message));
                let payload = payload.maybe("until", until.map(Timestamp::to_rfc3339));
                let payload = payload.used(used.as_deref());
                payload.with("final", *gave_up)
            }
            AskEvent::HandedOver { .. } => Payload::default(),
        }
    }

    fn ask(&self, id: AskId, purpose: Purpose, agent: AgentId) -> Payload {
        let payload = self.task(id.task);
        let payload = match purpose.seat() {
            Some(place) => payload
                .with("attempt", place.attempt)
                .with("round", place.round)
                .with("seat", place.seat),
            None => payload.with("ask", id.number),
        };
        payload
            .with("try", id.attempt_try)
            .with("agentName", self.agent_name(agent))
    }
}

/// Probes, by the number of their criterion.
pub(super) fn probe_rows(probes: &[Probe]) -> Vec<Value> {
    let row = |probe: &Probe| serde_json::json!({"criterion": probe.criterion, "probe": probe.text});
    probes.iter().map(row).collect()
}

/// What was said, in the words it was asked for.
fn answered(payload: Payload, answer: &Answer) -> Payload {
    if let Answer::Unreadable { why, excerpt, .. } = answer {
        let payload = payload.with("parsed", false).with("reason", why.as_str());
        return payload.with("excerpt", excerpt.as_str());
    }
    let payload = payload.with("parsed", true);
    match answer {
        Answer::Scores {
            dimensions,
            findings,
            prior,
        } => with_answers(payload, prior)
            .with("scores", scores(dimensions))
            .with("findings", findings_of(findings)),
        Answer::Evaluation {
            points,
            reasoning,
            findings,
            prior,
        } => with_answers(payload, prior)
            .with("points", points.to_f64())
            .with("reasoning", reasoning.as_str())
            .with("findings", findings_of(findings)),
        Answer::Probes(probes) => payload.with("probes", probe_rows(probes)),
        Answer::Grades(reply) => {
            let grade = |given: &GradeGiven| {
                let row = Payload::default().with("criterion", given.criterion.as_str());
                let row = row.with("points", given.points.to_f64());
                Value::Object(row.with("reasoning", given.reasoning.as_str()).0)
            };
            let grades: Vec<_> = reply.grades.iter().map(grade).collect();
            payload
                .with("verdict", serde_json::json!(reply.verdict))
                .with("confidence", reply.confidence.to_f64() / 100.0)
                .with("grades", grades)
        }
        Answer::Opinion(opinion) => payload
            .with("verdict", serde_json::json!(opinion.verdict))
            .with("reason", opinion.reason.as_str())
            .with("findings", findings_of(&opinion.findings)),
        Answer::Findings(report) => payload
            .with("findings", findings_of(&report.findings))
            .maybe("unread", report.unread.as_deref()),
        short => match short.short() {
            Some(Value::Object(form)) => payload.extend(Payload(form)),
            _ => payload,
        },
    }
}
