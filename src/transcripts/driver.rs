//! What transcripts are told with: facts in plain words, put to the engine as its inputs.
//!
//! This file and `driver/world.rs` alone name the engine's inputs, effects and ids.
//!
//! | file | what |
//! |---|---|
//! | `world` | who is asked by an effect, and what a plain word comes to as an answer |

mod world;

use std::fmt::Write as _;

use crate::report::events::EventExpander;
use rules::domain::{Digest, FailureClass, TaskId, Timestamp};
use rules::engine::simulation::consistency::{forgotten_by_a_restart, is_up_to_date};
use rules::engine::simulation::{Response, Simulation, plan_of};
use rules::engine::{
    AuditEvidence, AuditReport, Effect, Fact, FileFact, OperatorInput, RunPhase, State, StopCause, TurnFiles,
    may_be_made, outcome,
};
use rules::plan::{RunOptions, read_delegations};

use super::event_line::{event_line, is_routine};
use world::{
    BY_ITSELF, ask, asked, command, files, fine, id_of, is_asked, named, replies, verdict, with_flags, words,
};

/// One run of one mission, and what was told of it.
pub struct Run {
    world: Simulation,
    options: RunOptions,
    expander: EventExpander,
    /// Records that were told.
    records: usize,
    seq: u64,
    text: String,
    /// The agents that were asked and the verdicts that came of it, in order.
    asked: Vec<String>,
    /// Whether the next word comes while all that is out stays out.
    meanwhile: bool,
}

/// The answer of somebody who is asked.
#[derive(Clone)]
pub enum Says {
    /// The agent agrees, or says that it is a question.
    Yes,
    /// The agent refuses, or says that it is no question.
    No,
    /// The agent leaves the question open.
    Open,
    /// The answer to a question.
    Answer(&'static str),
    /// The task can do without what failed.
    Absorb,
    /// The failed dependency is to be tried again.
    Retry,
    /// The opinion of a stage: pass.
    Pass(&'static str),
    /// The opinion of a stage: fail.
    Fail(&'static str),
    /// The opinion of a stage: refer.
    Refer(&'static str),
    /// A finding of this severity.
    Found(&'static str),
    /// Grades by a rubric, one a criterion in its order; what is declared with them; how sure the judge is, 0 to 100.
    Grades(&'static [u8], &'static str, u8),
}

impl Run {
    /// Starts a mission that waits a minute for people.
    pub fn of(mission: &str) -> Self {
        Self::with("", mission)
    }

    /// Starts a mission with flags of `quorum run`.
    pub fn with(flags: &str, mission: &str) -> Self {
        let options = with_flags(flags);
        let world = Simulation::new(mission, options.clone());
        let head = if flags.is_empty() { String::new() } else { format!("quorum run {flags}\n") };
        let mut run = Self {
            expander: EventExpander::new(&world.state.plan),
            world,
            options,
            records: 0,
            seq: 0,
            text: format!("{head}{}\n---\n", mission.trim()),
            asked: Vec::new(),
            meanwhile: false,
        };
        run.tell();
        run
    }

    /// The transcript, once all that is out has ended well.
    pub fn text(mut self) -> String {
        self.settle();
        self.text
    }

    /// The transcript, and below it some others in a line each.
    pub fn text_and(self, others: Vec<(&str, Run)>) -> String {
        let mut text = self.text();
        text.push_str("--- in short\n");
        for (name, run) in others {
            let _ = writeln!(text, "{name}: {}", run.in_short());
        }
        text
    }

    /// The agents that were asked and the verdicts that came of it, in order, and the ends of the tasks and of
    /// the run.
    pub fn in_short(mut self) -> String {
        self.settle();
        let state = &self.world.state;
        let mut ends = Vec::new();
        for (plan, task) in state.plan.tasks.iter().zip(&state.tasks) {
            let mode = task.mode().map(|mode| format!(" {}", mode.as_str())).unwrap_or_default();
            let flag = task.flag().map(|flag| format!(" {}", flag.as_str())).unwrap_or_default();
            ends.push(format!("{} {}{mode}{flag}", plan.title, task.status().as_str()));
        }
        let ends = ends.join(", ");
        let end = match state.phase {
            RunPhase::Finished => outcome(state).class.as_str(),
            _ => "it goes on",
        };
        format!("{} → {ends}; {end}", self.asked.join(", "))
    }

    /// Whether this is asked for and has not come back.
    pub fn is_out(&self, wanted: &str) -> bool {
        let mut out = self.world.todo.iter();
        out.any(|effect| ask(&self.world.state, effect) == wanted)
    }

    /// Leaves out what was told so far: another transcript tells it.
    pub fn told_elsewhere(mut self) -> Self {
        let (mission, _) = self.text.split_once("\n---\n").expect("each begins with its mission");
        self.text = format!("{mission}\n---\n  …\n");
        self
    }

    /// Goes on until this is asked for, and leaves it out for what is said next.
    pub fn while_out(mut self, wanted: &str) -> Self {
        self.advance_to(wanted);
        self.meanwhile = true;
        self
    }

    // Workers.

    pub fn worker_fails(self, task: &str, class: &str) -> Self {
        self.worker(task, &format!("fails: {class}"), Response::AgentFailed(named(class)))
    }

    pub fn worker_cannot_start(self, task: &str, class: &str) -> Self {
        self.worker(task, &format!("cannot start: {class}"), Response::NeverStarted(named(class)))
    }

    pub fn worker_asks(self, task: &str, question: &str) -> Self {
        let asked = asked(question, false, false);
        self.worker(task, &format!("asks: {question}"), Response::Asks(asked))
    }

    pub fn worker_seems_to_ask(self, task: &str, question: &str) -> Self {
        let asked = asked(question, true, false);
        self.worker(task, &format!("seems to ask: {question}"), Response::Asks(asked))
    }

    pub fn worker_wants_to(self, task: &str, call: &str) -> Self {
        let asked = asked(call, false, true);
        self.worker(task, &format!("wants to call: {call}"), Response::Asks(asked))
    }

    pub fn worker_escalates(self, task: &str) -> Self {
        let words = "says that what it was told does not hold";
        self.worker(task, words, Response::Escalates(None))
    }

    pub fn worker_escalates_and_asks(self, task: &str, question: &str) -> Self {
        let words = format!("says that what it was told does not hold, and asks: {question}");
        let asked = asked(question, false, false);
        self.worker(task, &words, Response::Escalates(Some(asked)))
    }

    /// `None` where nobody can tell how many files it changed.
    pub fn worker_changes_files(self, task: &str, changed: Option<u32>) -> Self {
        let words = match changed {
            Some(changed) => format!("ends; it changed {changed} files"),
            None => "ends; nobody can tell what it changed".to_owned(),
        };
        let files = TurnFiles { changed, written: changed, ..TurnFiles::default() };
        self.worker(task, &words, Response::Did(files))
    }

    pub fn worker_changes_a_protected_file(self, task: &str) -> Self {
        let files = TurnFiles { protected: vec!["tests/a was changed".to_owned()], ..TurnFiles::default() };
        self.worker(task, "changes a protected file", Response::Did(files))
    }

    /// `sub_tasks`: a list in JSON.
    pub fn worker_hands_down(self, task: &str, sub_tasks: &str) -> Self {
        let list = serde_json::from_str(sub_tasks).expect("a list in JSON");
        let (asked, refused) = read_delegations(&list);
        assert!(refused.is_empty(), "{sub_tasks}");
        self.worker(task, &format!("hands down: {sub_tasks}"), Response::HandsDown(asked))
    }

    fn worker(self, task: &str, words: &str, answer: Response) -> Self {
        self.fact(&format!("worker {task}"), words, answer)
    }

    // What is looked at.

    /// How the files are that a task names: `there`, `changed`, `empty` or `missing`.
    pub fn files(self, task: &str, are: &str) -> Self {
        self.fact(&format!("files {task}"), are, files(are))
    }

    /// Sets which artifacts of a failed dependency are there; `task` asks.
    pub fn artifacts(self, task: &str, are: &str) -> Self {
        self.fact(&format!("artifacts {task}"), are, files(are))
    }

    pub fn files_cannot_be_noted(self, task: &str) -> Self {
        let answer = Response::Unreachable(FailureClass::Unknown);
        self.fact(&format!("notes {task}"), "cannot be written", answer)
    }

    pub fn check(self, task: &str, number: u32, passed: bool) -> Self {
        self.fact(&format!("check {task} {number}"), verdict(passed), Response::Check(passed))
    }

    pub fn finish_command(self, task: &str, number: u32, passed: bool) -> Self {
        self.fact(&format!("finish {task} {number}"), verdict(passed), Response::Check(passed))
    }

    /// While a check was at work, a protected file was changed: `shared` if others worked.
    pub fn check_is_void(self, task: &str, number: u32, shared: bool) -> Self {
        let answer = Response::Void { changed: true, shared };
        self.fact(&format!("check {task} {number}"), "while it ran, a protected file was changed", answer)
    }

    // Judges.

    pub fn reviewer_says(self, task: &str, who: &str, points: u8) -> Self {
        self.fact(&format!("reviewer {task} {who}"), &points.to_string(), Response::Score(points))
    }

    pub fn reviewer_is_unreadable(self, task: &str, who: &str) -> Self {
        self.fact(&format!("reviewer {task} {who}"), "cannot be read", Response::Unreadable)
    }

    pub fn reviewer_is_down(self, task: &str, who: &str, class: &str) -> Self {
        let answer = Response::Unreachable(named(class));
        self.fact(&format!("reviewer {task} {who}"), &format!("is down: {class}"), answer)
    }

    pub fn grader_says(self, task: &str, points: u8) -> Self {
        self.fact(&format!("grader {task}"), &points.to_string(), Response::Score(points))
    }

    pub fn grader_is_unsure(self, task: &str) -> Self {
        self.fact(&format!("grader {task}"), "cannot tell", Response::Unreadable)
    }

    pub fn grader_fails(self, task: &str) -> Self {
        let answer = Response::Unreachable(FailureClass::Unknown);
        self.fact(&format!("grader {task}"), "fails", answer)
    }

    /// A stage that is a command, or a vision check that needs no agent.
    pub fn stage(self, task: &str, name: &str, passed: bool) -> Self {
        self.fact(&format!("stage {task} {name}"), verdict(passed), Response::Check(passed))
    }

    // Whoever is asked: an orchestrator, a judge of a rubric, a stage's agent, an approver.

    pub fn agent_says(self, task: &str, about: &str, says: &Says) -> Self {
        let said = says.clone();
        self.answered(&format!("agent {task} {about}"), &words(says), move |state, effect| {
            replies(state, effect, &said)
        })
    }

    pub fn agent_is_unreadable(self, task: &str, about: &str) -> Self {
        self.fact(&format!("agent {task} {about}"), "cannot be read", Response::Unreadable)
    }

    pub fn agent_is_down(self, task: &str, about: &str, class: &str) -> Self {
        let answer = Response::Unreachable(named(class));
        self.fact(&format!("agent {task} {about}"), &format!("is down: {class}"), answer)
    }

    /// An approver that is a command.
    pub fn approver_says(self, task: &str, number: u32, says: &Says) -> Self {
        let answer = match says {
            Says::No => Response::Score(0),
            Says::Open => Response::Unreadable,
            _ => Response::Score(90),
        };
        self.fact(&format!("approver {task} {number}"), &words(says), answer)
    }

    pub fn delivery_fails(self, channel: &str, class: &str) -> Self {
        let answer = Response::Unreachable(named(class));
        self.fact(&format!("delivery {channel}"), &format!("fails: {class}"), answer)
    }

    /// Removes the accepted files of a task before they are looked at again.
    pub fn accepted_files_are_gone(mut self, task: &str) -> Self {
        let gone = id_of(&self.world.state, task);
        let at = self.advance_to("audit");
        self.say(&format!("audit: the files of {task} are gone"));
        let Some(Effect::Audit { number }) = self.world.todo.remove(at) else {
            unreachable!("it was found just now");
        };
        let state = &self.world.state;
        let seen = |id: TaskId, file: &FileFact| FileFact {
            size: file.size.filter(|_| id != gone),
            digest: file.digest.filter(|_| id != gone),
            ..file.clone()
        };
        let looks = state.covered().map(|(id, accepted)| {
            let files = accepted.files.iter().map(|file| seen(id, file));
            (id, files.collect())
        });
        let seen = AuditEvidence { looks: looks.collect(), ..AuditEvidence::default() };
        let report = AuditReport { number, seen: Some(Box::new(seen)), ..AuditReport::default() };
        self.world.feed(&Fact::Audited(Box::new(report)));
        self.tell();
        self
    }

    // People, time and crashes.

    /// `approve a`, `reject a`, `answer a TEXT`, `pass HOLD`, `refuse HOLD`, `cancel a`, `cancel`, `pause`,
    /// `override GATE`; of a run that has ended, `redo a` and `retry-failed`. An answer is to what was asked last; `a#2`
    /// names another.
    pub fn person(mut self, words: &str) -> Self {
        self.rest();
        self.say(&format!("person: {words}"));
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        match verb {
            "redo" => {
                let input = Fact::Redo(id_of(&self.world.state, rest));
                self.world.say(&input);
            }
            "retry-failed" => {
                self.world.say(&Fact::RetryFailed);
            }
            _ => {
                let command = command(&self.world.state, verb, rest);
                self.world.feed(&Fact::Operator(Box::new(OperatorInput {
                    id: None,
                    command,
                    by: "ada".to_owned(),
                })));
            }
        }
        self.tell();
        self
    }

    /// The next moment that something waits for comes.
    pub fn time_passes(mut self) -> Self {
        self.rest();
        self.say("time passes");
        assert!(self.world.time_passes(), "nothing is waited for:\n{}", self.text);
        self.tell();
        self
    }

    /// A person ends the session.
    pub fn interrupt(mut self) -> Self {
        self.rest();
        self.say("Ctrl-C");
        self.world.feed(&Fact::Stop(StopCause::Interrupted));
        self.tell();
        self
    }

    /// The runner dies, and another session goes on; the turns of these tasks are still at work.
    pub fn crash_and_resume_with(mut self, alive: &[&str]) -> Self {
        self.rest();
        self.say(
            match alive {
                [] => "the session dies; another one resumes".to_owned(),
                alive => {
                    format!("the session dies; another one resumes while {} is at work", alive.join(", "))
                }
            }
            .as_str(),
        );
        let alive: Vec<TaskId> = alive.iter().map(|task| id_of(&self.world.state, task)).collect();
        let mut kept = self.world.running();
        kept.retain(|turn| alive.contains(&turn.task));
        self.recover();
        self.world.resume_keeping(&kept);
        self.tell();
        self
    }

    pub fn crash_and_resume(self) -> Self {
        self.crash_and_resume_with(&[])
    }

    /// A person accepts a changed mission; the next session works by it.
    pub fn mission_becomes(mut self, mission: &str) -> Self {
        self.settle();
        self.say(&format!("the mission becomes\n{}", mission.trim()));
        let input = Fact::ChangeMission {
            number: 2,
            from: Digest::of(b"old"),
            to: Digest::of(mission.as_bytes()),
            mission: Some(plan_of(mission, &self.options)),
        };
        assert!(self.world.say(&input), "nothing changes");
        self.tell();
        self
    }

    // How it works.

    /// Makes the fact that answers what was asked for.
    fn fact(self, wanted: &str, words: &str, answer: Response) -> Self {
        self.answered(wanted, words, move |_, _| answer.clone())
    }

    fn answered(
        mut self,
        wanted: &str,
        words: &str,
        mut answer: impl FnMut(&State, &Effect) -> Response,
    ) -> Self {
        let at = self.advance_to(wanted);
        self.say(&format!("{wanted}: {words}"));
        self.asked.push(wanted.to_owned());
        self.world.perform(at, &mut answer);
        self.tell();
        self
    }

    /// Lets everything else go well until this is asked for, and says where it stands among what is.
    fn advance_to(&mut self, wanted: &str) -> usize {
        self.meanwhile = false;
        loop {
            let is_wanted = |effect: &Effect| {
                ask(&self.world.state, effect) == wanted && may_be_made(&self.world.state, effect)
            };
            if let Some(at) = self.world.todo.iter().position(is_wanted) {
                return at;
            }
            assert!(!self.world.todo.is_empty(), "nobody asks for {wanted}:\n{}", self.text);
            self.go_on();
        }
    }

    /// Before somebody says something, all that is out ends, unless it is to stay out.
    fn rest(&mut self) {
        if !std::mem::take(&mut self.meanwhile) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        while !self.world.todo.is_empty() {
            self.go_on();
        }
    }

    /// The first of what is out ends well.
    fn go_on(&mut self) {
        let effect = self.world.todo.front().expect("something is out").clone();
        if is_asked(&self.world.state, &effect) {
            self.world.todo.pop_front();
            return;
        }
        let asked = ask(&self.world.state, &effect);
        let is_asked =
            may_be_made(&self.world.state, &effect) && !BY_ITSELF.iter().any(|name| asked.starts_with(name));
        if is_asked && self.world.state.phase == RunPhase::Running {
            self.asked.push(asked);
        }
        self.world.perform(0, &mut fine);
        self.tell();
    }

    fn recover(&mut self) {
        let plan = plan_of(&self.mission(), &self.options);
        self.world = Simulation::recovered(plan, &self.world.journal);
    }

    fn mission(&self) -> String {
        let head = self.text.split_once("\n---\n").expect("each begins with its mission").0;
        let lines = head.lines().filter(|line| !line.starts_with("quorum run"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn say(&mut self, words: &str) {
        let _ = writeln!(self.text, "> {words}");
    }

    /// The public events of what was decided since; and what must hold of every state.
    fn tell(&mut self) {
        let is_first = self.records == 0;
        let titles = self.world.state.plan.tasks.iter().map(|task| task.title.to_string());
        let titles: Vec<String> = titles.collect();
        for (number, record) in self.world.journal.iter().enumerate().skip(self.records) {
            let events = self.expander.expand(self.seq, Timestamp(self.world.now), record);
            for event in events {
                let is_known = is_first && number == 0 && event.name == "task:created";
                let text = |key: &str| event.payload.get(key).and_then(serde_json::Value::as_str);
                if let Some((stage, verdict)) = text("stage").zip(text("verdict")) {
                    let cause = text("cause").map(|cause| format!(" {cause}"));
                    self.asked.push(format!("[{stage} {verdict}{}]", cause.unwrap_or_default()));
                }
                if !is_known && !is_routine(&event) {
                    let _ = writeln!(self.text, "  {}", event_line(&event, &titles));
                }
            }
            self.seq += record.len() as u64;
        }
        self.records = self.world.journal.len();
        let state = &self.world.state;
        let mut out = self.world.todo.iter().map(|effect| ask(state, effect));
        let begins = |asked: String| asked.starts_with("prompt") || asked.starts_with("notes");
        let begins = state.phase != RunPhase::Running && out.any(begins);
        assert!(!begins, "a turn is prepared as the session ends\n{}", self.text);
        is_up_to_date(&self.world.state);
        let known = Simulation::recovered(plan_of(&self.mission(), &self.options), &self.world.journal);
        let differs = forgotten_by_a_restart(&known.state, &self.world.todo);
        assert_eq!(differs, None, "{}", self.text);
    }
}
