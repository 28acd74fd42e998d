//! Every word that a screen prints and that is more than a word: statuses, flags, outcomes, verdicts, failure modes, verbs
//! of the progress. `quorum explain WORD` prints what stands here; what happens (`run:moved`) stands in [`super::happenings`].

/// A word and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The word as screens print it.
    pub word: &'static str,
    /// What it means, and what to do about it where there is something to do.
    pub meaning: &'static str,
}

/// What a word means, however it is written: case, `-`, `_` and blanks do not matter.
#[must_use]
pub fn find(text: &str) -> Option<Word> {
    let folded = |text: &str| text.trim().to_lowercase().replace(['_', '-'], " ");
    let wanted = folded(text);
    all().find(|known| known.word.split('|').any(|word| folded(word) == wanted))
}

/// All words, each under its first name.
pub fn all() -> impl Iterator<Item = Word> {
    let happenings = super::happenings::HAPPENINGS.iter();
    WORDS
        .iter()
        .chain(happenings)
        .map(|(word, meaning)| Word { word, meaning })
}

impl Word {
    /// The name that it is listed under.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.word.split('|').next().unwrap_or_default()
    }
}

/// Words with their meanings; several names of one thing stand between bars.
const WORDS: &[(&str, &str)] = &[
    // What is done around the graph.
    (
        "plan_review_gate",
        "Under `autonomy: locked` or `supervised` a plan of two tasks or more waits here until a person has agreed to it: `quorum approve ID` starts it, `quorum reject ID --reason …` fails its tasks. A chain `settings.middleware.coordination` without it asks nobody.",
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
        "Words that speak with authority are counted in what a delegated task brought, before it reaches its delegator (`authority:cues`, `in: result`).",
    ),
    // What a run ends with.
    (
        "ok|0",
        "Exit 0: every task that the run took is done, nothing is below its bar, all gates and thresholds passed.",
    ),
    (
        "internal|1",
        "Exit 1: quorum itself or its state failed, somebody else touched the state, or what had to be printed or reported could not be written. `quorum doctor state` looks at the state byte by byte; `quorum resume` goes on from the last record.",
    ),
    (
        "usage|2",
        "Exit 2: a flag, the configuration or the mission is wrong, or an answer was needed and nobody could be asked. No agent was started.",
    ),
    (
        "task_failed|3",
        "Exit 3: at least one task failed. `quorum show TASK` says why; `quorum resume --retry-failed` tries failed tasks again.",
    ),
    (
        "gate_failed|4",
        "Exit 4: a quality gate failed, so what it blocks did not run. `quorum resume --redo TASK` does the work before it again; `quorum gate NAME --override --reason TEXT` lets it pass, on record.",
    ),
    (
        "below_threshold|below-threshold|below the bar|accepted below the bar|5",
        "Exit 5, and a flag of a task: the work did not reach its bar after all attempts and was accepted all the same. It is never shown as a success; gates fail on it unless they say `acceptBelowThreshold`.",
    ),
    (
        "indeterminate|6",
        "Exit 6: a review that was asked for gave no trustworthy verdict: a judge failed, nobody may judge, or no score could be read. `quorum resume` asks the judges again; `quorum approve` accepts the work on a person's word.",
    ),
    (
        "limit|7",
        "Exit 7: the budget, `maxTime` or `--timeout` is used up, or a subscription's limit resets too late. The run can be resumed.",
    ),
    (
        "awaiting|8",
        "Exit 8: only a person can move the run on. `quorum inbox` or `quorum approvals` lists what waits; `quorum resume` goes on after the answer.",
    ),
    (
        "environment|9",
        "Exit 9: something was missing or in the way before any work: a program, a key, the lock, an unfinished run with the same tasks, a state folder that is not ours. Nothing was started.",
    ),
    (
        "interrupted|130|143",
        "Exit 130 (SIGINT) or 143 (SIGTERM): the session was stopped; its state is saved and `quorum resume` goes on. Of a task: its agent was at work when the session ended, and begins the attempt again.",
    ),
    // Where a run stands.
    (
        "running",
        "Of a run: a session works on it. Of a deadline: its time has begun.",
    ),
    (
        "crashed",
        "Of a run: its last session ended without a word. `quorum resume` goes on from the last record.",
    ),
    (
        "suspended",
        "Of a run: its last session ended in order, and there is still something to do. `quorum resume` goes on.",
    ),
    ("ended", "Of a run: there is nothing left to do."),
    (
        "cancelled",
        "A person ended the work on it. Of a task: failure mode `cancelled`; what depends on it is skipped. Of a run: all that was unfinished or failed was cancelled.",
    ),
    (
        "origin not verified|verified|unverified origin",
        "Whether this machine's operator key made the record of the run. Without the key (a state folder that was carried elsewhere) nobody vouches for it; give both jobs the same QUORUM_OPERATOR_KEY, or name the run by its id.",
    ),
    (
        "unconfined",
        "Agents of this run were not kept by the system's kernel from the files that judge them.",
    ),
    (
        "none|open|held",
        "The last look at accepted work: not made, asked for, or made and everything stood.",
    ),
    // Where a task stands.
    (
        "pending",
        "Not begun: it waits for its dependencies, gates or holds, or for a free slot.",
    ),
    ("assigned", "It has a slot, and its agent is about to start."),
    ("in_progress|execution|working|under way", "Its agent works."),
    (
        "review",
        "Its work is judged: finish gate, checks, reviewers, verification, further stages. As a verb of the progress: what the judges came to, or what went wrong with one of them.",
    ),
    (
        "done",
        "Accepted. The flag says how: clean, relaxed, unreviewed, unverified, degraded, below-threshold.",
    ),
    (
        "failed",
        "Not accepted after all attempts, or ended by a rule. The failure mode says how.",
    ),
    (
        "awaiting_approval|awaiting approval|waiting",
        "A person must decide before it goes on; or a gate's tasks have not ended; or a moment must come.",
    ),
    (
        "fix",
        "An attempt that corrects the work of the attempt before, with what was found.",
    ),
    ("execute", "The first attempt at a task."),
    (
        "retry",
        "An attempt from the beginning, after fixes were used up or the agent crashed. As a line of progress also: a request that is made again.",
    ),
    (
        "clarification",
        "The agent asked something, and the answer is on its way; or, as a setting, what happens with criteria that cannot be judged.",
    ),
    ("superseded", "It failed, and a fixup task has made up for it."),
    (
        "skipped",
        "It never ran, because a task that it depends on failed. Of a check of `doctor`: not looked at.",
    ),
    (
        "not taken|notTaken",
        "The verdict of a verification led elsewhere, or `--only` left it out.",
    ),
    ("not selected", "Left out of this run by `--only`."),
    (
        "removed",
        "The mission that was accepted later does not have it any more.",
    ),
    ("reworked", "Done, and not at the first attempt."),
    ("starting|verifying", "What a running task does at the moment."),
    // How work was accepted.
    (
        "clean",
        "Every check, review and stage that was asked for passed; or a person accepted the work.",
    ),
    (
        "relaxed",
        "Accepted under the relief of a task that three others or more depend on (`foundation`): a bar that is 20 points lower.",
    ),
    (
        "unreviewed",
        "Accepted without any judgement: nobody asked for one, nobody may judge, or reviews are switched off. With `--strict` it is exit 6.",
    ),
    (
        "unverified",
        "Accepted, though a part of the evidence is missing: its finish gate was not met, or it is not what was accepted any more. Exit 5.",
    ),
    (
        "degraded",
        "Accepted after all attempts because at least half of its target files exist (`onExhausted: degrade`). Exit 5.",
    ),
    // Verdicts and causes.
    ("pass|passed", "What was looked at is as it must be."),
    (
        "fail",
        "What was looked at is not as it must be; the work goes back with the findings as long as there are attempts. Of a check of `doctor`: the machine cannot run the mission.",
    ),
    (
        "refer",
        "Nobody could decide safely, so a person must: `quorum approve ID` accepts the work, `quorum reject ID --reason TEXT` sends it back.",
    ),
    (
        "skip",
        "A stage did not apply. As a verb of the progress: the task never ran, because a dependency failed.",
    ),
    (
        "fault",
        "A judge or stage failed; that says nothing about the work.",
    ),
    (
        "unchecked|partial",
        "A criterion about which nothing could be said, or that is met in part.",
    ),
    (
        "outcome",
        "The agent itself failed: it crashed, timed out, or its provider refused it.",
    ),
    (
        "artifact|hollow",
        "The work names files that are not there, or says nothing: it was sent back before any review.",
    ),
    (
        "preflight",
        "Facts that are looked at before any judge is asked: files, tool calls, empty answers.",
    ),
    (
        "checks|check",
        "Commands and file tests that decide by their result.",
    ),
    (
        "score",
        "What reviewers gave the work, in points of 100; as a cause: it is below the bar.",
    ),
    (
        "bar",
        "What a score must reach, in points of 100. `barOrigin` says who set it.",
    ),
    ("unparsed", "No score could be read from the reply, twice."),
    (
        "gate-error",
        "Judges could not be asked, or their replies could not be read; `resume` asks them again.",
    ),
    (
        "confidence",
        "The judges were less sure than `minConfidence` or `referBelow` asks for.",
    ),
    ("required-criterion", "A criterion that must be met is not."),
    (
        "no-reviewer",
        "A review was asked for, and nobody who may judge the work is there.",
    ),
    ("person", "A person said so."),
    ("rejected", "A person or an approver refused it."),
    (
        "protected",
        "A file that no agent may change was changed: tests, scripts that judge, settings, the mission, recordings. The task that did it fails.",
    ),
    ("exhausted", "All attempts are used."),
    ("unmet", "Acceptance criteria are not met."),
    (
        "breaker",
        "So many works of this model were rejected in a row that its work is not judged any more in this wave (`judgeBreaker`).",
    ),
    (
        "red-team|red_team",
        "An agent that attacks the work before it is accepted.",
    ),
    ("vision", "A look at screenshots."),
    (
        "unstable",
        "The files changed while they were judged, again and again.",
    ),
    (
        "changed",
        "What was judged is not what is there: it is judged again.",
    ),
    (
        "voided",
        "A verdict that does not count, because a protected file was changed while it was made; the stage is repeated.",
    ),
    (
        "finish",
        "The finish gate of a worker (`verify`): what must hold before its turn counts as finished.",
    ),
    (
        "judge|judges|panel",
        "Agents that score the work; several of them are a panel.",
    ),
    (
        "verification|verify",
        "The acceptance criteria, graded one by one; also a task of that type, whose verdict chooses what follows.",
    ),
    (
        "stages|stage",
        "Further steps of judging behind the verification.",
    ),
    (
        "audit",
        "The last look at what was accepted: files, and the checks that something may have changed since.",
    ),
    (
        "regressed",
        "Accepted work that does not stand any more: another task overwrote or removed its files, or its check fails now. `quorum resume --redo TASK` does it again.",
    ),
    // Failures.
    ("error", "The agent failed in another way than the modes below."),
    (
        "timeout",
        "The turn took longer than it may (`maxDuration`, `taskTimeout`) and was ended.",
    ),
    (
        "rate-limit|rate_limited",
        "A provider asks for a pause; the request is repeated within bounds.",
    ),
    (
        "quality",
        "The work was judged and is not good enough, and no attempt is left.",
    ),
    (
        "cascade",
        "It never ran, because a task that it depends on failed.",
    ),
    (
        "deadline",
        "Its deadline passed, and `violationAction: fail` ends the work.",
    ),
    (
        "window|windows|usage_window",
        "A subscription's limit that resets at a moment: the task waits for it without a slot, at most `maxWindowWait`.",
    ),
    (
        "provider_transient",
        "The provider or the connection failed in a way that may pass; the request is repeated within bounds.",
    ),
    ("context_too_long", "The prompt is longer than the model takes."),
    (
        "provider_spend_limit",
        "The account has no money or quota left; nothing resets by itself.",
    ),
    ("provider_auth", "The key is missing, wrong or not allowed."),
    (
        "policy_blocked",
        "A rule forbids it: the provider's, or one of ours (a judge that is not independent).",
    ),
    (
        "invalid_tool_args",
        "A model called a tool in a way that cannot be carried out.",
    ),
    ("missing_target_path", "A path that the work needs is not there."),
    (
        "permission_required",
        "The agent may not do what it was asked to do.",
    ),
    (
        "unknown",
        "The failure has no known class; it is tried again within the attempts.",
    ),
    // What waits, for whom.
    (
        "approval",
        "The mission wants somebody's agreement before it starts.",
    ),
    (
        "side-effects",
        "Running it twice does harm, so only a person's word makes its agent act again.",
    ),
    ("question", "The agent asked a person: `quorum answer ID TEXT`."),
    (
        "auth",
        "The agent asked for a permission that only a person gives.",
    ),
    (
        "operator",
        "An assumption of the task does not hold; a person must look at it.",
    ),
    (
        "checkpoint",
        "A place between tasks where the run waits for a person.",
    ),
    (
        "delay",
        "A place between tasks where the run waits for some time.",
    ),
    (
        "confirm|answer|resolve|approve|grade|decompose",
        "What an agent is asked for beside working: whether a text is a question, an answer to one, what becomes of a failed dependency, an agreement, grades for criteria, criteria cut into probes.",
    ),
    // Gates and deadlines.
    ("overridden", "A failed gate that a person let pass, on record."),
    ("violated|met|warning", "Of a deadline: missed, kept, or near."),
    // Findings.
    (
        "critical|high|medium|low|info",
        "How grave a finding is. Critical and high ones are always shown in full.",
    ),
    // Dead letters and requests.
    (
        "retrying|resolved|abandoned",
        "Of a dead letter (`quorum dlq`): being tried again, closed by a person, or given up.",
    ),
    (
        "submitted|triaging|scoping|approved|task_created",
        "The steps of a request for work (`quorum request`).",
    ),
    // Where a bar or setting comes from.
    (
        "default|user|project|mission|flag|foundation",
        "Where a setting or bar comes from: nobody said it, the user's quorum.yaml, the project's, the mission, a flag, or the relief of a task that much is built on.",
    ),
    // What an agent's assumption may break.
    (
        "precondition_changed|criteria_conflict|dependency_failed",
        "What an agent said does not hold of its task: what it began from changed, its criteria contradict each other, or what it depends on is not right.",
    ),
    (
        "artifacts|absorb",
        "How a task goes on without a dependency that failed: with the files that are there, with a part of them, or without it.",
    ),
    // Verbs of the progress that are no words above.
    (
        "run|resume",
        "A session begins: the first of a run, or a later one.",
    ),
    ("start", "The agent of a task starts a turn."),
    (
        "rework|again",
        "The work goes back, with what was found: a fix, or the attempt from the beginning.",
    ),
    ("gate", "A quality gate was evaluated, or overridden."),
    (
        "lost|adopt",
        "A turn was interrupted with its session, or outlived it and was taken over.",
    ),
    (
        "wait",
        "A person must decide (the id is what `quorum approve` takes), or a moment must come.",
    ),
    (
        "stop|pause",
        "Nothing more is started: what runs is ended (stop) or may finish (pause).",
    ),
    (
        "warn",
        "Something that does not decide, but that people should know.",
    ),
    (
        "nudge",
        "The worker is told what its finish gate misses, in the same attempt.",
    ),
    (
        "notify",
        "A notification could not be delivered; `quorum dlq list` has it.",
    ),
    (
        "silent",
        "Nothing was heard of an agent for longer than its `staleThreshold`; after twice that it is ended.",
    ),
    ("escalated", "An agent says that what it was told does not hold."),
    (
        "says|progress",
        "What an agent told about its progress (`quorum progress`).",
    ),
    (
        "asks|ask",
        "An agent asks something about its task; or, with -v, a judge or adviser is asked.",
    ),
    ("depend", "How a task goes on without a dependency that failed."),
    (
        "instead|fallback",
        "Another judge is asked, because the first one cannot be reached.",
    ),
    ("mend|fixup", "A task that makes up for another one that failed."),
    ("late", "A deadline is near or was missed."),
    ("route", "Which way a verification led."),
    ("add|remove", "Tasks came or went while the run worked."),
    (
        "spawn|turn|file|agent|stderr",
        "With -v: the process of a turn, how it ended, a file that was looked at, where an agent's program is, what an agent wrote to standard error.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The words in the sources that decide what is printed: `Self::Done => "done"`.
    fn printed() -> Vec<String> {
        let sources = [
            include_str!("../domain/failure.rs"),
            include_str!("../domain/lifecycle.rs"),
            include_str!("../domain/outcome.rs"),
            include_str!("../domain/verdict.rs"),
            include_str!("../domain/request.rs"),
            include_str!("../domain/dead_letter.rs"),
            include_str!("../domain/score.rs"),
            include_str!("../domain/assumption.rs"),
            include_str!("../engine/gate.rs"),
            include_str!("../engine/deadline.rs"),
        ];
        let mut words = Vec::new();
        for line in sources.iter().flat_map(|source| source.lines()) {
            let Some((_, word)) = line.trim_end_matches(',').split_once("=> \"") else {
                continue;
            };
            let word = word.trim_end_matches('"');
            // A sentence, a format or a status of HTTP is no word.
            if word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || b"_-".contains(&byte))
            {
                words.push(word.to_owned());
            }
        }
        words
    }

    /// The verbs of the progress: the texts in capitals.
    fn verbs() -> Vec<String> {
        let sources = [
            include_str!("progress/line.rs"),
            include_str!("progress/line/run.rs"),
            include_str!("progress/line/verdict.rs"),
            include_str!("progress/line/waits.rs"),
            include_str!("progress/verbose.rs"),
        ];
        let texts = sources.iter().flat_map(|source| source.split('"'));
        let verbs = texts.filter(|text| text.len() > 2 && text.bytes().all(|byte| byte.is_ascii_uppercase()));
        verbs.map(str::to_owned).collect()
    }

    #[test]
    fn every_word_that_screens_print_is_explained() {
        let (words, verbs) = (printed(), verbs());
        assert!(words.len() > 80 && verbs.len() > 25, "{words:?} {verbs:?}");
        let missing: Vec<&String> = words
            .iter()
            .chain(&verbs)
            .filter(|word| find(word).is_none())
            .collect();
        assert_eq!(missing, Vec::<&String>::new());
    }

    #[test]
    fn no_word_stands_twice_and_all_have_a_meaning() {
        let mut names: Vec<&str> = all().flat_map(|word| word.word.split('|')).collect();
        let total = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), total);
        assert!(all().all(|word| word.meaning.len() > 15 && word.meaning.ends_with('.')));
    }
}
