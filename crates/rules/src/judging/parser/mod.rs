//! Reading a verdict out of a reviewer's reply (semantics, sections 7 and 9).
//!
//! Precision first: a wrong number is worse than none, because an unparsed reply is asked for again and a wrong one
//! decides. So nothing is clamped, completed or guessed; where a reply can be read in two ways it is [`Unparsed`], and
//! the reason is good enough to be put into the strict reprompt. A number that a reply merely quotes (a `>` line, a
//! fence, the tags that fence the work in the prompt) is the work's word, not the reviewer's.
//!
//! Every function takes time linear in the reply and stands any input.
//!
//! | file | what |
//! |---|---|
//! | `envelope` | replies that are no words of an agent but the JSON in which its program wraps them |
//! | `findings` | findings in a reply of any kind, read one by one |
//! | `form` | replies of a fixed form: one JSON object, alone, fenced or on lines of its own |
//! | `json` | JSON values in a reply, wherever they stand |
//! | `marker` | one score in a reply of ours: `SCORE: 80`, `72/100`, or JSON with a `score` (9) |
//! | `panel` | a panel's JSON: every dimension with a score from 1 to 5 (7) |
//! | `prior` | answers for the points of an earlier review: `POINT n: yes – why` (4) |
//! | `quoted` | what the work itself says where a verdict would stand: no verdict |
//! | `reasoning` | where the answer begins behind the reasoning of a model |
//! | `text` | which parts of a reply are the reviewer's own words; control sequences |

mod envelope;
pub(super) mod findings;
pub mod form;
pub mod json;
mod marker;
pub(super) mod panel;
pub(super) mod prior;
mod quoted;
mod reasoning;
mod text;

use rust_decimal::Decimal;

use crate::domain::{Dimension, DimensionScore, Finding, Points, PriorAnswer};

pub use panel::filled_in;
pub use quoted::Quoted;
pub use text::{own_words, visible};

/// The tag that fences the worker's text in prompts. What a reply repeats between these tags does not count.
pub const UNTRUSTED_TAG: &str = "untrusted";

/// Reads one score on `scale` from a labelled text in our own form: a score line, JSON with a score, or the number alone.
///
/// # Errors
/// When the text holds no such score, one off the scale, or several that differ.
pub fn parse_rating(reply: &str, scale: &Scale) -> Result<Decimal, Unparsed> {
    let reply = own_words(reply)?;
    if let Some(value) = marker::number_in(reply.trim()) {
        return marker::agree(&[marker::Marker::Value(value)], scale);
    }
    let parts = text::split(&reply);
    let (mut markers, _) = marker::json_markers(&json::find(&reply, &parts).values, scale)?;
    markers.extend(marker::line_markers(&parts.own, scale));
    marker::agree(&markers, scale)
}

/// The text of an evaluation without the lines that say its score.
pub fn without_score_lines(reply: &str) -> String {
    marker::without_score_lines(reply)
}

/// The reply of a panel's seat.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedPanel {
    /// One score for each of the task's dimensions, in the task's order and spelling.
    pub scores: Vec<DimensionScore>,
    /// Whether the reply declares, beside the scores, that the work passes; `None` where it declares nothing.
    pub declared: Option<bool>,
    /// The findings of the reviewer.
    pub findings: Vec<Finding>,
    /// The reviewer's answers to the points of the review before.
    pub prior: Vec<PriorAnswer>,
    /// The reviewer's summary, if any.
    pub summary: Option<String>,
}

impl ParsedPanel {
    /// Whether the scores come to this number, on whichever of the two scales.
    fn is_worth(&self, number: Points) -> bool {
        let mut scores = self.scores.iter().map(|score| score.points);
        scores.all(|points| points == number || points.score() == number.value())
    }

    fn into_number(mut self) -> Result<ParsedEvaluation, Unparsed> {
        let score = self.scores.pop().ok_or(Unparsed::NoScore)?;
        Ok(ParsedEvaluation {
            points: score.points,
            reasoning: score.reasoning,
            declared: self.declared,
            findings: self.findings,
            prior: self.prior,
        })
    }
}

/// The reply of the reviewer of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedEvaluation {
    /// The score in points.
    pub points: Points,
    /// The reviewer's reasons: the field of a JSON reply, else the reply itself.
    pub reasoning: String,
    /// Whether the reply declares, beside the score, that the work passes; `None` where it declares nothing.
    pub declared: Option<bool>,
    /// The findings of the reviewer, where they are in JSON.
    pub findings: Vec<Finding>,
    /// The reviewer's answers to the points of the review before.
    pub prior: Vec<PriorAnswer>,
}

impl ParsedEvaluation {
    fn of_dimension(self, dimension: &Dimension) -> ParsedPanel {
        ParsedPanel {
            scores: vec![DimensionScore {
                dimension: dimension.name.clone(),
                points: self.points,
                reasoning: without_score_lines(&self.reasoning),
            }],
            declared: self.declared,
            findings: self.findings,
            prior: self.prior,
            summary: None,
        }
    }
}

/// Why no verdict could be read. The text can be shown to the reviewer who is asked again.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unparsed {
    /// Nothing, or nothing but the model's private thinking.
    #[error("the reply is empty")]
    Empty,
    /// Reasoning without an end, or marks of it that may be quoted.
    #[error(
        "the reply holds reasoning between marks, and where it ends cannot be told; reply without reasoning and without \
         such marks"
    )]
    Reasoning,
    /// JSON amid a sentence.
    #[error(
        "the JSON in the reply stands within a sentence, where it may only be spoken of; put it on lines of its own"
    )]
    Aside,
    /// A number that may be meant on either scale.
    #[error(
        "the score is {0}, `SCORE: n` goes from 0 to 100, and 5 or less may be meant on the scale from 1 to 5 that the JSON has"
    )]
    EitherScale(Points),
    /// A share where points belong.
    #[error(
        "the score is {0}, and the scale goes from 0 to 100: a number below 1 may be meant as a share; give points"
    )]
    Share(Decimal),
    /// A score, and a verdict beside it that says something else.
    #[error(
        "the score in the reply and its verdict disagree; give one score that says what you mean, and no verdict"
    )]
    Disagreeing,
    /// No object that scores dimensions.
    #[error("the reply contains no JSON object with the scores")]
    NoJson,
    /// An object that starts and does not end, or is not valid.
    #[error("the JSON in the reply is not valid or not complete")]
    BrokenJson,
    /// Some dimensions have no score.
    #[error("there is no score for: {}", .0.join(", "))]
    MissingDimensions(Vec<String>),
    /// A dimension is scored more than once, or a key of a form stands in it twice.
    #[error("'{0}' stands there more than once")]
    Duplicate(String),
    /// Something other than a number where a score belongs.
    #[error("the score of '{0}' is not a number")]
    NotANumber(String),
    /// A number outside the scale.
    #[error("'{what}' is {value}, which is not on the scale from {scale}")]
    OffScale {
        /// The scored thing: a dimension or the work.
        what: String,
        /// The number that is not on the scale.
        value: Decimal,
        scale: Scale,
    },
    /// No score line and no JSON with a score.
    #[error("the reply contains no score")]
    NoScore,
    /// A score line that does not hold one plain number.
    #[error("the score line does not hold one plain number: {0}")]
    Malformed(String),
    /// No score but one that the work under review holds too.
    #[error(
        "the only score in the reply also stands in the work, so it may be a quotation; give yours as \
         JSON, with reasons of your own: {{\"score\": <n>, \"reasoning\": \"<why>\"}}"
    )]
    OnlyInWork,
    /// A verdict that the work under review holds too.
    #[error(
        "what the reply says also stands in the work, so it may be a quotation; say it with reasons of your own"
    )]
    InWork,
    /// The work holds more verdicts than can be remembered.
    #[error("the work holds so many verdicts of its own that none can be told from a quotation")]
    Drowned,
    /// Several scores or verdicts that differ.
    #[error("the reply contains several scores that differ")]
    Conflicting,
    /// No object of the form that was asked for.
    #[error("the reply contains no JSON object with `{0}`")]
    NoForm(&'static str),
    /// Something in the object is not what was asked for.
    #[error("{0}")]
    Wrong(String),
    /// Several objects of the form that was asked for, and they differ.
    #[error("the reply contains several JSON objects that differ")]
    Differing,
    /// The reply is wrapped in the JSON of the program that printed it.
    #[error(
        "it looks like an agent's JSON envelope; have the agent print its plain reply instead (text output, without a flag \
         for JSON)"
    )]
    Envelope,
}

impl Unparsed {
    /// The reason that helps most: of a reply that is wrapped in the JSON of its program, that it is.
    #[must_use]
    pub fn or_envelope(self, reply: &str) -> Self {
        if envelope::is_envelope(reply) {
            Self::Envelope
        } else {
            self
        }
    }
}

/// The numbers that a score may be, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: Decimal,
    high: Decimal,
}

impl Scale {
    /// Points: 0 to 100.
    pub const POINTS: Self = Self {
        low: Decimal::ZERO,
        high: Decimal::ONE_HUNDRED,
    };

    /// The scale of a panel's dimensions: 1 to 5.
    pub const SCORE: Self = Self {
        low: Decimal::ONE,
        high: Decimal::from_parts(5, 0, 0, false, 0),
    };

    /// A share: 0 to 1.
    pub const SHARE: Self = Self {
        low: Decimal::ZERO,
        high: Decimal::ONE,
    };

    /// The scale from `low` to `high`, if `low` is not negative and below `high`.
    pub fn new(low: Decimal, high: Decimal) -> Option<Self> {
        (Decimal::ZERO <= low && low < high).then_some(Self { low, high })
    }

    /// The lowest value of the scale.
    pub fn low(&self) -> Decimal {
        self.low
    }

    /// The highest value of the scale.
    pub fn high(&self) -> Decimal {
        self.high
    }

    /// Whether `value` is on the scale.
    pub fn contains(&self, value: Decimal) -> bool {
        self.low <= value && value <= self.high
    }
}

impl std::fmt::Display for Scale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.low, self.high)
    }
}

/// Reads the reply of a panel's seat: JSON, alone, fenced or embedded in prose, with a score from 1 to 5 for every
/// one of `dimensions`; where there is but one, a score from 0 to 100 as in an evaluation will do.
///
/// # Errors
/// When a dimension is missing, scored twice, off the scale or not a number, when several JSON objects differ, or when
/// all there is stands in the work too.
pub fn parse_scores(reply: &str, dimensions: &[Dimension], work: &Quoted) -> Result<ParsedPanel, Unparsed> {
    let read = panel::parse(reply, dimensions, work);
    let [dimension] = dimensions else { return read };
    match (&read, one_number(reply, work)) {
        (Ok(panel), Ok(number)) if !panel.is_worth(number.points) => Err(Unparsed::Conflicting),
        // Whoever scores something else has not said one number alone.
        (Err(Unparsed::NoJson | Unparsed::MissingDimensions(_)), Ok(_))
            if panel::has_scores(reply, work)? =>
        {
            read
        }
        (Err(Unparsed::NoJson | Unparsed::MissingDimensions(_)), number) => match number {
            Ok(number) if number.points <= Points::whole(5) => Err(Unparsed::EitherScale(number.points)),
            Ok(number) => Ok(number.of_dimension(dimension)),
            Err(Unparsed::NoScore) => read,
            Err(why) => Err(why),
        },
        _ => read,
    }
}

/// Reads the reply to an evaluation: a `SCORE: n` line with `n` from 0 to 100, JSON with a `score`, or a panel's JSON with
/// one dimension.
///
/// # Errors
/// When there is no score of the reviewer's own, also where the only one stands in the work too, when it is off the
/// scale, or when several scores differ.
pub fn parse_evaluation(reply: &str, work: &Quoted) -> Result<ParsedEvaluation, Unparsed> {
    match (one_number(reply, work), panel::parse_alone(reply, work)) {
        (Err(Unparsed::NoScore), panel) => panel?.into_number(),
        (Ok(number), Ok(panel)) if !panel.is_worth(number.points) => Err(Unparsed::Conflicting),
        (read, _) => read,
    }
}

fn one_number(reply: &str, work: &Quoted) -> Result<ParsedEvaluation, Unparsed> {
    let reply = text::own_words(reply)?;
    let parts = text::split(&reply);
    let values = form::values_of(&reply, &parts, work)?;
    let read = marker::read(&parts, &values, &Scale::POINTS, work)?;
    // Nobody writes one point of a hundred as 1.0.
    let is_share = read.value < Decimal::ONE || read.value == Decimal::ONE && read.value.scale() > 0;
    if read.value > Decimal::ZERO && is_share {
        return Err(Unparsed::Share(read.value));
    }
    let off_scale = || Unparsed::OffScale {
        what: "score".to_owned(),
        value: read.value,
        scale: Scale::POINTS,
    };
    let points = Points::new(read.value).ok_or_else(off_scale)?;
    let findings = values.findings(panel::MAX_FINDINGS);
    let reasoning = match &read.json {
        Some(object) => panel::reasoning_of(object),
        None => String::new(),
    };
    // A reply that is nothing but a form is told by its findings.
    let reasoning = if reasoning.is_empty() && (read.json.is_none() || findings.is_empty()) {
        reply.trim().to_owned()
    } else {
        reasoning
    };
    Ok(ParsedEvaluation {
        points,
        reasoning,
        declared: values.declared.clone()?,
        findings,
        prior: prior::of_evaluation(&parts, read.json.as_ref(), work),
    })
}

#[cfg(test)]
mod tests;
