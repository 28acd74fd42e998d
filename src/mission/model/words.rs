//! Words of the file: enums that are written as one of a fixed list of words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mission::document::Node;
use crate::mission::keys::{Value, words};
use crate::mission::levels::Shown;
use crate::mission::shape::Shape;

/// What checks may write below protected folders: what the runners of tests keep beside the tests.
pub(super) const CHECKS_MAY_WRITE: &str =
    "['**/__pycache__/**', '**/.pytest_cache/**', '**/target/**', '**/node_modules/.cache/**']";

/// What kind of work a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskType {
    /// New code.
    Implement,
    Test,
    /// Changed code.
    Refactor,
    /// Finding out.
    Research,
    /// Writing.
    Document,
    /// Judging.
    Review,
    /// Bringing it to users.
    Deploy,
    /// A verification node of the graph.
    Verification,
    /// Anything else.
    #[default]
    Other,
}

/// Whether a task asks for a review of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Review {
    /// Never evaluated.
    None,
    /// Evaluated where somebody eligible exists.
    #[default]
    Auto,
    /// Evaluated, or referred to a person.
    Required,
}

/// What happens when a task still fails after all attempts (semantics, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnExhausted {
    /// It is failed.
    Fail,
    /// It is accepted below the bar.
    Accept,
    /// It is accepted if half of its files exist.
    Degrade,
    /// A fixup task is made.
    Fixup,
    /// A person decides.
    Refer,
}

/// What can be tried when a dependency failed for good (semantics, section 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Go on if at least half of the files that it was to make are there.
    Artifacts,
    /// Go on if enough of the other dependencies are done.
    Partial,
    /// The orchestrator decides.
    Resolve,
    /// The task fails too.
    Skip,
}

/// What is tried, in this order. Trying something a second time changes nothing, so each remedy stands once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemedyOrder([Option<Remedy>; 4]);

impl RemedyOrder {
    /// The remedies, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = Remedy> + use<> {
        self.0.into_iter().flatten()
    }
}

impl FromIterator<Remedy> for RemedyOrder {
    fn from_iter<I: IntoIterator<Item = Remedy>>(remedies: I) -> Self {
        let mut order = [None; 4];
        let mut len = 0;
        for remedy in remedies {
            if !order.contains(&Some(remedy)) {
                order[len] = Some(remedy);
                len += 1;
            }
        }
        Self(order)
    }
}

impl Value for RemedyOrder {
    const SHAPE: Shape = Shape::List(&Remedy::SHAPE);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        node.items().map(Remedy::read).collect()
    }
}

impl Shown for RemedyOrder {
    fn shown(&self) -> serde_json::Value {
        self.iter().map(|remedy| remedy.shown()).collect()
    }
}

/// How the seats' scores become one (semantics, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Consensus {
    #[default]
    Median,
    /// The median of the scores that are not outliers.
    ExcludeOutliers,
    Mean,
    /// The mean of the scores clamped to median ± 1.5.
    ClippedMean,
}

/// Whether all seats of a panel are asked at once (semantics, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PanelMode {
    /// All at once.
    #[default]
    Parallel,
    /// Two first, and another only while it could change the verdict.
    Adaptive,
}

/// What a reviewer must not share with the author of the work (semantics, section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Independence {
    /// Being the same agent.
    #[default]
    Identity,
    Model,
    /// The model's family.
    Family,
}

/// What is looked at again of work that was accepted (semantics, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FinalChecks {
    /// Files, and the checks that something may have changed since.
    #[default]
    Auto,
    /// Files and all checks.
    Always,
    /// Nothing.
    Never,
}

/// What a task shares of the workspace with others (semantics, section 22).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// All of it.
    #[default]
    Shared,
    /// Nothing: it has a checkout of its own, and what is accepted is merged.
    Worktree,
    /// Nothing: it has a copy.
    Copy,
    /// Nothing: it has an empty folder.
    Temp,
}

/// How much agents may decide alone (semantics, section 15). From the tightest to the loosest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Autonomy {
    /// Nothing.
    Locked,
    /// Little.
    Supervised,
    /// What is usual.
    #[default]
    Semi,
    /// Everything.
    Full,
}

/// How much harm wrong work would do (semantics, section 15). From the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Stakes {
    /// Little.
    Low,
    /// Some.
    #[default]
    Medium,
    /// Much.
    High,
}

/// Whether a process is kept by the system from what it must not reach (semantics, section 23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// Where the system lets it be done; elsewhere the run is marked as unconfined.
    #[default]
    Auto,
    /// By all means: where it cannot be done, nothing is started.
    Required,
    /// Not at all.
    Off,
}

/// Whether a confined process reaches the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NetworkAccess {
    /// As the machine does.
    #[default]
    Allow,
    /// Nothing but a loopback of its own.
    Deny,
}

/// Which files a confined process may change, beside what is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FileScope {
    /// Those that its user may change.
    #[default]
    Open,
    /// Those of its workspace, a folder for temporary files, and what its program needs of the home folder.
    Workspace,
}

impl Autonomy {
    /// Whether a person agrees to the plan before such work begins (section 17, `plan_review_gate`).
    #[must_use]
    pub fn needs_plan_review(self) -> bool {
        matches!(self, Self::Locked | Self::Supervised)
    }
}

words!(Autonomy: "a level of autonomy",
    "locked" => Locked, "supervised" => Supervised, "semi" => Semi, "full" => Full);
words!(Sandbox: "a kind of sandbox", "auto" => Auto, "required" => Required, "off" => Off);
words!(NetworkAccess: "what the network is", "allow" => Allow, "deny" => Deny);
words!(FileScope: "a scope of files", "open" => Open, "workspace" => Workspace);
words!(Stakes: "a level of stakes", "low" => Low, "medium" => Medium, "high" => High);
words!(Isolation: "a kind of isolation",
    "shared" => Shared, "worktree" => Worktree, "copy" => Copy, "temp" => Temp);
words!(FinalChecks: "a way to look at accepted work again", "auto" => Auto, "always" => Always, "never" => Never);
words!(Independence: "a kind of independence", "identity" => Identity, "model" => Model, "family" => Family);
words!(PanelMode: "a kind of panel", "parallel" => Parallel, "adaptive" => Adaptive);
words!(TaskType: "a type of task",
    "implement" => Implement, "test" => Test, "refactor" => Refactor, "research" => Research, "document" => Document,
    "review" => Review, "deploy" => Deploy, "verification" => Verification, "other" => Other);
words!(Review: "a way of asking for review", "none" => None, "auto" => Auto, "required" => Required);
words!(OnExhausted: "what can happen to an exhausted task",
    "fail" => Fail, "accept" => Accept, "degrade" => Degrade, "fixup" => Fixup, "refer" => Refer);
words!(Remedy: "what can be tried when a dependency failed",
    "artifacts" => Artifacts, "partial" => Partial, "resolve" => Resolve, "skip" => Skip);
words!(Consensus: "a way to agree",
    "median" => Median, "exclude-outliers" => ExcludeOutliers, "mean" => Mean, "clipped-mean" => ClippedMean);
