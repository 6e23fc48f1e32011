//! Names of all gates, defined in one table in the order in which a decision lists them.

use std::fmt;

use serde::{Serialize, Serializer};

/// Set of built-in rules about paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathRules {
    /// Groups of protected paths.
    Protected,
    /// Paths whose risk tier requires an approval.
    Tier,
}

macro_rules! gates {
    ($($(#[$doc:meta])* $gate:ident = $name:literal { testable: $testable:literal, path_rules: $path_rules:expr },)*) => {
        /// Gate of the current decision rules. Records store gate names as text, since other versions have
        /// other gates.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum GateName {
            $($(#[$doc])* $gate,)*
        }

        impl GateName {
            /// All gates, in the order in which a decision lists them.
            pub const ALL: &'static [Self] = &[$(Self::$gate,)*];

            /// Returns the name of the gate in documents and policy tests.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$gate => $name,)*
                }
            }

            /// Returns true if the gate can refuse a change because of its paths and commands only, so that a
            /// policy test can expect it to.
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

// A new gate must come before `approval`, which responds to the verdicts of the gates above it. Policy tests
// have no content and no approvals, so a gate that depends on these is not `testable`.
gates! {
    /// Denies changes to protected paths.
    Protected = "protected" { testable: true, path_rules: Some(PathRules::Protected) },
    /// Denies paths outside the scopes of the request and the policies.
    Scope = "scope" { testable: true, path_rules: None },
    /// Denies changes that exceed a budget.
    Budget = "budget" { testable: true, path_rules: None },
    /// Judges the commands that run for a change.
    Commands = "commands" { testable: true, path_rules: None },
    /// Denies credentials in new content.
    Credentials = "credentials" { testable: false, path_rules: None },
    /// Denies requests whose lease does not allow them, or that lack a required lease.
    Lease = "lease" { testable: false, path_rules: None },
    /// Requires an approval for risky changes.
    Tier = "tier" { testable: true, path_rules: Some(PathRules::Tier) },
    /// Evaluates the operator's access policies.
    Access = "access" { testable: true, path_rules: None },
    /// Checks for a valid approval if another gate requires one.
    Approval = "approval" { testable: false, path_rules: None },
}

impl GateName {
    /// Parses a recorded gate name. Returns `None` for a gate that this version does not have.
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
    fn recorded_gate_names_parse_and_unknown_names_do_not() {
        for gate in GateName::ALL {
            assert_eq!(GateName::parse(gate.as_str()), Some(*gate));
        }
        for name in ["leases", "Scope", ""] {
            assert_eq!(GateName::parse(name), None, "{name}");
        }
    }
}
