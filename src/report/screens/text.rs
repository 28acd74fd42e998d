//! Text on a terminal: what others wrote made harmless, cut to a width, and times for people.

use std::borrow::Cow;

use chrono::{DateTime, Local};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use rules::domain::{
    Bar, CriterionGrade, CriterionResult, Millis, Points, Severity, Timestamp, is_misleading,
};

use super::style::Symbols;

/// Text that a worker, a reviewer or a mission's author wrote, made fit for one line of a terminal: escape sequences are
/// gone, characters that move the cursor, turn the reading direction or are not seen are shown as what they are, line ends
/// are blanks.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_unsafe(c) || is_of_emoji(c)) {
        return Cow::Borrowed(text);
    }
    // Line ends first: the stripper takes escape sequences with their arguments, which no table of characters can,
    // but it would glue lines together.
    let one_line = text.replace(['\n', '\r', '\t', '\u{2028}', '\u{2029}'], " ");
    let stripped = anstream::adapter::strip_str(&one_line).to_string();
    let mut safe = String::with_capacity(stripped.len());
    for c in stripped.chars().filter(|c| !is_of_emoji(*c)) {
        escape(c, &mut safe);
    }
    Cow::Owned(safe.trim().to_owned())
}

/// Adds a character as a terminal may get it: as it is, or as `\u{202e}` where the terminal would act on it or show
/// nothing (semantics, section 22).
pub fn escape(c: char, text: &mut String) {
    if is_unsafe(c) { text.extend(c.escape_unicode()) } else { text.push(c) }
}

/// Escapes a character within a JSON document, where such characters stand in texts only and their escapes mean
/// the same.
pub fn escape_json(c: char, text: &mut String) {
    if !is_unsafe(c) {
        return text.push(c);
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        text.push_str(&format!("\\u{unit:04x}"));
    }
}

/// Makes a text of several lines harmless; each line keeps its indentation.
pub fn sanitize_lines(text: &str) -> String {
    let lines = text.split('\n').map(sanitize_line);
    lines.collect::<Vec<_>>().join("\n")
}

/// Makes one line of a longer text harmless; its indentation stays.
pub fn sanitize_line(line: &str) -> String {
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    let (indent, line) = line.split_at(indent);
    format!("{}{}", indent.replace('\t', "    "), sanitize(line))
}

/// Control characters (C0 and C1), and those that make others be read as something else.
fn is_unsafe(c: char) -> bool {
    c.is_control() || is_misleading(c)
}

/// Whether a character joins or changes emoji: terminals disagree on the columns of the result, and a line of
/// unknown width breaks every table and the live area. The parts of such an emoji are shown side by side.
fn is_of_emoji(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{20e3}')
}

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text made harmless and cut to so many columns; a cut shows.
pub fn fit<'a>(text: &'a str, columns: usize, ellipsis: &str) -> Cow<'a, str> {
    let text = sanitize(text);
    if width(&text) <= columns {
        return text;
    }
    let room = columns.saturating_sub(width(ellipsis));
    let mut used = 0;
    let kept: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= room
        })
        .collect();
    // Where not even the sign of the cut fits, nothing is better than a line too long.
    if room == 0 {
        return Cow::Borrowed("");
    }
    Cow::Owned(format!("{}{ellipsis}", kept.trim_end()))
}

/// Rows of cells as lines, in columns that stand two blanks apart.
pub fn columns<R: AsRef<[String]>>(rows: &[R]) -> Vec<String> {
    let mut widths = Vec::new();
    for cells in rows.iter().map(AsRef::as_ref) {
        widths.resize(widths.len().max(cells.len()), 0);
        for (widest, cell) in widths.iter_mut().zip(cells) {
            *widest = width(cell).max(*widest);
        }
    }
    let line = |cells: &R| {
        let cells = cells.as_ref().iter().zip(&widths);
        let cells: String =
            cells.map(|(cell, widest)| format!("{cell}{}", " ".repeat(widest - width(cell) + 2))).collect();
        cells.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A text of others, as much of it as a person reads in passing. All of it stands where it was recorded.
pub fn short(text: &str) -> Cow<'_, str> {
    const MOST: usize = 400;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => Cow::Owned(format!("{}...", text[..end].trim_end())),
        None => Cow::Borrowed(text),
    }
}

/// Seconds with one decimal: `41.2s`.
pub fn seconds(span: Millis) -> String {
    // Integer arithmetic: tenths are cut, so a time never shows before it is over.
    format!("{}.{}s", span.0 / 1000, span.0 % 1000 / 100)
}

/// A span for people: seconds with one decimal below a minute, else as on a clock: `0.3s`, `16.1s`, `01:04`.
pub fn elapsed(span: Millis) -> String {
    if span.0 < 60_000 { seconds(span) } else { clock(span) }
}

/// A moment as people write it, by the clock of this machine: `01:57`, or with its day where that is not the day of
/// `from`: `Nov 25 09:00`.
pub fn time_of_day(at: Timestamp, from: Timestamp) -> String {
    let local = |at: Timestamp| {
        let millis = i64::try_from(at.0).ok()?;
        Some(DateTime::from_timestamp_millis(millis)?.with_timezone(&Local))
    };
    match (local(at), local(from)) {
        (Some(at), Some(from)) if at.date_naive() == from.date_naive() => at.format("%H:%M").to_string(),
        (Some(at), _) => at.format("%b %-d %H:%M").to_string(),
        (None, _) => at.to_rfc3339(),
    }
}

/// Minutes and seconds, with hours where there are any: `03:12`, `1:03:12`.
pub fn clock(span: Millis) -> String {
    let seconds = span.0 / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes:02}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A score and the bar it was held against: `78 >= 60`, `40 < 60`; the score alone where there is no bar.
pub fn against_bar(points: Points, bar: Option<Bar>, symbols: &Symbols) -> String {
    match bar {
        Some(bar) if bar.is_reached_by(points) => format!("{points} {} {}", symbols.reaches, bar.points),
        Some(bar) => format!("{points} < {}", bar.points),
        None => points.to_string(),
    }
}

/// At most two decimals, and none where there are none: `70.75`, `80`.
pub fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// How a finding begins: `[high]`, `[medium, still open]`
pub fn mark(severity: Severity, open: bool) -> String {
    let open = if open { ", still open" } else { "" };
    format!("[{}{open}]", severity.as_str())
}

/// `1 task`, `2 tasks`.
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// `2/3 criteria met, 1 not checked`.
pub fn criteria_words(grades: &[CriterionGrade]) -> String {
    let of = |result| grades.iter().filter(|grade| grade.result() == result).count();
    let mut words = format!("{}/{} criteria met", of(CriterionResult::Passed), grades.len());
    let unchecked = of(CriterionResult::Unchecked);
    if unchecked > 0 {
        append!(words, ", {unchecked} not checked");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_text_cannot_move_the_cursor_or_paint() {
        for (hostile, harmless) in [
            ("plain – ünïcode 日本", "plain – ünïcode 日本"),
            ("red \u{1b}[31mtitle\u{1b}[0m", "red title"),
            ("two\r\nlines\tand tab", "two  lines and tab"),
            ("\u{1b}]0;window title\u{7}rest", "rest"),
            ("back\u{8}\u{8}\u{7f}\u{9b}1A", r"back\u{9b}1A"),
            ("abc\u{202e}fed\u{2066}", r"abc\u{202e}fed\u{2066}"),
            ("tags\u{e0041}\u{e007f}", r"tags\u{e0041}\u{e007f}"),
            ("\u{1b}[2J\u{1b}[H", ""),
            ("👩\u{200d}👩\u{200d}👧 👍\u{1f3fd} ❤\u{fe0f} 1\u{fe0f}\u{20e3}", "👩👩👧 👍 ❤ 1"),
        ] {
            let seen = sanitize(hostile);
            assert!(!seen.chars().any(is_unsafe), "{hostile:?} -> {seen:?}");
            assert_eq!(seen, harmless, "{hostile:?}");
        }
    }

    #[test]
    fn what_is_shown_is_as_wide_as_its_characters() {
        for text in [
            "👩\u{200d}👩\u{200d}👧 family",
            "👍🏽 ok",
            "☺\u{fe0f} ☺\u{fe0e} ☺",
            "日本語",
            "e\u{301}",
            "1\u{fe0f}\u{20e3}",
        ] {
            let shown = sanitize(text);
            let columns: usize = shown.chars().filter_map(UnicodeWidthChar::width).sum();
            assert_eq!(width(&shown), columns, "{shown:?}");
        }
    }

    #[test]
    fn lines_keep_their_indentation_and_nothing_else() {
        assert_eq!(sanitize_lines("a\n   b\u{1b}[31m\u{7}c\r\n"), "a\n   bc\n");
        assert_eq!(sanitize_line("\t  if x:\u{8}"), "      if x:");
    }

    #[test]
    fn cuts_count_columns_and_show() {
        assert_eq!(fit("implement", 9, "..."), "implement");
        assert_eq!(fit("implement", 8, "..."), "imple...");
        assert_eq!(fit("日本語日本語", 7, "…"), "日本語…");
        assert_eq!(fit("implement", 2, "..."), "");
        for columns in 0..20 {
            assert!(width(&fit("日本語 and more", columns, "...")) <= columns);
        }
    }

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(Millis(41_299)), "41.2s");
        assert_eq!(clock(Millis(192_000)), "03:12");
        assert_eq!(clock(Millis(3_792_999)), "1:03:12");
        assert_eq!((count(1, "task"), count(0, "task")), ("1 task".into(), "0 tasks".into()));
    }
}
