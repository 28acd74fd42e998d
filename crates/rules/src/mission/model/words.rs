//! Words of the file: enums that are written as one of a fixed list of words.

use crate::mission::file::{
    document::Node,
    keys::{Value, words},
    levels::ShowValue,
    shape::Shape,
};

/// Files that checks may write below protected folders: those that builds leave.
pub const CHECKS_MAY_WRITE: &str = "['**/target/**']";

/// Files that the runners of tests keep beside the tests.
pub const SCRATCH: &str = "['**/__pycache__/**', '**/.pytest_cache/**', '**/node_modules/.cache/**']";

/// Files that are tests, and files that say how tests run and nothing else.
pub const TESTS: &str = "['**/tests/**', '**/test/**', '**/spec/**', '**/__tests__/**', '**/*_test.*', '**/test_*.*', '**/*.test.*', '**/*.spec.*', '**/*.bats', '**/t/*.t', '**/conftest.py', '**/__snapshots__/**', '**/*.snap', pytest.ini, tox.ini, 'jest.config.*', 'vitest.config.*', .config/nextest.toml]";

words! {
    /// The kind of a task's work.
    #[derive(Default)]
    pub enum TaskType: "a type of task" {
        /// The work is new code.
        Implement = "implement",
        Test = "test",
        /// The work changes code.
        Refactor = "refactor",
        /// The work finds something out.
        Research = "research",
        /// The work is a text.
        Document = "document",
        /// The work judges other work.
        Review = "review",
        /// The work brings something to users.
        Deploy = "deploy",
        /// A verification node of the graph.
        Verification = "verification",
        /// The work is anything else.
        #[default]
        Other = "other",
    }
}

words! {
    /// Whether a task asks for a review of its own.
    #[derive(Default)]
    pub enum Review: "a way of asking for review" {
        /// The work is never evaluated.
        None = "none",
        /// Evaluated where somebody eligible exists.
        #[default]
        Auto = "auto",
        /// Evaluated, or referred to a person.
        Required = "required",
    }
}

words! {
    /// The end of a task that still fails after all attempts (semantics, section 3).
    pub enum OnExhausted: "what can happen to an exhausted task" {
        /// The task is failed.
        Fail = "fail",
        /// The task is accepted below the bar.
        Accept = "accept",
        /// The task is accepted if half of its files exist.
        Degrade = "degrade",
        /// A fixup task is made.
        Fixup = "fixup",
        /// A person decides about the task.
        Refer = "refer",
    }
}

words! {
    /// A remedy when a dependency failed for good (semantics, section 11).
    pub enum Remedy: "what can be tried when a dependency failed" {
        /// Go on if at least half of the files that it was to make are there.
        Artifacts = "artifacts",
        /// Go on if enough of the other dependencies are done.
        Partial = "partial",
        /// The orchestrator decides about the task.
        Resolve = "resolve",
        /// The task fails too.
        Skip = "skip",
    }
}

/// Remedies in the order in which they are tried. Trying one a second time changes nothing, so each stands
/// once.
#[derive(Debug, Clone, Copy, PartialEq)]
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

impl ShowValue for RemedyOrder {
    fn shown(&self) -> serde_json::Value {
        self.iter().map(|remedy| remedy.shown()).collect()
    }
}

words! {
    /// How the seats' scores become one (semantics, section 7).
    #[derive(Default)]
    pub enum Consensus: "a way to agree" {
        #[default]
        Median = "median",
        /// The median of the scores that are not outliers.
        ExcludeOutliers = "exclude-outliers",
        Mean = "mean",
        /// The mean of the scores clamped to median ± 1.5.
        ClippedMean = "clipped-mean",
    }
}

words! {
    /// Whether all seats of a panel are asked at once (semantics, section 7).
    #[derive(Default)]
    pub enum PanelMode: "a kind of panel" {
        /// The seats are asked all at once.
        #[default]
        Parallel = "parallel",
        /// Two first, and another only while it could change the verdict.
        Adaptive = "adaptive",
    }
}

words! {
    /// The rule for what a reviewer must not share with the author of the work (semantics, section 8).
    #[derive(Default)]
    pub enum Independence: "a kind of independence" {
        /// Being the same agent.
        #[default]
        Identity = "identity",
        Model = "model",
        /// The reviewer's model must be of another family.
        Family = "family",
    }
}

words! {
    /// The second look at work that was accepted (semantics, section 6).
    #[derive(Default)]
    pub enum FinalChecks: "a way to look at accepted work again" {
        /// Files, and the checks that something may have changed since.
        #[default]
        Auto = "auto",
        /// Files and all checks.
        Always = "always",
        Never = "never",
    }
}

words! {
    /// The way in which a task shares the workspace with others (semantics, section 22).
    #[derive(Default)]
    pub enum Isolation: "a kind of isolation" {
        /// The task shares the whole workspace.
        #[default]
        Shared = "shared",
        /// The task shares nothing: it has a checkout of its own, and accepted work is merged.
        Worktree = "worktree",
        /// The task shares nothing: it has a copy.
        Copy = "copy",
        /// The task shares nothing: it has an empty folder.
        Temp = "temp",
    }
}

impl Isolation {
    /// Whether the folder of such a task can go to another machine and come back: it has one, and nothing leads out of it.
    pub fn is_carried(self) -> bool {
        matches!(self, Self::Worktree | Self::Temp)
    }
}

words! {
    /// The declared result of a check before the work begins (semantics, section 24).
    #[derive(PartialOrd, Ord)]
    pub enum BeforeRule: "what a check can be before the work" {
        /// The check fails: the work is to make it pass.
        Red = "red",
        /// The check passes: it guards what is there.
        Green = "green",
        /// The check may fail or pass.
        Any = "any",
        /// Either, but the work brings a test that fails without it.
        NewTests = "newTests",
    }
}

words! {
    /// The treatment of work whose checks were green all along and so do not show it (semantics, section 24).
    #[derive(Default)]
    pub enum ProofRule: "a rule for work that nothing proves" {
        /// The work is accepted as unreviewed.
        #[default]
        Warn = "warn",
        /// The work is accepted as unverified.
        Required = "required",
    }
}

words! {
    /// How much agents may decide alone (semantics, section 15). From the tightest to the loosest.
    #[derive(PartialOrd, Ord, Default)]
    pub enum Autonomy: "a level of autonomy" {
        /// Findings of medium severity block too, and a person agrees to a plan of two tasks or more.
        Locked = "locked",
        /// The rules of `locked`.
        Supervised = "supervised",
        /// Findings of high severity block, and nobody is asked for the plan.
        #[default]
        Semi = "semi",
        /// The rules of `semi`.
        Full = "full",
    }
}

words! {
    /// How much harm wrong work would do (semantics, section 15). From the least to the most.
    #[derive(PartialOrd, Ord, Default)]
    pub enum Stakes: "a level of stakes" {
        /// Little is at stake.
        Low = "low",
        /// Something is at stake.
        #[default]
        Medium = "medium",
        /// Much is at stake.
        High = "high",
    }
}

words! {
    /// Whether a process is kept by the system from what it must not reach (semantics, section 23).
    #[derive(Default)]
    pub enum Sandbox: "a kind of sandbox" {
        /// Where the system lets it be done; elsewhere the run is marked as unconfined.
        #[default]
        Auto = "auto",
        /// Processes are confined by all means: where it cannot be done, nothing is started.
        Required = "required",
        /// Processes are not confined.
        Off = "off",
    }
}

words! {
    /// Whether a confined process reaches the network.
    #[derive(Default)]
    pub enum NetworkAccess: "what the network is" {
        /// As the machine does.
        #[default]
        Allow = "allow",
        /// Nothing but a loopback of its own.
        Deny = "deny",
    }
}

words! {
    /// The files that a confined process may change, without the protected ones.
    #[derive(Default)]
    pub enum FileScope: "a scope of files" {
        /// All files that its user may change.
        #[default]
        Open = "open",
        /// The files of its workspace, a folder for temporary files, and what its program needs of the home
        /// folder.
        Workspace = "workspace",
    }
}

impl Autonomy {
    /// Whether a person agrees to the plan before such work begins (section 17, `plan_review_gate`).
    pub fn needs_plan_review(self) -> bool {
        matches!(self, Self::Locked | Self::Supervised)
    }
}
