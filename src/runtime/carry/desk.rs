//! The desk of a run: its commands, from any machine that reaches the server and has the operator's key.
//!
//! It is a thread of the session that serves a queue of the run by standalone activities: no port is open. What carries the operator's
//! code is done by this program as somebody at this machine would have it done, and what that prints goes back in pieces.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use temporalio_client::ActivityStartOptions;
use temporalio_sdk::activities::{ActivityContext, ActivityError, activities};
use temporalio_sdk::{Worker, WorkerOptions};
use tokio::time::sleep;

use super::desk_form::{DeskCall, DeskOutput};
use super::form::queue_name;
use super::server::connect;
use super::worker::worker_runtime;
use crate::locked;
use crate::runtime::{recovery::origin::operator_key, work::context::WorkContext};
use crate::store::host;
use rules::domain::{RunId, Timestamp};

/// How much of each output goes back at once, in bytes. As JSON it has four times as many at most, and a payload of the server has less
/// than 2 MB.
const PIECE: usize = 200_000;
/// How long a call waits for something to tell, and a session that has ended for what is still to be told; and how often they look.
const HOLD: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(25);
/// The commands that were begun in this process by their nonces; `None` once all was told of one.
static COMMANDS: Mutex<BTreeMap<String, Option<DeskCommand>>> = Mutex::new(BTreeMap::new());

/// Opens the desk of a run, in a thread of its own.
pub fn open_desk(context: WorkContext) {
    let desk = Arc::new(RunDesk { context, since: Timestamp::now(), told: Mutex::default() });
    thread::spawn(move || -> io::Result<()> {
        // A system that has no event loop for it has none for the session.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            loop {
                let at_server = async {
                    let client = connect(&host()).await?;
                    let options =
                        WorkerOptions::new(queue_name(&format!("run.{}", desk.context.folder.id())));
                    let options = options.register_activity::<run_desk::Call>(desk.clone()).build();
                    Worker::new(&worker_runtime()?, client, options)?.run().await?;
                    anyhow::Ok(())
                };
                // What keeps it from the server may pass.
                let _ = at_server.await;
                sleep(HOLD / 5).await;
            }
        })
    });
}

/// Gives whoever has asked at the desk of this process the time to hear the last of it.
pub fn close_desk() {
    let until = Instant::now() + HOLD;
    while locked(&COMMANDS).values().any(Option::is_some) && Instant::now() < until {
        thread::sleep(HOLD / 20);
    }
}

/// What a desk knows.
pub struct RunDesk {
    context: WorkContext,
    since: Timestamp,
    /// Why calls were refused, as the session was told.
    told: Mutex<BTreeSet<Box<str>>>,
}

#[activities]
impl RunDesk {
    /// Answers a call as soon as there is something to tell.
    #[activity(name = "quorum.desk")]
    pub async fn call(
        self: Arc<Self>,
        _: ActivityContext,
        call: DeskCall,
    ) -> Result<Result<DeskOutput, Box<str>>, ActivityError> {
        let until = Instant::now() + HOLD;
        loop {
            let answer = self.answer(&call).map_err(|why| why.to_string().into_boxed_str());
            match &answer {
                Ok(DeskOutput { exit: None, pieces })
                    if pieces.concat().is_empty() && Instant::now() < until =>
                {
                    sleep(LOOK).await;
                }
                Err(why) if locked(&self.told).insert(why.clone()) => {
                    let text = format!("refused at the desk for other machines: {why}");
                    self.context.post(rules::engine::Fact::Warn(text));
                }
                _ => return Ok(answer),
            }
        }
    }
}

impl RunDesk {
    /// Begins a command, where it has not begun. What it has printed behind what is known.
    fn answer(&self, call: &DeskCall) -> anyhow::Result<DeskOutput> {
        let mut commands = locked(&COMMANDS);
        if !commands.contains_key(&call.nonce) {
            let folder = &self.context.folder;
            let key = operator_key().context("there is no key of the operator")?;
            call.check(folder.id(), &key, [self.since, Timestamp::now()])?;
            let outputs = [tempfile::tempfile()?, tempfile::tempfile()?];
            let child = Command::new(std::env::current_exe()?)
                // What begins with a flag may be no command at all.
                .args(call.words.iter().skip(1).skip_while(|word| word.starts_with('-')))
                // The command line goes by it, see `cli/desk.rs`.
                .env("QUORUM_AT_DESK", folder.id().as_str())
                .env("QUORUM_STATE_DIR", folder.state_folder().path())
                // Whose name is recorded, where no word says another one.
                .env("USER", &call.by)
                .stdin(Stdio::null())
                .stdout(outputs[0].try_clone()?)
                .stderr(outputs[1].try_clone()?)
                .spawn()?;
            commands.insert(call.nonce.clone(), Some((child, outputs)));
        }
        let known = commands.get_mut(&call.nonce).context("it is gone")?;
        let (child, outputs) = known.as_mut().context("the code of the command was used")?;
        // Before the reading: what it prints until then is all. What was killed has no code.
        let exit = child.try_wait()?.map(|exit| exit.code().unwrap_or(1));
        let mut pieces = [vec![0; PIECE], vec![0; PIECE]];
        for ((piece, file), from) in pieces.iter_mut().zip(outputs).zip(call.read) {
            let length = file.read_at(piece, from)?;
            piece.truncate(length);
        }
        let exit = exit.filter(|_| pieces.concat().is_empty());
        if exit.is_some() {
            *known = None;
        }
        Ok(DeskOutput { pieces, exit })
    }
}

/// A command at work, and the files of what it prints.
type DeskCommand = (Child, [File; 2]);

/// Has a command done at the desk of a run, and writes what it prints. Returns its exit code.
///
/// # Errors
/// When nobody answers, the desk refuses, or an output cannot be written.
pub async fn ask_desk(
    run: &RunId,
    mut call: DeskCall,
    mut outputs: [Box<dyn Write>; 2],
) -> anyhow::Result<u8> {
    let client = connect(&host()).await?;
    loop {
        let (queue, id) = (queue_name(&format!("run.{run}")), call.nonce.clone());
        let options = ActivityStartOptions::with_schedule_to_close_timeout(queue, id, HOLD * 3);
        let begun = client.start_activity(RunDesk::call, call.clone(), options.build()).await?;
        let answer = begun.result().await;
        let answer = answer.context("nobody answers at the desk of this run; its session may have ended")?;
        let output = answer.map_err(|why| anyhow!("the desk of this run refuses it: {why}"))?;
        for ((to, piece), read) in outputs.iter_mut().zip(output.pieces).zip(&mut call.read) {
            to.write_all(&piece)?;
            to.flush()?;
            *read += piece.len() as u64;
        }
        if let Some(exit) = output.exit {
            return Ok(exit.try_into()?);
        }
    }
}
