//! How agents and judges did over all runs of a state folder (semantics, section 14, across runs). One run after the other is
//! folded, counted and forgotten.

use std::collections::{BTreeMap, HashMap};

use rules::{
    domain::{AskId, Money, QualityFlag, Status, TaskId, Timestamp, Verdict},
    engine::{AskEvent, AskReply, Event, StageReport, State, TaskEvent, Usage, add_known},
    mission::model::TaskType,
};

use super::view::{RunView, SeatStanding};
use rules::domain::Stage;

/// The key that work is counted by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RecordKey {
    /// The agent that a task is assigned to.
    Agent,
    /// The type of a task.
    Type,
}

/// The counts over all runs.
#[derive(Debug, Default)]
pub struct TrackRecord {
    /// The work of each agent, or of each type of task.
    pub work: BTreeMap<String, WorkSums>,
    /// The replies of each judge.
    pub judges: BTreeMap<String, JudgeSums>,
}

/// Sums over tasks that have ended.
#[derive(Debug, Default, Clone)]
pub struct WorkSums {
    pub tasks: u64,
    pub accepted: u64,
    /// Tasks whose first attempt was judged, and said to pass or to fail.
    pub judged: u64,
    /// The number of these that passed.
    pub first_passes: u64,
    pub attempts: u64,
    pub regressions: u64,
    /// The usage of accepted and failed tasks together.
    pub usage: Usage,
    /// The time from the beginning of accepted tasks to their end, in milliseconds.
    pub millis: u64,
}

/// Sums over replies to judging calls.
#[derive(Debug, Default, Clone)]
pub struct JudgeSums {
    pub replies: u64,
    pub unread: u64,
    pub failed: u64,
    /// Seats whose score stood beside a verdict of their panel.
    pub compared: u64,
    /// The number of these on the same side of the bar as the verdict.
    pub agreed: u64,
    pub usage: Usage,
    /// The time from asking to the replies, in milliseconds.
    pub millis: u64,
}

/// Counts the judges of one run, record by record.
#[derive(Default)]
pub struct JudgeCounter {
    asked: HashMap<AskId, Timestamp>,
}

impl JudgeCounter {
    /// Takes in a record that the view has taken in.
    pub fn take(
        &mut self,
        of: &mut TrackRecord,
        state: &State,
        view: &RunView,
        at: Timestamp,
        events: &[Event],
    ) {
        let name = |agent| state.plan.agent_name(agent).to_owned();
        for event in events {
            match event {
                Event::Ask(id, AskEvent::Requested { purpose, .. }) if purpose.is_judging() => {
                    self.asked.insert(*id, at);
                }
                Event::Ask(id, AskEvent::Replied(AskReply { purpose, agent, reply, answer, .. }))
                    if purpose.is_judging() =>
                {
                    let sums = of.judges.entry(name(*agent)).or_default();
                    sums.replies += 1;
                    sums.unread += u64::from(answer.unreadable().is_some());
                    sums.millis += self.asked.remove(id).map_or(0, |asked| at.since(asked).0);
                    add_usage(&mut sums.usage, reply.usage);
                }
                Event::Ask(id, AskEvent::Failed { purpose, agent, used, .. }) if purpose.is_judging() => {
                    let sums = of.judges.entry(name(*agent)).or_default();
                    sums.failed += 1;
                    self.asked.remove(id);
                    if let Some(used) = used {
                        add_usage(&mut sums.usage, used.usage);
                    }
                }
                Event::Task(_, TaskEvent::StageVerdict(report)) => of.compare_seats(state, view, report),
                _ => {}
            }
        }
    }
}

impl TrackRecord {
    /// Holds each seat against the verdict of its panel. One seat alone agrees with itself, and a person's word is no panel's.
    fn compare_seats(&mut self, state: &State, view: &RunView, report: &StageReport) {
        let is_of_panel = report.stage == Stage::Judge && report.by.is_none();
        let (true, Some(review)) = (is_of_panel, view.task(report.task).review.as_deref()) else {
            return;
        };
        let passed = match report.verdict {
            Verdict::Pass => true,
            Verdict::Fail => false,
            Verdict::Refer | Verdict::Skip | Verdict::Fault => return,
        };
        let scored = review.seats.iter().filter(|seat| seat.state == SeatStanding::Scored);
        let scored: Vec<_> = scored.filter_map(|seat| Some((seat.reviewer, seat.points?))).collect();
        if scored.len() < 2 {
            return;
        }
        let bar = state.plan.bar_of_judges(report.task);
        for (reviewer, points) in scored {
            let sums = self.judges.entry(state.plan.agent_name(reviewer).to_owned()).or_default();
            sums.compared += 1;
            sums.agreed += u64::from(bar.is_reached_by(points) == passed);
        }
    }

    /// Counts the tasks of a run that have ended.
    pub fn take_tasks(&mut self, key: RecordKey, state: &State, view: &RunView) {
        for id in state.plan.task_ids() {
            let status = state.task(id).status();
            let worked = !view.task(id).attempts.is_empty();
            if !worked || !matches!(status, Status::Done | Status::Failed) {
                continue;
            }
            let plan = state.plan.task(id);
            let name = match key {
                RecordKey::Agent => state.plan.agent_name(plan.agent).to_owned(),
                RecordKey::Type => TaskType::as_str(plan.kind).to_owned(),
            };
            self.work.entry(name).or_default().take(state, view, id);
        }
    }

    /// Adds what another run came to.
    pub fn add(&mut self, other: Self) {
        for (name, sums) in other.work {
            let all = self.work.entry(name).or_default();
            all.tasks += sums.tasks;
            all.accepted += sums.accepted;
            all.judged += sums.judged;
            all.first_passes += sums.first_passes;
            all.attempts += sums.attempts;
            all.regressions += sums.regressions;
            all.millis += sums.millis;
            add_usage(&mut all.usage, sums.usage);
        }
        for (name, sums) in other.judges {
            let all = self.judges.entry(name).or_default();
            all.replies += sums.replies;
            all.unread += sums.unread;
            all.failed += sums.failed;
            all.compared += sums.compared;
            all.agreed += sums.agreed;
            all.millis += sums.millis;
            add_usage(&mut all.usage, sums.usage);
        }
    }
}

impl WorkSums {
    fn take(&mut self, state: &State, view: &RunView, id: TaskId) {
        let (task, seen) = (state.task(id), view.task(id));
        self.tasks += 1;
        self.attempts += seen.attempts.len() as u64;
        self.regressions += u64::from(task.course.regressions);
        add_usage(
            &mut self.usage,
            Usage {
                input_tokens: seen.usage.input_tokens,
                output_tokens: seen.usage.output_tokens,
                cost: view.costs.get(&id).copied(),
            },
        );
        // Only these two say that all that was asked for has passed.
        let is_good = matches!(task.flag(), Some(QualityFlag::Clean | QualityFlag::Relaxed));
        let is_accepted = task.status() == Status::Done && is_good && !view.persons.contains_key(&id);
        if is_accepted {
            self.accepted += 1;
            let time = seen.started_at.zip(seen.finished_at);
            self.millis += time.map_or(0, |(from, to)| to.since(from).0);
        }
        let went_on = seen.attempts.len() > 1;
        let first = seen.attempts.first();
        // Done again, the task has no person's word any more, but the attempt still has it.
        let by_judges = first.is_some_and(|first| !first.is_by_person);
        let first = match first.and_then(|first| first.verdict) {
            Some(Verdict::Pass) => (by_judges && (went_on || is_accepted)).then_some(true),
            Some(Verdict::Fail) => Some(false),
            Some(Verdict::Refer | Verdict::Skip | Verdict::Fault) | None => None,
        };
        self.judged += u64::from(first.is_some());
        self.first_passes += u64::from(first == Some(true));
    }
}

/// Adds what is known of a usage.
fn add_usage(sum: &mut Usage, more: Usage) {
    add_known(&mut sum.input_tokens, more.input_tokens);
    add_known(&mut sum.output_tokens, more.output_tokens);
    if let Some(cost) = more.cost {
        sum.cost = Some(sum.cost.map_or(cost, |known: Money| known.plus(cost)));
    }
}
