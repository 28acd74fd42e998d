//! The mark of a turn in the environment of all that it starts.

use super::identity::ProcessIdentity;

/// The variable that the supervisor adds to every child's environment. Its value says which supervisor and which turn the
/// child belongs to: a comma-separated list, from the outermost run to the innermost, of `PID.STARTTIME.KEY`.
pub const TURN_KEY_VARIABLE: &str = "QUORUM_TURN_KEY";

/// What stands there for a session that a host has begun. Whoever carries nothing else is no agent's.
pub const OF_HOST: &str = "@host";

/// Writes and reads the values of [`TURN_KEY_VARIABLE`] for one supervisor.
pub struct TurnMarker {
    /// The supervisor's part of the marker: `PID.STARTTIME.`
    supervisor: String,
    /// The marker that the supervisor itself inherited, if its run is part of a turn of another run.
    outer: Option<String>,
}

impl TurnMarker {
    pub fn of(supervisor: &ProcessIdentity) -> TurnMarker {
        TurnMarker { supervisor: format!("{}.{}.", supervisor.pid, supervisor.start_time), outer: None }
    }

    pub fn within(self, outer: Option<String>) -> TurnMarker {
        TurnMarker { outer: outer.filter(|outer| !outer.is_empty()), ..self }
    }

    /// The value for the child with this key.
    pub fn value(&self, key: u64) -> String {
        match &self.outer {
            Some(outer) => format!("{outer},{}{key}", self.supervisor),
            None => format!("{}{key}", self.supervisor),
        }
    }

    /// The key in a value that [`value`](Self::value) made, or that a run inside that child extended.
    pub fn key_in(&self, value: &str) -> Option<u64> {
        value.split(',').find_map(|part| part.strip_prefix(&self.supervisor)?.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(pid: u32, start_time: u64) -> TurnMarker {
        TurnMarker::of(&ProcessIdentity { pid, start_time, boot_id: String::new() })
    }

    #[test]
    fn a_marker_names_supervisor_and_turn() {
        let value = marker(12, 345).value(6);
        assert_eq!(value, "12.345.6");
        assert_eq!(marker(12, 345).key_in(&value), Some(6));
        assert_eq!(marker(12, 34).key_in(&value), None);
        assert_eq!(marker(2, 345).key_in(&value), None);
        assert_eq!(marker(12, 345).key_in("12.345.x"), None);
    }

    #[test]
    fn a_run_inside_a_turn_belongs_to_both() {
        let outer = marker(12, 345).value(6);
        let inner = marker(78, 9).within(Some(outer)).value(1);
        assert_eq!(inner, "12.345.6,78.9.1");
        assert_eq!(marker(12, 345).key_in(&inner), Some(6));
        assert_eq!(marker(78, 9).key_in(&inner), Some(1));
    }
}
