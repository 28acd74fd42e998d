//! What the child, the worker and the session say to each other about a command that is carried.
//!
//! | who to whom | what | where |
//! |---|---|---|
//! | session to child | [`CarriedRequest`] | the file that the child is started with |
//! | child to worker | [`CarriedJob`] | the input of the activity |
//! | session to worker | [`CarriedCommand`] | `job.json` in the tree `q` of the commit that the job names |
//! | worker to child | [`CarriedPiece`], [`CarriedEnd`] | details of heartbeats; the result of the activity |
//! | child to session | [`CarriedReport`] | the file that the request names |

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::executor::command::CommandJob;
use crate::runtime::isolation::worktrees::exchange::CarriedName;
use crate::store::OperatorKey;
use rules::domain::{Millis, RunId};
use rules::plan::Confinement;
use supervisor::ChildExit;

/// The number of this form. It stands in the name of every queue, so that no worker is handed a job that it cannot read.
pub const FORM: u32 = 1;

/// The first word of the command line of a child that stands for a command elsewhere.
pub const CHILD_WORD: &str = "--carried";

/// The queue of sessions. No agent's has such a name.
pub const SESSIONS: &str = "@sessions";

/// The command of a commit, in its tree `q`.
pub const COMMAND: &str = "job.json";
/// What the command has printed, in the tree `q` of the commit that comes back.
pub const STDOUT: &str = "stdout";
/// What it has printed as errors, there.
pub const STDERR: &str = "stderr";
/// What it claims of its work, there.
pub const RESULT: &str = "result";
/// The folder of its messages, there.
pub const MESSAGES: &str = "messages";

/// The variable with the folder of an agent's messages.
const MESSAGE_FOLDER: &str = "QUORUM_TASK_DIR";

/// The name of a queue at the server.
pub fn queue_name(queue: &str) -> String {
    format!("quorum.{FORM}.{queue}")
}

/// The name under which a command is begun, which no other one of any run has: ids of runs are moments of one machine, and the nonce
/// is of the run's beginning. One that nobody has begun may be handed out again; each time has a label of its own.
pub fn activity_id(run: &RunId, nonce: &str, label: &str) -> String {
    format!("{run}.{nonce}.{label}")
}

/// What a child is asked to have done elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedRequest {
    /// The repository by which files travel: a path, or a URL. Of a session the state folder, which its host reaches.
    pub exchange: String,
    /// The commit that holds the folder and the command. Of a session a [`HostedCommand`].
    pub commit: String,
    /// The name of the command in the exchange.
    pub name: CarriedName,
    /// The name of the command at the server, see [`activity_id`].
    pub id: String,
    /// The queue of its agent.
    pub queue: String,
    /// How long the worker may be silent before it counts as lost.
    pub lease: Millis,
    /// How long the turn may wait for a worker.
    pub wait: Millis,
    /// How long the command may take once it has begun.
    pub timeout: Millis,
    /// How many bytes all that comes back beside the folder may have.
    pub most: u64,
    /// The repository of this machine into which what comes back is fetched.
    pub repository: PathBuf,
    /// The file for what the child tells beside what the command prints.
    pub report: PathBuf,
}

impl CarriedRequest {
    /// The folder in which the child lays what came back beside the folder, but for what it prints.
    pub fn left(&self) -> PathBuf {
        self.report.with_file_name("left")
    }
}

/// The command of a session. Its folders have the same paths on all machines.
#[derive(Serialize, Deserialize)]
pub struct HostedCommand {
    /// The run whose session a host is to have.
    pub run: RunId,
    /// The folder that the command line was given in.
    pub folder: PathBuf,
    /// The words of the command line behind `run`, which the host says itself: nothing else is done of a job.
    pub words: Vec<String>,
    /// Whether its progress is printed with its result.
    pub prints_progress: bool,
}

/// A job as the server keeps it. It holds no text of the mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedJob {
    /// The number of its form.
    pub form: u32,
    /// The name under which it was begun.
    pub id: String,
    /// The repository by which files travel.
    pub exchange: String,
    /// The commit that holds the folder and the command.
    pub commit: String,
    /// The team's code of all of this and of the queue.
    pub code: String,
}

impl CarriedJob {
    /// The job of a request, under the team's key.
    pub fn of(request: &CarriedRequest, key: &OperatorKey) -> Self {
        let job = Self {
            form: FORM,
            id: request.id.clone(),
            exchange: request.exchange.clone(),
            commit: request.commit.clone(),
            code: String::new(),
        };
        let code = key.code(&job.covered(&request.queue));
        Self { code, ..job }
    }

    /// Why a worker of a queue does not take a job that came under a name; `None` where it does.
    pub fn refused(&self, (queue, id): (&str, &str), key: &OperatorKey) -> Option<&'static str> {
        if self.form != FORM {
            Some("the job is of another form")
        } else if !key.verifies(&self.covered(queue), &self.code) {
            Some("the job carries no code of the team's key")
        } else if self.id != id {
            Some("the job was begun under another name")
        } else {
            None
        }
    }

    /// The text that its code covers. No part can reach into the next one: none holds an end of a line.
    fn covered(&self, queue: &str) -> String {
        let parts = [queue, &self.id, &self.exchange, &self.commit].map(|part| part.replace('\n', " "));
        format!("carried {}\n{}", self.form, parts.join("\n"))
    }
}

/// The last that a command has printed, with each heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedPiece {
    /// The name of the worker, from when the command is begun.
    pub worker: Option<String>,
    /// How many bytes of standard output stand before the piece.
    pub from: u64,
    /// The bytes, as base64.
    pub bytes: String,
}

/// The end of a command on a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedEnd {
    /// The number of its form.
    pub form: u32,
    /// The name of the worker.
    pub worker: String,
    /// The commit that holds the folder and what the command has left; `None` where there is nothing that could be handed back.
    pub commit: Option<String>,
    /// The exit; `None` where the command was never started.
    pub exit: Option<ChildExit>,
    /// Why it was not started, or what it has left could not be handed back.
    pub why: Option<String>,
    /// What a session has printed.
    pub printed: Option<CarriedPiece>,
}

/// What a child has told its session so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CarriedReport {
    /// The worker that has begun the command; `None` as long as none has.
    pub began: Option<String>,
    /// How it ended; `None` as long as nobody knows, and where the child was ended before.
    pub end: Option<CarriedOutcome>,
}

/// How a carried command ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CarriedOutcome {
    /// A worker has ended it and told how.
    Ended(Box<CarriedEnd>),
    /// A worker had begun it and was not heard of again.
    Lost(String),
    /// No worker has begun it, and none ever will.
    NeverBegan(String),
    /// Whoever began the command has called it off.
    CalledOff,
    /// It was handed to nobody, for a reason of this machine or of the server.
    NotBegun(String),
    /// Under its name another job was begun.
    Foreign,
}

/// A command as it travels, in the paths of the machine that it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedCommand {
    /// The command as it would be started here.
    pub command: CommandJob,
    /// The folder that the tree `w` is of.
    pub folder: PathBuf,
    /// The files that travel in `q`: where each lies there, and its name here.
    pub files: Vec<(PathBuf, String)>,
    /// How many of its variables the mission writes, the first ones. The others are passed where they are set.
    pub written: usize,
    /// How far the command is to be confined.
    pub confinement: Confinement,
}

/// The folders of one job on a worker.
#[derive(Debug, Clone, Copy)]
pub struct CarriedPlaces<'p> {
    /// The folder that the command works in: tree `w`.
    pub folder: &'p Path,
    /// What came with it: tree `q`.
    pub given: &'p Path,
    /// The folder for what the command leaves beside its work.
    pub left: &'p Path,
}

impl CarriedCommand {
    /// The command in the paths of a worker. Wherever a text of it names a file or folder that has travelled, it names that of the
    /// worker.
    ///
    /// # Errors
    /// When its words cannot be read back, which holds for no command that was made by a session.
    pub fn at(&self, places: CarriedPlaces<'_>) -> serde_json::Result<CommandJob> {
        let outputs = &self.command.outputs;
        let mut moved = vec![(self.folder.clone(), places.folder.to_owned())];
        let files = self.files.iter();
        moved.extend(files.map(|(path, name)| (path.clone(), places.given.join(name))));
        let left = [
            (outputs.stdout.as_ref(), STDOUT),
            (outputs.stderr.as_ref(), STDERR),
            (outputs.result.as_ref(), RESULT),
        ];
        let left = left.into_iter().filter_map(|(path, name)| Some((path?.clone(), name)));
        let messages = self.command.variables.iter();
        let messages = messages.filter(|(name, _)| name == MESSAGE_FOLDER);
        let left = left.chain(messages.map(|(_, value)| (value.into(), MESSAGES)));
        moved.extend(left.map(|(path, name)| (path, places.left.join(name))));
        // Of two that lie one in the other the inner one is meant where its name stands.
        moved.sort_by_key(|(path, _)| std::cmp::Reverse(path.as_os_str().len()));
        let mut moved_texts = serde_json::to_value(&self.command)?;
        replace_in(&mut moved_texts, &moved);
        let moved_command: CommandJob = serde_json::from_value(moved_texts)?;
        Ok(CommandJob {
            within: moved_command.within.map(|_| places.folder.to_owned()),
            apart: None,
            outlives_session: false,
            confinement: None,
            ..moved_command
        })
    }
}

/// Replaces paths in all texts of a document.
fn replace_in(value: &mut Value, moved: &[(PathBuf, PathBuf)]) {
    match value {
        Value::String(text) => *text = replaced(text, moved),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_in(item, moved)),
        Value::Object(entries) => entries.values_mut().for_each(|item| replace_in(item, moved)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text with other paths; of several that begin at one place the first of the list counts. A path is one only where its last
/// name ends.
fn replaced(text: &str, moved: &[(PathBuf, PathBuf)]) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let found = moved.iter().find_map(|(from, to)| {
            let behind = rest.strip_prefix(from.to_str()?)?;
            let goes_on = |c: char| c.is_alphanumeric() || "._-".contains(c);
            (!behind.starts_with(goes_on)).then_some((to, behind))
        });
        if let Some((to, behind)) = found {
            made.push_str(&to.to_string_lossy());
            rest = behind;
        } else {
            made.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::command::CommandOutputs;

    fn request() -> CarriedRequest {
        CarriedRequest {
            exchange: "ssh://git@machine.example.org/srv/teams/exchange.git".to_owned(),
            commit: "9".repeat(64),
            name: CarriedName::try_from("20261121-215900-123/12345.7.11.0123456789abcdef".to_owned())
                .unwrap(),
            id: activity_id(
                &RunId::new("20261121-215900-123").unwrap(),
                "0123456789abcdef",
                "12345.7.11.0123456789abcdef",
            ),
            queue: "gpu".to_owned(),
            lease: Millis::from_secs(30),
            wait: Millis::from_secs(600),
            timeout: Millis::from_secs(3600),
            most: 1 << 20,
            repository: "/state/repository.git".into(),
            report: "/state/report".into(),
        }
    }

    #[test]
    fn a_job_is_taken_only_as_the_team_has_made_it() {
        let (team, other) = (OperatorKey::of(&[1; 32]), OperatorKey::of(&[2; 32]));
        let request = request();
        let job = CarriedJob::of(&request, &team);
        let id = request.id.as_str();
        assert_eq!(job.refused(("gpu", id), &team), None);
        let code = Some("the job carries no code of the team's key");
        assert_eq!(job.refused(("cpu", id), &team), code);
        assert_eq!(job.refused(("gpu", id), &other), code);
        let changed = [
            CarriedJob { commit: "8".repeat(64), ..job.clone() },
            CarriedJob { exchange: "ssh://elsewhere".to_owned(), ..job.clone() },
            CarriedJob { id: "other".to_owned(), ..job.clone() },
            CarriedJob { code: String::new(), ..job.clone() },
            // What one part loses the next one does not gain.
            CarriedJob { id: format!("{id}\n{}", job.exchange), exchange: String::new(), ..job.clone() },
        ];
        for job in changed {
            assert_eq!(job.refused(("gpu", &job.id), &team), code, "{job:?}");
        }
        assert_eq!(
            job.refused(("gpu", "20261121-215900-123.ff.1.1.1"), &team),
            Some("the job was begun under another name")
        );
        let newer = CarriedJob { form: FORM + 1, ..job };
        assert_eq!(newer.refused(("gpu", id), &team), Some("the job is of another form"));
    }

    #[test]
    fn a_session_is_asked_for_by_the_words_of_its_command_line_in_a_queue_that_no_agent_has() {
        let team = OperatorKey::of(&[1; 32]);
        let words = ["a\nb.yaml", "--hosted"].map(str::to_owned);
        let command = HostedCommand {
            run: RunId::new("20261121-215900-123").unwrap(),
            folder: "/srv/project".into(),
            words: words.to_vec(),
            prints_progress: true,
        };
        let request = CarriedRequest {
            queue: SESSIONS.to_owned(),
            commit: serde_json::to_string(&command).unwrap(),
            ..request()
        };
        let job = CarriedJob::of(&request, &team);
        assert_eq!(job.refused((SESSIONS, &request.id), &team), None);
        assert!(job.refused(("sessions", &request.id), &team).is_some());
        let read: HostedCommand = serde_json::from_str(&job.commit).unwrap();
        assert_eq!((read.run, read.words), (command.run, command.words));
        assert_eq!((read.folder, read.prints_progress), (command.folder, command.prints_progress));
        assert!(!SESSIONS.starts_with(|c: char| c.is_ascii_alphanumeric()));
    }

    #[test]
    fn what_the_server_keeps_is_small_and_holds_no_text_of_the_mission() {
        let job = CarriedJob::of(&request(), &OperatorKey::of(&[1; 32]));
        let job = serde_json::to_string(&job).unwrap();
        assert!(job.len() < 512, "{job}");
        let end = CarriedEnd {
            form: FORM,
            worker: "worker@machine.example.org".to_owned(),
            commit: Some("9".repeat(64)),
            exit: Some(ChildExit { code: Some(0), stdout_len: u64::MAX, ..ChildExit::default() }),
            why: None,
            printed: None,
        };
        let text = serde_json::to_string(&end).unwrap();
        assert!(text.len() < 1024, "{text}");
        assert_eq!(serde_json::from_str::<CarriedEnd>(&text).unwrap(), end);
        assert_eq!(queue_name("gpu"), "quorum.1.gpu");
    }

    #[test]
    fn what_is_told_comes_back_as_it_was() {
        let piece =
            CarriedPiece { worker: Some("worker@machine".to_owned()), from: 7, bytes: "AAAA".to_owned() };
        let text = serde_json::to_string(&piece).unwrap();
        assert_eq!(serde_json::from_str::<CarriedPiece>(&text).unwrap(), piece);
        let why = || "for a reason".to_owned();
        let outcomes = [
            CarriedOutcome::Lost(why()),
            CarriedOutcome::NeverBegan(why()),
            CarriedOutcome::NotBegun(why()),
            CarriedOutcome::CalledOff,
            CarriedOutcome::Foreign,
        ];
        for outcome in outcomes {
            let report = CarriedReport { began: piece.worker.clone(), end: Some(outcome) };
            let text = serde_json::to_string(&report).unwrap();
            assert_eq!(serde_json::from_str::<CarriedReport>(&text).unwrap(), report);
        }
    }

    #[test]
    fn a_command_names_the_places_of_the_machine_that_it_runs_on() {
        let carried = CarriedCommand {
            command: CommandJob {
                argv: ["agent", "--file=/home/a/w/src/x.rs", "in /home/a/w, not /home/a/w2 or /home/a/w.old"]
                    .map(str::to_owned)
                    .into(),
                variables: [
                    ("QUORUM_TASK_DIR", "/state/run/drop/1"),
                    ("QUORUM_RESULT_FILE", "/state/run/drop/1/result"),
                    ("QUORUM_PROMPT_FILE", "/state/run/prompt.1"),
                ]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
                env: vec![("HOME".to_owned(), "${HOME}".to_owned())],
                cwd: "/home/a/w/inner".into(),
                within: Some("/home/a/w".into()),
                stdin: Some("/state/run/prompt.1".into()),
                outlives_session: true,
                outputs: CommandOutputs {
                    stdout: Some("/state/run/out.1".into()),
                    stderr: Some("/state/run/err.1".into()),
                    result: Some("/state/run/drop/1/result".into()),
                    ..CommandOutputs::default()
                },
                ..CommandJob::default()
            },
            folder: "/home/a/w".into(),
            files: vec![("/state/run/prompt.1".into(), "files/0".to_owned())],
            written: 1,
            confinement: Confinement::default(),
        };
        let bytes = serde_json::to_vec(&carried).unwrap();
        let read: CarriedCommand = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read, carried);
        let [folder, given, left] = ["/jobs/1/w", "/jobs/1/q", "/jobs/1/left"].map(Path::new);
        let job = read.at(CarriedPlaces { folder, given, left }).unwrap();
        assert_eq!(job.argv[1], "--file=/jobs/1/w/src/x.rs");
        assert_eq!(job.argv[2], "in /jobs/1/w, not /home/a/w2 or /home/a/w.old");
        let values: Vec<&str> = job.variables.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["/jobs/1/left/messages", "/jobs/1/left/result", "/jobs/1/q/files/0"]);
        assert_eq!((job.cwd, job.within), ("/jobs/1/w/inner".into(), Some("/jobs/1/w".into())));
        assert_eq!(job.stdin, Some("/jobs/1/q/files/0".into()));
        assert_eq!(job.outputs.stdout, Some("/jobs/1/left/stdout".into()));
        assert_eq!(job.outputs.stderr, Some("/jobs/1/left/stderr".into()));
        assert_eq!(job.outputs.result, Some("/jobs/1/left/result".into()));
        assert_eq!(job.env, carried.command.env);
        assert!(!job.outlives_session);
    }
}
