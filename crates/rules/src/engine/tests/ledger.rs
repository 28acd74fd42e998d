//! What a run's ledger holds after every kind of event, and whom that leaves room for.

mod room;
mod spent;

use std::fmt::Write as _;
use std::sync::Arc;

use crate::domain::{
    AgentId, Answer, AskId, Digest, FailureClass, Millis, Money, Purpose, SeatPlace, TaskId, Timestamp,
    TurnId,
};
use crate::engine::WorkId;
use crate::engine::ledger::CallAdmission;
use crate::engine::{
    AskEvent, BudgetEvent, Ceiling, Event, Exit, FileRef, Ledger, Overshoot, ReplyRef, Spent, ToolLedgerRef,
    TurnEvent, Usage, Used,
};
use crate::engine::{AskReply, Prompt, TurnEnd, TurnUpdate};
use crate::mission::model::Budget;
use crate::plan::Plan;

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
/// What a reviewer is asked.
const SCORE: Purpose = Purpose::Score(SeatPlace { attempt: 1, round: 1, seat: 0 });

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
        Self { plan, ledger: Ledger::default(), text: String::new() }
    }

    /// Follows an event; what the ledger says then is this.
    fn note(&mut self, what: &str, event: &Event, expected: &str) {
        self.ledger.follow(&self.plan, event);
        assert_eq!(self.told(), expected, "{what}");
    }

    /// What was spent; from which ceilings on the provider would wait for room and have it, which shows what is
    /// reserved; and what is told apart from that.
    fn told(&self) -> String {
        let spent = self.ledger.spent();
        let known = |tokens: Option<u64>| tokens.map_or("?".to_owned(), |tokens| tokens.to_string());
        let cost = spent.cost.map_or("?".to_owned(), |cost| cost.to_string());
        let Spent { requests, untold, charged, claimed, .. } = spent;
        let mut text = format!("{requests} requests, {untold} untold, ");
        let (read, written) = (known(spent.input_tokens), known(spent.output_tokens));
        let _ = write!(text, "{read}+{written} tokens, {cost}, {charged} charged, {claimed} claimed");
        let requests = self.ceilings(|n| Budget { max_requests: Some(n.into()), ..Budget::default() });
        let tokens = self.ceilings(|n| Budget { max_tokens: Some(u64::from(n) * 20), ..Budget::default() });
        let quarters = self.ceilings(|n| Budget {
            max_cost: Some(money(&(f64::from(n) * 0.25).to_string())),
            ..Budget::default()
        });
        let _ = write!(text, "; requests {requests}; tokens {tokens}; quarters {quarters}");
        let open = self.ledger.known().len();
        let held = self.ledger.held().next().map(|(call, _)| call.task.0);
        let (used, since) = self.ledger.time();
        let _ = write!(text, "; {open} known");
        if let Some(task) = held {
            let _ = write!(text, ", of t{task} held");
        }
        if let Some(limit) = self.ledger.limit() {
            let _ = write!(text, ", {}", limit.key());
        }
        if let Some(since) = since {
            let _ = write!(text, ", {} ms since {}", used.0, since.0);
        }
        text
    }

    /// The lowest ceilings with which the provider waits, and has room.
    fn ceilings(&self, budget: impl Fn(u32) -> Budget) -> String {
        let rooms = (0..40).map(|n| {
            let mut plan = self.plan.clone();
            Arc::make_mut(&mut plan).rules.budget = budget(n);
            self.ledger.room(&plan, AgentId(M), false)
        });
        let rooms: Vec<CallAdmission> = rooms.collect();
        let first = |wanted: CallAdmission| {
            let found = rooms.iter().position(|room| *room == wanted);
            found.map_or("-".to_owned(), |n| n.to_string())
        };
        format!("{}/{}", first(CallAdmission::Wait), first(CallAdmission::Admitted))
    }

    /// Follows an event and tells for whom there is room then, a letter an agent: Admitted, Waits, or the ceiling.
    fn rooms(&mut self, event: &Event) {
        self.ledger.follow(&self.plan, event);
        let letter = |agent| match self.ledger.room(&self.plan, AgentId(agent), false) {
            CallAdmission::Admitted => 'F',
            CallAdmission::Wait => 'W',
            CallAdmission::Exhausted(Ceiling::Requests) => 'r',
            CallAdmission::Exhausted(Ceiling::Cost) => 'c',
            CallAdmission::Exhausted(Ceiling::Tokens) => 't',
            CallAdmission::Exhausted(other) => panic!("{other:?}"),
        };
        let letters: String = [M, C, U, E].map(letter).iter().collect();
        self.text.push_str(&letters);
        self.text.push(' ');
    }
}

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

fn turn_id(task: u32) -> TurnId {
    TurnId { task: TaskId(task), attempt: 1, turn: 1 }
}

fn seat_id(seat: u32) -> AskId {
    AskId { task: TaskId(0), number: seat + 1, attempt_try: 1 }
}

/// Behind all reviewers.
fn ask_id(number: u32) -> AskId {
    AskId { task: TaskId(0), number: 100 + number, attempt_try: 1 }
}

fn used(input: Option<u64>, output: Option<u64>, cost: Option<&str>) -> Usage {
    Usage { input_tokens: input, output_tokens: output, cost: cost.map(money) }
}

fn starts(task: u32) -> Event {
    Event::Turn(turn_id(task), TurnEvent::Started(Prompt::default()))
}

fn spawned(task: u32) -> Event {
    Event::Turn(turn_id(task), TurnEvent::Progress(TurnUpdate::Spawned { process: None }))
}

fn request_failed(task: u32) -> Event {
    Event::Turn(
        turn_id(task),
        TurnEvent::RequestFailed {
            class: FailureClass::RateLimited,
            message: String::new(),
            not_before: Timestamp(9),
            of: 4,
            never_began: false,
        },
    )
}

fn finished(task: u32, failure: Option<FailureClass>, usage: Usage) -> Event {
    Event::Turn(
        turn_id(task),
        TurnEvent::Finished(Box::new(TurnEnd {
            exit: Exit { failure, ..Exit::default() },
            duration: Millis(1),
            usage,
            ..TurnEnd::default()
        })),
    )
}

fn lost(task: u32) -> Event {
    Event::Turn(turn_id(task), TurnEvent::Lost)
}

fn seat(seat: u32, agent: u32) -> Event {
    Event::Ask(
        seat_id(seat),
        AskEvent::Requested { purpose: SCORE, agent: AgentId(agent), strict: None, not_before: None },
    )
}

fn reply(usage: Usage) -> ReplyRef {
    ReplyRef {
        reply: FileRef { length: 1, digest: Digest::of(b"r") },
        model: None,
        usage,
        judgement: None,
        tools: None,
    }
}

fn replied(seat: u32, usage: Usage) -> Event {
    Event::Ask(
        seat_id(seat),
        AskEvent::Replied(AskReply {
            id: seat_id(seat),
            purpose: SCORE,
            agent: AgentId(0),
            reply: reply(usage),
            answer: Answer::Unreadable { why: String::new(), excerpt: String::new(), grave: false },
        }),
    )
}

fn seat_failed(seat: u32, class: FailureClass) -> Event {
    Event::Ask(
        seat_id(seat),
        AskEvent::Failed {
            purpose: SCORE,
            agent: AgentId(0),
            gave_up: true,
            class,
            message: String::new(),
            used: None,
            until: None,
            never_began: false,
        },
    )
}

fn ask(number: u32, agent: u32) -> Event {
    Event::Ask(
        ask_id(number),
        AskEvent::Requested {
            purpose: Purpose::Answer,
            agent: AgentId(agent),
            strict: None,
            not_before: None,
        },
    )
}

fn answered(number: u32, usage: Usage) -> Event {
    Event::Ask(
        ask_id(number),
        AskEvent::Replied(AskReply {
            id: ask_id(number),
            purpose: Purpose::Answer,
            agent: AgentId(0),
            reply: reply(usage),
            answer: Answer::DoesNotKnow,
        }),
    )
}

fn ask_failed(number: u32, class: FailureClass) -> Event {
    Event::Ask(
        ask_id(number),
        AskEvent::Failed {
            purpose: Purpose::Answer,
            agent: AgentId(0),
            gave_up: false,
            class,
            message: String::new(),
            used: None,
            until: None,
            never_began: false,
        },
    )
}

fn held(call: WorkId, agent: u32) -> Event {
    Event::Budget(BudgetEvent::Held { call, agent: AgentId(agent), released: false })
}

#[test]
fn tokens_that_nobody_told_are_not_counted_and_what_is_beyond_a_ceiling_is() {
    let mut book = Book::with(Budget { max_tokens: Some(10), max_requests: Some(1), ..Budget::default() });
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
        let Overshoot { cost, tokens, requests } = over;
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
    Some(Box::new(ToolLedgerRef { requests, unanswered, ..ToolLedgerRef::default() }))
}

fn finished_with(task: u32, failure: Option<FailureClass>, made: Option<Box<ToolLedgerRef>>) -> Event {
    let mut event = finished(task, failure, Usage::default());
    if let Event::Turn(_, TurnEvent::Finished(end)) = &mut event {
        end.tools = made;
    }
    event
}

#[test]
fn every_request_of_a_conversation_counts_and_what_is_beyond_the_ceiling_is_told() {
    let over = |most: u64, event: Event| {
        let mut book = Book::with(Budget { max_requests: Some(most), ..Budget::default() });
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
        if let Event::Ask(_, AskEvent::Failed { used, .. }) = &mut event {
            *used = made.map(|tools| Box::new(Used { usage: Usage::default(), tools: *tools }));
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
        let mut book = Book::with(Budget { max_tokens: Some(1_000), ..Budget::default() });
        let failed = finished_with(M, Some(FailureClass::ProviderTransient), made);
        for event in [starts(M), spawned(M), failed] {
            book.ledger.follow(&book.plan, &event);
        }
        let room = book.ledger.room(&book.plan, AgentId(C), false);
        (book.ledger.spent().untold, book.ledger.spent().charged, room)
    };
    let unknown = CallAdmission::Exhausted(Ceiling::UnknownTokens(AgentId(M)));
    assert_eq!(untold(made(3, 1)), (1, money("0.5"), unknown));
    assert_eq!(untold(made(1, 0)), (1, money("0.5"), unknown));
    assert_eq!(untold(made(0, 4)), (0, money("0"), CallAdmission::Admitted));
    assert_eq!(untold(None), (0, money("0"), CallAdmission::Admitted));
}
