//! The edges that lead out of a verification (semantics, section 10).

use serde::{Deserialize, Serialize};

worded! {
    /// Which way a mission goes on after a verification.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Edge {
        /// `onPass`: the work is good.
        #[serde(rename = "p")]
        Pass = "onPass",
        /// `onFail`: it is not.
        #[serde(rename = "f")]
        Fail = "onFail",
        /// `onRefer`: that could not be told.
        #[serde(rename = "r")]
        Refer = "onRefer",
    }
}
