//! The verification stage: when it comes, what its grades lead to, and what a person decides instead.

use crate::domain::{
    Cause, FailureClass, OutcomeClass, Points, Purpose, QualityFlag, Stage, Status, TaskId, Verdict,
};
use crate::engine::{
    AskEvent, AskReply, Command, Effect, Event, Fact, HoldEvent, Job, JobEnd, OperatorInput, StageReport,
    State, TaskEvent, WorkEvent, outcome,
};

use super::simulation::{Response, Simulation, good, options, statuses};

const AGENTS: &str = "name: m\nagents:\n  w: {run: [/bin/true]}\n  j: {run: [/bin/true], role: reviewer}\n";

/// One task with two criteria and these other keys.
fn mission(keys: &str) -> String {
    let criteria = "acceptance: [c, d], verification: {grader: heuristic}";
    format!("{AGENTS}tasks:\n  - {{title: t, assignTo: w, {criteria}{keys}}}\n")
}

fn run(keys: &str, script: impl FnMut(&State, &Effect) -> Response) -> Simulation {
    let mut simulation = Simulation::new(&mission(keys), options());
    simulation.run(script);
    simulation
}

/// Graders answer like this, everybody else is content.
fn graded(answer: Response) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::Job { job: Job::Grade(_), .. } => answer.clone(),
        _ => good(state, effect),
    }
}

fn verdicts(simulation: &Simulation) -> Vec<(Stage, Verdict, Option<Cause>)> {
    let reports = simulation.journal.iter().flatten().filter_map(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) => Some((report.stage, report.verdict, report.cause)),
        _ => None,
    });
    reports.collect()
}

fn verified(simulation: &Simulation) -> StageReport {
    let mut reports = simulation.journal.iter().flatten().filter_map(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) if report.stage == Stage::Verification => {
            Some((**report).clone())
        }
        _ => None,
    });
    reports.next().expect("it was verified")
}

fn answer(simulation: &mut Simulation, command: Command) {
    simulation.feed(&Fact::Operator(Box::new(OperatorInput { id: None, command, by: "ada".to_owned() })));
}

const T: TaskId = TaskId(0);

#[test]
fn criteria_alone_that_are_met_are_clean_work() {
    let simulation = run(", review: none", good);
    let task = simulation.state.task(T);
    assert_eq!((task.flag(), task.attempt.points), (Some(QualityFlag::Clean), Some(Points::whole(100))));
    assert_eq!(verdicts(&simulation), [(Stage::Verification, Verdict::Pass, None)]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    let report = verified(&simulation);
    assert_eq!((report.grades.len(), report.confidence), (2, Some(Points::whole(100))));
}

#[test]
fn it_comes_after_the_judges_and_leaves_their_score() {
    for keys in ["", ", expectations: [{type: llm_review, criteria: c}]"] {
        let simulation = run(keys, good);
        let stages: Vec<Stage> = verdicts(&simulation).into_iter().map(|(stage, ..)| stage).collect();
        assert_eq!(stages, [Stage::Judge, Stage::Verification], "{keys}");
        assert_eq!(simulation.state.task(T).attempt.points, Some(Points::whole(90)), "{keys}");
    }
    // Failed checks spare it.
    let failing = |state: &State, effect: &Effect| match effect {
        Effect::Job { job: Job::Check(_), .. } => Response::Check(false),
        _ => good(state, effect),
    };
    let simulation = run(", maxAttempts: 1, expectations: [{type: test, command: x}]", failing);
    assert_eq!(
        simulation.count(|event| matches!(event, Event::Work(_, WorkEvent::Requested(Job::Grade(_))))),
        0
    );
}

#[test]
fn failed_criteria_send_work_back_until_attempts_are_used_up() {
    let simulation = run(", review: none, maxAttempts: 3", graded(Response::Score(20)));
    let task = simulation.state.task(T);
    assert_eq!((task.status(), task.course.tries), (Status::Failed, 3));
    assert_eq!(task.feedback.len(), 3);
    assert_eq!(task.feedback[0].findings.len(), 2);
    assert!(
        verdicts(&simulation).iter().all(|verdict| {
            *verdict == (Stage::Verification, Verdict::Fail, Some(Cause::RequiredCriterion))
        })
    );
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::TaskFailed);
    let accepted = run(", review: none, maxAttempts: 1, onExhausted: accept", graded(Response::Score(20)));
    assert_eq!(accepted.state.task(T).flag(), Some(QualityFlag::BelowThreshold));
    assert_eq!(outcome(&accepted.state).class, OutcomeClass::BelowThreshold);
}

#[test]
fn what_cannot_be_checked_waits_for_a_person() {
    let mut simulation = run(", review: none", graded(Response::Unreadable));
    assert_eq!(statuses(&simulation.state), [Status::AwaitingApproval]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Awaiting);
    answer(&mut simulation, Command::approve(T, 1));
    let last = verdicts(&simulation).pop();
    assert_eq!(last, Some((Stage::Verification, Verdict::Pass, None)));
    assert_eq!(simulation.state.task(T).flag(), Some(QualityFlag::Clean));
    // The person stands for the grader: it is not asked again.
    assert_eq!(
        simulation.count(|event| matches!(event, Event::Work(_, WorkEvent::Requested(Job::Grade(_))))),
        1
    );
}

#[test]
fn a_person_who_is_the_only_reviewer_is_told_so() {
    let asked = |simulation: &Simulation| {
        let found = simulation.journal.iter().flatten().find_map(|event| match event {
            Event::Hold(_, HoldEvent::Opened { message, .. }) => Some(message.clone()),
            _ => None,
        });
        found.expect("a person was asked")
    };
    let only = "whoever approves it is its only reviewer";
    let fail_open = mission("").replace("tasks:", "settings: {failOpenOnUnparsedEval: true}\ntasks:");
    for grader in [Response::Unreadable, Response::Unreachable(FailureClass::Unknown)] {
        let mut simulation = Simulation::new(&fail_open, options());
        simulation.run(|state: &State, effect: &Effect| match effect {
            Effect::Job { job: Job::Grade(_), .. } => grader.clone(),
            Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Unreadable,
            _ => good(state, effect),
        });
        let question = asked(&simulation);
        assert!(question.contains(only), "{question}");
        // Asked like this, the yes is about the work.
        answer(&mut simulation, Command::approve(T, 1));
        assert_eq!(simulation.state.task(T).flag(), Some(QualityFlag::Clean));
        let by = simulation.journal.iter().flatten().find_map(|event| match event {
            Event::Task(_, TaskEvent::StageVerdict(report))
                if report.verdict == Verdict::Pass && report.stage == Stage::Verification =>
            {
                report.by.clone()
            }
            _ => None,
        });
        assert_eq!(by.as_deref(), Some("ada"));
    }
    // The same work passed unread without a person's word stays unreviewed.
    let mut unread = Simulation::new(&fail_open, options());
    unread.run(|state: &State, effect: &Effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Unreadable,
        _ => good(state, effect),
    });
    assert_eq!(unread.state.task(T).flag(), Some(QualityFlag::Unreviewed));
    // Where reviewers were content the person decides about the criteria alone.
    let reviewed = run("", graded(Response::Unreadable));
    assert!(!asked(&reviewed).contains(only));
}

#[test]
fn a_grader_that_fails_is_asked_again_and_then_nobody_can_say() {
    let mut simulation = run(", review: none", graded(Response::Unreachable(FailureClass::Unknown)));
    assert_eq!(simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::StageFailed { .. }))), 2);
    assert_eq!(verdicts(&simulation), [(Stage::Verification, Verdict::Refer, Some(Cause::GateError))]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
    assert_eq!(simulation.state.task(T).course.tries, 1, "it costs the worker nothing");
    simulation.resume();
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn one_failure_of_the_grader_is_made_good() {
    let mut rounds = 0;
    let simulation = run(", review: none", |state, effect| match effect {
        Effect::Job { job: Job::Grade(1), .. } => {
            rounds += 1;
            Response::Unreachable(FailureClass::Unknown)
        }
        _ => good(state, effect),
    });
    assert_eq!((rounds, simulation.state.task(T).flag()), (1, Some(QualityFlag::Clean)));
}

#[test]
fn a_persons_word_about_the_work_does_not_skip_its_criteria() {
    let people = format!("{AGENTS}  ada: {{adapter: human}}\n");
    let yaml = mission(", maxAttempts: 1, expectations: [{type: llm_review, criteria: c, reviewers: [ada]}]")
        .replace(AGENTS, &people);
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(good);
    assert_eq!(statuses(&simulation.state), [Status::AwaitingApproval]);
    answer(&mut simulation, Command::approve(T, 1));
    assert_eq!(statuses(&simulation.state), [Status::Review]);
    simulation.resume();
    simulation.run(graded(Response::Score(20)));
    assert_eq!(statuses(&simulation.state), [Status::Failed]);
}

#[test]
fn a_score_that_a_person_confirmed_outlives_the_criteria_behind_it() {
    // Found by `store::simulation`, seed 6: the criteria's points took the place of the panel's.
    let keys = ", expectations: [{type: llm_review, criteria: c, reviewers: [h, j]}]";
    let yaml = mission(keys).replace("tasks:", "  h: {adapter: human}\ntasks:");
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(good);
    assert_eq!(simulation.state.task(T).status(), Status::AwaitingApproval);
    answer(&mut simulation, Command::approve(T, 1));
    simulation.todo.clear();
    simulation.resume();
    simulation.run(good);
    let task = simulation.state.task(T);
    assert_eq!((task.flag(), task.attempt.points), (Some(QualityFlag::Clean), Some(Points::whole(90))));
}

#[test]
fn without_reviews_criteria_still_hold_and_nobody_is_said_to_have_reviewed() {
    let off = crate::plan::RunOptions { no_eval: true, ..options() };
    for (keys, flag) in [(", review: none", QualityFlag::Clean), ("", QualityFlag::Unreviewed)] {
        let mut simulation = Simulation::new(&mission(keys), off.clone());
        simulation.run(good);
        assert_eq!(simulation.state.task(T).flag(), Some(flag), "{keys}");
    }
    let mut simulation = Simulation::new(&mission(", maxAttempts: 1"), off);
    simulation.run(graded(Response::Score(20)));
    assert_eq!(statuses(&simulation.state), [Status::Failed]);
}

#[test]
fn reviews_that_are_switched_off_while_they_are_asked_for_are_not_asked_for_again() {
    // Found by `store::simulation`: a run resumed with --no-eval asked the judges that the last session had asked.
    for (keys, criteria) in [(", review: auto", false), (", review: auto", true)] {
        let yaml = mission(keys);
        let yaml = if criteria {
            yaml
        } else {
            yaml.replace("acceptance: [c, d], verification: {grader: heuristic}", "").replace(", ,", ",")
        };
        let mut simulation = Simulation::new(&yaml, options());
        while !matches!(simulation.todo.front(), Some(Effect::Ask { purpose: Purpose::Score(_), .. })) {
            simulation.perform(0, &mut good);
        }
        let mut resumed = simulation.resumed_without_reviews(&yaml);
        resumed.run(good);
        // Whoever performs effects asks nobody who is not waited for; and nobody is.
        let judged = resumed.count(|event| {
            matches!(event, Event::Ask(_, AskEvent::Replied(AskReply { purpose: Purpose::Score(_), .. })))
        });
        assert_eq!(judged, 0, "a judge was heard");
        assert_eq!(resumed.state.task(T).flag(), Some(QualityFlag::Unreviewed), "{yaml}");
        assert_eq!(outcome(&resumed.state).class, OutcomeClass::Ok);
    }
}

#[test]
fn grades_that_come_too_late_mean_nothing() {
    let simulation = run(", review: none", good);
    let late = Fact::JobEnded {
        turn: simulation.state.current_turn(T),
        job: Job::Grade(1),
        end: JobEnd::Graded(Err("late".to_owned())),
    };
    assert_eq!(crate::engine::decide(&simulation.state, &late, crate::domain::Timestamp(1)), []);
}

#[test]
fn every_stage_that_passes_says_so() {
    let keys = ", expectations: [{type: test, command: x}, {type: llm_review, criteria: c}]";
    let passed = |stage| (stage, Verdict::Pass, None);
    assert_eq!(verdicts(&run(keys, good)), [Stage::Checks, Stage::Judge, Stage::Verification].map(passed));
}

/// What a person is asked about work that is graded by a rubric, and how many judges were asked for grades.
fn graded_by_rubric(agents: &str) -> (Option<Cause>, Stage, usize) {
    let yaml = format!(
        "name: m\nagents:\n  w: {{run: [/bin/true]}}\n{agents}tasks:\n  - {{title: t, assignTo: w, review: none, \
         verification: {{rubric: default-task}}}}\n"
    );
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(good);
    let judges = simulation.count(|event| matches!(event, Event::Ask(_, AskEvent::Requested { .. })));
    let waiting = simulation.state.task(T).hold();
    let waiting = waiting.expect("a person is asked");
    (waiting.cause, waiting.stage.stage(), judges)
}

#[test]
fn a_rubric_needs_a_judge_and_without_one_a_person_decides() {
    let at = Stage::Verification;
    assert_eq!(graded_by_rubric(""), (Some(Cause::NoReviewer), at, 0));
    // One who cannot be understood is asked once more.
    let judge = "  j: {run: [/bin/true], role: reviewer}\n";
    assert_eq!(graded_by_rubric(judge), (Some(Cause::GateError), at, 2));
}

#[test]
fn what_speaks_against_deciding_without_a_person_is_said_where_none_is_asked() {
    for on_refer in ["rework", "pass"] {
        let yaml = |keys: &str| {
            mission(keys).replace("grader: heuristic", &format!("grader: heuristic, onRefer: {on_refer}"))
        };
        let found = |answer: Response| {
            let mut simulation = Simulation::new(&yaml(", review: none, maxAttempts: 1"), options());
            simulation.run(graded(answer));
            let report = verified(&simulation);
            let open = report
                .findings
                .iter()
                .filter(|finding| finding.description.contains("2 of 2 criteria could not be checked"));
            (report.verdict, open.count())
        };
        let unsure = if on_refer == "pass" { Verdict::Skip } else { Verdict::Fail };
        assert_eq!(found(Response::Unreadable), (unsure, 1), "{on_refer}");
        let sure = found(Response::Score(90));
        assert_eq!(sure, (Verdict::Pass, 0), "{on_refer}");
    }
    let content = run(", review: none", good);
    assert_eq!(verified(&content).findings, []);
}

#[test]
fn a_score_that_a_person_confirmed_outlives_the_question_about_the_criteria() {
    let keys = ", expectations: [{type: llm_review, criteria: c, reviewers: [h, j]}]";
    let yaml = mission(keys).replace("tasks:", "  h: {adapter: human}\ntasks:");
    let mut simulation = Simulation::new(&yaml, options());
    let silent = || graded(Response::Unreachable(FailureClass::Unknown));
    simulation.run(silent());
    answer(&mut simulation, Command::approve(T, 1));
    simulation.resume();
    simulation.run(silent());
    assert_eq!(simulation.state.task(T).status(), Status::AwaitingApproval);
    simulation.resume();
    simulation.run(good);
    let task = simulation.state.task(T);
    // All criteria are met; what was accepted is the panel's word.
    assert_eq!((task.status(), task.attempt.points), (Status::Done, Some(Points::whole(90))));
}

const RUBRIC: &str = "name: m\nagents:\n  w: {run: [/bin/true], model: gpt-5}\n  j: {run: [/bin/true], model: qwen3, role: reviewer}\n  h: {adapter: human}\nsettings: {independence: family}\n";

#[test]
fn a_grader_that_turns_out_dependent_is_not_asked_again_and_is_no_reviewer() {
    for criteria in ["", ", acceptance: [c], decomposer: {agent: j}"] {
        let yaml = format!(
            "{RUBRIC}tasks: [{{title: t, assignTo: w, review: none, verification: {{rubric: default-task}}{criteria}}}]\n"
        );
        let mut simulation = Simulation::new(&yaml, options());
        let answer = crate::domain::Answer::DoesNotKnow;
        simulation.run(|state, effect| match effect {
            Effect::Ask { .. } => Response::AnswerOf("gpt-4o", answer.clone()),
            _ => good(state, effect),
        });
        let asked = simulation.count(|event| matches!(event, Event::Ask(_, AskEvent::Requested { .. })));
        assert_eq!(asked, 1, "{criteria}");
        let failed = simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::StageFailed { .. })));
        assert_eq!(failed, 1, "{criteria}");
        let report = verified(&simulation);
        assert_eq!((report.verdict, report.cause), (Verdict::Refer, Some(Cause::NoReviewer)));
        assert!(
            report.findings[0].description.contains("'j' is not independent: is of the author's family, gpt"),
            "{report:?}"
        );
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
    }
}

#[test]
fn a_panel_that_a_person_accepted_is_not_asked_again_for_a_grader_that_is_missing() {
    let yaml = format!(
        "{RUBRIC}tasks: [{{title: t, assignTo: w, expectations: [{{type: llm_review, criteria: c, reviewers: [h]}}], \
         verification: {{rubric: default-task}}}}]\n"
    );
    let yaml = yaml.replace(", role: reviewer", ", family: gpt");
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(good);
    let asks = |simulation: &Simulation| {
        let task = simulation.state.task(TaskId(0));
        let waiting = task.hold().expect("a person is asked");
        (waiting.stage.stage(), waiting.cause, waiting.number)
    };
    assert_eq!(asks(&simulation), (Stage::Judge, Some(Cause::Person), 1));
    let approve = |simulation: &mut Simulation, number| {
        let task = TaskId(0);
        answer(simulation, Command::approve(task, number));
    };
    approve(&mut simulation, 1);
    assert_eq!(asks(&simulation), (Stage::Verification, Some(Cause::NoReviewer), 2));
    simulation.resume();
    simulation.run(good);
    assert_eq!(asks(&simulation), (Stage::Verification, Some(Cause::NoReviewer), 3));
    approve(&mut simulation, 3);
    simulation.run(good);
    assert_eq!(statuses(&simulation.state), [Status::Done]);
    assert_eq!(simulation.state.task(TaskId(0)).flag(), Some(QualityFlag::Clean));
}

#[test]
fn a_grader_that_is_not_wanted_any_more_is_called_off() {
    let yaml = format!(
        "{AGENTS}stages: [{{name: lint, command: c}}]\ntasks:\n  - {{title: t, assignTo: w, review: none, verification: {{rubric: default-task}}}}\n"
    );
    let mut simulation = Simulation::new(&yaml, options());
    while !matches!(simulation.todo.front(), Some(Effect::Ask { .. })) {
        simulation.perform(0, &mut good);
    }
    let mut resumed = simulation.resumed_without_reviews(&yaml);
    let is_ask = |effect: &Effect| matches!(effect, Effect::Ask { .. });
    assert!(!crate::engine::pending_effects(&resumed.state).iter().any(is_ask));
    resumed.run(good);
    assert_eq!(statuses(&resumed.state), [Status::Done]);
}
