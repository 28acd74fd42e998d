//! What `-v` adds: where agents are, how each turn and check ended, what every reviewer answered.

use crate::report::screens::{style::Role, text::seconds};
use rules::{
    domain::{Answer, DimensionScore, Purpose, SeatPlace, TaskId, TurnId},
    engine::{
        AskEvent, AskReply, CheckResult, Event, Exit, FileFact, Job, JobEnd, ReplyRef, RunEvent, State,
        TurnEvent, TurnUpdate, Usage, WorkEvent,
    },
    mission::model::Check,
};

use super::line::{ProgressLine, title};
use super::verb::Verb;

/// Where the last lines of what a turn wrote to standard error come from.
type StderrTail = Box<dyn Fn(TurnId) -> Vec<String>>;

/// Says more. The journal holds all of it; nothing here is needed to understand a run.
pub struct Details {
    programs: Vec<(String, String)>,
    tail: StderrTail,
}

impl Details {
    /// `programs`: each agent and where it is. `tail`: the last lines that a turn wrote to standard error; this module
    /// opens no files.
    pub fn new(programs: Vec<(String, String)>, tail: impl Fn(TurnId) -> Vec<String> + 'static) -> Self {
        Self { programs, tail: Box::new(tail) }
    }

    /// More lines for an event, after the one that everybody sees.
    pub fn of_event(&self, state: &State, event: &Event) -> Vec<ProgressLine> {
        match event {
            Event::Run(RunEvent::Started(_) | RunEvent::Resumed(_)) => self.of_programs(),
            Event::Turn(turn, TurnEvent::Progress(TurnUpdate::Spawned { process: Some(process) })) => {
                let detail = format!("process {}", process.pid);
                vec![dim(Verb::Start, title(state, turn.task), detail)]
            }
            Event::Turn(turn, TurnEvent::Finished(end)) => {
                let model = end.model.as_ref().map(|model| format!("  {model}"));
                let (model, used) = (model.unwrap_or_default(), usage_words(&end.usage));
                let took = seconds(end.duration);
                vec![self.of_end(state, *turn, &end.exit, &format!("in {took}{model}{used}"))]
            }
            Event::Work(
                task,
                WorkEvent::Ended { job: Job::Scan { .. } | Job::Stage(..), end: JobEnd::Seen { files, .. } },
            ) => files.iter().map(|file| of_file(state, *task, file)).collect(),
            Event::Work(task, WorkEvent::Ended { job: Job::Check(check), end: JobEnd::Checked(result) }) => {
                vec![of_check(state, *task, *check, result)]
            }
            Event::Ask(id, AskEvent::Requested { purpose: Purpose::Score(seat), agent, strict, .. }) => {
                let again = strict.as_ref().map(|why| format!(", once more: {why}"));
                let (agent, again) = (state.plan.agent_name(*agent), again.unwrap_or_default());
                let detail = format!("asks judge {}: {agent}{again}", seat.seat + 1);
                vec![dim(Verb::Review, title(state, id.task), detail)]
            }
            Event::Ask(
                id,
                AskEvent::Replied(AskReply { purpose: Purpose::Score(seat), reply, answer, .. }),
            ) => of_reply(state, id.task, *seat, reply, answer),
            _ => Vec::new(),
        }
    }

    /// Where each agent is.
    fn of_programs(&self) -> Vec<ProgressLine> {
        let programs = self.programs.iter();
        programs.map(|(agent, place)| dim(Verb::Run, agent, format!("agent at {place}"))).collect()
    }

    /// How a turn ended; where not well, with what it said last on standard error.
    fn of_end(&self, state: &State, turn: TurnId, exit: &Exit, more: &str) -> ProgressLine {
        let mut detail = format!("turn {}: {} {more}", turn.turn, exit_words(exit));
        if !exit.is_clean() {
            detail.extend((self.tail)(turn).iter().map(|said| format!("\n{said}")));
        }
        ProgressLine::with_output(Verb::Run, Role::Dim, title(state, turn.task), detail)
    }
}

fn dim(verb: Verb, subject: &str, detail: String) -> ProgressLine {
    ProgressLine::new(verb, Role::Dim, subject, detail)
}

fn of_file(state: &State, task: TaskId, file: &FileFact) -> ProgressLine {
    let size = file.size.map(|size| format!("{size} bytes"));
    let size = size.unwrap_or_else(|| "missing".to_owned());
    dim(Verb::Check, title(state, task), format!("{}  {size}", file.path))
}

fn exit_words(exit: &Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => exit.failure.map_or("finished", |class| class.as_str()).to_owned(),
    }
}

fn usage_words(usage: &Usage) -> String {
    match (usage.input_tokens, usage.output_tokens) {
        (Some(read), Some(written)) => format!("  tokens {read} in, {written} out"),
        _ => String::new(),
    }
}

fn of_check(state: &State, task: TaskId, check: u32, result: &CheckResult) -> ProgressLine {
    let check = state.plan.task(task).checks().get(check as usize);
    let what = check.map(Check::label).unwrap_or_default();
    let verdict = if result.passed { "passed" } else { "failed" };
    let detail = format!("{verdict} in {}  {what}", seconds(result.duration));
    dim(Verb::Check, title(state, task), detail)
}

/// A reply that could not be read is told of without `-v`.
fn of_reply(
    state: &State,
    task: TaskId,
    seat: SeatPlace,
    reply: &ReplyRef,
    answer: &Answer,
) -> Vec<ProgressLine> {
    let said = match answer {
        Answer::Evaluation { points, .. } => points.to_string(),
        Answer::Scores { scores: dimensions, .. } => {
            let score = |scored: &DimensionScore| format!("{} {}", scored.dimension, scored.points);
            dimensions.iter().map(score).collect::<Vec<_>>().join(", ")
        }
        _ => return Vec::new(),
    };
    let model = reply.model.as_ref().map_or_else(String::new, |model| format!(" ({model})"));
    let usage = usage_words(&reply.usage);
    let detail = format!("judge {}{model}: {said}{usage}", seat.seat + 1);
    vec![dim(Verb::Review, title(state, task), detail)]
}
