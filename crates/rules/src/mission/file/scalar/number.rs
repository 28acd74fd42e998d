//! Values that are numbers: whole ones, decimal ones, amounts of money, shares.

use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};
use std::ops::RangeInclusive;
use std::str::FromStr;

use rust_decimal::Decimal;

use crate::domain::{Money, Points};

use super::{JsonForm, Scalar, scalars};

/// A whole number in plain digits: no sign, no leading zero (which some readers take as octal).
fn digits<N: FromStr>(text: &str) -> Option<N> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

/// A whole number within `range`.
pub fn number_in<N: FromStr + PartialOrd>(text: &str, range: RangeInclusive<N>) -> Option<N> {
    digits(text).filter(|number| range.contains(number))
}

/// A decimal number from 0 to `most`.
fn decimal_to(text: &str, most: u32) -> Option<Decimal> {
    let number = Decimal::parse(text).ok()?;
    (Decimal::ZERO..=most.into()).contains(&number).then_some(number)
}

/// How often a check runs again.
pub struct Reruns(u32);

impl From<Reruns> for u32 {
    fn from(number: Reruns) -> Self {
        number.0
    }
}

/// A key of a dimension's rubric.
pub struct RubricLevel(pub u8);

/// A decimal number above zero: a weight, a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Positive(Decimal);

impl Positive {
    /// The number 1.
    pub const ONE: Self = Self(Decimal::ONE);

    /// A share of `percent` hundredths; at least one.
    pub fn percent(percent: u8) -> Self {
        Self(Decimal::new(percent.max(1).into(), 2))
    }

    pub fn get(self) -> Decimal {
        self.0
    }
}

/// A share: 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fraction(Points);

impl Fraction {
    /// The fraction as points: 0.7 is 70.
    pub fn points(self) -> Points {
        self.0
    }

    /// The share as a float from 0 to 1.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0.to_f64() / 100.0
    }
}

/// A sampling temperature.
pub struct Temperature(Decimal);

impl From<Temperature> for Decimal {
    fn from(temperature: Temperature) -> Self {
        temperature.0
    }
}

scalars! {
    u32: "a whole number from 0 to 4294967295", JsonForm::Whole(0, u32::MAX as u64), digits;
    u64: "a whole number, 0 or more", JsonForm::Whole(0, u64::MAX), digits;
    NonZeroU16: "a whole number from 1 to 65535", JsonForm::Whole(1, u16::MAX as u64), digits;
    NonZeroU32: "a whole number from 1 to 4294967295", JsonForm::Whole(1, u32::MAX as u64), digits;
    NonZeroU64: "a whole number from 1", JsonForm::Whole(1, u64::MAX), digits;
    Reruns: "a number of reruns from 0 to 5", JsonForm::Whole(0, 5), |text| number_in(text, 0..=5).map(Self);
    RubricLevel: "a level of the scale: 1, 2, 3, 4 or 5", JsonForm::Whole(1, 5),
        |text| number_in(text, 1..=5).map(Self);
    // `from_str_exact` refuses what it would have to round.
    Decimal: "a number", JsonForm::Number { above: None, least: None, most: None },
        |text| Self::from_str_exact(text).or_else(|_| Self::from_scientific(text)).ok();
    Positive: "a number above 0 and at most 1000000",
        JsonForm::Number { above: Some(0), least: None, most: Some(1_000_000) },
        |text| decimal_to(text, 1_000_000).filter(|number| !number.is_zero()).map(Self);
    Money: "an amount from 0 to 1000000", JsonForm::number(0, 1_000_000),
        |text| decimal_to(text, 1_000_000).and_then(Self::new);
    Fraction: "a number from 0 to 1", JsonForm::number(0, 1),
        |text| decimal_to(text, 1).and_then(|number| Points::new(number * Decimal::ONE_HUNDRED)).map(Self);
    Temperature: "a number from 0 to 2", JsonForm::number(0, 2), |text| decimal_to(text, 2).map(Self);
}
