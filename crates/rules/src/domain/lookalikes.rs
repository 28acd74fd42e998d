//! What names look like to people: characters that nobody sees, and names that cannot be told apart (semantics,
//! section 22).

use unicode_normalization::{UnicodeNormalization, is_nfc};
use unicode_security::confusable_detection::skeleton;

/// Whether a character makes others be read as something else than what they are: it turns their direction, breaks their
/// line, or spells a text that nobody sees (tags).
pub fn is_misleading(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character is not seen, or is misleading: soft hyphens, fillers, joiners, zero-width and bidirectional marks,
/// variation selectors, tags.
pub fn is_invisible(c: char) -> bool {
    is_misleading(c)
        || matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}')
}

/// A text of somebody else's without the byte order mark that some editors put before one.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The first character of a name that nobody would see, as `U+200B`. Within an emoji (behind a symbol) the joiner and the
/// selector of its picture are part of what is seen.
pub fn invisible_in(name: &str) -> Option<String> {
    let mut before = ' ';
    for c in name.chars() {
        let is_symbol = !before.is_ascii() && !before.is_alphanumeric();
        let is_of_emoji = matches!(c, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}') && is_symbol;
        if is_invisible(c) && !is_of_emoji {
            return Some(format!("U+{:04X}", u32::from(c)));
        }
        before = c;
    }
    None
}

/// A name in the one form in which names are compared (NFC): two ways to write `é` are one name. Case is kept.
pub fn folded(name: &str) -> String {
    name.nfc().collect()
}

/// Whether two names are the same one, however they are written.
pub fn is_same_name(one: &str, other: &str) -> bool {
    one == other || (!(is_nfc(one) && is_nfc(other)) && folded(one) == folded(other))
}

/// Whether two different names look alike: the same letters of other alphabets, other spaces, other dashes. Names of plain
/// ASCII are told apart by whoever types them (`Part I`, `Part l`).
pub fn look_alike(one: &str, other: &str) -> bool {
    one != other && !(one.is_ascii() && other.is_ascii()) && skeleton_of(one) == skeleton_of(other)
}

/// The form that all names that look alike share; some that do not look alike share it too, see [`look_alike`].
pub fn skeleton_of(name: &str) -> String {
    let shown: String = name.nfkc().filter(|c| !is_invisible(*c)).collect();
    let skeleton: String = skeleton(&shown).collect();
    skeleton.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_alike_is_told_from_what_is_the_same_and_from_what_is_not() {
        for (one, other) in [
            ("deploy", "d\u{435}ploy"),
            ("deploy", "deploy\u{200b}"),
            ("write docs", "write\u{a0}docs"),
            ("write docs", "write\u{2003}docs"),
            ("a-b", "a\u{2011}b"),
            ("a-b", "a\u{2010}b"),
            ("A", "\u{391}"),
            ("file", "\u{fb01}le"),
            ("ABC", "\u{ff21}\u{ff22}\u{ff23}"),
            ("caf\u{e9}", "c\u{430}f\u{e9}"),
            ("\u{2699} Build", "\u{2699}\u{fe0f} Build"),
        ] {
            assert!(look_alike(one, other) && look_alike(other, one), "{one:?} {other:?}");
            assert!(!is_same_name(one, other), "{one:?} {other:?}");
        }
        for (one, other) in [
            ("deploy", "Deploy"),
            ("Part I", "Part l"),
            ("modem", "modern"),
            ("\u{fc}ber", "uber"),
            ("\u{4e00}", "\u{4e8c}"),
        ] {
            assert!(!look_alike(one, other) && !is_same_name(one, other), "{one:?} {other:?}");
        }
        assert!(is_same_name("caf\u{e9}", "cafe\u{301}"));
    }

    #[test]
    fn what_nobody_sees_is_found_but_in_an_emoji() {
        for (name, found) in [
            ("plain", None),
            ("caf\u{e9} \u{4e00}", None),
            ("\u{2699}\u{fe0f} Build", None),
            ("\u{1f469}\u{200d}\u{1f4bb} review", None),
            ("a\u{200b}b", Some("U+200B")),
            ("a\u{200d}b", Some("U+200D")),
            ("\u{202e}abc", Some("U+202E")),
            ("a\u{ad}b", Some("U+00AD")),
            ("a\u{e0041}", Some("U+E0041")),
            ("a\u{2066}b\u{2069}", Some("U+2066")),
        ] {
            assert_eq!(invisible_in(name).as_deref(), found, "{name:?}");
        }
    }
}
