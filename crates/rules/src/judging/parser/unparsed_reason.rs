//! Why a reply could not be read, and the scales that a score may be on.

use rust_decimal::Decimal;

use crate::domain::Points;

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

/// The numbers that a score may be, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    pub(super) low: Decimal,
    pub(super) high: Decimal,
}

impl Scale {
    /// Points: 0 to 100.
    pub const POINTS: Self = Self { low: Decimal::ZERO, high: Decimal::ONE_HUNDRED };

    /// The scale of a panel's dimensions: 1 to 5.
    pub const SCORE: Self = Self { low: Decimal::ONE, high: Decimal::from_parts(5, 0, 0, false, 0) };

    /// A share: 0 to 1.
    pub const SHARE: Self = Self { low: Decimal::ZERO, high: Decimal::ONE };

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
