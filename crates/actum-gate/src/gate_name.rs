//! Names of the gates: one table, in the order in which a decision lists them.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::gate::output::{self, OutputRule};

macro_rules! gates {
    ($($(#[$doc:meta])* $gate:ident = $name:literal { testable: $testable:literal, output: $output:expr },)*) => {
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

            /// Whether paths and commands alone can make the gate refuse a change, so that a policy test can expect it.
            pub(crate) fn is_testable(self) -> bool {
                match self {
                    $(Self::$gate => $testable,)*
                }
            }

            /// Built-in rules by which the gate refuses a path alone, which result files obey.
            pub(crate) fn output_rules(self) -> Vec<OutputRule> {
                let rules: Option<fn() -> Vec<OutputRule>> = match self {
                    $(Self::$gate => $output,)*
                };
                rules.map(|rules| rules()).unwrap_or_default()
            }
        }
    };
}

// A new gate comes before `approval`, which answers the gates above it. A policy test has no content and no approval, so
// the gates about these are not `testable`.
gates! {
    /// Denies changes of protected paths.
    Protected = "protected" { testable: true, output: Some(output::protected_rules) },
    /// Denies paths outside the scopes.
    Scope = "scope" { testable: true, output: None },
    /// Denies changes that exceed a budget.
    Budget = "budget" { testable: true, output: None },
    /// Judges the commands of a change.
    Commands = "commands" { testable: true, output: None },
    /// Denies credentials in new content.
    Credentials = "credentials" { testable: false, output: None },
    /// Requires approval for risky changes.
    Tier = "tier" { testable: true, output: Some(output::tier_rules) },
    /// Asks the operator's access policies.
    Access = "access" { testable: true, output: None },
    /// Answers the other gates: a valid approval lifts what they require.
    Approval = "approval" { testable: false, output: None },
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
        for name in ["lease", "Scope", ""] {
            assert_eq!(GateName::parse(name), None, "{name}");
        }
    }
}
