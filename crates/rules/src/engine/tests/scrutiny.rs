//! The further stages: their order, what their verdicts and their faults lead to, what a person decides.

mod persons;
mod pictures;

use crate::domain::{
    Answer, Cause, DeclaredVerdict, FailureClass, Finding, OutcomeClass, Purpose, QualityFlag, Severity,
    Stage, StageKey, Status, TaskId, TurnId, Verdict,
};
use crate::engine::quality_flag::Mark;
use crate::engine::{
    AskEvent, Command, Effect, Event, Fact, FileFact, Job, JobEnd, OperatorInput, RunPhase, State, TaskEvent,
    WorkEvent, WorkId, not_asked, outcome, pending_effects,
};
use crate::plan::RunOptions;

use super::simulation::{Response, Simulation, good, opinion, options, plan_of, statuses};

const AGENTS: &str = "name: m\nagents:\n  w: {run: [/bin/true]}\n  j: {run: [/bin/true], role: reviewer}\n  x: {run: [/bin/true]}\n  h: {adapter: human}\n";
const T: TaskId = TaskId(0);

fn mission(top: &str, keys: &str) -> String {
    format!("{AGENTS}{top}\ntasks:\n  - {{title: t, assignTo: w{keys}}}\n")
}

fn run_with(
    top: &str,
    keys: &str,
    options: RunOptions,
    script: impl FnMut(&State, &Effect) -> Response,
) -> Simulation {
    let mut simulation = Simulation::new(&mission(top, keys), options);
    simulation.run(script);
    simulation
}

fn run(top: &str, keys: &str, script: impl FnMut(&State, &Effect) -> Response) -> Simulation {
    run_with(top, keys, options(), script)
}

/// What was said: stage, name, verdict, cause.
fn said(simulation: &Simulation) -> Vec<(Stage, Option<String>, Verdict, Option<Cause>)> {
    let events = simulation.journal.iter().flatten();
    let reports = events.filter_map(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) => {
            Some((report.stage, report.name.clone(), report.verdict, report.cause))
        }
        _ => None,
    });
    reports.collect()
}

fn named(
    name: &str,
    verdict: Verdict,
    cause: Option<Cause>,
) -> (Stage, Option<String>, Verdict, Option<Cause>) {
    (Stage::Stages, Some(name.to_owned()), verdict, cause)
}

/// Agents say this in steps, commands say that, everybody else is content.
fn steps(agent: Response, command: Response) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::Job { job: Job::Stage(..), .. } => command.clone(),
        Effect::Ask { purpose: Purpose::Stage { .. }, .. } => agent.clone(),
        _ => good(state, effect),
    }
}

fn findings(severity: Severity) -> Response {
    Response::Answer(Answer::Findings(crate::domain::FindingsReport::whole(vec![Finding::new(
        severity, "x",
    )])))
}

/// Stages pass the work, and the red team finds little.
fn content(state: &State, effect: &Effect) -> Response {
    match effect {
        Effect::Ask { purpose: Purpose::Stage { step: StageKey::RED_TEAM, .. }, .. } => {
            findings(Severity::Low)
        }
        Effect::Ask { purpose, .. } if purpose.seat().is_none() => word(DeclaredVerdict::Pass),
        _ => good(state, effect),
    }
}

fn word(verdict: DeclaredVerdict) -> Response {
    Response::Answer(opinion(verdict))
}

fn approve(simulation: &mut Simulation, number: u32) {
    simulation.feed(&Fact::Operator(Box::new(OperatorInput {
        id: None,
        command: Command::approve(T, number),
        by: "ada".to_owned(),
    })));
}

const BOTH: &str = "stages: [{name: legal, agent: x}, {name: lint, command: c}]";

#[test]
fn a_stage_that_will_be_asked_has_no_reason_not_to_be() {
    let simulation = Simulation::new(&mission(BOTH, ""), options());
    for n in [0, 1] {
        assert_eq!(not_asked(&simulation.state, T, StageKey::Own(n)), None, "stage {n}");
    }
    assert_eq!(not_asked(&simulation.state, T, StageKey::Own(2)), None, "there is none");
    let alone = Simulation::new(&mission("redTeam: {agent: x, minStakes: high}", ""), options());
    let why = not_asked(&alone.state, T, StageKey::RED_TEAM).expect("too little is at stake");
    assert!(why.contains("stakes"), "{why}");
}

#[test]
fn what_a_stage_comes_back_with_is_a_word_and_a_look_at_files_is_none() {
    let turn = TurnId { task: T, attempt: 1, turn: 1 };
    let work = |job, end| Fact::JobEnded { turn, job, end }.judged_work();
    let verdict = JobEnd::Judged(Ok(opinion(DeclaredVerdict::Pass)));
    assert_eq!(
        work(Job::Stage(StageKey::Own(0), 1), verdict),
        Some(WorkId::job(turn, Job::Stage(StageKey::Own(0), 1)))
    );
    let seen = JobEnd::Seen { files: Vec::new(), hollow: None };
    assert_eq!(work(Job::Stage(StageKey::VISION, 1), seen), None);
}

#[test]
fn they_come_in_their_order_behind_the_judges_and_leave_their_score() {
    let top = format!("{BOTH}\nredTeam: {{agent: x}}");
    let simulation = run(&top, "", content);
    assert_eq!(
        said(&simulation)[1..],
        [
            named("legal", Verdict::Pass, None),
            named("lint", Verdict::Pass, None),
            (Stage::RedTeam, None, Verdict::Pass, None),
        ]
    );
    let task = simulation.state.task(T);
    assert_eq!((task.flag(), task.attempt.points.is_some()), (Some(QualityFlag::Clean), true));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn the_first_fail_stops_the_chain_and_what_it_keeps_out_is_not_accepted() {
    let simulation = run(BOTH, ", maxAttempts: 2", steps(word(DeclaredVerdict::Fail), Response::Finished));
    let task = simulation.state.task(T);
    // An evaluation alone would have been accepted below the bar.
    assert_eq!(task.status(), Status::Failed);
    assert_eq!(
        simulation.count(|event| matches!(event, Event::Work(_, WorkEvent::Requested(Job::Stage(..))))),
        0
    );
    let feedback = &task.feedback[0];
    assert_eq!(
        (feedback.stage, feedback.name.as_deref(), feedback.cause),
        (Stage::Stages, Some("legal"), Some(Cause::Stage))
    );
    assert_eq!(feedback.findings[0].description, "stage 'legal': because");
}

#[test]
fn a_stage_without_a_word_is_asked_again_where_that_may_help_and_then_a_person_who_speaks_for_it_alone() {
    for (agent, times) in
        [(Response::Unreachable(FailureClass::Unknown), 1), (Response::Answer(Answer::DoesNotKnow), 2)]
    {
        let mut simulation = run(BOTH, "", steps(agent, Response::Finished));
        let task = simulation.state.task(T);
        assert_eq!(
            (task.status(), task.course.tries, task.attempt.has(Mark::Indeterminate)),
            (Status::AwaitingApproval, 1, true)
        );
        assert_eq!(
            simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::StageFailed { .. }))),
            times
        );
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
        simulation.resume();
        // The judges are asked first of all; this time they answer.
        simulation.run(steps(word(DeclaredVerdict::Pass), Response::Finished));
        assert_eq!(statuses(&simulation.state), [Status::Done]);
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    }
    let keys = ", stages: [{name: own, command: d}]";
    let mut simulation = run(BOTH, keys, steps(word(DeclaredVerdict::Refer), Response::Finished));
    let task = simulation.state.task(T);
    assert_eq!((task.status(), task.attempt.has(Mark::Indeterminate)), (Status::AwaitingApproval, false));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Awaiting);
    approve(&mut simulation, 1);
    simulation.resume();
    simulation.run(good);
    let words = said(&simulation);
    let tail: Vec<_> = words[words.len() - 3..].to_vec();
    assert_eq!(
        tail,
        [
            named("legal", Verdict::Pass, None),
            named("lint", Verdict::Pass, None),
            named("own", Verdict::Pass, None),
        ]
    );
    assert_eq!(simulation.state.task(T).flag(), Some(QualityFlag::Clean));
}

#[test]
fn a_stage_agent_has_reviewed_what_nobody_else_did_and_a_command_is_a_check() {
    let none = ", review: none";
    let clean = |top: &str, agent| {
        let simulation = run(top, none, steps(agent, Response::Finished));
        simulation.state.task(T).flag()
    };
    let pass = || word(DeclaredVerdict::Pass);
    assert_eq!(clean("stages: [{name: s, agent: x}]", pass()), Some(QualityFlag::Clean));
    assert_eq!(clean("stages: [{name: s, command: c}]", pass()), Some(QualityFlag::Clean));
    // Whoever attacks work has not said that it is good.
    assert_eq!(clean("redTeam: {agent: x}", findings(Severity::Low)), Some(QualityFlag::Unreviewed));
}

#[test]
fn a_red_team_blocks_by_severity_and_autonomy() {
    for (autonomy, severity, expected) in [
        ("semi", Severity::High, Status::Failed),
        ("full", Severity::Critical, Status::Failed),
        ("semi", Severity::Medium, Status::Done),
        ("supervised", Severity::Medium, Status::Failed),
        ("locked", Severity::Low, Status::Done),
    ] {
        let top = format!("redTeam: {{agent: x}}\nautonomy: {autonomy}");
        let simulation = run(&top, ", maxAttempts: 1", steps(findings(severity), Response::Finished));
        assert_eq!(statuses(&simulation.state), [expected], "{autonomy} {severity:?}");
    }
}

#[test]
fn a_fault_of_the_red_team_is_open_and_strictly_indeterminate() {
    let faulty = || steps(Response::Answer(Answer::DoesNotKnow), Response::Finished);
    let simulation = run("redTeam: {agent: x}", "", faulty());
    let task = simulation.state.task(T);
    assert_eq!(
        (task.status(), task.flag(), task.attempt.has(Mark::Faulted)),
        (Status::Done, Some(QualityFlag::Clean), true)
    );
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    let strict = RunOptions { strict: true, ..options() };
    let simulation = run_with("redTeam: {agent: x}", "", strict, faulty());
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
}

#[test]
fn what_the_provider_says_about_the_model_keeps_a_stage_from_counting() {
    let agents =
        "name: m\nagents:\n  w: {run: [/bin/true], model: gpt-5}\n  x: {run: [/bin/true], model: qwen3}\n";
    let yaml = format!(
        "{agents}settings: {{independence: family}}\nstages: [{{name: s, agent: x}}]\ntasks: [{{title: t, assignTo: w, review: none}}]\n"
    );
    let mut simulation = Simulation::new(&yaml, options());
    // No provider names a model: the declared one of another family counts.
    simulation.run(steps(word(DeclaredVerdict::Pass), Response::Finished));
    assert_eq!(statuses(&simulation.state), [Status::Done]);
    // A provider that names one of the author's family: it is not asked again, and a person is.
    let mut simulation = Simulation::new(&yaml, options());
    let passes = Response::AnswerOf("gpt-4o", opinion(DeclaredVerdict::Pass));
    simulation.run(steps(passes, Response::Finished));
    assert_eq!(said(&simulation), [named("s", Verdict::Refer, Some(Cause::NoReviewer))]);
    assert_eq!(asked(&simulation), 1);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
    assert_eq!(models(&simulation), [Some("gpt-4o".to_owned())]);
    let refused = |event: &Event| matches!(event, Event::Task(_, TaskEvent::StageFailed { message, .. }) if message == "'x' is of the author's family, gpt");
    assert_eq!(simulation.count(refused), 1);
    let same = yaml.replace("qwen3", "gpt-4o");
    let mut simulation = Simulation::new(&same, options());
    simulation.run(steps(word(DeclaredVerdict::Pass), Response::Finished));
    assert_eq!(statuses(&simulation.state), [Status::AwaitingApproval]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
}

/// The models that steps were judged by, as the providers name them.
fn models(simulation: &Simulation) -> Vec<Option<String>> {
    let events = simulation.journal.iter().flatten();
    let reports = events.filter_map(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) => Some(report.model.clone()),
        _ => None,
    });
    reports.collect()
}

#[test]
fn a_session_without_reviews_withdraws_the_agent_that_is_asked_and_nothing_before_it() {
    let top = "stages: [{name: first, command: x}, {name: legal, agent: x}, {name: last, command: y}]";
    for (until, lint_runs) in [("Ask", 1), ("Stage", 1)] {
        let yaml = mission(top, ", review: none");
        let mut simulation = Simulation::new(&yaml, options());
        while !format!("{:?}", simulation.todo.front()).contains(until) {
            simulation.perform(0, &mut good);
        }
        let mut resumed = simulation.resumed_without_reviews(&yaml);
        resumed.run(good);
        let asked = |step: u32| {
            let step = StageKey::Own(step);
            resumed.count(|event| matches!(event, Event::Work(_, WorkEvent::Requested(Job::Stage(of, _))) if *of == step))
        };
        assert_eq!((asked(0), asked(2)), (lint_runs, 1), "{until}");
        assert!(said(&resumed).contains(&named("legal", Verdict::Skip, None)), "{until}");
        assert_eq!(resumed.state.task(T).status(), Status::Done);
    }
}

/// How often agents were asked in steps.
fn asked(simulation: &Simulation) -> usize {
    let is_step = |purpose: &Purpose| matches!(purpose, Purpose::Stage { .. });
    simulation.count(
        |event| matches!(event, Event::Ask(_, AskEvent::Requested { purpose, .. }) if is_step(purpose)),
    )
}

#[test]
fn a_model_that_turns_out_to_be_the_authors_counts_as_one_that_was_never_there() {
    let agents = "name: m\nagents:\n  w: {run: [/bin/true], model: gpt-5}\n  x: {run: [/bin/true], model: qwen3, vision: true}\nsettings: {independence: family}\n";
    let vision = "vision: {kind: llm_vision, agent: x, screenshots: [s.png]}";
    for (top, expected, status) in [
        (
            "redTeam: {agent: x}",
            (Stage::RedTeam, Verdict::Refer, Some(Cause::NoReviewer)),
            Status::AwaitingApproval,
        ),
        ("redTeam: {agent: x, onMissing: skip}", (Stage::RedTeam, Verdict::Skip, None), Status::Done),
        (vision, (Stage::Vision, Verdict::Fault, Some(Cause::NoReviewer)), Status::Done),
    ] {
        let yaml = format!("{agents}{top}\ntasks: [{{title: t, assignTo: w, review: none}}]\n");
        let mut simulation = Simulation::new(&yaml, options());
        let nothing =
            Response::AnswerOf("gpt-4o", Answer::Findings(crate::domain::FindingsReport::whole(Vec::new())));
        simulation.run(steps(nothing, Response::Finished));
        let words = said(&simulation);
        let (stage, _, verdict, cause) = words.last().unwrap();
        assert_eq!((*stage, *verdict, *cause), expected, "{top}");
        assert_eq!(models(&simulation).last().unwrap().as_deref(), Some("gpt-4o"), "{top}");
        assert_eq!(statuses(&simulation.state), [status], "{top}");
        assert_eq!(asked(&simulation), 1, "it would be answered by the same model: {top}");
    }
}

#[test]
fn one_stage_does_not_make_up_for_the_review_that_nobody_gave() {
    let top = "settings: {failOpenOnUnparsedEval: true}\nstages: [{name: licence, agent: x}]";
    // The mission takes such work; `--strict` makes an error of it.
    for (strict, class) in [(false, OutcomeClass::Ok), (true, OutcomeClass::Indeterminate)] {
        let options = RunOptions { strict, ..options() };
        let simulation = run_with(top, "", options, |state: &State, effect: &Effect| match effect {
            Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Unreadable,
            Effect::Ask { purpose, .. } if purpose.seat().is_none() => word(DeclaredVerdict::Pass),
            _ => good(state, effect),
        });
        let task = simulation.state.task(T);
        assert_eq!((task.status(), task.flag()), (Status::Done, Some(QualityFlag::Unreviewed)));
        assert_eq!(outcome(&simulation.state).class, class, "strict: {strict}");
    }
}

#[test]
fn whoever_stood_in_is_on_record() {
    for (top, said, found) in [
        ("stages: [{name: s, agent: x}]", word(DeclaredVerdict::Pass), 0),
        ("redTeam: {agent: x}", findings(Severity::Low), 1),
    ] {
        let yaml = format!(
            "name: m\nagents:\n  w: {{run: [/bin/true]}}\n  x: {{run: [/bin/true], fallback: y}}\n  y: {{run: [/bin/true]}}\n{top}\ntasks: [{{title: t, assignTo: w, review: none}}]\n"
        );
        let mut simulation = Simulation::new(&yaml, options());
        simulation.run(|state: &State, effect: &Effect| match effect {
            Effect::Ask { agent, .. } if agent.0 == 1 => Response::Unreachable(FailureClass::ProviderAuth),
            Effect::Ask { .. } => said.clone(),
            _ => good(state, effect),
        });
        let events = simulation.journal.iter().flatten();
        let report = events
            .filter_map(|event| match event {
                Event::Task(_, TaskEvent::StageVerdict(report)) => Some(report),
                _ => None,
            })
            .next_back()
            .unwrap();
        assert_eq!(report.judge.map(|agent| agent.0), Some(2));
        assert_eq!(
            report.findings[found].description,
            "'y' judged instead of 'x', which could not be reached"
        );
    }
}

#[test]
fn every_prefix_of_the_record_knows_what_is_still_out() {
    let top = format!("{BOTH}\nredTeam: {{agent: x}}");
    let yaml = mission(&top, "");
    let script = |state: &State, effect: &Effect| match effect {
        Effect::Ask { purpose: Purpose::Stage { step: StageKey::RED_TEAM, .. }, .. } => {
            findings(Severity::Low)
        }
        Effect::Ask { purpose, .. } if purpose.seat().is_none() => word(DeclaredVerdict::Pass),
        _ => good(state, effect),
    };
    let mut whole = Simulation::new(&yaml, options());
    whole.run(script);
    for cut in 1..whole.journal.len() {
        let mut again = Simulation::recovered(plan_of(&yaml, &options()), &whole.journal[..cut]);
        let open = again.state.task(T).judging().and_then(|judging| judging.stage.clone());
        if let Some(open) = open.filter(|open| open.open) {
            let pending = pending_effects(&again.state);
            let is_it = |effect: &Effect| match effect {
                Effect::Job { job: Job::Stage(step, _), .. } => *step == open.key && open.seat.is_none(),
                Effect::Ask { purpose: Purpose::Stage { step, .. }, .. } => {
                    *step == open.key && open.seat.is_some()
                }
                _ => false,
            };
            assert_eq!(pending.iter().filter(|effect| is_it(effect)).count(), 1, "{pending:?}");
        }
        if again.state.phase != RunPhase::Finished {
            again.resume();
            again.run(script);
        }
        assert_eq!(statuses(&again.state), [Status::Done], "cut at {cut}");
    }
}

#[test]
fn judges_that_are_switched_off_are_called_off_and_commands_hold() {
    let mut simulation = Simulation::new(&mission(BOTH, ""), options());
    let mut script = steps(word(DeclaredVerdict::Pass), Response::Check(false));
    while !matches!(simulation.todo.front(), Some(Effect::Ask { purpose: Purpose::Stage { .. }, .. })) {
        simulation.perform(0, &mut script);
    }
    let mut later = simulation.resumed_without_reviews(&mission(BOTH, ""));
    let called_off = |event: &Event| matches!(event, Event::Ask(_, AskEvent::Failed { gave_up: true, .. }));
    assert_eq!(later.count(called_off), 1);
    assert!(later.state.task(T).work.asks.is_empty());
    later.run(steps(word(DeclaredVerdict::Pass), Response::Finished));
    let task = later.state.task(T);
    assert_eq!((task.status(), task.flag()), (Status::Done, Some(QualityFlag::Unreviewed)));
}

#[test]
fn a_red_team_is_asked_where_there_is_anything_to_attack() {
    let record = |len| crate::engine::FileRef { length: len, digest: crate::domain::Digest::of(b"x") };
    let attacked = |said: Option<u64>, result: bool, size: u64| {
        let yaml = mission(
            "redTeam: {agent: x, onMissing: skip}",
            ", review: none, verification: {grader: heuristic}, acceptance: ['`f` exists']",
        );
        let mut simulation = Simulation::new(&yaml, options());
        let mut script = steps(findings(Severity::Low), Response::Finished);
        while let Some(effect) = simulation.todo.front().cloned() {
            let Effect::Job { turn, job: job @ Job::Scan { .. } } = effect else {
                simulation.perform(0, &mut script);
                continue;
            };
            simulation.todo.pop_front();
            let output = &mut simulation.state.tasks[0].output;
            output.stdout = said.map(record);
            output.result = result.then(|| record(2));
            let file = FileFact {
                path: "f".to_owned(),
                size: Some(size),
                digest: None,
                obstacle: None,
                stored: None,
            };
            simulation.feed(&Fact::JobEnded {
                turn,
                job,
                end: JobEnd::Seen { files: vec![file], hollow: None },
            });
        }
        assert_eq!(statuses(&simulation.state), [Status::Done]);
        asked(&simulation) == 1
    };
    assert!(!attacked(None, false, 0));
    assert!(!attacked(Some(0), false, 0), "an empty answer is none");
    assert!(attacked(Some(1), false, 0), "an answer");
    assert!(attacked(None, true, 0), "a result");
    assert!(attacked(None, false, 1), "a file with content");
}
