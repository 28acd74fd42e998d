//! The budget in words: what was used of it, and what ended the work.

use rules::{
    domain::Money,
    engine::{Ceiling, State},
    plan::Plan,
};

use crate::report::screens::text::count;

/// `the cost ceiling of $5.00 is reached`
pub fn ceiling_words(state: &State, ceiling: Ceiling) -> String {
    let budget = &state.plan.rules.budget;
    let agent = |agent| state.plan.agent_name(agent);
    let share = budget.reserve_for_judging.filter(|_| ceiling.leaves_judging());
    let (open, kept) = match share {
        Some(share) => (
            budget.for_work(),
            format!(", of which {} % is kept for judging (`reserveForJudging`),", share.points()),
        ),
        None => (*budget, String::new()),
    };
    match ceiling {
        Ceiling::Cost | Ceiling::WorkCost => {
            let spent = state.ledger.spent().counted_cost();
            let left = open.max_cost.map(|most| most.minus(spent));
            let left = left.filter(|left| *left > Money::ZERO);
            let left = left.map(|left| format!(": {left} is left, and what waits may cost more"));
            let (most, left) = (most(budget.max_cost), left.unwrap_or_default());
            format!("the cost ceiling of {most}{kept} allows nothing more{left}")
        }
        Ceiling::Tokens | Ceiling::WorkTokens => {
            format!("the ceiling of {} tokens{kept} allows nothing more", most(budget.max_tokens))
        }
        Ceiling::Requests => format!("all {} requests that it may make are used", most(budget.max_requests)),
        Ceiling::Time => format!("its time of {} is used up", most(budget.max_time)),
        Ceiling::UnknownCost(id) => format!(
            "it is not known what '{}' cost, so `maxCost` cannot be kept: give the agent `maxCostPerTurn` (0 if it costs \
             nothing)",
            agent(id)
        ),
        Ceiling::UnknownTokens(id) => {
            format!("it is not known how many tokens '{}' used, so `maxTokens` cannot be kept", agent(id))
        }
    }
}

/// The flag that lets `quorum resume` spend more than `ceiling`, the limit that ended the work; empty where a
/// mere resume does.
pub fn what_helps(ceiling: Ceiling) -> &'static str {
    match ceiling {
        Ceiling::Cost | Ceiling::WorkCost => " --max-cost N",
        Ceiling::Tokens | Ceiling::WorkTokens => " --max-tokens N",
        // Both stand in the mission only.
        Ceiling::Requests | Ceiling::Time => " --accept-changed-mission",
        Ceiling::UnknownCost(_) | Ceiling::UnknownTokens(_) => "",
    }
}

fn most<T: ToString>(ceiling: Option<T>) -> String {
    // A ceiling that was taken away since has no number.
    ceiling.map_or_else(|| "that held".to_owned(), |most| most.to_string())
}

/// Sentences about the limit that ended the work of the session, and by how much the budget was overshot.
pub fn sentences(state: &State) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(ceiling) = state.ledger.limit() {
        words.push(format!("nothing more was started: {}", ceiling_words(state, ceiling)));
    }
    let over = state.ledger.overshoot(&state.plan);
    let ceilings = [
        ("cost", over.cost.map(|cost| cost.to_string())),
        ("token", over.tokens.map(|tokens| tokens.to_string())),
        ("request", over.requests.map(|requests| requests.to_string())),
    ];
    for (ceiling, by) in ceilings {
        words.extend(by.map(|by| format!("the {ceiling} ceiling was overshot by {by}")));
    }
    words
}

/// `, cost $0.84 of $5.00`; empty where nobody asks for the cost and nobody told it.
pub fn cost_words(state: &State) -> String {
    let spent = state.ledger.spent();
    let budget = &state.plan.rules.budget;
    let mut text = match (spent.cost, budget.max_cost) {
        (None, None) => return String::new(),
        (None, Some(_)) if spent.requests == 0 => format!(", cost {}", Money::ZERO),
        (None, Some(_)) => ", cost unknown".to_owned(),
        (Some(cost), _) => format!(", cost {cost}"),
    };
    if let Some(most) = budget.max_cost {
        text.push_str(&format!(" of {most}"));
    }
    if spent.claimed > Money::ZERO {
        text.push_str(&format!(" ({} by the agents' own word)", spent.claimed));
    }
    if spent.charged > Money::ZERO {
        let calls = "calls of unknown cost";
        text.push_str(&format!(", and at most {} for {calls}", spent.charged));
    }
    text
}

/// ` of 10 requests`, where there is such a ceiling.
pub fn requests_words(state: &State) -> String {
    let spent = state.ledger.spent().requests;
    let requests = |number| count(usize::try_from(number).unwrap_or(usize::MAX), "request");
    match state.plan.rules.budget.max_requests {
        Some(most) => format!("{spent} of {}", requests(most)),
        None => requests(spent),
    }
}

/// `$0.84/$5.00`, or what was spent where nothing limits it; `None` where nothing is known of either.
pub fn footer_words(state: &State) -> Option<String> {
    let cost = state.ledger.spent().cost;
    match state.plan.rules.budget.max_cost {
        Some(most) => Some(format!("{}/{most}", cost.unwrap_or_default())),
        None => cost.filter(|cost| *cost > Money::ZERO).map(|cost| cost.to_string()),
    }
}

/// The limits of a run, and the part that is kept for judging: ``$5.00 at most, by `maxCost`; 15 % of the
/// budget is kept for judging``.
pub fn planned_words(plan: &Plan) -> String {
    let budget = &plan.rules.budget;
    let most = budget
        .max_cost
        .map_or_else(|| "unknown (no prices)".to_owned(), |most| format!("{most} at most, by `maxCost`"));
    match budget.reserve_for_judging {
        Some(share) => format!("{most}; {} % of the budget is kept for judging", share.points()),
        None if plan.may_keep_a_share() => format!(
            "{most}; nothing of the budget is kept for judging: one turn may use more than {} % would leave",
            budget.reserve_for_judging().points()
        ),
        None => most,
    }
}
