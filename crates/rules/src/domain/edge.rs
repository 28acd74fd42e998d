//! The edges that lead out of a verification (semantics, section 10).

worded! {
    /// An edge of a verification: the way in which the mission goes on.
    #[derive(PartialOrd, Ord)]
    pub enum Edge {
        /// `onPass`: the work is good.
        Pass = "onPass",
        /// The work is not good: `onFail`.
        Fail = "onFail",
        /// `onRefer`: that could not be told.
        Refer = "onRefer",
    }
}
