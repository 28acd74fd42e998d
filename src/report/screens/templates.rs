//! Screens as templates: a screen's text lies beside its code, its values are those of its document.
//!
//! What a template prints is made harmless where it is printed, unless a filter of this file or a part of the template
//! itself made it: nobody can forget it.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior};

use super::style::{Role, TextLayout};
use super::text::{columns, count, elapsed, number, sanitize, sanitize_line, seconds, width};
use rules::domain::Millis;

/// The filters that paint, by name.
const ROLES: [(&str, Role); 5] = [
    ("good", Role::Good),
    ("bad", Role::Bad),
    ("warn", Role::Warn),
    ("dim", Role::Dim),
    ("strong", Role::Strong),
];

/// The text of a screen that is one template.
pub fn render(screen: &TextLayout, template: &str, values: Value) -> Result<String, Error> {
    environment(screen)?.render_str(template, values)
}

/// An engine for the templates of a screen.
pub fn environment<'t>(screen: &TextLayout) -> Result<Environment<'t>, Error> {
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    environment.set_syntax(syntax.build()?);
    // Documents leave fields out that have no value: templates may ask for them, and print none of them.
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("screen".into()));
    environment.set_formatter(|out, _, value| out.write_str(&harmless(value)).map_err(Error::from));
    environment.remove_filter("safe");
    environment.add_filter("join", join);
    environment.add_filter("lines", lines);
    environment.add_filter("columns", table);
    environment.add_filter("count", |number: u64, noun: &str| {
        count(usize::try_from(number).unwrap_or(usize::MAX), noun)
    });
    environment.add_filter("decimals", number);
    environment.add_filter("span", |millis: u64| Millis(millis).to_string());
    environment.add_filter("seconds", |millis: u64| seconds(Millis(millis)));
    environment.add_filter("elapsed", |millis: u64| elapsed(Millis(millis)));
    environment.add_filter("width", |text: &Value| width(&harmless(text)));
    environment.add_filter("pad", |text: &Value, columns: usize| {
        let text = harmless(text);
        let gap = " ".repeat(columns.saturating_sub(width(&text)));
        Value::from_safe_string(text + &gap)
    });
    let style = screen.style;
    environment.add_global("nothing", style.symbols().nothing);
    environment.add_global("reaches", style.symbols().reaches);
    let screen = *screen;
    let mut add = |name, change: fn(&TextLayout, &str) -> String| {
        let filter = move |text: Value| Value::from_safe_string(change(&screen, &harmless(&text)));
        environment.add_filter(name, filter);
    };
    add("wrap", |screen, text| screen.wrap(text.trim_end()));
    add("prose", TextLayout::wrap_flush);
    add("letters", letters);
    environment.add_filter("fit", move |text: &Value, used: Option<usize>| {
        Value::from_safe_string(screen.fit(&harmless(text), used.unwrap_or(0)).into_owned())
    });
    for (name, role) in ROLES {
        let paint = move |text: Value| {
            let text = harmless(&text);
            let lines = text.split('\n').map(|line| style.paint(role, line).to_string());
            Value::from_safe_string(lines.collect::<Vec<_>>().join("\n"))
        };
        environment.add_filter(name, paint);
    }
    Ok(environment)
}

/// A value as a screen may get it. Whole numbers have no decimals.
pub fn harmless(value: &Value) -> String {
    let text = value.to_string();
    match value.kind() {
        ValueKind::None => String::new(),
        ValueKind::Number => text.strip_suffix(".0").unwrap_or(&text).to_owned(),
        _ if value.is_safe() => text,
        _ => sanitize(&text).into_owned(),
    }
}

/// Our own words in the letters of the screen.
fn letters(screen: &TextLayout, text: &str) -> String {
    if screen.style.unicode {
        return text.to_owned();
    }
    text.replace('…', screen.style.symbols().ellipsis).replace('–', "-")
}

fn join(values: Vec<Value>, between: &str) -> Value {
    let values: Vec<String> = values.iter().map(harmless).collect();
    Value::from_safe_string(values.join(between))
}

/// The lines of a table, with its cells one below the other. In the text a tab stands between them.
fn table(text: &Value) -> Vec<Value> {
    let text = harmless(text);
    let cells = |row: &str| row.split('\t').map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = text.lines().map(cells).collect();
    columns(&rows).into_iter().map(Value::from_safe_string).collect()
}

/// The lines of a text, each with its indentation.
fn lines(text: &Value) -> Vec<Value> {
    let is_safe = text.is_safe();
    let lines = text.as_str().unwrap_or_default().trim_end().lines();
    let lines = lines.map(|line| if is_safe { line.to_owned() } else { sanitize_line(line) });
    lines.map(Value::from_safe_string).collect()
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;

    fn rendered(template: &str) -> Result<String, Error> {
        let values = context! {
            hostile => "a\u{1b}[31m\u{7}\nb",
            lines => "  a\u{1b}[2J\n\tb\n",
            list => ["x\ny", "z"],
            none => None::<u8>,
        };
        render(&TextLayout::default(), template, values)
    }

    #[test]
    fn what_a_template_prints_is_harmless_and_whole_numbers_have_no_decimals() {
        for (template, text) in [
            ("{{ hostile }}\n", "a b\n"),
            ("{% filter strong %}<{{ hostile }}>{% endfilter %}", "<a b>"),
            ("{{ hostile|strong }}", "a b"),
            ("{{ list|join(', ') }}", "x y, z"),
            ("{% for line in lines|lines %}{{ line }};{% endfor %}", "  a;    b;"),
            (
                "{% set table %}a\tbc\naa\tb{% endset %}{% for row in table|columns %}{{ row }};{% endfor %}",
                "a   bc;aa  b;",
            ),
            ("{{ 80.0 }} {{ 72.5 }} {{ 100 }}{{ none }}", "80 72.5 100"),
            ("{% if unknown %}a{% endif %}", ""),
        ] {
            assert_eq!(rendered(template).unwrap(), text, "{template}");
        }
        assert!(rendered("{{ hostile|safe }}").is_err());
        assert!(rendered("{{ unknown }}").is_err());
    }
}
