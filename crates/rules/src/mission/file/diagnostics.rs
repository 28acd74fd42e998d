//! What is wrong with a file, ready to be shown: as text like a compiler's, or as JSON.
//!
//! A [`Diagnostic`] carries its own copy of the source lines it points at, cut to a readable length and free of
//! control characters. So the file can be dropped once it is read, and nothing from it reaches a terminal unfiltered.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use schemars::JsonSchema;
use serde::Serialize;

use super::codes::Code;
use super::shown_text::{ascii, char_start, printable};

/// How many diagnostics are shown; the rest are counted.
const SHOWN: usize = 20;

worded! {
    /// How much a diagnostic weighs.
    #[derive(PartialOrd, Ord)]
    pub enum DiagnosticSeverity {
        /// The file cannot be used.
        Error = "error",
        /// Probably not what was meant.
        Warning = "warning",
    }
}

/// A place in a file, with the line it lies on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The marked text as it stands in the file, its first line only.
    pub text: String,
    excerpt: SourceExcerpt,
}

/// The part of a source line that is shown: printable, and short even if the line is not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SourceExcerpt {
    line: String,
    /// Byte range of the marked text within `line`.
    mark: (usize, usize),
    /// Whether the beginning of the line is missing, so that columns cannot be counted in it.
    is_cut: bool,
}

/// Where the lines of a text begin, so that many places are found without reading the text again for each.
pub struct LineStarts<'s> {
    source: &'s str,
    starts: Vec<usize>,
    /// Ranges of the text that must not be shown, in bytes.
    hidden: Vec<Range<usize>>,
}

impl<'s> LineStarts<'s> {
    /// `hidden`: the secrets of the file; they are shown as stars.
    pub fn new(source: &'s str, hidden: Vec<Range<usize>>) -> Self {
        let breaks = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { source, starts: std::iter::once(0).chain(breaks).collect(), hidden }
    }

    /// The bytes `range` of the source, secrets replaced by as many stars.
    fn shown(&self, range: Range<usize>) -> Cow<'s, str> {
        let text = &self.source[range.clone()];
        let overlaps = |secret: &&Range<usize>| secret.start < range.end && range.start < secret.end;
        if !self.hidden.iter().any(|secret| overlaps(&secret)) {
            return Cow::Borrowed(text);
        }
        let is_hidden = |at: usize| self.hidden.iter().any(|secret| secret.contains(&(range.start + at)));
        let stars = text.char_indices().flat_map(|(at, c)| {
            let (shown, times) = if is_hidden(at) { ('*', c.len_utf8()) } else { (c, 1) };
            std::iter::repeat_n(shown, times)
        });
        Cow::Owned(stars.collect())
    }

    /// The place of the bytes `range`; a range beyond the end, or inside a character, is moved to fit.
    pub fn spot(&self, range: Range<usize>) -> Location {
        let start = char_start(self.source, range.start);
        let line = self.starts.partition_point(|line_start| *line_start <= start);
        // `starts` begins with 0, so at least one start is not after `start`.
        let line_start = self.starts[line - 1];
        let line_end = self.source[start..].find(['\n', '\r']).map_or(self.source.len(), |at| start + at);
        let end = char_start(self.source, range.end).min(line_end).max(start);
        Location {
            line,
            column: self.source[line_start..start].chars().count() + 1,
            text: printable(&self.shown(start..end), 200),
            excerpt: SourceExcerpt::cut(
                &self.shown(line_start..line_end),
                start - line_start..end - line_start,
            ),
        }
    }
}

impl SourceExcerpt {
    /// Characters kept before the mark, of the mark itself, and after it. The renderer cuts further to the width of
    /// a terminal; this is about lines that are no lines at all.
    const KEPT: (usize, usize, usize) = (300, 80, 300);

    fn cut(line: &str, mark: Range<usize>) -> Self {
        let (before, marked, after) = (&line[..mark.start], &line[mark.clone()], &line[mark.end..]);
        let skipped = before.chars().count().saturating_sub(Self::KEPT.0);
        let mut text = String::new();
        if skipped > 0 {
            text.push_str("...");
        }
        text.push_str(&printable(&before.chars().skip(skipped).collect::<String>(), Self::KEPT.0));
        let from = text.len();
        text.push_str(&printable(marked, Self::KEPT.1));
        let to = text.len();
        text.push_str(&printable(after, Self::KEPT.2));
        Self { line: text, mark: (from, to), is_cut: skipped > 0 }
    }
}

/// One thing that is wrong with, or worth knowing about, a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The stable code of the problem.
    pub code: Code,
    /// Whether the problem refuses the file or only warns.
    pub severity: DiagnosticSeverity,
    /// The problem in one sentence without a full stop.
    pub message: String,
    /// The file as the user named it.
    pub file: Arc<str>,
    /// The place of the problem; `None` if it concerns the file as a whole.
    pub spot: Option<Location>,
    /// The words right under the marked text.
    pub label: Option<String>,
    /// Another place that matters, and the words under it.
    pub related: Option<(Location, String)>,
    /// The text to write instead, or another way to mend the problem.
    pub help: Option<String>,
}

/// A diagnostic in a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiagnosticRow<'a> {
    /// The stable code of the problem, which `quorum explain` explains.
    pub code: &'static str,
    /// The severity: `error` or `warning`.
    pub severity: &'static str,
    /// The problem in one sentence.
    pub message: &'a str,
    /// The file as the user named it.
    pub file: &'a str,
    /// The line, from 1; `null` if the problem concerns the file as a whole.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// The text that is meant.
    pub text: Option<&'a str>,
    /// The text to write instead, or another way to mend the problem.
    pub help: Option<&'a str>,
}

impl Diagnostic {
    /// An error about the file as a whole.
    pub fn about_file(
        file: &Arc<str>,
        code: Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity: DiagnosticSeverity::Error,
            message: message.into(),
            file: Arc::clone(file),
            spot: None,
            label: None,
            related: None,
            help: Some(help.into()),
        }
    }

    /// The machine-readable form, one object of the `diagnostics` array.
    pub fn row(&self) -> DiagnosticRow<'_> {
        DiagnosticRow {
            code: self.code.as_str(),
            severity: self.severity.as_str(),
            message: &self.message,
            file: &self.file,
            line: self.spot.as_ref().map(|spot| spot.line),
            column: self.spot.as_ref().map(|spot| spot.column),
            text: self.spot.as_ref().map(|spot| spot.text.as_str()),
            help: self.help.as_deref(),
        }
    }

    /// The form for people, without a trailing newline.
    pub fn render(&self, style: DiagnosticStyle) -> String {
        let fit = |text: &str| if style.ascii { ascii(text) } else { text.to_owned() };
        let level = match self.severity {
            DiagnosticSeverity::Error => Level::ERROR,
            DiagnosticSeverity::Warning => Level::WARNING,
        };
        let title = level.primary_title(fit(&self.message)).id(self.code.as_str());
        let file = fit(&printable(&self.file, 200));
        let group = match &self.spot {
            None => title.element(Origin::path(file)),
            Some(spot) => {
                let mut group = Group::with_title(title);
                if spot.excerpt.is_cut {
                    group =
                        group.element(Origin::path(file.clone()).line(spot.line).char_column(spot.column));
                }
                for snippet in self.snippets(spot, style.ascii) {
                    group =
                        group.element(if spot.excerpt.is_cut { snippet } else { snippet.path(file.clone()) });
                }
                group
            }
        };
        let group = self.with_help(group, fit);
        renderer(style).render(&[group])
    }

    /// The lines to show, in the order of the file: that of the problem and that of the related place, which may be
    /// the same.
    fn snippets(&self, spot: &Location, ascii_only: bool) -> Vec<Snippet<'static, Annotation<'static>>> {
        let fit = |text: &str| if ascii_only { ascii(text) } else { text.to_owned() };
        let mut marks = vec![(spot, AnnotationKind::Primary, self.label.as_deref())];
        if let Some((other, label)) = &self.related {
            marks.push((other, AnnotationKind::Context, Some(label.as_str())));
        }
        marks.sort_by_key(|(place, _, _)| (place.line, place.column));
        let mut lines: Vec<(String, usize, Vec<Annotation<'static>>)> = Vec::new();
        for (place, kind, label) in marks {
            let (text, mark) = place.excerpt.fitted(ascii_only);
            let annotation = kind.span(mark).label(label.map(fit));
            match lines.last_mut().filter(|(line, number, _)| (line, *number) == (&text, place.line)) {
                Some((_, _, annotations)) => annotations.push(annotation),
                None => lines.push((text, place.line, vec![annotation])),
            }
        }
        let snippet = |(text, number, annotations): (String, usize, Vec<_>)| {
            Snippet::source(text).line_start(number).annotations(annotations)
        };
        lines.into_iter().map(snippet).collect()
    }

    fn with_help<'a>(&self, group: Group<'a>, fit: impl Fn(&str) -> String) -> Group<'a> {
        match &self.help {
            Some(help) => group.element(Level::HELP.message(fit(help))),
            None => group,
        }
    }
}

impl SourceExcerpt {
    /// The line and the mark, both in the characters that the terminal can show.
    fn fitted(&self, to_ascii: bool) -> (String, Range<usize>) {
        let (from, to) = self.mark;
        if !to_ascii {
            return (self.line.clone(), from..to);
        }
        let before = ascii(&self.line[..from]);
        let marked = ascii(&self.line[from..to]);
        let range = before.len()..before.len() + marked.len();
        (before + &marked + &ascii(&self.line[to..]), range)
    }
}

/// How diagnostics are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DiagnosticStyle {
    /// Whether ANSI colours are used.
    pub color: bool,
    /// With ASCII characters only, for terminals that are not UTF-8.
    pub ascii: bool,
    /// Columns of the terminal, to which source lines are cut; `None` where it is none.
    pub columns: Option<usize>,
}

fn renderer(style: DiagnosticStyle) -> Renderer {
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    match style.columns {
        Some(columns) => renderer.term_width(columns),
        None => renderer,
    }
}

/// All diagnostics for people: the first twenty, the number of the others, and a last line that sums up.
pub fn render_all(diagnostics: &[Diagnostic], more: usize, style: DiagnosticStyle) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics.iter().take(SHOWN) {
        text.push_str(&diagnostic.render(style));
        text.push_str("\n\n");
    }
    let hidden = diagnostics.len().saturating_sub(SHOWN) + more;
    if hidden > 0 {
        // Writing to a String cannot fail.
        append_line!(text, "... and {hidden} more\n");
    }
    text.truncate(text.trim_end().len());
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(source: &str, range: Range<usize>) -> Diagnostic {
        Diagnostic {
            code: Code::BadValue,
            severity: DiagnosticSeverity::Error,
            message: "the value is bad".to_owned(),
            file: "m.yaml".into(),
            spot: Some(LineStarts::new(source, vec![]).spot(range)),
            label: Some("here".to_owned()),
            related: None,
            help: Some("write a good one".to_owned()),
        }
    }

    #[test]
    fn it_looks_like_a_compilers() {
        insta::assert_snapshot!(at("name: x\ntasks: 7\n", 15..16).render(DiagnosticStyle::default()));
    }

    #[test]
    fn long_lines_are_cut_and_columns_stay_true() {
        let source = format!("k: {}BAD{}", "é".repeat(5_000), "y".repeat(5_000));
        let start = source.find("BAD").unwrap();
        let diagnostic = at(&source, start..start + 3);
        assert_eq!(diagnostic.spot.as_ref().unwrap().column, 5_004);
        let text = diagnostic.render(DiagnosticStyle::default());
        assert!(text.len() < 1_000 && text.contains("BAD") && text.contains("m.yaml:1:5004"), "{text}");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let source = "a\u{1b}[2Jb: \u{7}x\u{9b}y\u{202e}z";
        for style in
            [DiagnosticStyle::default(), DiagnosticStyle { ascii: true, ..DiagnosticStyle::default() }]
        {
            let text = at(source, 4..source.len()).render(style);
            assert!(!text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text:?}");
        }
    }

    #[test]
    fn ascii_style_is_ascii() {
        let text =
            at("name: größe\n", 6..13).render(DiagnosticStyle { ascii: true, ..DiagnosticStyle::default() });
        assert!(text.is_ascii(), "{text}");
    }

    #[test]
    fn json_has_the_stable_keys() {
        insta::assert_snapshot!(json!(at("name: x\n", 6..7).row()));
    }

    #[test]
    fn more_than_twenty_are_counted() {
        let many = vec![at("name: x\n", 6..7); 25];
        assert!(render_all(&many, 3, DiagnosticStyle::default()).ends_with("... and 8 more\n"));
        assert_eq!(render_all(&[], 0, DiagnosticStyle::default()), "");
    }
}
