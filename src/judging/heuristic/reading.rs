//! What a criterion says, as far as a fixed grammar understands it.
//!
//! ```text
//! criterion = clause {("and" | "," | ";") clause} ["."]
//! clause    = [subject {and subject}] [modal] ["not"] core       a clause without a subject is about the last one
//! subject   = ["the"] ["file" | "command"] (`quoted` | path/with.extension) | "the output"
//! modal     = must | should | shall | will | does | do | is | are | has | have
//! core      = exists | present | missing | absent | empty
//!           | contains | includes | mentions (in any case), and `literal`s
//!           | at least N lines | words | bytes
//!           | passes | succeeds | fails | exits [with] [code] N | prints | outputs, and `literal`s
//! ```
//!
//! Quotes are `…`, "…" and “…”. A criterion with words that make it depend on something (or, if, unless …) is not
//! read at all. A clause outside of the grammar makes the criterion undecidable unless another clause is false.

/// A criterion, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// The clauses that were understood; all of them must hold.
    pub clauses: Vec<Clause>,
    /// Why the rest was not.
    pub not_understood: Option<String>,
}

/// One thing that is said of one or more subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    /// Paths or commands; one empty subject for the output of the work.
    pub subjects: Vec<String>,
    /// Whether the opposite is said.
    pub negated: bool,
    /// What is said.
    pub core: Core,
}

impl Clause {
    /// Whether its subjects are commands.
    pub fn about_commands(&self) -> bool {
        matches!(self.core, Core::Exits(_) | Core::Fails | Core::Prints(_))
    }

    /// Whether its subjects are files.
    pub fn about_files(&self) -> bool {
        matches!(
            self.core,
            Core::Exists | Core::Empty | Core::Contains(_) | Core::AtLeast(..)
        )
    }
}

/// What can be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Core {
    Exists,
    Empty,
    Contains(Vec<Literal>),
    OutputContains(Vec<Literal>),
    AtLeast(u64, Measure),
    Exits(i32),
    Fails,
    Prints(Vec<Literal>),
}

/// A literal that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literal {
    pub literal: String,
    pub any_case: bool,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Lines,
    Words,
    Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// Between quotes, as written.
    Quoted(String),
    /// A bare word in the shape of a path.
    Path(String),
    /// Any other word, in lower case.
    Word(String),
    /// "and", a comma, a semicolon.
    And,
}

/// Words that make a criterion depend on something else: it is not read.
const CONDITIONS: &[&str] = &[
    "or", "if", "unless", "when", "whenever", "except", "either", "neither", "nor", "only", "until", "while",
    "but", "any", "some", "without", "before", "after", "where", "whether", "than",
];
const MODALS: &[&str] = &[
    "must", "should", "shall", "will", "does", "do", "is", "are", "has", "have", "be",
];
const NEGATED: &[&str] = &[
    "doesn't",
    "don't",
    "isn't",
    "aren't",
    "mustn't",
    "shouldn't",
    "won't",
];

/// Reads one criterion.
pub(super) fn read(criterion: &str) -> Reading {
    let nothing = |why: &str| Reading {
        clauses: Vec::new(),
        not_understood: Some(why.to_owned()),
    };
    let Some(tokens) = tokens(criterion) else {
        return nothing("a quote is not closed");
    };
    let condition = tokens.iter().find_map(|token| match token {
        Token::Word(word) if CONDITIONS.contains(&word.as_str()) => Some(word),
        _ => None,
    });
    if let Some(word) = condition {
        return nothing(&format!("no rule reads criteria with \"{word}\""));
    }
    let parts: Vec<&[Token]> = tokens
        .split(|token| *token == Token::And)
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() {
        return nothing("it says nothing");
    }
    Reader::default().read(&parts)
}

#[derive(Default)]
struct Reader {
    reading: Reading,
    /// Subjects that wait for what is said of them.
    waiting: Vec<String>,
    /// The subjects of the last clause.
    last: Vec<String>,
}

impl Reader {
    fn read(mut self, parts: &[&[Token]]) -> Reading {
        for (index, part) in parts.iter().enumerate() {
            let (subject, rest) = subject(part);
            match (subject, rest) {
                // Another literal of the last clause, or a subject of the next one.
                (Some(subject), []) => {
                    if self.last.is_empty() || later_subject(&parts[index + 1..]) {
                        if self.takes_literals() {
                            return self.lost(part);
                        }
                        self.waiting.push(subject);
                    } else if !self.add_literal(part) {
                        return self.lost(part);
                    }
                }
                (subject, rest) => {
                    let mut subjects = std::mem::take(&mut self.waiting);
                    subjects.extend(subject);
                    if subjects.is_empty() {
                        subjects.clone_from(&self.last);
                    }
                    match said(rest, &subjects) {
                        Some((negated, core)) if !subjects.is_empty() => {
                            self.last.clone_from(&subjects);
                            self.reading.clauses.push(Clause {
                                subjects,
                                negated,
                                core,
                            });
                        }
                        _ => return self.lost(part),
                    }
                }
            }
        }
        if !self.waiting.is_empty() {
            self.reading.not_understood = Some("no rule reads what it says".to_owned());
        }
        self.reading
    }

    /// From here on nothing is understood; what was understood before still counts against the work.
    fn lost(mut self, part: &[Token]) -> Reading {
        let shown: Vec<String> = part
            .iter()
            .map(|token| match token {
                Token::Quoted(text) => format!("`{text}`"),
                Token::Path(text) | Token::Word(text) => text.clone(),
                Token::And => "and".to_owned(),
            })
            .collect();
        // A literal that may belong to the last clause, or to one that is lost, makes that clause uncertain too.
        if self.takes_literals() && matches!(part, [Token::Quoted(_) | Token::Path(_)]) {
            self.reading.clauses.pop();
        }
        self.reading.not_understood = Some(format!("no rule reads \"{}\"", shown.join(" ")));
        self.reading
    }

    fn takes_literals(&self) -> bool {
        matches!(
            self.reading.clauses.last().map(|clause| &clause.core),
            Some(Core::Contains(_) | Core::OutputContains(_) | Core::Prints(_))
        )
    }

    fn add_literal(&mut self, part: &[Token]) -> bool {
        let [Token::Quoted(literal)] = part else {
            return false;
        };
        let Some(Core::Contains(said) | Core::OutputContains(said) | Core::Prints(said)) =
            self.reading.clauses.last_mut().map(|clause| &mut clause.core)
        else {
            return false;
        };
        let any_case = said.last().is_some_and(|said| said.any_case);
        said.push(Literal {
            literal: literal.clone(),
            any_case,
        });
        !literal.is_empty()
    }
}

/// Whether a later part names something that is not just one more literal.
fn later_subject(parts: &[&[Token]]) -> bool {
    parts.iter().any(|part| {
        let (subject, rest) = subject(part);
        subject.is_some() && !rest.is_empty()
    })
}

/// The subject that a part begins with, and the rest. The output of the work is the empty subject.
fn subject(part: &[Token]) -> (Option<String>, &[Token]) {
    let mut rest = part;
    for article in [&["the", "a"][..], &["file", "files", "command", "output"]] {
        if let [Token::Word(word), after @ ..] = rest
            && article.contains(&word.as_str())
        {
            if word == "output" {
                return (Some(String::new()), after);
            }
            rest = after;
        }
    }
    match rest {
        [Token::Quoted(text) | Token::Path(text), after @ ..] if !text.trim().is_empty() => {
            (Some(text.trim().to_owned()), after)
        }
        _ => (None, part),
    }
}

/// What is said: every token must be understood.
fn said(tokens: &[Token], subjects: &[String]) -> Option<(bool, Core)> {
    let mut negated = false;
    let mut rest = tokens;
    while let [Token::Word(word), after @ ..] = rest {
        let word = word.as_str();
        let negation = word == "not" || NEGATED.contains(&word);
        // Two negations are beyond this grammar.
        if negation && negated || !negation && !MODALS.contains(&word) {
            break;
        }
        negated |= negation;
        rest = after;
    }
    let [Token::Word(verb), after @ ..] = rest else {
        return None;
    };
    let about_output = subjects.iter().any(String::is_empty);
    let core = match (verb.as_str(), after) {
        ("exist" | "exists" | "present", []) => Core::Exists,
        ("missing" | "absent", []) => {
            negated = !negated;
            Core::Exists
        }
        ("empty", []) => Core::Empty,
        ("contain" | "contains" | "include" | "includes", [Token::Quoted(literal)]) => {
            contains(literal, false, about_output)
        }
        ("mention" | "mentions", [Token::Quoted(literal)]) => contains(literal, true, about_output),
        ("at", [Token::Word(least), Token::Word(count), Token::Word(unit)]) if least == "least" => {
            Core::AtLeast(count.parse().ok()?, measure(unit)?)
        }
        ("pass" | "passes" | "succeed" | "succeeds", []) => Core::Exits(0),
        ("fail" | "fails", []) => Core::Fails,
        ("exit" | "exits", code) => Core::Exits(exit_code(code)?),
        ("print" | "prints" | "output" | "outputs", [Token::Quoted(literal)]) => {
            Core::Prints(vec![Literal {
                literal: literal.clone(),
                any_case: false,
            }])
        }
        _ => return None,
    };
    let sensible = match &core {
        Core::Contains(said) | Core::Prints(said) | Core::OutputContains(said) => {
            said.iter().all(|said| !said.literal.is_empty())
        }
        _ => true,
    };
    // The output is one thing, and only its words can be looked at.
    let fits =
        about_output == matches!(core, Core::OutputContains(_)) && (!about_output || subjects.len() == 1);
    (sensible && fits).then_some((negated, core))
}

fn contains(literal: &str, any_case: bool, about_output: bool) -> Core {
    let said = vec![Literal {
        literal: literal.to_owned(),
        any_case,
    }];
    if about_output {
        Core::OutputContains(said)
    } else {
        Core::Contains(said)
    }
}

fn measure(unit: &str) -> Option<Measure> {
    match unit {
        "line" | "lines" => Some(Measure::Lines),
        "word" | "words" => Some(Measure::Words),
        "byte" | "bytes" => Some(Measure::Bytes),
        _ => None,
    }
}

/// `0`, `with 0`, `with code 0`, `with status 0`.
fn exit_code(tokens: &[Token]) -> Option<i32> {
    let words: Option<Vec<&str>> = tokens
        .iter()
        .map(|token| match token {
            Token::Word(word) => Some(word.as_str()),
            _ => None,
        })
        .collect();
    match words?.as_slice() {
        [code] | ["with", code] | ["with", "code" | "status", code] => code.parse().ok(),
        _ => None,
    }
}

/// Words, paths and quoted texts; `None` if a quote is not closed.
fn tokens(criterion: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = criterion.trim().trim_end_matches(['.', '!']);
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let closing = match c {
            '`' | '"' => Some(c),
            '“' => Some('”'),
            _ => None,
        };
        if let Some(closing) = closing {
            let (text, behind) = after.split_once(closing)?;
            tokens.push(Token::Quoted(text.to_owned()));
            rest = behind;
        } else if matches!(c, ',' | ';') {
            tokens.push(Token::And);
            rest = after;
        } else if c.is_whitespace() {
            rest = after;
        } else {
            let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '`' | '"' | '“');
            let end = rest.find(ends).unwrap_or(rest.len());
            tokens.push(word(&rest[..end]));
            rest = &rest[end..];
        }
    }
    Some(tokens)
}

fn word(text: &str) -> Token {
    let lower = text.to_lowercase().replace('’', "'");
    if lower == "and" {
        Token::And
    } else if is_path(text) {
        Token::Path(text.to_owned())
    } else {
        Token::Word(lower)
    }
}

/// `src/users.rs`, `README.md`: a name with an extension, and nothing that a path does not have. Names of things look
/// like that as well (Node.js, example.com), which does no harm: they are a subject only where a file can be one.
fn is_path(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    text.chars().all(plain)
        && !text.contains("//")
        && extension.is_some_and(|extension| extension.starts_with(|c: char| c.is_ascii_alphabetic()))
}
