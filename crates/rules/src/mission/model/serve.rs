//! Where people reach the pages of `quorum serve`.

use crate::mission::file::keys::keys;

use super::agent::Url;

keys! {
    /// `settings.serve`. `None` leaves a value to the next level.
    #[derive(Default)]
    pub struct ServeSettings: "serve", by level {
        /// The address of a `quorum serve` of this state folder, without its token: notifications then say on which page to
        /// decide.
        "url" url: Option<Box<str>> as Url;
    }
}
