//! Judgements derived again from what is stored: no network, no agent, nothing started.
//!
//! Twice over. *Reading*: every stored reply is checked against its digest and read by the same parser under the same
//! plan. *Deciding*: every fact on record, with what was read instead of what is recorded of replies, is handed to the
//! engine in the state of that moment, and what it decides is held against what the journal says. Facts themselves
//! (a person's word, what a command did) cannot be derived; they are taken as they are recorded, and held against what
//! else tells of them: the files that records name, the snapshot, the code of the operator's key. Sessions that went by
//! rules of another number are read again only, which is said and is no pass.
//!
//! | file | what |
//! |---|---|
//! | `compare` | how what is derived is held against what is recorded: what counts of it, and in which words a difference is told |
//! | `shown` | what a judge was shown, against what is on record as seen |
//! | `stored` | what a run has stored, read back where it is as it was recorded |

mod compare;
mod shown;
mod stored;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::executor::error::WorkError;
use crate::executor::spool::{is_as_recorded, read_head};
use crate::review::judgement::Judgement;
use crate::review::stored_reply::{self, JudgeReply, LARGEST_REPLY};
use crate::store::{AskFile, Record, RunFolder, Snapshot, SpoolName};
use rules::domain::{Answer, AskId, Purpose};
use rules::engine::{
    self, AskEvent, AskReply, Event, Fact, FileRef, RULES, ReplyRef, RunEvent, State, TurnEvent, WorkId,
};
use rules::mission::model::Adapter;

pub use compare::said_by_answer;
use compare::{DecisionKey, Ground, answer_difference, canonical, compare_with, differing, is_decisive};

use shown::AskEvidence;

use crate::runtime::recovery::inspect::named_files;
use crate::runtime::recovery::origin::{RunOrigin, operator_key, origin};
use crate::runtime::recovery::recover::{RecoverError, Recovered, RecoveryStep, retell};

/// Everything of a run that was derived again.
pub struct Replay {
    /// The run as it is recorded.
    pub recovered: Recovered,
    /// Every reply of a judge, in the order of the journal.
    pub readings: Vec<Reading>,
    /// Everything that was decided from them, and what else is not as it is recorded.
    pub decisions: Vec<Decision>,
    /// Records of sessions that went by other rules than those of this version: they are read again, and not decided again.
    pub of_other_rules: usize,
}

/// How what was derived stands to what is recorded.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    /// The derived value is the recorded one.
    Equal,
    /// The derived value is another one; the text says in which way.
    Differs(String),
    /// The source of the derivation was changed, is gone, or was never stored.
    Lost(String),
}

impl Comparison {
    /// In a word, and why it is so.
    pub fn words(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Equal => ("equal", None),
            Self::Differs(why) => ("differs", Some(why)),
            Self::Lost(why) => ("lost", Some(why)),
        }
    }
}

/// How documents write it.
#[derive(Serialize, JsonSchema)]
struct ComparisonRow<'a> {
    /// The comparison: `equal`, `differs`, or `lost` where the value cannot be derived any more.
    standing: &'static str,
    /// Why the value is not equal.
    why: Option<&'a str>,
}

impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (standing, why) = self.words();
        ComparisonRow { standing, why }.serialize(serializer)
    }
}

/// One stored reply, read again.
#[derive(Serialize, JsonSchema)]
pub struct Reading {
    /// The number of the first event of its record.
    pub record: u64,
    /// The title of the task.
    pub task: String,
    /// The attempt that was judged.
    pub attempt: u32,
    /// `judge`, or what an agent was asked about.
    pub stage: &'static str,
    /// Round, seat and try of a judge; number and try of anybody else who is asked.
    #[serde(flatten)]
    pub place: Value,
    /// The agent that replied.
    #[serde(rename = "reviewer")]
    pub agent: String,
    /// The model that the provider says it used.
    pub model: Option<String>,
    /// The stored judgement behind the verdict, where it is there and unchanged.
    #[serde(rename = "basis")]
    #[schemars(with = "Option<Value>")]
    pub judgement: Option<Judgement>,
    /// The answer that the journal holds.
    pub recorded: Value,
    /// The answer that the reply gives now.
    pub derived: Option<Value>,
    /// How the two stand.
    #[serde(flatten)]
    #[schemars(with = "ComparisonRow")]
    pub comparison: Comparison,
}

/// One decision, made again.
#[derive(Serialize, JsonSchema)]
pub struct Decision {
    /// The number of the first event of its record; `null` where it is about the whole run.
    pub record: Option<u64>,
    /// The subject of the decision: a task's title, a gate, or the run.
    pub about: String,
    /// The attempt; `null` where the decision is about none.
    pub attempt: Option<u32>,
    /// The stage, `gate`, `mission` or `run`.
    pub stage: &'static str,
    /// The decision that the journal holds.
    pub recorded: Value,
    /// The decision that the engine makes now.
    pub derived: Value,
    /// How the two stand.
    #[serde(flatten)]
    #[schemars(with = "ComparisonRow")]
    pub comparison: Comparison,
}

impl Replay {
    /// Whether everything was derived again and is as it is recorded. What other rules decided was not derived.
    pub fn is_equal(&self) -> bool {
        self.of_other_rules == 0 && self.comparisons().all(|found| *found == Comparison::Equal)
    }

    /// The comparisons of all readings and decisions.
    pub fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        let readings = self.readings.iter().map(|reading| &reading.comparison);
        readings.chain(self.decisions.iter().map(|decision| &decision.comparison))
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
        just_asked: Vec::new(),
        shown: BTreeMap::new(),
        handed_over: BTreeMap::new(),
        record: 0,
        is_comparable: false,
        of_other_rules: 0,
    };
    let recovered = retell(run, |state, record, at| judge.take(state, record, at))?;
    judge.vouch(&recovered);
    Ok(Replay {
        recovered,
        of_other_rules: judge.of_other_rules,
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
    /// The calls that the record before asked for.
    just_asked: Vec<AskId>,
    /// The material of each call whose reply has not come.
    shown: BTreeMap<AskId, AskEvidence>,
    /// The handoff of each open call: record, attempt, file.
    handed_over: BTreeMap<AskId, (u64, u32, FileRef)>,
    /// The number of the first event of the record that is looked at.
    record: u64,
    /// Whether the session goes by the rules of this version.
    is_comparable: bool,
    of_other_rules: usize,
}

impl Rejudge<'_> {
    /// Takes the events of a record from number `at` on, with the state before them: what was decided about the fact, or
    /// what one more look at the state, or a prompt that was written for it, made due. Where the rules decide something else, that is what it goes on from: so
    /// each change is told where it was made, and not by all that follows from it.
    fn take(&mut self, state: &State, record: &Record, at: usize) -> RecoveryStep {
        let (direct, due) = record.parts();
        let is_direct = at == 0;
        let read = if is_direct { self.open(state, record) } else { None };
        let recorded = if is_direct { direct } else { &due[(at - direct.len()).min(due.len())..] };
        // Only a decision about a prompt begins with the start of a turn.
        let prompt = match recorded.first() {
            Some(Event::Turn(_, TurnEvent::Started(prompt))) => Fact::PromptReady(*prompt),
            _ => Fact::Advance,
        };
        let told = read.as_ref().unwrap_or(&record.fact);
        let fact = if is_direct { told } else { &prompt };
        let is_unread = matches!(fact, Fact::Audited(report) if report.seen.is_none());
        if !self.is_comparable || is_unread {
            return RecoveryStep { count: recorded.len(), instead: None };
        }
        let derived = engine::decide(state, fact, record.at);
        let count = if is_direct { recorded.len() } else { derived.len().clamp(1, recorded.len()) };
        let is_equal = self.compare(state, &recorded[..count], &derived);
        RecoveryStep { count, instead: (!is_equal).then_some(derived) }
    }

    /// Begins with a record: its files are looked at, and a reply in it is read again.
    fn open(&mut self, state: &State, record: &Record) -> Option<Fact> {
        self.record = record.seq;
        for id in std::mem::take(&mut self.just_asked) {
            self.shown.extend(AskEvidence::of(state, id).map(|shown| (id, shown)));
        }
        for event in &record.events {
            if let Event::Ask(id, AskEvent::Requested { .. }) = event {
                self.just_asked.push(*id);
            }
        }
        record.events.iter().for_each(|event| self.look_at_files(state, event));
        if let Some(rules) = rules_of(&record.fact) {
            self.is_comparable = rules == RULES;
        }
        self.of_other_rules += usize::from(!self.is_comparable);
        match &record.fact {
            Fact::HandedOver { id, file } => {
                let attempt = state.task(id.task).attempt.number;
                self.handed_over.insert(*id, (record.seq, attempt, file.clone()));
                None
            }
            Fact::AskReplied(said) => {
                let answer = self.replied(state, said.id, &said.reply, &said.answer);
                Some(Fact::AskReplied(AskReply { answer, ..said.clone() }))
            }
            Fact::Audited(report) if self.is_comparable => match self.audited(state, report) {
                Ok(seen) => Some(Fact::Audited(seen)),
                Err(why) => {
                    let about = state.plan.name.clone();
                    self.lost((about, None, "audit"), self.record, json!(report.number), why);
                    None
                }
            },
            _ => None,
        }
    }

    /// The files that an event names are what was judged, or what was said to whoever did it: whatever of them is not as
    /// it was recorded is named. Those of a reply are looked at where it is read.
    fn look_at_files(&mut self, state: &State, event: &Event) {
        let (task, stage) = match event {
            Event::Run(RunEvent::AuditFinished { .. }) => (None, "audit"),
            Event::Ask(id, AskEvent::Failed { .. }) => (Some(id.task), "ask"),
            Event::Turn(
                turn,
                TurnEvent::Started(_) | TurnEvent::FilesNoted { .. } | TurnEvent::Finished(_),
            ) => (Some(turn.task), "work"),
            _ => return,
        };
        // A record names the tasks that it adds, and nobody has worked on them.
        let about = match task {
            None => (state.plan.name.clone(), None),
            Some(task) => match state.known(task) {
                Some(found) => (state.plan.title(task).to_owned(), Some(found.attempt.number)),
                None => return,
            },
        };
        let of = (about.0, about.1, stage);
        for (name, recorded) in named_files(event) {
            if let Err(error) = is_as_recorded(&self.run.spool_file(&name), &recorded) {
                self.lost(of.clone(), self.record, json!(recorded.digest.to_string()), error.into());
            }
        }
    }

    /// Names a file that is not as it was recorded.
    fn lost(
        &mut self,
        (about, attempt, stage): (String, Option<u32>, &'static str),
        record: u64,
        recorded: Value,
        why: WorkError,
    ) {
        self.decisions.push(Decision {
            record: Some(record),
            about,
            attempt,
            stage,
            recorded,
            derived: Value::Null,
            comparison: Comparison::Lost(why.into()),
        });
    }

    /// Compares the run's id, the snapshot and the operator's code with the journal as a whole.
    fn vouch(&mut self, recovered: &Recovered) {
        for (id, (record, attempt, file)) in std::mem::take(&mut self.handed_over) {
            if let Err(why) = self.vouched(&SpoolName::Ask(id, AskFile::Handoff), &file) {
                let about = recovered.state.plan.title(id.task).to_owned();
                self.lost((about, Some(attempt), "ask"), record, json!(file.digest.to_string()), why);
            }
        }
        let mut doubt = |comparison: Comparison| {
            self.decisions.push(Decision {
                record: None,
                about: recovered.state.plan.name.clone(),
                attempt: None,
                stage: "run",
                recorded: Value::Null,
                derived: Value::Null,
                comparison,
            });
        };
        let its = &recovered.started.run_id;
        if its != self.run.id() {
            doubt(Comparison::Differs(format!("its journal is that of run '{its}'")));
        }
        if let Err(why) = Snapshot::compare(self.run, operator_key().as_ref()) {
            doubt(Comparison::Lost(format!("{}: {why}", self.run.snapshot().display())));
        }
        if origin(self.run, operator_key().as_ref()) == RunOrigin::Forged {
            let why = "the operator's key did not vouch for this: its code is of something else";
            doubt(Comparison::Differs(why.to_owned()));
        }
    }

    /// The reply of an agent, as it is read now.
    fn replied(&mut self, state: &State, id: AskId, reply: &ReplyRef, answer: &Answer) -> Answer {
        let task = state.task(id.task);
        let Some(open) = task.open_ask(WorkId::ask(id)) else {
            return answer.clone();
        };
        let agent = state.plan.agent(open.agent);
        let held_to = (state.plan.task(id.task).panel(), Some(state.plan.bar_of_judges(id.task)));
        let (judgement, derived) = self.read(reply, id, |said, judgement| match *agent.spec.adapter {
            Adapter::Echo => stored_reply::of_echo(open.purpose),
            _ => stored_reply::of_ask(open.purpose, held_to, said, &judgement.work),
        });
        let shown = self.shown.remove(&id);
        let derived = derived.and_then(|derived| match (&judgement, shown) {
            (Some(judgement), Some(shown)) => shown.is_in(judgement).map(|()| derived),
            _ => Ok(derived),
        });
        // What was handed over is frozen: a verdict about something else is not this one.
        let handed_over = self.handed_over.remove(&id);
        let derived = derived.and_then(|derived| {
            let name = SpoolName::Ask(id, AskFile::Handoff);
            match (open.purpose, handed_over) {
                (_, Some((_, _, file))) => self.vouched(&name, &file).map(|()| derived),
                (Purpose::Grade { .. }, None) => Err("nothing is on record as handed over".into()),
                _ => Ok(derived),
            }
        });
        let comparison = compare_with(&derived, |derived| answer_difference(answer, derived));
        if let Some(ground) = Ground::of_answer(state, id.task, open.purpose) {
            self.mark_unverified(ground, &comparison);
        }
        let (stage, place) = match open.purpose {
            Purpose::Score(place) => {
                ("judge", json!({"round": place.round, "seat": place.seat, "try": id.attempt_try}))
            }
            purpose => (purpose.as_str(), json!({"number": id.number, "try": id.attempt_try})),
        };
        self.readings.push(Reading {
            record: self.record,
            task: state.plan.title(id.task).to_owned(),
            attempt: task.attempt.number,
            stage,
            place,
            agent: agent.name.to_string(),
            model: reply.model.clone(),
            judgement,
            recorded: said_by_answer(answer),
            derived: derived.as_ref().ok().map(said_by_answer),
            comparison,
        });
        derived.unwrap_or_else(|_| answer.clone())
    }

    /// Reads a stored reply, if it and what is stored beside it are what was recorded.
    fn read<T>(
        &self,
        reply: &ReplyRef,
        id: AskId,
        parse: impl FnOnce(JudgeReply<'_>, &Judgement) -> T,
    ) -> (Option<Judgement>, Result<T, WorkError>) {
        let judgement =
            match self.judgement(reply.judgement.as_deref(), &SpoolName::Ask(id, AskFile::Judgement)) {
                Ok(judgement) => judgement,
                Err(why) => return (None, Err(why)),
            };
        let asked = FileRef { length: judgement.prompt.bytes, digest: judgement.prompt.digest };
        let text = self
            .vouched(&SpoolName::Ask(id, AskFile::Request), &asked)
            .and_then(|()| self.vouched(&SpoolName::Ask(id, AskFile::Reply), &reply.reply))
            // What it did with tools is what its word rests on, as much as what it was shown.
            .and_then(|()| match reply.tools.as_ref().and_then(|tools| tools.ledger.as_ref()) {
                Some(ledger) => self.vouched(&SpoolName::Ask(id, AskFile::Tools), ledger),
                None => Ok(()),
            })
            .and_then(|()| match reply.reply.length {
                0 => Ok(String::new()),
                _ => Ok(read_head(&self.run.spool_file(&SpoolName::Ask(id, AskFile::Reply)), LARGEST_REPLY)?),
            });
        let read = text.map(|text| {
            let said = JudgeReply { text: &text, len: reply.reply.length, cut_short: judgement.cut_short };
            parse(said, &judgement)
        });
        (Some(judgement), read)
    }

    fn decided(&mut self, of: DecisionKey, recorded: Value, derived: Value, comparison: Comparison) {
        self.decisions.push(Decision {
            record: Some(self.record),
            about: of.about,
            attempt: of.task.map(|(_, attempt)| attempt),
            stage: of.stage,
            recorded,
            derived,
            comparison,
        });
    }

    fn mark_unverified(&mut self, ground: Ground, comparison: &Comparison) {
        if *comparison != Comparison::Equal {
            self.doubtful.insert(ground);
        }
    }

    /// Holds what was decided against what is recorded: whether it is the same.
    fn compare(&mut self, state: &State, recorded: &[Event], derived: &[Event]) -> bool {
        let before = self.decisions.len();
        let first_other = first_difference(recorded, derived);
        let first = first_other.and_then(|at| recorded.get(at).or(derived.get(at)));
        let recorded: Vec<&Event> = recorded.iter().filter(|event| is_decisive(event)).collect();
        let derived: Vec<&Event> = derived.iter().filter(|event| is_decisive(event)).collect();
        for at in 0..recorded.len().max(derived.len()) {
            let (was, is) = (recorded.get(at).copied(), derived.get(at).copied());
            let Some(event) = was.or(is) else { continue };
            let (was, is) = (was.map(|was| canonical(state, was)), is.map(|is| canonical(state, is)));
            let of = DecisionKey::of(state, event);
            // What is decided instead is about something else.
            let derives_another =
                derived.get(at).is_some_and(|is| DecisionKey::of(state, is).ground != of.ground);
            let comparison = match (&was, &is) {
                (Some(was), Some(is)) if was == is => match &of.ground {
                    Some(ground) if self.doubtful.contains(ground) => {
                        Comparison::Lost("it rests on a reply that is lost or says something else".to_owned())
                    }
                    _ => Comparison::Equal,
                },
                (Some(_), Some(_)) if derives_another => {
                    Comparison::Differs("nothing leads to it".to_owned())
                }
                (Some(was), Some(is)) => Comparison::Differs(differing(was, is)),
                (Some(_), None) => Comparison::Differs("nothing leads to it".to_owned()),
                (None, _) => Comparison::Differs("it is not recorded".to_owned()),
            };
            // What happens to a task beside its verdict is worth a line only where it is not as it should be.
            if of.is_beside && comparison == Comparison::Equal {
                continue;
            }
            let (was, is) = (was.unwrap_or(Value::Null), is.unwrap_or(Value::Null));
            self.decided(of, was, is, comparison);
        }
        let is_told =
            self.decisions[before..].iter().any(|decision| decision.comparison != Comparison::Equal);
        let Some(event) = first.filter(|_| !is_told) else {
            return first_other.is_none();
        };
        let of = DecisionKey::of(state, event);
        let why = "what else follows is not what is recorded".to_owned();
        self.decided(of, Value::Null, Value::Null, Comparison::Differs(why));
        false
    }
}

/// The first event that differs. The code of an operator's key is no part of a decision.
fn first_difference(recorded: &[Event], derived: &[Event]) -> Option<usize> {
    let is_same = |was: &Event, is: &Event| match (was, is) {
        (
            Event::Run(RunEvent::Finished { outcome: was, conditions: of, allowed: but, .. }),
            Event::Run(RunEvent::Finished { outcome: is, conditions, allowed, .. }),
        ) => was == is && of == conditions && but == allowed,
        // A mission that was accepted is compiled anew: it is told by its digest.
        (Event::Run(RunEvent::MissionChanged(was)), Event::Run(RunEvent::MissionChanged(is))) => {
            was.mission_digest == is.mission_digest
        }
        _ => was == is,
    };
    let differs = |at: &usize| match (recorded.get(*at), derived.get(*at)) {
        (Some(was), Some(is)) => !is_same(was, is),
        _ => true,
    };
    (0..recorded.len().max(derived.len())).find(differs)
}

/// The rules by which a session that begins with a fact decides.
fn rules_of(fact: &Fact) -> Option<u32> {
    match fact {
        Fact::Start(started) => Some(started.rules),
        Fact::Resume(resume) => Some(resume.rules),
        _ => None,
    }
}
