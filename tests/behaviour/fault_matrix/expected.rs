//! What each cell must come to, worked out from one table of policies.

use rules::domain::FailureClass;

use super::cells::{Cell, Kind, Row, Transport};

/// What a reply costs, however it comes.
pub const COST: f64 = 0.11;

/// What becomes of a cell.
pub enum Case {
    /// It is played, and must come to this.
    Played(Expected),
    /// It cannot occur, for this reason.
    Impossible(&'static str),
}

/// What a cell must come to.
#[derive(Debug)]
pub struct Expected {
    /// Exit code of the session, of the last one where it is resumed; of `request approve` where a request is looked at.
    pub exit: i32,
    /// Where the task ends, or the request.
    pub status: &'static str,
    /// How often whoever is at fault was started or asked. `None` where nobody can count that.
    pub calls: Option<usize>,
    /// The classes of failure that are on record.
    pub class: Option<FailureClass>,
    /// What lies in the dead-letter queue: the operation, with that class.
    pub letter: Option<&'static str>,
    /// Requests that the run is charged for, and what they cost as far as it is known. `None` where no run is charged.
    pub charge: Option<(usize, f64)>,
}

/// What the rules say of a kind of work.
struct Policy {
    /// How often a failed request is made again, if its class can pass.
    retries: usize,
    /// How often a reply that cannot be read is asked for again.
    reprompts: usize,
    /// What lies in the dead-letter queue when it failed for good.
    letter: Option<&'static str>,
}

const JUDGE: Option<&str> = Some("judge:party");

/// The table of policies. A row without a line does not compile.
fn policy(row: Row) -> Policy {
    let (retries, reprompts, letter) = match row {
        Row::Turn => (0, 0, None),
        Row::ScorePanel
        | Row::ScoreEvaluation
        | Row::Grade
        | Row::Decompose
        | Row::StageAsk
        | Row::RedTeam
        | Row::Vision => (3, 1, JUDGE),
        Row::Confirm | Row::Answer | Row::Resolve | Row::Approve | Row::Triage => (3, 0, None),
        Row::Check | Row::Finish | Row::Probe | Row::StageCommand | Row::ApproverCommand | Row::Scan => {
            (0, 0, None)
        }
        Row::Deliver => (2, 0, Some("notify:ops")),
    };
    Policy { retries, reprompts, letter }
}

/// How the work went in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Good,
    /// There is no word, or no work.
    Failed,
    /// There is a word, and nobody can read it.
    Unread,
    /// It says no.
    No,
    /// It waits for money, and the task stands there.
    Held(&'static str),
    /// Its task was called off.
    Dropped,
}

/// Exit code and status that this leads to.
fn consequence(row: Row, end: End) -> (i32, &'static str) {
    match (row, end) {
        (_, End::Held(status)) => (7, status),
        (Row::Triage, End::Dropped) => (4, "cancelled"),
        (_, End::Dropped) => (3, "failed"),
        (Row::Resolve, End::Good) => (3, "done"),
        (Row::Triage, End::Good) => (0, "task_created"),
        (_, End::Good) => (0, "done"),
        // What a worker says is its work.
        (Row::Turn, End::Unread) => (0, "done"),
        (Row::Probe, End::Unread) => (6, "awaiting_approval"),
        (Row::Turn | Row::Check | Row::Probe, _) => (3, "failed"),
        // An unread evaluation goes back to the worker, whose one attempt is spent.
        (Row::ScoreEvaluation, End::Unread) => (6, "done"),
        (Row::ScorePanel | Row::ScoreEvaluation | Row::Grade | Row::Decompose | Row::StageAsk, _) => {
            (6, "awaiting_approval")
        }
        // Open, with a finding.
        (Row::RedTeam | Row::Vision, _) => (0, "done"),
        // The work is judged as it is.
        (Row::Confirm, _) => (0, "done"),
        (Row::Answer | Row::Approve, _) => (8, "awaiting_approval"),
        (Row::Resolve, _) => (3, "failed"),
        (Row::Triage, End::Failed) => (9, "triaging"),
        (Row::Triage, _) => (4, "cancelled"),
        // Forced: the work is unverified.
        (Row::Finish, _) => (5, "done"),
        (Row::StageCommand | Row::ApproverCommand, End::No) => (3, "failed"),
        (Row::StageCommand, _) => (6, "awaiting_approval"),
        (Row::ApproverCommand, _) => (8, "awaiting_approval"),
        (Row::Scan, _) => (3, "failed"),
        (Row::Deliver, _) => (0, "done"),
    }
}

/// Requests that others make: before the work of this row, and after it went well.
pub fn other_requests(row: Row) -> (usize, usize) {
    match row {
        Row::Turn => (1, 0),
        Row::ScorePanel
        | Row::ScoreEvaluation
        | Row::Grade
        | Row::StageAsk
        | Row::RedTeam
        | Row::Vision
        | Row::Confirm
        | Row::Check
        | Row::Finish
        | Row::Probe
        | Row::StageCommand
        | Row::Scan => (2, 0),
        Row::Decompose | Row::Answer => (2, 1),
        Row::Resolve | Row::Approve | Row::ApproverCommand => (1, 1),
        // Of a run that has ended.
        Row::Triage => (2, 0),
        // The task behind the gate of which it tells.
        Row::Deliver => (1, 1),
    }
}

/// A cell that is played: it ends so, after so many calls, of which so many bring a reply that costs something.
pub struct Story {
    pub cell: Cell,
    pub end: End,
    /// How often whoever is at fault notices that it is started or asked. `None` where it cannot notice.
    pub calls: Option<usize>,
    /// How often it is tried.
    pub tries: usize,
    /// How many replies with a price come.
    pub replies: usize,
    pub class: Option<FailureClass>,
}

impl Story {
    /// All goes well.
    pub fn of(cell: Cell) -> Self {
        Self { cell, end: End::Good, calls: Some(1), tries: 1, replies: 1, class: None }
    }

    /// It fails so every time it is tried.
    pub fn fails(self, class: FailureClass) -> Self {
        let tries = 1 + self.retries(class);
        Self { end: End::Failed, calls: Some(tries), tries, replies: 0, class: Some(class), ..self }
    }

    /// It fails so the first time. What is not repeated has failed with it.
    pub fn fails_once(self, class: FailureClass) -> Self {
        let failed = self.fails(class);
        if failed.tries == 1 {
            return failed;
        }
        Self { end: End::Good, calls: Some(2), tries: 2, replies: 1, ..failed }
    }

    /// Its program is not there, or its server. Nothing has begun, so a turn or a command is started once more: nobody
    /// outside can count that.
    pub fn never_starts(self) -> Self {
        let class = match self.cell.transport {
            Transport::Command => FailureClass::Unknown,
            Transport::Http => FailureClass::ProviderTransient,
        };
        let tries = match (self.cell.transport, self.cell.row.kind()) {
            // A process that never came to be is no request.
            (Transport::Command, _) => 0,
            (Transport::Http, Kind::Turn) => 2,
            (Transport::Http, _) => 1 + self.retries(class),
        };
        Self { calls: None, tries, ..self.fails(class) }
    }

    /// What comes means nothing, however often it is asked for.
    pub fn says_nothing(self) -> Self {
        let times = 1 + policy(self.cell.row).reprompts;
        Self { end: End::Unread, calls: Some(times), tries: times, replies: times, ..self }
    }

    /// It says no.
    pub fn refuses(self) -> Self {
        Self { end: End::No, ..self }
    }

    /// It is out when the session dies, and is done once more.
    pub fn repeated(self) -> Self {
        Self { calls: Some(2), tries: 2, ..self }
    }

    /// There is no budget for it.
    pub fn held(self, status: &'static str) -> Self {
        Self { end: End::Held(status), calls: Some(0), tries: 0, replies: 0, ..self }
    }

    /// Its task is called off while it is out. What it says then is refused, and paid for.
    pub fn dropped(self) -> Self {
        Self { end: End::Dropped, ..self }
    }

    /// How often a request that failed so is made again.
    fn retries(&self, class: FailureClass) -> usize {
        // A delivery has three tries, whatever is wrong.
        let kind = self.cell.row.kind();
        let may_pass = class.request_retried() || kind == Kind::Deliver;
        match (may_pass, kind, self.cell.transport) {
            (false, ..) => 0,
            // The turn is not repeated, but within it the request to a model is one like every other.
            (true, Kind::Turn, Transport::Http) => 3,
            (true, ..) => policy(self.cell.row).retries,
        }
    }

    pub fn into_case(self) -> Case {
        let (row, kind) = (self.cell.row, self.cell.row.kind());
        let (exit, status) = consequence(row, self.end);
        let (before, after) = other_requests(row);
        let goes_on = self.end == End::Good || kind == Kind::Deliver;
        // Beside work that is called off something else keeps the run alive.
        let aside = usize::from(self.end == End::Dropped);
        let others = before + aside + if goes_on { after } else { 0 };
        let (own, replies) = if kind.is_request() { (self.tries, self.replies) } else { (0, 0) };
        // A command has no class: its exit is its word. What is asked about a request is on no record.
        let has_class = matches!(kind, Kind::Turn | Kind::Ask | Kind::Deliver);
        Case::Played(Expected {
            exit,
            status,
            calls: self.calls,
            class: self.class.filter(|_| has_class),
            letter: policy(row).letter.filter(|_| self.end == End::Failed),
            charge: (kind != Kind::Triage).then(|| (others + own, priced(replies))),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than ten")]
fn priced(replies: usize) -> f64 {
    COST * replies as f64
}
