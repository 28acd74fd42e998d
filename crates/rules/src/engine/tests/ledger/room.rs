//! Whom the ledger leaves room for.

use super::*;
use crate::engine::event::BudgetEvent;

#[test]
fn who_waits_for_two_ceilings_waits() {
    // The provider reserves 40 tokens and half a unit of money.
    for (requests, cost, tokens) in
        [(1, "9", 999), (9, "0.5", 999), (9, "9", 40), (1, "0.5", 999), (1, "9", 40), (9, "0.5", 40)]
    {
        let mut book = Book::with(Budget {
            max_requests: Some(requests),
            max_cost: Some(money(cost)),
            max_tokens: Some(tokens),
            ..Budget::default()
        });
        assert_eq!(book.ledger.room(&book.plan, AgentId(M), false), CallAdmission::Admitted);
        book.ledger.follow(&book.plan, &starts(M));
        let room = book.ledger.room(&book.plan, AgentId(M), false);
        assert_eq!(room, CallAdmission::Wait, "{requests} {cost} {tokens}");
    }
    // So does who reserves nothing, where others reserved the rest.
    let mut book = Book::with(Budget { max_tokens: Some(40), ..Budget::default() });
    assert_eq!(book.ledger.room(&book.plan, AgentId(C), false), CallAdmission::Admitted);
    book.ledger.follow(&book.plan, &starts(M));
    assert_eq!(book.ledger.room(&book.plan, AgentId(C), false), CallAdmission::Wait);
}

#[test]
fn whose_use_nobody_can_tell_depends_on_what_is_asked() {
    let tokens_only = used(Some(1), Some(1), None);
    let untold = |budget: Budget, prices: bool, usage: Usage| {
        let mut book = Book::with(budget);
        if !prices {
            Arc::make_mut(&mut book.plan).rules.prices = Default::default();
        }
        for event in [seat(0, M), replied(0, usage)] {
            book.ledger.follow(&book.plan, &event);
        }
        book.ledger.spent().untold
    };
    let priced = Budget { max_cost: Some(money("9")), ..Budget::default() };
    assert_eq!(untold(Budget::default(), false, tokens_only), 0, "nobody wants to know what it cost");
    assert_eq!(untold(priced, false, tokens_only), 1);
    assert_eq!(untold(Budget::default(), false, used(Some(1), None, Some("1"))), 1);
    assert_eq!(untold(Budget::default(), false, used(None, Some(1), Some("1"))), 1);
}

/// Whom there is room for, step by step, under such a budget.
fn rooms(budget: Budget) -> String {
    let mut book = Book::with(budget);
    for event in [
        // Nothing yet.
        lost(E),
        // A turn is decided, and made.
        starts(M),
        spawned(M),
        // A seat beside it.
        seat(0, C),
        finished(M, None, used(Some(50), Some(10), Some("0.30"))),
        replied(0, used(Some(20), Some(0), Some("0.20"))),
        // A seat of the provider.
        seat(1, M),
        replied(1, used(Some(0), Some(20), Some("0.50"))),
        // A seat without room.
        held(WorkId::ask(seat_id(2)), M),
        // A turn of a command.
        starts(C),
        finished(C, None, used(Some(1), Some(0), Some("0.01"))),
    ] {
        book.rooms(&event);
    }
    book.text
}

/// For the provider, the command with a highest price, the one without, and echo.
const ROOMS: &str = "no ceiling: FFFF FFFF FFFF FFFF FFFF FFFF FFFF FFFF FFFF FFFF FFFF
2 requests: FFFF FFFF FFFF rrrr rrrr rrrr rrrr rrrr rrrr rrrr rrrr
3 requests: FFFF FFFF FFFF FFFF FFFF FFFF rrrr rrrr rrrr rrrr rrrr
4 requests: FFFF FFFF FFFF FFFF FFFF FFFF FFFF FFFF FFFF WWWW rrrr
0.50: FFFF WWWF WWWF WWWF ccWF cccF cccF cccF cccF cccF cccF
0.80: FFFF WFFF WFFF WWFF WFFF cFFF cWWF cccF cccF cccF cccF
1.00: FFFF FFFF FFFF WFFF WFFF FFFF WWWF cccF cccF cccF cccF
1.50: FFFF FFFF FFFF FFFF FFFF FFFF FFFF FFFF FFFF WFFF cFFF
60 tokens: FFFF WFFF WFFF WFFF tttF tttF tttF tttF tttF tttF tttF
100 tokens: FFFF FFFF FFFF FFFF FFFF tFFF tWWF tttF tttF tttF tttF
140 tokens: FFFF FFFF FFFF FFFF FFFF FFFF WFFF FFFF FFFF FFFF tFFF
";

#[test]
fn whom_a_ceiling_leaves_room_for() {
    let requests = |most| Budget { max_requests: Some(most), ..Budget::default() };
    let cost = |most: &str| Budget { max_cost: Some(money(most)), ..Budget::default() };
    let tokens = |most| Budget { max_tokens: Some(most), ..Budget::default() };
    let mut text = String::new();
    for (name, budget) in [
        ("no ceiling", Budget::default()),
        ("2 requests", requests(2)),
        ("3 requests", requests(3)),
        ("4 requests", requests(4)),
        ("0.50", cost("0.50")),
        ("0.80", cost("0.80")),
        ("1.00", cost("1.00")),
        ("1.50", cost("1.50")),
        ("60 tokens", tokens(60)),
        ("100 tokens", tokens(100)),
        ("140 tokens", tokens(140)),
    ] {
        let _ = writeln!(text, "{name}: {}", rooms(budget).trim_end());
    }
    assert_eq!(text, ROOMS);
}

#[test]
fn who_told_nothing_ends_the_room_of_those_who_cost() {
    let both = Budget { max_cost: Some(money("10")), max_tokens: Some(1000), ..Budget::default() };
    for (usage, ceiling) in [
        (Usage::default(), Ceiling::UnknownCost(AgentId(U))),
        (used(None, Some(1), Some("1")), Ceiling::UnknownTokens(AgentId(U))),
        (used(Some(1), None, Some("1")), Ceiling::UnknownTokens(AgentId(U))),
    ] {
        let mut book = Book::with(both);
        for event in [seat(0, U), replied(0, usage)] {
            book.ledger.follow(&book.plan, &event);
        }
        let room = |agent| book.ledger.room(&book.plan, AgentId(agent), false);
        assert_eq!(room(M), CallAdmission::Exhausted(ceiling), "{usage:?}");
        assert_eq!(room(E), CallAdmission::Admitted, "echo costs nothing: {usage:?}");
    }
}

#[test]
fn a_request_is_made_again_where_one_more_has_room() {
    let ask = |most: Option<u64>, before: &[Event]| {
        let mut book = Book::with(Budget { max_requests: most, ..Budget::default() });
        for event in before {
            book.ledger.follow(&book.plan, event);
        }
        book.ledger.has_room_again(&book.plan, WorkId::turn(turn_id(M)))
    };
    let made = [starts(M), spawned(M)];
    assert!(ask(None, &made));
    assert!(ask(Some(2), &made));
    assert!(!ask(Some(1), &made));
    assert!(ask(Some(1), &[starts(M)]), "none was made yet");
    assert!(!ask(Some(2), &[starts(M), spawned(M), seat(0, C)]));
    assert!(!ask(Some(2), &[starts(M), spawned(M), starts(C)]), "one is about to be made");
    let over = Event::Budget(BudgetEvent::Exhausted { ceiling: Ceiling::Requests });
    assert!(!ask(None, &[starts(M), over]));
}

#[test]
fn what_is_kept_for_judging_has_room_for_verdicts_alone() {
    let share = |budget: Budget| Budget { reserve_for_judging: Some(budget.reserve_for_judging()), ..budget };
    let cost = Budget { max_cost: Some(money("1")), ..Budget::default() };
    let tokens = Budget { max_tokens: Some(100), ..Budget::default() };
    for (budget, work, all, spent) in [
        (cost, Ceiling::WorkCost, Ceiling::Cost, ["0.30", "0.62", "1"]),
        (tokens, Ceiling::WorkTokens, Ceiling::Tokens, ["30", "86", "100"]),
    ] {
        let mut seen = Vec::new();
        for spent in spent {
            let mut book = Book::with(share(budget));
            let usage = match budget.max_cost {
                Some(_) => used(Some(0), Some(0), Some(spent)),
                None => used(spent.parse().ok(), Some(0), Some("0")),
            };
            for event in [seat(0, C), replied(0, usage)] {
                book.ledger.follow(&book.plan, &event);
            }
            seen.push([false, true].map(|judges| book.ledger.room(&book.plan, AgentId(C), judges)));
            // What is on record holds up no verdict, and the whole ceiling does.
            for (ceiling, goes_on) in [(work, true), (all, false)] {
                let mut after = book.ledger.clone();
                let event = Event::Budget(BudgetEvent::Exhausted { ceiling });
                after.follow(&book.plan, &event);
                let before = book.ledger.room(&book.plan, AgentId(C), true);
                let expected = if goes_on { before } else { CallAdmission::Exhausted(all) };
                assert_eq!(after.room(&book.plan, AgentId(C), true), expected);
                assert_eq!(after.room(&book.plan, AgentId(C), false), CallAdmission::Exhausted(ceiling));
            }
        }
        let (open, work, all) =
            (CallAdmission::Admitted, CallAdmission::Exhausted(work), CallAdmission::Exhausted(all));
        assert_eq!(seen, [[open, open], [work, open], [all, all]], "{budget:?}");
    }
}
