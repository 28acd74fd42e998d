//! Words about judging: verdicts, causes, stages, findings.

/// See [`super::all`].
pub(super) const WORDS: &[(&str, &str)] = &[
    // Verdicts.
    (
        "pass|passed",
        "What was judged is as it must be. Of a gate: its condition holds.",
    ),
    (
        "refer",
        "Nobody could decide safely, so a person must: `quorum approve ID` accepts the work, `quorum reject ID --reason TEXT` sends it back.",
    ),
    (
        "fault",
        "A judge or stage failed. That says nothing about the work; `quorum resume` asks again.",
    ),
    (
        "unchecked|not checked",
        "Of a criterion: nothing could be said about it. `clarification` sets what follows.",
    ),
    // Stages.
    (
        "stage|stages",
        "One step of judging. Stages run in order: outcome, preflight, finish, checks, judge, verification, the mission's own `stages`, red team, vision. As a verb of the progress: what one behind the verification came to.",
    ),
    (
        "outcome",
        "The result of a run, with its exit code. As a stage and cause: the agent itself failed: it crashed, timed out, or its provider refused it.",
    ),
    (
        "preflight|preflightreject",
        "The stage before any judge is asked: are there files, tool calls, an output? As a cause: there is no sign of work.",
    ),
    (
        "finish|finish gate",
        "The finish gate of a worker (`verify`): what must hold before its turn counts as finished. The worker is told what is missing, in the same attempt.",
    ),
    (
        "checks|check",
        "Commands and file tests that decide by their result (`expectations`). As a cause: one of them failed; its output is shown. As a verb of the progress also: the final check of accepted work.",
    ),
    (
        "judge|judges",
        "Agents that score the work. `2/3 judges`: so many of those asked gave a score.",
    ),
    (
        "panel",
        "Several reviewers of one task (`llm_review`) whose scores are merged.",
    ),
    (
        "verification|verify",
        "The acceptance criteria, graded one by one; also a task of that type, whose verdict chooses what follows.",
    ),
    (
        "criteria met|criteria",
        "Of a verification: how many of the acceptance criteria are fulfilled.",
    ),
    (
        "red-team|red_team|redTeam|red team",
        "An agent that attacks the work before it is accepted. As a cause: it found something that blocks.",
    ),
    (
        "vision",
        "A check of screenshots. As a cause: they show something that blocks.",
    ),
    // Causes.
    (
        "score",
        "What judges gave the work, in points of 100, against its bar. As a cause: it is below the bar.",
    ),
    (
        "bar|threshold",
        "What a score must reach, in points of 100. `barOrigin` in JSON says who set it.",
    ),
    (
        "unparsed",
        "No score could be read from a judge's reply, twice. `quorum show TASK` has the reply; the page of agents says what a judge must print.",
    ),
    (
        "gate-error|gateerror",
        "A judge could not be asked or failed. `quorum resume` asks again.",
    ),
    (
        "confidence",
        "The judges were less sure than `minConfidence` or `referBelow` asks for, so a person decides.",
    ),
    (
        "required-criterion",
        "A criterion that must be met is not, whatever the score.",
    ),
    (
        "no-reviewer",
        "A review was asked for, and nobody who may judge the work is there. Add an agent with `role: reviewer` that is independent of the author.",
    ),
    ("person", "A person decided."),
    (
        "exhausted",
        "No attempt is left. `onExhausted` says what follows.",
    ),
    (
        "unmet",
        "What must hold before the work counts as finished (`verify`) was not shown to hold.",
    ),
    (
        "breaker",
        "So much work of this model was rejected in a row that it is not judged any more in this wave (`judgeBreaker`). What it does is unverified.",
    ),
    (
        "unstable",
        "The files changed while they were judged, and once more when they were judged again. Let nothing else write to the workspace.",
    ),
    (
        "changed",
        "A file is not what it was when the work was judged or accepted, so it is judged again.",
    ),
    (
        "voided",
        "A verdict that does not count, because a protected file was changed while it was made. The stage is repeated.",
    ),
    // Findings.
    (
        "critical",
        "Severity of a finding: must not be accepted. Always shown.",
    ),
    (
        "high",
        "Severity of a finding: a serious fault. Always shown, also in accepted work.",
    ),
    (
        "medium",
        "Severity of a finding: a fault that should be corrected.",
    ),
    ("low", "Severity of a finding: a small fault."),
    ("info", "Severity of a finding: for the record, not a fault."),
    (
        "findings|findings in accepted work",
        "What reviewers and checks reported. In accepted work: what is still to be looked at although the work passed; `quorum show TASK` has all of them.",
    ),
    (
        "still open",
        "Of a finding: a review of an earlier attempt reported it, and no later one said that it was addressed.",
    ),
    (
        "outlier",
        "A seat's score more than 1.5 from the median of the panel. Its reasons and confidence do not count.",
    ),
];
