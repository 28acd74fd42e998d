//! One random history: what a runner, a disk, a world, a clock and some people do to one run.
//!
//! The runner goes the way of `runtime::Session`: decide what came in and what it makes due, one commit, then the
//! effects. Everything else is chance.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::rc::Rc;

use serde_json::json;

use crate::store::double::{Fate, MemoryLog};
use crate::store::{Journal, JournalDecision, JournalEnd, Reader};
use rules::domain::{
    AskId, BarrierId, Digest, GateId, Money, Purpose, RunId, TaskId, Timestamp, TurnId, WaitingReason,
};
use rules::engine::simulation::random::{
    Random, grades, probes, random_mission, random_options, random_response,
};
use rules::engine::simulation::{Response, good, inputs, outlives_a_stop, plan_of};
use rules::engine::{
    AskReply, BudgetEvent, Command, DeadlineStep, DeferralReason, Effect, Event, FORMAT, Fact, FileFact, Job,
    JobEnd, LaterSession, Merged, OperatorInput, Prompt, RunEvent, RunPhase, RunStarted, State, StopCause,
    SupervisorRef, TaskEvent, Timer, TurnEnd, TurnEvent, TurnUpdate, WorkEvent, WorkId, apply, decide,
    effects, may_be_made, pending_effects,
};
use rules::plan::{SubTask, read_sub_task};

use super::missions::{Missions, other_options};
use super::reference_model::ReferenceModel;
use super::tally::Tally;

const NAME: &str = "journal.jsonl";

/// Everybody is content, whoever grades and whoever cuts criteria too.
fn content(state: &State, effect: &Effect) -> Response {
    match effect {
        Effect::Ask { purpose: Purpose::Grade { .. }, .. } => Response::Answer(grades(100)),
        Effect::Ask { purpose: Purpose::Decompose { .. }, .. } => Response::Answer(probes(&[1, 2])),
        _ => good(state, effect),
    }
}

/// Work that somebody asks for from outside.
fn asked_for(random: &mut Random) -> SubTask {
    let title = format!("asked {}", random.below(3));
    let wanted = json!({"title": title, "assignTo": "w1", "dependsOn": if random.chance(50) { vec!["t0"] } else { vec![] }});
    read_sub_task(&wanted).unwrap()
}

fn is_window(event: &Event) -> bool {
    matches!(event, Event::Task(_, TaskEvent::Deferred { until: Some(deferral) }) if deferral.why == DeferralReason::Window)
}

/// The runner is dead: the machine or the process stopped.
struct Dead;

pub struct History {
    random: Random,
    missions: Missions,
    log: Rc<RefCell<MemoryLog>>,
    journal: Journal<Rc<RefCell<MemoryLog>>>,
    state: State,
    /// Every record of the history that still holds.
    records: Vec<Vec<Event>>,
    model: ReferenceModel,
    in_flight: Vec<Effect>,
    /// Inputs that this session has taken; those about turns may be of older ones, too.
    past_inputs: Vec<Fact>,
    past_turn_inputs: Vec<Fact>,
    /// Turns at work whose runner was killed, and those that a later session took over.
    alive: Vec<TurnId>,
    adopted: BTreeSet<TurnId>,
    /// Worker turns that really were started. No crash may make anybody forget one.
    performed: BTreeSet<TurnId>,
    clock: u64,
    commands: u64,
    /// Whether files may change while they are judged.
    random_files: bool,
    pub tally: Tally,
}

impl History {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let yaml = random_mission(&mut random);
        let options = random_options(&mut random, &yaml);
        let plan = plan_of(&yaml, &options);
        let missions = Missions::new(yaml, &options);
        let log = Rc::default();
        Self {
            journal: Journal::new(Rc::clone(&log), Path::new(NAME), JournalEnd::START),
            state: State::new(plan.clone()),
            model: ReferenceModel::new(&plan),
            random,
            missions,
            log,
            records: Vec::new(),
            in_flight: Vec::new(),
            past_inputs: Vec::new(),
            past_turn_inputs: Vec::new(),
            alive: Vec::new(),
            adopted: BTreeSet::new(),
            performed: BTreeSet::new(),
            clock: 1_000_000,
            commands: 0,
            random_files: false,
            tally: Tally::default(),
        }
    }

    pub fn disk(&self) -> Vec<u8> {
        self.log.borrow().bytes.clone()
    }

    /// The whole history: trouble first, then a calm end, which must be one.
    pub fn play(&mut self) {
        self.begin();
        for _ in 0..20 + self.random.below(140) {
            if self.step().is_err() {
                self.recover();
            }
        }
        self.log.borrow_mut().crash_at = None;
        self.calm();
    }

    /// The first session, or the next one.
    fn begin(&mut self) {
        self.tally.sessions += 1;
        // No child of an older session is listened to any more, but turns that outlived it.
        self.in_flight.clear();
        self.past_inputs.clear();
        let kept = std::mem::take(&mut self.alive);
        let in_flight = |turn: &TurnId| self.state.is_out(WorkId::turn(*turn));
        let kept: Vec<TurnId> = kept.into_iter().filter(in_flight).collect();
        let begun = if self.records.is_empty() {
            let started = RunStarted {
                rules: rules::engine::RULES,
                format: FORMAT,
                version: "0".to_owned(),
                run_id: RunId::new("r").unwrap(),
                mission_digest: Digest::of(b""),
                mission_path: None,
                options: self.missions.first_options().clone(),
                supervisor: SupervisorRef::default(),
                origin: None,
            };
            self.turn(vec![Fact::Start(Box::new(started))], Vec::new())
        } else {
            let mut options = self.state.options.clone();
            if self.random.chance(15) {
                self.tally.other_options += 1;
                other_options(&mut self.random, &mut options);
                self.state.plan = self.missions.plan_with(&options);
            }
            let pending = pending_effects(&self.state);
            let resume = Fact::Resume(Box::new(LaterSession {
                delivers: false,
                options,
                supervisor: SupervisorRef::default(),
                rules: rules::engine::RULES,
                kept: kept.clone(),
                last: None,
            }));
            self.turn(vec![resume, Fact::Audit], pending)
        };
        self.tally.adopted += kept.len() as u64;
        self.adopted.extend(&kept);
        let at_work = kept.into_iter().map(|turn| Effect::RunTurn { turn, not_before: None });
        self.in_flight.extend(at_work);
        if begun.is_err() {
            self.recover();
        }
    }

    /// Makes one random thing happen.
    fn step(&mut self) -> Result<(), Dead> {
        self.clock += self.random.next() % 50;
        if self.state.phase == RunPhase::Finished || self.state.phase == RunPhase::New {
            return self.between_sessions();
        }
        let due = self.state.next_timer().filter(|(at, _)| at.0 <= self.clock);
        if let Some((at, timer)) = due.filter(|_| self.random.chance(30)) {
            return self.turn(vec![Fact::TimerDue { at, timer }], Vec::new());
        }
        let quiet = self.in_flight.is_empty();
        match self.random.below(100) {
            0..=2 => Err(Dead),
            3..=5 => {
                let at = self.random.below(6);
                let mut log = self.log.borrow_mut();
                log.crash_at = Some(log.appends + log.syncs + at);
                Ok(())
            }
            6..=8 => {
                self.jump();
                Ok(())
            }
            9..=18 => self.late(),
            19..=27 => {
                let command = self.command();
                self.turn(vec![command], Vec::new())
            }
            28..=30 => {
                let wrong = Timestamp(self.random.next() % 3_000_000);
                let running: Vec<_> = self.state.timers.iter().collect();
                let (at, timer) = match running.len() {
                    n if n > 0 && self.random.chance(70) => running[self.random.below(n)],
                    _ => (wrong, Timer::WaitOver),
                };
                self.turn(vec![Fact::TimerDue { at, timer }], Vec::new())
            }
            31 => {
                let cause = [StopCause::Interrupted, StopCause::Terminated, StopCause::TimeLimit];
                let cause = cause[self.random.below(3)];
                self.turn(vec![Fact::Stop(cause)], Vec::new())
            }
            32 => {
                let said = match self.random.below(4) {
                    0 => Fact::Foreign("something".to_owned()),
                    _ => Fact::Warn("something".to_owned()),
                };
                self.turn(vec![said, Fact::Advance], Vec::new())
            }
            _ if quiet => match self.state.next_timer() {
                Some(next) => {
                    let due = self.time_passes(next);
                    self.turn(due, Vec::new())
                }
                None => self.stuck(),
            },
            _ => {
                // What ends in the same moment shares a commit.
                let mut news = Vec::new();
                for _ in 0..1 + self.random.below(3).min(self.in_flight.len() - 1) {
                    news.extend(self.complete(None));
                }
                self.turn(news, Vec::new())
            }
        }
    }

    /// Nothing happens until the next timer is due.
    fn time_passes(&mut self, (at, timer): (Timestamp, Timer)) -> Vec<Fact> {
        self.clock = self.clock.max(at.0);
        vec![Fact::TimerDue { at, timer }]
    }

    fn stuck(&self) -> Result<(), Dead> {
        let statuses: Vec<_> = self.state.tasks.iter().map(|task| task.status()).collect();
        panic!("nothing is under way and the session goes on: {statuses:?} {:?}", self.records.last());
    }

    /// Nobody works on the run: people change it, or somebody resumes it.
    fn between_sessions(&mut self) -> Result<(), Dead> {
        if self.records.is_empty() || self.random.chance(50) {
            self.begin();
            return Ok(());
        }
        let input = match self.random.below(8) {
            0 => Fact::RetryFailed,
            1 if self.random.chance(40) => match self.other_mission() {
                Some(input) => input,
                None => return Ok(()),
            },
            2 | 3 => Fact::Redo(TaskId::from_index(self.random.below(self.state.plan.tasks.len()))),
            _ => self.command(),
        };
        self.tally.commands += 1;
        let mut moved = self.decide(&input, &mut Vec::new())?;
        // As whoever tells a run does: one whose last task ends with it gets its end.
        moved &= !matches!(
            self.records.last().map(Vec::as_slice),
            Some([Event::Run(RunEvent::CommandTaken { .. })])
        );
        if moved && self.state.may_end_without_session() {
            let resume = Fact::resume(self.state.options.clone());
            self.decide(&resume, &mut Vec::new())?;
            while self.decide(&Fact::Advance, &mut Vec::new())? {}
            if self.state.phase != RunPhase::Finished {
                self.decide(&Fact::NoticesOverdue, &mut Vec::new())?;
            }
        }
        self.journal.commit().map_err(|_| Dead)
    }

    /// A person accepts a mission that has little to do with the one before.
    fn other_mission(&mut self) -> Option<Fact> {
        let text = random_mission(&mut self.random);
        let input = self.missions.change(text, &self.state)?;
        self.tally.missions += 1;
        Some(input)
    }

    /// One turn of the loop, as `runtime::Session::turn` takes it.
    fn turn(&mut self, inputs: Vec<Fact>, due: Vec<Effect>) -> Result<(), Dead> {
        let mut queue = VecDeque::from(inputs);
        let mut prompts = due;
        let mut due = Vec::new();
        let before = self.records.len();
        loop {
            for effect in prompts.drain(..) {
                match effect {
                    Effect::PreparePrompt(turn) => {
                        queue.push_back(Fact::PromptReady(Prompt { turn, digest: None, cues: turn.turn % 2 }))
                    }
                    other => due.push(other),
                }
            }
            let input = queue.pop_front().unwrap_or(Fact::Advance);
            let moved = self.decide(&input, &mut prompts)?;
            if !moved && matches!(input, Fact::Advance) && queue.is_empty() {
                break;
            }
        }
        let spawned =
            |event: &Event| matches!(event, Event::Turn(_, TurnEvent::Progress(TurnUpdate::Spawned { .. })));
        if self.records[before..].iter().flatten().all(spawned) {
            self.journal.write().map_err(|_| Dead)?;
        } else {
            self.journal.commit().map_err(|_| Dead)?;
        }
        for effect in due {
            self.perform(effect);
        }
        Ok(())
    }

    /// One decision. The same state and input must always give the same one.
    fn decide(&mut self, input: &Fact, due: &mut Vec<Effect>) -> Result<bool, Dead> {
        self.tally.inputs += 1;
        let now = Timestamp(self.clock);
        let events = decide(&self.state, input, now);
        assert_eq!(events, decide(&self.state, input, now), "two minds about {input:?}");
        if events.is_empty() {
            return Ok(false);
        }
        self.tally.records += 1;
        let decision = JournalDecision::of(input.clone(), events.clone());
        self.journal.push(now, &decision).map_err(|_| Dead)?;
        self.model.take(&self.state, &events);
        for event in &events {
            self.missions.note(event);
            if let Event::Deadline(said) = event {
                self.tally.deadlines_met += u64::from(said.step == DeadlineStep::Met);
                self.tally.deadlines_missed += u64::from(said.step == DeadlineStep::Violated);
            }
            self.tally.regressed += u64::from(matches!(event, Event::Task(_, TaskEvent::Regressed { .. })));
            if let Event::Work(_, WorkEvent::Ended { end: JobEnd::Merged(merged), .. }) = event {
                self.tally.merges += u64::from(matches!(merged, Merged::Landed(_)));
                self.tally.conflicts += u64::from(matches!(merged, Merged::Conflict { .. }));
            }
            self.tally.windows += u64::from(is_window(event));
            self.tally.settled += u64::from(matches!(event, Event::Budget(BudgetEvent::Settled { .. })));
            apply(&mut self.state, event);
            due.extend(effects(&self.state, event));
        }
        self.records.push(events);
        Ok(true)
    }

    /// An effect begins, now that its record is durable.
    fn perform(&mut self, effect: Effect) {
        if !may_be_made(&self.state, &effect) {
            return;
        }
        match effect {
            Effect::StopAll => {
                self.in_flight.retain(outlives_a_stop);
            }
            // What runs for it comes to its end by itself, too late.
            Effect::StopTask(_) => {}
            Effect::RunTurn { turn, .. } => {
                self.performed.insert(turn);
                self.in_flight.push(effect);
            }
            other if self.state.phase == RunPhase::Running || outlives_a_stop(&other) => {
                if let Effect::NoteFiles { turn, .. } = &other {
                    // Both would write the record that the turn is held against.
                    let is_same =
                        |out: &Effect| matches!(out, Effect::NoteFiles { turn: out, .. } if out == turn);
                    assert!(!self.in_flight.iter().any(is_same), "{turn:?} is noted twice");
                }
                self.in_flight.push(other);
            }
            _ => {}
        }
    }

    /// One of the things under way comes to its end: by chance, or as it should.
    fn complete(&mut self, answer: Option<fn(&State, &Effect) -> Response>) -> Vec<Fact> {
        let index = if answer.is_some() { 0 } else { self.random.below(self.in_flight.len()) };
        let effect = self.in_flight.swap_remove(index);
        if let Effect::RunTurn { not_before: Some(at), .. }
        | Effect::Ask { not_before: Some(at), .. }
        | Effect::Deliver { not_before: Some(at), .. } = &effect
        {
            // Timers fire late, never early.
            self.clock = self.clock.max(at.0) + self.random.next() % 100_000;
        }
        self.random_files = answer.is_none();
        let answer = match (&effect, answer) {
            (Effect::RunTurn { .. }, _) if self.state.phase == RunPhase::Stopping => Response::Interrupted,
            (effect, Some(answer)) => answer(&self.state, effect),
            (effect, None) => random_response(&mut self.random, effect),
        };
        let is_adopted = matches!(&effect, Effect::RunTurn { turn, .. } if self.adopted.contains(turn));
        let answer = match answer {
            // It is at work already.
            Response::NeverStarted(_) if is_adopted => Response::Finished,
            answer => answer,
        };
        let news = inputs(&self.state, &effect, &answer);
        let mut news = news;
        news.iter_mut().for_each(|fact| self.put_a_price_on(fact));
        if let [Fact::Audited(report)] = news.as_slice() {
            self.tally.audits += 1;
            if self.state.audit.out && report.number == self.state.audit.number {
                self.model.expect_audit(&self.state, report);
            }
        }
        if self.random_files
            && let Some(seen) = self.files_seen(&effect)
        {
            news.insert(0, seen);
        }
        let of_turn = matches!(effect, Effect::RunTurn { .. });
        if of_turn { &mut self.past_turn_inputs } else { &mut self.past_inputs }.extend(news.iter().cloned());
        news
    }

    /// Gives a fact's call a price, where its usage is told.
    fn put_a_price_on(&mut self, fact: &mut Fact) {
        let usage = match fact {
            Fact::TurnEnded(end) => &mut end.usage,
            Fact::AskReplied(AskReply { reply, .. }) => &mut reply.usage,
            _ => return,
        };
        if self.random.chance(50) {
            usage.cost = Money::of_tokens(self.random.next() % 1_000, 1.into());
        }
    }

    /// Now and then files change while they are judged.
    fn files_seen(&mut self, effect: &Effect) -> Option<Fact> {
        let task = match effect {
            Effect::Ask { id: AskId { task, .. }, purpose: Purpose::Score(_), .. } => *task,
            Effect::Ask { id, purpose, .. } if purpose.is_judging() => id.task,
            _ => return None,
        };
        let plan = self.state.plan.task(task);
        if !plan.names_files() || !self.random.chance(20) {
            return None;
        }
        let mark = self.random.next() % 3;
        let fact = |path: &str| FileFact {
            path: path.to_string(),
            size: Some(1),
            digest: Some(Digest::of(&mark.to_le_bytes())),
            obstacle: None,
            stored: None,
        };
        Some(Fact::FilesSeen {
            task,
            attempt: self.state.task(task).attempt.number,
            files: plan.target_files.iter().map(|path| fact(path)).collect(),
        })
    }

    /// News that is old: of a turn that is over, of a seat that has replied. It means nothing.
    fn late(&mut self) -> Result<(), Dead> {
        self.tally.late += 1;
        let of_turn = self.random.chance(50);
        let past_inputs = if of_turn { &self.past_turn_inputs } else { &self.past_inputs };
        if past_inputs.is_empty() {
            return Ok(());
        }
        let mut input = past_inputs[self.random.below(past_inputs.len())].clone();
        // It may even say something else than the first time.
        if let Fact::TurnEnded(end) = &mut input
            && self.random.chance(50)
        {
            input = Fact::TurnEnded(Box::new(TurnEnd::interrupted(end.turn)));
        }
        let may_repeat = matches!(
            &input,
            // Said of a turn that is still under way: that it was spawned is true twice; a request that failed may fail
            // again, and its turn then ends sooner. Both are news of the turn in flight, not late ones.
            Fact::TurnProgress(turn, _) | Fact::TurnRequestFailed { turn, .. }
                if self.state.is_out(WorkId::turn(*turn))
        ) || matches!(
            &input,
            // The same call failed for good once more: its letter is written anew, and is there already.
            Fact::Filed(ids) if ids.iter().any(|id| self.state.notices.letters().contains_key(id))
        ) || matches!(
            &input,
            // Asked for again: whichever time it comes of counts.
            Fact::JobEnded { turn, job: job @ (Job::Approver { .. } | Job::Artifacts(_) | Job::Check(_) | Job::PeerCheck(..)), .. }
                if self.state.is_out(WorkId::job(*turn, *job))
        ) || matches!(
            &input,
            // Void once more while it is done again: that counts, like the first time.
            Fact::StageVoided(_)
        ) || matches!(
            &input,
            // It says nothing of which delivery it is about; one is awaited.
            Fact::WorkDelivered(_) if self.state.delivering
        ) || matches!(
            &input,
            // What was seen of files is held against what is known of them now: at worst they are looked at once more.
            Fact::FilesSeen { .. }
        );
        let before = self.records.len();
        self.turn(vec![input.clone()], Vec::new())?;
        let settled = |event: &Event| matches!(event, Event::Budget(BudgetEvent::Settled { .. }));
        let taken = &self.records[before..];
        // Its word is refused; what it used is settled, if nobody had told of it.
        let is_settled = taken.iter().flatten().next().is_some_and(settled);
        let decided = !taken.is_empty() && !is_settled;
        assert!(!decided || may_repeat, "late news was taken: {input:?} {:?}", self.records.last());
        Ok(())
    }

    fn jump(&mut self) {
        self.tally.jumps += 1;
        let by = self.random.next() % 100_000_000;
        self.clock = if self.random.chance(50) { self.clock.saturating_sub(by) } else { self.clock + by };
    }

    /// Something that a person might say, sensible or not; now and then what was said before, word by word.
    fn command(&mut self) -> Fact {
        self.tally.commands += 1;
        let random = &mut self.random;
        let task = TaskId::from_index(random.below(self.state.plan.tasks.len() + 1));
        let asked = self.state.known(task).map_or(1, |task| task.consent.asked);
        let number = (asked + 1).saturating_sub(u32::try_from(random.below(3)).unwrap());
        let command = match random.below(20) {
            0..=5 => Command::approve(task, number),
            6..=9 => Command::reject(task, number, "no"),
            10 | 11 => Command::CancelTask { task },
            15 => Command::AnswerAcceptance {
                task,
                attempt: self.state.known(task).map_or(1, |task| task.attempt.number),
                refused: random.chance(50).then(|| "no".to_owned()),
            },
            12..=14 => Command::OverrideGate {
                gate: GateId(u32::try_from(random.below(2)).unwrap()),
                reason: "risk".to_owned(),
            },
            16 if random.chance(20) => Command::CancelRun,
            17 if random.chance(50) => Command::Pause,
            17 => Command::AddTask {
                request: format!("req-{}", random.below(3)),
                task: Box::new(asked_for(random)),
            },
            18 if random.chance(50) => {
                Command::approve(BarrierId(0), 1 + u32::try_from(random.below(2)).unwrap())
            }
            19 if random.chance(50) => {
                Command::reject(BarrierId(0), 1 + u32::try_from(random.below(2)).unwrap(), "not yet")
            }
            18 | 19 => Command::Answer { task, number, text: "the first".to_owned() },
            _ => Command::approve(task, asked),
        };
        let id = match random.below(3) {
            0 => None,
            1 if self.commands > 0 => Some(self.commands),
            _ => {
                self.commands += 1;
                Some(self.commands)
            }
        };
        let id = id.map(|id| format!("c{id}"));
        Fact::Operator(Box::new(OperatorInput { id, command, by: "ada".to_owned() }))
    }

    /// The runner died. The disk keeps what it keeps; a new runner reads it, and must find a prefix of what was.
    fn recover(&mut self) {
        let power_loss = self.random.chance(50);
        let mut disk = self.log.borrow().clone();
        let unsynced = disk.bytes.len() - disk.synced;
        let fate = match self.random.below(4) {
            _ if !power_loss => Fate::Cut(usize::MAX),
            0 => Fate::Lost,
            1 => Fate::Cut(self.random.below(unsynced + 1)),
            _ => {
                // Blocks are lost, never single bytes.
                let from = self.random.below(unsynced + 1);
                Fate::Zeroed(from, self.random.below(unsynced + 1 - from) + 2)
            }
        };
        self.alive.clear();
        if power_loss {
            self.tally.power_losses += 1;
        } else {
            self.tally.kills += 1;
            for effect in &self.in_flight {
                if let Effect::RunTurn { turn, .. } = effect
                    && self.random.chance(60)
                {
                    self.alive.push(*turn);
                }
            }
        }
        let synced_records = disk.synced_records();
        disk.bytes = disk.after_crash(fate);
        let mut reader = Reader::new(disk.bytes.as_slice(), Path::new(NAME));
        let mut records = Vec::new();
        let next =
            |reader: &mut Reader<&[u8]>| reader.next_record().expect("a crash must not look like damage");
        while let Some(record) = next(&mut reader) {
            records.push(record.events);
        }
        self.tally.torn += u64::from(reader.torn().is_some());
        let end = reader.end();
        assert!(records.len() >= synced_records, "a durable record is gone");
        assert!(self.records.starts_with(&records), "what is left is no prefix of what was");
        self.records = records;

        disk.bytes.truncate(usize::try_from(end.offset).unwrap());
        // What a killed process has written is there for every reader, and still lost when the power goes.
        disk.synced = if power_loss { disk.bytes.len() } else { disk.synced.min(disk.bytes.len()) };
        // The next one may not live long, either.
        let soon = disk.appends + disk.syncs + self.random.below(4);
        disk.crash_at = self.random.chance(30).then_some(soon);
        self.log = Rc::new(RefCell::new(disk));
        self.journal = Journal::new(Rc::clone(&self.log), Path::new(NAME), end);
        self.fold();
        for turn in &self.performed {
            assert!(self.model.started.contains(turn), "{turn:?} was started without a durable record");
        }
        self.begin();
    }

    /// State and reference model from the records that are left.
    fn fold(&mut self) {
        (self.state, self.model) = self.missions.fold(&mut self.records);
    }

    /// From now on everything goes well and people say yes: then every run comes to an end, whatever it went through.
    fn calm(&mut self) {
        for _ in 0..40 {
            let mut steps = 0;
            while self.state.phase != RunPhase::Finished && self.state.phase != RunPhase::New {
                let news = match self.state.next_timer() {
                    _ if !self.in_flight.is_empty() => self.complete(Some(content)),
                    Some(next) => self.time_passes(next),
                    None => return self.stuck().unwrap_or(()),
                };
                self.past_inputs.clear();
                assert!(self.turn(news, Vec::new()).is_ok(), "the disk is good now");
                steps += 1;
                assert!(steps < 10_000, "the session does not come to an end");
            }
            self.model.agrees_with(&self.state);
            if !self.records.is_empty() && !self.state.is_unfinished() {
                return;
            }
            // Whatever was too far away for the session is waited for.
            if let Some(at) = self.state.resumable_at() {
                self.clock = self.clock.max(at.0);
            }
            // One yes may lead to the next question: who reviews the work, and who grades it.
            for _ in 0..3 {
                for answer in self.yes_to_everything() {
                    assert!(self.decide(&answer, &mut Vec::new()).is_ok());
                }
            }
            self.begin();
        }
        let statuses: Vec<_> = self.state.tasks.iter().map(|task| task.status()).collect();
        panic!("people say yes, everything goes well, and the run does not end: {statuses:?}");
    }

    fn yes_to_everything(&self) -> Vec<Fact> {
        let says =
            |command| Fact::Operator(Box::new(OperatorInput { id: None, command, by: "ada".to_owned() }));
        let waiting = self.state.plan.task_ids().filter_map(|task| {
            let number = self.state.task(task).hold()?.number;
            let is_question =
                self.state.task(task).hold().is_some_and(|waiting| waiting.reason == WaitingReason::Question);
            Some(says(if is_question {
                let text = "the second".to_owned();
                Command::Answer { task, number, text }
            } else {
                Command::approve(task, number)
            }))
        });
        let gates = self.state.plan.gate_ids().filter(|gate| self.state.gate(*gate).has_failed());
        let overridden = gates.map(|gate| says(Command::OverrideGate { gate, reason: "risk".to_owned() }));
        let checkpoints = self.state.checkpoints_that_wait().map(|hold| {
            let number = self.state.barrier(hold).number;
            says(Command::approve(hold, number))
        });
        waiting.chain(overridden).chain(checkpoints).collect()
    }
}
