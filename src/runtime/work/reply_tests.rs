//! Calls that come to nothing: whose failure it is.

use tokio::sync::mpsc;

use super::*;
use crate::agents::transport::Network;
use crate::executor::command::CommandOutputs;
use crate::executor::runner::Commands;
use crate::review::judgement::{Inputs, Judgement};
use crate::runtime::AgentBackends;
use crate::runtime::isolation::protection::Protection;
use crate::runtime::isolation::worktrees::Worktrees;
use crate::runtime::session::effects::EffectHandler;
use crate::runtime::session::error::RunError;
use crate::runtime::work::context::WorkContext;
use crate::store::{SpoolName, StateFolder};
use rules::domain::{RunId, TaskId, Timestamp};
use rules::engine::simulation::{Simulation, good, options};
use rules::engine::{Effect, State, agents_needed};
use rules::judging::parser::Quoted;
use supervisor::ChildExit;
use supervisor::files;

const JUDGED: &str = "
name: m
agents:
  w: {run: [/bin/true]}
  j: {run: [/bin/true], role: reviewer}
tasks: [{title: t, assignTo: w}]
";

/// The state in which a judge is asked, and the call.
fn asked() -> (State, Effect) {
    let mut simulation = Simulation::new(JUDGED, options());
    loop {
        let next = simulation.todo.front().cloned().expect("a judge is asked");
        if matches!(next, Effect::Ask { .. }) {
            return (simulation.state, next);
        }
        simulation.perform(0, &mut good);
    }
}

#[tokio::test]
async fn a_judge_that_nobody_is_left_to_start_has_not_failed() {
    // Found by `torture::life`: the death of the supervisor went on record as a judge that could not be reached.
    let folder = tempfile::tempdir().unwrap();
    let run = StateFolder::at(folder.path()).unwrap().run(&RunId::new("r").unwrap());
    run.create().unwrap();
    let (state, call) = asked();
    let turn = state.current_turn(TaskId(0));
    files::write_new(&run.spool_file(&SpoolName::Out(turn)), b"ok").unwrap();
    let programs =
        AgentBackends::resolve(&state.plan, agents_needed(&state), folder.path(), Network::Open).unwrap();
    let (sender, mut inbox) = mpsc::unbounded_channel();
    let (commands, mut requests) = Commands::new();
    let context = WorkContext {
        worktrees: Worktrees::at_rest(&run),
        commands,
        agents: programs.into(),
        protection: Protection::none().into(),
        seen_on: Arc::default(),
        frozen: Arc::default(),
        messages: Arc::default(),
        at_work: Arc::default(),
        ended: Arc::default(),
        folder: run,
        sender,
    };
    let mut effects = EffectHandler::new(context, supervisor::Client::left_alone());
    effects.perform(&state, vec![call]).unwrap();
    let request = requests.recv().await.expect("the judge's request is prepared");
    let started = effects.processes.start(&state, &effects.context, request);
    assert!(matches!(started, Err(RunError::Supervisor(_))), "{started:?}");
    assert!(inbox.try_recv().is_err(), "nobody said anything about the judge");
}

#[test]
fn a_lost_reply_is_no_empty_reply() {
    let exit = ChildExit { code: Some(0), ..ChildExit::default() };
    let outputs = || CommandOutputs { limit: 100, ..CommandOutputs::default() };
    let end = |exit| {
        CommandOutputs {
            stdout: Some("/nothing/there".into()),
            stderr: Some("/nothing/there".into()),
            ..outputs()
        }
        .end(Ok(exit))
    };
    assert!(no_reply("the reviewer", &end(exit.clone())).is_none());
    let lost = ChildExit { output_lost: Some("the folder is gone".to_owned()), ..exit.clone() };
    let longer = ChildExit { stdout_len: 3, ..exit };
    let place = ReplyFiles { reply: "/nothing/there".into(), judgement: "/nothing/there".into() };
    let judgement = Judgement::asked("", Inputs::default(), Quoted::default(), Timestamp(0));
    for (exit, why) in [(lost, "the folder is gone"), (longer, "it has 0 bytes, and had 3")] {
        let read = of_command(("it", None), &end(exit), judgement.clone(), &place, |_, _| ());
        // What is lost here is no failure of the reviewer's.
        let failed = read.map(|_| ()).unwrap_err();
        assert!(failed.ours && failed.message.contains(why), "{}", failed.message);
    }
}
