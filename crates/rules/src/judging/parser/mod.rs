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
//! | `keys` | keys by which verdicts in JSON name their parts |
//! | `score_line` | one score in a reply of ours: `SCORE: 80`, `72/100`, or JSON with a `score` (9) |
//! | `number` | plain decimal numbers |
//! | `panel` | a panel's JSON: every dimension with a score from 1 to 5 (7) |
//! | `point_answers` | answers for the points of an earlier review: `POINT n: yes – why` (4) |
//! | `quoted` | what the work itself says where a verdict would stand: no verdict |
//! | `reasoning` | the own words of a reply: its answer, behind the reasoning of a model |
//! | `own_words` | lines of a reply that quote and lines of its own; control sequences |
//! | `unparsed_reason` | why a reply could not be read; the scales that a score may be on |

mod envelope;
pub(super) mod findings;
pub mod form;
pub mod json;
pub(super) mod keys;
mod number;
mod own_words;
mod panel;
pub(super) mod point_answers;
mod quoted;
mod reasoning;
mod score_line;
mod unparsed_reason;

use rust_decimal::Decimal;

use crate::domain::{Dimension, DimensionScore, Finding, Points, PriorAnswer};

use form::ReplyValues;
use json::{Json, JsonPlace};
use own_words::Parts;
use score_line::{Marker, agree, json_markers, line_markers};

pub use own_words::{UNTRUSTED_TAG, visible};
pub use panel::{ParsedPanel, filled_in};
pub use quoted::Quoted;
pub use reasoning::own_words;
pub use score_line::without_score_lines;
pub use unparsed_reason::{Scale, Unparsed};

/// Reads one score on `scale` from a labelled text in our own form: a score line, JSON with a score, or the number alone.
///
/// # Errors
/// When the text holds no such score, one off the scale, or several that differ.
pub fn parse_rating(reply: &str, scale: &Scale) -> Result<Decimal, Unparsed> {
    let reply = own_words(reply)?;
    if let Some(value) = number::number_in(reply.trim()) {
        return agree(&[Marker::Value(value)], scale);
    }
    let parts = own_words::split(&reply);
    let (mut markers, _) = json_markers(&json::find(&reply, &parts).values, scale)?;
    markers.extend(line_markers(&parts.own, scale));
    agree(&markers, scale)
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

impl ParsedPanel {
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
    let reply = own_words(reply)?;
    let parts = own_words::split(&reply);
    let values = form::values_of(&reply, &parts, work)?;
    let (value, object) = score_of(&parts, &values, &Scale::POINTS, work)?;
    // Nobody writes one point of a hundred as 1.0.
    let is_share = value < Decimal::ONE || value == Decimal::ONE && value.scale() > 0;
    if value > Decimal::ZERO && is_share {
        return Err(Unparsed::Share(value));
    }
    let off_scale = || Unparsed::OffScale { what: "score".to_owned(), value, scale: Scale::POINTS };
    let points = Points::new(value).ok_or_else(off_scale)?;
    let findings = values.findings(panel::MAX_FINDINGS);
    let reasoning = match &object {
        Some(object) => panel::reasoning_of(object),
        None => String::new(),
    };
    // A reply that is nothing but a form is told by its findings.
    let reasoning = if reasoning.is_empty() && (object.is_none() || findings.is_empty()) {
        reply.trim().to_owned()
    } else {
        reasoning
    };
    Ok(ParsedEvaluation {
        points,
        reasoning,
        declared: values.declared.clone()?,
        findings,
        prior: point_answers::of_evaluation(&parts, object.as_ref(), |words| work.has_line(words)),
    })
}

/// The one score of a reply's own text on `scale`, with the JSON object that holds it, if one does. What also stands in the work may be a quotation, and what stands within a
/// sentence is spoken of: it can contradict, but never testify.
fn score_of(
    parts: &Parts,
    values: &ReplyValues,
    scale: &Scale,
    work: &Quoted,
) -> Result<(Decimal, Option<Json>), Unparsed> {
    let (mut markers, object) = json_markers(&values.own, scale)?;
    let (mut doubts, _) = json_markers(&values.doubted, scale)?;
    for marker in line_markers(&parts.own, scale) {
        match marker {
            Marker::Value(score) if work.has_score(score) => doubts.push(marker),
            marker => markers.push(marker),
        }
    }
    let value = match agree(&markers, scale) {
        Err(Unparsed::NoScore) if !doubts.is_empty() => {
            let is_aside = |(_, place): &(Json, JsonPlace)| *place == JsonPlace::Aside;
            return Err(if values.doubted.iter().any(is_aside) {
                Unparsed::Aside
            } else {
                Unparsed::OnlyInWork
            });
        }
        agreed => agreed?,
    };
    doubts.extend(line_markers(&parts.doubtful, scale));
    if doubts.iter().any(|doubt| *doubt != Marker::Value(value)) {
        return Err(Unparsed::Conflicting);
    }
    Ok((value, object))
}

#[cfg(test)]
mod tests;
