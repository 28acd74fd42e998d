//! Decisions from the pages: the same commands as at a terminal, by the same way. Who is at the other end must be no agent.

use std::collections::HashMap;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::{
    cli::{
        args::Trust,
        command_error::Failure,
        decision::{SpokenDecision, override_of, selected_gates},
        operator_client::submit_as,
        project::{open_run, vouched_run},
    },
    report::formats::html::ServedWord,
    store::RunFolder,
};
use rules::{
    domain::{RunId, TaskId},
    engine::Command,
};
use supervisor::{PeerRefused, may_command_by_tcp};

use super::pages::{spoken, word};
use super::served_folder::{Ends, PageServer, ServedFolder};

/// The longest form, in bytes.
const LONGEST_FORM: usize = 64 << 10;
/// How long a form may take to come.
const FORM_WITHIN: Duration = Duration::from_secs(10);

/// The fields of a form.
struct DecisionForm(HashMap<String, String>);

impl DecisionForm {
    fn field(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// What became of a decision, for the person who made it.
struct Decided {
    run: RunId,
    what: String,
    result: &'static str,
}

/// Makes a decision that a form asks for.
pub async fn decide(
    State(server): State<PageServer>,
    Extension(ends): Extension<Ends>,
    body: Body,
) -> Response {
    let form = match timeout(FORM_WITHIN, to_bytes(body, LONGEST_FORM)).await {
        Ok(Ok(bytes)) => DecisionForm(form_urlencoded::parse(&bytes).into_owned().collect()),
        Ok(Err(_)) => return word(StatusCode::PAYLOAD_TOO_LARGE, "a form has at most 64 kB", None),
        Err(_) => return word(StatusCode::REQUEST_TIMEOUT, "the form did not come in time", None),
    };
    if !server.access.has_made(form.field("form")) {
        let why = "this form is of a server that has ended: load the page anew";
        return word(StatusCode::FORBIDDEN, why, None);
    }
    let _one_at_a_time = server.deciding.lock().await;
    let of = server.clone();
    let done = spawn_blocking(move || match may_command_by_tcp(ends.ours, ends.theirs) {
        Err(refused) => Err(refused),
        Ok(()) => Ok(carry_out(&of, &form)),
    });
    match done.await {
        Ok(Ok(Ok(decided))) => said(&decided),
        Ok(Ok(Err(failure))) => {
            let document = failure.document();
            let status = match failure.exit_code() {
                2 => StatusCode::BAD_REQUEST,
                9 => StatusCode::CONFLICT,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            let (message, help) = (&document.message, document.help);
            spoken(status, &ServedWord { title: "Not decided", message, help, run: None })
        }
        Ok(Err(PeerRefused::Because(why))) => word(StatusCode::FORBIDDEN, &why, None),
        Ok(Err(PeerRefused::Gone)) => word(StatusCode::FORBIDDEN, "the process that asked has gone", None),
        Err(_) => word(StatusCode::INTERNAL_SERVER_ERROR, "the decision broke off: look at the run", None),
    }
}

fn carry_out(server: &ServedFolder, form: &DecisionForm) -> Result<Decided, Failure> {
    let (run, command, what) = command_of(server, form)?;
    let given = submit_as(&server.folder, &run, command, server.by.clone())?;
    Ok(Decided { run: run.id().clone(), what, result: given.word().0 })
}

/// The run that a form is about, its command, and that in words.
fn command_of(server: &ServedFolder, form: &DecisionForm) -> Result<(RunFolder, Command, String), Failure> {
    let (id, text) = (form.field("id"), form.field("text"));
    let word = match form.field("do") {
        "approve" => SpokenDecision::Approve,
        "reject" => SpokenDecision::Reject(text),
        "answer" => SpokenDecision::Answer(text),
        "override" => return override_gate(server, form),
        "cancel" => return cancel(server, form),
        _ => return Err(usage!("the form does not say what is decided")),
    };
    let (run, command) = word.about(id)?;
    let run = exact(server, run.as_str())?;
    Ok((run, command, format!("{} {id}", word.verb())))
}

fn exact(server: &ServedFolder, id: &str) -> Result<RunFolder, Failure> {
    server.run(id).ok_or_else(|| usage!("there is no run '{id}'"))
}

fn override_gate(
    server: &ServedFolder,
    form: &DecisionForm,
) -> Result<(RunFolder, Command, String), Failure> {
    let run = exact(server, form.field("run"))?;
    let (run, checked) = vouched_run(&server.folder, Some(run.id()))?;
    Trust { trust_origin: false }.holds(&run, checked.origin)?;
    let (state, name) = (open_run(&run, |_, _| {})?.state, form.field("id"));
    let gates = selected_gates(&state, Some(name))?;
    let gate = gates.first().ok_or_else(|| usage!("there is no gate '{name}'"))?;
    Ok((run, override_of(*gate, form.field("text"))?, format!("override gate {name}")))
}

fn cancel(server: &ServedFolder, form: &DecisionForm) -> Result<(RunFolder, Command, String), Failure> {
    let run = exact(server, form.field("run"))?;
    if form.field("sure") != "yes" {
        return Err(usage!("say that it is meant: nothing was cancelled"));
    }
    let number = match form.field("task") {
        "" => {
            let what = format!("cancel {}", run.id());
            return Ok((run, Command::CancelRun, what));
        }
        number => number.parse().map(TaskId).map_err(|_| usage!("'{number}' is no task"))?,
    };
    let plan = open_run(&run, |_, _| {})?.state.plan;
    if !plan.task_ids().any(|task| task == number) {
        return Err(usage!("run {} has no such task", run.id()));
    }
    let what = format!("cancel {}", plan.title(number));
    Ok((run, Command::CancelTask { task: number }, what))
}

/// Tells the person what became of it.
fn said(decided: &Decided) -> Response {
    let Decided { run, what, result } = decided;
    let (status, title, help) = match *result {
        "applied" => {
            (StatusCode::OK, "Decided", Some(format!("where no session works on it: quorum resume {run}")))
        }
        "already-so" => (StatusCode::OK, "Already so", None),
        "unknown" => (StatusCode::NOT_FOUND, "Nothing of that id waits", None),
        "queued" => (
            StatusCode::ACCEPTED,
            "Queued",
            Some("the session does not answer; it finds the decision later".to_owned()),
        ),
        "too-early" => (StatusCode::CONFLICT, "Too early", None),
        _ => (
            StatusCode::CONFLICT,
            "Decided otherwise",
            Some("somebody else was first; nothing was changed".to_owned()),
        ),
    };
    let message = format!("{what}: {}", result.replace('-', " "));
    spoken(status, &ServedWord { title, message: &message, help: help.as_deref(), run: Some(run.as_str()) })
}
