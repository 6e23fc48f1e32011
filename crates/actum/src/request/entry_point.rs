//! Doors: the ways in which requests come in, and what differs between them.

use actum_core::path::Quoted;
use actum_gate::Profile;
use serde::{Deserialize, Serialize};

/// A way in which requests come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Door {
    /// A program that calls this crate.
    Library,
    /// A change set, an undo or a redo that a user types.
    CommandLine,
    /// What a command changed.
    Exec,
    /// An action of the action API.
    Action,
    /// A task plan, or the rollback of one.
    TaskPlan,
}

/// What differs between doors.
struct Differences {
    /// The name in records and policies. It never changes.
    name: &'static str,
    /// The profile that is in force besides those of the policy (D-5).
    profile: Option<Profile>,
    /// Whether an approval alone carries a queued request out. Where not, the same command has to be given again,
    /// since it writes the reports.
    is_carried_out_by_approval: bool,
}

impl Door {
    fn differences(self) -> Differences {
        let (name, profile, is_carried_out_by_approval) = match self {
            Self::Library => ("library", None, true),
            Self::CommandLine => ("command line", None, true),
            Self::Exec => ("exec", None, true),
            Self::Action => ("action", None, true),
            Self::TaskPlan => ("task plan", Some(Profile::AgentExecutor), false),
        };
        Differences { name, profile, is_carried_out_by_approval }
    }

    /// Its name, as records and access policies have it.
    pub fn as_str(self) -> &'static str {
        self.differences().name
    }

    /// The door of this name; none for that of another version.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Library, Self::CommandLine, Self::Exec, Self::Action, Self::TaskPlan]
            .into_iter()
            .find(|door| door.as_str() == name)
    }

    /// The profile that is in force for its requests, besides what is in force for everybody (D-5).
    pub(crate) fn profile(self) -> Option<Profile> {
        self.differences().profile
    }

    /// Whether an approval alone carries out a request that waited. Where not, the same command has to be given
    /// again, since it writes the reports.
    pub fn is_carried_out_by_approval(self) -> bool {
        self.differences().is_carried_out_by_approval
    }
}

impl From<Door> for &'static str {
    fn from(door: Door) -> Self {
        door.as_str()
    }
}

impl TryFrom<String> for Door {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name).ok_or_else(|| format!("`{}` is no door", Quoted(name.as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-5
    #[test]
    fn a_door_is_found_and_written_by_its_name() {
        for name in ["library", "command line", "exec", "action", "task plan"] {
            let door = Door::named(name).unwrap();
            assert_eq!(door.as_str(), name);
            assert_eq!(serde_json::to_value(door).unwrap(), name);
            assert_eq!(serde_json::from_value::<Door>(name.into()).unwrap(), door);
        }
        let error = serde_json::from_str::<Door>("\"cli\"").unwrap_err();
        assert_eq!(error.to_string(), "`cli` is no door");
    }
}
