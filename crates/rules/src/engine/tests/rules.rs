//! Small rules as tables: what counts, how long it takes, what it is measured against.

use crate::domain::{
    Answer, AskId, Cause, CriterionGrade, Digest, DimensionScore, FailureClass, Millis, OutcomeClass, Points,
    Purpose, RunId, Stage, TaskId, Timestamp, TurnId, Verdict,
};
use crate::engine::no_progress::signature;
use crate::engine::state::Lifecycle;
use crate::engine::{
    AskReply, CheckResult, Command, Effect, Event, Exit, FORMAT, Fact, FileFact, FileRef, Job, JobEnd,
    Judging, Prompt, RunPhase, RunStarted, StageReport, State, StopCause, SupervisorRef, TaskEvent, Timer,
    ToolCalls, TurnEvent, Usage, WorkEvent, decide, outcome, worst_case,
};
use crate::plan::RunOptions;

use super::operator::says;
use super::simulation::{Response, Simulation, good, options, plan_of};

pub const NOW: Timestamp = Timestamp(1_000_000);

pub fn mission(settings: &str, tasks: &str) -> String {
    format!(
        "name: m\nagents:\n  w: {{run: [/bin/true]}}\n  i: {{run: [/bin/true], role: reviewer}}\n  j: {{run: [/bin/true], \
         role: reviewer}}\n  k: {{run: [/bin/true], role: qa}}\n{settings}tasks:\n{tasks}"
    )
}

pub fn simulation(yaml: &str) -> Simulation {
    Simulation::new(yaml, options())
}

/// Performs until such an effect is next.
pub fn until(simulation: &mut Simulation, wanted: impl Fn(&Effect) -> bool) -> Effect {
    loop {
        let next = simulation.todo.front().expect("it comes").clone();
        if wanted(&next) {
            return next;
        }
        simulation.perform(0, &mut good);
    }
}

pub fn is_turn(effect: &Effect) -> bool {
    matches!(effect, Effect::RunTurn { .. })
}

#[test]
fn nothing_can_be_said_to_a_run_that_has_not_begun() {
    let yaml = mission("", "  - {title: a, assignTo: w}\n");
    let state = State::new(plan_of(&yaml, &options()));
    let started = Fact::Start(Box::new(RunStarted {
        format: FORMAT,
        rules: crate::engine::RULES,
        version: "0".to_owned(),
        run_id: RunId::new("r").unwrap(),
        mission_digest: Digest::of(b""),
        mission_path: None,
        options: options(),
        supervisor: SupervisorRef::default(),
        origin: None,
    }));
    for input in [
        Fact::resume(options()),
        says(Command::CancelRun),
        Fact::TimerDue { at: NOW, timer: Timer::WaitOver },
        Fact::ChangeMission {
            number: 2,
            from: Digest::of(b""),
            to: Digest::of(b"x"),
            mission: Some(plan_of(&yaml, &options())),
        },
        Fact::Advance,
        Fact::Stop(StopCause::Interrupted),
    ] {
        assert!(decide(&state, &input, NOW).is_empty(), "{input:?}");
    }
    let mut begun = state.clone();
    begun.timers.set(Timer::WaitOver, NOW);
    let due = Fact::TimerDue { at: NOW, timer: Timer::WaitOver };
    assert!(decide(&begun, &due, NOW).is_empty());
    assert!(!decide(&state, &started, NOW).is_empty());
    let state = simulation(&yaml).state;
    assert!(decide(&state, &started, NOW).is_empty(), "nor can it begin twice");
}

#[test]
fn a_request_is_made_again_so_often_and_after_so_long() {
    /// A task with a turn in flight, of which so many requests were refused, or starts.
    fn running(more: &str, (starts, requests): (u32, u32)) -> Simulation {
        let yaml = mission("", &format!("  - {{title: a, assignTo: w, review: none{more}}}\n"));
        let mut simulation = simulation(&yaml);
        until(&mut simulation, is_turn);
        let tries = simulation.state.tasks[0].work.turn.as_mut().unwrap();
        (tries.starts, tries.requests) = (starts, requests);
        simulation
    }
    let pause = |more: &str, refused, class, before_effect, retry_after: Option<u64>, jitter, phase| {
        let failed = if before_effect { (refused, 0) } else { (0, refused) };
        let mut state = running(more, failed).state;
        state.phase = phase;
        let turn = state.current_turn(TaskId(0));
        let input = Fact::TurnRequestFailed {
            turn,
            class,
            before_effect,
            message: "no".to_owned(),
            retry_after: retry_after.map(Millis),
            jitter,
        };
        match decide(&state, &input, NOW).as_slice() {
            [Event::Turn(_, TurnEvent::RequestFailed { not_before, .. })] => Some(not_before.0 - NOW.0),
            events => {
                assert!(matches!(events[0], Event::Turn(_, TurnEvent::Finished(_))), "{events:?}");
                None
            }
        }
    };
    let (limited, unknown) = (FailureClass::RateLimited, FailureClass::Unknown);
    let works = RunPhase::Running;
    for (more, refused, class, before, retry_after, jitter, phase, expected) in [
        ("", 0, limited, false, None, 0, works, Some(1_000)),
        ("", 0, limited, false, None, 500, works, Some(1_250)),
        ("", 0, limited, false, None, 1_000, works, Some(1_500)),
        ("", 0, limited, false, None, 1_001, works, Some(1_500)),
        ("", 1, limited, false, None, 0, works, Some(2_000)),
        ("", 2, limited, false, None, 1_000, works, Some(6_000)),
        ("", 3, limited, false, None, 0, works, None),
        ("", 0, limited, false, Some(7), 500, works, Some(7)),
        ("", 0, limited, false, Some(600_000), 0, works, Some(600_000)),
        ("", 0, limited, false, Some(600_001), 0, works, None),
        ("", 0, limited, false, None, 0, RunPhase::Stopping, None),
        // What never began is begun once more, whatever kept it.
        ("", 0, unknown, true, None, 0, works, Some(1_000)),
        ("", 1, unknown, true, None, 0, works, None),
        ("", 0, unknown, false, None, 0, works, None),
        // Nothing makes an agent with side effects act twice.
        (", sideEffects: true", 0, limited, false, None, 0, works, None),
        (", sideEffects: true", 0, limited, true, None, 0, works, Some(1_000)),
        (", sideEffects: true", 1, limited, true, None, 0, works, None),
    ] {
        let found = pause(more, refused, class, before, retry_after, jitter, phase);
        assert_eq!(found, expected, "{more} {refused} {class:?} {before} {retry_after:?} {jitter} {phase:?}");
    }
}

#[test]
fn what_a_task_may_take_at_most() {
    let worst = |settings: &str, task: &str| {
        let yaml = mission(settings, &format!("  - {{title: a, assignTo: w{task}}}\n"));
        let worst = worst_case(&simulation(&yaml).state, TaskId(0));
        (worst.attempts, worst.judge_calls, worst.judge_calls_with_repeats)
    };
    let panel = ", expectations: [{type: llm_review, criteria: c}]";
    let rounds = "settings: {maxAssessmentRetries: 2}\n";
    let many = |retries: u32| format!("settings: {{maxFixAttempts: 0, maxRetries: {retries}}}\n");
    let free = ", review: none";
    let yaml = "name: m\nagents:\n  w: {run: [x]}\n  a: {run: [x], fallback: [b, w]}\n  b: {run: [x], fallback: c}\n  c: {run: [x]}\nstages: [{name: s, agent: a}]\ntasks:\n  - {title: t, assignTo: w, maxAttempts: 1, expectations: [{type: llm_review, criteria: c, reviewers: [a]}]}\n";
    let stood_in = worst_case(&simulation(yaml).state, TaskId(0));
    // `b` and `c` stand in for `a`, each with requests of their own; the author never does.
    assert_eq!(
        (stood_in.judge_calls, stood_in.judge_calls_with_repeats),
        (Some(2), Some(3 * 5 * 2 + 3 * 4 * 2))
    );
    for (settings, task, expected) in [
        // Three seats; each may be reprompted once and refused three times, in each of three rounds.
        (rounds, panel, (Some(12), Some(36), Some(12 * 3 * 5 * 3))),
        ("", "", (Some(2), Some(2), Some(10))),
        ("", ", expectations: [{type: test, command: x}]", (Some(12), Some(0), Some(0))),
        (
            "",
            ", review: none, acceptance: [c], verification: {grader: heuristic}",
            (Some(12), Some(0), Some(0)),
        ),
        // What nothing can send back comes back only when its agent fails, and is then never fixed.
        ("", free, (Some(4), Some(0), Some(0))),
        ("", ", review: none, targetFiles: [f]", (Some(12), Some(0), Some(0))),
        // A rubric's grader is asked anew after three refusals, and so it is for a reply that fits; beside the evaluation.
        ("", ", verification: {rubric: default-task}", (Some(2), Some(4), Some(2 * (5 + 4 * 2)))),
        (
            rounds,
            ", review: none, verification: {rubric: default-task}",
            (Some(12), Some(12), Some(12 * 4 * 2)),
        ),
        (&many(9_999), free, (Some(10_000), Some(0), Some(0))),
        (&many(10_000), free, (None, None, None)),
    ] {
        assert_eq!(worst(settings, task), expected, "{settings}{task}");
    }
    // Where nobody may review, nothing is sent back either.
    let alone = format!("name: m\nagents: {{w: {{run: [/bin/true]}}}}\ntasks: [{{title: a{panel}}}]\n");
    assert_eq!(worst_case(&simulation(&alone).state, TaskId(0)).attempts, Some(4));
}

#[test]
fn two_attempts_are_the_same_if_all_that_was_seen_of_them_is() {
    let file = |path: &str, size, text: Option<&str>| FileFact {
        path: path.to_owned(),
        size,
        digest: text.map(|text| Digest::of(text.as_bytes())),
        obstacle: None,
        stored: None,
    };
    let judging = |files: Vec<FileFact>, passed| Judging {
        files,
        checks: vec![Some(CheckResult { passed, message: String::new(), duration: Millis(1), reruns: 0 })],
        ..Judging::default()
    };
    let report = |stage, cause, points: u8| StageReport {
        points: Some(Points::whole(points)),
        ..StageReport::new(TaskId(0), 1, stage, Verdict::Fail, Some(cause))
    };
    let usual = || report(Stage::Judge, Cause::Score, 40);
    let scored = |name: &str, points| StageReport {
        dimensions: vec![DimensionScore {
            dimension: name.to_owned(),
            points: Points::whole(points),
            reasoning: String::new(),
        }],
        ..usual()
    };
    let graded = |points| StageReport {
        grades: vec![CriterionGrade { points: Some(Points::whole(points)), evidence: String::new() }],
        ..usual()
    };
    let files = || vec![file("a", Some(1), Some("a")), file("b", None, None)];
    let seen = [
        signature(&usual(), Some(&judging(files(), false))),
        signature(&usual(), Some(&judging(files(), true))),
        signature(&report(Stage::Checks, Cause::Score, 40), Some(&judging(files(), false))),
        signature(&report(Stage::Judge, Cause::Unparsed, 40), Some(&judging(files(), false))),
        signature(&report(Stage::Judge, Cause::Score, 41), Some(&judging(files(), false))),
        signature(&scored("x", 40), Some(&judging(files(), false))),
        signature(&scored("x", 41), Some(&judging(files(), false))),
        signature(&scored("y", 40), Some(&judging(files(), false))),
        signature(&graded(40), Some(&judging(files(), false))),
        signature(&graded(41), Some(&judging(files(), false))),
        signature(&usual(), Some(&judging(vec![file("a", Some(1), Some("b"))], false))),
        signature(&usual(), Some(&judging(vec![file("a", Some(1), Some("a"))], false))),
        // What is missing is known.
        signature(&usual(), Some(&judging(vec![file("a", None, None)], false))),
        signature(&usual(), Some(&judging(vec![file("b", None, None)], false))),
    ];
    for (index, one) in seen.iter().enumerate() {
        assert!(one.is_some() && !seen[..index].contains(one), "{index}");
    }
    assert_eq!(signature(&usual(), Some(&judging(files(), false))), seen[0]);
    // Where there is no file, or one of them is not known, nobody can say that nothing has changed.
    for files in [vec![], vec![file("a", Some(1), Some("a")), file("b", Some(1), None)]] {
        assert_eq!(signature(&usual(), Some(&judging(files, false))), None);
    }
    assert_eq!(signature(&usual(), None), None);
}

#[test]
fn a_task_that_must_be_alone_waits_until_it_is_and_holds_the_others() {
    let yaml = mission(
        "",
        "  - {title: a, assignTo: w, review: none, priority: 3}\n  - {title: alone, assignTo: w, review: none, exclusive: \
         true, priority: 2}\n  - {title: b, assignTo: w, review: none}\n",
    );
    let mut simulation = simulation(&yaml);
    let working = |simulation: &Simulation| {
        let tasks = simulation.state.tasks.iter();
        tasks.map(|task| u8::from(task.holds_slot())).collect::<Vec<_>>()
    };
    let mut seen = vec![working(&simulation)];
    while !simulation.todo.is_empty() {
        simulation.perform(0, &mut good);
        if seen.last() != Some(&working(&simulation)) {
            seen.push(working(&simulation));
        }
    }
    assert_eq!(seen, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]);
}

#[test]
fn an_agent_that_is_told_nothing_starts_at_once() {
    let silent = |keys: &str| {
        let yaml = mission("", &format!("  - {{title: a, assignTo: w, review: none{keys}}}\n"));
        yaml.replace("w: {run: [/bin/true]}", "w: {run: [/bin/true], input: none}")
    };
    let first = |yaml: &str| simulation(yaml).todo.front().cloned();
    assert!(simulation(&silent("")).todo.iter().any(is_turn));
    assert!(matches!(first(&silent(", protect: [x]")), Some(Effect::NoteFiles { .. })));
    let mut approved = simulation(&silent(", requiresApproval: true"));
    approved.state.phase = RunPhase::Running;
    let task = TaskId(0);
    let events = decide(&approved.state, &says(Command::approve(task, 1)), NOW);
    assert!(events.iter().any(|event| matches!(event, Event::Turn(_, TurnEvent::Started(_)))), "{events:?}");
}

#[test]
fn what_does_not_fit_the_moment_means_nothing() {
    let none = |state: &State, input: &Fact| {
        assert!(decide(state, input, NOW).is_empty(), "{input:?}");
    };
    let turn = |attempt, turn| TurnId { task: TaskId(0), attempt, turn };
    let ready = |turn| Fact::PromptReady(Prompt { turn, digest: None, cues: 0 });
    let noted = |turn| Fact::FilesNoted {
        turn,
        starts: 0,
        shared: false,
        result: Ok(FileRef { length: 1, digest: Digest::of(b"x") }),
    };
    let yaml = mission("", "  - {title: a, assignTo: w, expectations: [{type: test, command: x}]}\n");
    let mut plain = simulation(&yaml);
    for input in [ready(turn(1, 2)), ready(turn(2, 1)), noted(turn(1, 2))] {
        none(&plain.state, &input);
    }
    let mut stopping = plain.state.clone();
    stopping.phase = RunPhase::Stopping;
    none(&stopping, &ready(turn(1, 1)));
    until(&mut plain, is_turn);
    for input in [ready(turn(1, 1)), ready(turn(1, 2))] {
        none(&plain.state, &input);
    }
    until(&mut plain, |effect| matches!(effect, Effect::Job { job: Job::Check(_), .. }));
    none(&plain.state, &ready(turn(1, 2)));
    let checked = |attempt, check| Fact::JobEnded {
        turn: turn(attempt, 1),
        job: Job::Check(check),
        end: JobEnd::Checked(CheckResult {
            passed: true,
            message: String::new(),
            duration: Millis(1),
            reruns: 0,
        }),
    };
    for input in [checked(2, 0), checked(1, 1)] {
        none(&plain.state, &input);
    }
    let watched = yaml.replace(", expectations", ", protect: [x], expectations");
    let watched = simulation(&watched).state;
    none(&watched, &ready(turn(1, 1)));
    none(&watched, &noted(turn(1, 2)));
    let mut stopping = watched.clone();
    stopping.phase = RunPhase::Stopping;
    none(&stopping, &noted(turn(1, 1)));
    // A reviewer's word of another round, or once the criteria are asked about.
    let criteria = ", acceptance: [c], verification: {grader: heuristic}, expectations: [{type: llm_review, criteria: c}]";
    let yaml = mission("", &format!("  - {{title: a, assignTo: w{criteria}}}\n"));
    let mut judged = simulation(&yaml);
    let seat = until(&mut judged, |effect| matches!(effect, Effect::Ask { purpose: Purpose::Score(_), .. }));
    let Effect::Ask { id: seat, purpose, agent, .. } = seat else { unreachable!() };
    let reply = |id: AskId| {
        Fact::AskReplied(AskReply {
            id,
            purpose,
            agent,
            reply: crate::engine::ReplyRef {
                reply: FileRef { length: 1, digest: Digest::of(b"x") },
                model: None,
                usage: Usage::default(),
                tools: None,
                judgement: None,
            },
            answer: Answer::Unreadable { why: String::new(), excerpt: String::new(), grave: false },
        })
    };
    assert!(!decide(&judged.state, &reply(seat), NOW).is_empty());
    none(&judged.state, &reply(AskId { attempt_try: 2, ..seat }));
    let graded = |attempt, round| Fact::JobEnded {
        turn: turn(attempt, 1),
        job: Job::Grade(round),
        end: JobEnd::Graded(Err("no".to_owned())),
    };
    none(&judged.state, &graded(1, 1));
    until(&mut judged, |effect| matches!(effect, Effect::Job { job: Job::Grade(_), .. }));
    for input in [graded(2, 1), graded(1, 2), reply(seat)] {
        none(&judged.state, &input);
    }
    assert!(!decide(&judged.state, &graded(1, 1), NOW).is_empty());
    let mut asked_anew = judged.state.clone();
    let Lifecycle::Review(judging) = &mut asked_anew.tasks[0].lifecycle else {
        panic!("it is judged");
    };
    judging.seats[0].state = crate::engine::SeatState::Asked;
    none(&asked_anew, &reply(seat));
}

#[test]
fn sums_of_calls_exits_and_uses() {
    use crate::engine::state::Calls;
    let calls = |calls, writes| Some(ToolCalls { calls, writes });
    assert_eq!(Calls(calls(2, 1)).and(calls(3, 4)).known(), calls(5, 5));
    assert_eq!(Calls(calls(2, 1)).and(None).known(), None);
    let uses = [(None, None), (Some(1), None), (None, Some(1))].map(|(input_tokens, output_tokens)| Usage {
        input_tokens,
        output_tokens,
        ..Usage::default()
    });
    assert_eq!(uses.map(|usage| usage.is_none()), [true, false, false]);
    let failed = Exit { failure: Some(FailureClass::Unknown), ..Exit::default() };
    assert_eq!((Exit::default().is_clean(), failed.is_clean()), (true, false));
}

#[test]
fn strictness_minds_only_what_nobody_reviewed() {
    let strict = RunOptions { strict: true, ..options() };
    for (task, expected) in [("", OutcomeClass::Ok), (", review: none", OutcomeClass::Indeterminate)] {
        let yaml = mission("", &format!("  - {{title: a, assignTo: w{task}}}\n"));
        let mut simulation = Simulation::new(&yaml, strict.clone());
        simulation.run(good);
        assert_eq!(outcome(&simulation.state).class, expected, "{task}");
    }
}

#[test]
fn a_later_session_goes_by_its_own_options() {
    let mut simulation = simulation(&mission("", "  - {title: a, assignTo: w}\n"));
    simulation.run(good);
    let other = RunOptions { fail_fast: true, ..options() };
    simulation.feed(&Fact::resume(other.clone()));
    assert_eq!(simulation.state.options, other);
}

#[test]
fn seats_of_too_few_reviewers_and_panels_without_a_reply_are_explained() {
    let task = ", maxAttempts: 1, expectations: [{type: llm_review, criteria: c}]";
    let yaml =
        mission("settings: {maxAssessmentRetries: 0}\n", &format!("  - {{title: a, assignTo: w{task}}}\n"));
    let said = |yaml: &str, answers: [Response; 3]| {
        let mut simulation = simulation(yaml);
        let mut calls = 0;
        simulation.run(|state, effect| match effect {
            Effect::Ask { purpose: Purpose::Score(seat), .. } => {
                calls += 1;
                answers[seat.seat as usize].clone()
            }
            other => good(state, other),
        });
        assert!(calls >= 3);
        let told = simulation.journal.iter().flatten().filter_map(|event| match event {
            Event::Task(_, TaskEvent::StageVerdict(report)) if report.stage == Stage::Judge => {
                Some(report.findings.clone())
            }
            _ => None,
        });
        let told: Vec<String> = told.flatten().map(|finding| finding.description).collect();
        told
    };
    let unread = Response::Unreadable;
    let down = Response::Unreachable(FailureClass::ProviderAuth);
    let score = Response::Score(90);
    for (answers, expected) in [
        ([score.clone(), score.clone(), score.clone()], vec![]),
        ([score.clone(), down.clone(), score.clone()], vec![]),
        (
            [score.clone(), down.clone(), unread.clone()],
            vec!["single reviewer: 2 of 3 seats gave no verdict"],
        ),
        (
            [down.clone(), down.clone(), down.clone()],
            vec![
                "no reviewer could be reached: i (provider_auth: no), j (provider_auth: no), k (provider_auth: no)",
            ],
        ),
        ([unread.clone(), unread.clone(), unread.clone()], vec!["no reviewer's reply could be read: no"]),
        (
            [unread.clone(), down.clone(), unread.clone()],
            vec!["2 of 3 reviewers sent replies that could not be read, the others could not be reached"],
        ),
    ] {
        assert_eq!(said(&yaml, answers.clone()), expected, "{answers:?}");
    }
    let few = "  w: {run: [/bin/true]}\n  i: {run: [/bin/true], role: reviewer}\n";
    let (before, after) = (yaml.find("  w: ").unwrap(), yaml.find("settings").unwrap());
    let few = format!("{}{few}{}", &yaml[..before], &yaml[after..]);
    let told = said(&few, [score.clone(), score.clone(), score]);
    assert_eq!(told, ["3 seats were filled by 1 agent(s): fewer eligible reviewers than seats"]);
}

#[test]
fn files_are_scanned_and_scores_meet_a_bar_where_a_rule_says_so() {
    let of = |task: &str| {
        let yaml = mission("", &format!("  - {{title: a, assignTo: w{task}}}\n"));
        let mut simulation = simulation(&yaml);
        let bar = simulation.state.plan.bar(TaskId(0)).map(|bar| bar.points);
        simulation.run(good);
        let scanned =
            simulation.count(|event| matches!(event, Event::Work(_, WorkEvent::Requested(Job::Scan { .. }))));
        (scanned, bar)
    };
    let points = |points| Some(Points::whole(points));
    let criteria = |list: &str| {
        format!(", review: none, acceptance: [{list}], verification: {{grader: heuristic, threshold: 40}}")
    };
    for (task, scanned, bar) in [
        ("", 0, points(60)),
        (", review: none", 0, None),
        (", targetFiles: [f]", 1, points(60)),
        (", expectations: [{type: test, command: x}]", 0, None),
        (", expectations: [{type: test, command: x}, {type: file_exists, paths: [f]}]", 2, None),
        (", expectations: [{type: llm_review, criteria: c, threshold: 80}]", 0, points(80)),
        (&criteria("it is fine"), 0, points(40)),
        (&criteria("'`a.txt` exists'"), 1, points(40)),
    ] {
        assert_eq!(of(task), (scanned, bar), "{task}");
    }
}

#[test]
fn work_without_judges_is_indeterminate_and_waits_for_nobody() {
    let yaml = mission("", "  - {title: a, assignTo: w, review: required}\n");
    let mut simulation = simulation(&yaml);
    simulation.run(|state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Unreachable(FailureClass::ProviderAuth),
        other => good(state, other),
    });
    assert_eq!(outcome(&simulation.state).conditions, [OutcomeClass::Indeterminate]);
}

#[test]
fn whom_a_run_needs() {
    let needed = |evaluate: bool, keys: &str| {
        let yaml = format!(
            "name: m
agents:
  w: {{run: [/bin/true], model: small}}
  j: {{run: [/bin/true], model: other, role: reviewer}}
  d: {{run: [/bin/true], model: other}}
  s: {{run: [/bin/true], model: other}}
  same: {{run: [/bin/true], model: small}}
  h: {{adapter: human}}
settings: {{independence: model, evaluate: {evaluate}}}
stages: [{{name: legal, agent: s}}, {{name: owner, agent: h}}]
redTeam: {{agent: same}}
tasks: [{{title: t, assignTo: w, review: none{keys}}}]
"
        );
        let state = Simulation::new(&yaml, options()).state;
        let names = crate::engine::agents_needed(&state);
        let names = names.into_iter().map(|agent| state.plan.agent(agent).name.to_string());
        names.collect::<Vec<_>>().join(" ")
    };
    let graded = ", acceptance: [c], verification: {rubric: default-task}";
    let cut = ", acceptance: [c], decomposer: {agent: d}";
    assert_eq!(needed(true, ""), "w s");
    assert_eq!(needed(true, graded), "w j s");
    assert_eq!(needed(true, cut), "w j d s");
    for keys in ["", graded, cut] {
        assert_eq!(needed(false, keys), "w", "{keys}");
    }
}
