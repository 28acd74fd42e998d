//! What a turn has used, wherever the server tells it.

use serde_json::{Value, json};

/// Tokens; what the server does not tell is none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Tokens {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

impl Tokens {
    /// Reads what has keys as in ACP, or as gemini writes them. None where it has neither.
    fn read(usage: &Value) -> Option<Self> {
        let number = |keys: &[&str]| keys.iter().find_map(|key| usage.get(key)?.as_u64());
        let tokens = Self {
            input: number(&["inputTokens", "input_tokens"]),
            output: number(&["outputTokens", "output_tokens"]),
            cache_read: number(&["cachedReadTokens", "cachedInputTokens"]),
            cache_write: number(&["cachedWriteTokens", "cacheWriteInputTokens"]),
        };
        (tokens.input.is_some() || tokens.output.is_some()).then_some(tokens)
    }

    fn add(self, other: Self) -> Self {
        let both = |(one, two): (u64, u64)| one.saturating_add(two);
        let sum = |one: Option<u64>, two: Option<u64>| one.zip(two).map(both).or(one).or(two);
        Self {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cache_read: sum(self.cache_read, other.cache_read),
            cache_write: sum(self.cache_write, other.cache_write),
        }
    }
}

/// The usage that the server has told so far.
#[derive(Debug, Default)]
pub struct AcpUsage {
    /// Sum over the calls of a model, where the server tells each.
    calls: Option<Tokens>,
    /// The usage in the answer to the prompt.
    whole: Option<Tokens>,
    /// The server says there what the last call used and not what all did.
    is_last_call_only: bool,
    /// Whether the turn came to its own end, so that nothing was left out.
    is_whole: bool,
    /// The cost of the session in dollars when the prompt was sent; `None` where it may have cost what nobody
    /// tells.
    cost_before: Option<f64>,
    /// The cost of the session in dollars since it was new, as the server tells it.
    cost: Option<f64>,
}

impl AcpUsage {
    /// Begins a turn: all that was told before belongs to earlier ones. `is_new`: the session has had none.
    pub fn begin(&mut self, is_new: bool) {
        let cost_before = self.cost.or(is_new.then_some(0.0));
        *self = Self { cost_before, ..Self::default() };
    }

    /// Takes what a `session/update` tells.
    pub fn update(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str() {
            Some("usage_update") => self.costs(&update["cost"]),
            // qwen sends a chunk without text for each call of its model.
            Some("agent_message_chunk") => {
                if let Some(tokens) = Tokens::read(&update["_meta"]["usage"]) {
                    self.calls = Some(self.calls.unwrap_or_default().add(tokens));
                }
            }
            _ => {}
        }
    }

    fn costs(&mut self, cost: &Value) {
        let amount = cost["amount"].as_f64();
        let currency = cost["currency"].as_str();
        if let Some(amount) = amount.filter(|amount| *amount >= 0.0 && currency.unwrap_or("USD") == "USD") {
            self.cost = Some(amount);
        }
    }

    /// Takes what the answer to the prompt tells. `is_last_call_only`: it is known to tell the last of several calls.
    /// `is_whole`: nobody has broken the turn off.
    pub fn answer(&mut self, result: &Value, is_last_call_only: bool, is_whole: bool) {
        let quota = &result["_meta"]["quota"]["token_count"];
        self.whole = Tokens::read(&result["usage"]).or_else(|| Tokens::read(quota));
        self.is_last_call_only = is_last_call_only;
        self.is_whole = is_whole;
    }

    /// The line about the usage; `None` where nothing was told.
    pub fn line(&self) -> Option<Value> {
        let session_cost = self.cost.map(round);
        let cost = self.cost.zip(self.cost_before);
        let cost = cost.map(|(cost, before)| round(cost - before));
        let cost = cost.filter(|cost| *cost >= 0.0);
        let tokens = match (self.whole, self.calls) {
            (Some(_), Some(calls)) if self.is_last_call_only => Some(calls),
            (whole, calls) => whole.or(calls),
        };
        if tokens.is_none() && session_cost.is_none() {
            return None;
        }
        let is_partial = !self.is_whole || self.is_last_call_only && self.calls.is_none();
        let tokens = tokens.unwrap_or_default();
        let mut line = json!({
            "type": "usage", "inputTokens": tokens.input, "outputTokens": tokens.output,
            "cacheRead": tokens.cache_read, "cacheWrite": tokens.cache_write,
            "cost": cost, "sessionCost": session_cost,
        });
        if let Some(object) = line.as_object_mut().filter(|_| is_partial) {
            object.insert("partial".to_owned(), Value::Bool(true));
        }
        Some(line)
    }
}

/// A difference of sums of small amounts, without the digits that binary numbers add.
fn round(dollars: f64) -> f64 {
    (dollars * 1e9).round() / 1e9
}
