//! A turn at work, looked at once a second: what its agent says is told (17), and how long it has said nothing (5).
//!
//! An agent did something where its drop folder, its record of calls or its output was written since they were looked at last.
//! What a process prints may have no name before its end, so it is looked for where the process itself writes to. A model behind
//! HTTP says nothing before its reply, but the commands that it runs may. How long ago that was is measured by a clock that
//! nobody sets: of the times of files only whether they changed counts.

use std::time::{Duration, Instant, SystemTime};

use crate::executor::error::WorkError;
use crate::store::SpoolName;
use rules::domain::Millis;
use rules::engine::{Fact, TurnUpdate};

use super::agent_messages::TurnMessages;
use super::context::{WorkContext, blocking};
use super::turn_order::TurnOrder;

/// How often a turn at work is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The silence of a turn.
#[derive(Debug)]
struct Silence {
    /// The last moment at which the turn was seen to have done something; at first, the one at which this
    /// session first saw it.
    since: Instant,
    /// When its files were written last, and when its processes printed something.
    signs: [Option<SystemTime>; 2],
    warned: bool,
    killed: bool,
}

/// Waits for something that a turn does, and tells meanwhile what its agent says, and that it says nothing.
///
/// # Errors
/// When the program ends meanwhile.
pub async fn watched<T>(
    context: &WorkContext,
    order: &TurnOrder,
    awaited: impl Future<Output = T>,
) -> Result<(T, TurnMessages), WorkError> {
    tokio::pin!(awaited);
    let (mut said, mut silence) = (TurnMessages::default(), None);
    loop {
        tokio::select! {
            biased;
            come = &mut awaited => return Ok((come, said)),
            () = tokio::time::sleep(LOOK) => {}
        }
        let (context, order) = (context.clone(), order.clone());
        let look = blocking(move || {
            said.listen(&context, order.turn, &order.commands.secrets);
            look_for_silence(&context, &order, &mut silence);
            (said, silence)
        });
        (said, silence) = look.await?;
    }
}

/// Looks how long an agent at work has said nothing. Blocks.
fn look_for_silence(context: &WorkContext, order: &TurnOrder, known: &mut Option<Silence>) {
    let now = Instant::now();
    let signs = [last_sign(order), last_word(context, order)];
    let silence = known.get_or_insert(Silence { since: now, signs, warned: false, killed: false });
    if signs != silence.signs {
        (silence.since, silence.signs) = (now, signs);
    }
    let (turn, plan) = (order.turn, context.newest_plan(&order.commands.plan));
    #[cfg(any(feature = "temporal", test))]
    if super::carried::waits(context, &plan, turn) {
        // Nobody is at work yet.
        silence.since = now;
    }
    let limits = plan.task(turn.task).silence;
    let idle = Millis::from(now.duration_since(silence.since));
    let killed = limits.killed_after.is_some_and(|after| idle >= after);
    let warns = idle >= limits.warned_after && !silence.warned;
    if !silence.killed && (killed || warns) {
        (silence.warned, silence.killed) = (true, killed);
        context.post(Fact::TurnProgress(turn, TurnUpdate::Stale { idle, killed }));
    }
}

fn last_sign(order: &TurnOrder) -> Option<SystemTime> {
    let turn = order.turn;
    let names =
        [SpoolName::Out(turn), SpoolName::Err(turn), SpoolName::Drop(turn), SpoolName::TurnTools(turn)];
    let written = |name| {
        let found = std::fs::symlink_metadata(order.commands.file(&name)).ok()?;
        found.modified().ok()
    };
    names.into_iter().filter_map(written).max()
}

/// When the agent's process, or a command that is part of its work, last printed something.
fn last_word(context: &WorkContext, order: &TurnOrder) -> Option<SystemTime> {
    let processes = context.at_work().runner.processes_of(order.turn);
    let outputs = processes
        .iter()
        .flat_map(|process| [1, 2].map(|descriptor| supervisor::open_output(process, descriptor)));
    outputs.flatten().filter_map(|output| output.metadata().ok()?.modified().ok()).max()
}
