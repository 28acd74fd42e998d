//! The judge breaker: so many rejections in a row, and a model's work is not judged any more in its wave (section 7).

use crate::domain::{
    AskId, Cause, OutcomeClass, Purpose, QualityFlag, Stage, Status, TaskId, TurnId, Verdict,
};
use crate::engine::quality_flag::Mark;
use crate::engine::{AskEvent, Command, Effect, Event, Fact, Job, OperatorInput, State, TaskEvent, outcome};

use super::simulation::{Response, Simulation, good, options};

/// Tasks one after the other by priority, in one wave; the judge says `points` to each call.
fn run(agents: &str, settings: &str, tasks: &str, points: &[u8]) -> Simulation {
    let yaml = format!(
        "name: m\nagents: {{{agents}, j: {{run: [/bin/true], role: reviewer}}}}\nsettings: {{maxAttempts: 1, \
         {settings}}}\ntasks:\n{tasks}"
    );
    let mut options = options();
    options.jobs = Some(1);
    let mut simulation = Simulation::new(&yaml, options);
    let mut call = 0;
    simulation.run(|state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => {
            call += 1;
            Response::Score(points[(call - 1) % points.len()])
        }
        other => good(state, other),
    });
    simulation
}

fn tasks(n: usize, agent: &str) -> String {
    (0..n).map(|n| format!("  - {{title: {agent}{n}, assignTo: {agent}}}\n")).collect()
}

fn flags(simulation: &Simulation) -> Vec<QualityFlag> {
    simulation.state.tasks.iter().filter_map(|task| task.flag()).collect()
}

fn calls(simulation: &Simulation) -> usize {
    simulation
        .count(|event| matches!(event, Event::Ask(_, AskEvent::Requested { purpose: Purpose::Score(_), .. })))
}

const W: &str = "w: {run: [/bin/true]}";

#[test]
fn five_rejections_in_a_row_stop_the_judging_of_that_models_work() {
    let simulation = run(W, "evaluate: true", &tasks(8, "w"), &[40]);
    assert_eq!(calls(&simulation), 5, "the default is 5");
    let mut expected = vec![QualityFlag::BelowThreshold; 5];
    expected.extend([QualityFlag::Unverified; 3]);
    assert_eq!(flags(&simulation), expected);
    // Nobody asked for these reviews: unverified, which is never a success, but not indeterminate.
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::BelowThreshold);
    let said = |event: &Event| {
        matches!(event, Event::Task(_, TaskEvent::StageVerdict(report))
            if (report.stage, report.verdict, report.cause) == (Stage::Judge, Verdict::Skip, Some(Cause::Breaker))
            && report.findings[0].description.contains("5 rejections in a row of the work of w"))
    };
    assert_eq!(simulation.count(said), 3);
}

#[test]
fn a_pass_ends_the_row_and_0_is_never() {
    let simulation = run(W, "judgeBreaker: 3", &tasks(7, "w"), &[40, 40, 90, 40, 40, 90, 40]);
    assert_eq!(calls(&simulation), 7);
    let simulation = run(W, "judgeBreaker: 0", &tasks(9, "w"), &[40]);
    assert_eq!(calls(&simulation), 9);
    let simulation = run(W, "judgeBreaker: 1", &tasks(9, "w"), &[40]);
    assert_eq!(calls(&simulation), 1);
}

#[test]
fn agents_of_one_model_share_a_row_and_others_do_not() {
    let mixed = format!("{}{}", tasks(2, "w"), tasks(2, "v"));
    let apart = "w: {run: [/bin/true]}, v: {run: [/bin/true]}";
    assert_eq!(calls(&run(apart, "judgeBreaker: 2", &mixed, &[40])), 4);
    let together = "w: {adapter: openai, model: m}, v: {adapter: openai, model: m}";
    assert_eq!(calls(&run(together, "judgeBreaker: 2", &mixed, &[40])), 2);
}

#[test]
fn a_task_that_its_judges_sent_back_stays_theirs() {
    let panel = "  - {title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: 1}], maxAttempts: 9}\n";
    let simulation = run(W, "judgeBreaker: 2", &format!("{panel}{}", tasks(1, "w")), &[40]);
    assert_eq!(calls(&simulation), 9, "every allowed attempt is judged");
    assert_eq!(simulation.state.task(TaskId(0)).status(), Status::Failed);
    assert_eq!(simulation.state.task(TaskId(1)).flag(), Some(QualityFlag::Unverified));
}

#[test]
fn the_next_wave_is_judged_again() {
    let mixed = format!("{}  - {{title: next, assignTo: w, dependsOn: [w0]}}\n", tasks(4, "w"));
    let simulation = run(W, "judgeBreaker: 2", &mixed, &[40]);
    assert_eq!(calls(&simulation), 3);
    assert_eq!(flags(&simulation)[3], QualityFlag::Unverified);
    assert_eq!(flags(&simulation)[4], QualityFlag::BelowThreshold);
}

#[test]
fn preflight_rejects_and_failed_checks_never_count() {
    let mixed = "  - {title: a, assignTo: w, expectations: [{type: test, command: x}], maxAttempts: 3}\n  - {title: b, \
                 assignTo: w}\n";
    let yaml = format!(
        "name: m\nagents: {{{W}, j: {{run: [/bin/true], role: reviewer}}}}\nsettings: {{judgeBreaker: 1}}\ntasks:\n{mixed}"
    );
    let mut options = options();
    options.jobs = Some(1);
    let mut simulation = Simulation::new(&yaml, options);
    simulation.run(|state, effect| match effect {
        Effect::Job { job: Job::Check(_), .. } => Response::Check(false),
        other => good(state, other),
    });
    assert_eq!(calls(&simulation), 1);
    assert_eq!(simulation.state.task(TaskId(1)).flag(), Some(QualityFlag::Clean));
}

#[test]
fn a_review_that_was_asked_for_and_is_missing_is_indeterminate() {
    for asked in [
        "review: required",
        "expectations: [{type: llm_review, criteria: c, reviewers: 1}]",
        "expectations: [{type: llm_review, criteria: c, reviewers: 1, judgeBreaker: 1}]",
    ] {
        let tasks = format!(
            "  - {{title: a, assignTo: w, maxAttempts: 1}}\n  - {{title: b, assignTo: w, {asked}}}\n"
        );
        let settings = if asked.contains("judgeBreaker") { "judgeBreaker: 4" } else { "judgeBreaker: 1" };
        let simulation = run(W, settings, &tasks, &[40]);
        let task = simulation.state.task(TaskId(1));
        assert_eq!(
            (task.flag(), task.attempt.has(Mark::Indeterminate)),
            (Some(QualityFlag::Unverified), true),
            "{asked}"
        );
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate, "{asked}");
    }
}

#[test]
fn people_who_were_named_are_asked_all_the_same() {
    let tasks = "  - {title: a, assignTo: w}\n  - {title: b, assignTo: w, expectations: [{type: llm_review, criteria: c, \
                 reviewers: [h, j]}]}\n";
    let agents = "w: {run: [/bin/true]}, h: {adapter: human}";
    let mut simulation = run(agents, "judgeBreaker: 1", tasks, &[40]);
    let waiting = simulation.state.task(TaskId(1)).hold().cloned().unwrap();
    assert_eq!(waiting.cause, Some(Cause::Person));
    simulation.say(&Fact::Operator(Box::new(OperatorInput {
        id: None,
        command: Command::approve(TaskId(1), waiting.number),
        by: "ada".to_owned(),
    })));
    // It was reviewed: by a person.
    assert_eq!(simulation.state.task(TaskId(1)).flag(), Some(QualityFlag::Clean));
}

#[test]
fn it_survives_a_crash_and_ends_with_a_persons_word() {
    let simulation = run(W, "judgeBreaker: 2", &tasks(3, "w"), &[40]);
    let mut later = Simulation::recovered(simulation.state.plan.clone(), &simulation.journal);
    assert_eq!(later.state.rejections(TaskId(0)), 2);
    later.say(&Fact::Redo(TaskId(0)));
    assert_eq!(later.state.rejections(TaskId(0)), 0);
    later.resume();
    let judged = |state: &State, effect: &Effect| good(state, effect);
    later.run(judged);
    assert_eq!(later.state.task(TaskId(0)).flag(), Some(QualityFlag::Clean));
    assert_eq!(later.state.task(TaskId(0)).status(), Status::Done);
}

#[test]
fn the_first_word_of_its_judges_is_enough_to_make_it_theirs() {
    let panel = "  - {title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: 1}], maxAttempts: 3}\n";
    let simulation = run(W, "judgeBreaker: 1", panel, &[40]);
    assert_eq!(calls(&simulation), 3);
}

#[test]
fn what_failed_its_checks_was_not_sent_back_by_its_judges() {
    let checked = "  - {title: b, assignTo: w, review: required, maxAttempts: 2, expectations: [{type: test, command: x}]}\n";
    let yaml = format!(
        "name: m\nagents: {{{W}, j: {{run: [/bin/true], role: reviewer}}}}\nsettings: {{judgeBreaker: 1}}\ntasks:\n  - \
         {{title: a, assignTo: w, maxAttempts: 1}}\n{checked}"
    );
    let mut options = options();
    options.jobs = Some(1);
    let mut simulation = Simulation::new(&yaml, options);
    let mut checks = 0;
    simulation.run(|state, effect| match effect {
        Effect::Job { job: Job::Check(_), .. } => {
            checks += 1;
            Response::Check(checks > 1)
        }
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(40),
        other => good(state, other),
    });
    assert_eq!((checks, calls(&simulation)), (2, 1), "only the first task was judged");
    assert_eq!(simulation.state.task(TaskId(1)).flag(), Some(QualityFlag::Unverified));
}

#[test]
fn what_judges_said_before_the_work_began_anew_does_not_make_it_theirs() {
    // Two rejections in a row at its end: every task was judged.
    let mut simulation = run(W, "judgeBreaker: 3", &tasks(4, "w"), &[40, 90, 40, 40]);
    assert_eq!(calls(&simulation), 4);
    for task in 0..4 {
        assert!(simulation.say(&Fact::Redo(TaskId(task))));
    }
    simulation.resume();
    simulation.run(|state: &State, effect: &Effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(40),
        other => good(state, other),
    });
    assert_eq!(calls(&simulation), 7, "three more, and the last is not judged");
    assert_eq!(flags(&simulation)[3], QualityFlag::Unverified);
}

#[test]
fn a_fixup_is_of_the_judges_that_rejected_what_it_mends() {
    // Rejected work of another task opens the breaker in the wave that the fixup is in.
    let play = |expectation: &str| {
        let yaml = format!(
            "name: m\nagents: {{{W}, j: {{run: [/bin/true], role: reviewer}}}}\n\
             settings: {{judgeBreaker: 1, maxRetries: 0}}\ntasks:\n  \
             - {{title: a, assignTo: w, onExhausted: fixup, maxAttempts: 1, review: required, expectations: [{expectation}]}}\n  \
             - {{title: base, assignTo: w, review: none}}\n  \
             - {{title: other, assignTo: w, dependsOn: [base], maxAttempts: 1, priority: 9}}\n"
        );
        let mut options = options();
        options.jobs = Some(1);
        let mut simulation = Simulation::new(&yaml, options);
        simulation.run(|state, effect| match effect {
            Effect::Job { turn: TurnId { task, .. }, job: Job::Check(_) } => {
                Response::Check(*task != TaskId(0))
            }
            Effect::Ask { id: AskId { task, .. }, purpose: Purpose::Score(_), .. }
                if state.plan.mended_by(*task).is_some() =>
            {
                Response::Score(90)
            }
            Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(40),
            other => good(state, other),
        });
        (calls(&simulation), simulation.state.task(TaskId(3)).flag())
    };
    let by_judges = play("{type: llm_review, criteria: c, reviewers: 1}");
    assert_eq!(by_judges, (3, Some(QualityFlag::Clean)));
    // What failed otherwise is of no judges, and neither is what mends it.
    let by_checks = play("{type: test, command: x}");
    assert_eq!(by_checks, (1, Some(QualityFlag::Unverified)));
}
