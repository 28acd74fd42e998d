//! Public events of agents that are asked.

use serde_json::Value;

use crate::domain::{AgentId, Answer, AskId, GradeGiven, Probe, Purpose, TaskId, Timestamp};
use crate::engine::{AskEvent, DeferralReason, Event, TaskEvent, TurnEvent};
use crate::mission::model::Remedy;
use crate::report::ids::task_key;

use super::explode::{Exploder, Named};
use super::ledgers::no_progress;
use super::payload::{Payload, file, findings_of, scores, tool_ledger, with_answers};

impl Exploder {
    /// The public events of a call to an agent that is asked.
    pub(super) fn ask_event(&mut self, event: &Event, rest: &[Event]) -> Vec<Named> {
        let mut named = self.work_event(event, rest);
        if let Event::Ask(
            id,
            AskEvent::Requested {
                purpose: Purpose::Resolve { dependency },
                ..
            },
        ) = event
            && id.attempt_try == 1
        {
            named.push(("deadlock:resolving", self.failed_dependency(id.task, *dependency)));
        }
        named
    }

    /// The public event of what holds a task up: a question, a pause.
    pub(super) fn waiting_event(&self, event: &Event) -> Named {
        match event {
            Event::Task(
                task,
                TaskEvent::Question {
                    question,
                    detected,
                    call,
                },
            ) => match call {
                None => {
                    let payload = self.task(*task).with("question", question.as_str());
                    ("task:question", payload.with("detected", *detected))
                }
                Some(_) => ("tool:asked", self.task(*task).with("call", question.as_str())),
            },
            Event::Task(task, TaskEvent::Answered { answer, by, .. }) => {
                let payload = self.task(*task).with("answer", answer.as_str());
                ("task:answered", payload.with("by", by.as_str()))
            }
            Event::Task(task, TaskEvent::Deferred(deferral)) => {
                let name = match deferral.why {
                    DeferralReason::Window => "task:window",
                    DeferralReason::BackOff => "task:backoff",
                    DeferralReason::Slot => return ("task:queued", self.task(*task)),
                };
                let payload = self.task(*task).with("until", deferral.until.to_rfc3339());
                (name, payload.with("message", deferral.message.as_str()))
            }
            Event::Task(task, TaskEvent::Released) => ("task:released", self.task(*task)),
            Event::Turn(turn, TurnEvent::AuthorityCues { cues, result }) => {
                let place = if *result { "result" } else { "prompt" };
                let payload = self.turn(*turn).with("cues", *cues);
                ("authority:cues", payload.with("in", place))
            }
            Event::Task(task, TaskEvent::DelegationDrift { stored, now }) => {
                let payload = self.task(*task).with("storedHash", stored.to_string());
                ("delegation:drift", payload.with("chainHash", now.to_string()))
            }
            Event::Task(task, TaskEvent::NoProgress { waves }) => {
                let payload = self.task(*task).with("kind", "no_progress");
                ("task:escalated", payload.with("evidence", no_progress(*waves)))
            }
            Event::Turn(turn, TurnEvent::Escalated { broken }) => {
                let payload = self.turn(*turn).with("kind", broken.kind.as_str());
                (
                    "task:escalated",
                    payload.with("evidence", broken.evidence.as_str()),
                )
            }
            _ => unreachable!("name() sends only events of waiting tasks here"),
        }
    }

    /// The public event of a dependency that failed, and of what becomes of the task that waits for it.
    pub(super) fn dependency_event(&self, event: &Event) -> Named {
        match event {
            Event::Task(task, TaskEvent::DeadlockDetected { dependency }) => {
                let payload = self.failed_dependency(*task, *dependency);
                let tasks = vec![task_key(*task)];
                let resolvable = u32::from(self.is_resolvable(*task));
                (
                    "deadlock:detected",
                    payload.with("taskIds", tasks).with("resolvableCount", resolvable),
                )
            }
            Event::Task(
                task,
                TaskEvent::DependencyResolved {
                    dependency,
                    way,
                    note,
                },
            ) => {
                let payload = self.failed_dependency(*task, *dependency);
                let payload = payload.with("action", way.as_str());
                ("deadlock:resolved", payload.with("reason", note.as_str()))
            }
            Event::Task(task, TaskEvent::DependencyFailed { dependency }) => {
                let title = &self.plan().task(*dependency).title;
                let payload = self.failed_dependency(*task, *dependency);
                (
                    "deadlock:unresolvable",
                    payload.with("reason", format!("dependency '{title}' failed")),
                )
            }
            _ => unreachable!("name() sends only events of failed dependencies here"),
        }
    }

    pub(super) fn failed_dependency(&self, task: TaskId, dependency: TaskId) -> Payload {
        self.task(task).with("failedDepId", task_key(dependency))
    }

    /// Whether anything but skipping can be tried for a task.
    fn is_resolvable(&self, task: TaskId) -> bool {
        let rules = &self.plan().rules;
        let own = self.plan().task(task).on_dependency_failed;
        let order = own.unwrap_or(rules.on_dependency_failed);
        order.iter().any(|remedy| match remedy {
            Remedy::Skip => false,
            Remedy::Resolve => rules.orchestrator.is_some(),
            Remedy::Artifacts | Remedy::Partial => true,
        })
    }

    /// What is told of a call to an agent that is asked.
    pub(super) fn ask_details(&self, event: &Event) -> Payload {
        match event {
            Event::Ask(
                id,
                AskEvent::Requested {
                    purpose,
                    agent,
                    strict,
                    not_before,
                },
            ) => {
                let payload = self.ask(*id, *purpose, *agent);
                let payload = payload.maybe("failedDepId", purpose.dependency().map(task_key));
                let payload = payload.maybe("name", purpose.step().map(|step| self.step_name(id.task, step)));
                // The round of a seat is in its place.
                let round = purpose.round().filter(|_| purpose.seat().is_none());
                let payload = payload.maybe("round", round);
                let payload = payload.maybe("strict", strict.as_deref());
                payload.maybe("notBefore", not_before.map(Timestamp::to_rfc3339))
            }
            Event::Ask(
                id,
                AskEvent::Replied {
                    purpose,
                    agent,
                    reply,
                    answer,
                },
            ) => {
                let payload = self.ask(*id, *purpose, *agent);
                let payload = payload.maybe("model", reply.model.as_deref());
                let payload = payload.usage(&reply.usage).with("reply", file(&reply.file));
                let payload = payload.maybe("tools", reply.tools.as_deref().map(tool_ledger));
                let payload = payload.maybe("judgement", reply.judgement.as_deref().map(file));
                answered(payload, answer)
            }
            Event::Ask(
                id,
                AskEvent::Failed {
                    purpose,
                    agent,
                    gave_up,
                    class,
                    message,
                    used,
                    until,
                    ..
                },
            ) => {
                let payload = self.ask(*id, *purpose, *agent).failure(*class, Some(message));
                let payload = payload.maybe("until", until.map(Timestamp::to_rfc3339));
                let payload = payload.used(used.as_deref());
                payload.with("final", *gave_up)
            }
            _ => unreachable!("details() sends only events of asks here"),
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
