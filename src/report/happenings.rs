//! What each event of `quorum events` means.

/// Public names of events with their meanings.
pub(super) const HAPPENINGS: &[(&str, &str)] = &[
    (
        "run:started|run:resumed|run:finished",
        "A session of the run began for the first time, began again, or ended; the last one tells the outcome.",
    ),
    (
        "run:stopping|run:paused|run:waiting",
        "The session starts nothing more: it is ended, paused by a person, or kept alive only for a person's answer.",
    ),
    ("run:limit", "A budget or a time is used up."),
    (
        "run:moved",
        "The state was carried to another folder since the last session: the run now works in the folder where its state lies.",
    ),
    (
        "run:salvaged",
        "A damaged journal was cut back to its last good record by a person; what stood behind it is lost.",
    ),
    (
        "run:unconfined",
        "Agents are not confined by the system's kernel.",
    ),
    (
        "state:foreign",
        "Somebody else touched what the session rests on; it ends as internal (1).",
    ),
    (
        "mission:changed",
        "A person accepted a changed mission file; what it changes is done again.",
    ),
    (
        "tasks:added|tasks:withdrawn|task:created",
        "Tasks came or went while the run worked: delegated by an agent, requested from outside, made as a fixup, or changed with the mission.",
    ),
    (
        "task:transition",
        "A task moved from one status to another; `reason` says why.",
    ),
    (
        "task:execute|task:fix|task:retry",
        "An attempt is planned: the first one, one that corrects, one from the beginning.",
    ),
    (
        "task:retry:blocked",
        "Another attempt was due and is not made; the reason says why.",
    ),
    (
        "task:question|task:answered",
        "An agent asked something about its task; it got an answer.",
    ),
    ("task:timeout", "A turn took longer than it may and was ended."),
    ("task:nudge", "The worker was told what its finish gate misses."),
    ("task:superseded", "A fixup has made up for the task."),
    (
        "task:regressed",
        "Accepted work does not stand any more; the transition beside it says whether it is done again.",
    ),
    (
        "task:window|task:backoff|task:queued|task:released",
        "A task waits without a slot: for a limit that resets, for a pause between attempts, for a free slot; it goes on.",
    ),
    (
        "task:escalated|authority:cues",
        "An agent says that what it was told does not hold, or three waves in a row brought nothing; a text speaks with authority, and in a prompt the agent was told to weigh it.",
    ),
    (
        "task.eval.unparsed",
        "No score could be read from the reply of an evaluation, twice.",
    ),
    (
        "task.forceAccept",
        "Work below the bar was accepted because no attempt is left and the mission says so.",
    ),
    (
        "work:requested|work:started|work:progressed|work:ended|work:dropped",
        "Work is on record, begins, goes on (`detail`), came to an end (`result`), is not waited for any more. `kind`, `purpose` and `place` say which: a turn, an agent that is asked, a command, files that are looked at, a notification.",
    ),
    (
        "agent:spawned|agent:activity",
        "The agent of a turn has its process; it told something of its progress or called a tool.",
    ),
    (
        "agent:stale",
        "Nothing was heard of an agent for longer than its `staleThreshold`.",
    ),
    (
        "agent:fallback",
        "Another judge is asked, because the first one cannot be reached.",
    ),
    (
        "files:noted|files:changed",
        "What stands in the files that a turn is held against is on record; files that were judged have changed since.",
    ),
    (
        "protection:noted|stage:voided",
        "The scripts that judge are on record; a verdict does not count, because a protected file was changed while it was made.",
    ),
    ("acceptance:recorded", "What work was accepted for is on record."),
    ("stage:verdict", "A stage of judging came to a verdict."),
    (
        "assessment:complete",
        "An attempt has its verdict, with score and dimensions.",
    ),
    (
        "probes:made|handoff:recorded",
        "Acceptance criteria were cut into probes; what was handed over to the grader is on record.",
    ),
    (
        "verification:routed",
        "The verdict of a verification led to another task.",
    ),
    (
        "hold:opened|hold:closed",
        "A task, or what stands behind a checkpoint or a delay, begins to wait (`reason`); it does not any more (`answer`: yes, no, expired, withdrawn).",
    ),
    (
        "approval:requested|approval:resolved|approval:timeout",
        "A person or approver is asked, decided, or did not in time.",
    ),
    (
        "checkpoint:reached|delay:started",
        "What a notification is about: the run reached a checkpoint, or waits for some time between tasks. In the stream of events both are `hold:opened`.",
    ),
    (
        "quality:gate:passed|quality:gate:failed|quality:gate:overridden",
        "A quality gate was evaluated; a person let a failed one pass.",
    ),
    (
        "quality:threshold:failed|quality:sla",
        "The mission's own bar was missed; a deadline is kept, near or missed.",
    ),
    (
        "deadline:set|sla:warning|sla:violated|sla:met",
        "A deadline has begun, is near, was missed, was kept.",
    ),
    (
        "deadlock:detected|deadlock:resolving|deadlock:resolved|deadlock:unresolvable",
        "Tasks cannot go on because a dependency failed; somebody is asked; there is a way on; there is none.",
    ),
    (
        "delegation:requested|delegation:refused",
        "An agent delegates work; that is refused, with the reason.",
    ),
    (
        "delegation:drift|storedHash",
        "A sub-task begins, and its text or that of the task that delegated it is not what it was when it was delegated: the digest on record and the one made anew differ.",
    ),
    (
        "ledger:plan|task_ledger",
        "What is planned in a wave, before its first task begins (coordination middleware `task_ledger`).",
    ),
    (
        "ledger:progress|progress_ledger|stall",
        "What a wave brought, once all of its tasks have ended, and how many waves in a row brought nothing (`stall`). From three on the orchestrator is asked for no other way (coordination middleware `progress_ledger`).",
    ),
    (
        "budget:clock|budget:exhausted",
        "The clock of the budget; the budget is used up.",
    ),
    (
        "dlq:added|dlq:requested",
        "Something that failed for good is in the queue of dead letters, or on its way there.",
    ),
    ("operator:command", "A person's command was taken."),
    ("tool:asked", "A model asks for a tool that only a person allows."),
];

#[cfg(test)]
mod tests {
    use crate::report::words::find;

    /// The names that the reader of the journal gives: texts like `"run:moved"` in its sources.
    #[test]
    fn every_event_is_explained() {
        let sources = [
            include_str!("events/explode.rs"),
            include_str!("events/explode/judging.rs"),
            include_str!("events/approvals.rs"),
            include_str!("events/holds.rs"),
            include_str!("events/turns.rs"),
            include_str!("events/work.rs"),
            include_str!("events/work/tables.rs"),
            include_str!("events/asks.rs"),
            include_str!("events/notices.rs"),
            include_str!("events/budget.rs"),
            include_str!("events/sla.rs"),
            include_str!("events/ledgers.rs"),
        ];
        let texts = sources.iter().flat_map(|source| source.split('"'));
        let is_name = |text: &&str| {
            text.contains(':')
                && !text.starts_with(':')
                && text
                    .split(':')
                    .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase()))
        };
        let names: Vec<&str> = texts.filter(is_name).collect();
        assert!(names.len() > 60, "{names:?}");
        let missing: Vec<&&str> = names.iter().filter(|name| find(name).is_none()).collect();
        assert_eq!(missing, Vec::<&&str>::new());
    }
}
