//! What a run's ledger holds after every kind of event, and whom that leaves room for.

mod room;

use std::fmt::Write as _;
use std::sync::Arc;

use crate::domain::{
    Advice, AgentId, ConsultId, Digest, FailureClass, Millis, Money, Purpose, TaskId, Timestamp, TurnId,
};
use crate::engine::ledger::{CallId, Room};
use crate::engine::{
    Ceiling, Event, Exit, FileRef, Ledger, Overshoot, ReplyRef, SeatId, SeatResult, ToolLedgerRef, Usage,
    Used,
};
use crate::mission::Plan;
use crate::mission::model::Budget;

use super::simulation::{options, plan_of};

/// A provider, a command with a highest price, one without, and echo: a task each, in this order.
const MISSION: &str = "name: m
settings: {evaluate: false}
agents:
  m: {adapter: ollama, model: small, maxTokens: 40, maxCostPerTurn: 0.5}
  c: {run: [/bin/true], maxCostPerTurn: 0.25}
  u: {run: [/bin/true]}
  e: {adapter: echo}
tasks:
  - {title: by m, assignTo: m}
  - {title: by c, assignTo: c}
  - {title: by u, assignTo: u}
  - {title: by e, assignTo: e}
";
const M: u32 = 0;
const C: u32 = 1;
const U: u32 = 2;
const E: u32 = 3;

/// A ledger and what became of it, event by event.
struct Book {
    plan: Arc<Plan>,
    ledger: Ledger,
    text: String,
}

impl Book {
    fn with(budget: Budget) -> Self {
        let mut plan = plan_of(MISSION, &options());
        Arc::make_mut(&mut plan).rules.budget = budget;
        Self {
            plan,
            ledger: Ledger::default(),
            text: String::new(),
        }
    }

    /// Follows an event and tells all that the ledger holds then.
    fn note(&mut self, what: &str, event: &Event) {
        self.ledger.follow(&self.plan, event);
        let held = format!("{:?}", self.ledger);
        let held: Vec<&str> = held.split(", ").filter(|part| !is_empty(part)).collect();
        let _ = writeln!(self.text, "{what}\n    {}", held.join(", "));
    }

    /// Follows an event and tells for whom there is room then.
    fn rooms(&mut self, what: &str, event: &Event) {
        self.ledger.follow(&self.plan, event);
        let _ = write!(self.text, "{what:32}");
        for agent in [M, C, U, E] {
            let room = match self.ledger.room(&self.plan, AgentId(agent)) {
                Room::Exhausted(ceiling) => format!("{ceiling:?}"),
                other => format!("{other:?}"),
            };
            let _ = write!(self.text, " {room:28}");
        }
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
    }
}

fn is_empty(part: &str) -> bool {
    [": None", ": {}", ": 0", ": Money(0)", ": Millis(0)"]
        .iter()
        .any(|empty| part.ends_with(empty))
}

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

fn turn_id(task: u32) -> TurnId {
    TurnId {
        task: TaskId(task),
        attempt: 1,
        turn: 1,
    }
}

fn seat_id(seat: u32) -> SeatId {
    SeatId {
        attempt: 1,
        round: 1,
        seat,
        attempt_try: 1,
    }
}

fn consult_id(number: u32) -> ConsultId {
    ConsultId {
        task: TaskId(0),
        number,
        attempt_try: 1,
    }
}

fn used(input: Option<u64>, output: Option<u64>, cost: Option<&str>) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        cost: cost.map(money),
    }
}

fn starts(task: u32) -> Event {
    Event::TurnStarted {
        turn: turn_id(task),
        prompt: None,
    }
}

fn spawned(task: u32) -> Event {
    Event::AgentSpawned {
        turn: turn_id(task),
        process: None,
    }
}

fn request_failed(task: u32) -> Event {
    Event::TurnRequestFailed {
        turn: turn_id(task),
        class: FailureClass::RateLimited,
        message: String::new(),
        not_before: Timestamp(9),
        of: 4,
    }
}

fn finished(task: u32, failure: Option<FailureClass>, usage: Usage) -> Event {
    Event::TurnFinished {
        turn: turn_id(task),
        exit: Exit {
            failure,
            ..Exit::default()
        },
        output: None,
        stderr: None,
        result: None,
        duration: Millis(1),
        usage,
        model: None,
        files: None,
        tool_calls: None,
        tools: None,
        asked: None,
    }
}

fn lost(task: u32) -> Event {
    Event::TurnLost { turn: turn_id(task) }
}

fn seat(seat: u32, agent: u32) -> Event {
    Event::SeatRequested {
        task: TaskId(0),
        seat: seat_id(seat),
        agent: AgentId(agent),
        strict: None,
        not_before: None,
    }
}

fn reply(usage: Usage) -> ReplyRef {
    ReplyRef {
        file: FileRef {
            len: 1,
            digest: Digest::of(b"r"),
        },
        model: None,
        usage,
        judgement: None,
        tools: None,
    }
}

fn replied(seat: u32, usage: Usage) -> Event {
    Event::SeatReplied {
        task: TaskId(0),
        seat: seat_id(seat),
        reply: reply(usage),
        result: SeatResult::Unparsed {
            why: String::new(),
            excerpt: String::new(),
        },
    }
}

fn seat_failed(seat: u32, class: FailureClass) -> Event {
    Event::SeatFailed {
        task: TaskId(0),
        seat: seat_id(seat),
        class,
        message: String::new(),
        used: None,
        until: None,
    }
}

fn consult(number: u32, agent: u32) -> Event {
    Event::ConsultRequested {
        id: consult_id(number),
        purpose: Purpose::Answer,
        agent: AgentId(agent),
        not_before: None,
    }
}

fn advised(number: u32, usage: Usage) -> Event {
    Event::ConsultReplied {
        id: consult_id(number),
        reply: reply(usage),
        advice: Advice::NoAnswer,
    }
}

fn consult_failed(number: u32, class: FailureClass) -> Event {
    Event::ConsultFailed {
        id: consult_id(number),
        gave_up: false,
        class,
        message: String::new(),
        used: None,
        until: None,
    }
}

fn held(call: CallId, agent: u32) -> Event {
    Event::CallHeld {
        call,
        agent: AgentId(agent),
    }
}

#[test]
fn what_turns_leave_in_the_ledger() {
    let known = used(Some(30), Some(7), Some("0.1"));
    let mut book = Book::with(Budget::default());
    book.note("a turn is decided", &starts(M));
    book.note("it became a request", &spawned(M));
    book.note("which failed", &request_failed(M));
    book.note("nothing fails twice", &request_failed(M));
    book.note("another was made", &spawned(M));
    book.note("and told all", &finished(M, None, known));
    book.note("what is not out does not end", &finished(M, None, known));
    book.note("nor is it lost", &lost(M));
    book.note("a command's turn", &starts(C));
    book.note("a second beside it", &starts(U));
    book.note(
        "ends, its beginning not on record, on its own word",
        &finished(C, None, known),
    );
    book.note("the other came to be", &spawned(U));
    book.note(
        "and says nothing of what it used",
        &finished(U, None, Usage::default()),
    );
    book.note("echo", &starts(E));
    book.note(
        "costs nothing",
        &finished(E, None, used(Some(1), Some(0), Some("0"))),
    );
    insta::assert_snapshot!(book.text);
}

#[test]
fn what_turns_that_fail_leave_in_the_ledger() {
    let unknown = Usage::default();
    let mut book = Book::with(Budget::default());
    for (what, task, reached, failure, usage) in [
        ("a provider refuses", M, true, FailureClass::RateLimited, unknown),
        ("a provider goes silent", M, true, FailureClass::Timeout, unknown),
        (
            "a provider fails in mid-reply, and tells",
            M,
            true,
            FailureClass::Unknown,
            used(Some(3), None, None),
        ),
        ("nobody was reached", M, false, FailureClass::Timeout, unknown),
        ("no process came to be", C, false, FailureClass::Unknown, unknown),
        (
            "none came to be that yet tells",
            C,
            false,
            FailureClass::Unknown,
            used(None, Some(2), None),
        ),
        ("a command fails", C, true, FailureClass::RateLimited, unknown),
        ("echo fails", E, true, FailureClass::Timeout, unknown),
    ] {
        book.ledger.follow(&book.plan, &starts(task));
        if reached {
            book.ledger.follow(&book.plan, &spawned(task));
        }
        book.note(what, &finished(task, Some(failure), usage));
    }
    for (what, reached) in [
        ("a turn that never began is lost", false),
        ("one that had begun is lost", true),
    ] {
        book.ledger.follow(&book.plan, &starts(C));
        if reached {
            book.ledger.follow(&book.plan, &spawned(C));
        }
        book.note(what, &lost(C));
    }
    book.ledger.follow(&book.plan, &starts(U));
    book.ledger.follow(&book.plan, &spawned(U));
    book.note("so is one without a highest price", &lost(U));
    insta::assert_snapshot!(book.text);
}

#[test]
fn what_calls_of_reviewers_and_consulted_agents_leave_in_the_ledger() {
    let known = used(Some(30), Some(7), Some("0.1"));
    let mut book = Book::with(Budget::default());
    book.note("a seat of the provider", &seat(0, M));
    book.note("a seat of the command", &seat(1, C));
    book.note("the first replies", &replied(0, known));
    book.note("the second tells half", &replied(1, used(Some(5), None, None)));
    book.note("again a seat", &seat(2, M));
    book.note("refused", &seat_failed(2, FailureClass::ProviderAuth));
    book.note("again a seat", &seat(3, M));
    book.note("silent", &seat_failed(3, FailureClass::Timeout));
    book.note("a failure of nobody", &seat_failed(4, FailureClass::Timeout));
    book.note("a consult", &consult(1, C));
    book.note("another", &consult(2, U));
    book.note("replied", &advised(1, known));
    book.note("failed", &consult_failed(2, FailureClass::Unknown));
    book.note("a failure of nobody", &consult_failed(3, FailureClass::Unknown));
    book.note("a seat", &seat(5, M));
    book.note("without room", &held(CallId::seat(TaskId(0), seat_id(5)), M));
    book.note(
        "has room",
        &Event::CallReleased {
            call: CallId::seat(TaskId(0), seat_id(5)),
        },
    );
    book.note("is asked again: what was out is lost", &seat(5, M));
    book.note("without room", &held(CallId::seat(TaskId(0), seat_id(5)), M));
    book.note("and asked all the same", &seat(5, M));
    book.note("a turn without room", &held(CallId::turn(turn_id(C)), C));
    book.note(
        "has room, and is yet to start",
        &Event::CallReleased {
            call: CallId::turn(turn_id(C)),
        },
    );
    book.note(
        "what was not held is not released",
        &Event::CallReleased {
            call: CallId::turn(turn_id(U)),
        },
    );
    book.note("a turn without room", &held(CallId::turn(turn_id(C)), C));
    book.note("ends before it begins", &lost(C));
    book.note(
        "the clock",
        &Event::BudgetClock {
            since: Timestamp(5),
            used: Millis(7),
            until: Timestamp(50),
        },
    );
    book.note(
        "the end",
        &Event::LimitReached {
            ceiling: Ceiling::Time,
        },
    );
    insta::assert_snapshot!(book.text);
}

#[test]
fn tokens_that_nobody_told_are_not_counted_and_what_is_beyond_a_ceiling_is() {
    let mut book = Book::with(Budget {
        max_tokens: Some(10),
        max_requests: Some(1),
        ..Budget::default()
    });
    let counted = |book: &Book| book.ledger.spent().counted_tokens();
    let beyond = |book: &Book| {
        let over = book.ledger.overshoot(&book.plan);
        (over.tokens, over.requests)
    };
    assert_eq!((counted(&book), beyond(&book)), (0, (None, None)));
    for event in [seat(0, M), replied(0, used(Some(10), None, None))] {
        book.ledger.follow(&book.plan, &event);
    }
    assert_eq!((counted(&book), beyond(&book)), (10, (None, None)));
    for event in [seat(1, M), replied(1, used(None, Some(27), None))] {
        book.ledger.follow(&book.plan, &event);
    }
    assert_eq!((counted(&book), beyond(&book)), (37, (Some(27), Some(1))));
    let mut silent = Book::with(Budget::default());
    for event in [seat(0, M), replied(0, used(None, Some(3), None))] {
        silent.ledger.follow(&silent.plan, &event);
    }
    assert_eq!(counted(&silent), 3);
}

#[test]
fn what_is_over_a_ceiling_is_told_to_the_last_token() {
    let over = |cost: &str, tokens: u64| {
        let mut book = Book::with(Budget {
            max_cost: Some(money(cost)),
            max_tokens: Some(tokens),
            max_requests: Some(1),
            ..Budget::default()
        });
        for event in [seat(0, M), replied(0, used(Some(30), Some(7), Some("0.75")))] {
            book.ledger.follow(&book.plan, &event);
        }
        let over = book.ledger.overshoot(&book.plan);
        let Overshoot {
            cost,
            tokens,
            requests,
        } = over;
        assert_eq!(requests, None);
        assert_eq!(over.is_none(), (cost, tokens) == (None, None));
        (cost, tokens)
    };
    assert_eq!(over("0.75", 37), (None, None));
    assert_eq!(over("0.5", 36), (Some(money("0.25")), Some(1)));
    assert_eq!(over("0.74", 40), (Some(money("0.01")), None));
}

/// A record of this many requests, answered and made in vain.
fn made(requests: u32, unanswered: u32) -> Option<Box<ToolLedgerRef>> {
    Some(Box::new(ToolLedgerRef {
        requests,
        unanswered,
        ..ToolLedgerRef::default()
    }))
}

fn finished_with(task: u32, failure: Option<FailureClass>, made: Option<Box<ToolLedgerRef>>) -> Event {
    let mut event = finished(task, failure, Usage::default());
    if let Event::TurnFinished { tools, .. } = &mut event {
        *tools = made;
    }
    event
}

#[test]
fn every_request_of_a_conversation_counts_and_what_is_beyond_the_ceiling_is_told() {
    let over = |most: u64, event: Event| {
        let mut book = Book::with(Budget {
            max_requests: Some(most),
            ..Budget::default()
        });
        for event in [starts(M), spawned(M), event] {
            book.ledger.follow(&book.plan, &event);
        }
        book.ledger.overshoot(&book.plan).requests
    };
    assert_eq!(over(10, finished_with(M, None, made(10, 0))), None);
    assert_eq!(over(10, finished_with(M, None, made(9, 2))), Some(1));
    // The request that failed is one, of a turn as of a reviewer.
    let failed = Some(FailureClass::Unknown);
    assert_eq!(over(3, finished_with(M, failed, made(2, 1))), None);
    assert_eq!(over(2, finished_with(M, failed, made(2, 1))), Some(1));
    let seat_used = |made: Option<Box<ToolLedgerRef>>| {
        let mut book = Book::with(Budget::default());
        let mut event = seat_failed(0, FailureClass::Unknown);
        if let Event::SeatFailed { used, .. } = &mut event {
            *used = made.map(|tools| {
                Box::new(Used {
                    usage: Usage::default(),
                    tools: *tools,
                })
            });
        }
        for event in [seat(0, M), event] {
            book.ledger.follow(&book.plan, &event);
        }
        book.ledger.spent().requests
    };
    assert_eq!(seat_used(made(2, 1)), 3);
    assert_eq!(seat_used(made(2, 0)), 2, "its reply could not be kept");
    assert_eq!(seat_used(None), 1);
}

#[test]
fn a_turn_that_was_answered_and_failed_without_telling_its_usage_is_not_free() {
    let untold = |made: Option<Box<ToolLedgerRef>>| {
        let mut book = Book::with(Budget {
            max_tokens: Some(1_000),
            ..Budget::default()
        });
        let failed = finished_with(M, Some(FailureClass::ProviderTransient), made);
        for event in [starts(M), spawned(M), failed] {
            book.ledger.follow(&book.plan, &event);
        }
        let room = book.ledger.room(&book.plan, AgentId(C));
        (book.ledger.spent().untold, book.ledger.spent().charged, room)
    };
    let unknown = Room::Exhausted(Ceiling::UnknownTokens(AgentId(M)));
    assert_eq!(untold(made(3, 1)), (1, money("0.5"), unknown));
    assert_eq!(untold(made(1, 0)), (1, money("0.5"), unknown));
    assert_eq!(untold(made(0, 4)), (0, money("0"), Room::Fits));
    assert_eq!(untold(None), (0, money("0"), Room::Fits));
}

#[test]
fn requests_in_vain_are_written_where_there_were_any() {
    let written = |unanswered| serde_json::to_string(&*made(1, unanswered).unwrap()).unwrap();
    assert!(!written(0).contains("\"u\""), "{}", written(0));
    assert!(written(1).contains("\"u\":1"), "{}", written(1));
    assert!(written(2).contains("\"u\":2"), "{}", written(2));
}
