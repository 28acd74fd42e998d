//! `quorum request`: work that somebody asks for from outside, and what becomes of it (semantics, section 16).

use std::collections::HashSet;
use std::io::Read as _;

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::{
    cli::{
        active_titles::refuse_active_titles,
        args::{LATEST, OfRun},
        command_error::Failure,
        event_loop::block_on,
        operator_client::{ActorArgs, Submitted, refuse_agents, submit_command},
        project::{all_runs, find_run, open_run, state_folder, unusable_file, warn},
        screen::Screen,
        session::fork_supervisor,
        writer::has_writer,
    },
    report::documents::commands::{IntakeDocument, IntakeRow},
    review::questions::{self as prompt, QuestionSubject},
    runtime::ask_about_request,
    store::{Requests, RunFolder, StateFolder, WorkRequest},
};
use rules::{
    domain::{AgentId, RequestStatus, RunId, Timestamp},
    engine::{Command, CommandResult, State, cannot_add, task_of_request},
    judging::intake_reply::{Triage, parse_triage},
    plan::{SubTask, read_sub_task},
};

/// A longer description is a file of the workspace, in bytes.
const LONGEST: usize = 32 << 10;

#[derive(Debug, Args)]
pub struct RequestArguments {
    #[command(subcommand)]
    command: RequestCommand,
}

#[derive(Debug, Subcommand)]
enum RequestCommand {
    /// Submit new work; prints the id of the request
    #[command(
        after_help = "Example: quorum request submit 'Fix the login' --description 'It fails on Mondays.'"
    )]
    Submit(Submit),
    /// List the requests, the oldest first
    #[command(after_help = "Example: quorum request list --json | jq '.requests[].status'")]
    List,
    /// Show everything about one
    #[command(after_help = "Example: quorum request show req-1")]
    Show(RequestArgs),
    /// Make it a task of a run, which is judged like every other
    #[command(after_help = "Example: quorum request approve req-1 && quorum resume")]
    Approve(ApproveArgs),
    /// Reject it; the reason is kept
    #[command(after_help = "Example: quorum request reject req-1 --reason 'out of scope'")]
    Reject(RejectArgs),
    /// Cancel it
    #[command(after_help = "Example: quorum request cancel req-1")]
    Cancel(CancelArgs),
}

#[derive(Debug, Args)]
struct Submit {
    /// The title of the task that it is to become
    #[arg(value_name = "TITLE")]
    title: String,
    /// What is to be done; `-` reads standard input
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The agent that is to do it; may be left out where a run has only one
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// What kind of work it is
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Titles of tasks of the run that must be done before; may be repeated
    #[arg(long, value_name = "TITLE")]
    depends_on: Vec<String>,
    /// Files that it must produce; may be repeated
    #[arg(long, value_name = "PATH")]
    target_file: Vec<String>,
    #[command(flatten)]
    actor: ActorArgs,
}

#[derive(Debug, Args)]
struct RequestArgs {
    /// The request's id
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Debug, Args)]
struct ApproveArgs {
    /// The request's id
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    of: OfRun,
    /// How it is looked at first: not at all beyond your own word, or by an agent, who may refine or refuse it
    #[arg(long, value_enum, default_value_t = Strategy::Direct)]
    strategy: Strategy,
    /// The agent of the run that is asked [default: its orchestrator]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    actor: ActorArgs,
}

/// How a request is looked at.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Strategy {
    Direct,
    Agent,
}

#[derive(Debug, Args)]
struct RejectArgs {
    /// The request's id
    #[arg(value_name = "ID")]
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    actor: ActorArgs,
}

#[derive(Debug, Args)]
struct CancelArgs {
    /// The request's id
    #[arg(value_name = "ID")]
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    actor: ActorArgs,
}

pub fn request(arguments: &RequestArguments, screen: &Screen) -> Result<u8, Failure> {
    let requests = Requests::of(&state_folder(screen.output())?);
    match &arguments.command {
        RequestCommand::Submit(submit) => self::submit(&requests, submit, screen),
        RequestCommand::List => {
            let all = requests.all().map_err(unusable_file)?.into_iter();
            let all = all.map(|known| caught_up(&requests, known));
            let all = all.collect::<Result<Vec<WorkRequest>, Failure>>()?;
            screen.show(&IntakeDocument {
                requests: Some(all.iter().map(IntakeRow::of).collect()),
                request: None,
            });
            Ok(0)
        }
        RequestCommand::Show(one) => Ok(ended(&find(&requests, &one.id)?, screen, 0)),
        RequestCommand::Approve(approve) => self::approve(&requests, approve, screen),
        RequestCommand::Reject(reject) => {
            if reject.reason.trim().is_empty() {
                return Err(usage!("a request is rejected with a reason"));
            }
            let reason = Some(&*reject.reason);
            close(&requests, (&reject.id, reason, &reject.actor), screen)
        }
        RequestCommand::Cancel(cancel) => {
            let reason = cancel.reason.as_deref();
            close(&requests, (&cancel.id, reason, &cancel.actor), screen)
        }
    }
}

fn submit(requests: &Requests, submit: &Submit, screen: &Screen) -> Result<u8, Failure> {
    let description = match submit.description.as_deref() {
        Some("-") => Some(standard_input()?),
        given => given.map(str::to_owned),
    };
    let wanted = json!({
        "title": submit.title.trim(),
        "description": description,
        "assignTo": submit.to,
        "type": submit.kind,
        "dependsOn": submit.depends_on,
        "targetFiles": submit.target_file,
    });
    if wanted.to_string().len() > LONGEST {
        return Err(usage!("the request has more than {LONGEST} bytes")
            .help("write it to a file of the workspace and say where it is"));
    }
    let task = read_sub_task(&wanted).map_err(|why| usage!("{why}"))?;
    requests.state.create().map_err(Failure::environment)?;
    let request = requests.submit(task, Timestamp::now(), &submit.actor.name());
    print_result(&request.map_err(unusable_file)?, screen);
    Ok(0)
}

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let most = LONGEST as u64 + 1;
    let read = std::io::stdin().lock().take(most).read_to_string(&mut text);
    read.map_err(|error| usage!("cannot read standard input: {error}"))?;
    Ok(text.trim_end().to_owned())
}

/// Walks it through its states, then gives its task to the run. Whoever dies in between approves it again, and the run has the
/// task once.
fn approve(requests: &Requests, approve: &ApproveArgs, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    // While there is one thread.
    let asks = approve.strategy == Strategy::Agent;
    let supervisor = asks.then(fork_supervisor).transpose()?;
    let folder = &requests.state;
    let found = find(requests, &approve.id)?;
    match found.status {
        RequestStatus::TaskCreated => return Ok(ended(&found, screen, 0)),
        RequestStatus::Cancelled => return Ok(ended(&found, screen, 4)),
        _ => {}
    }
    // What was approved is for the run that it was approved for.
    let wanted = found.run.as_ref().or(approve.of.id());
    let run = find_open(folder, wanted)?;
    fits(folder, &run, &found)?;
    let by = approve.actor.name();
    let mut known = found;
    if let Some(supervisor) = supervisor.filter(|_| asks_agent(&known)) {
        known = triaged(requests, &run, known, approve, supervisor)?;
        if known.status == RequestStatus::Cancelled {
            return Ok(ended(&known, screen, 4));
        }
    }
    let known = advanced(requests, known.number, &by, run.id())?;
    if known.status != RequestStatus::Approved || known.run.as_ref() != Some(run.id()) {
        // Somebody else was faster.
        let code = if known.status == RequestStatus::TaskCreated { 0 } else { 4 };
        return Ok(ended(&known, screen, code));
    }
    let command = Command::AddTask { request: known.id(), task: Box::new(known.task.clone()) };
    match submit_command(folder, &run, command, &approve.actor)? {
        Submitted::Decided(CommandResult::Applied | CommandResult::AlreadySo) => {
            let known = created(requests, &known, &by)?;
            let code = ended(&known, screen, 0);
            if !has_writer(folder, &run) && !screen.is_json() {
                screen.result(&format!("next: quorum resume {}\n", run.id()));
            }
            Ok(code)
        }
        Submitted::Queued => Ok(ended(&known, screen, 8)),
        Submitted::Decided(_) => {
            fits(folder, &run, &known)?;
            Err(environment!("run {} did not take the task", run.id())
                .help(format!("approve it again: `quorum request approve {}`", known.id())))
        }
    }
}

/// The run that is to have more work: as named, else the one that began last. One that was called off is neither.
fn find_open(folder: &StateFolder, wanted: Option<&RunId>) -> Result<RunFolder, Failure> {
    let is_cancelled = |run: &RunFolder| Ok(open_run(run, |_, _| {})?.state.is_cancelled());
    let run = find_run(folder, wanted)?;
    if !is_cancelled(&run)? {
        return Ok(run);
    }
    let mut older = all_runs(folder)?;
    older.retain(|other| other.id() != run.id() && wanted.is_none_or(|id| id.as_str() == LATEST));
    while let Some(other) = older.pop() {
        if !is_cancelled(&other)? {
            warn(&format!("passed over, because it was cancelled: {}", run.id()));
            return find_run(folder, Some(other.id()));
        }
    }
    Err(usage!("run {} was cancelled", run.id())
        .help("name another run: `quorum request approve ID RUN`, or start one with `quorum run`"))
}

/// The request, as far on its way to a task of the run as one word brings it.
fn advanced(requests: &Requests, number: u32, by: &str, run: &RunId) -> Result<WorkRequest, Failure> {
    let walk = |request: &mut WorkRequest| {
        while let Some(to) = request.status.next().filter(|to| *to != RequestStatus::TaskCreated) {
            let reason = (to == RequestStatus::Triaging).then_some("strategy: direct");
            request.step(to, Timestamp::now(), by, reason);
            request.run = Some(run.clone());
        }
    };
    requests.change(number, walk).map_err(unusable_file)
}

/// Whether no agent has looked at it yet.
fn asks_agent(request: &WorkRequest) -> bool {
    matches!(request.status, RequestStatus::Submitted | RequestStatus::Triaging)
}

/// An agent looks at it. A reply that is none, a refusal, and a refinement that no run could have cancel it; an agent that
/// cannot be asked leaves it where it is.
fn triaged(
    requests: &Requests,
    run: &RunFolder,
    request: WorkRequest,
    approve: &ApproveArgs,
    supervisor: supervisor::Handle,
) -> Result<WorkRequest, Failure> {
    let state = open_run(run, |_, _| {})?.state;
    let agent = match &approve.agent {
        Some(name) => state.plan.find_agent(name),
        None => state.plan.rules.orchestrator,
    };
    let agent = agent.ok_or_else(|| {
        let what = approve.agent.as_deref().map_or_else(
            || "the run has no orchestrator".to_owned(),
            |name| format!("the run has no agent '{name}'"),
        );
        usage!("{what}").help("name an agent of the run with --agent, or use --strategy direct")
    })?;
    let name = state.plan.agent_name(agent).to_owned();
    let (by, now) = (approve.actor.name(), Timestamp::now());
    let why = format!("strategy: agent ({name})");
    let begin = |request: &mut WorkRequest| {
        // Asked again, it is being looked at already.
        let _ = request.step(RequestStatus::Triaging, now, &by, Some(&why));
    };
    let request = requests.change(request.number, begin).map_err(unusable_file)?;
    let subject =
        QuestionSubject { title: &request.task.title, description: request.task.description.as_deref() };
    let reply = asked(&state, agent, &subject, supervisor)?;
    let refined = parse_triage(&reply, &prompt::quotes(&prompt::triage(&subject)))
        .map_err(|why| anyhow!("the reply of '{name}' says nothing: {why}"))
        .and_then(|said| refined(&state, &request.task, said));
    let conclude = |request: &mut WorkRequest| match &refined {
        Ok(task) if asks_agent(request) => request.task = task.clone(),
        Ok(_) => {}
        Err(why) => {
            let _ = request.step(RequestStatus::Cancelled, Timestamp::now(), &name, Some(&why.to_string()));
        }
    };
    requests.change(request.number, conclude).map_err(unusable_file)
}

/// Asks the agent that triages, and gives its reply.
fn asked(
    state: &State,
    agent: AgentId,
    subject: &QuestionSubject<'_>,
    supervisor: supervisor::Handle,
) -> Result<String, Failure> {
    let reply = block_on(async {
        let supervisor = supervisor.into_async()?;
        ask_about_request(state, agent, subject.title, &prompt::triage(subject), supervisor).await
    })
    .map_err(Failure::internal)?;
    reply.map_err(|why| {
        let name = state.plan.agent_name(agent);
        environment!("agent '{name}' cannot be asked: {why}")
            .help("approve it again, or with --strategy direct")
    })
}

/// The task as the agent would have it; else why the request is cancelled.
fn refined(state: &State, task: &SubTask, said: Triage) -> anyhow::Result<SubTask> {
    let (title, description) = match said {
        Triage::Refused(reason) => bail!(reason),
        Triage::Accepted { title, description } => (title, description),
    };
    let mut wanted = json!(task);
    if let Some(title) = title {
        wanted["title"] = Value::String(title);
    }
    if let Some(description) = description {
        wanted["description"] = Value::String(description);
    }
    let task =
        read_sub_task(&wanted).map_err(|why| anyhow!("what the agent made of it is no task: {why}"))?;
    match cannot_add(state, &task) {
        None => Ok(task),
        Some(why) => bail!("what the agent made of it cannot be a task of the run: {why}"),
    }
}

/// Whether the run can have the task, before anything is decided about the request.
fn fits(folder: &StateFolder, run: &RunFolder, request: &WorkRequest) -> Result<(), Failure> {
    let state = open_run(run, |_, _| {})?.state;
    if task_of_request(&state, &request.id()).is_some() {
        return Ok(());
    }
    if let Some(why) = cannot_add(&state, &request.task) {
        return Err(usage!("{} cannot become a task of run {}: {why}", request.id(), run.id()).help(
            "submit it again with what the run has, or name another run: `quorum request approve ID RUN`",
        ));
    }
    refuse_active_titles(folder, run, &HashSet::from([request.task.title.as_str()]))
}

/// Rejected, or cancelled.
fn close(
    requests: &Requests,
    (id, reason, by): (&str, Option<&str>, &ActorArgs),
    screen: &Screen,
) -> Result<u8, Failure> {
    refuse_agents()?;
    let found = find(requests, id)?;
    let was_cancelled = found.status == RequestStatus::Cancelled;
    let closed = requests
        .change(found.number, |request| {
            // A final state stays what it is, which is then told.
            let _ = request.step(RequestStatus::Cancelled, Timestamp::now(), &by.name(), reason);
        })
        .map_err(unusable_file)?;
    let same = !was_cancelled || reason.is_none() || closed.reason() == reason;
    let code = if closed.status == RequestStatus::Cancelled && same { 0 } else { 4 };
    Ok(ended(&closed, screen, code))
}

fn find(requests: &Requests, id: &str) -> Result<WorkRequest, Failure> {
    let found = requests.find(id).map_err(unusable_file)?.ok_or_else(|| {
        usage!("there is no request '{id}'").help("`quorum request list` shows the requests of this folder")
    })?;
    caught_up(requests, found)
}

/// A run may have taken the task after whoever approved the request was told that it waits, or had died.
fn caught_up(requests: &Requests, request: WorkRequest) -> Result<WorkRequest, Failure> {
    let Some(id) = request.run.as_ref().filter(|_| request.status == RequestStatus::Approved) else {
        return Ok(request);
    };
    let run = requests.state.run(id);
    if !run.journal().is_file() {
        return Ok(request);
    }
    let state = open_run(&run, |_, _| {})?.state;
    match task_of_request(&state, &request.id()) {
        None => Ok(request),
        Some(_) => {
            let by = request.history.last().map_or_else(String::new, |step| step.by.clone());
            created(requests, &request, &by)
        }
    }
}

fn created(requests: &Requests, request: &WorkRequest, by: &str) -> Result<WorkRequest, Failure> {
    let take = |request: &mut WorkRequest| {
        let _ = request.step(RequestStatus::TaskCreated, Timestamp::now(), by, None);
    };
    requests.change(request.number, take).map_err(unusable_file)
}

fn ended(request: &WorkRequest, screen: &Screen, code: u8) -> u8 {
    if code != 0 {
        let what = match code {
            8 => "queued for the run, which is busy",
            _ => "decided otherwise before",
        };
        screen.aside(&format!("{}: {what}", request.id()));
    }
    print_result(request, screen);
    code
}

fn print_result(request: &WorkRequest, screen: &Screen) {
    screen.show(&IntakeDocument { requests: None, request: Some(IntakeRow::of(request)) });
}
