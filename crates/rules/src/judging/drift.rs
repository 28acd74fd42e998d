//! How far what an agent says is from what was asked of it, by the words of both (semantics, section 17). A hint for people, who
//! are warned; nothing is decided by it.

use std::collections::BTreeMap;

/// Below this much in common the two are about different things.
const LITTLE: f64 = 0.35;

/// How much two texts have in common, by the cosine of how often they use each word, where that is little; `None` where they
/// are near enough or one of them says nothing.
pub fn drift(said: &str, asked: &str) -> Option<f64> {
    let (said, asked) = (counts(said), counts(asked));
    let length =
        |words: &BTreeMap<String, f64>| words.values().map(|count| count * count).sum::<f64>().sqrt();
    let lengths = length(&said) * length(&asked);
    if lengths <= 0.0 {
        return None;
    }
    let shared = said.iter().filter_map(|(word, count)| Some(count * asked.get(word)?));
    // Of nothing the sum would be -0.
    let cosine = shared.fold(0.0, |sum, product| sum + product) / lengths;
    (cosine < LITTLE).then_some(cosine)
}

fn counts(text: &str) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words {
        *counts.entry(word.to_lowercase()).or_default() += 1.0;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::drift;

    #[test]
    fn texts_about_different_things_have_little_in_common() {
        assert_eq!(drift("The parser reads JSON", "the parser reads json!"), None);
        assert_eq!(drift("bananas are yellow", "the parser reads JSON"), Some(0.0));
        assert!(
            drift("the bananas are all yellow and sweet", "the parser reads JSON")
                .is_some_and(|much| much > 0.0)
        );
        assert_eq!(drift("", "the parser"), None);
        assert_eq!(drift("words", " - "), None);
    }
}
