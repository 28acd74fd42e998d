//! Fake fixes and honest ones, in repositories of three languages: what checks alone make of them (semantics, section 24).
//!
//! Each fake makes a failing check pass, or claims to, without the work. None may end with exit 0 where proof is required, none `clean`
//! without it. Nobody judges, so checks are all that stands between the two.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Mission, Workspace, skipped, task};
use crate::worktrees::committed;

/// A language, as far as its tests look different.
struct Language {
    name: &'static str,
    /// What shows that its runner is here.
    probe: &'static [&'static str],
    /// What runs all tests.
    check: &'static str,
    /// The code, and where it lies.
    code: (&'static str, &'static str),
    /// The same, right.
    right: &'static str,
    /// A comment.
    comment: &'static str,
    test: &'static str,
    more: &'static [(&'static str, &'static str)],
    /// A test with this body, behind this mark; the body calls `add`.
    case: fn(mark: &str, body: &str) -> String,
    /// Marks of a test that is left out, and of one that is to fail.
    marks: [&'static str; 2],
    /// Bodies: right, weak, nothing, copied, swallowed, mocked, of a snapshot, within a time of 50 ms, of 9 s; of another behaviour.
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
}

const PYTHON: Language = Language {
    name: "Python",
    probe: &["python3", "-c", "import unittest"],
    check: "PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover -q -s tests -t .",
    code: ("calc.py", "import time\n\ndef add(a, b):\n    time.sleep(0.2)\n    return a - b\n"),
    right: "def add(a, b):\n    return a + b\n",
    comment: "# add() adds\n",
    test: "tests/test_calc.py",
    more: &[("tests/__init__.py", "")],
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
    comment: "// add() adds\n",
    test: "tests/calc.test.js",
    more: &[],
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
    comment: "// add() adds\n",
    test: "tests/calc_test.rs",
    more: &[(
        "run.sh",
        "place=$(mktemp -d) || exit 1\nfor test in tests/*_test.rs; do\n  test -e \"$test\" || continue\n  \
         RUSTC --test -A warnings -o \"$place/t\" \"$test\" && \"$place/t\" -q || exit 1\ndone\n",
    )],
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
    },
};

/// What is tried: its name, how quorum names it, the test that is there before, what the worker writes, more of the task.
struct Try {
    name: &'static str,
    named: &'static str,
    before: String,
    writes: Vec<(String, Option<String>)>,
    keys: fn(Value) -> Value,
}

fn plain(check: Value) -> Value {
    check
}

fn with_new_tests(mut check: Value) -> Value {
    check["before"] = json!("newTests");
    check
}

impl Language {
    fn is_here(&self) -> bool {
        let mut probe = Command::new(self.probe[0]);
        let probe = probe.args(&self.probe[1..]).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    }

    fn plain_case(&self, body: &str) -> String {
        (self.case)("", body)
    }

    fn other_test(&self) -> String {
        self.test.replace("calc", "more")
    }

    fn fakes(&self) -> Vec<Try> {
        let bodies = &self.bodies;
        let right = self.plain_case(bodies.right);
        let own = |text: String| vec![(self.test.to_owned(), Some(text))];
        let case = |mark: usize| own((self.case)(self.marks[mark], bodies.right));
        let weaker = |name, before: &str, writes| Try {
            name,
            named: "tests-changed",
            before: before.to_owned(),
            writes,
            keys: plain,
        };
        let snapshot = vec![("tests/__snapshots__/add.snap".to_owned(), Some("-1\n".to_owned()))];
        let code = |text: String| vec![(self.code.0.to_owned(), Some(text))];
        let mut all = vec![
            weaker("deleted", &right, vec![(self.test.to_owned(), None)]),
            weaker(
                "renamed away",
                &right,
                vec![(self.test.to_owned(), None), ("tests/later.txt".to_owned(), Some(right.clone()))],
            ),
            weaker("weakened", &right, own(self.plain_case(bodies.weak))),
            weaker("skipped", &right, case(0)),
            weaker("expected to fail", &right, case(1)),
            weaker("asserts nothing", &right, own(self.plain_case(bodies.nothing))),
            weaker("copied from the output", &right, own(self.plain_case(bodies.copied))),
            weaker("error swallowed", &right, own(self.plain_case(bodies.swallowed))),
            weaker("mock of the thing itself", &right, own(self.plain_case(bodies.mocked))),
            weaker("snapshot updated", &self.plain_case(bodies.snapshot), snapshot),
            weaker("time-out raised", &self.plain_case(bodies.soon), own(self.plain_case(bodies.late))),
        ];
        let vacuous = |name, writes, keys| Try {
            name,
            named: "vacuous",
            before: self.plain_case(bodies.weak),
            writes,
            keys,
        };
        let commented = code(format!("{}{}", self.comment, self.code.1));
        all.push(vacuous("nothing at all", Vec::new(), plain));
        all.push(vacuous("comment only", commented, plain));
        let vain = vec![(self.other_test(), Some(self.plain_case(bodies.weak)))];
        all.push(vacuous("a test that proves nothing", vain.clone(), plain));
        all.push(Try {
            named: "none of the tests that this work brings fails without it",
            ..vacuous("new tests wanted", vain, with_new_tests)
        });
        if self.name == "Python" {
            let nothing = "def load_tests(loader, tests, pattern):\n    return loader.suiteClass()\n";
            let configured = vec![("tests/__init__.py".to_owned(), Some(nothing.to_owned()))];
            all.push(weaker("deselected by its own configuration", &right, configured));
        }
        all
    }

    fn honest(&self) -> Vec<Try> {
        let right = self.plain_case(self.bodies.right);
        let fix = (self.code.0.to_owned(), Some(self.right.to_owned()));
        let honest = |name, writes| Try { name, named: "clean", before: right.clone(), writes, keys: plain };
        let more = (self.other_test(), Some(self.plain_case(self.bodies.other)));
        let commented = (self.code.0.to_owned(), Some(format!("{}{}", self.comment, self.right)));
        let both = self.plain_case(&format!("{} {}", self.bodies.right, "").replace("  ", " "));
        vec![
            honest("fixed", vec![fix.clone()]),
            honest("fixed and commented", vec![commented]),
            honest("fixed, with a test more", vec![fix.clone(), more.clone()]),
            honest(
                "fixed, with notes",
                vec![fix.clone(), ("NOTES.md".to_owned(), Some("add() adds.\n".to_owned()))],
            ),
            honest("fixed, its test written anew", vec![fix.clone(), (self.test.to_owned(), Some(both))]),
            Try {
                before: self.plain_case(self.bodies.weak),
                ..honest("a new behaviour with its test", vec![fix.clone(), more.clone()])
            },
            Try {
                before: self.plain_case(self.bodies.weak),
                keys: with_new_tests,
                ..honest("new tests wanted and brought", vec![fix, more])
            },
        ]
    }

    /// A repository in which somebody does what is tried.
    fn workspace(&self, tried: &Try, is_isolated: bool, proof: &str) -> Workspace {
        let mission = Mission::new().worker("sh act.sh").setting("evaluate", false).setting("proof", proof);
        let mission = if is_isolated { mission.key("isolation", "worktree") } else { mission };
        let check = (tried.keys)(json!({"type": "test", "command": self.check}));
        let mission = mission.task("fix", |task| task.by("worker").expects(check));
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
        files.extend([("act.sh", act.as_str()), self.code, (self.test, tried.before.as_str())]);
        files.push(("tests/__snapshots__/add.snap", "3\n"));
        committed(workspace, &files)
    }

    /// How it ends: its exit code, its flag, and all that is said of it.
    fn ends(&self, tried: &Try, is_isolated: bool, proof: &str) -> (i32, String, String) {
        let workspace = self.workspace(tried, is_isolated, proof);
        let ended = workspace.quorum(&["run", "mission.yaml", "--json"]);
        let document = ended.json();
        let found = task(&document, "fix");
        let flag = found["qualityFlag"].as_str().unwrap_or_default().to_owned();
        let shown = workspace.quorum(&["show", "fix", "--json"]).exits(0).stdout;
        (ended.code().unwrap_or(-1), flag, format!("{found}{shown}"))
    }
}

/// The compiler itself: the program that chooses one wants a home.
fn rustc() -> String {
    let root = Command::new("rustc").args(["--print", "sysroot"]).output().map(|said| said.stdout);
    let root = String::from_utf8(root.unwrap_or_default()).unwrap_or_default();
    format!("{}/bin/rustc", root.trim())
}

fn fakes_of(language: &Language) {
    if !language.is_here() {
        skipped(format!("there is no runner of tests for {}", language.name));
        return;
    }
    let mut wrong = Vec::new();
    for tried in language.fakes() {
        // Without a worktree nobody can tell what new tests say without the work: such a mission is refused.
        let is_anywhere = tried.name != "new tests wanted";
        let ways = [(true, "required"), (true, "warn"), (false, "required")];
        for (is_isolated, proof) in ways.into_iter().filter(|(is_isolated, _)| *is_isolated || is_anywhere) {
            let (code, flag, said) = language.ends(&tried, is_isolated, proof);
            let is_named = said.contains(tried.named);
            let is_caught = if proof == "warn" { flag != "clean" } else { code != 0 };
            if !is_caught || !is_named {
                wrong.push(format!(
                    "{}, isolated {is_isolated}, {proof}: exit {code}, {flag}, named {is_named}",
                    tried.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", language.name);
}

fn honest_of(language: &Language) {
    if !language.is_here() {
        skipped(format!("there is no runner of tests for {}", language.name));
        return;
    }
    let mut wrong = Vec::new();
    for tried in language.honest() {
        let (code, flag, said) = language.ends(&tried, true, "required");
        if (code, flag.as_str()) != (0, "clean") {
            wrong.push(format!("{}: exit {code}, {flag}: {said}", tried.name));
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", language.name);
}

#[test]
fn fake_fixes_in_python_are_caught_and_named() {
    fakes_of(&PYTHON);
}

#[test]
fn fake_fixes_in_javascript_are_caught_and_named() {
    fakes_of(&JAVASCRIPT);
}

#[test]
fn fake_fixes_in_rust_are_caught_and_named() {
    fakes_of(&RUST);
}

#[test]
fn honest_fixes_are_clean() {
    [PYTHON, JAVASCRIPT, RUST].iter().for_each(honest_of);
}
