//! Whether a description asks for a file to be written, and for which (semantics, section 6, preflight).
//!
//! Sentences are read word by word. In doubt nothing is asked for: whoever is only to say something has written no file.

/// Verbs that make something.
const MAKES: [&str; 5] = ["write", "create", "generate", "produce", "save"];
/// Verbs that put something into a file that is named.
const PUTS: &str = " update edit modify append add put fill change fix insert replace rewrite output ";
/// Verbs that with "to" behind them ask for a file by themselves.
const SAVES: &str = " write save append output ";
/// Things whose making makes a file.
const FILES: &str = " file files report document output readme makefile dockerfile ";
/// Behind these words a verb is a noun, was done already, or may be left undone.
const NO_ORDERS: &str = " the a an this that which of was were is are be been we they may can might ";
/// Behind these words stands what is used, and not what is made.
const MEANS: &str = " about from with using like by ";
/// Behind these words stands what is spoken of, where something is made.
const MATTERS: &str = " of for on than ";
/// Behind these words stands where it goes.
const LEADS: &str = " to into as ";
/// Behind these words stands a name of what is made, unless the matter is spoken of.
const NAMES: &str = " in file called named script page module ";
/// Words that change nothing about the name behind them.
const ARTICLES: &str = " the a an new and or ";
/// Nothing behind these words is asked for.
const NEGATIONS: &str = " not don't never without no nor ";
/// No verb behind these words is an order, before the sentence goes on.
const QUESTIONS: &str = " how what why whether who ";
/// A sentence with one of these words leaves open whether anything is to be done.
const CONDITIONS: &str = " if unless needed necessary optionally ";
/// A sentence with one of these words may ask for something that is printed.
const PRINTED: &str = " print stdout stderr console terminal screen standard ";
/// Ends of names that are no files.
const NO_FILES: [&str; 12] =
    ["com", "org", "net", "io", "dev", "ai", "eu", "node.js", "next.js", "vue.js", "three.js", "d3.js"];

/// The files that a description asks to be written, by the names that it gives; empty where it names none. `None`: it asks
/// for no file.
pub fn asked_files(description: &str) -> Option<Vec<&str>> {
    let tokens: Vec<&str> = description.split_whitespace().collect();
    let mut asked = None;
    for sentence in tokens.split_inclusive(ends_sentence) {
        read_sentence(sentence, &mut asked);
    }
    asked
}

/// The mark of an item of a list ends what stands before it, too.
fn ends_sentence(token: &&str) -> bool {
    let end = token.trim_end_matches(['"', '\'', '`', ')', '*', '_']);
    end.ends_with(['.', '!', '?', ';']) || !token.contains(char::is_alphanumeric)
}

fn read_sentence<'d>(sentence: &[&'d str], asked: &mut Option<Vec<&'d str>>) {
    let words: Vec<String> = sentence.iter().map(|token| bare(token).to_lowercase()).collect();
    let has = |list| words.iter().any(|word| is_in(word, list));
    if has(CONDITIONS) {
        return;
    }
    let is_printed = has(PRINTED);
    // Whether a verb was met, and whether it makes something; whether the matter is spoken of, or a question; whether a name
    // that comes now is what is made.
    let (mut makes, mut is_matter, mut is_question, mut aims) = (None, false, false, false);
    let mut behind = "";
    for (word, token) in words.iter().zip(sentence) {
        if is_in(word, NEGATIONS) {
            return;
        }
        is_question = is_in(word, QUESTIONS) || (is_question && !is_in(word, " and then "));
        let is_verb = MAKES.contains(&&**word) || is_in(word, PUTS);
        let mut is_asked = word == "write_file";
        if is_verb && !is_question && !is_in(behind, NO_ORDERS) {
            (makes, is_matter, aims) = (Some(MAKES.contains(&&**word)), false, true);
        } else if let Some(makes) = makes {
            let is_file = makes && is_in(word, FILES) && (behind != "to" || word == "file");
            let is_name = is_file_name(word);
            is_asked = (is_file || is_name) && !is_matter || word == "to" && is_in(behind, SAVES);
            if is_name && aims {
                asked.get_or_insert_default().push(bare(token));
            } else if is_in(word, LEADS) {
                (is_matter, aims) = (false, true);
            } else if is_in(word, MEANS) || (makes && is_in(word, MATTERS)) {
                (is_matter, aims) = (true, false);
            } else if !is_name {
                let is_before = makes && !is_matter && is_in(word, NAMES);
                aims = is_before || (aims && is_in(word, ARTICLES));
            }
        }
        if is_asked && !is_printed {
            asked.get_or_insert_default();
        }
        behind = word;
    }
}

fn is_in(word: &str, list: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|one| one == word)
}

/// A word or a name without the marks around it.
fn bare(token: &str) -> &str {
    let is_mark = |c: char| !c.is_alphanumeric() && c != '_';
    let begins = |c: char| is_mark(c) && !matches!(c, '.' | '/' | '~' | '$');
    let bare = token.trim_start_matches(begins).trim_end_matches(is_mark);
    // `[id].tsx`, `(auth)/page.tsx`: what is closed within the name is a part of it.
    let before = token.len() - token.trim_start_matches(begins).len();
    let pairs = [('[', ']'), ('(', ')'), ('{', '}')];
    let is_open =
        |(open, close)| token[..before].ends_with(open) && bare.contains(close) && !bare.contains(open);
    if pairs.into_iter().any(is_open) { &token[before - 1..before + bare.len()] } else { bare }
}

/// `out.txt`, `src/a.py`: a name with a short ending that begins with a letter.
fn is_file_name(word: &str) -> bool {
    let Some((stem, ending)) = word.rsplit_once('.') else {
        return false;
    };
    let is_ending = (1..=6).contains(&ending.len())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.chars().all(|c| c.is_ascii_alphanumeric());
    // `e.g`, `i.e`
    let is_short = stem.len() == 1 && ending.len() == 1;
    let is_other = NO_FILES.iter().any(|other| ending == *other || word == *other);
    is_ending
        && !is_short
        && !is_other
        && stem.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_asks_for_files_by_name_or_for_any() {
        for (text, expected) in [
            ("Create the file report.md with the results.", &["report.md"][..]),
            ("Update README.md", &["README.md"]),
            ("Read notes.md, then write `out.txt`.", &["out.txt"]),
            ("- **Create** src/a.py\n- Read b.py", &["src/a.py"]),
            ("Write a summary of README.md to docs/summary.md", &["docs/summary.md"]),
            ("Create a.md, b.md and c.md.", &["a.md", "b.md", "c.md"]),
            ("Put the result into 'result.json'", &["result.json"]),
            ("Write out.txt and print it", &["out.txt"]),
            ("Find out why it fails and write the reason to why.txt", &["why.txt"]),
            ("Write what you see to notes.md", &["notes.md"]),
            ("Create a Python script hello.py", &["hello.py"]),
            ("Write findings to a report", &[]),
            ("CREATE the\nnext\nDocument.", &[]),
            ("call write_file", &[]),
            ("Save to the disk", &[]),
            ("output\n  to x", &[]),
            ("generate an output", &[]),
            ("Fix the bug in src/a.py", &[]),
            ("Update the title of README.md", &[]),
            ("Write a README", &[]),
        ] {
            assert_eq!(asked_files(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_description_that_asks_for_words_asks_for_no_file() {
        for text in [
            "",
            "create the reporting",
            "report that we generate",
            "rewrite nothing, the file is good",
            "look at the file",
            "Read notes.md and say what it is about",
            "Write about the servers of example.com, e.g. their names",
            "Create a plan for Node.js 22.1",
            "Write a summary of README.md",
            "Generate a list of the functions in src/a.rs",
            "Do not write any file; say what you see",
            "Never update README.md",
            "Review src/a.rs without creating a report",
            "Explain how to create report.md",
            "Explain the write path in src/a.rs",
            "Say what was put into a.txt",
            "You may write notes to notes.md",
            "Update README.md if needed",
            "Write the answer to standard output",
            "Print the output to stdout",
            "Compare the output to the reference",
            "Write code to report errors",
            "Write it well",
        ] {
            assert_eq!(asked_files(text), None, "{text}");
        }
    }
}
