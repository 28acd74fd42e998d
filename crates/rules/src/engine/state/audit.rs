//! What the state knows of accepted work: which of it an audit covers, and whether one is due (6).

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{OutcomeClass, Status, TaskId};
use crate::engine::audit::{Acceptance, AuditStanding, AuditedWork, Found, Looks, found};
use crate::engine::event_payload::{Commit, FileFact};
use crate::engine::merging::Delivery;
use crate::engine::timers::Timer;
use crate::mission::model::FinalChecks;
use crate::plan::FilesIn;

use super::State;

impl State {
    /// The tasks whose acceptance is on record and stands. Superseded, failed and left out ones have none.
    pub fn accepted(&self) -> impl Iterator<Item = (TaskId, &Acceptance)> {
        let done = self.plan.selected_ids().filter(|id| {
            let task = self.task(*id);
            task.status() == Status::Done && !task.not_taken
        });
        done.filter_map(|id| Some((id, self.task(id).acceptance()?)))
    }

    /// The acceptances that the audit under way, or else the last one, speaks of.
    pub fn covered(&self) -> impl Iterator<Item = (TaskId, &Acceptance)> {
        self.accepted().filter(|(_, acceptance)| acceptance.order <= self.audit.covers)
    }

    /// The audit under way is over: whether work was accepted while it was made, and is due to be looked at.
    pub(crate) fn close_audit(&mut self) {
        self.audit.out = false;
        let changed = self.turn_ends != self.audit.turn_ends;
        self.audit.due = changed || self.acceptances > self.audit.covers;
    }

    /// Whether accepted work is still to be looked at. Where the whole run was called off and that counts, nothing that is found
    /// could make the outcome a pass or keep it from being one.
    pub(crate) fn audit_is_open(&self) -> bool {
        let counts = self.sums.counts.failed > 0 && !self.options.allow.contains(&OutcomeClass::TaskFailed);
        (self.audit.due || self.audit.out)
            && self.plan.rules.settings.final_checks != FinalChecks::Never
            && self.accepted().next().is_some()
            && !(self.called_off && counts)
    }

    /// Where the audit of the run stands.
    pub fn audit_standing(&self) -> AuditStanding {
        if self.plan.rules.settings.final_checks == FinalChecks::Never || self.accepted().next().is_none() {
            AuditStanding::None
        } else if self.audit.due || self.audit.out || self.audit.number == 0 {
            AuditStanding::Open
        } else {
            AuditStanding::Held
        }
    }

    /// How often files had changed when they last did where those of a task lie.
    pub(crate) fn last_turn_in(&self, id: TaskId) -> u64 {
        self.turn_ends.get(&self.plan.files_in(id)).copied().unwrap_or(0)
    }

    /// Where turns are at work. What is not merged yet changes nothing of what is.
    pub fn worked_in(&self) -> BTreeSet<FilesIn> {
        if self.sums.turns_running == 0 {
            return BTreeSet::new();
        }
        let at_work = self.tasks.iter().enumerate();
        let at_work = at_work.filter(|(_, task)| task.work.turn.is_some());
        let places = at_work.map(|(at, _)| self.plan.files_in(TaskId::from_index(at)));
        places.filter(|files_in| *files_in != FilesIn::Merged).collect()
    }

    /// Whether a turn works where the files of a task lie, by [`Self::worked_in`], or ended there since they were looked at
    /// last.
    pub fn was_worked_on_since(
        &self,
        id: TaskId,
        acceptance: &Acceptance,
        worked_in: &BTreeSet<FilesIn>,
    ) -> bool {
        self.last_turn_in(id) > acceptance.turns || worked_in.contains(&self.plan.files_in(id))
    }

    /// A turn of a task ended: checks that had passed where it worked may not pass any more.
    pub(crate) fn turn_ended_in(&mut self, id: TaskId) {
        match self.plan.files_in(id) {
            // What it did is its own until it is merged.
            FilesIn::Merged => self.turns_ended += 1,
            files_in => self.changed_in(files_in),
        }
    }

    /// The work of an isolated task is part of what was accepted. Its own checks are due there too: what git ignores was in
    /// its folder, and is not in what was merged.
    pub(crate) fn work_landed(&mut self, commit: &Commit) {
        if commit.files > 0 {
            self.landed = Some(commit.id.clone());
            self.delivery = None;
        }
        self.changed_in(FilesIn::Merged);
    }

    /// Notes that accepted work is to be delivered by the session that works now.
    pub(crate) fn delivery_requested(&mut self, merge: bool) {
        (self.delivered_to_merge, self.delivered_in) = (merge, self.sessions);
        self.deliver(None);
    }

    /// Notes that accepted work is being delivered, or was.
    pub(crate) fn deliver(&mut self, done: Option<&Delivery>) {
        self.delivering = done.is_none();
        self.delivery = done.cloned();
        self.timers.cancel(Timer::WaitOver);
    }

    fn changed_in(&mut self, files_in: FilesIn) {
        self.turns_ended += 1;
        self.turn_ends.insert(files_in, self.turns_ended);
        self.audit.due |= self.acceptances > 0;
    }

    /// The latest of all records of a file that an audit speaks of, by its place; work that is done again has the last
    /// word until it is accepted anew. What is accepted while an audit looks is the next one's: nobody can tell whether
    /// it looked before or after.
    pub(crate) fn latest_records(&self) -> BTreeMap<String, (u64, &FileFact)> {
        let mut latest: BTreeMap<String, (u64, &FileFact)> = BTreeMap::new();
        let replaced = self.audit.replaced.iter().map(|(id, acceptance)| (*id, acceptance));
        for (id, acceptance) in self.covered().chain(replaced) {
            for file in &acceptance.files {
                let entry = latest.entry(self.plan.place(id, &file.path));
                let known = entry.or_insert((acceptance.order, file));
                if known.0 <= acceptance.order {
                    *known = (acceptance.order, file);
                }
            }
        }
        latest
    }

    /// The checks that the audit under way runs again, given what it saw of the files.
    pub fn checks_due(&self, looks: &Looks) -> Vec<(TaskId, u32)> {
        let latest = self.latest_records();
        let mut due = Vec::new();
        for (id, seen) in looks {
            if let Some(acceptance) = self.task(*id).acceptance() {
                let audited = self.audited((*id, acceptance), &latest);
                due.extend(audited.checks_due(seen).map(|check| (*id, check)));
            }
        }
        due
    }

    /// The work that the audit under way looks at.
    pub fn audited_work(&self) -> Vec<AuditedWork> {
        let latest = self.latest_records();
        self.covered().map(|accepted| self.audited(accepted, &latest)).collect()
    }

    fn audited(
        &self,
        (id, acceptance): (TaskId, &Acceptance),
        latest: &BTreeMap<String, (u64, &FileFact)>,
    ) -> AuditedWork {
        let newest = |file: &FileFact| (file.clone(), self.newest_record(latest, id, file).clone());
        let always = self.plan.rules.settings.final_checks == FinalChecks::Always;
        let is_asked = always || !self.plan.task(id).side_effects;
        let last = self.audit.turn_ends.get(&self.plan.files_in(id)).copied().unwrap_or(0);
        let checks = acceptance.checks.iter().filter(|_| is_asked);
        AuditedWork {
            task: id,
            attempt: self.task(id).attempt.number,
            files: acceptance.files.iter().map(newest).collect(),
            checks: checks.map(|(n, passed)| (*n, always || last > *passed)).collect(),
        }
    }

    /// The latest record of a file of a task.
    pub(crate) fn newest_record<'s>(
        &self,
        latest: &BTreeMap<String, (u64, &'s FileFact)>,
        id: TaskId,
        file: &'s FileFact,
    ) -> &'s FileFact {
        latest.get(&self.plan.place(id, &file.path)).map_or(file, |(_, newest)| newest)
    }

    /// The state of each file of a task's record.
    pub(crate) fn found<'s>(
        &'s self,
        id: TaskId,
        latest: &'s BTreeMap<String, (u64, &FileFact)>,
        seen: &'s [FileFact],
    ) -> impl Iterator<Item = (&'s FileFact, Found)> + 's {
        let recorded = self.task(id).acceptance();
        let recorded = recorded.map_or(&[][..], |acceptance| &acceptance.files);
        recorded.iter().map(move |file| {
            let newest = self.newest_record(latest, id, file);
            match seen.iter().find(|seen| seen.path == file.path) {
                Some(seen) => (file, found(file, newest, seen)),
                // What nobody looked at is not known to stand.
                None => (file, Found::Gone),
            }
        })
    }
}
