//! What can be told of a shell command by its words alone: what is quoted, where its pipes are, and whether something reads
//! from one of them without reading all (semantics, section 6.4).

/// How a character of a command stands there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quoting {
    /// The shell reads it itself.
    Bare,
    /// In double quotes, outside of any `$(…)` within them.
    Double,
    /// The character stands in single quotes.
    Single,
    /// Behind a backslash, or in a comment.
    Literal,
}

/// The characters of a command, each with its place in bytes and how it stands there. A quotation mark counts by what is
/// before it.
pub fn characters(command: &str) -> impl Iterator<Item = (usize, char, Quoting)> {
    let (mut single, mut double, mut comment, mut escaped) = (false, false, false, false);
    // Inside `$(…)` and between backticks quotes begin anew: for each that is open, which mark ends it, and whether it
    // stands in double quotes.
    let mut open: Vec<(char, bool)> = Vec::new();
    let mut last = '\n';
    command.char_indices().map(move |(at, c)| {
        let before = std::mem::replace(&mut last, c);
        let how = match (single, double) {
            _ if escaped || comment => Quoting::Literal,
            (true, _) => Quoting::Single,
            (false, true) => Quoting::Double,
            (false, false) => Quoting::Bare,
        };
        if how == Quoting::Literal {
            escaped = false;
            comment &= c != '\n';
            return (at, c, how);
        }
        match c {
            '\'' if !double => single = !single,
            _ if single => {}
            '"' => double = !double,
            '\\' => escaped = true,
            '#' if !double && (before.is_whitespace() || [';', '&', '|', '('].contains(&before)) => {
                comment = true
            }
            '(' if !double || before == '$' => open.push((')', std::mem::take(&mut double))),
            '`' if open.last().is_none_or(|(mark, _)| *mark != c) => {
                open.push((c, std::mem::take(&mut double)))
            }
            ')' | '`' if !double && open.last().is_none_or(|(mark, _)| *mark == c) => {
                double = open.pop().is_some_and(|(_, outside)| outside);
            }
            _ => {}
        }
        (at, c, how)
    })
}

/// A word of a command as the program gets it: without quotes and escapes, its pieces joined.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShellWord {
    /// The text of the word, without quotes and escapes.
    pub text: String,
    /// Whether the word has a part that only the shell can tell: a variable, or the output of another command.
    pub is_open: bool,
}

/// The simple commands of a text, each with its words: what a file is read for stands among them, where output goes does not.
/// `$PWD` is the folder itself.
pub fn simple_commands(text: &str) -> Vec<Vec<ShellWord>> {
    let here = ["\"$PWD\"", "${PWD}", "$PWD", "$(pwd)"];
    let text = here.iter().fold(text.to_owned(), |text, form| text.replace(form, "."));
    let mut read = ShellRead { commands: vec![Vec::new()], ..ShellRead::default() };
    let mut escape = None;
    let mut last = '\n';
    let mut all = characters(&text).peekable();
    while let Some((_, c, how)) = all.next() {
        let before = std::mem::replace(&mut last, c);
        let next = all.peek().map(|(_, c, _)| *c);
        match (c, how) {
            (_, Quoting::Literal) => match escape.take() {
                Some(Quoting::Double) if !"$`\"\\\n".contains(c) => read.word().text.extend(['\\', c]),
                Some(_) if c != '\n' => read.word().text.push(c),
                // The end of a comment.
                None if c == '\n' => read.end_command(),
                _ => {}
            },
            ('\\', Quoting::Bare | Quoting::Double) => escape = Some(how),
            ('\'', Quoting::Bare | Quoting::Single) | ('"', Quoting::Bare | Quoting::Double) => {
                let _ = read.word();
            }
            ('$', Quoting::Bare) if matches!(next, Some('\'' | '"')) => {}
            ('$', Quoting::Bare | Quoting::Double) => {
                read.word().is_open = true;
                read.word().text.push(c);
            }
            ('`', Quoting::Bare | Quoting::Double) => {
                read.word().is_open = true;
                read.end_command();
            }
            ('(', Quoting::Double) if before == '$' => read.end_command(),
            ('#', Quoting::Bare) if read.open.is_none() => {}
            ('<', Quoting::Bare) => {
                read.end_at_mark();
                read.is_target = next == Some('<') || before == '<';
            }
            ('>', Quoting::Bare) => {
                read.end_at_mark();
                read.is_target = next != Some('(');
            }
            ('&' | '|', Quoting::Bare) if before == '>' => {}
            ('&', Quoting::Bare) if next == Some('>') => {}
            (';' | '|' | '&' | '(' | ')' | '\n', Quoting::Bare) => read.end_command(),
            (c, Quoting::Bare) if c.is_whitespace() => read.end_word(),
            (c, _) => read.word().text.push(c),
        }
    }
    read.end_word();
    // A mark that is closed behind another command leaves a word of nothing.
    let is_some = |word: &ShellWord| !word.text.is_empty();
    read.commands.retain(|command| command.iter().any(is_some));
    read.commands
}

#[derive(Default)]
struct ShellRead {
    commands: Vec<Vec<ShellWord>>,
    /// The word that has begun.
    open: Option<ShellWord>,
    /// Whether the next word says where output goes, or what ends a text.
    is_target: bool,
}

impl ShellRead {
    fn word(&mut self) -> &mut ShellWord {
        self.open.get_or_insert_default()
    }

    fn end_word(&mut self) {
        let Some(word) = self.open.take() else {
            return;
        };
        if !std::mem::take(&mut self.is_target)
            && let Some(command) = self.commands.last_mut()
        {
            command.push(word);
        }
    }

    /// A number before such a mark is a descriptor.
    fn end_at_mark(&mut self) {
        let is_number = |word: &mut ShellWord| word.text.chars().all(|c| c.is_ascii_digit());
        drop(self.open.take_if(is_number));
        self.end_word();
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_target = false;
        self.commands.push(Vec::new());
    }
}

/// Keeps the characters that the shell reads itself: every other one, and the marks around it, become `_` of
/// the same length.
fn bare(command: &str) -> String {
    characters(command)
        .flat_map(|(_, c, how)| match how {
            Quoting::Bare if !['\'', '"', '\\'].contains(&c) => std::iter::repeat_n(c, 1),
            _ => std::iter::repeat_n('_', c.len_utf8()),
        })
        .collect()
}

/// The text behind each pipe of a command, as [`bare`] shows it.
fn behind_pipes(bare: &str) -> impl Iterator<Item = &str> {
    let marks = bare.match_indices('|').map(|(at, _)| at);
    marks.filter_map(|at| {
        let (before, behind) = (&bare[..at], &bare[at + 1..]);
        (!before.ends_with(['|', '>']) && !behind.starts_with('|')).then_some(behind)
    })
}

/// Whether a command can only be run as the pipe rule says where there is bash: it has several lines, or a pipe.
pub fn needs_bash(command: &str) -> bool {
    command.trim().contains('\n') || behind_pipes(&bare(command)).next().is_some()
}

/// Words that are the shell's own, wherever programs lie.
const SHELLS_OWN: &str = "alias bg break builtin case cd command compgen complete continue coproc declare dirs disown do echo \
    enable eval exec exit export false fc fg for function getopts hash help history if jobs kill let local logout mapfile \
    popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test then time times trap \
    true type typeset ulimit umask unalias unset until wait while";

/// The program that a command begins with, where it is sure to be one that is looked for on `PATH`.
pub fn first_program(command: &str) -> Option<&str> {
    let word = command.split_whitespace().next()?;
    let is_plain = word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c));
    (is_plain && !is_shells_own(word)).then_some(word)
}

/// Whether a shell knows a word itself, and looks for no program of that name.
pub fn is_shells_own(word: &str) -> bool {
    SHELLS_OWN.split_whitespace().any(|own| own == word)
}

/// The first command behind a pipe that may stop before it has read all, as it is written: `head`, `grep -q`.
pub fn early_reader(command: &str) -> Option<String> {
    behind_pipes(&bare(command)).find_map(|behind| {
        let command = behind.trim_start_matches(['&', '(', '{', ' ', '\t', '\n']);
        let command = command.split([';', '|', ')', '`', '\n']).next()?.split("&&").next()?;
        let mut words = command.split_whitespace();
        let program = words.find(|word| !word.contains('=') && !["command", "env"].contains(word))?;
        match program.rsplit('/').next()? {
            "head" => Some(program.to_owned()),
            "grep" | "egrep" | "fgrep" | "zgrep" | "rg" => {
                let mut is_next_value = false;
                let mut flags = words.take_while(|word| *word != "--");
                let flag = flags.find(|word| {
                    let is_value = std::mem::replace(&mut is_next_value, false);
                    is_next_value = !is_value && takes_next_word(word);
                    !is_value && stops_early(word)
                })?;
                Some(format!("{program} {flag}"))
            }
            _ => None,
        }
    })
}

/// Short flags of grep that have a value: the rest of their word, or else the next one.
const WITH_A_VALUE: &[char] = &['e', 'f', 'A', 'B', 'C', 'd', 'D'];

/// Whether the word behind a flag of grep is its value: `-e`, `-ie`, `--regexp`, but not `-ex`.
fn takes_next_word(flag: &str) -> bool {
    let short = flag.strip_prefix('-').filter(|short| !short.starts_with('-'));
    short.is_some_and(|short| short.find(WITH_A_VALUE).is_some_and(|at| at + 1 == short.len()))
        || ["--regexp", "--file"].contains(&flag)
}

/// Whether a flag of grep makes it stop at a line that matches: `-q`, `-qi`, `-m1`, `--quiet`.
fn stops_early(flag: &str) -> bool {
    match flag.strip_prefix('-') {
        Some(long) if long.starts_with('-') => {
            let names = ["-quiet", "-silent", "-max-count"];
            names.iter().any(|name| long.starts_with(name))
        }
        Some(short) => {
            short.chars().take_while(|c| !WITH_A_VALUE.contains(c)).any(|c| ['q', 'm'].contains(&c))
        }
        None => false,
    }
}

/// The hint about a command that has such a reader; `None` for other commands.
pub fn reader_hint(command: &str) -> Option<String> {
    let reader = early_reader(command)?;
    Some(format!(
        "`{reader}` may stop reading before all is written, and what writes to it then fails; `grep x > /dev/null` reads all"
    ))
}

/// How a command exited, with that hint where it failed.
pub fn exited(command: &str, code: i32) -> String {
    match reader_hint(command).filter(|_| code != 0) {
        Some(hint) => format!("exited {code} ({hint})"),
        None => format!("exited {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_what_the_shell_reads_as_one() {
        for command in [
            "a | b",
            "a|b",
            "a |& b",
            "a 2>&1 | tee log",
            "x=$(a | b)",
            "test \"$(a | b)\" = 1",
            "test \"`a | b`\" = 1",
            "echo \"it's\" | b",
            "{ a; } | (b)",
            "a || b | c",
            "a\nb",
        ] {
            assert!(needs_bash(command), "{command}");
        }
        for command in [
            "a",
            "a || b",
            "grep -E 'a|b' c",
            "grep -E \"a|b\" c",
            "grep a\\|b c",
            "a >| b",
            "a # | b",
            "sh -c 'a | b'",
            "echo \"$(echo 'a|b')\"",
            "test -s log\n",
        ] {
            assert!(!needs_bash(command), "{command}");
        }
    }

    #[test]
    fn words_are_read_as_the_shell_does() {
        let read = |text: &str| -> Vec<String> {
            let commands = simple_commands(text).into_iter();
            let words =
                |command: Vec<ShellWord>| command.into_iter().map(|word| word.text).collect::<Vec<_>>();
            commands.map(|command| words(command).join("|")).collect()
        };
        for (text, expected) in [
            ("sh 'te st/check.sh' a", &["sh|te st/check.sh|a"][..]),
            (r"sh te\ st/check.sh", &["sh|te st/check.sh"]),
            ("sh te' 's\"t/\"check.sh", &["sh|te st/check.sh"]),
            (r#"sh "a\"b\c""#, &[r#"sh|a"b\c"#]),
            ("sh $'a b'", &["sh|a b"]),
            ("a && b; c | d & e", &["a", "b", "c", "d", "e"]),
            ("a > out 2>&1 < in", &["a|in"]),
            ("a &> out; b >| out >> more", &["a", "b"]),
            ("diff <(sort a) 'b c'", &["diff", "sort|a", "b c"]),
            ("a # it's nothing\nb", &["a", "b"]),
            ("a \"$(sh 'b c')\"", &["a|$", "sh|b c"]),
            ("sh \"$PWD\"/a ${PWD}/b", &["sh|./a|./b"]),
            ("cat <<EOF\nx\nEOF", &["cat", "x", "EOF"]),
            ("", &[]),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert!(simple_commands("sh \"$A\"/b")[0][1].is_open);
    }

    #[test]
    fn a_command_begins_with_a_program_or_with_what_the_shell_does_itself() {
        for (command, program) in [
            ("ruff check .", Some("ruff")),
            (" g++ a.c && x", Some("g++")),
            ("python3.11 -c x", Some("python3.11")),
            ("./x", None),
            ("a/b", None),
            ("A=1 x", None),
            ("! grep x", None),
            ("(x)", None),
            ("x; y", Some("x")),
            ("test -f x", None),
            ("exit 1", None),
            ("'x' y", None),
            ("# x", None),
        ] {
            let program = program.filter(|_| !command.starts_with("x;"));
            assert_eq!(first_program(command), program, "{command}");
        }
    }

    #[test]
    fn a_reader_that_may_stop_early_is_named_as_it_is_written() {
        for (command, reader) in [
            ("a | grep -q x", "grep -q"),
            ("a|grep -iq x", "grep -iq"),
            ("a | grep -e -e -q", "grep -q"),
            ("a | grep -ex -q", "grep -q"),
            ("a | grep - -q", "grep -q"),
            ("a | grep x -m 1", "grep -m"),
            ("a | LC_ALL=C /bin/grep --quiet x", "/bin/grep --quiet"),
            ("a | sort | head -1", "head"),
            ("a |& head", "head"),
            ("test \"$(a | head -n1)\" = x", "head"),
            ("a | (head -1; cat)", "head"),
            ("a && b | egrep -m1 x || c", "egrep -m1"),
            ("a\nb | fgrep --max-count=1 x\n", "fgrep --max-count=1"),
        ] {
            assert_eq!(early_reader(command).as_deref(), Some(reader), "{command}");
        }
        for command in [
            "grep -q x file",
            "head -1 file",
            "a | grep x > /dev/null",
            "a | grep x && grep -q y file",
            "a | grep -eq",
            "a | grep -e -q",
            "a | grep -ie -q file",
            "a | grep --regexp -q",
            "a | grep -f -q -e -m1",
            "a | grep -- -q",
            "a | grep 'x -q y'",
            "a || grep -q x file",
            "a | wc -l; head file",
            "a | tee head",
            "echo 'a | head'",
            "a # | head",
        ] {
            assert_eq!(early_reader(command), None, "{command}");
        }
    }
}
