//! The spans of a run for OpenTelemetry (semantics, section 20, traces): folded from the journal alone, so that each session tells
//! the same ones by the same ids.

use std::collections::HashMap;

use serde_json::{Value, json};

use rules::{
    domain::{
        AgentId, AskId, OutcomeClass, Points, RUN_SPAN, RunId, Stage, TaskId, Timestamp, TraceParent, TurnId,
        Verdict, call_span, turn_span,
    },
    engine::{
        AskEvent, AskReply, Event, Job, JobEnd, RunEvent, StageReport, State, TaskEvent, TurnEvent, Usage,
        WorkEvent,
    },
    mission::model::Adapter,
    plan::PlanStep,
};

/// An attribute: its key and its value.
pub type Attribute = (&'static str, Value);

/// Something that took time.
#[derive(Debug)]
pub struct TraceSpan {
    pub id: String,
    pub parent: Option<String>,
    pub name: String,
    pub start: Timestamp,
    pub end: Timestamp,
    pub attributes: Vec<Attribute>,
    /// The verdicts on it.
    pub events: Vec<SpanEvent>,
    /// Whether it ended well; `None` where nobody can tell.
    pub is_ok: Option<bool>,
}

/// A moment in a span.
#[derive(Debug)]
pub struct SpanEvent {
    pub at: Timestamp,
    pub name: &'static str,
    pub attributes: Vec<Attribute>,
}

/// The spans of one run.
pub struct Spans {
    trace: TraceParent,
    run: RunId,
    /// Whether words about the work are told.
    content: bool,
    /// What has ended since the last session ended in order: what sessions before it ended, they have told.
    ended: Vec<TraceSpan>,
    turns: HashMap<TurnId, TraceSpan>,
    calls: HashMap<AskId, TraceSpan>,
    /// The last turn of each task: what verdicts are about.
    last_turns: HashMap<TaskId, TurnId>,
    /// The agents that go on with a task instead of the one that the mission names.
    instead: HashMap<TaskId, AgentId>,
    start: Option<Timestamp>,
    end: Timestamp,
    outcome: Option<OutcomeClass>,
}

impl Spans {
    /// Before the first event.
    pub fn new(run: RunId, trace: TraceParent, content: bool) -> Self {
        Self {
            trace,
            run,
            content,
            ended: Vec::new(),
            turns: HashMap::new(),
            calls: HashMap::new(),
            last_turns: HashMap::new(),
            instead: HashMap::new(),
            start: None,
            end: Timestamp::default(),
            outcome: None,
        }
    }

    /// The trace that they belong to.
    pub fn trace(&self) -> &str {
        self.trace.trace()
    }

    /// Takes in the events of a record.
    pub fn take(&mut self, state: &State, at: Timestamp, events: &[Event]) {
        self.start.get_or_insert(at);
        self.end = at;
        for event in events {
            if let (Some(task), Some(PlanStep::HandedOver { to, .. })) = (event.task(), event.plan_step()) {
                self.instead.insert(task, to);
            }
            match event {
                Event::Run(RunEvent::Resumed(_)) if self.outcome.take().is_some() => self.ended.clear(),
                Event::Run(RunEvent::Finished { outcome, .. }) => self.outcome = Some(*outcome),
                Event::Turn(turn, event) => self.take_turn(state, at, *turn, event),
                Event::Ask(id, event) => self.take_call(state, at, *id, event),
                Event::Work(
                    task,
                    WorkEvent::Ended { job: Job::Check(number), end: JobEnd::Checked(result) },
                ) => {
                    let name = format!("check {}", number + 1);
                    let what = format!("check {}.{}.{number}", task.0, state.task(*task).attempt.number);
                    let start = Timestamp(at.0.saturating_sub(result.duration.0));
                    let mut span = self.span(&what, format!("run_step {name}"), start);
                    span.attributes.extend([
                        ("gen_ai.operation.name", json!("run_step")),
                        ("gen_ai.step.name", json!(name)),
                        ("quorum.task", json!(state.plan.title(*task))),
                    ]);
                    if self.content {
                        span.attributes.push(("quorum.output", json!(result.message)));
                    }
                    self.close(span, at, (!result.passed).then_some("check_failed"));
                }
                Event::Task(_, TaskEvent::StageVerdict(report)) => self.take_verdict(at, report),
                _ => {}
            }
        }
    }

    fn take_turn(&mut self, state: &State, at: Timestamp, turn: TurnId, event: &TurnEvent) {
        match event {
            TurnEvent::Started(_) => {
                let named = state.plan.task(turn.task).agent;
                let agent = self.instead.get(&turn.task).copied().unwrap_or(named);
                let mut span = self.invocation(state, &turn_span(turn), agent, turn.task, at);
                span.attributes.push(("quorum.attempt", json!(turn.attempt)));
                self.turns.insert(turn, span);
                self.last_turns.insert(turn.task, turn);
            }
            TurnEvent::Finished(end) => {
                if let Some(mut span) = self.turns.remove(&turn) {
                    used(&mut span, end.usage, end.model.as_deref());
                    self.close(span, at, end.exit.failure.map(|class| class.error_type()));
                }
            }
            TurnEvent::Lost => {
                if let Some(span) = self.turns.remove(&turn) {
                    self.close(span, at, Some("lost"));
                }
            }
            _ => {}
        }
    }

    fn take_call(&mut self, state: &State, at: Timestamp, id: AskId, event: &AskEvent) {
        match event {
            AskEvent::Requested { purpose, agent, .. } => {
                let mut span = self.invocation(state, &call_span(id), *agent, id.task, at);
                span.attributes.push(("quorum.purpose", json!(purpose.as_str())));
                self.calls.insert(id, span);
            }
            AskEvent::Replied(AskReply { reply, answer, .. }) => {
                if let Some(mut span) = self.calls.remove(&id) {
                    used(&mut span, reply.usage, reply.model.as_deref());
                    self.close(span, at, answer.unreadable().map(|_| "unreadable"));
                }
            }
            AskEvent::Failed { class, .. } => {
                if let Some(span) = self.calls.remove(&id) {
                    self.close(span, at, Some(class.error_type()));
                }
            }
            AskEvent::HandedOver { .. } => {}
        }
    }

    /// Puts a verdict on the turn that is judged. A stage that says neither pass nor fail has no score, and no good label.
    fn take_verdict(&mut self, at: Timestamp, report: &StageReport) {
        let Some(turn) = self.last_turns.get(&report.task) else {
            return;
        };
        let id = self.trace.span_of(&turn_span(*turn));
        let open = self.turns.get_mut(turn);
        let Some(span) = open.or_else(|| self.ended.iter_mut().rev().find(|span| span.id == id)) else {
            return;
        };
        let name = match &report.name {
            Some(name) => format!("{}/{name}", Stage::Stages.as_str()),
            None => report.stage.as_str().to_owned(),
        };
        let label = match report.verdict {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Refer | Verdict::Fault => "indeterminate",
            Verdict::Skip => return,
        };
        let score = report.points.filter(|_| label != "indeterminate");
        let mut event = evaluation(at, &name, score, Some(label));
        if label == "indeterminate" {
            let cause = report.cause.map_or("indeterminate", |cause| cause.as_str());
            event.attributes.push(("error.type", json!(cause)));
        }
        if self.content {
            let found = report.findings.iter().map(|finding| finding.description.as_str());
            let words: Vec<&str> = report.reason.as_deref().into_iter().chain(found).collect();
            event.attributes.push(("gen_ai.evaluation.explanation", json!(words.join("\n"))));
        }
        span.events.push(event);
        for scored in &report.dimensions {
            span.events.push(evaluation(
                at,
                &format!("{name}/{}", scored.dimension),
                Some(scored.points),
                None,
            ));
        }
    }

    /// All that has ended, with the run itself as the last one.
    pub fn finish(mut self, state: &State) -> Vec<TraceSpan> {
        let root = self.trace.span_of(RUN_SPAN);
        let mission = &*state.plan.name;
        let mut span =
            self.span(RUN_SPAN, format!("invoke_workflow {mission}"), self.start.unwrap_or_default());
        span.parent = self.trace.parent().map(str::to_owned);
        span.id = root;
        let is_ok = self.outcome == Some(OutcomeClass::Ok);
        span.attributes.extend([
            ("gen_ai.operation.name", json!("invoke_workflow")),
            ("gen_ai.workflow.name", json!(mission)),
            ("cicd.pipeline.run.id", json!(self.run.as_str())),
            ("cicd.pipeline.result", json!(if is_ok { "success" } else { "failure" })),
        ]);
        if let Some(outcome) = self.outcome {
            span.attributes.push(("quorum.outcome", json!(outcome.as_str())));
            span.attributes.push(("quorum.exit_code", json!(outcome.exit_code())));
        }
        let error = match self.outcome {
            Some(OutcomeClass::Ok) => None,
            Some(outcome) => Some(outcome.as_str()),
            None => Some("not_ended"),
        };
        let end = self.end;
        self.close(span, end, error);
        self.ended
    }

    fn span(&self, what: &str, name: String, start: Timestamp) -> TraceSpan {
        TraceSpan {
            id: self.trace.span_of(what),
            parent: Some(self.trace.span_of(RUN_SPAN)),
            name,
            start,
            end: start,
            attributes: vec![("gen_ai.conversation.id", json!(self.run.as_str()))],
            events: Vec::new(),
            is_ok: None,
        }
    }

    fn invocation(
        &self,
        state: &State,
        what: &str,
        agent: AgentId,
        task: TaskId,
        at: Timestamp,
    ) -> TraceSpan {
        let (name, spec) = (state.plan.agent_name(agent), &state.plan.agent(agent).spec);
        let mut span = self.span(what, format!("invoke_agent {name}"), at);
        span.attributes.extend([
            ("gen_ai.operation.name", json!("invoke_agent")),
            ("gen_ai.agent.name", json!(name)),
            ("quorum.task", json!(state.plan.title(task))),
        ]);
        let provider = provider(*spec.adapter).map(|provider| ("gen_ai.provider.name", json!(provider)));
        let model = spec.model.as_ref().map(|model| ("gen_ai.request.model", json!(model)));
        span.attributes.extend(provider.into_iter().chain(model));
        span
    }

    fn close(&mut self, mut span: TraceSpan, at: Timestamp, error: Option<&'static str>) {
        span.end = at;
        span.is_ok = Some(error.is_none());
        span.attributes.extend(error.map(|error| ("error.type", json!(error))));
        self.ended.push(span);
    }
}

/// A verdict, or a score, as the conventions name it.
fn evaluation(at: Timestamp, name: &str, score: Option<Points>, label: Option<&str>) -> SpanEvent {
    let mut attributes = vec![("gen_ai.evaluation.name", json!(name))];
    attributes.extend(score.map(|points| ("gen_ai.evaluation.score.value", json!(points.to_f64()))));
    attributes.extend(label.map(|label| ("gen_ai.evaluation.score.label", json!(label))));
    SpanEvent { at, name: "gen_ai.evaluation.result", attributes }
}

fn used(span: &mut TraceSpan, usage: Usage, model: Option<&str>) {
    let tokens = [
        ("gen_ai.usage.input_tokens", usage.input_tokens),
        ("gen_ai.usage.output_tokens", usage.output_tokens),
    ];
    let known = tokens.into_iter().filter_map(|(key, count)| Some((key, json!(count?))));
    span.attributes.extend(known);
    span.attributes.extend(model.map(|model| ("gen_ai.response.model", json!(model))));
}

/// The provider by the name that the conventions have for it; `None` where an adapter does not say.
fn provider(adapter: Adapter) -> Option<&'static str> {
    match adapter {
        Adapter::Openai | Adapter::Codex => Some("openai"),
        Adapter::Anthropic | Adapter::Claude => Some("anthropic"),
        Adapter::GeminiApi | Adapter::Gemini => Some("gcp.gemini"),
        Adapter::Ollama => Some("ollama"),
        _ => None,
    }
}
