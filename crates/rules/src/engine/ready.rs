//! The ready queue: by priority, then file order, with a limit per agent.
//!
//! Picking the next task costs O(log n) however many tasks wait for an agent that is at its limit: each agent has
//! a queue of its own, and only the heads of agents with capacity compete.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;

use crate::domain::{AgentId, TaskId};

/// The order of the queue: higher priority first, then file order.
type Key = (Reverse<Decimal>, TaskId);

#[derive(Debug, Clone, Default)]
struct Lane {
    waiting: BTreeSet<Key>,
    limit: Option<u32>,
    busy: BTreeSet<TaskId>,
}

impl Lane {
    fn head(&self) -> Option<Key> {
        self.waiting.first().filter(|_| self.has_room(0)).copied()
    }

    fn has_room(&self, taken: u32) -> bool {
        let busy = self.busy.len() + taken as usize;
        self.limit.is_none_or(|limit| busy < limit as usize)
    }
}

/// Tasks that could start, were there a slot.
#[derive(Debug, Clone, Default)]
pub struct ReadyQueue {
    lanes: BTreeMap<AgentId, Lane>,
    heads: BTreeSet<(Key, AgentId)>,
}

impl ReadyQueue {
    /// Limits the turns of an agent.
    pub fn set_limit(&mut self, agent: AgentId, limit: u32) {
        self.update(agent, |lane| lane.limit = Some(limit));
    }

    /// Adds a task that is ready.
    pub fn insert(&mut self, task: TaskId, agent: AgentId, priority: Decimal) {
        self.update(agent, |lane| lane.waiting.insert((Reverse(priority), task)));
    }

    /// Takes a task out, if it is there.
    pub fn remove(&mut self, task: TaskId, agent: AgentId, priority: Decimal) {
        self.update(agent, |lane| lane.waiting.remove(&(Reverse(priority), task)));
    }

    /// Whether an agent could take on one more task, beside those that it has and `taken` others.
    pub fn has_room_for(&self, agent: AgentId, taken: u32) -> bool {
        self.lanes.get(&agent).is_none_or(|lane| lane.has_room(taken))
    }

    /// An agent took on one more task.
    pub fn occupy(&mut self, agent: AgentId, task: TaskId) {
        self.update(agent, |lane| lane.busy.insert(task));
    }

    /// An agent is rid of a task.
    pub fn release(&mut self, agent: AgentId, task: TaskId) {
        self.update(agent, |lane| lane.busy.remove(&task));
    }

    /// The tasks that agents are busy with.
    pub fn working(&self) -> impl Iterator<Item = TaskId> {
        self.lanes.values().flat_map(|lane| &lane.busy).copied()
    }

    /// The tasks that would start next, in order, were each of them to occupy its agent.
    pub fn next_up(&self) -> NextUp<'_> {
        NextUp { queue: self, heads: self.heads.clone(), taken: BTreeMap::new() }
    }

    fn update<T>(&mut self, agent: AgentId, change: impl FnOnce(&mut Lane) -> T) -> T {
        let lane = self.lanes.entry(agent).or_default();
        let before = lane.head();
        let result = change(lane);
        let after = lane.head();
        if before != after {
            if let Some(key) = before {
                self.heads.remove(&(key, agent));
            }
            if let Some(key) = after {
                self.heads.insert((key, agent));
            }
        }
        result
    }
}

/// Iterates over what would start next without changing the queue. Costs O(agents + log n) and O(log n) a step.
pub struct NextUp<'a> {
    queue: &'a ReadyQueue,
    heads: BTreeSet<(Key, AgentId)>,
    taken: BTreeMap<AgentId, u32>,
}

impl Iterator for NextUp<'_> {
    type Item = TaskId;

    fn next(&mut self) -> Option<TaskId> {
        let (key, agent) = self.heads.pop_first()?;
        let taken = self.taken.entry(agent).or_default();
        *taken += 1;
        let lane = &self.queue.lanes[&agent];
        if lane.has_room(*taken) {
            let after = (std::ops::Bound::Excluded(key), std::ops::Bound::Unbounded);
            if let Some(following) = lane.waiting.range(after).next() {
                self.heads.insert((*following, agent));
            }
        }
        Some(key.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(tasks: &[(u32, u32, i64)]) -> ReadyQueue {
        let mut queue = ReadyQueue::default();
        for (task, agent, priority) in tasks {
            queue.insert(TaskId(*task), AgentId(*agent), Decimal::from(*priority));
        }
        queue
    }

    fn order(queue: &ReadyQueue) -> Vec<u32> {
        queue.next_up().map(|task| task.0).collect()
    }

    #[test]
    fn higher_priority_first_then_file_order() {
        assert_eq!(order(&queue(&[(3, 0, 1), (1, 0, 1), (2, 1, 2), (0, 1, 1)])), [2, 0, 1, 3]);
    }

    #[test]
    fn an_agent_at_its_limit_holds_only_its_own_tasks() {
        let mut queue = queue(&[(0, 0, 9), (1, 0, 8), (2, 1, 1), (3, 0, 7)]);
        queue.set_limit(AgentId(0), 1);
        assert_eq!(order(&queue), [0, 2]);
        queue.occupy(AgentId(0), TaskId(9));
        assert_eq!(order(&queue), [2]);
        queue.release(AgentId(0), TaskId(9));
        queue.remove(TaskId(0), AgentId(0), Decimal::from(9));
        assert_eq!(order(&queue), [1, 2]);
    }

    #[test]
    fn an_agent_takes_on_as_many_as_it_may() {
        let mut queue = queue(&[(0, 0, 9), (1, 0, 8), (2, 0, 7), (3, 0, 6)]);
        assert_eq!(order(&queue), [0, 1, 2, 3]);
        queue.set_limit(AgentId(0), 3);
        for (busy, up, has_room) in [(0, 3, true), (1, 2, true), (2, 1, true), (3, 0, false)] {
            assert_eq!((order(&queue).len(), queue.has_room_for(AgentId(0), 0)), (up, has_room), "{busy}");
            queue.occupy(AgentId(0), TaskId(busy));
        }
        assert_eq!(queue.working().count(), 4);
        for task in 0..2 {
            queue.release(AgentId(0), TaskId(task));
        }
        assert_eq!(order(&queue).len(), 1, "four were busy and two are not any more");
        assert!(queue.has_room_for(AgentId(7), 0), "nobody limits it");
    }
}
