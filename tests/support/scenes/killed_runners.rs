//! A session whose runner, or supervisor, is killed while its agents are at work.

use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::events::is;
use crate::support::journal;
use crate::support::{
    Mission, Running, Workspace, attempts, is_alive, parent, read_pid, standing, wait_for, wait_for_file,
};

/// `work` goes on until the file `go` is there, `other` until `go.other` is; then they print, and exit with what `exit`
/// says. A judge sees what `work` printed.
pub fn work() -> Mission {
    doing("")
}

/// The same with something that each agent does first.
pub fn doing(first: &str) -> Mission {
    Mission::new()
        .worker(format!(
            r#"
name=$QUORUM_TASK
echo "$name $QUORUM_ATTEMPT $QUORUM_TURN" >> log
{first}
echo $$ > "$name.pid"
echo "$name began"
while [ ! -e "go.$name" ]; do sleep 0.02; done
echo "$name ended"
exit "$(cat exit 2>/dev/null || echo 0)"
"#
        ))
        .judge("judge", &["SCORE: 90"])
        .task("work", |t| t.attempts(1))
}

/// A task beside `work`.
pub fn other(mission: Mission) -> Mission {
    mission.task("other", |t| t.unreviewed())
}

/// A session at work.
pub struct Scene {
    pub workspace: Workspace,
    pub running: Option<Running>,
    pub agent: Pid,
    pub supervisor: Pid,
}

impl Scene {
    /// A session whose agents are at work.
    pub fn start(mission: Mission) -> Self {
        let workspace = mission.workspace();
        let running = workspace.start(&["run", "mission.yaml"]);
        let agent = read_pid(&workspace.path("work.pid"));
        if workspace.read("mission.yaml").contains(r#""title":"other""#) {
            wait_for_file(&workspace.path("other.pid"));
        }
        let scene = Self { supervisor: parent(agent), workspace, running: Some(running), agent };
        // It is on record which processes they are.
        let expected = scene.workspace.lines("log").len();
        wait_for("the processes on record", || scene.count("agent:spawned") == expected);
        scene
    }

    /// The same, and then the runner is killed.
    pub fn crashed(mission: Mission) -> Self {
        let mut scene = Self::start(mission);
        scene.kill_runner();
        scene
    }

    pub fn kill_runner(&mut self) {
        self.running.take().expect("it runs").kill();
    }

    pub fn kill_supervisor(&self) {
        kill_process(self.supervisor, Signal::KILL).unwrap();
        self.supervisor_has_ended();
    }

    pub fn supervisor_has_ended(&self) {
        wait_for("the end of the supervisor", || !is_alive(self.supervisor));
    }

    pub fn let_go(&self, task: &str) {
        self.workspace.write(&format!("go.{task}"), "");
    }

    pub fn count(&self, event: &str) -> usize {
        let events = self.workspace.events();
        events.iter().filter(|seen| is(seen, event)).count()
    }

    /// Starts `resume` and waits until it has taken the turns over.
    pub fn adopted(&self, times: usize) -> Running {
        let resumed = self.workspace.start(&["resume", "--json"]);
        wait_for("the turn is adopted", || self.count("work:progressed turn adopted") == times);
        resumed
    }

    pub fn log(&self) -> Vec<String> {
        self.workspace.lines("log")
    }

    pub fn exits(&self) -> PathBuf {
        self.workspace.run_folder().join(journal::EXITS)
    }

    /// `work` was done by its first process, and its output was judged.
    pub fn assert_done_once(&self, document: &Value) {
        assert_eq!(standing(document, "work"), ("done", "clean"));
        assert_eq!(attempts(document, "work"), ["execute"]);
        let starts = self.log().into_iter().filter(|line| line.starts_with("work"));
        assert_eq!(starts.collect::<Vec<_>>(), ["work 1 1"]);
        assert!(self.workspace.asked("judge", 1).contains("work began\nwork ended"));
        assert_eq!(self.workspace.calls("judge"), 1);
        let logs = self.workspace.quorum(&["logs", "work"]).exits(0);
        assert_eq!(logs.stdout, "work began\nwork ended\n");
        assert_eq!(self.count("work:ended turn lost"), 0);
        self.supervisor_has_ended();
    }
}
