//! The programs of agents at work are looked at once a second, beside the loop: what they do is told, and whoever waits for too
//! long is ended.

use crate::executor::program_watch::{LOOK, ProgramWatch, WatchedProgram, WatchedPrograms};
use rules::engine::{Fact, TurnUpdate};

use super::at_work::AtWork;
use super::context::{Message, WorkContext, blocking};

/// Looks at programs as long as the session works.
pub async fn look_at_programs(context: WorkContext) {
    loop {
        tokio::time::sleep(LOOK).await;
        let programs = {
            let mut at_work = context.at_work();
            let AtWork { runner, programs, .. } = &mut *at_work;
            programs.begin(runner)
        };
        let Some(mut programs) = programs else {
            continue;
        };
        let looking = blocking(move || {
            programs.values_mut().for_each(WatchedProgram::look);
            programs
        });
        match looking.await {
            Ok(programs) => take(&context, programs),
            // The program ends.
            Err(_) => return,
        }
    }
}

fn take(context: &WorkContext, seen: WatchedPrograms) {
    let mut at_work = context.at_work();
    let AtWork { runner, programs, .. } = &mut *at_work;
    let send = |command| {
        // The loop holds the receiver as long as it lives; after it nobody is to be ended.
        let _ = context.sender.send(Message::ToSupervisor(command));
        Ok(())
    };
    let tell = |turn, text| context.post(Fact::TurnProgress(turn, TurnUpdate::Activity { summary: text }));
    // Nothing of it fails: what is sent here is handed to the loop.
    let _ = ProgramWatch::end(programs, seen, runner, send, tell);
}
