//! Plain decimal numbers.

use std::str::FromStr;

use rust_decimal::Decimal;

/// Digits that a score may have before and after the point. More is not a score but something else.
const MAX_DIGITS: usize = 6;

/// A plain decimal number at the start of the text, and what follows it.
pub fn take_number(text: &str) -> Option<(Decimal, &str)> {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let whole = digits(text);
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    if whole == 0 || whole > MAX_DIGITS || fraction > MAX_DIGITS {
        return None;
    }
    // A point without digits behind it ends a sentence.
    let length = if fraction > 0 { whole + 1 + fraction } else { whole };
    let (number, rest) = text.split_at(length);
    // 1.2.3 is a version, 72nd an ordinal, 7e1 a float, 1,5 is read differently in different countries.
    let follows = rest.chars().next();
    let glued = follows.is_some_and(char::is_alphanumeric);
    let continued = rest.strip_prefix(['.', ',']).is_some_and(|more| digits(more) > 0);
    if glued || continued {
        return None;
    }
    Decimal::from_str(number).ok().map(|number| (number, rest))
}

/// The number, if the text is nothing else.
pub fn number_in(text: &str) -> Option<Decimal> {
    take_number(text).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number)
}
