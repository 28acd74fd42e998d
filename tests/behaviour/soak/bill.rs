//! What a run cost, by its journal: the reader's own sums of what agents said (semantics, section 19).

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// What is charged for a turn of which nobody says what it cost, in millionths: the `maxCostPerTurn` of those who work.
const CHARGED: u64 = 500_000;
/// The prices of the one model that has some, in millionths for a token.
const INPUT: u64 = 100;
const OUTPUT: u64 = 1_000;

/// What was used, as far as it was told. Money is counted in millionths.
#[derive(Debug, Default)]
pub struct Bill {
    cost: u64,
    input_tokens: u64,
    output_tokens: u64,
    /// Turns that reached an agent and have not ended.
    reached: BTreeSet<String>,
    /// Requests that were certainly made.
    requests: u64,
    /// Turns that nobody told the cost of.
    untold: u64,
    /// Calls to others that are out, and how many were out when a session began, at most.
    out: BTreeSet<String>,
    again: u64,
    /// Turns and calls whose cost came from their tokens.
    priced: u64,
}

impl Bill {
    pub fn follow(&mut self, name: &str, body: &Value) {
        match name {
            "turn.progress" if body["spawned"].is_object() => {
                self.reached.insert(body["id"].to_string());
                self.requests += 1;
            }
            "turn.finished" => {
                let reached = self.reached.remove(&body["id"].to_string());
                let failed = !body["exit"]["failure"].is_null();
                if !reached && failed {
                    return;
                }
                // Its end may be on record though its beginning is not.
                self.requests += u64::from(!reached);
                self.untold += u64::from(!self.told(&body["usage"]));
            }
            "turn.lost" => self.untold += u64::from(self.reached.remove(&body["id"].to_string())),
            "ask.requested" => {
                self.requests += 1;
                self.out.insert(call(body));
            }
            "ask.replied" => {
                self.out.remove(&call(body));
                self.told(&body["reply"]["usage"]);
            }
            "ask.failed" => {
                self.out.remove(&call(body));
            }
            // Nobody waited for it any more, and its end says what it used and whether it was a request after all.
            "budget.settled" => {
                let more = body["requests"].as_i64().unwrap_or(0);
                self.requests = self.requests.saturating_add_signed(more);
                self.told(&body["usage"]);
            }
            "run.resumed" => self.again += self.out.len() as u64,
            "budget.exhausted" | "budget.held" => panic!("there is enough for everything: {body}"),
            _ => {}
        }
    }

    /// Adds what was said; whether that tells the cost.
    fn told(&mut self, usage: &Value) -> bool {
        let (read, written) = (usage["inputTokens"].as_u64(), usage["outputTokens"].as_u64());
        self.input_tokens += read.unwrap_or(0);
        self.output_tokens += written.unwrap_or(0);
        let cost = &usage["cost"];
        let Some(cost) = cost.as_str().map(str::to_owned).or(cost.as_number().map(ToString::to_string))
        else {
            return false;
        };
        let cost: f64 = cost.parse().expect("money is a number");
        let cost = millionths(cost);
        // Who says both its tokens and nothing of money has a price.
        if let (Some(read), Some(written)) = (read, written) {
            assert_eq!(cost, read * INPUT + written * OUTPUT, "{usage}");
            self.priced += 1;
        }
        self.cost += cost;
        true
    }

    /// The sums that anybody is shown are these.
    pub fn agrees_with(&self, status: &Value) {
        let (usage, budget) = (&status["usage"], &status["budget"]);
        let money = |value: &Value| millionths(value.as_f64().unwrap_or(0.0));
        let tokens = |value: &Value| value.as_u64().unwrap_or(0);
        assert_eq!(money(&usage["cost"]), self.cost, "{usage} {self}");
        assert_eq!(money(&budget["claimed"]), self.cost, "{budget} {self}");
        assert_eq!(
            (tokens(&usage["inputTokens"]), tokens(&usage["outputTokens"])),
            (self.input_tokens, self.output_tokens),
            "{usage} {self}"
        );
        // Reviewers and others that were out when a session died are asked again, if somebody still waits.
        let requests = usage["requests"].as_u64().expect("it is a number");
        assert!((self.requests..=self.requests + self.again).contains(&requests), "{usage} {self}");
        // Some who work also review, and say nothing of what that costs.
        let charged = money(&budget["charged"]);
        assert!(charged >= self.untold * CHARGED && charged % CHARGED == 0, "{budget} {self}");
        assert_eq!(budget["exhausted"], Value::Null);
    }
}

fn call(body: &Value) -> String {
    format!("{} {}", body["id"], body["seat"])
}

/// Money as a whole number of millionths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what a soak costs is a few positive units"
)]
fn millionths(money: f64) -> u64 {
    (money * 1e6).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "millionths of a few units, for a line to read")]
impl fmt::Display for Bill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests, {:.2} told in {} and {} tokens ({} by their price), {} turns untold",
            self.requests,
            self.cost as f64 / 1e6,
            self.input_tokens,
            self.output_tokens,
            self.priced,
            self.untold
        )
    }
}
