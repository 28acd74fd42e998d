//! Words about tasks: statuses, phases, attempts, how work was accepted and how it failed, what waits.

/// See [`super::all`].
pub(super) const WORDS: &[(&str, &str)] = &[
    // Statuses and phases.
    (
        "pending",
        "Of a task: not begun; it waits for dependencies, gates, holds or a free slot. The note in `quorum status` says for what. Of an undelivered notification: nobody has looked at it.",
    ),
    (
        "assigned|starting",
        "The task has a slot, and its agent is about to start.",
    ),
    (
        "in_progress|in progress|working|under way",
        "The agent of the task works. `quorum logs TASK -f` follows its output.",
    ),
    (
        "execution",
        "The phase of a first attempt or of one from the beginning, beside `fix`.",
    ),
    (
        "review",
        "The work is judged: checks, reviewers, verification, further stages. As a verb of the progress: what judges came to, or what went wrong with one of them. As a command: judges work without doing it.",
    ),
    (
        "done",
        "Accepted. The flag says how: clean, relaxed, unreviewed, unverified, degraded, below-threshold. As a verb of the progress, with the score against its bar, what passed, and how long the task took.",
    ),
    (
        "failed|fail",
        "Of a task: not accepted in any attempt, or ended by a rule; the failure mode says how, and `quorum show TASK` why. Of a verdict: the work is not as it must be, and goes back as long as attempts are left. Of a gate: its condition does not hold. Of a check of `doctor`: the mission cannot run on this machine.",
    ),
    (
        "awaiting_approval|awaiting approval",
        "A person must decide before the task goes on. `quorum inbox` lists the id; `quorum approve ID` or `quorum reject ID --reason TEXT` answers.",
    ),
    (
        "waiting|wait|waits",
        "Of a task: a person must decide, or a moment must come. Of a gate: tasks before it have not ended. As a verb of the progress: the id is what `quorum approve`, `quorum reject` and `quorum answer` take.",
    ),
    (
        "queued|waits for a slot",
        "The task may start and waits for a free slot: `settings.concurrency` or `--jobs` limits how many run at a time, and `maxConcurrent` of an agent how many of its own.",
    ),
    (
        "clarification",
        "The agent asked something and works on with the answer. As a setting: what happens with criteria that cannot be judged.",
    ),
    (
        "superseded",
        "The task failed, and a fixup task has made up for it. It does not count as failed.",
    ),
    (
        "skipped|skip",
        "The task never ran, because a task that it depends on failed. Of a stage of judging: it did not apply. Of a check of `doctor`: not made.",
    ),
    (
        "not taken|notTaken",
        "Not part of this run: a verification led elsewhere, or `--only` left it out.",
    ),
    ("not selected", "Left out of this run by `--only`."),
    (
        "removed",
        "The mission that was accepted later does not have it any more.",
    ),
    ("added", "The mission that was accepted later has it in addition."),
    ("reworked", "Done, and not in the first attempt."),
    (
        "verifying",
        "The acceptance criteria of the task are being graded.",
    ),
    // Attempts.
    (
        "execute",
        "The first attempt at a task, or one from the beginning after `--redo`.",
    ),
    (
        "fix",
        "An attempt that corrects the work of the attempt before, with what was found (`maxFixAttempts`). Accepted work that regressed gets one beside all limits.",
    ),
    (
        "retry|retries",
        "An attempt from the beginning, after fixes were used up or the agent failed (`maxRetries`). As a verb of the progress also: a request that failed is made again, with how many remain and when.",
    ),
    (
        "attempt|attempts",
        "One try at a task: execute, fix or retry. `maxAttempts` limits all kinds together.",
    ),
    (
        "rework",
        "The work goes back to its agent with what was found, for an attempt that fixes it.",
    ),
    (
        "reopen",
        "Accepted or failed work is done again: from the beginning by `--redo`, `--reopen`, `--retry-failed` or a changed mission; in one attempt of kind fix where it does not stand any more (regressed).",
    ),
    (
        "start",
        "The agent of a task starts a turn. On a terminal the live rows show it instead.",
    ),
    (
        "lost",
        "A turn was interrupted with its session, or its agent has printed nothing for longer than its `staleThreshold`; after twice that it is ended and the attempt counts as a timeout.",
    ),
    (
        "resume",
        "A session continues a run. Of a task: its agent outlived the last session and was taken over.",
    ),
    (
        "run",
        "A session begins; what runs at the moment; what an agent tells of its progress; a warning. As a command: runs a mission.",
    ),
    (
        "stop",
        "Nothing new starts: the session was interrupted, paused or has reached a limit. What runs is ended or may finish, as the line says.",
    ),
    (
        "fixup",
        "A task that is made to repair another one that failed (`onExhausted: fixup`), or that has done so.",
    ),
    (
        "turn",
        "One process or request of a worker within an attempt: the attempt itself, a reminder of what is missing, an answered question.",
    ),
    // How work was accepted.
    (
        "clean",
        "Every check, review and stage that was asked for passed, or a person accepted the work.",
    ),
    (
        "relaxed",
        "Accepted under the lower bar of a foundation task, which three others or more depend on.",
    ),
    (
        "unreviewed",
        "Accepted without any judgement: nobody asked for one, nobody may judge, or reviews are switched off. Give the task `expectations` or a reviewer; with `--strict` it is exit 6.",
    ),
    (
        "unverified",
        "Accepted, though a part of the evidence is missing: its finish gate was not met, or it has changed since. Exit 5. `quorum resume --redo TASK` does it again.",
    ),
    (
        "degraded",
        "Accepted after the last attempt because at least half of its target files exist (`onExhausted: degrade`), or without a dependency that failed. Exit 5.",
    ),
    // Failure modes and classes.
    (
        "error",
        "Failure mode and class: the agent failed in a way that has no mode of its own, such as an exit code. `quorum logs TASK --stderr` shows what it wrote.",
    ),
    (
        "timeout",
        "Failure mode and class: the turn took longer than it may (`maxDuration`, `taskTimeout`) or was silent for too long, and was ended.",
    ),
    (
        "rate-limit|rate_limited",
        "Failure mode and class: the provider asked for a pause or refused for reasons of quota. Requests are repeated within bounds; try again later or with another model.",
    ),
    (
        "quality",
        "Failure mode: the work was judged, is not good enough, and no attempt is left. `quorum show TASK` has the findings.",
    ),
    (
        "hollow",
        "Failure mode: the agent did nothing that can be seen: no output, or target files are missing.",
    ),
    (
        "artifact|artifactautofail",
        "Cause of a verdict: declared target files are missing or empty. The work went back before any review.",
    ),
    (
        "cascade",
        "Failure mode: a task that it depends on failed, so it never ran. Repair that one and `quorum resume --retry-failed`.",
    ),
    (
        "rejected",
        "A person or an approver refused the work. Of a checkpoint: what it blocks fails.",
    ),
    (
        "protected",
        "Failure mode and cause: a file that no agent may change was changed, such as tests, scripts that judge, settings or the mission. Restore it; a task that is meant to write such a file lists it in `targetFiles`.",
    ),
    (
        "deadlock",
        "Tasks cannot go on because something they depend on failed.",
    ),
    (
        "window|windows|usage_window",
        "A usage limit of a subscription that resets at a moment: the task waits for it without a slot, at most `maxWindowWait`.",
    ),
    (
        "provider_transient",
        "Class of failure: the provider or the connection failed in a way that may pass. The request is repeated within bounds.",
    ),
    (
        "context_too_long",
        "Class of failure: the prompt is longer than the model takes. Use a model with a larger context, or smaller tasks.",
    ),
    (
        "provider_spend_limit",
        "Class of failure: the account has no money or quota left. Nothing resets by itself.",
    ),
    (
        "provider_auth",
        "Class of failure: the key is missing, wrong or not allowed. `quorum doctor` checks the keys.",
    ),
    (
        "policy_blocked",
        "Class of failure: a rule forbids it: the provider's, or one of quorum's (a judge that is not independent).",
    ),
    (
        "invalid_tool_args",
        "Class of failure: a model called a tool in a way that cannot be carried out.",
    ),
    (
        "missing_target_path",
        "Class of failure: a path that the work needs is not there.",
    ),
    (
        "permission_required",
        "Class of failure: the agent may not do what it was asked to do. Allow it in the agent's configuration, or ask for something else.",
    ),
    (
        "unknown",
        "Class of failure: it has no known cause. It is tried again within the attempts. Of a score or cost: not known.",
    ),
    // What waits, for whom.
    (
        "approval|approve",
        "Somebody must agree before the task starts (`requiresApproval`, an approval gate, autonomy): `quorum approve ID` or `quorum reject ID --reason TEXT`. As a purpose: an agent is asked to agree.",
    ),
    (
        "side-effects|side effects",
        "Running the task twice does harm (`sideEffects`), so only a person may let its agent act again: `quorum approve ID`.",
    ),
    (
        "question",
        "The agent asked something: `quorum answer ID TEXT` answers it.",
    ),
    (
        "auth",
        "The agent asked for a permission that only a person gives: `quorum approve ID` or `quorum reject ID --reason TEXT`.",
    ),
    (
        "operator",
        "A person who watches the run. As a reason to wait: the agent reports that what it was told does not hold, and a person must look at it; `quorum approve ID` lets it go on.",
    ),
    (
        "checkpoint",
        "A place of the mission where the run waits for a person: `quorum approve ID` continues.",
    ),
    (
        "delay",
        "A place of the mission where the run waits for some time. Nobody has to act.",
    ),
    ("reached", "Of a checkpoint: the run waits there for a person."),
    (
        "answer",
        "A question, approval or checkpoint was answered, and by whom; or an agent that was asked something gave no usable answer. As a command: `quorum answer ID TEXT`.",
    ),
    (
        "expires",
        "When the time for an answer is over. What follows is set with the approval.",
    ),
    // What an agent's assumption may break.
    (
        "precondition_changed",
        "An agent reports that what its task began from has changed. A person decides: `quorum approve ID` lets it go on.",
    ),
    (
        "criteria_conflict",
        "An agent reports that the criteria of its task contradict each other. Correct the mission, or let it go on with `quorum approve ID`.",
    ),
    (
        "dependency_failed",
        "An agent reports that what its task depends on is not right. `quorum resume --redo TASK` does that again.",
    ),
    (
        "merge",
        "Of work in a worktree of its own: it is merged with what was accepted meanwhile before it is accepted. As a cause: others changed the same lines, or a check fails on both together, or git cannot take the work. Where both changed the same, both are in the worktree, with marks, and the agent is told to keep what both were for.",
    ),
    // Going on without a dependency.
    (
        "fallback",
        "Something else takes the place of what is not there: another judge is asked because the first one cannot be reached, or a task goes on without a dependency that failed.",
    ),
    (
        "artifacts",
        "How a task goes on without a dependency that failed: enough of the files that it declared are there.",
    ),
    (
        "partial",
        "How a task goes on without a dependency that failed: enough of its other dependencies are done. Of a criterion: met in part.",
    ),
    (
        "absorb",
        "How a task goes on without a dependency that failed: without anything of it, doing what is needed itself.",
    ),
    // Asking agents.
    (
        "confirm",
        "What an agent is asked for beside working: whether a text is a question.",
    ),
    (
        "resolve",
        "What the orchestrator is asked for beside working: what becomes of a failed dependency.",
    ),
    (
        "grade",
        "What a grader is asked for: points for each acceptance criterion.",
    ),
    (
        "decompose",
        "What an agent is asked for beside working: to cut criteria into yes-or-no questions (probes).",
    ),
];
