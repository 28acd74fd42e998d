//! Which tests reach which mutant, and which of them notice it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::Options;
use crate::render::{Mutant, Source};

/// Tests of the mutant's own module are run before all others; first those that each take less than this.
const INSTANT: Duration = Duration::from_millis(250);
/// What tests may take of the processor with a mutant: so much, and so many times what they take without one. Time on the
/// clock would say more of what else the machine does.
const PATIENCE: (Duration, u32) = (Duration::from_secs(10), 10);
/// How much longer they may take on the clock, for those that wait for what never comes.
const WAIT: Duration = Duration::from_secs(600);
/// What the kernel ends a process with that has used up its processor time.
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;
/// Memory a test may use, so that a loop without end does not take the machine's.
const MAX_KILOBYTES: &str = "4000000";
/// Survivors that need no test, each with the reason.
const EXPLAINED: &str = include_str!("../SURVIVORS.md");

/// How a mutant ended.
enum End {
    /// By the test that noticed it; empty if the process died without naming one.
    Caught(String),
    TimedOut,
    /// No test comes by.
    Unreached,
    Survived,
}

/// A test, what it takes, and the mutants it comes by.
struct Test {
    name: String,
    takes: Duration,
    reaches: BTreeSet<u32>,
}

/// The test program.
struct Program<'a> {
    path: &'a Path,
    copy: &'a Path,
}

impl Program<'_> {
    fn command(&self, tests: &[&str], cpu_limit: Option<Duration>) -> Command {
        let seconds = cpu_limit.map_or("unlimited".to_owned(), |limit| limit.as_secs().to_string());
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                &format!("ulimit -v {MAX_KILOBYTES}; ulimit -t {seconds}; exec nice -n 5 \"$@\""),
                "sh",
            ])
            .arg(self.path)
            .args(["--exact", "--test-threads=1"])
            .args(tests)
            .current_dir(self.copy)
            .env("CARGO_MANIFEST_DIR", self.copy)
            .env("INSTA_UPDATE", "no")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
            .env("PROPTEST_RNG_SEED", "4")
            // That a test fails is all that is asked.
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        command
    }

    fn tests(&self) -> Result<Vec<String>> {
        let output = Command::new(self.path)
            .args(["--list", "--format", "terse"])
            .output()?;
        let ignored = Command::new(self.path)
            .args(["--list", "--format", "terse", "--ignored"])
            .output()?;
        ensure!(
            output.status.success() && ignored.status.success(),
            "the test program lists no tests"
        );
        let names = |out: &[u8]| -> BTreeSet<String> {
            let text = String::from_utf8_lossy(out).into_owned();
            text.lines()
                .filter_map(|line| line.strip_suffix(": test"))
                .map(str::to_owned)
                .collect()
        };
        let ignored = names(&ignored.stdout);
        Ok(names(&output.stdout)
            .into_iter()
            .filter(|name| !ignored.contains(name))
            .collect())
    }

    /// Runs one test without a mutant and writes down what it reaches; `None` if it fails even so.
    fn reach(&self, name: String, log: &Path) -> Result<Option<Test>> {
        let _ = std::fs::remove_file(log);
        let start = Instant::now();
        let status = self
            .command(&[&name], None)
            .env("QUORUM_MUTANTS_REACHED", log)
            .stdout(Stdio::null())
            .status()
            .context("cannot start a test")?;
        let takes = start.elapsed();
        if !status.success() {
            eprintln!("left out, because it fails without any mutant: {name}");
            return Ok(None);
        }
        let text = std::fs::read_to_string(log).unwrap_or_default();
        let reaches = text.lines().filter_map(|line| line.parse().ok()).collect();
        Ok(Some(Test { name, takes, reaches }))
    }

    /// Runs tests with a mutant until one fails; `None` if none does.
    fn play(&self, mutant: u32, tests: &[&Test]) -> Result<Option<End>> {
        let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
        let usual: Duration = tests.iter().map(|test| test.takes).sum();
        let cpu_limit = PATIENCE.0 + usual * PATIENCE.1;
        let deadline = Instant::now() + cpu_limit + WAIT;
        let mut child = self
            .command(&names, Some(cpu_limit))
            .env("QUORUM_MUTANT", mutant.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the tests")?;
        let stdout = child.stdout.take().context("no output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.ends_with("FAILED") && line.starts_with("test ") => {
                    end(&mut child);
                    let name = line.split_whitespace().nth(1).unwrap_or_default();
                    return Ok(Some(End::Caught(name.to_owned())));
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    end(&mut child);
                    return Ok(Some(End::TimedOut));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = child.wait()?;
                    let is_out_of_time = matches!(status.signal(), Some(SIGKILL | SIGXCPU));
                    return Ok(match status.success() {
                        true => None,
                        false if is_out_of_time => Some(End::TimedOut),
                        false => Some(End::Caught(String::new())),
                    });
                }
            }
        }
    }
}

/// Ends a test process and what it may have started.
fn end(child: &mut Child) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill")
        .args(["-9", "--", &group])
        .stderr(Stdio::null())
        .status();
    let _ = child.wait();
}

/// Does something with every item, so many at a time; the results in the order of the items.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Result<R>>> = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    let result = work(item);
                    results.lock().expect("no worker panics").insert(at, result);
                }
            });
        }
    });
    results
        .into_inner()
        .expect("no worker panics")
        .into_values()
        .collect()
}

/// Plays all mutants and says how they ended; an error if one survived without an explanation.
pub fn play(sources: &[Source], program: &Path, copy: &Path, options: &Options) -> Result<()> {
    let program = Program { path: program, copy };
    let all: Vec<&Mutant> = sources
        .iter()
        .flat_map(|source| &source.mutants)
        .filter(|mutant| options.wants(&mutant.name))
        .collect();
    let refused = all.iter().filter(|mutant| !mutant.compiles).count();
    let mut mutants: Vec<&Mutant> = all.into_iter().filter(|mutant| mutant.compiles).collect();
    let counts = Counts {
        compile: mutants.len(),
        refused,
    };
    if let Some(sample) = options.sample {
        mutants = sample.draw(&mutants);
    }
    let played: BTreeSet<u32> = mutants.iter().map(|mutant| mutant.id).collect();

    let start = Instant::now();
    let mut names = program.tests()?;
    if options.quick {
        let modules: BTreeSet<&str> = mutants.iter().map(|mutant| module(&mutant.name)).collect();
        names.retain(|name| modules.contains(name.split("::").next().unwrap_or_default()));
    }
    let reached = in_parallel(&names, options.jobs, |name| {
        let log = options
            .work
            .join(format!("reached-{:?}", std::thread::current().id()));
        program.reach(name.clone(), &log)
    })?;
    let mut tests: Vec<Test> = reached.into_iter().flatten().collect();
    for test in &mut tests {
        test.reaches.retain(|id| played.contains(id));
    }
    tests.retain(|test| !test.reaches.is_empty());
    tests.sort_by_key(|test| test.takes);
    eprintln!(
        "{} of {} tests reach a mutant ({} s)",
        tests.len(),
        names.len(),
        start.elapsed().as_secs()
    );

    // Whoever falls to the first tests, as most do, need not face the others.
    let mut ends: Vec<Option<End>> = Vec::new();
    let passes = [Pass::Instant, Pass::Module, Pass::Others];
    for pass in passes.into_iter().take(if options.quick { 2 } else { 3 }) {
        let done = AtomicUsize::new(0);
        let items: Vec<(usize, &&Mutant)> = mutants
            .iter()
            .enumerate()
            .filter(|(at, _)| ends.get(*at).is_none_or(Option::is_none))
            .collect();
        let found = in_parallel(&items, options.jobs, |(_, mutant)| {
            let ended = end_of(&program, mutant, &tests, pass)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if ended.is_none() {
                eprintln!("{pass:?}: {done}/{}: {}", items.len(), mutant.name);
            }
            Ok(ended)
        })?;
        let places: Vec<usize> = items.iter().map(|(at, _)| *at).collect();
        ends.resize_with(mutants.len(), || None);
        for (at, end) in places.into_iter().zip(found) {
            ends[at] = end;
        }
    }
    let ends: Vec<End> = ends.into_iter().map(|end| end.unwrap_or(End::Survived)).collect();
    report(&mutants, &ends, &counts, start.elapsed(), options)
}

/// Which of the tests that reach a mutant are its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Those of its own module that take no time.
    Instant,
    /// The others of its module.
    Module,
    /// Those of other modules.
    Others,
}

impl Pass {
    fn of(test: &Test, mutant: &Mutant) -> Self {
        if test.name.split("::").next() != Some(module(&mutant.name)) {
            Self::Others
        } else if test.takes < INSTANT {
            Self::Instant
        } else {
            Self::Module
        }
    }
}

/// How a mutant ends by the tests of a pass; `None` if none of them notices it.
fn end_of(program: &Program<'_>, mutant: &Mutant, tests: &[Test], pass: Pass) -> Result<Option<End>> {
    let mut reaching = tests
        .iter()
        .filter(|test| test.reaches.contains(&mutant.id))
        .peekable();
    if reaching.peek().is_none() {
        return Ok(Some(End::Unreached));
    }
    let tests: Vec<&Test> = reaching.filter(|test| Pass::of(test, mutant) == pass).collect();
    if tests.is_empty() {
        return Ok(None);
    }
    program.play(mutant.id, &tests)
}

/// The module of a mutant: `src/judging/text.rs` and `judging::tests::…` are of one.
fn module(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}

/// A mutant's name without the place in the file, which every edit moves.
pub fn lasting_name(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    let file = parts.next().unwrap_or_default();
    format!("{file}:{}", parts.nth(2).unwrap_or_default())
}

/// Mutants by what the compiler said.
struct Counts {
    compile: usize,
    refused: usize,
}

fn report(
    mutants: &[&Mutant],
    ends: &[End],
    counts: &Counts,
    took: Duration,
    options: &Options,
) -> Result<()> {
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut list, mut survivors, mut unexplained) = (String::new(), String::new(), Vec::new());
    for (mutant, end) in mutants.iter().zip(ends) {
        let is_explained = EXPLAINED.contains(&lasting_name(&mutant.name));
        let (kind, by) = match end {
            End::Caught(by) => ("caught", by.as_str()),
            End::TimedOut => ("timed out", ""),
            _ if is_explained => ("survived, explained", ""),
            End::Unreached => ("unreached", ""),
            End::Survived => ("survived", ""),
        };
        *totals.entry(kind).or_default() += 1;
        list.push_str(&format!("{kind}\t{}\t{by}\n", mutant.name));
        if !matches!(end, End::Caught(_) | End::TimedOut) {
            survivors.push_str(&format!("{kind}\t{}\n", mutant.name));
            if !is_explained {
                unexplained.push(&mutant.name);
            }
        }
    }
    std::fs::write(options.work.join("mutants.txt"), list)?;
    std::fs::write(options.work.join("survivors.txt"), &survivors)?;
    println!(
        "{} mutants, {} more do not compile; {} s",
        counts.compile,
        counts.refused,
        took.as_secs()
    );
    for (kind, count) in totals {
        println!("{count:6} {kind}");
    }
    if let Some(sample) = options.sample {
        let survived = survivors.lines().count();
        let killed = mutants.len() - survived;
        println!(
            "sample of {} by seed {}: {killed} killed, {survived} not; {:.1} % killed",
            mutants.len(),
            sample.seed,
            100.0 * killed as f64 / mutants.len().max(1) as f64
        );
        print!("{survivors}");
    } else {
        for name in &unexplained {
            println!("{name}");
        }
    }
    ensure!(
        unexplained.is_empty(),
        "{} mutants survive unexplained",
        unexplained.len()
    );
    Ok(())
}
