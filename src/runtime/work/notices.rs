//! Notifications: what a channel is told, and handing it over (semantics, section 18).
//!
//! A delivery never runs on the loop and never fails anything but itself. It is at least once: a runner that dies
//! between the delivery and its record delivers again, under the same id.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::agents::channel::{self, ChannelRoute, DeliveryChannel, DeliveryError};
use crate::agents::command_line::{Placeholders, Program, inherited};
use crate::agents::failure::classify_stderr;
use crate::agents::secrets::Secrets;
use crate::executor::command::{CommandEnd, CommandJob, CommandOutputs, How};
use crate::executor::runner::{CommandOwner, Commands};
use crate::test_clock::scaled;
use rules::domain::{FailureClass, FailureMode, HoldOwner, Points, RunId, Timestamp, WaitingReason};
use rules::engine::{Notice, Topic, Undelivered};
use rules::plan::Plan;
use supervisor::files;
use supervisor::files::no_links;

use super::context::{WorkContext, jitter};

/// How much of what a command says when it fails is read, in bytes.
const STDERR_TAIL: u64 = 1_000;
/// How much a command may print, in bytes.
const MOST_PRINTED: u64 = 16 << 20;

/// The document for a channel: `quorum.notification/v1`. Fields are only ever added.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.notification/v1")]
pub struct Notification<'a> {
    /// The id of the notification, the same at every attempt to deliver it.
    id: String,
    /// The name of the event.
    event: &'static str,
    /// `info`, `warning` or `critical`.
    severity: &'static str,
    /// When, by RFC 3339.
    at: String,
    /// The id of the run.
    run_id: &'a RunId,
    /// The name of the mission.
    mission: &'a str,
    /// The name of the channel.
    channel: &'a str,
    /// All in one line.
    title: String,
    /// The text for people.
    text: &'a str,
    /// The title of the task that it is about; `null` where it is about none, as with all that follows.
    task: Option<&'a str>,
    /// The name of the gate; `null` where the notification is about none.
    gate: Option<&'a str>,
    /// The checkpoint or the delay.
    hold: Option<&'a str>,
    /// The id for `quorum approve`.
    approval: Option<String>,
    /// The page of `quorum serve` that shows it, or where it is decided; `null` without `settings.serve.url`.
    link: Option<String>,
    /// Why a person is asked.
    reason: Option<WaitingReason>,
    /// How the task failed.
    mode: Option<FailureMode>,
    /// The score in points, from 0 to 100.
    points: Option<f64>,
    /// The score on the scale from 1 to 5.
    score: Option<f64>,
    /// The outcome of the run.
    outcome: Option<&'static str>,
    /// The exit code of that outcome.
    exit_code: Option<u8>,
}

/// The notification of a run for one of its channels.
pub fn document(plan: &Plan, run: &RunId, number: u32, channel: &str, notice: &Notice) -> Value {
    let task = notice.task.map(|task| plan.title(task));
    let gate = notice.gate.map(|gate| &*plan.gate(gate).name);
    let held = notice.task.map(HoldOwner::Task).or(notice.barrier.map(HoldOwner::Barrier));
    let approval = held.zip(notice.approval);
    let hold = notice.barrier.map(|hold| &*plan.barrier(hold).name);
    json!(Notification {
        id: format!("{run}.n{number}"),
        event: notice.topic.as_str(),
        severity: severity(notice),
        at: notice.at.to_rfc3339(),
        run_id: run,
        mission: &plan.name,
        channel,
        title: title(plan, notice, task, gate.or(hold)),
        text: &notice.text,
        task,
        gate,
        hold,
        link: plan.recipe.settings.serve.url.as_deref().map(|url| link(url, run, notice, approval)),
        approval: approval.map(|(of, number)| format!("{run}.{of}.{number}")),
        reason: notice.waiting,
        mode: notice.mode,
        points: notice.points.map(Points::to_f64),
        score: notice.points.map(Points::score_f64),
        outcome: notice.outcome.map(|outcome| outcome.as_str()),
        exit_code: notice.outcome.map(|outcome| outcome.exit_code()),
    })
}

/// The page where a notice is decided, else that of its run.
fn link(url: &str, run: &RunId, notice: &Notice, approval: Option<(HoldOwner, u32)>) -> String {
    let page = format!("{}/runs/{run}", url.trim_end_matches('/'));
    match approval {
        Some((of, number)) => format!("{page}/inbox#{run}.{of}.{number}"),
        None if notice.topic == Topic::GateFailed => format!("{page}/inbox"),
        None => page,
    }
}

fn severity(notice: &Notice) -> &'static str {
    match notice.topic {
        Topic::GatePassed | Topic::DelayStarted => "info",
        Topic::RunFinished if notice.outcome == Some(rules::domain::OutcomeClass::Ok) => "info",
        Topic::TaskFailed | Topic::DeadlinePassed => "critical",
        Topic::DeadlineNear
        | Topic::GateFailed
        | Topic::CheckpointReached
        | Topic::ApprovalRequested
        | Topic::ForceAccepted
        | Topic::RunFinished => "warning",
    }
}

fn title(plan: &Plan, notice: &Notice, task: Option<&str>, gate: Option<&str>) -> String {
    let whose = || task.map_or_else(|| "the mission".to_owned(), |task| format!("task '{task}'"));
    let (task, gate) = (task.unwrap_or_default(), gate.unwrap_or_default());
    let what = match notice.topic {
        Topic::GatePassed => format!("gate {gate} passed"),
        Topic::GateFailed => format!("gate {gate} failed"),
        Topic::ApprovalRequested => format!("task '{task}' waits for a person"),
        Topic::TaskFailed => format!("task '{task}' failed"),
        Topic::ForceAccepted => format!("task '{task}' was accepted below the bar"),
        Topic::CheckpointReached => format!("checkpoint {gate} waits for a person"),
        Topic::DelayStarted => format!("delay {gate} begins"),
        Topic::DeadlineNear => format!("the deadline of {} is near", whose()),
        Topic::DeadlinePassed => format!("{} missed its deadline", whose()),
        Topic::RunFinished => {
            let outcome = notice.outcome.map_or("", |outcome| outcome.as_str());
            format!("the run ended: {outcome}")
        }
    };
    format!("[{}] {what}", plan.name)
}

/// The things that a delivery needs beside the channel.
#[derive(Clone)]
pub struct DeliveryContext {
    pub commands: Commands,
    /// The state folder: files of a delivery lie there, and no channel writes into it.
    pub state_folder: PathBuf,
    /// Where a command is started.
    pub cwd: PathBuf,
    /// The secrets that what a command prints must not show: secrets of the whole run, not only the channel's own.
    pub secrets: Arc<Secrets>,
}

/// Hands a notification over once. Why it was not taken is told without secrets.
pub async fn hand_over(
    channel: Arc<DeliveryChannel>,
    document: Value,
    context: DeliveryContext,
) -> Result<(), DeliveryError> {
    let secrets = context.secrets.clone();
    let taken = match &channel.way {
        ChannelRoute::Http(hook) => channel.post(hook, &document).await,
        ChannelRoute::File(path) => {
            let path = path.clone();
            let written =
                tokio::task::spawn_blocking(move || channel::append(&path, &context.state_folder, &document));
            written
                .await
                .unwrap_or_else(|error| Err(DeliveryError::new(FailureClass::Unknown, error.to_string())))
        }
        ChannelRoute::Command(program) => run_command(&channel, program, &document, &context).await,
    };
    taken.map_err(|refusal| DeliveryError { message: secrets.redact(&refusal.message), ..refusal })
}

/// How the folders of deliveries are called in the state folder: with the number of the process that they belong to.
const NOTIFY_PREFIX: &str = ".notify-";

/// Removes what deliveries left whose process was killed.
pub fn sweep(state_folder: &Path) {
    // What cannot be looked at or removed now is found by the next session.
    let Ok(folder) = no_links::OpenFolder::open(state_folder) else {
        return;
    };
    for name in folder.names().unwrap_or_default() {
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(NOTIFY_PREFIX)) else {
            continue;
        };
        let owner = rest.split('-').next().and_then(|pid| pid.parse().ok());
        let owner = owner.and_then(rustix::process::Pid::from_raw);
        let is_at_work = owner.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
        if !is_at_work {
            let _ = folder.remove_all(&name);
        }
    }
}

/// Starts a channel's command with the notification on its standard input, in the clean environment.
async fn run_command(
    channel: &DeliveryChannel,
    program: &Program,
    document: &Value,
    context: &DeliveryContext,
) -> Result<(), DeliveryError> {
    let refused = |what: String| DeliveryError::new(FailureClass::Unknown, what);
    let cannot = |error: std::io::Error| refused(format!("cannot write the notification: {error}"));
    let state = no_links::OpenFolder::open(&context.state_folder).map_err(cannot)?;
    let files = tempfile::Builder::new()
        .prefix(&format!("{NOTIFY_PREFIX}{}-", std::process::id()))
        .tempdir_in(state.through("".as_ref()))
        .map_err(cannot)?;
    let folder = context.state_folder.join(files.path().file_name().unwrap_or_default());
    let (stdin, stderr) = (folder.join("in"), folder.join("err"));
    files::write_new(&stdin, document.to_string().as_bytes()).map_err(cannot)?;
    let job = command_of(channel, program, document, context, (stdin, stderr));
    let end = context.commands.run(CommandOwner::Nobody, job).await;
    match refusal(&end) {
        None => Ok(()),
        Some((class, why)) => Err(DeliveryError::new(class, channel.presentable(&why))),
    }
}

/// The command of a channel that reads a notification from the file `stdin`.
pub fn command_of(
    channel: &DeliveryChannel,
    program: &Program,
    document: &Value,
    context: &DeliveryContext,
    (stdin, stderr): (PathBuf, PathBuf),
) -> CommandJob {
    let text = |key: &str| document[key].as_str().unwrap_or_default();
    let placeholders = Placeholders {
        task: text("task"),
        prompt_file: &stdin.to_string_lossy(),
        workspace: &context.cwd.to_string_lossy(),
        ..Placeholders::default()
    };
    let run = ("QUORUM_RUN_ID".to_owned(), text("runId").to_owned());
    CommandJob {
        label: text("id").to_owned(),
        argv: program.argv(&placeholders),
        variables: vec![run],
        env: inherited(),
        cwd: context.cwd.clone(),
        stdin: Some(stdin),
        outputs: CommandOutputs {
            stderr: Some(stderr),
            secrets: context.secrets.clone(),
            limit: MOST_PRINTED,
            ..CommandOutputs::default()
        },
        timeout: channel.timeout.into(),
        is_free: channel.is_free,
        ..CommandJob::default()
    }
}

/// Why a command has not taken a notification: only exit 0 says that it has. Its last line is quoted.
fn refusal(end: &CommandEnd) -> Option<(FailureClass, String)> {
    let said = end.stderr_tail(STDERR_TAIL);
    let (class, how) = match end.how() {
        How::Exited(0) => return None,
        How::NotStarted(why) => (FailureClass::Unknown, why.to_owned()),
        How::TimedOut => (FailureClass::Timeout, "it was killed after its time-out".to_owned()),
        How::Exited(code) => (classify_stderr(&said), format!("it exited {code}")),
        How::Killed(signal) => (FailureClass::Unknown, format!("it was killed by signal {signal}")),
    };
    let last = said.trim().lines().last();
    Some((class, how + &last.map_or_else(String::new, |line| format!(": {line}"))))
}

/// Tells a channel something, not before a moment.
///
/// # Errors
/// Why it was not taken.
pub async fn deliver(
    context: &WorkContext,
    not_before: Option<Timestamp>,
    (name, document): (Box<str>, Value),
) -> Result<(), Undelivered> {
    let Some(channel) = context.agents.channels.get(&name) else {
        return Err(Undelivered {
            class: FailureClass::Unknown,
            message: format!("the mission has no channel '{name}' any more"),
            retry_after: None,
            hopeless: true,
            jitter: 0,
        });
    };
    if let Some(at) = not_before {
        tokio::time::sleep(scaled(at.since(Timestamp::now()).as_duration())).await;
    }
    let world = DeliveryContext {
        commands: context.commands.clone(),
        state_folder: context.folder.state_folder().path().to_owned(),
        cwd: context.agents.mission_folder.clone(),
        secrets: context.agents.secrets(),
    };
    let taken = hand_over(channel.clone(), document, world).await;
    taken.map_err(|refusal| Undelivered {
        class: refusal.class,
        message: refusal.message,
        retry_after: refusal.retry_after,
        hopeless: false,
        jitter: jitter(),
    })
}
