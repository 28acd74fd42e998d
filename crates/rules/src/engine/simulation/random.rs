//! Random missions, options and answers of a random world: the same for the same seed, on every machine.

use std::fmt::Write as _;

use crate::domain::{
    Answer, DeclaredVerdict, Digest, FailureClass, Finding, FindingsReport, GradeGiven, Millis, Points,
    PriorAnswer, Probe, Purpose, RubricReply, Severity, StageKey, TaskId,
};
use crate::engine::{Asked, Effect, Job, TurnFiles};
use crate::mission::model::{FinishGate, TaskType};
use crate::plan::{RunOptions, SubTask};

use super::{Response, opinion, options, silence};

/// SplitMix64: a few lines, the same on every machine.
pub struct Random(pub u64);

impl Random {
    #[allow(clippy::should_implement_trait, reason = "numbers for tests, which nobody iterates over")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

pub fn random_mission(random: &mut Random) -> String {
    let n = 1 + random.below(9);
    let mut yaml = String::from("name: random\nagents:\n");
    yaml.push_str(random.pick(&[
        "  w1: {run: [/bin/true]}\n",
        "  w1: {run: [/bin/true], permissions: {timeout: 1s}}\n",
        "  w1: {run: [/bin/true], fallback: [o, w2]}\n",
    ]));
    yaml.push_str(random.pick(&[
        "  w2: {run: [/bin/true], input: none}\n",
        "  w2: {run: [/bin/true], maxConcurrent: 1}\n",
        "  w2: {run: [/bin/true], maxConcurrent: 1, fallback: [o, w1]}\n",
    ]));
    yaml.push_str("  h: {adapter: human}\n  o: {run: [/bin/true]}\n");
    let judges = random.below(4);
    for judge in 0..judges {
        let _ = writeln!(yaml, "  j{judge}: {{run: [/bin/true], role: reviewer}}");
    }
    let _ = writeln!(
        yaml,
        "settings: {{maxAttempts: {}, maxFixAttempts: {}, maxRetries: {}, maxAssessmentRetries: {}, \
         failOpenOnUnparsedEval: {}, judgeBreaker: {}, autoRejectOnTimeout: {}{}{}{}}}",
        1 + random.below(4),
        random.below(3),
        random.below(3),
        random.below(2),
        random.chance(10),
        random.pick(&["0", "2", "3", "5"]),
        random.chance(50),
        random.pick(&[
            "",
            "",
            ", orchestrator: o",
            ", orchestrator: o, onDependencyFailed: [artifacts, partial, resolve, skip]",
            ", onDependencyFailed: [partial, skip], maxQuestionRounds: 1",
            ", orchestrator: o, onDependencyFailed: [resolve], maxResolutionAttempts: 1",
        ]),
        random.pick(&[
            "",
            "",
            ", approvalGates: [{name: g, when: \"task.priority > 2 or task.sideEffects\", approvers: [{command: z}]}]",
        ]),
        random.pick(&[
            "",
            ", defaultChannels: [ops]",
            ", foundation: false",
            ", finalChecks: always",
            ", finalChecks: never",
        ])
            .to_owned()
            + random.pick(&["", ", sla: {violationAction: fail}", ", sla: {violationAction: fail, warningThreshold: 0.5}"]),
    );
    yaml.push_str(random.pick(&[
        "",
        "",
        "deadline: 400ms\n",
        "deadline: 5s\n",
        "deadline: '1970-01-01T00:20:00'\n",
    ]));
    yaml.push_str("channels: {ops: {type: file, path: f}, dev: {type: file, path: g}}\n");
    yaml.push_str(random.pick(&[
        "",
        "",
        "",
        "stages: [{name: lint, command: x}]\n",
        "stages: [{name: legal, agent: o}, {name: lint, command: x}]\n",
        "stages: [{name: client, agent: h}]\nredTeam: {agent: o}\n",
        "redTeam: {agent: o, minStakes: medium, onMissing: skip}\n",
        "redTeam: {agent: w1, onMissing: skip}\nautonomy: locked\n",
        "vision: {kind: heuristic, screenshots: [s.png], expectations: [{color: '#000000'}]}\n",
    ]));
    if random.chance(30) {
        let _ = writeln!(yaml, "qualityThreshold: {}", 2 + random.below(3));
    }
    yaml.push_str(random.pick(&["", "", "isolation: worktree\n"]));
    yaml.push_str("tasks:\n");
    for task in 0..n {
        let _ = write!(yaml, "  - {{title: t{task}, assignTo: {}", random.pick(&["w1", "w2"]));
        let dependencies: Vec<String> =
            (0..task).filter(|_| random.chance(25)).map(|d| format!("t{d}")).collect();
        let _ = write!(yaml, ", dependsOn: [{}], priority: {}", dependencies.join(", "), 1 + random.below(3));
        yaml.push_str(random.pick(&[
            "",
            "",
            ", targetFiles: [a]",
            ", exclusive: true",
            ", review: none",
            ", review: required",
            ", protect: [tests/**]",
            ", verify: {commands: [x, y], maxAttempts: 1}",
            ", verify: {requireCompilation: true, compileCommand: x, compilationMaxAttempts: 3, commands: [z]}",
        ]));
        yaml.push_str(random.pick(&[
            "",
            "",
            ", expectations: [{type: test, command: x}, {type: script, command: y}]",
            ", expectations: [{type: script, command: y, before: red}]",
            ", expectations: [{type: llm_review, criteria: c}]",
            ", expectations: [{type: test, command: x, reruns: 2}, {type: llm_review, criteria: c, reviewers: 2}]",
            match judges {
                0 => ", expectations: [{type: llm_review, criteria: c, reviewers: [h]}]",
                _ => ", expectations: [{type: llm_review, criteria: c, reviewers: [h, j0]}]",
            },
        ]));
        yaml.push_str(random.pick(&[
            "",
            "",
            "",
            ", acceptance: [c, d], verification: {grader: heuristic}",
            ", acceptance: [c, d], decomposer: {agent: o}",
            ", stages: [{name: own, command: y}]",
            ", stakes: low, autonomy: supervised",
        ]));
        yaml.push_str(random.pick(&[
            "",
            "",
            ", onExhausted: accept",
            ", onExhausted: degrade",
            ", onExhausted: fixup",
            ", onExhausted: fixup, maxAttempts: 1",
            ", onExhausted: fail",
            ", maxAttempts: 2",
        ]));
        yaml.push_str(random.pick(&[
            "",
            "",
            "",
            ", sideEffects: true",
            ", sideEffects: true, requiresApproval: {approvers: [{command: x}, ada, {command: y}], timeout: 1s}",
            ", requiresApproval: true",
            ", requiresApproval: {timeout: 2s, message: go?}",
        ]));
        yaml.push_str(random.pick(&[
            "",
            "",
            "",
            ", deadline: 100ms",
            ", deadline: 1s",
            ", deadline: '1970-01-01T00:16:45'",
        ]));
        yaml.push_str(random.pick(&["", "", "", "", ", isolation: worktree", ", isolation: shared"]));
        yaml.push_str("}\n");
    }
    for list in ["checkpoints", "delays"] {
        if n > 1 && random.chance(25) {
            let (after, blocked) = random_ends(random, n);
            let duration = random.pick(&["1", "500", "5s"]);
            let duration = match list {
                "delays" => format!(", duration: {duration}"),
                _ => String::new(),
            };
            let _ = writeln!(
                yaml,
                "{list}:\n  - {{name: h, afterTasks: [{after}], blocksTasks: [{blocked}]{duration}}}"
            );
        }
    }
    if n > 1 && random.chance(60) {
        let (after, blocked) = random_ends(random, n);
        let _ = writeln!(
            yaml,
            "qualityGates:\n  - {{name: g, afterTasks: [{after}], blocksTasks: [{blocked}]{}}}",
            random.pick(&[
                "",
                ", minScore: 4",
                ", requireAllPassed: false",
                ", minScore: 3, requireAllPassed: false",
                ", minScore: 2, onFail: halt",
                ", acceptBelowThreshold: true",
                ", notifyChannels: [dev, ops]"
            ]),
        );
    }
    yaml
}

/// A mission in which verifications decide what follows: forward, or back to the work that they judge. Facts grade.
pub fn routed_mission(random: &mut Random) -> String {
    let n = 6 + random.below(4);
    let first = 1 + random.below(2);
    let mut verifications = vec![first];
    if random.chance(40) {
        verifications.push(first + 1);
    }
    let behind = verifications.len() + first;
    let mut yaml = format!(
        "name: routed\nagents:\n  w1: {{run: [/bin/true]}}\n  w2: {{run: [/bin/true], maxConcurrent: 1}}\n\
         settings: {{evaluate: false, maxRetries: {}}}\ntasks:\n",
        random.below(2),
    );
    for task in 0..n {
        let agent = random.pick(&["w1", "w2"]);
        let _ = write!(yaml, "  - {{title: t{task}, assignTo: {agent}, priority: {}", 1 + random.below(3));
        if verifications.contains(&task) {
            let judged = random.below(first);
            let mut next = || format!("t{}", behind + random.below(n - behind));
            let (pass, fail, refer) = (next(), next(), next());
            let back = format!("t{judged}");
            let fail = random.pick(&[&fail, &back]);
            let _ = writeln!(
                yaml,
                ", type: verification, acceptance: [c], verification: {{grader: heuristic}}, dependsOn: [t{judged}], \
                 onPass: {pass}, onFail: {fail}, onRefer: {refer}, maxVisits: {}}}",
                1 + random.below(3),
            );
            continue;
        }
        let earlier = (0..task).filter(|earlier| !verifications.contains(earlier));
        let needed: Vec<String> =
            earlier.filter(|_| random.chance(30)).map(|earlier| format!("t{earlier}")).collect();
        let more = random.pick(&[
            "",
            ", requiresApproval: true",
            ", deadline: 1s",
            ", targetFiles: [a]",
            ", expectations: [{type: test, command: x}]",
        ]);
        let _ = writeln!(yaml, ", dependsOn: [{}]{more}}}", needed.join(", "));
    }
    for list in ["qualityGates", "checkpoints", "delays"] {
        if random.chance(40) {
            let after = behind + random.below(n - behind - 1);
            let blocked = after + 1 + random.below(n - after - 1);
            let more = random.pick(match list {
                "delays" => &[", duration: 500"],
                "checkpoints" => &["", ""],
                _ => &["", ", requireAllPassed: false"],
            });
            let _ = writeln!(
                yaml,
                "{list}: [{{name: {list}, afterTasks: [t{after}], blocksTasks: [t{blocked}]{more}}}]"
            );
        }
    }
    yaml
}

/// Tasks before a gate, a checkpoint or a delay, and tasks behind it.
fn random_ends(random: &mut Random, n: usize) -> (String, String) {
    let cut = 1 + random.below(n - 1);
    let mut some = |from: usize, to: usize| {
        let one = from + random.below(to - from);
        let all = (from..to).filter(|task| *task == one || random.chance(30));
        all.map(|task| format!("t{task}")).collect::<Vec<_>>().join(", ")
    };
    (some(0, cut), some(cut, n))
}

pub fn random_response(random: &mut Random, effect: &Effect) -> Response {
    let class =
        [FailureClass::Unknown, FailureClass::Timeout, FailureClass::ProviderAuth, FailureClass::RateLimited]
            [random.below(4)];
    let window = FailureClass::UsageWindow;
    match effect {
        effect if effect.judged_work().is_some() && random.chance(3) => {
            Response::Void { changed: random.chance(40), shared: random.chance(60) }
        }
        Effect::RunTurn { .. } if random.chance(5) => Response::AgentFailed(window),
        Effect::RunTurn { .. } if random.chance(2) => Response::AgentFailed(FailureClass::ContextTooLong),
        Effect::RunTurn { .. } if random.chance(8) => Response::NeverStarted(class),
        Effect::RunTurn { .. } if random.chance(15) => Response::AgentFailed(class),
        Effect::RunTurn { .. } if random.chance(6) => Response::Did(TurnFiles {
            protected: vec!["tests/a was changed".to_owned()],
            ..TurnFiles::default()
        }),
        Effect::RunTurn { .. } if random.chance(15) => {
            Response::Asks(Asked { text: "Which one?".to_owned(), detected: random.chance(50), call: None })
        }
        Effect::RunTurn { turn, .. } if random.chance(8) => {
            Response::HandsDown(random_sub_tasks(random, turn.task))
        }
        Effect::RunTurn { .. } if random.chance(4) => Response::Escalates(None),
        Effect::RunTurn { .. } if random.chance(3) => Response::Asks(Asked {
            text: "run [\"x\"]".to_owned(),
            detected: false,
            call: Some(Box::new(Digest::of(b"x"))),
        }),
        Effect::RunTurn { .. } => Response::Finished,
        Effect::Job { job: Job::Artifacts(_), .. } => Response::Files(random.chance(50).then_some(1), 0),
        Effect::Ask { purpose, .. } if purpose.seat().is_none() => {
            if random.chance(4) {
                Response::Unreachable(window)
            } else if random.chance(10) {
                Response::Unreachable(class)
            } else {
                Response::Answer(random_answer(random, *purpose))
            }
        }
        Effect::NoteFiles { .. } if random.chance(5) => Response::Unreachable(class),
        Effect::NoteFiles { .. } => Response::Finished,
        Effect::Job { job: Job::Baseline, .. } => Response::Before(random.next()),
        Effect::Job { job: Job::Scan { .. }, .. } if random.chance(25) => Response::Files(None, 0),
        Effect::Job { job: Job::Scan { .. }, .. } => Response::Files(Some(1), random.next() % 3),
        Effect::Job { job: Job::Merge(_), .. } => match random.below(10) {
            0..=3 => Response::BesideOthers,
            4 | 5 => Response::Conflict,
            6 => Response::Unreadable,
            _ => Response::Finished,
        },
        Effect::Job { job: Job::PeerCheck(..), .. } => Response::Check(random.chance(85)),
        Effect::Job { job: Job::Finish(_), .. } => Response::Check(random.chance(60)),
        Effect::Audit { .. } => Response::Audit(random.next()),
        Effect::DeliverWork { .. } if random.chance(30) => Response::Unreachable(class),
        Effect::DeliverWork { .. } => Response::Finished,
        Effect::Job { job: Job::Check(_), .. } => Response::Check(random.chance(65)),
        Effect::Job { job: Job::Stage(..), .. } if random.chance(80) => Response::Check(random.chance(70)),
        Effect::Ask { purpose: Purpose::Score(_), .. } if random.chance(8) => Response::Unreachable(window),
        _ if random.chance(15) => Response::Unreachable(class),
        _ if random.chance(15) => Response::Unreadable,
        _ => Response::Score(u8::try_from(20 + random.below(81)).unwrap()),
    }
}

/// Work that an agent hands down: some of it cannot be made, some is asked for twice.
fn random_sub_tasks(random: &mut Random, by: TaskId) -> Vec<SubTask> {
    let some = (0..1 + random.below(3)).map(|n| {
        let needs = format!("{}.{}", by.0, random.below(4));
        SubTask {
            title: format!("{}.{}", by.0, n),
            description: None,
            assign_to: Some(random.pick(&["w1", "w2", "o", "h", "nobody"]).to_owned()),
            kind: TaskType::default(),
            depends_on: random.chance(40).then_some(needs).into_iter().collect(),
            priority: None,
            target_files: Vec::new(),
            protected: None,
            acceptance: random.chance(30).then(|| "All of it is there.".to_owned()).into_iter().collect(),
            verify: random.chance(20).then(|| {
                Box::new(FinishGate {
                    commands: ["x".into()].into(),
                    max_attempts: Some(1),
                    ..FinishGate::default()
                })
            }),
        }
    });
    some.collect()
}

fn random_answer(random: &mut Random, purpose: Purpose) -> Answer {
    let reason = String::new();
    match (purpose, random.below(4)) {
        (Purpose::Score(_), _) | (_, 0) => {
            Answer::Unreadable { why: "no".to_owned(), excerpt: String::new(), grave: random.chance(30) }
        }
        (Purpose::Approve { .. }, 1) => Answer::Approve,
        (Purpose::Approve { .. }, 2) => Answer::Reject { reason: "no".to_owned() },
        (Purpose::Approve { .. }, _) => Answer::Undecided { reason },
        (Purpose::Confirm, n) => Answer::IsQuestion(n > 1),
        (Purpose::Answer, 1) => Answer::DoesNotKnow,
        (Purpose::Answer, _) => Answer::Text("The second.".to_owned()),
        (Purpose::Resolve { .. }, 1) => Answer::Absorb { prompt: "do without it".to_owned() },
        (Purpose::Resolve { .. }, 2) => Answer::Retry { reason },
        (Purpose::Resolve { .. }, _) => Answer::Unresolvable { reason },
        (Purpose::Grade { .. }, n) => grades(if n == 1 { 0 } else { 100 }),
        (Purpose::Decompose { .. }, n) => probes(if n == 1 { &[1] } else { &[1, 2, 1] }),
        (Purpose::Stage { step: StageKey::Own(_), .. }, n) => opinion(match n {
            1 => DeclaredVerdict::Fail,
            2 if random.chance(30) => DeclaredVerdict::Refer,
            _ => DeclaredVerdict::Pass,
        }),
        (Purpose::Stage { .. }, n) => Answer::Findings(Box::new(FindingsReport {
            findings: vec![Finding::new(if n == 1 { Severity::High } else { Severity::Low }, "x")],
            prior: random_answers(random),
            unread: random.chance(20).then(|| "a finding has no description".to_owned()),
            grave: false,
        })),
    }
}

/// Mostly for all points of the review before, sometimes for none.
fn random_answers(random: &mut Random) -> Vec<PriorAnswer> {
    if random.chance(70) { Vec::new() } else { silence() }
}

/// These grades of everything that `default-task` asks about.
pub fn grades(points: u8) -> Answer {
    let grade = |criterion: &str| GradeGiven {
        criterion: criterion.to_owned(),
        points: Points::whole(points),
        reasoning: String::new(),
    };
    Answer::Grades(Box::new(RubricReply {
        grades: ["correctness", "completeness", "probe-adherence"].map(grade).into(),
        verdict: DeclaredVerdict::Pass,
        confidence: Points::whole(100),
        findings: Vec::new(),
        prior: Vec::new(),
    }))
}

/// A probe for each of these criteria.
pub fn probes(criteria: &[u32]) -> Answer {
    let probe = |criterion: &u32| Probe { criterion: *criterion, probe: "Is it so?".to_owned() };
    Answer::Probes(criteria.iter().map(probe).collect())
}

/// Mostly everything; else some of the tasks that there are.
fn random_selection(random: &mut Random, yaml: &str) -> Vec<String> {
    if random.chance(70) {
        return Vec::new();
    }
    let titles = (0..10).map(|n| format!("t{n}"));
    let titles = titles.filter(|title| yaml.contains(&format!("title: {title},")));
    let mut titles: Vec<String> = titles.collect();
    let kept = titles.remove(random.below(titles.len()));
    titles.retain(|_| random.chance(20));
    titles.push(kept);
    titles
}

/// What a person might say on the command line of such a run.
pub fn random_options(random: &mut Random, yaml: &str) -> RunOptions {
    RunOptions {
        no_eval: random.chance(10),
        strict: random.chance(10),
        fail_fast: random.chance(10),
        jobs: Some(1 + u32::try_from(random.below(4)).unwrap()),
        only: random_selection(random, yaml),
        wait_approvals: random.chance(30).then_some(Millis(1000)),
        timeout: random.chance(15).then_some(Millis(600_000)),
        ..options()
    }
}
