//! Criteria cut into probes by an agent (semantics, section 10): what it may say, and what is missing of it.
//!
//! A criterion that nobody asks about would be met by silence, so it makes the whole reply worthless; so does a question
//! about a criterion that is not there.

use rust_decimal::prelude::ToPrimitive;

use super::parser::form::{read_object, wrong};
use super::parser::json::Json;
use super::parser::{Quoted, Unparsed};
use crate::domain::Probe;

/// Probes of one criterion.
pub const MOST_PROBES: usize = 5;
/// Characters of one probe.
const LONGEST: usize = 500;

/// Reads the probes of an agent.
///
/// # Errors
///
/// Why the reply holds none.
pub fn read(reply: &str, work: &Quoted) -> Result<Vec<Probe>, Unparsed> {
    read_object(reply, work, "probes", |object| match object.only(&["probes"])? {
        Some(Json::List(items)) => items.iter().map(probe).collect(),
        _ => Err(wrong("`probes` is not a list")),
    })
}

fn probe(item: &Json) -> Result<Probe, Unparsed> {
    let number = item.only(&["criterion"])?.and_then(Json::number);
    let criterion = number.filter(|number| number.is_integer()).and_then(|number| number.to_u32());
    let criterion = criterion.ok_or_else(|| wrong("a probe does not say the number of its criterion"))?;
    let said = item.text_at(&["probe"])?;
    let text = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.chars().count() {
        0 => Err(wrong(format!("a probe of criterion {criterion} is empty"))),
        n if n > LONGEST => Err(wrong(format!("a probe of criterion {criterion} has {n} characters"))),
        _ => Ok(Probe { criterion, probe: text }),
    }
}

/// Whether these are the probes of so many criteria: at least one and at most five of each, and of no other.
///
/// # Errors
/// What is wrong.
pub fn fit(criteria: usize, probes: &[Probe]) -> Result<(), String> {
    let is_known = |probe: &Probe| (1..=criteria).contains(&(probe.criterion as usize));
    if let Some(unknown) = probes.iter().find(|probe| !is_known(probe)) {
        return Err(format!("there is no criterion {}", unknown.criterion));
    }
    for criterion in 1..=criteria {
        let of_it = probes.iter().filter(|probe| probe.criterion as usize == criterion);
        match of_it.count() {
            0 => return Err(format!("criterion {criterion} has no probe")),
            n if n > MOST_PROBES => {
                return Err(format!("criterion {criterion} has {n} probes, more than {MOST_PROBES}"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_and_fit(criteria: usize, text: &str) -> Result<usize, String> {
        let probes = read(text, &Quoted::default()).map_err(|why| why.to_string())?;
        fit(criteria, &probes)?;
        Ok(probes.len())
    }

    #[test]
    fn every_criterion_has_one_to_five_probes() {
        let one = r#"{"probes": [{"criterion": 1, "probe": " Is it\n short? "}]}"#;
        assert_eq!(read(one, &Quoted::default()).unwrap()[0].probe, "Is it short?");
        assert_eq!(read_and_fit(1, one), Ok(1));
        assert_eq!(read_and_fit(1, &format!("here you are:\n{one}")), Ok(1));
        let more = r#"{"probes": [{"criterion": 1, "probe": "x", "why": "y"}], "also": 1}"#;
        assert_eq!(read_and_fit(1, more), Ok(1));
        let item = |n: u32| format!(r#"{{"criterion": {n}, "probe": "Is it so?"}}"#);
        let reply = |items: &[u32]| {
            let items: Vec<String> = items.iter().map(|n| item(*n)).collect();
            format!(r#"{{"probes": [{}]}}"#, items.join(", "))
        };
        assert_eq!(read_and_fit(2, &reply(&[1, 2, 1, 1, 1, 1])), Ok(6));
        for (criteria, bad) in [
            (2, reply(&[1])),
            (1, reply(&[])),
            (1, reply(&[1, 2])),
            (1, reply(&[0, 1])),
            (1, reply(&[1, 1, 1, 1, 1, 1])),
            (1, r#"{"probes": [{"criterion": 1, "probe": " "}]}"#.to_owned()),
            (1, r#"{"probes": [{"criterion": 1}]}"#.to_owned()),
            (1, r#"[{"criterion": 1, "probe": "x"}]"#.to_owned()),
            (1, String::new()),
        ] {
            read_and_fit(criteria, &bad).unwrap_err();
        }
    }

    #[test]
    fn a_probe_ends() {
        let of = |length: usize| {
            format!(r#"{{"probes": [{{"criterion": 1, "probe": "{}"}}]}}"#, "é".repeat(length))
        };
        assert_eq!(read_and_fit(1, &of(LONGEST)), Ok(1));
        for length in [LONGEST + 1, LONGEST + 2] {
            let why = read_and_fit(1, &of(length)).unwrap_err();
            assert!(why.contains(&format!("{length} characters")), "{why}");
        }
    }
}
