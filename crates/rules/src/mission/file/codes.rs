//! Every code a diagnostic can carry, with the paragraph that `quorum explain CODE` prints.
//!
//! Codes are stable: a code is never given another meaning, and a retired one is never used again.

use std::fmt;
use std::str::FromStr;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal: $explanation:literal,)+) => {
        /// A stable diagnostic code, `Q0` and three digits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// All codes in order.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The code as printed: `Q0201`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// The problem in a few words.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// The meaning of the code and what to do about it, in one paragraph.
            pub fn explanation(self) -> &'static str {
                match self { $(Self::$name => $explanation,)+ }
            }
        }
    };
}

codes! {
    /// Should not happen.
    Internal = "Q0001": "quorum contradicted itself while reading the file: its two passes do not agree. This is a bug of quorum, not of the file. Please report it with the file.",
    /// No such file.
    NotFound = "Q0101": "There is no file at this path. Paths are relative to the current folder; `-` reads standard input.",
    /// The path names a folder.
    IsFolder = "Q0102": "The path names a folder. Name the mission file inside it, for example `folder/mission.yaml`.",
    /// The file cannot be read.
    Unreadable = "Q0103": "The file exists but cannot be read: permissions, or an error of the disk. The message has the operating system's reason.",
    /// The file is beyond the size limit.
    TooLarge = "Q0104": "The file is larger than a mission may be (64 MiB), or holds more values than quorum is ready to keep in memory. Split the mission, or move long texts into files that the agents read.",
    /// The file is not UTF-8.
    NotUtf8 = "Q0105": "Mission files are UTF-8 text. The message names the first byte that is not. Save the file as UTF-8, without UTF-16 or Latin-1.",
    /// Nothing in the file.
    Empty = "Q0106": "The file holds no document: it is empty, or has only comments. A mission needs at least `name`, `agents` and `tasks`.",
    /// The document is not a map.
    NotAMap = "Q0107": "A mission is a map of keys (`name: …`, `agents: …`, `tasks: …`). This document is a list or a single value.",
    /// More than one document.
    SeveralDocuments = "Q0108": "The file holds several YAML documents, separated by `---`. One file is one mission: split the file.",
    /// The text is not YAML.
    Syntax = "Q0109": "The text is neither YAML nor JSON at the marked place. Usual reasons: a tab in the indentation, a missing quote or bracket, `: ` inside an unquoted text.",
    /// A key appears twice.
    DuplicateKey = "Q0110": "The same key stands twice in one map, so one of the two values would be lost. Remove or rename one of them.",
    /// Aliases expand to too much.
    AliasBomb = "Q0111": "The YAML aliases (`*name`) of this file expand to more values than a mission can have, or an alias lies inside its own anchor. Files that do this are usually made to exhaust memory.",
    /// YAML beyond what a mission needs.
    UnsupportedYaml = "Q0112": "YAML tags (`!name`), keys that are not plain texts, and merge keys (`<<`) of something that is not a map have no meaning in a mission.",
    /// Nesting beyond the limit.
    TooDeep = "Q0113": "Maps and lists are nested more deeply than any mission needs. The file is probably not a mission.",
    /// No such key here.
    UnknownKey = "Q0201": "No such key exists at this place. quorum never ignores a key it does not know, because a misspelt key would silently change what is checked. Keys that start with `x-` are yours and are ignored.",
    /// A required key is missing.
    MissingKey = "Q0202": "A key that must be there is missing, or has an empty (null) value.",
    /// The value has the wrong shape.
    WrongType = "Q0203": "The value is of another kind than the key takes: for example a list where one text is expected.",
    /// The value cannot be used.
    BadValue = "Q0204": "The value has the right kind but cannot be used: a number out of range, a duration without a known unit, a bar that does not say its scale. Bars: 1 to 5 is a score, 20 to 100 is points, anything else needs its scale (\"3.5/5\", \"10/100\").",
    /// Not one of the allowed words.
    UnknownWord = "Q0205": "The key takes one of a fixed list of words, and this is not one of them. Words are written in lower case.",
    /// The key does not apply here.
    KeyDoesNotApply = "Q0206": "The key exists, but not for this kind of thing: for example `paths` belongs to `type: file_exists`, not to `type: test`.",
    /// An empty text or list.
    EmptyValue = "Q0207": "A text or list is empty where something must be said.",
    /// The mission requires another version of quorum.
    RequiresOther = "Q0208": "The mission's `requires` names a range of quorum versions, and this binary is not in it. Install a fitting version or change the range.",
    /// Something is said twice.
    Repeated = "Q0209": "A list names the same thing twice. Remove one of them.",
    /// Known, but not built yet.
    NotBuiltYet = "Q0210": "The key or value is known and was checked, but this version of quorum does not act on it yet. The mission is refused rather than run without what it asks for.",
    /// Not a key of a configuration file.
    NotInConfig = "Q0211": "A `quorum.yaml` may hold `agents`, `channels`, `rubrics` and `settings`. Everything else belongs in a mission file.",
    /// A duration without a unit.
    NoUnit = "Q0212": "A number without a unit is a duration in milliseconds, and one below 1000 ends before most things have begun. Who means seconds writes `10s`, who means minutes `10m`, who means milliseconds `10ms`. Flags and variables take no number without a unit.",
    /// Not in this build.
    NotInThisBuild = "Q0213": "The key needs a part of quorum that this build was made without. `queue` needs the feature `temporal`: `cargo install --features temporal`. The mission is refused rather than run without what it asks for.",
    /// No agents.
    NoAgents = "Q0301": "A mission needs at least one agent: in its own `agents`, or in a `quorum.yaml`.",
    /// No such agent.
    UnknownAgent = "Q0302": "The name is not that of an agent in `agents` of the mission or of a `quorum.yaml`.",
    /// An agent that cannot be started.
    IncompleteAgent = "Q0303": "The agent lacks what its adapter needs: a command agent needs `run`, an agent behind HTTP needs `model`.",
    /// A secret in the file.
    SecretInFile = "Q0304": "A key was written into the file. Secrets come only from the environment: write `${NAME}` and set NAME where quorum runs. A key that was committed should be replaced.",
    /// A malformed `${…}`.
    BadPlaceholder = "Q0305": "`${NAME}` takes the name of an environment variable: letters, digits and `_`, not starting with a digit. A literal dollar sign before a brace is written `$${`.",
    /// An unset variable.
    UnsetVariable = "Q0306": "The mission needs an environment variable that is not set. `validate` does not mind, `run` does.",
    /// Managers in a cycle.
    ReportingCycle = "Q0307": "The `reportsTo` of these agents form a cycle, so none of them is at the top.",
    /// A model that could cost anything.
    UnpricedModel = "Q0308": "The mission (or `--max-cost`) limits what a run may cost, and this model has no price in `settings.prices`: nobody could keep the limit. A price is what a million input and a million output tokens cost; zeros stand for a model that is free.",
    /// A fallback for an agent that neither works nor judges.
    IdleFallback = "Q0309": "`fallback` names who goes on with the work, or judges, instead of an agent that cannot be reached. Answers to questions and approvals are handed over to nobody. On an agent that has no task, and that the mission, as it is written, never asks to judge, it does nothing. A command judges where it has the role reviewer or qa, or where the mission names it (`reviewers`, `stages`, `redTeam`, `vision`, `decomposer`, the agent of a verification); nobody judges its own work; a person is waited for.",
    /// A turn that may use more than `reserveForJudging` leaves.
    NothingLeftForWork = "Q0310": "`budget.reserveForJudging` keeps a share of `maxCost` and `maxTokens` for whoever gives a verdict, and one turn of this agent may use more than the rest (`maxCostPerTurn`, `maxTokens`): it would never start. A share that nobody wrote gives way instead.",
    /// No tasks.
    NoTasks = "Q0401": "A mission needs at least one task. Tasks are entries of the list `tasks`, each with a `title`.",
    /// Two tasks with one title.
    DuplicateTitle = "Q0402": "Two tasks have the same title, or titles that look alike. Titles are how tasks refer to each other and how people tell them apart; they must be unique within a mission.",
    /// No such task.
    UnknownTask = "Q0403": "The title is not that of a task in this mission. Titles must match exactly, including case.",
    /// Tasks that wait for each other.
    Cycle = "Q0404": "These tasks and gates wait for each other (a dependency cycle), so none of them could ever start. Read `a -> b` as: a needs b. Remove one of the arrows.",
    /// A task without an agent.
    Unassigned = "Q0405": "`assignTo` may be left out only if the mission has exactly one agent.",
    /// A bad title.
    BadTitle = "Q0406": "A title or name is one line of 1 to 200 characters, without control characters.",
    /// A path that leaves the workspace.
    PathEscapes = "Q0407": "Paths of a task are relative to its workspace and stay inside it: no absolute paths, no `..` that leads out.",
    /// More than one panel.
    SeveralPanels = "Q0408": "A task has at most one `llm_review`. To judge several aspects give that one review several `dimensions`, each with a weight and a rubric.",
    /// Nothing to judge by.
    IncompleteExpectation = "Q0409": "The expectation says what kind it is, but not what is to be met: a metric needs `min` or `max`.",
    /// The author would judge itself.
    OwnReviewer = "Q0410": "An agent never judges its own work. Name another reviewer, or leave `reviewers` out and quorum finds one.",
    /// A deployment that might be repeated.
    DeployRepeats = "Q0411": "A task of `type: deploy` is run again when its assessment fails. Say whether that is harmless: `sideEffects: true` makes quorum ask a person first, `sideEffects: false` says that repeating it is fine.",
    /// A task does not find the files of one that it depends on.
    LeftApart = "Q0412": "A task does not find the files of one that it depends on. What a task in a worktree does is in the workspace only once the run has ended and was merged; a worktree has what is committed, not what lies in the workspace; of a task with `isolation: copy` or `temp` nothing is brought back. Give both the same `isolation`, or let the second one need nothing but the output of the first.",
    /// Tool calls that nobody can see.
    NoLedger = "Q0420": "`requiresToolCalls: true` needs an agent whose adapter sees its tool calls. A plain command or a plain HTTP model shows none, and what it claims in its result file is no evidence, so the rule could never be met nor broken. Ask for what quorum can see for itself: `targetFiles`, or `verify` with `requireFileChanges` or a command.",
    /// A way out of a verification beside its edges.
    ExtraEdge = "Q0421": "Only `onPass`, `onFail` and `onRefer` lead out of a task of `type: verification`. A task that names it in `dependsOn` and that none of them leads to would start whatever the verdict is. Let an edge lead to it, or let it depend on a task that an edge leads to.",
    /// A verification of nothing.
    JudgesNothing = "Q0422": "A task of `type: verification` judges the work of the tasks in its `dependsOn`. It needs at least one that is no verification itself.",
    /// Criteria that nobody could judge by.
    UnclearCriteria = "Q0423": "A criterion of `acceptance` is what work is judged by, so it must say something that can be told from the work. One of a few letters, or one that only says that the work is to be done, complete or working, says nothing. `clarification: enforce` in the settings refuses such criteria, and tasks without any; otherwise they are warned about. What names a file, a command or a value in backticks is held against that.",
    /// Tasks that may work at the same time name the same target file.
    SharedTargetFile = "Q0430": "Two tasks name the same file in `targetFiles`, and nothing makes one wait for the other, so one may overwrite what the other was accepted for. The run finds that out at its end, where checks of the first task fail then, but the work is lost. Let one depend on the other, or say `exclusive: true` on one of them.",
    /// A check goes by a file that nobody is to make.
    UnnamedFile = "Q0431": "A check goes by a file (the script that it runs, a test, one side of a comparison) that is not there, and that no `targetFiles` and no `file_exists` names. Where the work makes it, the worker writes what it is checked by: the check fails before the work and passes behind it whatever else was done, and the work has a finding. Write the file yourself, or name it in `targetFiles` where the task is to make it.",
    /// Two gates with one name.
    DuplicateGate = "Q0501": "Two gates have the same name, or two checkpoints, delays or approval gates. Names are how they are shown and overridden and must be unique.",
    /// A gate over nothing.
    EmptyGate = "Q0502": "A gate, checkpoint or delay stands between tasks: `afterTasks` names what it waits for, `blocksTasks` what waits for it. Both must be there and name at least one task.",
    /// No such channel.
    UnknownChannel = "Q0503": "The name is not that of a channel in `channels` of the mission or of a `quorum.yaml`.",
    /// No such rubric.
    UnknownRubric = "Q0504": "The name is not that of a rubric in `rubrics`, nor of a built-in one (frontend-design, default-task).",
    /// A condition that cannot be decided.
    BadCondition = "Q0505": "`when` of an approval gate is an expression over the fields of `task` and `mission` that is true or false: comparisons (`==`, `<`), `and`, `or`, `not`, `in`, for example `task.type == \"deploy\"`. It can read nothing else and calls nothing.",
    /// A gate that asks for a score that nobody gives.
    UnscoredGate = "Q0506": "A gate with `minScore` holds the average of the scores before it against that. A task has a score where it is reviewed or graded; one with checks alone has none, and a gate over such tasks alone can never pass. Add an `llm_review` or `review: required` to one of the tasks, or leave `minScore` out.",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is no diagnostic code.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is not a diagnostic code; codes look like Q0201")]
pub struct UnknownCode(String);

impl FromStr for Code {
    type Err = UnknownCode;

    /// Case does not matter.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| UnknownCode(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_ordered_and_explained() {
        assert!(Code::ALL.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()));
        for code in Code::ALL {
            assert_eq!(code.as_str().to_lowercase().parse::<Code>().unwrap(), *code);
            assert!(code.explanation().len() > 40, "{code}");
        }
        assert!("Q9999".parse::<Code>().is_err());
    }
}
