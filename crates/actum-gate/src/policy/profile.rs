//! Protected path groups, and the profiles that they belong to (D-5).

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::tier_rule::BuiltInPaths;
use crate::spelling::{Guard, Guards, Spellings};

/// Profile: the set of protected path groups in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Only secrets, and the paths that all other protection depends on.
    Critical,
    /// Critical paths, and those that instruct agents or run automatically. The default.
    #[default]
    Interactive,
    /// Paths that task plans must not touch, as in the seed (EX-4).
    AgentExecutor,
}

/// Permission of the operator's policy to exclude exact paths from a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceptions {
    /// In the profile `interactive` only.
    Interactive,
    /// Never: these paths decide about other changes, or about their undo.
    Never,
}

/// Group of paths that are protected for the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectedGroup {
    /// Permanent id, which decisions record.
    pub id: &'static str,
    /// Display name.
    pub name: &'static str,
    /// Profiles that protect the group.
    pub profiles: &'static [Profile],
    /// Permission to exclude paths.
    pub exceptions: Exceptions,
    /// Paths, in any spelling.
    pub paths: BuiltInPaths,
}

const EVERYWHERE: &[Profile] = &[Profile::Critical, Profile::Interactive, Profile::AgentExecutor];

/// All groups.
pub static PROTECTED_GROUPS: [ProtectedGroup; 6] = [
    ProtectedGroup {
        id: "state",
        name: "the state of git and actum, and their policy",
        profiles: EVERYWHERE,
        exceptions: Exceptions::Never,
        paths: BuiltInPaths {
            directories: &["**/.git", "**/git~*", "**/.actum", "**/actum~*"],
            files: &["**/actum.toml"],
            matches: &["GIT~1/config", "a/ACTUM~1", "actum.toml", "a/Actum.toml"],
            not_matches: &[".gitignore", ".github/x", "actum/mod.rs", "docs/actum.toml.md"],
        },
    },
    ProtectedGroup {
        id: "secrets",
        name: "secrets",
        profiles: EVERYWHERE,
        exceptions: Exceptions::Interactive,
        paths: BuiltInPaths {
            directories: &["**/.env", "**/.envs"],
            files: &[
                "**/.env*",
                "**/env~*",
                "**/credentials.json",
                "**/creden~*",
                "**/secrets.*",
                "**/secret~*",
            ],
            matches: &[
                ".env",
                "a/.ENV.local",
                ".envs/production/db",
                "secrets.yaml",
                "credentials.json",
            ],
            not_matches: &["env", "src/environment.rs", "secrets/mod.rs", "credentials.json.md"],
        },
    },
    ProtectedGroup {
        id: "task-reports",
        name: "reports of task plans, what takes them back, and active plans",
        profiles: EVERYWHERE,
        exceptions: Exceptions::Never,
        paths: BuiltInPaths {
            directories: &[
                "**/agent/agent_outputs/reports",
                "**/agent/agent_outputs/archive",
                "**/agent/agent_outputs/plans/plan_active",
            ],
            files: &[],
            matches: &[
                "agent/agent_outputs/reports/20260203_150322_t/rollback.sh",
                "Agent/agent_outputs/reports/x/backups/a.bak",
                "p/agent/agent_outputs/plans/plan_active/task.json",
            ],
            not_matches: &[
                "agent/agent_outputs/notes.md",
                "agent/temp/reports/x",
                "docs/reports/x.md",
            ],
        },
    },
    ProtectedGroup {
        id: "agent-configuration",
        name: "configuration that gives agents and hooks their orders",
        profiles: &[Profile::Interactive],
        exceptions: Exceptions::Interactive,
        paths: BuiltInPaths {
            directories: &[
                "**/.claude/hooks",
                "**/.claude/agents",
                "**/.claude/commands",
                "**/.claude/skills",
                "**/.codex",
                "**/.continue",
                "**/.cursor",
                "**/.kiro",
                "**/.opencode/plugin*",
                "**/.opencode/tool*",
                "**/.gemini/extensions",
                "**/.qwen",
                "**/.zed",
                "**/.githooks",
                "**/.husky",
            ],
            files: &[
                "**/.claude/settings*.json",
                "**/.claude.json",
                "**/.aider.conf.yml",
                "**/.crush.json",
                "**/crush.json",
                "**/.gemini/settings.json",
                "**/.mcp.json",
                "**/opencode.json*",
                "**/.vscode/mcp.json",
                "**/.vscode/settings.json",
                "**/.vscode/tasks.json",
                "**/.roo/mcp.json",
                "**/.amazonq/mcp.json",
            ],
            matches: &[
                ".claude/settings.local.json",
                "a/.Claude/skills/x/SKILL.md",
                "a/.Codex/config.toml",
                ".cursor/rules/a.mdc",
                ".husky/pre-commit",
                ".mcp.json",
                ".vscode/settings.json",
                ".zed/tasks.json",
            ],
            not_matches: &[
                ".claude/plans/x.md",
                ".vscode/launch.json",
                "codex/mod.rs",
                "husky.md",
                "mcp.json",
                "src/cursor/mod.rs",
            ],
        },
    },
    ProtectedGroup {
        id: "build",
        name: "what builds and packages the project",
        profiles: &[Profile::AgentExecutor],
        exceptions: Exceptions::Never,
        paths: BuiltInPaths {
            directories: &[],
            files: &["requirements.txt", "pyproject.toml", "setup.py", ".pre-commit-config.yaml"],
            matches: &["requirements.txt", "Setup.py"],
            not_matches: &["a/requirements.txt", "requirements-dev.txt"],
        },
    },
    ProtectedGroup {
        id: "agent-documents",
        name: "the documents that the agents work by",
        profiles: &[Profile::AgentExecutor],
        exceptions: Exceptions::Never,
        paths: BuiltInPaths {
            directories: &[],
            files: &[
                "agent/rules/agent_rules.md",
                "agent/agent_rules.md",
                "agent/architecture_proposal.md",
                "agent/agent_inspector/agent_inspector.md",
                "agent/agent_executor/agent_executor.md",
                "agent/agent_protocol/README.md",
                "README.md",
            ],
            matches: &["README.md", "agent/rules/agent_rules.md"],
            not_matches: &["docs/README.md", "agent/rules/other.md"],
        },
    },
];

/// Returns the built-in rules of all groups that match a path, in order.
pub(crate) fn groups_covering<'p>(
    path: &'p Spellings<'p>,
) -> impl Iterator<Item = &'static (Guard, &'static ProtectedGroup)> + 'p {
    guards().covering(path)
}

/// Returns the built-in rules of all groups that name a path as a directory and may match below it
/// (`PathRule::leads_below`).
pub(crate) fn groups_below<'p>(
    path: &'p Spellings<'p>,
) -> impl Iterator<Item = &'static (Guard, &'static ProtectedGroup)> + 'p {
    guards().reached_below(path)
}

fn guards() -> &'static Guards<&'static ProtectedGroup> {
    static GUARDS: OnceLock<Guards<&ProtectedGroup>> = OnceLock::new();
    let rules = |group: &'static ProtectedGroup| {
        group.paths.rules().map(move |(rule, kind)| (rule, kind, group))
    };
    GUARDS.get_or_init(|| Guards::built_in(PROTECTED_GROUPS.iter().flat_map(rules)))
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Interactive, Self::AgentExecutor];

    /// Returns the word used in a policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Interactive => "interactive",
            Self::AgentExecutor => "agent-executor",
        }
    }

    /// Returns true if the profile has every group of `other`.
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
    use super::*;

    /// D-5: a rule that could not be read would protect nothing.
    #[test]
    fn every_rule_of_a_group_can_be_read_and_each_profile_has_the_critical_ones() {
        for group in &PROTECTED_GROUPS {
            group.paths.check(group.name);
        }
        for profile in Profile::ALL {
            assert!(profile.protects_all_of(Profile::Critical), "{profile}");
        }
        assert!(!Profile::Critical.protects_all_of(Profile::Interactive));
    }
}
