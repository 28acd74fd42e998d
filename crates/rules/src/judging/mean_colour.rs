//! The mean colour of a picture's region against the one that is expected (semantics, section 15). Exact: sums of bytes
//! and decimal numbers, never binary floats.

use rust_decimal::Decimal;

use crate::domain::Points;
use crate::mission::model::Color;

/// Sums of the three channels over so many pixels.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sum {
    /// The sums of red, green and blue.
    pub channels: [u64; 3],
    pub pixels: u64,
}

/// The square of the greatest distance of two colours: from black to white.
const LARGEST_SQUARE: u32 = 3 * 255 * 255;

impl Sum {
    /// Adds one more pixel.
    pub fn add(&mut self, pixel: [u8; 3]) {
        for (sum, value) in self.channels.iter_mut().zip(pixel) {
            *sum += u64::from(value);
        }
        self.pixels += 1;
    }

    /// The mean; `None` without any pixel.
    pub fn mean(&self) -> Option<[Decimal; 3]> {
        (self.pixels > 0).then(|| {
            let pixels = Decimal::from(self.pixels);
            self.channels.map(|sum| Decimal::from(sum) / pixels)
        })
    }
}

/// Whether a mean colour is as near to `expected` as `tolerance`, a share of the greatest distance there is, allows.
pub fn is_near(mean: [Decimal; 3], expected: Color, tolerance: Points) -> bool {
    let share = tolerance.value() / Decimal::ONE_HUNDRED;
    distance_square(mean, expected) <= share * share * Decimal::from(LARGEST_SQUARE)
}

fn distance_square(mean: [Decimal; 3], expected: Color) -> Decimal {
    let channels = mean.into_iter().zip(expected.0);
    let squares = channels.map(|(mean, wanted)| {
        let off = mean - Decimal::from(wanted);
        off * off
    });
    squares.sum()
}

/// A mean colour as it is written: `#a0b1c2`.
pub fn written(mean: [Decimal; 3]) -> String {
    let channel = |value: Decimal| u8::try_from(value.round()).unwrap_or(u8::MAX);
    Color(mean.map(channel)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mean_of(pixels: &[[u8; 3]]) -> [Decimal; 3] {
        let mut sum = Sum::default();
        pixels.iter().for_each(|pixel| sum.add(*pixel));
        sum.mean().unwrap()
    }

    #[test]
    fn the_mean_is_exact_and_so_is_the_bound() {
        assert_eq!(Sum::default().mean(), None);
        let mean = mean_of(&[[0, 0, 0], [255, 255, 255]]);
        assert_eq!(written(mean), "#808080");
        // Black against white is the greatest distance: just within a tolerance of 1, beyond any other.
        let black = mean_of(&[[0, 0, 0]]);
        assert!(is_near(black, Color([255; 3]), Points::whole(100)));
        assert!(!is_near(black, Color([255; 3]), Points::whole(99)));
        // One fifth of it in every channel is one fifth of it in all.
        assert!(is_near(black, Color([51; 3]), Points::whole(20)));
        assert!(!is_near(black, Color([52; 3]), Points::whole(20)));
        assert!(is_near(black, Color([0; 3]), Points::ZERO));
        // A quarter of the square of the greatest distance is 48,768.75.
        assert!(!is_near(black, Color([220, 15, 12]), Points::whole(50)));
        assert!(is_near(black, Color([220, 15, 11]), Points::whole(50)));
    }

    proptest! {
        #[test]
        fn a_wider_tolerance_never_finds_more(pixel: [u8; 3], wanted: [u8; 3], narrow in 0u8..=100, more in 0u8..=100) {
            let mean = mean_of(&[pixel]);
            let wide = narrow.saturating_add(more).min(100);
            let near = |tolerance| is_near(mean, Color(wanted), Points::whole(tolerance));
            prop_assert!(!near(narrow) || near(wide));
            prop_assert!(near(100));
        }
    }
}
