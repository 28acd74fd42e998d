//! Judgements derived again from what is stored: no network, no agent, nothing started.
//!
//! Every stored reply is checked against its digest and read by the same parser under the same plan. What it says is
//! handed to the engine in the state of that moment, and what the engine decides is held against what the journal
//! says: consensus, rubric, verdict, score, flag, gates, the outcome. A person's word and what commands did cannot be
//! derived; they are taken as they are recorded.

mod compare;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::domain::{
    Advice, ConsultId, DeclaredVerdict, FindingsReport, Millis, Opinion, Stage, TurnId, Verdict,
};
use crate::engine::{self, ConsultFailure, Event, FileRef, Input, ReplyRef, SeatFailure, StageReport, State};
use crate::executor::spool::{Recorded, is_as_recorded, read_head};
use crate::mission::model::Adapter;
use crate::review::judgement::Judgement;
use crate::review::verdict::{self, LARGEST_REPLY, Reply};
use crate::store::{Record, RunFolder, SpoolName};

use compare::{
    Ground, Place, advice_difference, differing, essence, is_decisive, said_by_advice, said_by_seat,
    seat_difference, standing,
};

use super::calls::panel_of;
use super::inspect::vouched;
use super::recover::{RecoverError, Recovered, retell};

/// The largest judgement that is read, in bytes: digests of a work's own verdicts make up most of it.
const LARGEST_JUDGEMENT: u64 = 4 * 1024 * 1024;

/// Everything of a run that was derived again.
pub struct Replay {
    /// The run as it is recorded.
    pub recovered: Recovered,
    /// Every reply of a judge, in the order of the journal.
    pub readings: Vec<Reading>,
    /// Everything that was decided from them.
    pub decisions: Vec<Decision>,
}

/// How what was derived stands to what is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// They are the same.
    Equal,
    /// They are not; in which way.
    Differs(String),
    /// What it would be derived from was changed, is gone, or was never stored.
    Lost(String),
}

/// One stored reply, read again.
pub struct Reading {
    /// The task's title.
    pub task: String,
    /// The attempt that was judged.
    pub attempt: u32,
    /// `judge`, or what an agent was consulted about.
    pub stage: &'static str,
    /// Round, seat and try of a judge; number and try of a consulted agent.
    pub place: Value,
    /// Who replied.
    pub agent: String,
    /// The model that the provider says it used.
    pub model: Option<String>,
    /// What the verdict rests on beside the reply, where that is stored and unchanged.
    pub judgement: Option<Judgement>,
    /// What the journal says of it.
    pub recorded: Value,
    /// What it says now.
    pub derived: Option<Value>,
    /// How the two stand.
    pub standing: Standing,
}

/// One decision, made again.
pub struct Decision {
    /// What it is about: a task's title, a gate, or the run.
    pub about: String,
    /// The attempt, where it is about one.
    pub attempt: Option<u32>,
    /// The stage, `gate`, `mission` or `run`.
    pub stage: &'static str,
    /// What the journal says.
    pub recorded: Value,
    /// What the engine decides now.
    pub derived: Value,
    /// How the two stand.
    pub standing: Standing,
}

impl Replay {
    /// Whether everything is as it is recorded.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.standings().all(|standing| *standing == Standing::Equal)
    }

    /// Of all readings and decisions.
    pub fn standings(&self) -> impl Iterator<Item = &Standing> {
        let readings = self.readings.iter().map(|reading| &reading.standing);
        readings.chain(self.decisions.iter().map(|decision| &decision.standing))
    }
}

/// Derives every judgement of a run again. Blocks.
///
/// # Errors
/// [`RecoverError`] if the run cannot be folded at all.
pub fn replay(run: &RunFolder) -> Result<Replay, RecoverError> {
    let mut judge = Rejudge {
        run,
        readings: Vec::new(),
        decisions: Vec::new(),
        doubtful: BTreeSet::new(),
        handed_over: BTreeMap::new(),
    };
    let recovered = retell(run, |state, record| judge.take(state, record))?;
    Ok(Replay {
        recovered,
        readings: judge.readings,
        decisions: judge.decisions,
    })
}

struct Rejudge<'a> {
    run: &'a RunFolder,
    readings: Vec<Reading>,
    decisions: Vec<Decision>,
    /// Verdicts that rest on a reply that is lost or says something else.
    doubtful: BTreeSet<Ground>,
    /// What was handed over to those whose reply has not come.
    handed_over: BTreeMap<ConsultId, FileRef>,
}

/// The files that belong to one reply.
struct Names {
    reply: SpoolName,
    judgement: SpoolName,
    request: SpoolName,
    tools: SpoolName,
}

impl Rejudge<'_> {
    /// Takes a record, with the state before it.
    fn take(&mut self, state: &State, record: &Record) {
        for event in &record.events {
            match event {
                Event::HandedOver { id, file, .. } => {
                    self.handed_over.insert(*id, file.clone());
                }
                Event::TurnFinished { turn, .. } => self.worked(state, *turn, event),
                _ => {}
            }
        }
        let input = match record.input.as_str() {
            "replied" => self.replied(state, record),
            "advice" => self.advised(state, record),
            "seat-failed" => failed_seat(record),
            "advice-failed" => failed_consult(record),
            "checked" => checked(state, record),
            "graded" => graded(state, record),
            "screenshots" => screenshots_seen(state, record),
            "stage-judged" => step_judged(state, record),
            "advance" => Some(Input::Advance),
            "audited" => return self.audited(state, record),
            _ => None,
        };
        match input {
            Some(input) => {
                let derived = engine::decide(state, &input, record.at);
                self.compare(state, &record.events, &derived);
            }
            None => self.out_of_nothing(state, record),
        }
    }

    /// What a turn left is what was judged: whatever of it is not as it was recorded is named.
    fn worked(&mut self, state: &State, turn: TurnId, event: &Event) {
        for (name, recorded) in vouched(event) {
            let Err(error) = is_as_recorded(&self.run.spool_file(&name), &recorded) else {
                continue;
            };
            self.decisions.push(Decision {
                about: state.plan.task(turn.task).title.to_string(),
                attempt: Some(turn.attempt),
                stage: "work",
                recorded: json!(recorded.digest.to_string()),
                derived: Value::Null,
                standing: Standing::Lost(error.to_string()),
            });
        }
    }

    fn replied(&mut self, state: &State, record: &Record) -> Option<Input> {
        let (task, seat, reply, result) = record.events.iter().find_map(|event| match event {
            Event::SeatReplied {
                task,
                seat,
                reply,
                result,
            } => Some((*task, *seat, reply, result)),
            _ => None,
        })?;
        let sits = state.task(task).judging.as_deref();
        let sits = sits.and_then(|judging| judging.seats.get(seat.seat as usize));
        let agent = sits.map(|sits| state.plan.agent(sits.agent));
        let is_echo = agent.is_some_and(|agent| agent.spec.adapter == Adapter::Echo);
        let names = Names {
            reply: SpoolName::Reply(task, seat),
            judgement: SpoolName::Judgement(task, seat),
            request: SpoolName::Request(task, seat),
            tools: SpoolName::Tools(task, seat),
        };
        let (judgement, derived) = self.read(reply, &names, |said, judgement| match is_echo {
            true => verdict::of_echo(),
            false => verdict::of_seat(panel_of(&state.plan, task), said, &judgement.work),
        });
        let standing = standing(&derived, |derived| seat_difference(result, derived));
        self.doubt(Ground::new(task, seat.attempt, Stage::Judge, None), &standing);
        self.readings.push(Reading {
            task: state.plan.task(task).title.to_string(),
            attempt: seat.attempt,
            stage: "judge",
            place: json!({"round": seat.round, "seat": seat.seat, "try": seat.attempt_try}),
            agent: agent.map_or_else(String::new, |agent| agent.name.to_string()),
            model: reply.model.clone(),
            judgement,
            recorded: said_by_seat(result),
            derived: derived.as_ref().ok().map(said_by_seat),
            standing,
        });
        Some(Input::SeatReplied {
            task,
            seat,
            reply: reply.clone(),
            result: derived.unwrap_or_else(|_| result.clone()),
        })
    }

    fn advised(&mut self, state: &State, record: &Record) -> Option<Input> {
        let (id, reply, advice) = record.events.iter().find_map(|event| match event {
            Event::ConsultReplied { id, reply, advice } => Some((*id, reply, advice)),
            _ => None,
        })?;
        let task = state.task(id.task);
        let open = task.consults.iter().find(|open| open.id == id)?;
        let agent = state.plan.agent(open.agent);
        let names = Names {
            reply: SpoolName::ConsultReply(id),
            judgement: SpoolName::ConsultJudgement(id),
            request: SpoolName::ConsultRequest(id),
            tools: SpoolName::ConsultTools(id),
        };
        let (judgement, derived) = self.read(reply, &names, |said, judgement| match agent.spec.adapter {
            Adapter::Echo => verdict::of_consulted_echo(open.purpose),
            _ => verdict::of_consult(open.purpose, said, &judgement.work),
        });
        // What was handed over is frozen: a verdict about something else is not this one.
        let handed_over = self.handed_over.remove(&id);
        let derived = derived.and_then(|derived| {
            let vouched = handed_over.map(|file| self.vouched(&SpoolName::ConsultHandoff(id), &file));
            vouched.unwrap_or(Ok(())).map(|()| derived)
        });
        let standing = standing(&derived, |derived| advice_difference(advice, derived));
        if let Some(ground) = Ground::of_advice(state, id.task, open.purpose) {
            self.doubt(ground, &standing);
        }
        self.readings.push(Reading {
            task: state.plan.task(id.task).title.to_string(),
            attempt: task.attempt,
            stage: open.purpose.as_str(),
            place: json!({"number": id.number, "try": id.attempt_try}),
            agent: agent.name.to_string(),
            model: reply.model.clone(),
            judgement,
            recorded: said_by_advice(advice),
            derived: derived.as_ref().ok().map(said_by_advice),
            standing,
        });
        Some(Input::ConsultReplied {
            id,
            reply: reply.clone(),
            advice: derived.unwrap_or_else(|_| advice.clone()),
        })
    }

    /// Reads a stored reply, if it and what is stored beside it are what was recorded.
    fn read<T>(
        &self,
        reply: &ReplyRef,
        names: &Names,
        parse: impl FnOnce(Reply<'_>, &Judgement) -> T,
    ) -> (Option<Judgement>, Result<T, String>) {
        let judgement = match self.judgement(reply.judgement.as_deref(), &names.judgement) {
            Ok(judgement) => judgement,
            Err(why) => return (None, Err(why)),
        };
        let asked = FileRef {
            len: judgement.prompt.bytes,
            digest: judgement.prompt.digest,
        };
        let text = self
            .vouched(&names.request, &asked)
            .and_then(|()| self.vouched(&names.reply, &reply.file))
            // What it did with tools is what its word rests on, as much as what it was shown.
            .and_then(
                |()| match reply.tools.as_ref().and_then(|tools| tools.file.as_ref()) {
                    Some(ledger) => self.vouched(&names.tools, ledger),
                    None => Ok(()),
                },
            )
            .and_then(|()| match reply.file.len {
                0 => Ok(String::new()),
                _ => read_head(&self.run.spool_file(&names.reply), LARGEST_REPLY)
                    .map_err(|error| error.to_string()),
            });
        let read = text.map(|text| {
            let said = Reply {
                text: &text,
                len: reply.file.len,
                cut_short: judgement.cut_short,
            };
            parse(said, &judgement)
        });
        (Some(judgement), read)
    }

    fn judgement(&self, file: Option<&FileRef>, name: &SpoolName) -> Result<Judgement, String> {
        let file = file.ok_or("an older version of quorum did not store what the verdict rests on")?;
        self.vouched(name, file)?;
        let path = self.run.spool_file(name);
        let text = read_head(&path, LARGEST_JUDGEMENT).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| format!("{} cannot be read: {error}", path.display()))
    }

    /// Whether a file is what was recorded; empty ones are not kept.
    fn vouched(&self, name: &SpoolName, file: &FileRef) -> Result<(), String> {
        let path = self.run.spool_file(name);
        if file.len == 0 {
            return match path.metadata() {
                Ok(found) if found.len() > 0 => Err(format!("{} was recorded as empty", path.display())),
                _ => Ok(()),
            };
        }
        let recorded = Recorded {
            len: Some(file.len),
            digest: file.digest,
        };
        is_as_recorded(&path, &recorded).map_err(|error| error.to_string())
    }

    fn doubt(&mut self, ground: Ground, standing: &Standing) {
        if *standing != Standing::Equal {
            self.doubtful.insert(ground);
        }
    }

    /// Holds what was decided against what is recorded.
    fn compare(&mut self, state: &State, recorded: &[Event], derived: &[Event]) {
        let recorded: Vec<&Event> = recorded.iter().filter(|event| is_decisive(event)).collect();
        let derived: Vec<&Event> = derived.iter().filter(|event| is_decisive(event)).collect();
        for at in 0..recorded.len().max(derived.len()) {
            let (was, is) = (recorded.get(at).copied(), derived.get(at).copied());
            let Some(event) = was.or(is) else { continue };
            let (was, is) = (
                was.map(|was| essence(state, was)),
                is.map(|is| essence(state, is)),
            );
            let of = Place::of(state, event);
            let standing = match (&was, &is) {
                (Some(was), Some(is)) if was == is => match &of.ground {
                    Some(ground) if self.doubtful.contains(ground) => {
                        Standing::Lost("it rests on a reply that is lost or says something else".to_owned())
                    }
                    _ => Standing::Equal,
                },
                (Some(was), Some(is)) => Standing::Differs(differing(was, is)),
                (Some(_), None) => Standing::Differs("nothing leads to it".to_owned()),
                (None, _) => Standing::Differs("it is not recorded".to_owned()),
            };
            // What happens to a task beside its verdict is worth a line only where it is not as it should be.
            if of.is_beside && standing == Standing::Equal {
                continue;
            }
            self.decisions.push(Decision {
                about: of.about,
                attempt: of.task.map(|(_, attempt)| attempt),
                stage: of.stage,
                recorded: was.unwrap_or(Value::Null),
                derived: is.unwrap_or(Value::Null),
                standing,
            });
        }
    }

    /// What an audit saw is gone. What follows from it for the run, where it found nothing, is not.
    fn audited(&mut self, state: &State, record: &Record) {
        let is_audit = |event: &Event| matches!(event, Event::Audited { .. });
        let Some(at) = record.events.iter().position(is_audit) else {
            return;
        };
        let (audit, behind) = record.events.split_at(at + 1);
        if !behind.iter().any(is_decisive) {
            return;
        }
        let mut state = state.clone();
        for event in audit {
            engine::apply(&mut state, event);
        }
        let derived = engine::decide(&state, &Input::Advance, record.at);
        self.compare(&state, behind, &derived);
    }

    /// A verdict of judges, or of a stage behind them, can only come of what was said, or of a person's word.
    fn out_of_nothing(&mut self, state: &State, record: &Record) {
        for event in &record.events {
            let Event::StageVerdict(report) = event else {
                continue;
            };
            let is_judging = report.stage >= Stage::Judge && report.stage != Stage::Audit;
            let says_something = report.points.is_some() || report.verdict == Verdict::Pass;
            if !is_judging || !says_something || report.by.is_some() {
                continue;
            }
            let of = Place::of(state, event);
            self.decisions.push(Decision {
                about: of.about,
                attempt: Some(report.attempt),
                stage: of.stage,
                recorded: essence(state, event),
                derived: Value::Null,
                standing: Standing::Differs("nothing leads to it".to_owned()),
            });
        }
    }
}

/// The last failure of a seat settles its panel. If it was asked again instead, nothing was decided.
fn failed_seat(record: &Record) -> Option<Input> {
    let asked_again = record
        .events
        .iter()
        .any(|event| matches!(event, Event::SeatRequested { .. }));
    record.events.iter().find_map(|event| match event {
        Event::SeatFailed {
            task,
            seat,
            class,
            message,
            used,
            // One that met a limit which resets is asked again, and nothing was decided.
            until: None,
        } if !asked_again => Some(Input::SeatFailed(Box::new(SeatFailure {
            task: *task,
            seat: *seat,
            class: *class,
            message: message.clone(),
            retry_after: Some(GIVEN_UP),
            jitter: 0,
            used: used.clone(),
            ours: !fell_back(record),
        }))),
        _ => None,
    })
}

/// Whether somebody was asked instead. Whose fault a failure was is not recorded beside it, and this is what follows from it.
fn fell_back(record: &Record) -> bool {
    let mut events = record.events.iter();
    events.any(|event| matches!(event, Event::FellBack { .. }))
}

/// A pause that nobody waits for.
const GIVEN_UP: Millis = Millis(u64::MAX);

fn failed_consult(record: &Record) -> Option<Input> {
    record.events.iter().find_map(|event| match event {
        Event::ConsultFailed {
            id,
            gave_up: true,
            class,
            message,
            used,
            ..
        } => Some(Input::ConsultFailed(Box::new(ConsultFailure {
            id: *id,
            class: *class,
            message: message.clone(),
            retry_after: Some(GIVEN_UP),
            jitter: 0,
            used: used.clone(),
            ours: !fell_back(record),
        }))),
        _ => None,
    })
}

fn checked(state: &State, record: &Record) -> Option<Input> {
    record.events.iter().find_map(|event| match event {
        Event::CheckFinished { task, check, result } => Some(Input::CheckFinished {
            task: *task,
            attempt: state.task(*task).attempt,
            check: *check,
            result: result.clone(),
        }),
        _ => None,
    })
}

/// Grades that plain facts gave. The facts are gone; what the grades mean is not.
fn graded(state: &State, record: &Record) -> Option<Input> {
    record.events.iter().find_map(|event| {
        let (task, result) = match event {
            Event::StageVerdict(report)
                if report.stage == Stage::Verification && !report.grades.is_empty() =>
            {
                (report.task, Ok(report.grades.clone()))
            }
            Event::GradingFailed { task, message, .. } => (*task, Err(message.clone())),
            _ => return None,
        };
        let judging = state.task(task).judging.as_deref();
        Some(Input::Graded {
            task,
            attempt: state.task(task).attempt,
            round: judging?.grading?.round,
            result,
        })
    })
}

/// Which screenshots were there.
fn screenshots_seen(state: &State, record: &Record) -> Option<Input> {
    record.events.iter().find_map(|event| match event {
        Event::FilesScanned { task, files, .. } => Some(Input::ScreenshotsSeen {
            task: *task,
            attempt: state.task(*task).attempt,
            files: files.clone(),
        }),
        _ => None,
    })
}

/// What a stage said that needs no agent. What it rests on is gone; what follows from its word is not.
fn step_judged(state: &State, record: &Record) -> Option<Input> {
    record.events.iter().find_map(|event| {
        let (task, result) = match event {
            Event::StageVerdict(report) => (report.task, Ok(word_of(report)?)),
            Event::StepFailed { task, message, .. } => (*task, Err(message.clone())),
            _ => return None,
        };
        let open = state.task(task).judging.as_deref()?.step?;
        Some(Input::StepJudged {
            task,
            attempt: state.task(task).attempt,
            step: open.step,
            round: open.round,
            result,
            never_began: record
                .events
                .iter()
                .any(|event| matches!(event, Event::StepRequested { .. })),
        })
    })
}

/// The word that a verdict was made of.
fn word_of(report: &StageReport) -> Option<Advice> {
    let findings = report.findings.iter();
    if report.stage == Stage::Vision {
        return Some(Advice::Findings(FindingsReport::whole(
            findings.cloned().collect(),
        )));
    }
    let (verdict, ours) = match report.verdict {
        Verdict::Pass => (DeclaredVerdict::Pass, 0),
        // The first finding of a failed one says which stage it was.
        Verdict::Fail => (DeclaredVerdict::Fail, 1),
        Verdict::Refer => (DeclaredVerdict::Refer, 0),
        Verdict::Skip | Verdict::Fault => return None,
    };
    Some(Advice::Opinion(Box::new(Opinion {
        verdict,
        reason: report.reason.clone().unwrap_or_default(),
        findings: findings.skip(ours).cloned().collect(),
        prior: Vec::new(),
    })))
}
