//! The edges that lead out of a verification (semantics, section 10).

use serde::{Deserialize, Serialize};

/// Which way a mission goes on after a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Edge {
    /// `onPass`: the work is good.
    #[serde(rename = "p")]
    Pass,
    /// `onFail`: it is not.
    #[serde(rename = "f")]
    Fail,
    /// `onRefer`: that could not be told.
    #[serde(rename = "r")]
    Refer,
}

impl Edge {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Pass, Self::Fail, Self::Refer];

    words_of! {
        /// The key that declares it, which is its name everywhere.
        as_str {
            Pass => "onPass",
            Fail => "onFail",
            Refer => "onRefer",
        }
    }
}
