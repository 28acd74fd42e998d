//! A world for the engine: performs effects by asking a script, keeps the journal, checks every transition.
//!
//! | file | what |
//! |---|---|
//! | `consistency` | what holds of every state, however it came about |
//! | `inputs` | the facts that answer an effect |
//! | `random` | random missions, options and answers |

#![allow(clippy::unwrap_used, reason = "only tests use it, and one that unwraps in vain is red")]

pub mod consistency;
mod inputs;
pub mod random;

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{
    Addressed, Answer, Assumption, BrokenAssumption, CriterionGrade, DeclaredVerdict, Digest, DimensionScore,
    FailureClass, Finding, FindingsReport, Millis, Opinion, Points, PriorAnswer, Purpose, QualityFlag, RunId,
    SeatPlace, Severity, Status, Timestamp, TurnId,
};
use crate::engine::state::{Ask, Lifecycle, TaskState};
use crate::engine::timers::Timer;
use crate::engine::{
    ApproverSaid, AskFailure, Asked, AuditEvidence, AuditReport, CheckResult, Effect, Event, Exit, FORMAT,
    Fact, FileFact, FileRef, Job, LaterSession, Looks, Prompt, RULES, ReplyRef, RunPhase, RunStarted, State,
    SupervisorRef, ToolCalls, TurnEnd, TurnFiles, Undelivered, Usage, apply, decide, effects, legal_only,
    may_be_made, pending_effects, prior_points,
};
use crate::mission::load;
use crate::mission::{Layers, Source};
use crate::plan::{Plan, RunOptions, SubTask, compile};

pub use inputs::inputs;
pub use inputs::{report_of, silence};

impl Fact {
    /// A session goes on with these options, and takes over nothing.
    pub fn resume(options: RunOptions) -> Self {
        Self::Resume(Box::new(LaterSession {
            delivers: false,
            options,
            supervisor: SupervisorRef::default(),
            rules: RULES,
            kept: Vec::new(),
            last: None,
        }))
    }
}

impl From<Status> for Lifecycle {
    /// Where a task stands that came there at once; what is done is clean.
    fn from(status: Status) -> Self {
        Self::default().next(status, None, (None, Some(QualityFlag::Clean)))
    }
}

impl TaskState {
    /// Has it stand somewhere, whatever led there.
    pub fn put_at(&mut self, status: Status) {
        self.lifecycle = status.into();
    }

    /// What a seat of the round that is out is asked.
    pub fn ask_of_seat(&self, seat: u32) -> Option<&Ask> {
        let round = self.judging()?.round;
        let is_meant = |place: SeatPlace| {
            place.attempt == self.attempt.number && place.round == round && place.seat == seat
        };
        let mut asks = self.work.asks.iter();
        asks.find(|open| open.purpose.seat().is_some_and(is_meant))
    }
}

impl State {
    /// The timer that is due next. A session that does not work waits for none.
    pub fn next_timer(&self) -> Option<(Timestamp, Timer)> {
        self.timers.iter().next().filter(|_| self.phase == RunPhase::Running)
    }
}

/// What a script answers to one effect.
#[derive(Debug, Clone)]
pub enum Response {
    /// The turn finished as it should.
    Finished,
    /// The turn finished, and this is what it did to files.
    Did(TurnFiles),
    /// The turn finished, and the agent wants to hand down these.
    HandsDown(Vec<SubTask>),
    /// The turn finished, and this is what its adapter's ledger shows.
    Called(ToolCalls),
    /// The files are there, and the answer stands for no work.
    Hollow,
    AgentFailed(FailureClass),
    /// The process or request never came to be.
    NeverStarted(FailureClass),
    /// The runner interrupted the turn.
    Interrupted,
    /// Files: size of every file that was asked for, `None` for missing. The number marks the content.
    Files(Option<u64>, u64),
    /// Something stands where screenshots should be that cannot be looked at.
    Obstacle,
    /// An audit sees what this number makes of files and checks; any other answer, that everything stands.
    Audit(u64),
    /// Others were accepted meanwhile: their work is in the folder now, and nothing is merged.
    BesideOthers,
    /// Others changed the same.
    Conflict,
    /// A check passed or failed.
    Check(bool),
    /// Protected files were changed while it was at work: still, or put back; by itself, or perhaps by others.
    Void {
        /// Whether they still are.
        changed: bool,
        /// Whether others worked.
        shared: bool,
    },
    /// What each check said before the work, two bits a check: 0 red, 1 green, 2 unknown, 3 red because it never ran.
    Before(u64),
    /// A reviewer gave this score, in points, to every dimension or as the evaluation.
    Score(u8),
    /// A reviewer's reply could not be read.
    Unreadable,
    /// A reviewer could not be reached.
    Unreachable(FailureClass),
    /// A reviewer was never asked: what it was to be asked could not be written.
    NeverAsked,
    /// The turn finished with this.
    Asks(Asked),
    /// The turn finished, and its agent says that what it was told does not hold, and perhaps asks something.
    Escalates(Option<Asked>),
    /// An agent that is asked said this.
    Answer(Answer),
    /// The same, and its provider says that it used this model.
    AnswerOf(&'static str, Answer),
}

/// What a stage says, with this verdict.
pub fn opinion(verdict: DeclaredVerdict) -> Answer {
    Answer::Opinion(Box::new(Opinion {
        verdict,
        reason: "because".to_owned(),
        findings: Vec::new(),
        prior: Vec::new(),
    }))
}

pub fn plan_of(yaml: &str, options: &RunOptions) -> Arc<Plan> {
    let loaded = load(&Source::new("mission.yaml", yaml), &Layers::default());
    let loaded = loaded.unwrap_or_else(|report| {
        panic!("{}\n{yaml}", report.render(crate::mission::DiagnosticStyle::default()))
    });
    Arc::new(compile(loaded.mission, options))
}

pub struct Simulation {
    pub state: State,
    pub journal: Vec<Vec<Event>>,
    pub todo: VecDeque<Effect>,
    /// Turns that were started, in order: what must never be repeated blindly.
    pub turns: Vec<TurnId>,
    /// Turns that were taken over from an earlier session.
    pub adopted: BTreeSet<TurnId>,
    /// The moment of the last decision.
    pub now: u64,
    /// Whether the script says what checks said before the work; else they were red.
    pub asks_before: bool,
}

impl Simulation {
    /// How many such events happened.
    pub fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.journal.iter().flatten().filter(|event| wanted(event)).count()
    }

    pub fn new(yaml: &str, options: RunOptions) -> Self {
        Self::of_state(State::new(plan_of(yaml, &options)), options)
    }

    /// A run that begins from this state.
    pub fn of_state(state: State, options: RunOptions) -> Self {
        let mut simulation = Self {
            state,
            journal: Vec::new(),
            todo: VecDeque::new(),
            turns: Vec::new(),
            adopted: BTreeSet::new(),
            now: 1,
            asks_before: false,
        };
        simulation.feed(&Fact::Start(Box::new(RunStarted {
            format: FORMAT,
            rules: crate::engine::RULES,
            version: "0".to_owned(),
            run_id: RunId::new("r").unwrap(),
            mission_digest: Digest::of(b""),
            mission_path: None,
            options,
            supervisor: SupervisorRef::default(),
            origin: None,
        })));
        simulation
    }

    /// What a restarted runner knows: the journal, folded.
    pub fn recovered(plan: Arc<Plan>, journal: &[Vec<Event>]) -> Self {
        let mut state = State::new(plan);
        for event in journal.iter().flatten() {
            apply(&mut state, event);
        }
        Self {
            state,
            journal: journal.to_vec(),
            todo: VecDeque::new(),
            turns: Vec::new(),
            adopted: BTreeSet::new(),
            now: 1_000_000,
            asks_before: false,
        }
    }

    /// The turns in flight.
    pub fn running(&self) -> Vec<TurnId> {
        let ids = self.state.plan.task_ids();
        let running = ids.filter(|id| self.state.task(*id).work.turn.is_some());
        running.map(|id| self.state.current_turn(id)).collect()
    }

    pub fn resume(&mut self) {
        self.resume_keeping(&[]);
    }

    /// Resumes while these turns still work. How they end, the script says, as for one that was started.
    pub fn resume_keeping(&mut self, kept: &[TurnId]) {
        let pending = pending_effects(&self.state);
        self.todo.extend(pending);
        let input = Fact::Resume(Box::new(LaterSession {
            delivers: false,
            options: self.state.options.clone(),
            supervisor: SupervisorRef::default(),
            rules: crate::engine::RULES,
            kept: kept.to_vec(),
            last: Some(Timestamp(self.now)),
        }));
        self.decide(&input);
        // Most runs have nothing to look at.
        if decide(&self.state, &Fact::Audit, Timestamp(self.now)).is_empty() {
            while self.decide(&Fact::Advance) {}
        } else {
            self.feed(&Fact::Audit)
        }
        self.adopted.extend(kept);
        let running = kept.iter().map(|turn| Effect::RunTurn { turn: *turn, not_before: None });
        self.todo.extend(running);
    }

    /// One input and everything that it makes due.
    pub fn feed(&mut self, input: &Fact) {
        self.decide(input);
        while self.decide(&Fact::Advance) {}
        let is_baseline = |effect: &Effect| matches!(effect, Effect::Job { job: Job::Baseline, .. });
        if !self.asks_before
            && let Some(at) = self.todo.iter().position(is_baseline)
        {
            self.perform(at, &mut |_, _| Response::Before(0));
        }
    }

    /// One input and nothing that follows from it: what is said to a run that nobody works on.
    pub fn say(&mut self, input: &Fact) -> bool {
        self.decide(input)
    }

    fn decide(&mut self, input: &Fact) -> bool {
        self.now += 10;
        let events = decide(&self.state, input, Timestamp(self.now));
        let legal = legal_only(&self.state, &events);
        legal.unwrap_or_else(|illegal| panic!("{illegal} after {input:?}"));
        for event in &events {
            apply(&mut self.state, event);
            for effect in effects(&self.state, event) {
                match effect {
                    Effect::StopAll => self.interrupt_all(),
                    other => self.todo.push_back(other),
                }
            }
        }
        if !events.is_empty() {
            self.journal.push(events.clone());
        }
        !events.is_empty()
    }

    fn interrupt_all(&mut self) {
        self.todo.retain(outlives_a_stop);
    }

    /// Performs the effect at `index` with the script's answer.
    pub fn perform(&mut self, index: usize, script: &mut dyn FnMut(&State, &Effect) -> Response) {
        let Some(effect) = self.todo.remove(index) else {
            return;
        };
        let stopping = self.state.phase != RunPhase::Running;
        if stopping && !outlives_a_stop(&effect) {
            return;
        }
        if !may_be_made(&self.state, &effect) {
            return;
        }
        if let Effect::Deliver { not_before: Some(at), .. } = &effect {
            self.now = self.now.max(at.0);
        }
        let answer = match &effect {
            Effect::PreparePrompt(turn) => {
                return self.feed(&Fact::PromptReady(Prompt { turn: *turn, digest: None, cues: 0 }));
            }
            Effect::RunTurn { .. } if stopping => Response::Interrupted,
            _ => script(&self.state, &effect),
        };
        let answer = match (&effect, answer) {
            // It is at work already.
            (Effect::RunTurn { turn, .. }, Response::NeverStarted(_)) if self.adopted.contains(turn) => {
                Response::Finished
            }
            (_, answer) => answer,
        };
        if let Effect::RunTurn { turn, .. } = &effect
            && !self.adopted.contains(turn)
            && !matches!(answer, Response::NeverStarted(_))
        {
            self.turns.push(*turn);
        }
        for input in inputs(&self.state, &effect, &answer) {
            self.feed(&input);
        }
    }

    /// Where the session waits for something: the next of it becomes due. Whatever follows, it is not due again.
    pub fn time_passes(&mut self) -> bool {
        let next = self.state.next_timer();
        if let Some((at, timer)) = next {
            self.now = self.now.max(at.0);
            self.feed(&Fact::TimerDue { at, timer });
            assert!(
                self.state.phase == RunPhase::Finished || !self.state.timers.runs(timer, at),
                "{timer:?} stays due"
            );
        }
        next.is_some()
    }

    /// A later session of the same run that does not want judges asked (`resume --no-eval`).
    pub fn resumed_without_reviews(&self, yaml: &str) -> Self {
        let off = RunOptions { no_eval: true, ..options() };
        let mut resumed = Self::recovered(plan_of(yaml, &off), &self.journal);
        resumed.state.options = off;
        resumed.resume();
        resumed
    }

    /// What has become due by now, whatever else is under way.
    pub fn timers_fire(&mut self) {
        let due: Vec<_> = self.state.timers.due(Timestamp(self.now)).collect();
        for (at, timer) in due {
            self.feed(&Fact::TimerDue { at, timer });
        }
    }

    /// Performs everything in order until nothing is left; where it waits, time passes, and no person answers.
    pub fn run(&mut self, mut script: impl FnMut(&State, &Effect) -> Response) {
        let mut steps = 0;
        while !self.todo.is_empty() || self.time_passes() {
            self.perform(0, &mut script);
            steps += 1;
            assert!(steps < 100_000, "the engine does not come to an end");
        }
        assert_eq!(
            self.state.phase,
            RunPhase::Finished,
            "the session is stuck: {:?}",
            (statuses(&self.state), self.journal.last())
        );
    }
}

/// Whether the world goes on with it when a session stops.
pub fn outlives_a_stop(effect: &Effect) -> bool {
    matches!(effect, Effect::RunTurn { .. } | Effect::Deliver { .. } | Effect::File { .. })
}

pub fn statuses(state: &State) -> Vec<Status> {
    state.tasks.iter().map(|task| task.status()).collect()
}

/// Everything good: agents finish, files are there, checks pass, reviewers are content.
pub fn good(_: &State, effect: &Effect) -> Response {
    match effect {
        Effect::RunTurn { .. } => Response::Finished,
        Effect::Job { job: Job::Scan { .. }, .. } => Response::Files(Some(1), 0),
        Effect::Job { job: Job::Check(_), .. } | Effect::Job { job: Job::Finish(_), .. } => {
            Response::Check(true)
        }
        _ => Response::Score(90),
    }
}

pub fn options() -> RunOptions {
    RunOptions { mission_folder: PathBuf::from("/m"), jobs: Some(3), ..RunOptions::default() }
}
