//! A record with the right checksum that cannot be one of this mission is damage with its place, for every reader.

use crate::support::journal;
use crate::support::{Mission, Says};

#[test]
fn a_record_that_names_what_the_mission_has_not_is_damage_with_its_place() {
    let workspace = Mission::new().worker("true").tasks(["one"]).workspace();
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0);
    let path = &journal::of("r1");
    let honest = workspace.read(path);
    for (what, to) in journal::STRANGE {
        let mut lines: Vec<String> = honest.lines().map(str::to_owned).collect();
        let at = lines.iter().position(|line| line.contains(what)).expect("there is one");
        let changed = lines[at].replace(what, to);
        lines[at] = journal::sealed(&changed);
        workspace.write(path, lines.join("\n") + "\n");
        let place = format!("line {}", at + 1);
        for arguments in [
            &["status", "r1"][..],
            &["resume", "r1"],
            &["show", "one", "--run", "r1"],
            &["metrics", "r1"],
            &["report", "r1", "--html", "-"],
            &["events", "r1"],
        ] {
            let ended = workspace.quorum(arguments).exits(1);
            ended.says(&[journal::JOURNAL, &place, "not a record of this mission"]);
        }
        let doctor = workspace.quorum(&["doctor", "state"]).exits(1);
        (doctor.stdout + &doctor.stderr).says(&["not a record of this mission"]);
    }
}
