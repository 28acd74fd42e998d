//! Gates, and what a command about them meets, as tables.

use crate::domain::{BarrierId, FailureMode, GateId, Points, Purpose, QualityFlag, Status, TaskId};
use crate::engine::decide::evaluate_gate;
use crate::engine::dialog::{Dialog, Exchange};
use crate::engine::simulation::{Response, Simulation, good, options};
use crate::engine::state::Lifecycle;
use crate::engine::tests::operator::says;
use crate::engine::{
    Command, CommandResult, Effect, Event, GateEvent, RunPhase, apply, decide, evaluate_command,
};
use crate::plan::RunOptions;

use super::rules::{NOW, mission, simulation};

#[test]
fn a_gate_is_measured_by_what_it_asks() {
    let gate = |keys: &str| {
        let gates = format!("qualityGates: [{{name: g, afterTasks: [a, b], blocksTasks: [c]{keys}}}]\n");
        let tasks = "  - {title: a, assignTo: w}\n  - {title: b, assignTo: w}\n  - {title: c, assignTo: w}\n";
        simulation(&(mission("", tasks) + &gates)).state
    };
    let (clean, below) = (QualityFlag::Clean, QualityFlag::BelowThreshold);
    let done = |flag, points: Option<u8>| (Status::Done, Some(flag), points);
    let failed = |points| (Status::Failed, None, points);
    let of = |keys: &str, ends: [(Status, Option<QualityFlag>, Option<u8>); 2]| {
        let mut state = gate(keys);
        for (task, (status, flag, points)) in state.tasks.iter_mut().zip(ends) {
            task.lifecycle = Lifecycle::default().next(status, None, (None, flag));
            task.attempt.points = points.map(Points::whole);
        }
        let result = evaluate_gate(&state, GateId(0));
        (result.passed, result.reason.unwrap_or_default())
    };
    for (keys, ends, passed, reason) in [
        ("", [done(clean, Some(90)), failed(None)], false, "failed: b"),
        (", requireAllPassed: true", [done(clean, Some(90)), failed(None)], false, "failed: b"),
        (", requireAllPassed: false", [done(clean, Some(90)), failed(None)], true, ""),
        (", requireAllPassed: true", [done(clean, Some(90)), done(clean, None)], true, ""),
        ("", [done(clean, Some(90)), done(below, Some(40))], false, "accepted below the bar: b"),
        (", acceptBelowThreshold: true", [done(clean, Some(90)), done(below, Some(40))], true, ""),
        (", minScore: 4", [done(clean, Some(90)), done(clean, Some(70))], true, ""),
        (
            ", minScore: 4, requireAllPassed: false",
            [done(clean, Some(90)), failed(Some(60))],
            false,
            "average score 75 is below 80",
        ),
        (
            ", minScore: 4",
            [done(clean, Some(90)), failed(Some(60))],
            false,
            "failed: b; average score 75 is below 80",
        ),
        (
            ", minScore: 4, requireAllPassed: false",
            [done(clean, Some(90)), failed(None)],
            true,
            "unscored, not counted: b",
        ),
        (", minScore: 4", [done(clean, Some(80)), done(clean, None)], true, "unscored, not counted: b"),
        (
            ", minScore: 4, requireAllPassed: false",
            [failed(None), done(clean, None)],
            false,
            "no score to hold against minScore 80; unscored: a, b",
        ),
    ] {
        assert_eq!(of(keys, ends), (passed, reason.to_owned()), "{keys} {ends:?}");
    }
}
#[test]
fn what_a_command_meets() {
    use CommandResult::{AlreadySo, Applied, DecidedOtherwise, TooEarly, Unknown};
    let gates = "qualityGates: [{name: g, afterTasks: [a], blocksTasks: [b], minScore: 4}, {name: h, afterTasks: [d], \
                 blocksTasks: [e]}]\n";
    let titles = ["a", "b", "c", "d", "e"];
    let tasks: String = titles.map(|title| format!("  - {{title: {title}, assignTo: w}}\n")).concat();
    let options = RunOptions { only: ["a", "b", "c"].map(str::to_owned).to_vec(), ..options() };
    let state = Simulation::new(&(mission("", &tasks) + gates), options).state;
    let with = |changes: &[(usize, Status, Option<FailureMode>, Option<u8>)]| {
        let mut state = state.clone();
        for (task, status, mode, points) in changes {
            let task = &mut state.tasks[*task];
            task.lifecycle = Lifecycle::default().next(*status, None, (*mode, Some(QualityFlag::Clean)));
            task.attempt.points = points.map(Points::whole);
        }
        state.derive();
        state
    };
    let cancel = |task| Command::CancelTask { task: TaskId(task) };
    let over = |gate| Command::OverrideGate { gate: GateId(gate), reason: String::new() };
    let (done, failed) = (Status::Done, Status::Failed);
    let called_off = (2, failed, Some(FailureMode::Cancelled), None);
    let all_done = [(0, done, None, None), (1, done, None, None), (2, done, None, None)];
    let one_called_off = [all_done[0], all_done[1], called_off];
    let ended = |points| with(&[(0, done, None, Some(points))]);
    let evaluated = |points| {
        let mut state = ended(points);
        let (gate, result) = (GateId(0), evaluate_gate(&state, GateId(0)));
        apply(&mut state, &Event::Gate(gate, GateEvent::Evaluated { result }));
        state
    };
    let (passed, shut) = (evaluated(90), evaluated(70));
    let mut paused = state.clone();
    paused.session.paused = true;
    let mut over_and_done = state.clone();
    over_and_done.phase = RunPhase::Finished;
    for (state, command, expected) in [
        (&state, cancel(0), Applied),
        (&state, cancel(3), DecidedOtherwise),
        (&state, cancel(9), Unknown),
        (&with(&all_done), cancel(0), DecidedOtherwise),
        (&with(&one_called_off), cancel(2), AlreadySo),
        (&with(&one_called_off), cancel(0), DecidedOtherwise),
        (&state, Command::CancelRun, Applied),
        (&with(&all_done), Command::CancelRun, DecidedOtherwise),
        (&with(&one_called_off), Command::CancelRun, AlreadySo),
        (&state, Command::Pause, Applied),
        (&paused, Command::Pause, AlreadySo),
        (&over_and_done, Command::Pause, AlreadySo),
        (&state, over(7), Unknown),
        (&state, over(0), TooEarly),
        (&state, over(1), TooEarly),
        (&passed, over(0), AlreadySo),
        (&shut, over(0), Applied),
        // Its tasks have ended, and nobody came to evaluate it.
        (&ended(70), over(0), Applied),
        (&ended(90), over(0), AlreadySo),
    ] {
        assert_eq!(evaluate_command(state, &command), expected, "{command:?}");
    }
    // An answer to a question that is not asked any more, and to one that never was.
    let mut asked = state.clone();
    asked.tasks[0].consent.asked = 2;
    for (number, expected) in [(0, Unknown), (1, DecidedOtherwise), (2, DecidedOtherwise), (3, Unknown)] {
        let task = TaskId(0);
        let text = String::new();
        assert_eq!(evaluate_command(&asked, &Command::approve(task, number)), expected);
        assert_eq!(evaluate_command(&asked, &Command::Answer { task, number, text }), expected);
    }
    // The same answer once more is nothing new, another one comes too late.
    let exchange = |number, answer: &str| Exchange {
        question: "which?".to_owned(),
        answer: answer.to_owned(),
        number: Some(number),
        is_call: false,
    };
    asked.tasks[0].dialog = Some(Box::new(Dialog {
        exchanges: vec![exchange(1, "red"), exchange(2, "blue")],
        ..Dialog::default()
    }));
    for (number, text, expected) in [
        (1, "red", AlreadySo),
        (1, "blue", DecidedOtherwise),
        (2, "blue", AlreadySo),
        (2, "red", DecidedOtherwise),
    ] {
        let command = Command::Answer { task: TaskId(0), number, text: text.to_owned() };
        assert_eq!(evaluate_command(&asked, &command), expected, "{number} {text}");
    }
    let hold = BarrierId(0);
    assert_eq!(evaluate_command(&state, &Command::approve(hold, 1)), Unknown);
}
#[test]
fn a_gate_that_nobody_came_to_evaluate_is_evaluated_before_it_is_overridden() {
    let tasks = "  - {title: a, assignTo: w}\n  - {title: b, assignTo: w}\n";
    let gates = "qualityGates: [{name: g, afterTasks: [a], blocksTasks: [b], minScore: 4}]\n";
    let yaml = mission("", tasks) + gates;
    let over = says(Command::OverrideGate { gate: GateId(0), reason: "risk".to_owned() });
    for (score, expected) in [(70, 2), (90, 0)] {
        let mut simulation = simulation(&yaml);
        simulation.run(|state, effect| match effect {
            Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(score),
            other => good(state, other),
        });
        // The runner died before it.
        let is_gate = |record: &Vec<Event>| {
            record.iter().any(|event| matches!(event, Event::Gate(_, GateEvent::Evaluated { .. })))
        };
        let cut = simulation.journal.iter().position(is_gate).unwrap();
        let dead = Simulation::recovered(simulation.state.plan.clone(), &simulation.journal[..cut]);
        let events = decide(&dead.state, &over, NOW);
        assert_eq!(events.len(), expected, "{events:?}");
        if let [first, second] = events.as_slice() {
            assert!(matches!(first, Event::Gate(_, GateEvent::Evaluated { result }) if !result.passed));
            assert!(matches!(second, Event::Gate(_, GateEvent::Overridden { .. })));
        }
    }
}
