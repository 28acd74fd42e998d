//! What of a check's words judges, and not the work that it is about (semantics, section 22, protected by default): its program,
//! the script that an interpreter is given, what options for scripts and settings name, the two sides of a comparison, and
//! tests by their path.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet};

use super::shell_line::{ShellWord, is_shells_own, simple_commands};

/// Globs that tell a test by its path from the workspace.
const TESTS: &str = "**/tests/** **/test/** **/spec/** **/__tests__/** **/*_test.* **/test_*.* **/*.test.* **/*.spec.* **/*.bats \
    **/t/*.t **/conftest.py **/__snapshots__/** **/*.snap pytest.ini tox.ini jest.config.* vitest.config.* .config/nextest.toml";

/// Words that stand before a program and are none themselves.
const BEFORE: &str = "if then else elif do while until ! { time exec command builtin env nice ionice nohup timeout xargs sudo \
    stdbuf setsid chronic unbuffer catchsegv valgrind strace flock taskset busybox uv poetry pipenv pdm hatch rye bundle npx \
    pnpm yarn npm bunx deno bun go dart mise run exec dlx coverage xvfb-run parallel caffeinate doas";
/// Options of these that take the next word.
const BEFORE_VALUES: &str =
    "-u -C -S -s -k -n -I -P -L -d -o -e -i -g -a -p -c --signal --kill-after --unset --chdir";

/// Interpreters by family: their names, options that take the next word, options with code in the place of a script, and
/// options by which they only look at a file, and run nothing of it.
const INTERPRETERS: [(&str, &str, &str, &str); 8] = [
    ("sh bash dash zsh ksh ash fish", "-o +o -O +O --rcfile --init-file", "", "-n --no-execute"),
    ("python pypy", "-W -X --check-hash-based-pycs", "-c -m", ""),
    (
        "node nodejs tsx ts-node",
        "-C --conditions -r --require --import --loader --experimental-loader",
        "-e -p -pe --eval --print",
        "-c --check",
    ),
    ("ruby", "-I -r -C -E", "-e -ne -pe", "-c -wc -cw"),
    ("perl", "-I", "-e -E -ne -pe -le -lne", "-c -wc -cw"),
    ("php", "-d -c -z", "-r", "-l"),
    ("java", "-cp -classpath --class-path -p --module-path", "-m --module", ""),
    (
        "lua luajit Rscript julia elixir escript tclsh wish expect pwsh osascript groovy scala swift guile racket clojure bb nu \
         octave runghc runhaskell ocaml crystal raku jshell",
        "-l",
        "-e -E --eval",
        "-p",
    ),
];

/// Programs that compare the files that they are given.
const COMPARE: &str = "diff cmp comm diff3 sdiff colordiff";
/// Programs that hold files against a list of their checksums.
const CHECKSUMS: &str = "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum shasum cksum sum";

/// Options whose value judges, each with the programs to which it means something else.
const OPTIONS: [(&str, &str); 6] = [
    (
        "-f",
        "test [ [[ rm cp mv ln cat tail cut gzip gunzip zcat bzip2 bunzip2 xz zstd tar unzip readlink realpath stat pgrep pkill ps \
         curl docker ssh hexdump du zip python pypy sh bash",
    ),
    (
        "-c",
        "grep egrep fgrep zgrep rg ag wc uniq sort head tail tr cut cat stat gzip gunzip zcat bzip2 bunzip2 xz zstd jq od xxd gcc \
         g++ cc c++ clang clang++ rustc tcc gfortran as git nc dd node ruby perl luac tar curl column iconv script su zip",
    ),
    ("--file", ""),
    (
        "--check",
        "node sort black ruff isort prettier rustfmt cargo fmt format gofmt taplo dprint biome stylua shfmt terraform zig alejandra \
         autopep8 yapf standard mix dart swiftformat scalafmt ormolu fourmolu docformatter mdformat csharpier buildifier \
         php-cs-fixer gdformat ansible-playbook",
    ),
    ("--config", ""),
    ("--rootdir", ""),
];
/// Files that set up a folder of tests.
const SETTINGS_OF_TESTS: [&str; 3] = ["pytest.ini", "tox.ini", "conftest.py"];

/// The parts of a command that say which files judge, and where it goes.
#[derive(Debug, Default)]
pub struct JudgingWords {
    /// Words that may name files that judge.
    pub words: Vec<ShellWord>,
    /// Words that name what may be a test, by its path.
    pub maybe_tests: Vec<ShellWord>,
    /// Folders that it goes into.
    pub folders: Vec<String>,
    /// The programs that are started, other than words that a shell knows as its own.
    pub programs: Vec<String>,
    /// Whether the command's program or script is something that only the shell can tell: any word may name it.
    pub is_open: bool,
}

/// Reads the parts of a check's command that say which files judge.
pub fn judging_words(text: &str) -> JudgingWords {
    let mut found = JudgingWords::default();
    for command in simple_commands(text) {
        found.maybe_tests.extend(command.iter().cloned());
        found.command(&command);
    }
    found
}

/// The files that a check certainly goes by, as its words name them: none that a pattern or a variable stands for.
pub fn judging_files(text: &str) -> Vec<String> {
    let JudgingWords { words, maybe_tests, programs, folders, .. } = judging_words(text);
    // Where it goes elsewhere, they lie there.
    if !folders.is_empty() {
        return Vec::new();
    }
    let is_file =
        |word: &str| word.contains('/') || !is_shells_own(word) && programs.iter().all(|own| own != word);
    let tests = maybe_tests.into_iter().filter(|word| is_test(Path::new(&word.text)));
    let all = words.into_iter().filter(|word| is_file(&word.text)).chain(tests);
    let plain = all.filter(|word| !word.is_open && !word.text.contains(['*', '?']));
    let names: BTreeSet<String> =
        plain.map(|word| word.text.split("::").next().unwrap_or_default().to_owned()).collect();
    names.into_iter().collect()
}

/// Whether a path, seen from the workspace, is that of a test.
pub fn is_test(path: &Path) -> bool {
    static GLOBS: LazyLock<GlobSet> = LazyLock::new(|| {
        let globs =
            TESTS.split_whitespace().map(|glob| GlobBuilder::new(glob).literal_separator(true).build());
        let globs: Result<Vec<_>, _> = globs.collect();
        globs.and_then(GlobSet::new).unwrap_or_default()
    });
    GLOBS.is_match(path)
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// A program's name without its folder and version: `/usr/bin/python3.11` is `python`.
fn name_of(word: &ShellWord) -> &str {
    let name = word.text.rsplit('/').next().unwrap_or_default();
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if interpreter(bare).is_some() { bare } else { name }
}

type Interpreter = (&'static str, &'static str, &'static str, &'static str);

fn interpreter(name: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|(names, ..)| is_in(names, name))
}

fn is_option(word: &ShellWord) -> bool {
    word.text.starts_with(['-', '+'])
}

/// `NAME=value` before a program.
fn is_assignment(word: &ShellWord) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    word.text.split_once('=').is_some_and(|(name, _)| is_name(name))
}

impl JudgingWords {
    fn command(&mut self, words: &[ShellWord]) {
        let mut rest = words;
        let mut is_behind = false;
        while let [first, others @ ..] = rest {
            let name = name_of(first);
            let is_value = is_behind && first.text.starts_with(|c: char| c.is_ascii_digit());
            if is_behind && is_in(BEFORE_VALUES, &first.text) {
                rest = others.get(1..).unwrap_or_default();
            } else if name == "flock" || is_in(BEFORE, name) {
                self.starts(first, is_behind);
                let skipped = usize::from(name == "flock");
                (rest, is_behind) = (others.get(skipped..).unwrap_or_default(), true);
            } else if is_value || is_assignment(first) || is_behind && is_option(first) {
                rest = others;
            } else {
                break;
            }
        }
        let [program, arguments @ ..] = rest else {
            return;
        };
        self.judges(program);
        self.starts(program, is_behind);
        self.is_open |= program.is_open;
        // `find -exec sh check.sh`, `timeout --foreground x sh check.sh`
        let inner = |word: &ShellWord| is_behind && interpreter(name_of(word)).is_some();
        let behind_exec = arguments.iter().position(|word| word.text.starts_with("-exec"));
        let inner = behind_exec.map(|at| at + 1).or_else(|| arguments.iter().position(inner));
        if let Some(inner) = inner {
            self.command(&arguments[inner..]);
        }
        self.program(name_of(program), arguments);
    }

    fn program(&mut self, name: &str, arguments: &[ShellWord]) {
        match name {
            "." | "source" => {
                let script = arguments.iter().take(1);
                script.for_each(|script| self.script(script));
            }
            "eval" => {
                let text: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
                self.text(&text.join(" "));
            }
            "cd" | "pushd" => {
                let folder = arguments.iter().find(|word| !is_option(word));
                self.folders.extend(folder.map(|word| word.text.clone()));
            }
            name => match interpreter(name) {
                Some(by) => self.interpreted(by, arguments),
                None => self.arguments(name, arguments),
            },
        }
    }

    fn interpreted(&mut self, (names, values, code, looks): &Interpreter, arguments: &[ShellWord]) {
        let is_shell = is_in(names, "sh");
        let mut all = arguments.iter().enumerate();
        while let Some((at, word)) = all.next() {
            let text = &*word.text;
            let behind = arguments.get(at + 1..).unwrap_or_default();
            let is_cluster = text.starts_with('-') && !text.starts_with("--");
            if is_shell && is_cluster && text.contains('c') {
                let script = behind.iter().find(|word| !is_option(word));
                self.is_open |= script.is_some_and(|script| script.text.starts_with('$'));
                return script.into_iter().for_each(|script| self.text(&script.text));
            }
            if is_in(looks, text) || is_shell && is_cluster && text.contains('n') {
                return;
            }
            if is_in(code, text) {
                // `python3 -m pytest …`
                if let ("-m", [module, rest @ ..]) = (text, behind) {
                    self.arguments(&module.text, rest);
                }
                return;
            }
            if is_in(values, text) || is_shell && is_cluster && text.ends_with('o') {
                all.next().into_iter().for_each(|(_, value)| self.judges(value));
            } else if !is_option(word) {
                self.script(word);
                return self.arguments("", behind);
            }
        }
    }

    fn text(&mut self, text: &str) {
        let inner = judging_words(text);
        self.words.extend(inner.words);
        self.maybe_tests.extend(inner.maybe_tests);
        self.folders.extend(inner.folders);
        self.programs.extend(inner.programs);
        self.is_open |= inner.is_open;
    }

    fn script(&mut self, word: &ShellWord) {
        self.is_open |= word.is_open;
        self.judges(word);
    }

    fn arguments(&mut self, program: &str, arguments: &[ShellWord]) {
        let has_list = |word: &ShellWord| {
            word.text == "--check"
                || word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c')
        };
        if is_in(COMPARE, program) || is_in(CHECKSUMS, program) && arguments.iter().any(has_list) {
            let files = arguments.iter().filter(|word| !is_option(word));
            files.for_each(|file| self.judges(file));
        }
        for (at, word) in arguments.iter().enumerate() {
            let meant = |(option, others): &&(&str, &str)| {
                let value = word.text.strip_prefix(option)?;
                let is_short = option.len() == 2;
                let value = match value.strip_prefix('=') {
                    Some(value) => Some(value),
                    None if value.is_empty() => None,
                    None if is_short && !is_in(others, program) => Some(value),
                    None => return None,
                };
                let is_meant = value.is_some() || !is_in(others, program);
                is_meant.then(|| value.map(str::to_owned))
            };
            let Some(value) = OPTIONS.iter().find_map(|option| meant(&option)) else {
                continue;
            };
            let value = match value {
                Some(text) => Some(ShellWord { text, is_open: word.is_open }),
                None => arguments.get(at + 1).filter(|next| !is_option(next)).cloned(),
            };
            if let Some(value) = value {
                if word.text.starts_with("--rootdir") {
                    let settings = SETTINGS_OF_TESTS.map(|name| format!("{}/{name}", value.text));
                    let settings =
                        settings.into_iter().map(|text| ShellWord { text, is_open: value.is_open });
                    self.words.extend(settings);
                }
                self.judges(&value);
            }
        }
    }

    fn starts(&mut self, program: &ShellWord, is_behind: bool) {
        if is_behind || !is_shells_own(&program.text) {
            self.programs.push(program.text.clone());
        }
    }

    fn judges(&mut self, word: &ShellWord) {
        self.words.push(word.clone());
    }
}
