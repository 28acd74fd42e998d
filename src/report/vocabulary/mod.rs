//! The words of screens: what each means, ids that people type, and amounts in words.
//!
//! | file | what |
//! |---|---|
//! | `budget` | the budget in words: what was used of it, and what ended the work |
//! | `ids` | the ids that people type: of what waits for them, and of what they are told |
//! | `words` | every word of a screen with its meaning, for `quorum explain` |

pub(super) mod budget;
pub mod ids;
pub mod words;
