//! Colours, symbols and the screen they go to.
//!
//! Colour is never the only signal: everything it says stands in words too. Without a terminal there is no colour and
//! nothing is cut; without a UTF-8 locale every symbol has an ASCII twin.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use anstyle::AnsiColor;

use super::text::fit;

/// The value of `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ColorChoice {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    Always,
    Never,
}

impl FromStr for ColorChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => Err(format!("'{text}' is not one of: auto, always, never")),
        }
    }
}

/// How text may look.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Style {
    /// Whether colours may be used.
    pub color: bool,
    /// Whether symbols outside ASCII may be used.
    pub unicode: bool,
}

impl Style {
    /// The style for an output: from `--color`, from whether it is a terminal, and from the environment
    /// (`NO_COLOR`, `CLICOLOR_FORCE`, `FORCE_COLOR`, `CLICOLOR`, `TERM`, the locale).
    pub fn resolve(choice: ColorChoice, terminal: bool, env: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| env(name).filter(|value| !value.is_empty());
        let mut forced = ["CLICOLOR_FORCE", "FORCE_COLOR"].into_iter().filter_map(set);
        let is_forced = forced.any(|value| value != "0");
        let color = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if set("NO_COLOR").is_some() => false,
            ColorChoice::Auto if is_forced => true,
            ColorChoice::Auto if set("CLICOLOR").is_some_and(|value| value == "0") => false,
            ColorChoice::Auto => terminal && set("TERM").is_some_and(|term| term != "dumb"),
        };
        // The first of the three that is set decides, as in setlocale(3).
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let unicode = locale.is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        Self { color, unicode }
    }

    /// The text in the colour of its role, where colours may be used.
    pub fn paint<T: fmt::Display>(self, role: Role, text: T) -> Painted<T> {
        Painted { style: self.color.then(|| role.style()), text }
    }

    /// The symbols that may be used.
    #[must_use]
    pub fn symbols(self) -> &'static Symbols {
        if self.unicode { &UNICODE } else { &ASCII }
    }
}

/// The role of a piece of text, which gives its colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role {
    /// Text about what is as it should be.
    Good,
    /// Text about a failure.
    Bad,
    /// To be looked at.
    Warn,
    /// Text about what is going on.
    Active,
    /// Text beside the point.
    Dim,
    /// To be seen first.
    Strong,
}

impl Role {
    fn style(self) -> anstyle::Style {
        match self {
            Self::Good => AnsiColor::Green.on_default().bold(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Warn => AnsiColor::Yellow.on_default().bold(),
            Self::Active => AnsiColor::Cyan.on_default().bold(),
            Self::Dim => anstyle::Style::new().dimmed(),
            Self::Strong => anstyle::Style::new().bold(),
        }
    }
}

/// Text with its colour; see [`Style::paint`].
#[derive(Debug, Clone, Copy)]
pub struct Painted<T> {
    style: Option<anstyle::Style>,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.style {
            Some(style) => write!(f, "{style}{}{style:#}", self.text),
            None => write!(f, "{}", self.text),
        }
    }
}

/// Symbols of one alphabet.
#[derive(Debug)]
pub struct Symbols {
    /// Between a score and the bar that it reaches.
    pub reaches: &'static str,
    /// Between parts of a line.
    pub separator: &'static str,
    /// Where a text was cut.
    pub ellipsis: &'static str,
    /// Where there is nothing to say.
    pub nothing: &'static str,
    /// A part of a bar that is done, and one that is not.
    pub full: &'static str,
    /// A part of a bar that is not done.
    pub empty: &'static str,
}

const UNICODE: Symbols =
    Symbols { reaches: "≥", separator: "·", ellipsis: "…", nothing: "–", full: "━", empty: "┄" };

const ASCII: Symbols =
    Symbols { reaches: ">=", separator: "|", ellipsis: "...", nothing: "-", full: "#", empty: "." };

/// The layout of an output: its style and its width.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TextLayout {
    /// Columns of the terminal; `None` where it is none: then nothing is cut and no lines are drawn.
    pub width: Option<usize>,
    /// How text may look there.
    pub style: Style,
}

impl TextLayout {
    /// The text made harmless and cut to the columns that are left after `used`.
    pub fn fit<'a>(&self, text: &'a str, used: usize) -> Cow<'a, str> {
        let columns = self.width.map_or(usize::MAX, |width| width.saturating_sub(used));
        fit(text, columns, self.style.symbols().ellipsis)
    }

    /// Text of several lines, broken between words where a line is too long. What follows a break is indented a little
    /// more than its line, or keeps the bar before quoted text. Words are never broken, because paths and commands are
    /// to be copied.
    pub fn wrap(&self, text: &str) -> String {
        self.wrap_by(text, 2)
    }

    /// Wraps prose: text behind a break begins at the left edge.
    pub fn wrap_flush(&self, text: &str) -> String {
        self.wrap_by(text, 0)
    }

    fn wrap_by(&self, text: &str, indent: usize) -> String {
        let Some(columns) = self.width else {
            return text.to_owned();
        };
        let wrap = |line: &str| {
            let blanks = line.len() - line.trim_start_matches(' ').len();
            let quoted = line[blanks..].starts_with("| ");
            let indent = if quoted { format!("{}| ", &line[..blanks]) } else { " ".repeat(blanks + indent) };
            textwrap::fill(line, wrap_options(columns).subsequent_indent(&indent))
        };
        text.split('\n').map(wrap).collect::<Vec<_>>().join("\n")
    }

    /// Text that begins `used` columns into a line and goes on below its beginning.
    pub fn wrap_beside(&self, text: &str, used: usize) -> String {
        // Where next to nothing is left of the line, what goes on begins further to the left.
        const LEAST: usize = 24;
        let Some(columns) = self.width else {
            return text.to_owned();
        };
        let below = if columns.saturating_sub(used) < LEAST { 4.min(columns / 2) } else { used };
        let before = " ".repeat(used);
        let options = wrap_options(columns).initial_indent(&before);
        let below = " ".repeat(below);
        let wrapped = textwrap::fill(text, options.subsequent_indent(&below));
        wrapped.strip_prefix(&before).unwrap_or(&wrapped).to_owned()
    }
}

/// Lines are broken between words, and words never: paths and commands are to be copied.
fn wrap_options<'a>(columns: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(columns)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(choice: ColorChoice, terminal: bool, env: &[(&str, &str)]) -> Style {
        Style::resolve(choice, terminal, |name| {
            let found = env.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn colour_follows_flag_then_environment_then_terminal() {
        use ColorChoice::{Always, Auto, Never};
        let term = ("TERM", "xterm");
        for (choice, terminal, env, color) in [
            (Auto, true, &[term][..], true),
            (Auto, false, &[term], false),
            (Auto, true, &[], false),
            (Auto, true, &[("TERM", "dumb")], false),
            (Auto, true, &[term, ("NO_COLOR", "1")], false),
            (Auto, true, &[term, ("NO_COLOR", "")], true),
            (Auto, true, &[term, ("CLICOLOR", "0")], false),
            (Auto, true, &[term, ("CLICOLOR", "1")], true),
            (Auto, false, &[("CLICOLOR_FORCE", "1")], true),
            (Auto, false, &[("CLICOLOR_FORCE", "0")], false),
            (Auto, false, &[("FORCE_COLOR", "1")], true),
            (Auto, false, &[("FORCE_COLOR", "0")], false),
            (Auto, false, &[("FORCE_COLOR", "3"), ("NO_COLOR", "1")], false),
            (Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
            (Always, false, &[("NO_COLOR", "1")], true),
            (Never, true, &[term, ("CLICOLOR_FORCE", "1")], false),
        ] {
            assert_eq!(resolve(choice, terminal, env).color, color, "{choice:?} {terminal} {env:?}");
        }
        assert_eq!("always".parse(), Ok(Always));
        assert!("yes".parse::<ColorChoice>().is_err());
    }

    #[test]
    fn symbols_follow_the_first_locale_that_is_set() {
        for (env, unicode) in [
            (&[("LANG", "de_DE.UTF-8")][..], true),
            (&[("LANG", "C.utf8")], true),
            (&[("LANG", "C.UTF-8"), ("LC_ALL", "C")], false),
            (&[("LANG", "C"), ("LC_CTYPE", "C.UTF-8")], true),
            (&[("LANG", "C.UTF-8"), ("LC_ALL", "")], true),
            (&[("LANG", "POSIX")], false),
            (&[], false),
        ] {
            assert_eq!(resolve(ColorChoice::Never, true, env).unicode, unicode, "{env:?}");
        }
    }

    #[test]
    fn paint_without_colour_is_the_text_alone() {
        let plain = Style::default();
        assert_eq!(plain.paint(Role::Bad, "FAIL").to_string(), "FAIL");
        let colored = Style { color: true, unicode: false };
        assert_eq!(colored.paint(Role::Dim, "x").to_string(), "\u{1b}[2mx\u{1b}[0m");
    }
}
