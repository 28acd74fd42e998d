//! What the end of a worker's program means: its outputs, its claims, its failure.

use std::path::Path;
use std::sync::Arc;

use crate::agents::failure::{CommandFailure, FailedCommand, Moment, of_start, read_command};
use crate::agents::preset::Called;
use crate::agents::secrets::Secrets;
use crate::executor::command::{CommandEnd, GivenUp, LONGEST_QUOTE};
use crate::executor::program::{ProgramOutput, read_program};
use crate::executor::runner::EndedCommand;
use crate::executor::spool::{read_head, read_tail, seal};
use crate::executor::task_command::TaskCommands;
use crate::store::SpoolName;
use rules::domain::{Digest, FailureClass, Millis, Money, TaskId, TurnId};
use rules::engine::{Asked, Exit, Fact, SessionRef, ToolCalls, TurnEnd, Usage};
use rules::mission::model::{CommandLine, Field, Preset};
use rules::plan::Plan;
use supervisor::ChildExit;

use super::agent_messages::{self, TurnMessages};
use super::context::{WorkContext, jitter};
use super::middleware::LastWords;
use super::{delegated_gate, middleware, reply};
use crate::runtime::isolation::watch::{After, TurnBaseline};

/// The most bytes of an output that can be a question.
const SHORT_OUTPUT: u64 = 4 * rules::judging::worker_question::MAX_CHARS as u64;
/// How much of what an agent printed may be its last message, in bytes.
const LAST_MESSAGE: u64 = 4 * rules::judging::assumption::LAST_CHARS as u64;
/// Sub-tasks that cannot be read are told one by one, up to so many of one turn.
const REFUSALS: usize = 20;

/// What a turn by a program has left.
pub enum LeftByTurn {
    /// Nothing that is to be read: this is its end.
    Nothing(Box<Fact>),
    /// Outputs, messages or files, from which this makes its end. Blocks.
    Files(Box<dyn FnOnce() -> Fact + Send>),
}

/// What a turn by a program has left, which said this while it worked. It looks for what there is, and reads nothing.
pub fn left_by(
    context: &WorkContext,
    (turn, commands): (TurnId, &TaskCommands),
    before: TurnBaseline,
    (ended, said): (EndedCommand, TurnMessages),
) -> LeftByTurn {
    let plan = context.newest_plan(&commands.plan);
    // One that prints nothing may still have claimed or asked something, or handed work down.
    let dropped = commands.file(&SpoolName::Drop(turn));
    let has_spoken = crate::locked(&context.messages).take(&dropped);
    let mut exit = match ended.result {
        Ok(exit) => exit,
        Err(why) => {
            let message = String::from(why);
            let class = of_start(&message);
            return LeftByTurn::Nothing(Box::new(Fact::TurnRequestFailed {
                turn,
                class,
                // What cannot be passed once cannot be passed twice.
                before_effect: class == FailureClass::Unknown,
                message,
                retry_after: None,
                jitter: jitter(),
            }));
        }
    };
    let mut limit = plan.task(turn.task).turn_timeout.to_string();
    match &ended.outputs.given_up {
        Some(GivenUp::Silent(idle)) if exit.terminated => {
            exit.timed_out = true;
            limit = silent(*idle);
        }
        Some(GivenUp::Silent(_)) | None => {}
        // What it said it waits for is why it ended, not a word of ours.
        Some(GivenUp::Waits { .. } | GivenUp::Over) => exit.terminated = false,
    }
    let after = before.after(context);
    let is_silent = exit.stdout_len == 0 && exit.stderr_len == 0 && exit.output_lost.is_none();
    if is_silent && after.is_known(&plan) && !has_spoken && preset_of(&plan, turn).is_none() {
        let failure = has_failed(&exit).then(|| failure_of(&plan, turn.task, &exit, "", ""));
        return LeftByTurn::Nothing(Box::new(Fact::TurnEnded(Box::new(TurnEnd {
            files: after.seen(&plan, (turn.task, &mut [])),
            ..turn_end(turn, &exit, &limit, failure)
        }))));
    }
    let context = context.clone();
    LeftByTurn::Files(Box::new(move || {
        let left = ended.outputs.end(Ok(exit));
        let end = seal_turn(&context, (turn, &plan), (&left, &limit), after, said);
        Fact::TurnEnded(Box::new(end))
    }))
}

/// How long a turn had been silent that was ended for it.
pub fn silent(idle: Millis) -> String {
    format!("{idle} without a word")
}

/// The preset that reads what the program of a turn prints, if one does.
fn preset_of(plan: &Plan, turn: TurnId) -> Option<&Arc<Preset>> {
    plan.worker_of(turn.task).spec.preset.as_ref()
}

/// The failure of a turn that did not end well, from its own outputs.
fn failure_of(plan: &Plan, task: TaskId, exit: &ChildExit, stdout: &str, stderr: &str) -> CommandFailure {
    with_failed(plan, task, exit, |failed| read_command(&FailedCommand { stdout, stderr, ..failed }))
}

/// Calls `then` with the facts about a turn that did not end well, before its outputs are read.
fn with_failed<T>(
    plan: &Plan,
    task: TaskId,
    exit: &ChildExit,
    then: impl FnOnce(FailedCommand<'_>) -> T,
) -> T {
    let preset = plan.worker_of(task).spec.preset.as_deref();
    let task = plan.task(task);
    let first = plan.agent(task.agent).spec.run.as_ref().and_then(|line| match line {
        CommandLine::Argv(argv) => argv.first().map(String::as_str),
        CommandLine::Shell(script) => script.split_whitespace().next(),
    });
    // Its exit codes are those of the program that the preset is for, whatever stands for it.
    let first = preset.and_then(|preset| preset.argv.first()).map_or(first, |program| Some(&**program));
    let declared: Vec<&str> = task.named_files().collect();
    then(FailedCommand {
        program: first.and_then(|first| first.rsplit('/').next()).unwrap_or_default(),
        code: exit.code,
        timed_out: exit.timed_out,
        declared: &declared,
        at: Moment::of_end(exit),
        ..FailedCommand::default()
    })
}

/// Characters of why there was nothing to do.
const LONGEST_REASON: usize = 2_000;

/// Makes what a turn left behind durable, reads its claims and looks at what it did. Blocks.
fn seal_turn(
    context: &WorkContext,
    (turn, plan): (TurnId, &Plan),
    (left, limit): (&CommandEnd, &str),
    after: After,
    mut progress: TurnMessages,
) -> TurnEnd {
    let warn = |why| context.post(Fact::Warn(why));
    let file = |name| context.folder.spool_file(&name);
    let printed = [SpoolName::Out, SpoolName::Err, SpoolName::Drop];
    let [out, err, dropped] = printed.map(|name| file(name(turn)));
    let (exit, secrets) = (&left.exit, left.outputs().secrets.clone());
    let printed = left.outputs().stdout.clone().unwrap_or_else(|| out.clone());
    if exit.output_cut {
        let most = plan.rules.settings.max_output;
        let title = plan.title(turn.task);
        warn(format!(
            "'{title}' printed more than maxOutput ({most} bytes) in turn {turn}: the rest was cut"
        ));
    }
    if let Err(why) = agent_messages::clean(&dropped, &secrets) {
        warn(format!("turn {turn}: what it said is not clean: {why}"));
    }
    // Its last word may have come since it was last listened to.
    progress.listen(context, turn, &secrets);
    let (mut end, called) = end_of(plan, turn, (left, limit), (&secrets, &out));
    match reply::write_steps(&file(SpoolName::TurnTools(turn)), &called, &progress.0, &secrets) {
        Ok(steps) => end.tools = steps,
        Err(why) => warn(format!("turn {turn}: the record of what it did is lost: {why}")),
    }
    let refused = after.refused_writes(plan, turn.task, [&printed, &err]);
    end.denied.extend(refused.into_iter().take(REFUSALS));
    seal_outputs(context, &mut end, exit, (&printed, &out, &err));
    let (mut claimed, mut said, mut nothing_to_do) = (None, None, None);
    let mut handed_down = serde_json::Value::Null;
    match left.claims() {
        Ok(Some((file, claims))) => {
            if end.usage.is_none() {
                end.usage = claims.usage.as_usage();
            }
            handed_down = claims.delegate;
            end.result_file = Some(file);
            (claimed, said, nothing_to_do) = (claims.question, claims.output, claims.nothing_to_do);
        }
        Ok(None) => {}
        Err(why) => warn(format!("turn {turn}: {why}; it is ignored")),
    }
    let handed_down = agent_messages::delegated(&dropped, handed_down);
    end.delegate = delegated_gate::taken(context, plan, turn.task, (&handed_down, REFUSALS));
    if end.exit.failure.is_none() {
        if middleware::listens(plan, turn.task) {
            listen(plan, &mut end, said.as_deref(), &out).into_iter().for_each(warn);
        }
        let can_confirm = plan.rules.orchestrator.is_some();
        if can_confirm && said.is_none() && end.output.as_ref().is_some_and(|out| out.length <= SHORT_OUTPUT)
        {
            said = read_head(&out, SHORT_OUTPUT).ok();
        }
        let wish = end.asked.take();
        end.asked = wish.or_else(|| agent_messages::asked(&dropped, claimed, said, can_confirm));
    }
    end.files = after.seen(plan, (turn.task, &mut end.delegate));
    claim_nothing(&mut end, &nothing_to_do.unwrap_or_default());
    end
}

/// Takes why there was nothing to do, as its worker says.
fn claim_nothing(end: &mut TurnEnd, reason: &str) {
    let reason: String = reason.trim().chars().take(LONGEST_REASON).collect();
    if !reason.is_empty() {
        end.files.get_or_insert_default().nothing_to_do = Some(reason.into());
    }
}

/// How a turn ended, by what its process and, where a preset reads that, its program told, and the calls that it told of.
/// Blocks.
fn end_of(
    plan: &Plan,
    turn: TurnId,
    (left, limit): (&CommandEnd, &str),
    (secrets, out): (&Secrets, &Path),
) -> (TurnEnd, Vec<Called>) {
    let exit = &left.exit;
    let Some(preset) = preset_of(plan, turn) else {
        let failure = || {
            let (stdout, stderr) = left.last_words();
            failure_of(plan, turn.task, exit, &stdout, &stderr)
        };
        let end = turn_end(turn, exit, limit, has_failed(exit).then(failure));
        return (end, Vec::new());
    };
    match with_failed(plan, turn.task, exit, |failed| read_program(preset, left, failed)) {
        Ok(mut told) => {
            let called = std::mem::take(&mut told.heard.tools);
            let mut end = turn_end(turn, exit, limit, told.failure.clone());
            take_told(&mut end, (plan, secrets), told, out);
            (end, called)
        }
        Err(error) => {
            let mut end = turn_end(turn, exit, limit, None);
            lose_output(&mut end.exit, &error.to_string());
            (end, Vec::new())
        }
    }
}

/// Makes what a turn printed durable. An output that is lost or cut is a failure of the turn; lost errors are worth a warning.
fn seal_outputs(
    context: &WorkContext,
    end: &mut TurnEnd,
    exit: &ChildExit,
    (printed, out, err): (&Path, &Path, &Path),
) {
    match seal(err) {
        Ok(file) => end.stderr = file,
        Err(why) => context.post(Fact::Warn(format!("{}: {why}", err.display()))),
    }
    match seal(out) {
        Ok(file) => end.output = file,
        Err(why) => lose_output(&mut end.exit, &why.to_string()),
    }
    // It may have grown since, but what is gone of it may have been the work.
    let found = if printed == out {
        end.output.as_ref().map_or(0, |out| out.length)
    } else {
        std::fs::symlink_metadata(printed).map_or(0, |found| found.len())
    };
    if found < exit.stdout_len && end.exit.message.is_none() {
        let why = format!("it has {found} bytes, {} were printed", exit.stdout_len);
        lose_output(&mut end.exit, &why);
    }
}

/// Reads the last message of a turn: the one that it claims, else the end of its output. Gives a warning for
/// people. Blocks.
fn listen(plan: &Plan, end: &mut TurnEnd, claimed: Option<&str>, out: &Path) -> Option<String> {
    let printed = match (claimed, &end.output) {
        (None, Some(_)) => read_tail(out, LAST_MESSAGE),
        _ => Ok(String::new()),
    };
    let (printed, unheard) = match printed {
        Ok(printed) => (printed, None),
        Err(error) => {
            let why = format!("turn {}: its last words cannot be heard: {error}", end.turn);
            (String::new(), Some(why))
        }
    };
    let message = claimed.map_or(LastWords::Printed(&printed), LastWords::Message);
    let heard = middleware::after(plan, end.turn.task, &end.exit, message);
    end.broken = heard.broken;
    end.cues = heard.cues;
    unheard.or(heard.warning)
}

/// Whether a process did not end as one that has done its work.
fn has_failed(exit: &ChildExit) -> bool {
    exit.timed_out || exit.code != Some(0)
}

/// Takes in the messages of a turn's program: its reply becomes the turn's output.
fn take_told(end: &mut TurnEnd, (plan, secrets): (&Plan, &Secrets), told: ProgramOutput, out: &Path) {
    let ProgramOutput { heard, lost_session, .. } = told;
    let text = secrets.redact(heard.text.trim());
    // Empty files are not kept.
    if !text.is_empty()
        && let Err(why) = reply::write(out, &text)
    {
        lose_output(&mut end.exit, &why.to_string());
    }
    let Some(preset) = preset_of(plan, end.turn) else {
        return;
    };
    let counted = |field: Field| preset.cumulative.contains(&field);
    let cost = heard.usage.cost.and_then(Money::new);
    end.usage = Usage { input_tokens: heard.usage.input, output_tokens: heard.usage.output, cost };
    let counted = Usage {
        input_tokens: heard.usage.input.filter(|_| counted(Field::In)),
        output_tokens: heard.usage.output.filter(|_| counted(Field::Out)),
        cost: cost.filter(|_| counted(Field::Cost)),
    };
    end.model = heard.model;
    let session = heard.session.filter(|_| !lost_session);
    end.session = session.map(|id| Box::new(SessionRef { id: id.into(), counted }));
    end.denied = heard.denied.iter().map(|denied| secrets.redact(denied).into()).collect();
    end.tool_calls = preset.tells(Field::Tool).then_some(ToolCalls { calls: heard.calls, writes: 0 });
    end.asked = heard.wish.map(|wish| Asked {
        call: Some(Box::new(Digest::of(wish.as_bytes()))),
        ..agent_messages::question(&secrets.redact(&wish), false)
    });
}

fn turn_end(turn: TurnId, exit: &ChildExit, limit: &str, told: Option<CommandFailure>) -> TurnEnd {
    let said = told.as_ref().map_or("", |told| told.reason.as_str());
    let quote: String = said.chars().take(LONGEST_QUOTE).collect();
    let said = if quote.is_empty() { quote } else { format!(": {quote}") };
    let message = match (exit.timed_out, exit.code, exit.signal) {
        (true, _, _) => Some(format!("killed after {limit}{said}")),
        (false, Some(0), _) if told.is_none() => None,
        (false, Some(code), _) => Some(format!("exited {code}{said}")),
        (false, None, signal) => {
            let signal = signal.unwrap_or_default();
            Some(format!("killed by signal {signal}{said}"))
        }
    };
    let failure = told.as_ref().map(|told| told.class);
    let lost = exit.output_lost.as_deref();
    let mut end = Exit {
        code: exit.code.filter(|code| *code != 0),
        signal: exit.signal,
        failure,
        message,
        retry_after: told.and_then(|told| told.retry_after),
    };
    if let Some(lost) = lost {
        lose_output(&mut end, lost);
    }
    TurnEnd {
        turn,
        // Only who failed is tried again after a pause.
        jitter: if end.failure.is_some() { jitter() } else { 0 },
        exit: end,
        interrupted: exit.terminated && !exit.timed_out,
        killed: exit.timed_out,
        duration: Millis(exit.duration_ms),
        ..TurnEnd::clean(turn)
    }
}

/// Fails a turn whose output is lost: that may have been its work, so this is no success, however the turn
/// ended.
fn lose_output(exit: &mut Exit, why: &str) {
    exit.failure.get_or_insert(FailureClass::Unknown);
    let how = exit.message.take().unwrap_or_else(|| "exited 0".to_owned());
    exit.message = Some(format!("{how}, but its output is lost: {why}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_whose_output_is_lost_failed() {
        let turn = TurnId { task: TaskId(0), attempt: 1, turn: 1 };
        let exit = |code, lost: Option<&str>| ChildExit {
            code: Some(code),
            output_lost: lost.map(str::to_owned),
            ..ChildExit::default()
        };
        let unknown =
            || CommandFailure { class: FailureClass::Unknown, retry_after: None, reason: String::new() };
        let end = |exit| turn_end(turn, &exit, "1ms", has_failed(&exit).then(unknown)).exit;
        assert_eq!(end(exit(0, None)), Exit::default());
        let lost = end(exit(0, Some("the folder is gone")));
        assert_eq!(lost.failure, Some(FailureClass::Unknown));
        assert_eq!(lost.message.unwrap(), "exited 0, but its output is lost: the folder is gone");
        let both = end(exit(3, Some("the folder is gone")));
        assert_eq!(both.message.unwrap(), "exited 3, but its output is lost: the folder is gone");
    }
}
