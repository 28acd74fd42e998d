//! How much of what a history had.

use std::fmt;

/// The counts of what came to pass.
#[derive(Debug, Default)]
pub struct Tally {
    pub sessions: u64,
    pub records: u64,
    pub inputs: u64,
    pub late: u64,
    pub commands: u64,
    pub jumps: u64,
    pub kills: u64,
    pub power_losses: u64,
    pub torn: u64,
    pub adopted: u64,
    pub missions: u64,
    pub other_options: u64,
    pub deadlines_met: u64,
    pub deadlines_missed: u64,
    pub audits: u64,
    pub regressed: u64,
    pub windows: u64,
    pub settled: u64,
    pub merges: u64,
    pub conflicts: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.fields_mut().into_iter().zip(other.fields()) {
            *sum += more.1;
        }
    }

    fn fields(&self) -> [(&'static str, u64); 20] {
        [
            ("sessions", self.sessions),
            ("records", self.records),
            ("inputs", self.inputs),
            ("late or doubled inputs", self.late),
            ("operator commands", self.commands),
            ("clock jumps", self.jumps),
            ("kills", self.kills),
            ("power losses", self.power_losses),
            ("torn tails", self.torn),
            ("turns adopted", self.adopted),
            ("changed missions", self.missions),
            ("changed options", self.other_options),
            ("deadlines met", self.deadlines_met),
            ("deadlines missed", self.deadlines_missed),
            ("audits", self.audits),
            ("tasks regressed", self.regressed),
            ("limits waited for", self.windows),
            ("dropped calls settled", self.settled),
            ("works merged", self.merges),
            ("conflicts", self.conflicts),
        ]
    }

    fn fields_mut(&mut self) -> [&mut u64; 20] {
        [
            &mut self.sessions,
            &mut self.records,
            &mut self.inputs,
            &mut self.late,
            &mut self.commands,
            &mut self.jumps,
            &mut self.kills,
            &mut self.power_losses,
            &mut self.torn,
            &mut self.adopted,
            &mut self.missions,
            &mut self.other_options,
            &mut self.deadlines_met,
            &mut self.deadlines_missed,
            &mut self.audits,
            &mut self.regressed,
            &mut self.windows,
            &mut self.settled,
            &mut self.merges,
            &mut self.conflicts,
        ]
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.fields().map(|(name, count)| format!("{name} {count}")).into();
        f.write_str(&parts.join(", "))
    }
}
