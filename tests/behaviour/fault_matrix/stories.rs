//! The columns of the matrix, for each family of rows.

use rules::domain::FailureClass;

use super::cells::{Cell, Fault, Kind, Row, Transport};
use super::expected::{Case, End, Story};

const NO_PROVIDER: &str = "no provider is behind a command, so none answers 401 or 429";
const NO_FORM: &str = "nothing is read from what it prints: its exit code is its word";
const FREE: &str = "it costs nothing, so no budget holds it";
const OURS: &str = "it is this program that looks, in one go: nobody is started, answers or is paid";
const NO_FILE: &str = "what a server replies stands in no file before it is whole";
const OF_THE_RUN: &str = "it belongs to the run, so nobody can call it off";

/// What a cell must come to.
pub fn case(cell: Cell) -> Case {
    match cell.row.kind() {
        Kind::Turn => of_turn(cell),
        Kind::Ask => of_ask(cell),
        Kind::Triage => of_triage(cell),
        Kind::Command => of_command(cell),
        Kind::Scan => of_scan(cell),
        Kind::Deliver => of_delivery(cell),
    }
}

fn of_turn(cell: Cell) -> Case {
    let story = Story::of(cell);
    let is_command = cell.transport == Transport::Command;
    match cell.fault {
        Fault::CannotStart => story.never_starts(),
        Fault::Auth => story.fails(FailureClass::ProviderAuth),
        Fault::BusyOnce => story.fails_once(FailureClass::RateLimited),
        // The time is that of the turn: when it is over, nothing is left to repeat.
        Fault::TimeOut => Story { calls: Some(1), tries: 1, ..story.fails(FailureClass::Timeout) },
        // What a worker says is its work, whatever it is.
        Fault::Prose | Fault::Garbage | Fault::Secret | Fault::NoFolder => story,
        Fault::OutputLost if is_command => Story { replies: 1, ..story.fails(FailureClass::Unknown) },
        Fault::OutputLost => return Case::Impossible(NO_FILE),
        // A process is taken over, a request is lost.
        Fault::Killed if is_command => story,
        Fault::Killed => story.repeated(),
        Fault::NoBudget => story.held("pending"),
        Fault::Late if is_command => story.dropped(),
        // Its request is ended with it, so nobody ever says what it cost.
        Fault::Late => Story { replies: 0, ..story.dropped() },
    }
    .into_case()
}

fn of_ask(cell: Cell) -> Case {
    let story = Story::of(cell);
    match cell.fault {
        Fault::CannotStart => story.never_starts(),
        Fault::Auth => story.fails(FailureClass::ProviderAuth),
        Fault::BusyOnce => story.fails_once(FailureClass::RateLimited),
        Fault::TimeOut => story.fails(FailureClass::Timeout),
        Fault::Prose => story,
        Fault::Garbage => story.says_nothing(),
        Fault::OutputLost if cell.transport == Transport::Http => return Case::Impossible(NO_FILE),
        Fault::OutputLost => Story { replies: 1, ..story.fails(FailureClass::Unknown) },
        Fault::Secret => story.fails_once(FailureClass::ProviderTransient),
        Fault::NoFolder if cell.row == Row::Vision => {
            return Case::Impossible(
                "the screenshots lie in the folder: without it there is nothing to look at",
            );
        }
        Fault::NoFolder => story,
        Fault::Killed => story.repeated(),
        Fault::NoBudget => story.held(match cell.row {
            Row::Resolve => "pending",
            Row::Approve => "awaiting_approval",
            Row::Confirm | Row::Answer => "in_progress",
            _ => "review",
        }),
        Fault::Late => story.dropped(),
    }
    .into_case()
}

fn of_triage(cell: Cell) -> Case {
    match cell.fault {
        Fault::NoFolder => Case::Impossible("a request has no folder of its own yet"),
        Fault::NoBudget => {
            Case::Impossible("a request is looked at before it belongs to a run, whose budget it would be")
        }
        _ => of_ask(cell),
    }
}

fn of_command(cell: Cell) -> Case {
    let story = Story::of(cell);
    match cell.fault {
        // What a criterion cannot be held against is no reason to fail the work.
        Fault::CannotStart | Fault::OutputLost if cell.row == Row::Probe => {
            Story { end: End::Unread, calls: (cell.fault == Fault::OutputLost).then_some(1), ..story }
        }
        Fault::CannotStart => story.never_starts(),
        Fault::Auth | Fault::BusyOnce => return Case::Impossible(NO_PROVIDER),
        // A metric is read: one number.
        Fault::Prose | Fault::Garbage if cell.row == Row::Check => story.refuses(),
        Fault::Prose | Fault::Garbage => return Case::Impossible(NO_FORM),
        Fault::TimeOut | Fault::OutputLost => story.fails(FailureClass::Unknown),
        // It says no, and why: the secret stands in the reason.
        Fault::Secret => story.refuses(),
        Fault::NoFolder => story,
        Fault::Killed => story.repeated(),
        Fault::NoBudget => return Case::Impossible(FREE),
        Fault::Late => story.dropped(),
    }
    .into_case()
}

fn of_scan(cell: Cell) -> Case {
    let story = Story { calls: None, ..Story::of(cell) };
    match cell.fault {
        Fault::CannotStart | Fault::Auth | Fault::BusyOnce | Fault::TimeOut => return Case::Impossible(OURS),
        Fault::Prose | Fault::Garbage => {
            return Case::Impossible("it reads sizes and digests, and what a file says is no reply");
        }
        // The file is removed behind the turn, and so is its folder.
        Fault::OutputLost | Fault::NoFolder => Story { calls: None, ..story.fails(FailureClass::Unknown) },
        Fault::Secret => story,
        Fault::Killed | Fault::Late => {
            return Case::Impossible("it waits for nobody, so nothing can come in between");
        }
        Fault::NoBudget => return Case::Impossible(FREE),
    }
    .into_case()
}

fn of_delivery(cell: Cell) -> Case {
    let story = Story::of(cell);
    match cell.fault {
        Fault::CannotStart => story.never_starts(),
        Fault::Auth => story.fails(FailureClass::ProviderAuth),
        Fault::BusyOnce => story.fails_once(FailureClass::RateLimited),
        Fault::TimeOut => story.fails(FailureClass::Timeout),
        Fault::Prose | Fault::Garbage => return Case::Impossible("what a channel answers is not read"),
        Fault::OutputLost => return Case::Impossible("what a channel prints is no word of it"),
        Fault::Secret => story.fails(FailureClass::ProviderTransient),
        Fault::NoFolder => return Case::Impossible("a channel works in the folder of the mission"),
        Fault::Killed => story.repeated(),
        Fault::NoBudget => return Case::Impossible(FREE),
        Fault::Late => return Case::Impossible(OF_THE_RUN),
    }
    .into_case()
}
