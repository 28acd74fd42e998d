//! Commands and looks at files that were asked for and have not come back, by the state of their task.

use crate::domain::{Purpose, Status};
use crate::engine::job::Job;

use super::task::{Judging, TaskState};

impl Judging {
    /// Work for the judging of an attempt that has not come back.
    pub(crate) fn jobs(&self, scans: u32) -> impl Iterator<Item = Job> {
        let scan = self.scanning.then_some(Job::Scan { number: scans, then: self.then });
        let others = (!self.scanning).then(|| {
            let checks = (0..).zip(&self.checks).filter(|(_, result)| result.is_none());
            let stage = self.stage.as_ref().filter(|stage| stage.open && stage.seat.is_none());
            checks.map(|(check, _)| Job::Check(check)).chain(stage.map(|stage| match stage.key.step() {
                None => Job::Grade(stage.round),
                Some(step) => Job::Stage(step, stage.round),
            }))
        });
        let finish = self.finish_open().map(Job::Finish);
        let open = self.merge.as_ref().filter(|merge| merge.open);
        let open = open.map(|merge| Job::Merge(merge.number));
        let peers = self.merge.iter().flat_map(|merge| &merge.peers);
        let peers = peers.filter(|(_, result)| result.is_none());
        let peers = peers.map(|((peer, check), _)| Job::PeerCheck(*peer, *check));
        scan.into_iter().chain(open).chain(peers).chain(finish).chain(others.into_iter().flatten())
    }
}

impl TaskState {
    /// How often a check of what is judged was asked for again because it had failed.
    pub fn reruns(&self, job: Job) -> u32 {
        let judging = self.judging();
        judging.and_then(|judging| judging.reruns.get(&job).copied()).unwrap_or(0)
    }

    /// Work that was asked for and has not come back.
    pub fn jobs(&self) -> impl Iterator<Item = Job> {
        let judging = self.judging().into_iter();
        let judging = judging.flat_map(|judging| judging.jobs(self.work.scans));
        let approver = self.hold().and_then(|waiting| {
            let (number, approver) = (waiting.number, waiting.asking?);
            let by_agent = Purpose::Approve { number, approver };
            let is_command = self.work.asks.iter().all(|open| open.purpose != by_agent);
            is_command.then_some(Job::Approver { number, approver })
        });
        let dependencies = self.remedies.iter().flat_map(|remedies| &remedies.scanning);
        let artifacts = dependencies.map(|dependency| Job::Artifacts(*dependency));
        let baseline = self.is_looked_at_before().then_some(Job::Baseline);
        let look = self.attempt.looks.open.filter(|_| self.status() == Status::Review);
        let look = look.map(Job::Look);
        judging.chain(approver).chain(artifacts).chain(baseline).chain(look)
    }
}
