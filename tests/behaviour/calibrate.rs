//! `quorum calibrate`: recorded judges held against people.

use serde_json::Value;

use crate::support::{Finished, Workspace};

const LABELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/labels/three-judges.jsonl");

fn calibrate(arguments: &[&str]) -> Finished {
    let mut all = vec!["calibrate", LABELS];
    all.extend(arguments);
    Workspace::new().quorum(&all)
}

#[test]
fn judges_and_panels_are_held_against_people() {
    let panel = ["--panel", "careful,harsh,careless", "--bootstrap", "50", "--json"];
    let result = calibrate(&panel).exits(0).json();
    assert_eq!(result["schema"], "quorum.calibration/v1");
    let set = &result["sets"][0];
    let rho = |row: &Value| row["spearman"]["value"].as_f64().unwrap();
    let (careful, careless) = (&set["judges"][0], &set["judges"][2]);
    assert!(rho(careful) > rho(careless), "{set}");
    let read = (careful["parseRate"].as_f64(), careless["unread"].as_u64());
    assert_eq!(read, (Some(1.0), Some(3)));
    let interval = &careful["spearman"]["interval"];
    assert!(interval[0].as_f64() < interval[1].as_f64(), "{interval}");
    let panels = set["panels"].as_array().unwrap();
    let rules: Vec<_> = panels
        .iter()
        .map(|row| row["consensus"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["median", "exclude-outliers", "clipped-mean", "mean"]);
    for panel in panels {
        assert_eq!(panel["adaptive"]["changedVerdicts"], 0, "{panel}");
        assert_eq!(panel["perDimension"].as_array().unwrap().len(), 2);
    }
    assert_eq!(set["suggestion"]["seats"][0], "careful");
}

#[test]
fn the_same_seed_gives_the_same_page_and_another_bar_other_verdicts() {
    let page = |more: &[&str]| {
        let mut arguments = vec!["--bootstrap", "30"];
        arguments.extend(more);
        calibrate(&arguments).exits(0).stdout
    };
    assert_eq!(page(&["--seed", "3"]), page(&["--seed", "3"]));
    assert_ne!(page(&["--seed", "3"]), page(&["--seed", "4"]));
    assert!(page(&["--bar", "4"]).contains("bar 80"));
}

#[test]
fn a_bad_row_is_named_by_its_line() {
    let workspace = Workspace::new();
    let good = std::fs::read_to_string(LABELS).expect("the fixture can be read");
    let first = good.lines().next().expect("it has rows");
    let fewer = first.replace(r#"["correctness", "clarity"]"#, r#"["correctness"]"#);
    let nobody = first.replace(r#""human""#, r#""people""#);
    for (bad, why) in [
        ("{", "EOF"),
        (&fewer, "2 human means for 1 dimensions"),
        (&nobody, "human"),
    ] {
        workspace.write("labels.jsonl", format!("{first}\n{bad}\n"));
        let refused = workspace.quorum(&["calibrate", "labels.jsonl"]).exits(2);
        assert_eq!(refused.stdout, "");
        refused.says(&["labels.jsonl:2: ", why]);
    }
    workspace.write("labels.jsonl", "\n");
    let empty = workspace.quorum(&["calibrate", "labels.jsonl"]);
    empty.exits(2).says(&["holds no row"]);
    workspace.quorum(&["calibrate", "nothing.jsonl"]).exits(2);
}

#[test]
fn a_seat_that_nobody_or_several_may_be_is_refused() {
    let unknown = calibrate(&["--panel", "careful,nobody"]).exits(2);
    unknown.says(&[
        "no judge of 'fixture' is called 'nobody'",
        "careful, harsh, careless",
    ]);
    let either = calibrate(&["--panel", "care"]).exits(2);
    either.says(&["may be any of: careful, careless"]);
}
