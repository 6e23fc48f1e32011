//! Names of the gates: one table, in the order in which a decision lists them.

use std::fmt;

use serde::{Serialize, Serializer};

/// Built-in rules about paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathRules {
    /// Protected path groups.
    Protected,
    /// Paths of a tier that needs approval.
    Tier,
}

macro_rules! gates {
    ($($(#[$doc:meta])* $gate:ident = $name:literal { testable: $testable:literal, path_rules: $path_rules:expr },)*) => {
        /// Gate of this version of the rules. Records keep names as text, since other versions have other gates.
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

            /// Returns true if paths and commands alone can make the gate refuse a change, so that a policy
            /// test can expect it.
            pub(crate) fn is_testable(self) -> bool {
                match self {
                    $(Self::$gate => $testable,)*
                }
            }

            /// Returns the built-in path rules of the gate, which also apply to result files.
            pub(crate) fn path_rules(self) -> Option<PathRules> {
                match self {
                    $(Self::$gate => $path_rules,)*
                }
            }
        }
    };
}

// A new gate comes before `approval`, which answers the gates above it. A policy test has no content and no
// approval, so gates that depend on these are not `testable`.
gates! {
    /// Denies changes of protected paths.
    Protected = "protected" { testable: true, path_rules: Some(PathRules::Protected) },
    /// Denies paths outside the scopes.
    Scope = "scope" { testable: true, path_rules: None },
    /// Denies changes that exceed a budget.
    Budget = "budget" { testable: true, path_rules: None },
    /// Judges the commands of a change.
    Commands = "commands" { testable: true, path_rules: None },
    /// Denies credentials in new content.
    Credentials = "credentials" { testable: false, path_rules: None },
    /// Denies requests that their lease does not allow, and those that need a lease and have none.
    Lease = "lease" { testable: false, path_rules: None },
    /// Requires approval for risky changes.
    Tier = "tier" { testable: true, path_rules: Some(PathRules::Tier) },
    /// Asks the operator's access policies.
    Access = "access" { testable: true, path_rules: None },
    /// Answers the other gates: a valid approval satisfies them.
    Approval = "approval" { testable: false, path_rules: None },
}

impl GateName {
    /// Reads a recorded name; `None` for a gate of another version of the rules.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|gate| gate.as_str() == name)
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
        for name in ["leases", "Scope", ""] {
            assert_eq!(GateName::parse(name), None, "{name}");
        }
    }
}
