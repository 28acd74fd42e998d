//! What the matrix is made of: kinds and purposes of work, faults, and the way in which whoever works is reached.

use std::fmt;

use rules::domain::{Purpose, Stage};
use rules::engine::{Effect, Job};

/// An enum that knows all of its values and their names.
macro_rules! listed {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$what])* $value,)+
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$value,)+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }
    };
}

listed! {
    /// A kind of work and what it is for.
    Row {
        /// A worker acts.
        Turn = "turn",
        /// A reviewer of a panel gives scores.
        ScorePanel = "ask: score by panel",
        /// A reviewer gives one score.
        ScoreEvaluation = "ask: score by evaluation",
        /// A judge grades by a rubric.
        Grade = "ask: grade",
        /// An agent cuts criteria into questions.
        Decompose = "ask: decompose",
        /// An agent is one of the mission's own stages.
        StageAsk = "ask: stage",
        /// An agent attacks the work.
        RedTeam = "ask: red team",
        /// An agent looks at screenshots.
        Vision = "ask: vision",
        /// The orchestrator says whether a question was asked.
        Confirm = "ask: confirm",
        /// The orchestrator answers one.
        Answer = "ask: answer",
        /// The orchestrator says what becomes of a task whose dependency failed.
        Resolve = "ask: resolve",
        /// An agent agrees to the start of a task.
        Approve = "ask: approve",
        /// An agent looks at a request from outside.
        Triage = "ask: triage",
        /// A check of the task.
        Check = "command: check",
        /// A command of a finish gate.
        Finish = "command: finish",
        /// A command that a criterion names.
        Probe = "command: probe",
        /// A command is one of the mission's own stages.
        StageCommand = "command: stage",
        /// A command agrees to the start of a task.
        ApproverCommand = "command: approver",
        /// The files that a task names are looked at.
        Scan = "scan",
        /// A channel is told something.
        Deliver = "deliver",
    }
}

listed! {
    /// What goes wrong.
    Fault {
        /// The program is missing, the connection is refused.
        CannotStart = "start",
        /// The provider does not know the key.
        Auth = "401",
        /// The provider is busy once.
        BusyOnce = "429",
        /// Nothing comes in time.
        TimeOut = "time-out",
        /// What is asked for stands in prose.
        Prose = "prose",
        /// What comes means nothing.
        Garbage = "garbage",
        /// What was printed is removed by somebody.
        OutputLost = "lost",
        /// A secret stands in what comes.
        Secret = "secret",
        /// The task's own folder is not there.
        NoFolder = "folder",
        /// The session dies while the work is out, and the run is resumed.
        Killed = "kill -9",
        /// There is no budget for it.
        NoBudget = "budget",
        /// Nobody waits for it any more when it ends.
        Late = "late",
    }
}

listed! {
    /// How whoever works is reached.
    Transport {
        /// A process.
        Command = "command",
        /// A server.
        Http = "http",
    }
}

/// What kind of work a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Turn,
    /// A question to an agent that is on a run's record.
    Ask,
    /// A question to an agent about what is in no run yet.
    Triage,
    Command,
    Scan,
    Deliver,
}

impl Kind {
    /// Whether an agent does it, which is what a request is.
    pub fn is_request(self) -> bool {
        matches!(self, Self::Turn | Self::Ask | Self::Triage)
    }
}

impl Row {
    /// What kind of work it is.
    pub fn kind(self) -> Kind {
        match self {
            Self::Turn => Kind::Turn,
            Self::ScorePanel
            | Self::ScoreEvaluation
            | Self::Grade
            | Self::Decompose
            | Self::StageAsk
            | Self::RedTeam
            | Self::Vision
            | Self::Confirm
            | Self::Answer
            | Self::Resolve
            | Self::Approve => Kind::Ask,
            Self::Triage => Kind::Triage,
            Self::Check | Self::Finish | Self::Probe | Self::StageCommand | Self::ApproverCommand => {
                Kind::Command
            }
            Self::Scan => Kind::Scan,
            Self::Deliver => Kind::Deliver,
        }
    }

    /// The ways in which whoever does this can be reached.
    pub fn transports(self) -> &'static [Transport] {
        match self.kind() {
            Kind::Command | Kind::Scan => &[Transport::Command],
            Kind::Turn | Kind::Ask | Kind::Triage | Kind::Deliver => Transport::ALL,
        }
    }
}

/// One thing that goes wrong with one kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub row: Row,
    pub transport: Transport,
    pub fault: Fault,
}

impl Cell {
    /// All cells, row by row.
    pub fn all() -> Vec<Self> {
        let of_row = |row: Row| row.transports().iter().map(move |transport| (row, *transport));
        let lines = Row::ALL.iter().copied().flat_map(of_row);
        let cells = lines.flat_map(|(row, transport)| {
            let of_line = Fault::ALL.iter().copied();
            of_line.map(move |fault| Self { row, transport, fault })
        });
        cells.collect()
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} · {} · {}", self.row.name(), self.transport.name(), self.fault.name())
    }
}

/// The row of each purpose for which an agent is asked. A new purpose does not compile without one.
fn rows_of_purpose(purpose: Purpose) -> Vec<Row> {
    let row = match purpose {
        Purpose::Score(_) => return vec![Row::ScorePanel, Row::ScoreEvaluation],
        Purpose::Confirm => Row::Confirm,
        Purpose::Answer => Row::Answer,
        Purpose::Resolve { .. } => Row::Resolve,
        Purpose::Approve { .. } => Row::Approve,
        Purpose::Grade { .. } => Row::Grade,
        Purpose::Decompose { .. } => Row::Decompose,
        Purpose::Stage { step, .. } => match step.stage() {
            Stage::Stages => Row::StageAsk,
            Stage::RedTeam => Row::RedTeam,
            Stage::Vision => Row::Vision,
            Stage::Outcome
            | Stage::Preflight
            | Stage::Finish
            | Stage::Checks
            | Stage::Judge
            | Stage::Verification
            | Stage::Proof
            | Stage::Merge
            | Stage::Audit => return Vec::new(),
        },
    };
    vec![row]
}

/// The rows of everything that the engine can ask for. A new kind of work does not compile without one.
pub fn rows_of(effect: &Effect) -> Vec<Row> {
    match effect {
        Effect::RunTurn { .. } => vec![Row::Turn],
        Effect::Ask { purpose, .. } => rows_of_purpose(*purpose),
        Effect::Job { job, .. } => match job {
            Job::Check(_) | Job::PeerCheck(..) => vec![Row::Check],
            // The same commands, before the work.
            Job::Baseline => vec![Row::Check, Row::Finish, Row::Probe, Row::StageCommand],
            // The same commands elsewhere.
            Job::Look(_) => vec![Row::Check, Row::Finish],
            Job::Finish(_) => vec![Row::Finish],
            Job::Grade(_) => vec![Row::Probe],
            Job::Stage(step, _) => match step.stage() {
                Stage::Stages => vec![Row::StageCommand],
                // Colours are counted, nobody is started.
                Stage::Vision => vec![Row::Scan],
                _ => Vec::new(),
            },
            Job::Approver { .. } => vec![Row::ApproverCommand],
            // Its own faults are those of git, in `worktrees`.
            Job::Scan { .. } | Job::Artifacts(_) | Job::Merge(_) => vec![Row::Scan],
        },
        // Its checks are those of the tasks, made again.
        Effect::Audit { .. } => vec![Row::Scan, Row::Check],
        Effect::NoteFiles { .. } => vec![Row::Scan],
        Effect::Deliver { .. } => vec![Row::Deliver],
        // Its faults are those of git, in `worktrees`.
        Effect::DeliverWork { .. } => vec![Row::Scan],
        // No work: what belongs to another effect's work, or ends some.
        Effect::PreparePrompt(_)
        | Effect::File { .. }
        | Effect::KillTurn { .. }
        | Effect::StopTask(_)
        | Effect::StopAll => Vec::new(),
    }
}
