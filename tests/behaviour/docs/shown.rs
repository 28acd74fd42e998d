//! What a page shows of a screen, against what was printed.

use regex::Regex;

/// The first line that is shown and was not printed. Lines that follow each other on the page follow each other on the
/// screen; a line `…` stands for any lines, `…` in a line for anything. Times, ids of runs and the number of tasks at a time
/// are those of the machine; widths of columns do not matter.
pub fn what_is_not_printed(shown: &str, printed: &str) -> Option<String> {
    let printed: Vec<String> = lines(printed);
    let mut from = 0;
    let shown = lines(shown);
    for group in shown.split(|line| line == "…").filter(|group| !group.is_empty()) {
        let patterns: Vec<Regex> = group.iter().map(|line| pattern(line)).collect();
        // How many lines of the group stand there, at the place where most do.
        let fits = |start: usize| {
            let pairs = patterns.iter().zip(&printed[start..]);
            pairs.take_while(|(pattern, line)| pattern.is_match(line)).count()
        };
        let best = (from..printed.len()).map(|start| (fits(start), start));
        // Of places that fit equally well the first: what comes later may stand between them.
        let (count, start) = best.rev().max_by_key(|(count, _)| *count).unwrap_or((0, from));
        if let Some(missing) = group.get(count) {
            return Some(missing.clone());
        }
        from = start + count;
    }
    None
}

/// Lines with something in them, blanks folded.
fn lines(text: &str) -> Vec<String> {
    let folded = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    folded.filter(|line| !line.is_empty()).collect()
}

fn pattern(line: &str) -> Regex {
    let own = Regex::new(r"[0-9]{8}-[0-9]{6}-[0-9]{3}|[0-9]+\.[0-9]s|[0-9]+ at a time|…")
        .expect("it is an expression");
    let mut pattern = String::from("^");
    let mut end = 0;
    for found in own.find_iter(line) {
        pattern += &regex::escape(&line[end..found.start()]);
        pattern += match found.as_str() {
            "…" => ".*",
            text if text.ends_with("at a time") => "[0-9]+ at a time",
            text if text.ends_with('s') => "[0-9][0-9.hms]*",
            _ => "[0-9]{8}-[0-9]{6}-[0-9]{3}",
        };
        end = found.end();
    }
    pattern += &regex::escape(&line[end..]);
    // How long something took is told at the end of its line, where it took a moment.
    pattern += "( [0-9][0-9.hms]*)?$";
    Regex::new(&pattern).expect("all of it is escaped")
}

#[test]
fn what_is_shown_must_have_been_printed_in_this_order() {
    let printed = "one 1.5s\ntwo  three\nfour\nfive\n";
    let missing = |shown: &str| what_is_not_printed(shown, printed);
    for shown in ["one 0.0s\ntwo three\n", "two …\n…\nfive", "…\nfour", "one …s\n…\n", "one"] {
        assert_eq!(missing(shown), None, "{shown}");
    }
    for (shown, line) in
        [("one 0.0s\nfour", "four"), ("five\n…\nfour", "four"), ("two", "two"), ("six", "six")]
    {
        assert_eq!(missing(shown).as_deref(), Some(line), "{shown}");
    }
}
