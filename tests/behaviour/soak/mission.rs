//! A big random mission with everything in it, and what a reader of its journal must know about its tasks.

use std::fmt::Write as _;

use crate::support::scenes::kills::Dice;
use crate::support::{BINARY, Workspace};

/// Attempts whose fate is written down; a task is given no more.
const ATTEMPTS: u64 = 3;
/// What may follow when all attempts are used up.
const ENDS: [&str; 6] = ["accept", "fail", "degrade", "refer", "fixup", "fixup"];
/// How far back a task's dependencies lie at most.
const REACH: u64 = 40;

/// Tasks that depend on a foundation, at least (semantics, section 12).
const DEPENDENTS: usize = 3;
/// What judged work must reach, in points, and what work on a foundation must.
const BAR: f64 = 60.0;
const RELIEVED: f64 = 40.0;

/// What was asked for of one task.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub title: String,
    /// Tasks that it needs, by position.
    pub needs: Vec<usize>,
    pub max_attempts: u64,
    /// The task itself says how many; else a foundation has one more.
    pub has_own_cap: bool,
    /// Much is built on it.
    pub foundation: bool,
    pub side_effects: bool,
    /// It has a finish gate.
    pub finish: bool,
    /// It has checks that decide.
    pub checks: bool,
    /// A panel is asked about it.
    pub panel: bool,
    /// One reviewer is asked about it.
    pub evaluated: bool,
    /// Milliseconds from its first turn to its deadline, and whether missing that fails it.
    pub deadline: Option<u64>,
    pub late_fails: bool,
    /// What follows when all attempts are used up, where the mission says so.
    pub exhausted: Option<&'static str>,
}

impl Asked {
    /// What an agent hands down is asked for no more than its review.
    pub fn handed_down() -> Self {
        Self { max_attempts: 2, evaluated: true, ..Self::default() }
    }

    /// Attempts that it may have.
    pub fn most_attempts(&self) -> u64 {
        let more = u64::from(self.foundation && !self.has_own_cap);
        self.max_attempts.max(1) + more
    }

    /// What its work must reach, in points.
    pub fn bar(&self) -> f64 {
        if self.foundation { RELIEVED } else { BAR }
    }

    /// What work on it would have to reach if it were no foundation.
    pub fn full_bar(&self) -> f64 {
        BAR
    }
}

/// A gate between tasks, by position.
#[derive(Debug, Clone)]
pub struct Gate {
    pub after: Vec<usize>,
    pub blocks: Vec<usize>,
    pub all_passed: bool,
    pub accepts_below: bool,
    /// The least mean, in points.
    pub min: Option<f64>,
}

/// A checkpoint or a delay, by position of its tasks.
#[derive(Debug, Clone)]
pub struct Hold {
    pub is_checkpoint: bool,
    pub after: Vec<usize>,
    pub blocks: Vec<usize>,
}

/// What a mission asks for. Written down beside it, so that nobody has to read it to judge what became of it.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub tasks: Vec<Asked>,
    pub gates: Vec<Gate>,
    pub holds: Vec<Hold>,
    /// What people ask for from outside, in the order in which they do.
    pub requests: Vec<Asked>,
}

impl Plan {
    fn mark_foundations(&mut self) {
        let mut dependents = vec![0; self.tasks.len()];
        for on in self.tasks.iter().flat_map(|task| &task.needs) {
            dependents[*on] += 1;
        }
        for (task, dependents) in self.tasks.iter_mut().zip(dependents) {
            task.foundation = dependents >= DEPENDENTS;
        }
    }
}

pub fn workspace(seed: u64, tasks: u64) -> (Workspace, Plan) {
    let workspace = Workspace::new();
    let mut dice = Dice::new(seed);
    let mut plan = Plan::default();
    let root = workspace.root().display().to_string();
    let worker = format!("run: [/bin/sh, '@agents/fated-worker.sh', '{root}'], env: {{QUORUM: '{BINARY}'}}");
    let mut yaml = format!(
        "
name: soak {seed}
budget: {{maxCost: 1000000}}
channels: {{told: {{type: file, path: told.jsonl}}}}
agents:
  worker: {{{worker}, maxCostPerTurn: 0.5}}
  helper: {{{worker}, maxCostPerTurn: 0.5, model: paid}}
  blind: {{{worker}, maxCostPerTurn: 0.5, input: none, maxConcurrent: 2}}
  judge: {{run: [/bin/sh, '@agents/fated-judge.sh', '{root}', judge], role: reviewer, maxCostPerTurn: 0}}
  second: {{run: [/bin/sh, '@agents/fated-judge.sh', '{root}', second], maxCostPerTurn: 0}}
  lead: {{run: [/bin/sh, '@agents/fated-lead.sh', '{root}'], maxCostPerTurn: 0}}
  boss: {{adapter: human}}
settings:
  concurrency: 6
  judgeBreaker: 0
  orchestrator: lead
  defaultChannels: [told]
  prices: {{paid: {{input: 100, output: 1000}}}}
  sla: {{violationAction: {}, warningChannels: [told], violationChannels: [told]}}
  approvalGates: [{{name: urgent, when: task.priority > 8, approvers: [{{command: 'test $QUORUM_TASK != t7'}}]}}]
tasks:
",
        if late_fails(seed) { "fail" } else { "notify" },
    );
    for task in 0..tasks {
        let asked =
            Asked { late_fails: late_fails(seed), ..add_task(&mut yaml, &workspace, &mut dice, task) };
        plan.tasks.push(asked);
    }
    plan.mark_foundations();
    add_order(&mut yaml, &mut dice, &mut plan);
    add_requests(&workspace, &mut dice, &mut plan);
    workspace.mission(&yaml);
    (workspace, plan)
}

/// Whether a missed deadline fails its task, or is told and no more: one mission has one rule.
fn late_fails(seed: u64) -> bool {
    seed % 2 == 1
}

/// Some tasks that people ask for while it runs, one for each hundred, five at least.
fn add_requests(workspace: &Workspace, dice: &mut Dice, plan: &mut Plan) {
    let tasks = plan.tasks.len() as u64;
    for n in 0..5 + tasks / 100 {
        let mut needs: Vec<usize> =
            (0..dice.below(3)).map(|_| usize::try_from(dice.below(tasks)).expect("it is an index")).collect();
        needs.sort_unstable();
        needs.dedup();
        let asked = Asked { title: format!("r{n}"), needs, ..Asked::handed_down() };
        let fates = ["good", "good", "good", "bad", "crash", "ask", "delegate"];
        add_fates(workspace, dice, &asked.title, &fates, &asked, "worker");
        plan.requests.push(asked);
    }
}

/// Titles of tasks, for a list.
fn titles(tasks: &[usize]) -> String {
    let titles: Vec<String> = tasks.iter().map(|task| format!("t{task}")).collect();
    titles.join(", ")
}

/// One gate for each fifty tasks, one checkpoint for each two hundred, one delay for each hundred, at least one of each.
fn add_order(yaml: &mut String, dice: &mut Dice, plan: &mut Plan) {
    let tasks = plan.tasks.len() as u64;
    let mut some = |from: u64, to: u64| -> Vec<usize> {
        let mut picked: Vec<usize> = (0..1 + dice.below(3))
            .map(|_| usize::try_from(from + dice.below(to - from)).expect("it is an index"))
            .collect();
        picked.sort_unstable();
        picked.dedup();
        picked
    };
    let mut between = |n: u64, of: u64| {
        let middle = 1 + (tasks - 2) * (n + 1) / (of + 1);
        let first = middle.saturating_sub(REACH);
        (some(first, middle), some(middle, (middle + REACH).min(tasks)))
    };
    let gates = 1 + tasks / 50;
    yaml.push_str("qualityGates:\n");
    for n in 0..gates {
        let (after, blocks) = between(n, gates);
        let rule = ["", ", requireAllPassed: false", ", minScore: 3.5", ", acceptBelowThreshold: true"]
            [usize::try_from(n % 4).expect("a small number")];
        let _ = writeln!(
            yaml,
            "  - {{name: g{n}, afterTasks: [{}], blocksTasks: [{}]{rule}, notifyChannels: [told]}}",
            titles(&after),
            titles(&blocks)
        );
        plan.gates.push(Gate {
            after,
            blocks,
            all_passed: n % 4 != 1,
            accepts_below: n % 4 == 3,
            min: (n % 4 == 2).then_some(70.0),
        });
    }
    for (key, count, more) in
        [("checkpoints", 1 + tasks / 200, ""), ("delays", 1 + tasks / 100, ", duration: 30")]
    {
        let _ = writeln!(yaml, "{key}:");
        for n in 0..count {
            let (after, blocks) = between(n, count);
            let _ = writeln!(
                yaml,
                "  - {{name: {key}-{n}, afterTasks: [{}], blocksTasks: [{}]{more}}}",
                titles(&after),
                titles(&blocks)
            );
            let is_checkpoint = key == "checkpoints";
            plan.holds.push(Hold { is_checkpoint, after, blocks });
        }
    }
}

fn add_task(yaml: &mut String, workspace: &Workspace, dice: &mut Dice, task: u64) -> Asked {
    let title = format!("t{task}");
    let agent = dice.pick(&["worker", "worker", "worker", "helper", "blind"]);
    let needs = pick_needs(dice, task);
    let mut asked =
        Asked { title: title.clone(), max_attempts: 1 + dice.below(ATTEMPTS), ..Asked::default() };
    // Most agents do well at once: a mission in which nothing gets through shows little.
    let mut fates = vec!["good"; 40];
    fates.extend(["bad", "bad", "idle", "crash", "crash", "ask", "ask", "mess"]);
    let mut keys = String::new();
    add_judging(&mut keys, dice, &mut asked);
    // Only clean work is handed down from.
    if asked.checks || asked.panel || asked.evaluated {
        fates.extend(["delegate"; 8]);
    }
    // Without a word of its own it has two attempts, and a foundation three.
    asked.has_own_cap = !asked.evaluated || dice.chance(50);
    if !asked.has_own_cap {
        asked.max_attempts = 2;
    }
    if dice.chance(2) {
        fates = vec!["crash"];
    }
    add_rules(&mut keys, &mut fates, dice, &mut asked);
    if dice.chance(3) {
        keys.push_str(dice.pick(&[
            ", requiresApproval: true",
            ", requiresApproval: {approvers: [lead, boss]}",
            ", requiresApproval: {approvers: [{command: 'exit 0'}]}",
        ]));
    }
    if dice.chance(30) {
        let _ = write!(keys, ", targetFiles: [{title}.txt]");
    }
    add_remedies(&mut keys, dice, &mut asked);
    if asked.has_own_cap {
        let _ = write!(keys, ", maxAttempts: {}", asked.max_attempts);
    }
    let _ = writeln!(
        yaml,
        "  - {{title: {title}, assignTo: {agent}, priority: {}, dependsOn: [{}]{keys}}}",
        1 + dice.below(9),
        titles(&needs),
    );
    asked.needs = needs;
    add_fates(workspace, dice, &title, &fates, &asked, agent);
    if asked.exhausted == Some("fixup") {
        let fates = ["good", "good", "good", "bad", "crash", "ask"];
        add_fates(workspace, dice, &format!("{title} (fixup)"), &fates, &asked, agent);
    }
    asked
}

/// Some earlier tasks, near it.
fn pick_needs(dice: &mut Dice, task: u64) -> Vec<usize> {
    let mut needs: Vec<usize> = (0..dice.below(4))
        .filter(|_| task > 0)
        .map(|_| usize::try_from(task - 1 - dice.below(REACH.min(task))).expect("it is an index"))
        .collect();
    needs.sort_unstable();
    needs.dedup();
    needs
}

/// Who or what judges it, if anything.
fn add_judging(keys: &mut String, dice: &mut Dice, asked: &mut Asked) {
    let title = &asked.title;
    match dice.below(12) {
        0 => {
            asked.checks = true;
            let _ = write!(
                keys,
                ", expectations: [{{type: script, command: 'true'}}, {{type: test, command: 'grep -q -e good -e ask -e delegate -e mess {title}.txt'}}]"
            );
        }
        1 => {
            asked.panel = true;
            keys.push_str(", expectations: [{type: llm_review, reviewers: [judge, second], dimensions: [{name: depth, weight: 1}]}]");
        }
        2 | 3 => {
            asked.evaluated = true;
            keys.push_str(", review: auto");
        }
        _ => keys.push_str(", review: none"),
    }
}

/// What it must keep to while it is worked on, and agents that do not.
fn add_rules(keys: &mut String, fates: &mut Vec<&str>, dice: &mut Dice, asked: &mut Asked) {
    let title = &asked.title;
    if dice.chance(5) {
        asked.side_effects = true;
        keys.push_str(", sideEffects: true");
    }
    if dice.chance(6) {
        asked.finish = true;
        let _ = write!(keys, ", verify: {{commands: ['test -s {title}.txt'], maxAttempts: 1}}");
        fates.extend(["late"; 8]);
    }
    if dice.chance(2) {
        let _ = write!(keys, ", protect: [{title}.guard]");
        fates.extend(["vandal"; 10]);
    }
    let hangs = dice.chance(2);
    if hangs {
        keys.push_str(", maxDuration: 400");
        fates.extend(["hang"; 80]);
    }
    // Most of these are missed, all of those are met.
    if !hangs && dice.chance(3) {
        asked.deadline = Some(300);
        keys.push_str(", deadline: 300, maxDuration: 900");
        fates.extend(["hang"; 80]);
    } else if dice.chance(3) {
        asked.deadline = Some(2 * 60 * 60 * 1000);
        keys.push_str(", deadline: 2h");
    }
}

/// What follows when a dependency failed, and when all attempts are used up.
fn add_remedies(keys: &mut String, dice: &mut Dice, asked: &mut Asked) {
    let order = dice.pick(&[
        "artifacts, resolve, skip",
        "resolve, skip",
        "partial, resolve, skip",
        "resolve, partial, skip",
        "skip",
    ]);
    let _ = write!(keys, ", onDependencyFailed: [{order}]");
    if dice.chance(40) {
        let end = dice.pick(&ENDS);
        let _ = write!(keys, ", onExhausted: {end}");
        asked.exhausted = ENDS.into_iter().find(|known| *known == end);
    }
}

/// What its agent does at each attempt, what judges say of it, what the coordinator says about it, and the same of what it
/// may hand down.
fn add_fates(
    workspace: &Workspace,
    dice: &mut Dice,
    title: &str,
    fates: &[&str],
    asked: &Asked,
    agent: &str,
) {
    let write =
        |name: String, text: &str| workspace.write(&format!("fate/{title}.{name}"), format!("{text}\n"));
    // Some say what it cost, some what they used, some nothing.
    match dice.below(3) {
        0 => write(
            "usage".to_owned(),
            &format!("{{\"cost\": 0.{:02}, \"inputTokens\": {}}}", dice.below(100), dice.below(5_000)),
        ),
        1 => write(
            "usage".to_owned(),
            &format!("{{\"inputTokens\": {}, \"outputTokens\": {}}}", dice.below(5_000), dice.below(500)),
        ),
        _ => {}
    }
    let mut may_delegate = false;
    for attempt in 1..=ATTEMPTS {
        let how = dice.pick(fates);
        may_delegate |= how == "delegate";
        write(attempt.to_string(), &format!("{how} 0"));
        for judge in ["judge", "second"].into_iter().filter(|_| asked.panel || asked.evaluated) {
            let score = 2 + dice.below(4);
            let reply = match dice.below(20) {
                0 => "neither here nor there".to_owned(),
                // Cannot be reached.
                1 => continue,
                _ if asked.panel => {
                    format!(
                        "{{\"scores\": {{\"depth\": {{\"score\": {score}, \"reasoning\": \"r\"}}}}, \"findings\": []}}"
                    )
                }
                _ => format!("as it is\nSCORE: {}", 20 * score),
            };
            write(format!("{attempt}.{judge}"), &reply);
        }
    }
    let resolution = dice.pick(&[
        "{\"action\": \"absorb\", \"prompt\": \"go on without\"}",
        "{\"action\": \"absorb\", \"prompt\": \"go on without\"}",
        "{\"action\": \"retry\"}",
        "{\"action\": \"unresolvable\"}",
    ]);
    write("resolve".to_owned(), resolution);
    write(
        "answer".to_owned(),
        dice.pick(&["{\"answer\": \"this one\"}", "{\"answer\": \"that one\"}", "{\"answer\": null}"]),
    );
    write("approve".to_owned(), dice.pick(&["{\"decision\": \"approve\"}", "{\"decision\": \"undecided\"}"]));
    if may_delegate {
        let to = if agent == "worker" { "helper" } else { "worker" };
        write("to".to_owned(), to);
        // What is handed down may be handed down again, once.
        let again = if title.ends_with(['a', 'b']) { "good" } else { "delegate" };
        for sub_task in ["a", "b"] {
            let asked = Asked::handed_down();
            let fates = ["good", "good", "good", "good", "bad", "crash", "ask", again];
            add_fates(workspace, dice, &format!("{title}{sub_task}"), &fates, &asked, to);
        }
    }
}
