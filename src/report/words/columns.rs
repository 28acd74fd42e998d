//! Heads of columns and labels of screens, where they are not words of another table.

/// See [`super::all`].
pub(super) const WORDS: &[(&str, &str)] = &[
    (
        "task",
        "A unit of work with a title of its own. `quorum show TASK` shows everything about one.",
    ),
    (
        "requests",
        "Calls of agents and models. As a command, `quorum request` submits new work.",
    ),
    (
        "unscored",
        "Of a gate: done tasks that have no score, because only checks held them or nobody reviewed them. They do not count in its average; a gate whose tasks are all unscored does not reach a `minScore`.",
    ),
    (
        "wave|waves",
        "Tasks of a plan that can work at the same time, because each of them waits only for tasks of earlier waves.",
    ),
    (
        "hooks|hook",
        "Places around a turn, a tool call or the run at which middleware can act (`middleware`).",
    ),
    (
        "checkpoint_resume",
        "Middleware: a turn that a crash left behind is taken over or begun anew; without it its attempt has failed.",
    ),
    (
        "delegation_chain_hash",
        "Middleware: the digest of each task's text is on record, and delegated work that differs from its digest is told.",
    ),
    (
        "authority_deference",
        "Middleware: words of authority in a prompt are counted, and the agent is told to weigh them.",
    ),
    (
        "sanitize_message",
        "Middleware: control characters are kept from prompts and from what tools give back.",
    ),
    (
        "security_interceptor",
        "Middleware: a model's tools refuse to write protected paths and to run destructive commands.",
    ),
    (
        "policy_gate",
        "Middleware: a model gets no tool that is denied to it.",
    ),
    (
        "approval_gate",
        "Middleware: a person is asked about each call of a tool with the policy `ask`.",
    ),
    (
        "assumption_violation",
        "Middleware: an agent that says that what it was told does not hold is not judged before a person was asked.",
    ),
    (
        "classification",
        "Middleware: failures are told apart by their class; without it each is `unknown`.",
    ),
    (
        "cost_recording",
        "Middleware: what a turn used is on record; without it nobody knows, and a cost ceiling ends the run.",
    ),
    (
        "semantic_drift",
        "Middleware: work that has few words in common with what was asked is warned about. Only where a chain names it.",
    ),
    (
        "clarification_gate",
        "Middleware: criteria that say nothing are told before any work starts.",
    ),
    (
        "plan_warnings",
        "Middleware: once the plan is made: bars that nobody can meet, tasks that write the same file, work that nobody will judge.",
    ),
    (
        "seat|seats",
        "One place of a panel. Where there are fewer reviewers than seats, one reviewer takes several, each with a fresh context.",
    ),
    (
        "single reviewer",
        "Only one reviewer of several gave a verdict that could be read, so its scores count alone.",
    ),
    (
        "already so",
        "What was asked for was the case before, so nothing was changed.",
    ),
    (
        "decided otherwise",
        "Somebody has already decided the opposite. The first decision stands.",
    ),
    (
        "agent",
        "Whoever works or judges: a program, a model, or a person. `agents` of the mission defines them.",
    ),
    (
        "status",
        "Where a task stands: pending, assigned, in_progress, review, awaiting_approval, done, failed.",
    ),
    ("tries", "How many attempts of a task have begun."),
    (
        "note",
        "Why a task is where it is: what it waits for, how it failed, how far its review is.",
    ),
    (
        "started",
        "When the task or run began, by the clock of this machine unless UTC is said.",
    ),
    (
        "time|duration|took",
        "How long: of a task from its start to its end, or to now while it runs; of a run the time that sessions worked on it.",
    ),
    (
        "state",
        "Where a run stands: running, crashed, suspended, ended, cancelled, unreadable.",
    ),
    ("tasks", "How many tasks are done, of how many."),
    (
        "tokens|cost",
        "What agents report of what they used, summed over the run. Calls that reported nothing are counted beside it.",
    ),
    ("by", "Who judged or decided."),
    ("about", "What a judgement is about: a task, a gate, the mission."),
    ("recorded", "What the journal says that was decided."),
    (
        "derived",
        "What follows from the stored replies by the rules of this version (`quorum review --replay`). It should equal what is recorded.",
    ),
    ("class", "The kind of an exit code or failure, by name."),
    ("next", "Commands that help now, the most useful one first."),
    (
        "mae",
        "Of `calibrate`: mean absolute error, the mean distance between a judge's score and the people's, in points. Lower is better.",
    ),
    (
        "auroc",
        "Of `calibrate`: how well scores tell good work from bad. 0.5 is chance, 1 is perfect.",
    ),
    (
        "spearman|kendall",
        "Of `calibrate`: how well a judge ranks work as people do. 1 is the same order, 0 is chance.",
    ),
    (
        "kappa",
        "Of `calibrate`: agreement with people beyond chance. 1 is perfect, 0 is chance.",
    ),
    (
        "accuracy",
        "Of `calibrate`: the share of work on which the judge decides as people do.",
    ),
    (
        "false pass",
        "Of `calibrate`: the share of bad work, by people's labels, that the judge lets pass. The figure to keep low.",
    ),
    (
        "read",
        "Of `calibrate`: the share of replies from which a score could be read.",
    ),
    ("n", "Of `calibrate`: how many labelled items were judged."),
];
