//! Replies to prompts that were not ours: one score, said in whatever words the model chose.
//!
//! Calibration reads recorded replies of other judges, who were asked for stars, ratings or "n out of 5" and never saw
//! our instruction. The grammar is wider than that of a score line, the rule is the same: two readings are none.

use rust_decimal::Decimal;

use super::json;
use super::marker::{Marker, agree, json_markers, take_number, take_word};
use super::text::{fold, split, without_thinking};
use super::{Scale, Unparsed};

/// Words between a verb such as "give" and its number.
const MAX_WORDS_BETWEEN: usize = 4;

/// Words that may follow a score that is not the end of its sentence.
const AFTER_SCORE: &[&str] = &["for", "because", "since", "as", "in", "on", "with"];

/// Words of a score that is not one of a part.
const WHOLE: &[&str] = &["score", "rating", "final", "overall", "total"];

/// How sure a way of saying a score is. The surest kind that a reply holds is the only one that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sureness {
    /// `Final score: 4`, `[[4]]`.
    Final,
    /// `Score: 4` on a line of its own, which is as sure as what is only said but where parts are rated.
    Labelled,
    /// `4 out of 5`, `a score of 4`, `Score: 4` within other words.
    Stated,
    /// The same in an item of a list, where it may be one of several partial scores.
    InList,
}

/// Reads one score on `scale` from a recorded reply in free words.
///
/// # Errors
/// When the reply holds no score, one off the scale, or several that differ.
pub fn parse_rating(reply: &str, scale: &Scale) -> Result<Decimal, Unparsed> {
    let reply = without_thinking(reply);
    if reply.trim().is_empty() {
        return Err(Unparsed::Empty);
    }
    let parts = split(reply);
    let (markers, _) = json_markers(&json::find(reply, &parts).values, scale);
    if !markers.is_empty() {
        return agree(&markers, scale);
    }
    let folded: Vec<String> = parts.own.iter().map(|line| fold(line)).collect();
    let lines: Vec<Line> = folded
        .iter()
        .map(|line| Line::read(line))
        .filter(|line| !line.tokens.is_empty())
        .collect();
    let mut said = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        line.scores(lines.get(index + 1), scale, &mut said);
    }
    if rates_parts(&lines) {
        // Whatever else it says in passing may be a sum, a mean, or one more part.
        said.retain(|(sureness, _)| matches!(sureness, Sureness::Final | Sureness::Labelled));
        if said.is_empty() {
            return Err(Unparsed::NoScore);
        }
    }
    for (sureness, _) in said
        .iter_mut()
        .filter(|(sureness, _)| *sureness == Sureness::Labelled)
    {
        *sureness = Sureness::Stated;
    }
    let markers: Vec<_> = match said.iter().map(|(sureness, _)| *sureness).min() {
        Some(surest) => said
            .into_iter()
            .filter(|(sureness, _)| *sureness == surest)
            .map(|(_, marker)| marker)
            .collect(),
        None => alone(&lines).into_iter().map(Marker::Value).collect(),
    };
    agree(&markers, scale)
}

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Number(Decimal),
    /// Punctuation, or `#` for something with digits that is no plain number.
    Other(char),
}

impl Token<'_> {
    fn is_word(&self, words: &[&str]) -> bool {
        matches!(self, Self::Word(word) if words.iter().any(|other| word.eq_ignore_ascii_case(other)))
    }

    fn ends_sentence(&self) -> bool {
        matches!(self, Self::Other('.' | '!' | '?' | ';'))
    }
}

/// A line as tokens, spaces and emphasis left out.
struct Line<'a> {
    tokens: Vec<Token<'a>>,
    is_item: bool,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Self {
        let text = line.trim_start();
        let bullet = text.starts_with("- ") || text.starts_with("* ") || text.starts_with('•');
        let mut tokens = Vec::new();
        let mut rest = text.trim_start_matches(['-', '*', '•', ' ']);
        while let Some(first) = rest.chars().next() {
            let (token, after) = if first.is_ascii_digit() {
                match take_number(rest) {
                    Some((number, after)) => (Some(Token::Number(number)), after),
                    None => (Some(Token::Other('#')), skip_opaque(rest)),
                }
            } else if first.is_alphabetic() {
                let (word, after) = take_word(rest);
                (Some(Token::Word(word)), after)
            } else {
                let shown = !(first.is_whitespace() || matches!(first, '*' | '_' | '`'));
                (shown.then_some(Token::Other(first)), &rest[first.len_utf8()..])
            };
            tokens.extend(token);
            rest = after;
        }
        let numbered = matches!(
            tokens[..],
            [Token::Number(_), Token::Other('.' | ')'), Token::Word(_), ..]
        );
        Self {
            tokens,
            is_item: bullet || numbered,
        }
    }

    /// Adds every score that the line says outright.
    fn scores(&self, next: Option<&Line>, scale: &Scale, said: &mut Vec<(Sureness, Marker)>) {
        let usual = if self.is_item {
            Sureness::InList
        } else {
            Sureness::Stated
        };
        for at in 0..self.tokens.len() {
            let rest = &self.tokens[at..];
            let before = at.checked_sub(1).map(|i| self.tokens[i]);
            let is_final = before.is_some_and(|word| word.is_word(&["final", "overall"]));
            let sureness = if is_final { Sureness::Final } else { usual };
            if let [
                Token::Other('['),
                Token::Other('['),
                Token::Number(n),
                Token::Other(']'),
                Token::Other(']'),
                ..,
            ] = rest
            {
                said.push((Sureness::Final, Marker::Value(*n)));
            } else if let Some(marker) = labelled(rest, next, scale) {
                // A label alone must not outweigh a score that is said elsewhere.
                let sureness = match sureness {
                    _ if matches!(marker, Marker::Blank(_)) => usual,
                    Sureness::Stated if at == 0 => Sureness::Labelled,
                    other => other,
                };
                said.push((sureness, marker));
            } else if let Some(marker) = phrased(rest) {
                said.push((usual, marker));
            } else if let Some(number) = over_scale(before, rest, scale) {
                said.push((usual, Marker::Value(number)));
            } else if before.is_none_or(|token| token.ends_sentence()) {
                said.extend(stars(rest).map(|number| (usual, Marker::Value(number))));
            }
        }
    }
}

/// Passes over `5-0`, `1.2.3`, `72nd`: what starts with a digit and is no plain number.
fn skip_opaque(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '.' | ','))
}

/// `Score: 4`, `Rating = 4/5`, or the label alone and the number alone on the next line.
fn labelled(tokens: &[Token], next: Option<&Line>, scale: &Scale) -> Option<Marker> {
    let [label, Token::Other(':' | '='), rest @ ..] = tokens else {
        return None;
    };
    if !label.is_word(&["score", "rating"]) {
        return None;
    }
    let value = match rest {
        [] => next.and_then(|next| bare_number(&next.tokens)),
        [Token::Number(number), rest @ ..] if ends_score(rest) || is_over(rest, scale) => Some(*number),
        _ => return None,
    };
    Some(value.map_or_else(
        || Marker::Blank("a label without a score".to_owned()),
        Marker::Value,
    ))
}

/// `a score of 4`, `give it a 4`; with a second number after it (`a 3 or 4`) it is none.
fn phrased(tokens: &[Token]) -> Option<Marker> {
    let (first, rest) = tokens.split_first()?;
    let words = if first.is_word(&["score", "rating"]) {
        rest.first().filter(|word| word.is_word(&["of"])).map(|_| 1)?
    } else if first.is_word(&["give", "gave", "giving", "rate"]) {
        let is_word = |token: &&Token| matches!(token, Token::Word(_));
        rest.iter().take(MAX_WORDS_BETWEEN).take_while(is_word).count()
    } else {
        return None;
    };
    match &rest[words..] {
        [Token::Number(number), rest @ ..] if ends_score(rest) => Some(Marker::Value(*number)),
        [Token::Number(number), next, ..] if next.is_word(&["or", "to"]) => {
            Some(Marker::Malformed(format!("{number} or another")))
        }
        _ => None,
    }
}

/// `4/5`, `4 out of 5`.
fn over_scale(before: Option<Token>, tokens: &[Token], scale: &Scale) -> Option<Decimal> {
    let [Token::Number(number), rest @ ..] = tokens else {
        return None;
    };
    let part_of_other = matches!(before, Some(Token::Other('/' | '-' | '#')));
    (!part_of_other && is_over(rest, scale)).then_some(*number)
}

/// Whether the scale's upper end follows, as `/5` or `out of 5`, and no third number.
fn is_over(tokens: &[Token], scale: &Scale) -> bool {
    let rest = match tokens {
        [Token::Other('/'), rest @ ..] => rest,
        [out, of, rest @ ..] if out.is_word(&["out"]) && of.is_word(&["of"]) => rest,
        _ => return false,
    };
    match rest {
        [Token::Number(high), rest @ ..] => {
            *high == scale.high && !matches!(rest.first(), Some(Token::Other('/' | '-' | '%')))
        }
        _ => false,
    }
}

/// `4 stars`, `Four stars`.
fn stars(tokens: &[Token]) -> Option<Decimal> {
    let [count, unit, ..] = tokens else {
        return None;
    };
    if !unit.is_word(&["star", "stars"]) {
        return None;
    }
    match count {
        Token::Number(number) => Some(*number),
        Token::Word(word) => {
            let words = ["zero", "one", "two", "three", "four", "five"];
            let index = words.iter().position(|other| word.eq_ignore_ascii_case(other))?;
            Some(Decimal::from(index))
        }
        Token::Other(_) => None,
    }
}

/// Whether what follows a number leaves it a score: not `2 goals`, `2-1`, `2/10`, `2%`.
fn ends_score(tokens: &[Token]) -> bool {
    match tokens {
        []
        | [
            Token::Other('.' | ',' | ';' | ':' | '!' | ')' | ']' | '"' | '('),
            ..,
        ] => true,
        [Token::Other('-'), next, ..] => matches!(next, Token::Word(_)),
        [word, ..] => word.is_word(AFTER_SCORE),
    }
}

fn bare_number(tokens: &[Token]) -> Option<Decimal> {
    match tokens {
        [Token::Number(number)] | [Token::Number(number), Token::Other('.')] => Some(*number),
        _ => None,
    }
}

/// The score of a reply that says no such word: it is a number, opens with one (`2. The response …`,
/// `Coherence: 2 - …`), or ends with one as its last sentence.
fn alone(lines: &[Line]) -> Option<Decimal> {
    let (first, others) = lines.split_first()?;
    if let Some(number) = named(&first.tokens, others.first()) {
        return Some(number);
    }
    match first.tokens[..] {
        [Token::Number(number), Token::Other('.'), Token::Word(_), ..]
            if !others.iter().any(|line| line.is_item) =>
        {
            return Some(number);
        }
        _ => {}
    }
    let last = &lines.last()?.tokens;
    bare_number(last).or(match last[..] {
        [.., end, Token::Number(number)] if end.ends_sentence() => Some(number),
        [.., end, Token::Number(number), Token::Other('.')] if end.ends_sentence() => Some(number),
        _ => None,
    })
}

/// Whether lines rate several things by name: `Style: 4` and `1. Length: 2`. What is one score of all of them?
fn rates_parts(lines: &[Line]) -> bool {
    let mut names = lines.iter().filter_map(|line| {
        let tokens = match &line.tokens[..] {
            [Token::Number(_), Token::Other('.' | ')'), rest @ ..] => rest,
            tokens => tokens,
        };
        named(tokens, None)?;
        let name = |token: &Token| !matches!(token, Token::Other(':'));
        let name: Vec<Token> = tokens.iter().copied().take_while(name).collect();
        let is_whole = name.iter().any(|word| word.is_word(WHOLE));
        (!is_whole).then_some(name)
    });
    let first = names.next();
    first.is_some_and(|first| names.any(|other| other != first))
}

/// `Coherence: 2`, the name being a few words.
fn named(tokens: &[Token], next: Option<&Line>) -> Option<Decimal> {
    let colon = tokens
        .iter()
        .take(6)
        .position(|token| *token == Token::Other(':'))?;
    let is_name = |token: &Token| matches!(token, Token::Word(_) | Token::Other('-'));
    if colon == 0 || !tokens[..colon].iter().all(is_name) {
        return None;
    }
    match &tokens[colon + 1..] {
        [] => next.and_then(|next| bare_number(&next.tokens)),
        [Token::Number(number), rest @ ..] if ends_score(rest) => Some(*number),
        _ => None,
    }
}
