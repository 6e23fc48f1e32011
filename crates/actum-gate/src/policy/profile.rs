//! Groups of built-in protected paths, and the profiles that they belong to (D-5).

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::tier_rule::BuiltInPaths;
use crate::spelling::{Guard, Guards, Spellings};

/// Profile that determines which groups of paths are protected in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Protects only secrets and the paths that all other protection depends on.
    Critical,
    /// Protects the critical paths, and paths that instruct agents or run automatically. This is the default.
    #[default]
    Interactive,
    /// Protects the paths that task plans must not touch according to the seed (EX-4).
    AgentExecutor,
}

/// Whether the operator's policy may exempt exact paths of a group from protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceptions {
    /// Exceptions are allowed in the profile `interactive` only.
    Interactive,
    /// Exceptions are never allowed, because the paths determine how other changes are judged or undone.
    Never,
}

/// Group of paths that are protected for the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectedGroup {
    /// Permanent id of the group, which decisions record.
    pub id: &'static str,
    /// Description of the group, for messages.
    pub name: &'static str,
    /// Profiles in which the group is protected.
    pub profiles: &'static [Profile],
    /// Whether paths of the group can be exempt from protection.
    pub exceptions: Exceptions,
    /// Protected paths, which match in any spelling.
    pub paths: BuiltInPaths,
}

const EVERYWHERE: &[Profile] = &[Profile::Critical, Profile::Interactive, Profile::AgentExecutor];

/// All groups of built-in protected paths.
pub static PROTECTED_GROUPS: [ProtectedGroup; 6] = [
    ProtectedGroup {
        id: "state",
        name: "state of git and actum, and policy files",
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
        name: "task reports, rollback data and active plans",
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
        name: "configuration of agents and hooks",
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
        name: "build and packaging configuration",
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
        name: "documents that instruct agents",
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

/// Returns the built-in protection rules that match a path, in order, with the group of each.
pub(crate) fn groups_covering<'p>(
    path: &'p Spellings<'p>,
) -> impl Iterator<Item = &'static (Guard, &'static ProtectedGroup)> + 'p {
    guards().covering(path)
}

/// Returns the built-in protection rules that match `path` as a directory and may match paths below it
/// (`PathRule::leads_below`), with the group of each.
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

    /// Returns the name of the profile in a policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Interactive => "interactive",
            Self::AgentExecutor => "agent-executor",
        }
    }

    /// Returns true if the profile protects every group that `other` protects.
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

    /// D-5: every rule must be valid, because an invalid rule would protect nothing.
    #[test]
    fn group_rules_are_valid_and_every_profile_includes_the_critical_ones() {
        for group in &PROTECTED_GROUPS {
            group.paths.check(group.name);
        }
        for profile in Profile::ALL {
            assert!(profile.protects_all_of(Profile::Critical), "{profile}");
        }
        assert!(!Profile::Critical.protects_all_of(Profile::Interactive));
    }
}
