//! What each kind of event leaves in the ledger.

use super::*;
use crate::engine::event::BudgetEvent;

#[test]
fn what_turns_leave_in_the_ledger() {
    let known = used(Some(30), Some(7), Some("0.1"));
    let mut book = Book::with(Budget::default());
    book.note("a turn is decided", &starts(M), "0 requests, 0 untold, ?+? tokens, ?, $0.00 charged, $0.00 claimed; requests 1/2; tokens 2/4; quarters 2/4; 1 known");
    book.note("it became a request", &spawned(M), "1 requests, 0 untold, ?+? tokens, ?, $0.00 charged, $0.00 claimed; requests -/2; tokens 2/4; quarters 2/4; 1 known");
    book.note("which failed", &request_failed(M), "1 requests, 0 untold, ?+? tokens, ?, $0.00 charged, $0.00 claimed; requests 2/3; tokens 2/4; quarters 2/4; 1 known");
    book.note("nothing fails twice", &request_failed(M), "1 requests, 0 untold, ?+? tokens, ?, $0.00 charged, $0.00 claimed; requests 2/3; tokens 2/4; quarters 2/4; 1 known");
    book.note("another was made", &spawned(M), "2 requests, 0 untold, ?+? tokens, ?, $0.00 charged, $0.00 claimed; requests -/3; tokens 2/4; quarters 2/4; 1 known");
    book.note("and told all", &finished(M, None, known), "2 requests, 0 untold, 30+7 tokens, $0.10, $0.00 charged, $0.00 claimed; requests -/3; tokens -/4; quarters -/3; 0 known");
    book.note("what is not out does not end", &finished(M, None, known), "2 requests, 0 untold, 30+7 tokens, $0.10, $0.00 charged, $0.00 claimed; requests -/3; tokens -/4; quarters -/3; 0 known");
    book.note("nor is it lost", &lost(M), "2 requests, 0 untold, 30+7 tokens, $0.10, $0.00 charged, $0.00 claimed; requests -/3; tokens -/4; quarters -/3; 0 known");
    book.note("a command's turn", &starts(C), "2 requests, 0 untold, 30+7 tokens, $0.10, $0.00 charged, $0.00 claimed; requests 3/4; tokens -/4; quarters 3/4; 1 known");
    book.note("a second beside it", &starts(U), "2 requests, 0 untold, 30+7 tokens, $0.10, $0.00 charged, $0.00 claimed; requests 3/5; tokens -/4; quarters 3/4; 2 known");
    book.note(
        "ends, its beginning not on record, on its own word",
        &finished(C, None, known),
        "3 requests, 0 untold, 60+14 tokens, $0.20, $0.00 charged, $0.10 claimed; requests 4/5; tokens -/6; quarters -/3; 1 known",
    );
    book.note("the other came to be", &spawned(U), "4 requests, 0 untold, 60+14 tokens, $0.20, $0.00 charged, $0.10 claimed; requests -/5; tokens -/6; quarters -/3; 1 known");
    book.note(
        "and says nothing of what it used",
        &finished(U, None, Usage::default()),
        "4 requests, 1 untold, 60+14 tokens, $0.20, $0.00 charged, $0.10 claimed; requests -/5; tokens -/-; quarters -/-; 0 known",
    );
    book.note("echo", &starts(E), "4 requests, 1 untold, 60+14 tokens, $0.20, $0.00 charged, $0.10 claimed; requests 5/6; tokens -/-; quarters -/-; 1 known");
    book.note(
        "costs nothing",
        &finished(E, None, used(Some(1), Some(0), Some("0"))),
        "5 requests, 1 untold, 61+14 tokens, $0.20, $0.00 charged, $0.10 claimed; requests -/6; tokens -/-; quarters -/-; 0 known",
    );
}

#[test]
fn what_turns_that_fail_leave_in_the_ledger() {
    let unknown = Usage::default();
    let mut book = Book::with(Budget::default());
    for (what, task, reached, failure, usage, expected) in [
        (
            "a provider refuses",
            M,
            true,
            FailureClass::RateLimited,
            unknown,
            "1 requests, 0 untold, ?+? tokens, ?, $0.00 charged, $0.00 claimed; requests -/2; tokens -/2; quarters -/2; 0 known",
        ),
        (
            "a provider goes silent",
            M,
            true,
            FailureClass::Timeout,
            unknown,
            "2 requests, 1 untold, ?+? tokens, ?, $0.50 charged, $0.00 claimed; requests -/3; tokens -/-; quarters -/4; 0 known",
        ),
        (
            "a provider fails in mid-reply, and tells",
            M,
            true,
            FailureClass::Unknown,
            used(Some(3), None, None),
            "3 requests, 2 untold, 3+? tokens, ?, $1.00 charged, $0.00 claimed; requests -/4; tokens -/-; quarters -/6; 0 known",
        ),
        (
            "nobody was reached",
            M,
            false,
            FailureClass::Timeout,
            unknown,
            "3 requests, 2 untold, 3+? tokens, ?, $1.00 charged, $0.00 claimed; requests -/4; tokens -/-; quarters -/6; 0 known",
        ),
        (
            "no process came to be",
            C,
            false,
            FailureClass::Unknown,
            unknown,
            "3 requests, 2 untold, 3+? tokens, ?, $1.00 charged, $0.00 claimed; requests -/4; tokens -/-; quarters -/6; 0 known",
        ),
        (
            "none came to be that yet tells",
            C,
            false,
            FailureClass::Unknown,
            used(None, Some(2), None),
            "4 requests, 3 untold, 3+2 tokens, ?, $1.25 charged, $0.00 claimed; requests -/5; tokens -/-; quarters -/7; 0 known",
        ),
        (
            "a command fails",
            C,
            true,
            FailureClass::RateLimited,
            unknown,
            "5 requests, 4 untold, 3+2 tokens, ?, $1.50 charged, $0.00 claimed; requests -/6; tokens -/-; quarters -/8; 0 known",
        ),
        (
            "echo fails",
            E,
            true,
            FailureClass::Timeout,
            unknown,
            "6 requests, 4 untold, 3+2 tokens, ?, $1.50 charged, $0.00 claimed; requests -/7; tokens -/-; quarters -/8; 0 known",
        ),
    ] {
        book.ledger.follow(&book.plan, &starts(task));
        if reached {
            book.ledger.follow(&book.plan, &spawned(task));
        }
        book.note(what, &finished(task, Some(failure), usage), expected);
    }
    for (what, reached, expected) in [
        (
            "a turn that never began is lost",
            false,
            "6 requests, 4 untold, 3+2 tokens, ?, $1.50 charged, $0.00 claimed; requests -/7; tokens -/-; quarters -/8; 0 known",
        ),
        (
            "one that had begun is lost",
            true,
            "7 requests, 5 untold, 3+2 tokens, ?, $1.75 charged, $0.00 claimed; requests -/8; tokens -/-; quarters -/9; 0 known",
        ),
    ] {
        book.ledger.follow(&book.plan, &starts(C));
        if reached {
            book.ledger.follow(&book.plan, &spawned(C));
        }
        book.note(what, &lost(C), expected);
    }
    book.ledger.follow(&book.plan, &starts(U));
    book.ledger.follow(&book.plan, &spawned(U));
    book.note("so is one without a highest price", &lost(U), "8 requests, 6 untold, 3+2 tokens, ?, $1.75 charged, $0.00 claimed; requests -/9; tokens -/-; quarters -/-; 0 known");
}

#[test]
fn what_calls_of_reviewers_and_of_others_who_are_asked_leave_in_the_ledger() {
    let known = used(Some(30), Some(7), Some("0.1"));
    let mut book = Book::with(Budget::default());
    book.note("a seat of the provider", &seat(0, M), "1 requests, 0 untold, ?+? tokens, ?, $0.00 charged, $0.00 claimed; requests -/2; tokens 2/4; quarters 2/4; 1 known");
    book.note("a seat of the command", &seat(1, C), "2 requests, 0 untold, ?+? tokens, ?, $0.00 charged, $0.00 claimed; requests -/3; tokens 2/4; quarters 2/5; 2 known");
    book.note("the first replies", &replied(0, known), "2 requests, 0 untold, 30+7 tokens, $0.10, $0.00 charged, $0.00 claimed; requests -/3; tokens -/4; quarters 3/4; 1 known");
    book.note(
        "the second tells half",
        &replied(1, used(Some(5), None, None)),
        "2 requests, 1 untold, 35+7 tokens, $0.10, $0.25 charged, $0.00 claimed; requests -/3; tokens -/-; quarters -/4; 0 known",
    );
    book.note("again a seat", &seat(2, M), "3 requests, 1 untold, 35+7 tokens, $0.10, $0.25 charged, $0.00 claimed; requests -/4; tokens -/-; quarters 4/6; 1 known");
    book.note("refused", &seat_failed(2, FailureClass::ProviderAuth), "3 requests, 1 untold, 35+7 tokens, $0.10, $0.25 charged, $0.00 claimed; requests -/4; tokens -/-; quarters -/4; 0 known");
    book.note("again a seat", &seat(3, M), "4 requests, 1 untold, 35+7 tokens, $0.10, $0.25 charged, $0.00 claimed; requests -/5; tokens -/-; quarters 4/6; 1 known");
    book.note("silent", &seat_failed(3, FailureClass::Timeout), "4 requests, 2 untold, 35+7 tokens, $0.10, $0.75 charged, $0.00 claimed; requests -/5; tokens -/-; quarters -/6; 0 known");
    book.note(
        "a failure of nobody",
        &seat_failed(4, FailureClass::Timeout),
        "4 requests, 2 untold, 35+7 tokens, $0.10, $0.75 charged, $0.00 claimed; requests -/5; tokens -/-; quarters -/6; 0 known",
    );
    book.note("an ask", &ask(1, C), "5 requests, 2 untold, 35+7 tokens, $0.10, $0.75 charged, $0.00 claimed; requests -/6; tokens -/-; quarters 6/7; 1 known");
    book.note("another", &ask(2, U), "6 requests, 2 untold, 35+7 tokens, $0.10, $0.75 charged, $0.00 claimed; requests -/7; tokens -/-; quarters 6/7; 2 known");
    book.note("replied", &answered(1, known), "6 requests, 2 untold, 65+14 tokens, $0.20, $0.75 charged, $0.00 claimed; requests -/7; tokens -/-; quarters -/6; 1 known");
    book.note("failed", &ask_failed(2, FailureClass::Unknown), "6 requests, 3 untold, 65+14 tokens, $0.20, $0.75 charged, $0.00 claimed; requests -/7; tokens -/-; quarters -/-; 0 known");
    book.note(
        "a failure of nobody",
        &ask_failed(3, FailureClass::Unknown),
        "6 requests, 3 untold, 65+14 tokens, $0.20, $0.75 charged, $0.00 claimed; requests -/7; tokens -/-; quarters -/-; 0 known",
    );
    book.note("a seat", &seat(5, M), "7 requests, 3 untold, 65+14 tokens, $0.20, $0.75 charged, $0.00 claimed; requests -/8; tokens -/-; quarters -/-; 1 known");
    book.note(
        "without room",
        &held(WorkId::ask(seat_id(5)), M),
        "6 requests, 3 untold, 65+14 tokens, $0.20, $0.75 charged, $0.00 claimed; requests -/7; tokens -/-; quarters -/-; 1 known, of t0 held",
    );
    book.note(
        "has room",
        &Event::Budget(BudgetEvent::Held {
            call: WorkId::ask(seat_id(5)), agent: AgentId(0), released: true }),
        "7 requests, 3 untold, 65+14 tokens, $0.20, $0.75 charged, $0.00 claimed; requests -/8; tokens -/-; quarters -/-; 1 known",
    );
    book.note("is asked again: what was out is lost", &seat(5, M), "8 requests, 4 untold, 65+14 tokens, $0.20, $1.25 charged, $0.00 claimed; requests -/9; tokens -/-; quarters -/-; 1 known");
    book.note(
        "without room",
        &held(WorkId::ask(seat_id(5)), M),
        "7 requests, 4 untold, 65+14 tokens, $0.20, $1.25 charged, $0.00 claimed; requests -/8; tokens -/-; quarters -/-; 1 known, of t0 held",
    );
    book.note("and asked all the same", &seat(5, M), "8 requests, 4 untold, 65+14 tokens, $0.20, $1.25 charged, $0.00 claimed; requests -/9; tokens -/-; quarters -/-; 1 known");
    book.note("a turn without room", &held(WorkId::turn(turn_id(C)), C), "8 requests, 4 untold, 65+14 tokens, $0.20, $1.25 charged, $0.00 claimed; requests -/9; tokens -/-; quarters -/-; 2 known, of t1 held");
    book.note(
        "has room, and is yet to start",
        &Event::Budget(BudgetEvent::Held {
            call: WorkId::turn(turn_id(C)), agent: AgentId(0), released: true }),
        "8 requests, 4 untold, 65+14 tokens, $0.20, $1.25 charged, $0.00 claimed; requests -/9; tokens -/-; quarters -/-; 1 known",
    );
    book.note(
        "what was not held is not released",
        &Event::Budget(BudgetEvent::Held {
            call: WorkId::turn(turn_id(U)), agent: AgentId(0), released: true }),
        "8 requests, 4 untold, 65+14 tokens, $0.20, $1.25 charged, $0.00 claimed; requests -/9; tokens -/-; quarters -/-; 1 known",
    );
    book.note("a turn without room", &held(WorkId::turn(turn_id(C)), C), "8 requests, 4 untold, 65+14 tokens, $0.20, $1.25 charged, $0.00 claimed; requests -/9; tokens -/-; quarters -/-; 2 known, of t1 held");
    book.note("ends before it begins", &lost(C), "8 requests, 4 untold, 65+14 tokens, $0.20, $1.25 charged, $0.00 claimed; requests -/9; tokens -/-; quarters -/-; 1 known");
    book.note(
        "the clock",
        &Event::Budget(BudgetEvent::Clock {
            since: Timestamp(5),
            used: Millis(7),
            until: Timestamp(50) }),
        "8 requests, 4 untold, 65+14 tokens, $0.20, $1.25 charged, $0.00 claimed; requests -/9; tokens -/-; quarters -/-; 1 known, 7 ms since 5",
    );
    book.note(
        "the end",
        &Event::Budget(BudgetEvent::Exhausted {
            ceiling: Ceiling::Time }),
        "8 requests, 4 untold, 65+14 tokens, $0.20, $1.25 charged, $0.00 claimed; requests -/-; tokens -/-; quarters -/-; 1 known, maxTime, 7 ms since 5",
    );
}

#[test]
fn what_a_lost_call_was_charged_is_given_back_when_it_is_settled() {
    let mut book = Book::with(Budget::default());
    for event in [starts(M), spawned(M), lost(M)] {
        book.ledger.follow(&book.plan, &event);
    }
    assert_eq!(book.ledger.spent().charged, money("0.5"), "the most that it may cost");
    let settled = BudgetEvent::Settled {
        call: WorkId::turn(turn_id(M)),
        usage: used(Some(3), Some(4), Some("0.1")),
        requests: 0,
    };
    book.ledger.follow(&book.plan, &Event::Budget(settled));
    assert_eq!(book.ledger.spent().charged, Money::ZERO);
}
