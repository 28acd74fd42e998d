//! A page of the documentation as a terminal shows it: without marks, broken between words, within the width of the screen.

use std::mem::take;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::style::{Role, TextLayout};
use super::text::width;

/// Columns where there is no terminal, and the most that are used of one: longer lines are hard to read.
const COLUMNS: (usize, usize) = (80, 100);
/// The columns of the first cell of a row; what is longer stands on a line of its own.
const FIRST: usize = 22;

/// A row of a table: its first cell, and the others beside it, or below it where it is long.
fn row(screen: &TextLayout, first: &str, rest: &str) -> String {
    let rest = screen.wrap_beside(rest, FIRST);
    if width(first) > FIRST {
        return format!("{}\n{:FIRST$}{rest}\n", screen.wrap_beside(first, 0), "");
    }
    format!("{first:FIRST$}{rest}\n")
}

/// Renders a page of Markdown.
pub fn page(markdown: &str, screen: &TextLayout) -> String {
    let columns = screen.width.unwrap_or(COLUMNS.0).min(COLUMNS.1);
    let screen = TextLayout { width: Some(columns), ..*screen };
    // What is shown, the text of the block at hand, and what stands before its first line.
    let (mut shown, mut text, mut marker) = (String::new(), String::new(), String::new());
    // The lists around the block, each with the number of its next entry.
    let mut lists: Vec<Option<u64>> = Vec::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Text(part) => text += &part,
            Event::Code(code) => text += &format!("`{code}`"),
            Event::SoftBreak => text.push(' '),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                // The second word of a fence is the name of a file, or what a test does with it.
                let name = info.split_whitespace().nth(1).filter(|name| name.contains('.'));
                text = name.map_or_else(String::new, |name| format!("# {name}\n"));
            }
            Event::End(TagEnd::CodeBlock) => shown += &(textwrap::indent(&take(&mut text), "    ") + "\n"),
            Event::End(TagEnd::Heading(_)) => {
                shown += &format!("{}\n\n", screen.style.paint(Role::Strong, take(&mut text)));
            }
            // The first cell of a row is what the others are about.
            Event::Start(Tag::TableCell) if !marker.is_empty() && !text.is_empty() => text += "; ",
            Event::End(TagEnd::TableCell) if marker.is_empty() => {
                marker = format!("{:FIRST$}", take(&mut text))
            }
            Event::End(TagEnd::TableRow | TagEnd::TableHead) => {
                shown += &row(&screen, &take(&mut marker), &take(&mut text));
            }
            Event::End(TagEnd::Table) => shown.push('\n'),
            Event::Start(Tag::Item) => {
                marker = match lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{:>2}. ", *number - 1)
                    }
                    _ => "* ".to_owned(),
                };
                marker = " ".repeat(2 * lists.len().saturating_sub(1)) + &marker;
            }
            Event::End(TagEnd::Paragraph | TagEnd::Item)
            | Event::Start(Tag::List(_))
            | Event::End(TagEnd::List(_)) => {
                if !text.is_empty() {
                    let before = take(&mut marker);
                    shown += &format!("{before}{}\n", screen.wrap_beside(&take(&mut text), width(&before)));
                }
                match event {
                    Event::Start(Tag::List(first)) => lists.push(first),
                    Event::End(TagEnd::List(_)) => drop(lists.pop()),
                    _ => {}
                }
                if lists.is_empty() {
                    shown.push('\n');
                }
            }
            _ => {}
        }
    }
    shown
}
