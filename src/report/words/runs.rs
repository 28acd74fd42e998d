//! Words about whole runs: outcomes and their exit codes, states, gates, deadlines, limits.

/// See [`super::all`].
pub(super) const WORDS: &[(&str, &str)] = &[
    // What a run ends with.
    (
        "ok|0|exit 0",
        "Exit 0: every task that the run took is done, nothing is below its bar, and all gates and thresholds passed. There is nothing to do.",
    ),
    (
        "internal|1|exit 1",
        "Exit 1: quorum itself failed, its state was damaged or changed by somebody else, or a result or report could not be written. `quorum doctor state` checks the state; `quorum resume` continues from the last record.",
    ),
    (
        "usage|2|exit 2",
        "Exit 2: a flag, the configuration or the mission is wrong, or a confirmation was needed and nobody could be asked. No agent was started. The message says what to type; `quorum validate` checks a mission. The line `usage` of a final block is something else: requests (calls of agents and models), tokens and money that the run has used, as far as agents report them.",
    ),
    (
        "task_failed|3|exit 3",
        "Exit 3: at least one task failed. `quorum show TASK` says why; `quorum resume --retry-failed` tries failed tasks again.",
    ),
    (
        "gate_failed|4|exit 4",
        "Exit 4: a quality gate failed, so the tasks that it blocks did not run. `quorum resume --redo TASK` does the work before it again; `quorum gate NAME --override --reason TEXT` lets it pass, on record.",
    ),
    (
        "below_threshold|below-threshold|below the bar|accepted below the bar|5|exit 5",
        "Exit 5, and a flag of a task: the work did not reach its bar in any attempt and was accepted all the same: that is the default for work that is judged by an evaluation, and what `onExhausted: accept` says. It is never shown as a success, and gates fail on it unless they say `acceptBelowThreshold`. `quorum resume --redo TASK` tries again; `quorum approve ID` acknowledges it, which changes nothing of flag and exit code, and `quorum reject ID --reason TEXT` fails the task. `quorum requests` has the ids.",
    ),
    (
        "indeterminate|6|exit 6|without a trustworthy verdict",
        "Exit 6: a review that was asked for gave no trustworthy verdict, because a judge failed, nobody may judge, or no score could be read. `quorum resume` asks the judges again; `quorum approve ID` accepts the work on a person's decision.",
    ),
    (
        "limit|7|exit 7",
        "Exit 7: the budget, `maxTime` or `--timeout` is used up, or a usage limit resets too late. Finished work is kept; `quorum resume` continues, with a higher limit where one is set.",
    ),
    (
        "awaiting|8|exit 8",
        "Exit 8: only a person can move the run on. `quorum inbox` lists what waits; after `quorum approve`, `quorum reject` or `quorum answer`, `quorum resume` continues.",
    ),
    (
        "environment|9|exit 9",
        "Exit 9: something was missing or in the way before any work began: a program, a key, the lock, an unfinished run with the same tasks, or a state folder of somebody else. Nothing was started; `quorum doctor` checks the machine. Or all work was good and could not be merged into your branch: nothing of yours was touched, and `quorum resume` tries it again.",
    ),
    (
        "interrupted|130|143|exit 130|exit 143",
        "Exit 130 (SIGINT, Ctrl-C) or 143 (SIGTERM): the session was stopped and its state is saved. Of a run: it has unfinished work and no session. Of a task: its agent was working when the session ended and begins the attempt again. `quorum resume` continues.",
    ),
    (
        "none yet|no outcome",
        "The run has not ended a session yet, so it has no outcome.",
    ),
    (
        "allowed",
        "A condition that `--allow CLASS` took out of the exit code. It is listed in every report all the same.",
    ),
    (
        "also",
        "Other conditions that hold beside the one that decides the exit code. Most severe first: 1, signal, 2, 9, 7, 3, 4, 6, 5, 8.",
    ),
    (
        "resumable|resumable at",
        "The run has work left, and `quorum resume` continues it; with a moment: not before a usage limit resets then.",
    ),
    // Where a run stands.
    (
        "running",
        "Of a run: a session works on it. Of a delay: its time is not over. Of a deadline: its time has begun.",
    ),
    (
        "crashed",
        "Of a run: its last session ended without saying so (killed, power lost). `quorum resume` continues from the last record.",
    ),
    (
        "suspended",
        "Of a run: its last session ended in order and work is left. `quorum resume` continues.",
    ),
    (
        "ended",
        "Of a run: nothing is left to do. `quorum run` starts a new one.",
    ),
    (
        "unreadable",
        "Of a run: its journal cannot be read. `quorum doctor state RUN` says where it is damaged and what can be saved.",
    ),
    (
        "cancelled|cancel",
        "A person ended the work. Of a task: failure mode `cancelled`, and what depends on it is skipped. Of a run: everything that was unfinished was cancelled. As a verb of the progress: that happened, or a task is no longer needed.",
    ),
    (
        "origin not verified|verified|unverified origin|forged",
        "Whether this machine's operator key signed the run. Without the key (a state folder that was copied from elsewhere) nobody vouches for it: give both machines the same QUORUM_OPERATOR_KEY, or name the run by its id. `forged` means that a signature is there and wrong: do not trust the run.",
    ),
    (
        "unconfined",
        "Agents of this run were not kept by the operating system's kernel from the files that judge them. quorum still notices changes to those files; run on a system with confinement where agents are not trusted.",
    ),
    ("live", "Of a run: a process works on it now."),
    (
        "nothing was reviewed|reviews are switched off",
        "`--no-eval`, EVAL=off or the mission switched all reviews off, so work was accepted without any judgement and is flagged unreviewed.",
    ),
    (
        "only a part",
        "`--only` left tasks out: the result is not the whole mission's.",
    ),
    // Gates.
    (
        "gate|gates|failed gates",
        "A quality gate: a condition on finished tasks that must hold before others may start (`qualityGates`). As a verb of the progress: it was evaluated or overridden. `quorum gate NAME` evaluates one from the stored state.",
    ),
    (
        "overridden",
        "Of a gate: it failed, and a person let it pass with `quorum gate NAME --override`, on record with name and reason.",
    ),
    (
        "average|mission score|mean score",
        "The mean of the scores of done tasks, in points of 100; of a mission weighted by `priority`.",
    ),
    // Deadlines.
    (
        "deadline",
        "A moment by which a task or the mission must be finished. As a verb of the progress: it is near or was missed. As a failure mode: it was missed, and `violationAction: fail` ends the work. `settings.sla` sets what happens.",
    ),
    (
        "violated",
        "Of a deadline: it was missed. `settings.sla.violationAction` says what follows.",
    ),
    (
        "met",
        "Of a deadline: the work was finished in time. Of a criterion: it is fulfilled.",
    ),
    (
        "warning|warnings|warn",
        "Something that decides nothing but that a person should know. Of a deadline: it is near. Of a check of `doctor`: it may cause trouble later.",
    ),
    // The audit.
    (
        "audit",
        "The final check of accepted work, at the end of a run and on resume: its files are still there and unchanged, and its checks still pass where later tasks may have broken them. `finalChecks` sets what is checked.",
    ),
    (
        "none",
        "Of the audit: no accepted work was due to be checked again. Of a list: it is empty.",
    ),
    (
        "open",
        "Of the audit: it was asked for and has not ended. Of a finding: no later review said that it was addressed.",
    ),
    (
        "held",
        "Of the audit: it was made, and all accepted work still stands. In `plan`: a gate or hold keeps the task from starting.",
    ),
    (
        "regressed",
        "Accepted work does not stand any more: another task overwrote or removed its files, or its check fails now. It is done again in one attempt of kind fix, at most twice, and as long as the session has made fewer than three audits; else it fails, and `quorum resume --redo TASK` does it again.",
    ),
    // What is around the graph.
    (
        "plan_review_gate",
        "Under `autonomy: locked` or `supervised` a plan of two tasks or more waits here for a person: `quorum approve ID` starts it, `quorum reject ID --reason TEXT` fails its tasks. A chain `settings.middleware.coordination` without it asks nobody.",
    ),
    (
        "no_progress",
        "Three waves in a row brought nothing: the orchestrator is asked for no other way around what failed, and what waited for it is skipped.",
    ),
    (
        "coordination_replan",
        "Where work has failed that other work needs, the orchestrator is asked for another way, as `onDependencyFailed: [resolve]` says.",
    ),
    (
        "authority_deference_coordination",
        "Words that speak with authority are counted in the result of a delegated task before its delegator sees it (`authority:cues`, `in: result`).",
    ),
    // Work from outside, and what could not be delivered.
    (
        "submitted",
        "Of a request for work (`quorum request`): it was handed in and nobody has looked at it.",
    ),
    (
        "triaging",
        "Of a request for work: somebody decides whether it is wanted. `quorum request approve ID` makes it a task, `quorum request reject ID` refuses it.",
    ),
    ("scoping", "Of a request for work: it is being made into a task."),
    (
        "approved",
        "Somebody agreed. Of a request for work: it may become a task.",
    ),
    (
        "task_created",
        "Of a request for work: the task that does it is part of a run.",
    ),
    (
        "retrying",
        "Of an undelivered notification (`quorum dlq`): it is being sent again.",
    ),
    ("resolved", "Of an undelivered notification: a person closed it."),
    (
        "abandoned",
        "Of an undelivered notification: it was given up after its last retry.",
    ),
    (
        "delegated",
        "Of a task: an agent asked for it while it worked on another one. It is judged like every other.",
    ),
    (
        "requested|request",
        "Of a task: somebody asked for it with `quorum request`. In usage: one call of an agent or model.",
    ),
    // Where a setting comes from.
    ("default", "Where a setting or bar comes from: nobody set it."),
    (
        "user",
        "Where a setting comes from: the quorum.yaml of the user's configuration folder.",
    ),
    (
        "project",
        "Where a setting comes from: the quorum.yaml of the project.",
    ),
    (
        "mission",
        "The file with agents, tasks, gates and settings. Where a setting or bar comes from: that file.",
    ),
    (
        "flag",
        "How a done task was accepted. Where a setting or bar comes from: a flag of the command line.",
    ),
    (
        "foundation",
        "A task that three others or more depend on: its bar is 20 points lower and it has one more attempt. Where a bar comes from: that rule.",
    ),
];
