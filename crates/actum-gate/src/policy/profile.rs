//! Groups of paths that are protected, and the profiles that they belong to (D-5).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which groups are protected in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Only what protects everything else, and secrets.
    Critical,
    /// That, and what gives agents their orders or runs unasked. The default.
    #[default]
    Interactive,
    /// What the task plans of the seed may not touch (EX-4).
    AgentExecutor,
}

/// Paths that are protected for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectedGroup {
    /// Its name.
    pub name: &'static str,
    /// Where it is protected.
    pub profiles: &'static [Profile],
    /// Rules for paths, compared with all spellings of a name.
    pub rules: &'static [&'static str],
}

/// All groups.
pub static PROTECTED_GROUPS: [ProtectedGroup; 5] = [
    ProtectedGroup {
        name: "the state of git and actum, and their policy",
        profiles: &[Profile::Critical, Profile::Interactive, Profile::AgentExecutor],
        rules: &["**/.git", "**/git~*", "**/.actum", "**/actum~*", "**/actum.toml"],
    },
    ProtectedGroup {
        name: "secrets",
        profiles: &[Profile::Critical, Profile::Interactive, Profile::AgentExecutor],
        rules: &[
            "**/.env*",
            "**/env~*",
            "**/credentials.json",
            "**/creden~*",
            "**/secrets.*",
            "**/secret~*",
        ],
    },
    ProtectedGroup {
        name: "configuration that gives agents and hooks their orders",
        profiles: &[Profile::Interactive],
        rules: &[
            "**/.claude/settings*.json",
            "**/.claude/hooks",
            "**/.codex",
            "**/.cursor/mcp.json",
            "**/.cursor/hooks*",
            "**/.gemini/settings.json",
            "**/.mcp.json",
            "**/opencode.json*",
            "**/.opencode/plugin*",
            "**/.githooks",
            "**/.husky",
            "**/.vscode/mcp.json",
            "**/.roo/mcp.json",
            "**/.kiro/settings/mcp.json",
            "**/.amazonq/mcp.json",
        ],
    },
    ProtectedGroup {
        name: "what builds and packages the project",
        profiles: &[Profile::AgentExecutor],
        rules: &["requirements.txt", "pyproject.toml", "setup.py", ".pre-commit-config.yaml"],
    },
    ProtectedGroup {
        name: "the documents that the agents work by",
        profiles: &[Profile::AgentExecutor],
        rules: &[
            "agent/rules/agent_rules.md",
            "agent/agent_rules.md",
            "agent/architecture_proposal.md",
            "agent/agent_inspector/agent_inspector.md",
            "agent/agent_executor/agent_executor.md",
            "agent/agent_protocol/README.md",
            "README.md",
        ],
    },
];

impl Profile {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Interactive, Self::AgentExecutor];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Interactive => "interactive",
            Self::AgentExecutor => "agent-executor",
        }
    }

    /// Whether every group of `other` is one of its own.
    pub fn protects_all_of(self, other: Self) -> bool {
        let others = PROTECTED_GROUPS.iter().filter(|group| group.profiles.contains(&other));
        others.into_iter().all(|group| group.profiles.contains(&self))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use actum_core::PathRule;

    use super::*;

    /// D-5: a rule that could not be read would protect nothing.
    #[test]
    fn every_rule_of_a_group_can_be_read_and_each_profile_has_the_critical_ones() {
        for group in &PROTECTED_GROUPS {
            for rule in group.rules {
                PathRule::new(rule).unwrap();
            }
        }
        for profile in Profile::ALL {
            assert!(profile.protects_all_of(Profile::Critical), "{profile}");
        }
        assert!(!Profile::Critical.protects_all_of(Profile::Interactive));
    }
}
