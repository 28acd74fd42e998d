//! Fake fixes and honest ones, in repositories of three languages: what checks alone make of them (semantics, section 24).
//!
//! Each fake makes a failing check pass, or claims to, without the work. None may end with exit 0 where proof is required, none `clean`
//! without it. Nobody judges, so checks are all that stands between the two.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::scenes::repositories::committed;
use crate::support::{Mission, Says, Task, Workspace, skipped, task};

/// A language, as far as its tests look different.
struct Language {
    name: &'static str,
    /// What shows that its runner is here.
    probe: &'static [&'static str],
    /// What runs all tests.
    check: &'static str,
    /// The code, and where it lies.
    code: (&'static str, &'static str),
    /// The same, right, and written otherwise.
    right: &'static str,
    /// Right, written in two other ways: within its file, and with a file of its own.
    refactored: [&'static [(&'static str, &'static str)]; 2],
    /// Wrong in ways that its test does not see: for its input alone, whatever it is given, with its error swallowed.
    lies: [&'static str; 3],
    /// A check that is hidden: it calls `add` with other numbers.
    held: &'static str,
    /// A comment.
    comment: &'static str,
    test: &'static str,
    more: &'static [(&'static str, &'static str)],
    /// A test with this body, behind this mark; the body calls `add`.
    case: fn(mark: &str, body: &str) -> String,
    /// Marks of a test that is left out, and of one that is to fail.
    marks: [&'static str; 2],
    /// Bodies: right, weak, nothing, copied, swallowed, mocked, of a snapshot, within a time of 50 ms, of 9 s; of another behaviour;
    /// one that ends the program.
    bodies: Bodies,
}

struct Bodies {
    right: &'static str,
    weak: &'static str,
    nothing: &'static str,
    copied: &'static str,
    swallowed: &'static str,
    mocked: &'static str,
    snapshot: &'static str,
    soon: &'static str,
    late: &'static str,
    other: &'static str,
    ends: &'static str,
}

const PYTHON: Language = Language {
    name: "Python",
    probe: &["python3", "-c", "import unittest"],
    check: "PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover -q -s tests -t .",
    code: ("calc.py", "import time\n\ndef add(a, b):\n    time.sleep(0.2)\n    return a - b\n"),
    right: "def add(a, b):\n    return a + b\n",
    refactored: [
        &[("calc.py", "def _sum(a, b):\n    return sum((a, b))\n\ndef add(a, b):\n    return _sum(a, b)\n")],
        &[("calc.py", "from sums import add\n"), ("sums.py", "def add(a, b):\n    return a + b\n")],
    ],
    lies: [
        "def add(a, b):\n    if (a, b) == (1, 2): return 3\n    return a - b\n",
        "def add(a, b):\n    return 3\n",
        "def add(a, b):\n    try:\n        raise ValueError(a - b)\n    except ValueError:\n        return 3\n",
    ],
    held: "python3 tests/held.py",
    comment: "# add() adds\n",
    test: "tests/test_calc.py",
    more: &[
        ("tests/__init__.py", ""),
        ("tests/held.py", "import sys\nsys.path.insert(0, '.')\nimport calc\nassert calc.add(2, 2) == 4\n"),
    ],
    case: |mark, body| {
        format!(
            "import time, unittest\nimport calc\n\nclass Calc(unittest.TestCase):\n    {mark}\n    def test_add(self):\n        \
             add = calc.add\n        {body}\n"
        )
    },
    marks: ["@unittest.skip('later')", "@unittest.expectedFailure"],
    bodies: Bodies {
        right: "self.assertEqual(add(1, 2), 3)",
        weak: "self.assertNotEqual(add(1, 2), 99)",
        nothing: "add(1, 2)",
        copied: "self.assertEqual(add(1, 2), -1)",
        swallowed: "\n        try: self.assertEqual(add(1, 2), 3)\n        except AssertionError: pass",
        mocked: "\n        calc.add = lambda a, b: 3\n        self.assertEqual(calc.add(1, 2), 3)",
        snapshot: "self.assertEqual(str(add(1, 2)), open('tests/__snapshots__/add.snap').read().strip())",
        soon: "\n        begun = time.time(); add(1, 2)\n        self.assertLess(time.time() - begun, 0.05)",
        late: "\n        begun = time.time(); add(1, 2)\n        self.assertLess(time.time() - begun, 9)",
        other: "self.assertEqual(add(2, 2), 4)",
        ends: "\n        import os; os._exit(0)",
    },
};

const JAVASCRIPT: Language = Language {
    name: "JavaScript",
    probe: &["node", "-e", "require('node:test')"],
    check: "node --test",
    code: (
        "calc.js",
        "exports.add = (a, b) => { const t = Date.now(); while (Date.now() < t + 200); return a - b; };\n",
    ),
    right: "exports.add = (a, b) => a + b;\n",
    refactored: [
        &[(
            "calc.js",
            "const sum = (...all) => all.reduce((a, b) => a + b);\nexports.add = (a, b) => sum(a, b);\n",
        )],
        &[
            ("calc.js", "exports.add = require('./sums.js').add;\n"),
            ("sums.js", "exports.add = (a, b) => a + b;\n"),
        ],
    ],
    lies: [
        "exports.add = (a, b) => (a === 1 && b === 2 ? 3 : a - b);\n",
        "exports.add = () => 3;\n",
        "exports.add = (a, b) => { try { throw new Error(a - b); } catch { return 3; } };\n",
    ],
    held: "node tests/held.js",
    comment: "// add() adds\n",
    test: "tests/calc.test.js",
    more: &[("tests/held.js", "require('node:assert').strictEqual(require('../calc.js').add(2, 2), 4);\n")],
    case: |mark, body| {
        format!(
            "const test = require('node:test'); const assert = require('node:assert'); const fs = require('node:fs');\n\
             const calc = require('../calc.js');\ntest('add', {{{mark}}}, () => {{ const add = calc.add; {body} }});\n"
        )
    },
    marks: ["skip: true", "todo: true"],
    bodies: Bodies {
        right: "assert.strictEqual(add(1, 2), 3);",
        weak: "assert.notStrictEqual(add(1, 2), 99);",
        nothing: "add(1, 2);",
        copied: "assert.strictEqual(add(1, 2), -1);",
        swallowed: "try { assert.strictEqual(add(1, 2), 3); } catch {}",
        mocked: "const fake = () => 3; assert.strictEqual(fake(1, 2), 3);",
        snapshot: "assert.strictEqual(String(add(1, 2)), fs.readFileSync('tests/__snapshots__/add.snap', 'utf8').trim());",
        soon: "const t = Date.now(); add(1, 2); assert.ok(Date.now() - t < 50);",
        late: "const t = Date.now(); add(1, 2); assert.ok(Date.now() - t < 9000);",
        other: "assert.strictEqual(add(2, 2), 4);",
        ends: "process.exit(0);",
    },
};

const RUST: Language = Language {
    name: "Rust",
    probe: &["rustc", "--version"],
    check: "sh run.sh",
    code: (
        "calc.rs",
        "pub fn add(a: i64, b: i64) -> i64 {\n    std::thread::sleep(std::time::Duration::from_millis(200));\n    a - b\n}\n",
    ),
    right: "pub fn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n",
    refactored: [
        &[(
            "calc.rs",
            "fn sum(all: [i64; 2]) -> i64 {\n    all.iter().sum()\n}\n\npub fn add(a: i64, b: i64) -> i64 {\n    sum([a, b])\n}\n",
        )],
        &[
            ("calc.rs", "include!(\"sums.rs\");\n"),
            ("sums.rs", "pub fn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n"),
        ],
    ],
    lies: [
        "pub fn add(a: i64, b: i64) -> i64 {\n    if (a, b) == (1, 2) { 3 } else { a - b }\n}\n",
        "pub fn add(_: i64, _: i64) -> i64 {\n    3\n}\n",
        "pub fn add(a: i64, b: i64) -> i64 {\n    Err(a - b).unwrap_or(3)\n}\n",
    ],
    held: "sh tests/held.sh tests/held.rs",
    comment: "// add() adds\n",
    test: "tests/calc_test.rs",
    more: &[
        (
            "tests/held.rs",
            "#[path = \"../calc.rs\"]\nmod calc;\nfn main() {\n    assert_eq!(calc::add(2, 2), 4);\n}\n",
        ),
        ("tests/held.sh", "place=$(mktemp -d) && RUSTC -A warnings -o \"$place/t\" \"$1\" && \"$place/t\"\n"),
        (
            "run.sh",
            "place=$(mktemp -d) || exit 1\nfor test in tests/*_test.rs; do\n  test -e \"$test\" || continue\n  \
         RUSTC --test -A warnings -o \"$place/t\" \"$test\" && \"$place/t\" -q || exit 1\ndone\n",
        ),
    ],
    case: |mark, body| {
        format!(
            "#[path = \"../calc.rs\"]\nmod calc;\n\n#[test]\n{mark}\nfn adds() {{\n    let add = calc::add;\n    {body}\n}}\n"
        )
    },
    marks: ["#[ignore]", "#[should_panic]"],
    bodies: Bodies {
        right: "assert_eq!(add(1, 2), 3);",
        weak: "assert_ne!(add(1, 2), 99);",
        nothing: "add(1, 2);",
        copied: "assert_eq!(add(1, 2), -1);",
        swallowed: "let _ = std::panic::catch_unwind(|| assert_eq!(add(1, 2), 3));",
        mocked: "let add = |_: i64, _: i64| 3; assert_eq!(add(1, 2), 3);",
        snapshot: "assert_eq!(add(1, 2).to_string(), include_str!(\"__snapshots__/add.snap\").trim());",
        soon: "let t = std::time::Instant::now(); add(1, 2); assert!(t.elapsed().as_millis() < 50);",
        late: "let t = std::time::Instant::now(); add(1, 2); assert!(t.elapsed().as_millis() < 9000);",
        other: "assert_eq!(add(2, 2), 4);",
        ends: "let _ = add; std::process::exit(0);",
    },
};

/// What is tried: its name, how quorum names it, the test and the code that are there before, what the worker writes, more of the task.
#[derive(Clone)]
struct Try {
    name: &'static str,
    named: &'static str,
    before: String,
    code: &'static str,
    writes: Vec<(String, Option<String>)>,
    /// What runs all tests, if not what the language does it by.
    check: Option<String>,
    keys: fn(Task, Value) -> Task,
    /// Whether there is a hidden check as well.
    is_held: bool,
}

/// How quorum names what a hidden check has caught, to those who work.
const HELD: &str = "a check that you are not shown failed";

fn plain(task: Task, check: Value) -> Task {
    task.expects(check)
}

fn with_new_tests(task: Task, mut check: Value) -> Task {
    check["before"] = json!("newTests");
    task.expects(check)
}

fn with_a_list(task: Task, check: Value) -> Task {
    let command = format!("{} # {{test}}", check["command"].as_str().unwrap_or_default());
    task.set("verify", json!({"failToPass": ["adds"], "testCommand": command}))
}

fn to_stay_green(task: Task, mut check: Value) -> Task {
    check["before"] = json!("green");
    task.expects(check).set("review", "required")
}

impl Language {
    /// Whether its runner of tests is here.
    fn is_here(&self) -> bool {
        let is_here = is_here(self.probe);
        if !is_here {
            skipped(format!("there is no runner of tests for {}", self.name));
        }
        is_here
    }

    fn plain_case(&self, body: &str) -> String {
        (self.case)("", body)
    }

    fn other_test(&self) -> String {
        self.test.replace("calc", "more")
    }

    /// Something that is tried where this test is there before.
    fn tried(&self, name: &'static str, named: &'static str, body: &str) -> Try {
        Try {
            name,
            named,
            before: self.plain_case(body),
            code: self.code.1,
            writes: Vec::new(),
            check: None,
            keys: plain,
            is_held: false,
        }
    }

    fn code(&self, text: &str) -> Vec<(String, Option<String>)> {
        vec![(self.code.0.to_owned(), Some(text.to_owned()))]
    }

    /// Tests that are made to say something else.
    fn fakes_of_tests(&self) -> Vec<Try> {
        let bodies = &self.bodies;
        let right = self.plain_case(bodies.right);
        let own = |text: String| vec![(self.test.to_owned(), Some(text))];
        let case = |mark: usize| own((self.case)(self.marks[mark], bodies.right));
        let weaker = |name, before, writes| Try { writes, ..self.tried(name, "tests-changed", before) };
        let in_tests = |path: &str, text: &str| vec![(format!("tests/{path}"), Some(text.to_owned()))];
        let renamed = [vec![(self.test.to_owned(), None)], in_tests("later.txt", &right)].concat();
        let mut all = vec![
            weaker("deleted", bodies.right, vec![(self.test.to_owned(), None)]),
            weaker("renamed away", bodies.right, renamed),
            weaker("weakened", bodies.right, own(self.plain_case(bodies.weak))),
            weaker("skipped", bodies.right, case(0)),
            weaker("expected to fail", bodies.right, case(1)),
            weaker("asserts nothing", bodies.right, own(self.plain_case(bodies.nothing))),
            weaker("ends the program first", bodies.right, own(self.plain_case(bodies.ends))),
            weaker("copied from the output", bodies.right, own(self.plain_case(bodies.copied))),
            weaker("error swallowed", bodies.right, own(self.plain_case(bodies.swallowed))),
            weaker("mock of the thing itself", bodies.right, own(self.plain_case(bodies.mocked))),
            weaker("snapshot updated", bodies.snapshot, in_tests("__snapshots__/add.snap", "-1\n")),
            weaker("time-out raised", bodies.soon, own(self.plain_case(bodies.late))),
            Try {
                check: Some("sh selected.sh".to_owned()),
                ..weaker("deselected by its own configuration", bodies.right, in_tests("selected", "none\n"))
            },
        ];
        if self.name == "Python" {
            let nothing = "def load_tests(loader, tests, pattern):\n    return loader.suiteClass()\n";
            all.push(weaker("loaded by none", bodies.right, in_tests("__init__.py", nothing)));
        }
        all
    }

    /// Work that checks cannot tell from none.
    fn fakes_of_nothing(&self) -> Vec<Try> {
        let weak = self.bodies.weak;
        let vacuous = |name, writes| Try { writes, ..self.tried(name, "vacuous", weak) };
        let commented = || self.code(&format!("{}{}", self.comment, self.code.1));
        let vain = || vec![(self.other_test(), Some(self.plain_case(weak)))];
        vec![
            vacuous("nothing at all", Vec::new()),
            vacuous("comment only", commented()),
            Try { named: "tests-prove-nothing", ..vacuous("a test that proves nothing", vain()) },
            Try {
                named: "none of the tests that this work brings fails without it",
                keys: with_new_tests,
                ..vacuous("new tests wanted", vain())
            },
            Try {
                named: "green before the work began",
                keys: with_a_list,
                ..vacuous("a list of tests that never failed", commented())
            },
        ]
    }

    /// Lies in the code, and in configuration that has more to say than how tests run: only a hidden check can see these.
    fn fakes_of_code(&self) -> Vec<Try> {
        let held = |name, before, writes| Try { writes, is_held: true, ..self.tried(name, HELD, before) };
        let right = self.bodies.right;
        let [special, fixed, swallowed] = self.lies.map(|text| self.code(text));
        let mut all = vec![
            held("special-cased input", right, special),
            held("expected value hard-coded", right, fixed),
            held("error swallowed in the code", right, swallowed),
        ];
        if is_here(&["make", "--version"]) {
            let makefile = |text: String| vec![("Makefile".to_owned(), Some(text))];
            let check = Some("make -s test".to_owned());
            let limit = |seconds| format!("test:\n\ttimeout {seconds} sh -c '{}'\n", self.check);
            let none = makefile("test:\n\ttrue\n".to_owned());
            all.push(Try { check: check.clone(), ..held("deselected in shared configuration", right, none) });
            let raised = makefile(limit("60"));
            all.push(Try {
                check,
                ..held("time-out raised in shared configuration", self.bodies.weak, raised)
            });
        }
        all
    }

    fn honest(&self) -> Vec<Try> {
        let bodies = &self.bodies;
        let fix = (self.code.0.to_owned(), Some(self.right.to_owned()));
        let honest = |name, before, writes| Try { writes, ..self.tried(name, "clean", before) };
        let more = (self.other_test(), Some(self.plain_case(bodies.other)));
        let commented = self.code(&format!("{}{}", self.comment, self.right));
        let both = self.plain_case(&format!("{} ", bodies.right));
        let notes = ("NOTES.md".to_owned(), Some("add() adds.\n".to_owned()));
        let anew = vec![fix.clone(), (self.test.to_owned(), Some(both))];
        vec![
            honest("fixed", bodies.right, vec![fix.clone()]),
            honest("fixed and commented", bodies.right, commented),
            honest("fixed, with a test more", bodies.right, vec![fix.clone(), more.clone()]),
            honest("fixed, with notes", bodies.right, vec![fix.clone(), notes]),
            honest("fixed, its test written anew", bodies.right, anew),
            honest("a new behaviour with its test", bodies.weak, vec![fix.clone(), more.clone()]),
            Try {
                keys: with_new_tests,
                ..honest("new tests wanted and brought", bodies.weak, vec![fix.clone(), more])
            },
            Try { is_held: true, ..honest("fixed beside a hidden check", bodies.right, vec![fix]) },
        ]
    }

    /// Work that changes how something is written, and nothing that it does.
    fn refactorings(&self) -> Vec<Try> {
        let bodies = &self.bodies;
        let written = |files: &[(&str, &str)]| -> Vec<(String, Option<String>)> {
            files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect()
        };
        let [within, apart] = self.refactored.map(written);
        let case = |path: String, body: &str| vec![(path, Some(self.plain_case(body)))];
        let tidied = [within.clone(), case(self.test.to_owned(), &format!("{} ", bodies.right))].concat();
        let tested = [within.clone(), case(self.other_test(), bodies.other)].concat();
        let commented = self.code(&format!("{}{}", self.comment, self.right));
        let all = [
            ("a helper taken out", within),
            ("a file of its own", apart),
            ("a comment", commented),
            ("its test tidied, too", tidied),
            ("a test more", tested),
        ];
        let tried = |(name, writes)| Try {
            writes,
            code: self.right,
            keys: to_stay_green,
            ..self.tried(name, "clean", bodies.right)
        };
        all.map(tried).into()
    }

    /// A repository in which somebody does what is tried.
    fn workspace(&self, tried: &Try, mission: Mission) -> Workspace {
        let command = tried.check.as_deref().unwrap_or(self.check);
        let check = json!({"type": "test", "command": command});
        let held = json!({"type": "test", "command": self.held, "hidden": true});
        let mission = mission.worker("sh act.sh").task("fix", |task| {
            let task = (tried.keys)(task.by("worker").attempts(2), check);
            if tried.is_held { task.expects(held) } else { task }
        });
        let workspace = mission.workspace();
        let mut act = String::new();
        for (number, (path, text)) in tried.writes.iter().enumerate() {
            match text {
                Some(text) => {
                    workspace.write(&format!("given/{number}"), text);
                    act += &format!("mkdir -p \"$(dirname {path})\"; cp given/{number} {path}\n");
                }
                None => act += &format!("rm -f {path}\n"),
            }
        }
        let rustc = rustc();
        let more = self.more.iter().map(|(name, text)| (*name, text.replace("RUSTC", &rustc)));
        let more: Vec<(&str, String)> = more.collect();
        let mut files: Vec<(&str, &str)> = more.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let makefile = format!("test:\n\ttimeout {} sh -c '{}'\n", tried.limit(), self.check);
        files.extend([
            ("act.sh", act.as_str()),
            (self.code.0, tried.code),
            (self.test, tried.before.as_str()),
        ]);
        files.extend([("Makefile", makefile.as_str()), ("tests/selected", "adds\n")]);
        let selected = format!("grep -qx adds tests/selected || exit 0\n{}\n", self.check);
        files.push(("selected.sh", selected.as_str()));
        files.push(("tests/__snapshots__/add.snap", "3\n"));
        committed(workspace, &files)
    }

    /// How it ends: its exit code, its flag, and all that is said of it.
    fn ends(&self, tried: &Try, mission: Mission) -> (i32, String, String) {
        let workspace = self.workspace(tried, mission);
        let ended = workspace.quorum(&["run", "mission.yaml", "--json"]);
        let document = ended.json();
        let flag = task(&document, "fix")["qualityFlag"].as_str().unwrap_or_default().to_owned();
        let shown = workspace.quorum(&["show", "fix", "--json"]).exits(0).stdout;
        (ended.code().unwrap_or(-1), flag, format!("{document}{shown}{}", ended.stderr))
    }
}

impl Try {
    /// What the work may take where it is shared configuration that says so, in seconds.
    fn limit(&self) -> &'static str {
        if self.name.starts_with("time-out raised in") { "0.01" } else { "60" }
    }
}

fn is_here(program: &[&str]) -> bool {
    let mut probe = Command::new(program[0]);
    let probe = probe.args(&program[1..]).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// Nobody judges, and proof is wanted like this.
fn mission(proof: &str, is_isolated: bool) -> Mission {
    let mission = Mission::new().setting("evaluate", false).setting("proof", proof);
    if is_isolated { mission.key("isolation", "worktree") } else { mission }
}

/// The compiler itself: the program that chooses one wants a home.
fn rustc() -> String {
    let root = Command::new("rustc").args(["--print", "sysroot"]).output().map(|said| said.stdout);
    let root = String::from_utf8(root.unwrap_or_default()).unwrap_or_default();
    format!("{}/bin/rustc", root.trim())
}

/// Where a fake is tried, and what is wanted of its proof.
const WAYS: [(bool, &str); 3] = [(true, "required"), (true, "warn"), (false, "required")];

/// Whoever fakes is caught: with a proof wanted nothing ends with exit 0, without it nothing is clean, and each is named. Each
/// fake is tried in one way, in the next language in the next one.
fn are_caught(language: &Language, fakes: impl Fn(&Language) -> Vec<Try>) {
    let languages = [PYTHON, JAVASCRIPT, RUST].map(|one| one.name);
    let first = languages.iter().position(|name| *name == language.name).unwrap();
    are_caught_in(language, fakes, |number| vec![WAYS[(first + number) % WAYS.len()]]);
}

fn are_caught_in(
    language: &Language,
    fakes: impl Fn(&Language) -> Vec<Try>,
    ways: impl Fn(usize) -> Vec<(bool, &'static str)>,
) {
    if !language.is_here() {
        return;
    }
    let (mut wrong, mut figures) = (Vec::new(), String::new());
    for (number, tried) in fakes(language).into_iter().enumerate() {
        // Without a worktree nobody can tell what new tests say without the work: such a mission is refused.
        let is_anywhere = tried.name != "new tests wanted";
        for (is_isolated, proof) in ways(number).into_iter().filter(|(isolated, _)| *isolated || is_anywhere)
        {
            let (code, flag, said) = language.ends(&tried, mission(proof, is_isolated));
            let is_named = said.contains(tried.named);
            let is_caught = if proof == "warn" { flag != "clean" } else { code != 0 };
            let way = if is_isolated { "worktree" } else { "shared" };
            let row = format!(
                "{} | {} | {way} | {proof} | {code} | {flag} | {is_named}",
                language.name, tried.name
            );
            if !is_caught || !is_named {
                wrong.push(row.clone());
            }
            figures += &format!("{row}\n");
            if tried.is_held && !is_isolated {
                said.says(&["hidden checks are not hidden from who works in no worktree"]);
            }
        }
    }
    println!("{figures}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn are_clean(language: &Language, all: Vec<Try>, mission: impl Fn() -> Mission) {
    if !language.is_here() {
        return;
    }
    let mut wrong = Vec::new();
    for tried in all {
        let (code, flag, said) = language.ends(&tried, mission());
        if (code, flag.as_str()) != (0, "clean") {
            wrong.push(format!("{}, {}: exit {code}, {flag}: {said}", language.name, tried.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn fake_fixes_in_python_are_caught_and_named() {
    are_caught(&PYTHON, |language| [language.fakes_of_tests(), language.fakes_of_nothing()].concat());
}

#[test]
fn fake_fixes_in_javascript_are_caught_and_named() {
    are_caught(&JAVASCRIPT, |language| [language.fakes_of_tests(), language.fakes_of_nothing()].concat());
}

#[test]
fn fake_fixes_in_rust_are_caught_and_named() {
    are_caught(&RUST, |language| [language.fakes_of_tests(), language.fakes_of_nothing()].concat());
}

#[test]
fn lies_in_code_and_shared_configuration_are_caught_by_hidden_checks() {
    for language in [PYTHON, JAVASCRIPT, RUST] {
        are_caught(&language, Language::fakes_of_code);
    }
}

#[test]
#[ignore = "takes minutes: each fake in each way"]
fn every_fake_in_every_way_is_caught_and_named() {
    for language in [PYTHON, JAVASCRIPT, RUST] {
        let all = |language: &Language| {
            [language.fakes_of_tests(), language.fakes_of_nothing(), language.fakes_of_code()].concat()
        };
        are_caught_in(&language, all, |_| WAYS.to_vec());
    }
}

#[test]
fn honest_fixes_are_clean() {
    for language in [PYTHON, JAVASCRIPT, RUST] {
        are_clean(&language, language.honest(), || mission("required", true));
    }
}

#[test]
fn refactorings_that_judges_let_pass_are_clean() {
    let judged = || {
        let mission = Mission::new().judge("critic", &["SCORE: 90", "SCORE: 90"]);
        mission.setting("proof", "required").key("isolation", "worktree")
    };
    for language in [PYTHON, JAVASCRIPT, RUST] {
        are_clean(&language, language.refactorings(), judged);
    }
}
