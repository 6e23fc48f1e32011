//! Names of the gates: one table, in the order in which a decision lists them.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! gates {
    ($($(#[$doc:meta])* $gate:ident = $name:literal,)*) => {
        /// A gate of this version of the rules. Records keep names as text, since other versions have other gates.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum GateName {
            $($(#[$doc])* $gate,)*
        }

        impl GateName {
            /// All gates, in the order of a decision.
            pub const ALL: &'static [Self] = &[$(Self::$gate,)*];

            /// Name in documents and policy tests.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$gate => $name,)*
                }
            }
        }
    };
}

gates! {
    /// Denies changes of protected paths.
    Protected = "protected",
    /// Denies paths outside the scopes.
    Scope = "scope",
    /// Denies changes that exceed a budget.
    Budget = "budget",
    /// Judges the commands of a change.
    Commands = "commands",
    /// Denies credentials in new content.
    Credentials = "credentials",
    /// Requires approval for risky changes.
    Tier = "tier",
    /// Asks the operator's access policies.
    Access = "access",
    /// Answers the other gates: a valid approval lifts what they require.
    Approval = "approval",
}

impl GateName {
    /// Reads a recorded name; `None` for a gate of another version of the rules.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|gate| gate.as_str() == name)
    }

    /// Whether paths and commands alone can make the gate refuse a change, so that a policy test can expect it.
    pub(crate) fn is_testable(self) -> bool {
        match self {
            Self::Protected
            | Self::Scope
            | Self::Budget
            | Self::Commands
            | Self::Tier
            | Self::Access => true,
            // A policy test has no content, and no approval.
            Self::Credentials | Self::Approval => false,
        }
    }
}

impl fmt::Display for GateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for GateName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-10
    #[test]
    fn recorded_names_are_read_and_those_of_other_versions_are_unknown() {
        for gate in GateName::ALL {
            assert_eq!(GateName::parse(gate.as_str()), Some(*gate));
        }
        for name in ["lease", "Scope", ""] {
            assert_eq!(GateName::parse(name), None, "{name}");
        }
    }
}
