//! Values that are numbers: whole ones, decimal ones, amounts of money, shares.

use std::num::{NonZeroU16, NonZeroU32};
use std::str::FromStr;

use rust_decimal::Decimal;

use crate::domain::{Money, Points};

use super::{Fault, Form, Scalar};

/// A whole number in plain digits: no sign, no leading zero (which some readers take as octal).
fn digits<N: FromStr + Scalar>(text: &str) -> Result<N, Fault> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain {
        text.parse().map_err(|_| Fault::expected::<N>(text))
    } else {
        Err(Fault::expected::<N>(text))
    }
}

impl Scalar for u32 {
    const EXPECTS: &'static str = "a whole number from 0 to 4294967295";
    const FORM: Form = Form::Whole(0, u32::MAX as u64);

    fn parse(text: &str) -> Result<Self, Fault> {
        digits(text)
    }
}

impl Scalar for u64 {
    const EXPECTS: &'static str = "a whole number, 0 or more";
    const FORM: Form = Form::Whole(0, u64::MAX);

    fn parse(text: &str) -> Result<Self, Fault> {
        digits(text)
    }
}

/// A whole number from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtLeastOne(u64);

impl From<AtLeastOne> for u64 {
    fn from(number: AtLeastOne) -> Self {
        number.0
    }
}

impl Scalar for AtLeastOne {
    const EXPECTS: &'static str = "a whole number from 1";
    const FORM: Form = Form::Whole(1, u64::MAX);

    fn parse(text: &str) -> Result<Self, Fault> {
        match u64::parse(text) {
            Ok(number) if number > 0 => Ok(Self(number)),
            _ => Err(Fault::expected::<Self>(text)),
        }
    }
}

impl Scalar for NonZeroU16 {
    const EXPECTS: &'static str = "a whole number from 1 to 65535";
    const FORM: Form = Form::Whole(1, u16::MAX as u64);

    fn parse(text: &str) -> Result<Self, Fault> {
        digits(text)
    }
}

impl Scalar for NonZeroU32 {
    const EXPECTS: &'static str = "a whole number from 1 to 4294967295";
    const FORM: Form = Form::Whole(1, u32::MAX as u64);

    fn parse(text: &str) -> Result<Self, Fault> {
        digits(text)
    }
}

/// A whole number within `range`.
pub fn number_in<T: Scalar>(text: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32, Fault> {
    u32::parse(text)
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| Fault::expected::<T>(text))
}

/// How often a check runs again.
pub struct Reruns(u32);

impl From<Reruns> for u32 {
    fn from(number: Reruns) -> Self {
        number.0
    }
}

impl Scalar for Reruns {
    const EXPECTS: &'static str = "a number of reruns from 0 to 5";
    const FORM: Form = Form::Whole(0, 5);

    fn parse(text: &str) -> Result<Self, Fault> {
        number_in::<Self>(text, 0..=5).map(Self)
    }
}

/// A key of a dimension's rubric.
pub struct RubricLevel(pub u8);

impl Scalar for RubricLevel {
    const EXPECTS: &'static str = "a level of the scale: 1, 2, 3, 4 or 5";
    const FORM: Form = Form::Whole(1, 5);

    fn parse(text: &str) -> Result<Self, Fault> {
        match text {
            "1" => Ok(Self(1)),
            "2" => Ok(Self(2)),
            "3" => Ok(Self(3)),
            "4" => Ok(Self(4)),
            "5" => Ok(Self(5)),
            _ => Err(Fault::expected::<Self>(text)),
        }
    }
}

impl Scalar for Decimal {
    const EXPECTS: &'static str = "a number";
    const FORM: Form = Form::Number {
        above: None,
        least: None,
        most: None,
    };

    fn parse(text: &str) -> Result<Self, Fault> {
        // from_str_exact refuses what it would have to round.
        Self::from_str_exact(text)
            .or_else(|_| Self::from_scientific(text))
            .map_err(|_| Fault::expected::<Self>(text))
    }
}

/// A decimal number above zero: a weight, a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Positive(Decimal);

impl Positive {
    /// The number 1.
    pub const ONE: Self = Self(Decimal::ONE);

    /// So many hundredths; at least one.
    pub fn percent(percent: u8) -> Self {
        Self(Decimal::new(percent.max(1).into(), 2))
    }

    /// The number.
    pub fn get(self) -> Decimal {
        self.0
    }
}

impl Scalar for Positive {
    const EXPECTS: &'static str = "a number above 0 and at most 1000000";
    const FORM: Form = Form::Number {
        above: Some(0),
        least: None,
        most: Some(1_000_000),
    };

    fn parse(text: &str) -> Result<Self, Fault> {
        Decimal::parse(text)
            .ok()
            .filter(|number| Decimal::ZERO < *number && *number <= Decimal::from(1_000_000))
            .map(Self)
            .ok_or_else(|| Fault::expected::<Self>(text))
    }
}

impl Scalar for Money {
    const EXPECTS: &'static str = "an amount from 0 to 1000000";
    const FORM: Form = Form::number(0, 1_000_000);

    fn parse(text: &str) -> Result<Self, Fault> {
        Decimal::parse(text)
            .ok()
            .filter(|amount| *amount <= Decimal::from(1_000_000))
            .and_then(Self::new)
            .ok_or_else(|| Fault::expected::<Self>(text))
    }
}

/// A share: 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fraction(Points);

impl Fraction {
    /// The same as points: 0.7 is 70.
    pub fn points(self) -> Points {
        self.0
    }

    /// The number.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0.to_f64() / 100.0
    }
}

impl Scalar for Fraction {
    const EXPECTS: &'static str = "a number from 0 to 1";
    const FORM: Form = Form::number(0, 1);

    fn parse(text: &str) -> Result<Self, Fault> {
        Decimal::parse(text)
            .ok()
            .filter(|number| (Decimal::ZERO..=Decimal::ONE).contains(number))
            .and_then(|number| Points::new(number * Decimal::ONE_HUNDRED))
            .map(Self)
            .ok_or_else(|| Fault::expected::<Self>(text))
    }
}

/// A sampling temperature.
pub struct Temperature(Decimal);

impl From<Temperature> for Decimal {
    fn from(temperature: Temperature) -> Self {
        temperature.0
    }
}

impl Scalar for Temperature {
    const EXPECTS: &'static str = "a number from 0 to 2";
    const FORM: Form = Form::number(0, 2);

    fn parse(text: &str) -> Result<Self, Fault> {
        Decimal::parse(text)
            .ok()
            .filter(|number| (Decimal::ZERO..=Decimal::TWO).contains(number))
            .map(Self)
            .ok_or_else(|| Fault::expected::<Self>(text))
    }
}
