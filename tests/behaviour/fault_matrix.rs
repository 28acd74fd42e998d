//! The fault matrix: every kind and purpose of work meets every fault, through the binary, and each time the same is asked:
//! how it ends, how often it was tried, what lies in the dead-letter queue, what is charged, and that no secret is told.
//!
//! `cargo test --test behaviour -- --nocapture every_cell` shows the table.

mod cells;
mod drive;
mod expected;
mod scene;
mod stories;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use cells::{Cell, Fault, Row};
use drive::Wrong;
use expected::Case;

/// Cells that are played at the same time. Most of a cell's time somebody waits.
const AT_ONCE: usize = 6;
/// How long the whole matrix is to take on two cores.
const WHOLE: Duration = Duration::from_secs(60);
/// Names a part of the matrix: only cells are played whose name holds these words, and of red ones the events are told.
const PART: &str = "QUORUM_MATRIX";

/// A kind of work or a purpose that has no row does not compile.
const _: fn(&rules::engine::Effect) -> Vec<Row> = cells::rows_of;

/// What came of a cell.
enum Outcome {
    Fine,
    Red(Vec<Wrong>),
    Impossible(&'static str),
}

fn outcome(cell: Cell) -> Outcome {
    let expected = match stories::case(cell) {
        Case::Impossible(why) => return Outcome::Impossible(why),
        Case::Played(expected) => expected,
    };
    let wrong = std::panic::catch_unwind(|| drive::play(cell, &expected));
    let wrong = wrong.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>();
        vec![("panic", said.map_or("it cannot be played", String::as_str).to_owned())]
    });
    match wrong.is_empty() {
        true => Outcome::Fine,
        false => Outcome::Red(wrong),
    }
}

/// Plays cells, some at a time.
fn play(cells: &[Cell]) -> Vec<(Cell, Outcome)> {
    let next = Mutex::new(cells.iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let cell = next.lock().expect("nobody panics with it").next();
                    let Some(&cell) = cell else { break };
                    let outcome = outcome(cell);
                    done.lock().expect("nobody panics with it").push((cell, outcome));
                }
            });
        }
    });
    done.into_inner().expect("nobody panicked with it")
}

/// The table, a line a row and transport: ok, RED, – where it cannot occur, blank where it was not played.
fn print(outcomes: &[(Cell, Outcome)]) {
    let width = Row::ALL.iter().map(|row| row.name().len() + 10).max().unwrap_or_default();
    let head = Fault::ALL.iter().map(|fault| format!("{:>9}", fault.name()));
    println!("{:width$}{}", "", head.collect::<String>());
    for row in Row::ALL.iter().copied() {
        for transport in row.transports().iter().copied() {
            let marks = Fault::ALL.iter().map(|fault| {
                let cell = Cell { row, transport, fault: *fault };
                let found = outcomes.iter().find(|(other, _)| *other == cell);
                let mark = match found.map(|(_, outcome)| outcome) {
                    Some(Outcome::Fine) => "ok",
                    Some(Outcome::Red(_)) => "RED",
                    Some(Outcome::Impossible(_)) => "–",
                    None => "",
                };
                format!("{mark:>9}")
            });
            let name = format!("{} · {}", row.name(), transport.name());
            println!("{name:width$}{}", marks.collect::<String>());
        }
    }
}

fn in_words(wrong: &[Wrong]) -> String {
    let said: Vec<&str> = wrong.iter().map(|(_, said)| said.as_str()).collect();
    said.join("; ")
}

/// Plays cells: none of them is red. How long it took.
fn hold(cells: &[Cell]) -> Duration {
    let begin = Instant::now();
    let outcomes = play(cells);
    let took = begin.elapsed();
    print(&outcomes);
    let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, outcome)| is(outcome)).count();
    println!(
        "{} cells: {} ok, {} red, {} cannot occur, in {:.1} s",
        outcomes.len(),
        count(|outcome| matches!(outcome, Outcome::Fine)),
        count(|outcome| matches!(outcome, Outcome::Red(_))),
        count(|outcome| matches!(outcome, Outcome::Impossible(_))),
        took.as_secs_f64()
    );
    let (mut told, mut red) = (Vec::new(), Vec::new());
    for (cell, outcome) in &outcomes {
        match outcome {
            Outcome::Fine => {}
            Outcome::Impossible(why) => told.push(format!("cannot occur: {cell}: {why}")),
            Outcome::Red(wrong) => red.push(format!("{cell}: {}", in_words(wrong))),
        }
    }
    told.sort();
    println!("{}", told.join("\n"));
    red.sort();
    assert!(red.is_empty(), "{} cells:\n{}", red.len(), red.join("\n"));
    took
}

#[test]
fn every_cell() {
    let part = std::env::var(PART).unwrap_or_default();
    let mut cells = Cell::all();
    cells.retain(|cell| cell.to_string().contains(&part));
    let took = hold(&cells);
    // A machine that others use may take longer, which is no fault of the program.
    if took > WHOLE {
        println!("it is to take {WHOLE:?} at most where nobody else works, and took {took:?}");
    }
}
