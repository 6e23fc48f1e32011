//! Rules of policies and built-in rules that raise the risk tier of a change.

use actum_core::path::Cut;
use actum_core::{PathRule, RelPath, RiskTier};
use actum_record::receipt::EffectKind;
use serde::{Deserialize, Serialize};

use crate::spelling::GuardKind;

/// Rule of a policy that raises the risk tier of a change. It can never lower the tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierRule {
    /// Minimum risk tier of a change that the rule matches.
    pub tier: RiskTier,
    /// Path patterns that the rule matches, in any spelling.
    pub paths: Vec<PathRule>,
    /// Effects on a path that the rule matches. An empty list matches all effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectKind>,
    /// Reason for the tier, which is shown to the approver.
    pub why: String,
    /// Example paths that the rule must match.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Example paths that the rule must not match.
    #[serde(default, rename = "not_match", skip_serializing_if = "Vec::is_empty")]
    pub not_matches: Vec<String>,
}

/// Paths of a built-in rule as [`PathRule`] patterns, with examples. The patterns match paths in any spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltInPaths {
    /// Patterns for directories. They also match if the workspace itself is inside such a directory.
    pub directories: &'static [&'static str],
    /// Patterns for files. Directories above the workspace do not match them.
    pub files: &'static [&'static str],
    /// Example paths that the rule matches.
    pub matches: &'static [&'static str],
    /// Similar paths that the rule does not match.
    pub not_matches: &'static [&'static str],
}

/// Built-in rule that raises the risk tier of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// Permanent id of the rule, which decisions record.
    pub id: &'static str,
    /// Minimum risk tier of a change to these paths.
    pub tier: RiskTier,
    /// Paths that the rule matches.
    pub paths: BuiltInPaths,
    /// Reason for the tier, as a clause about the path.
    pub why: &'static str,
}

impl BuiltInPaths {
    /// Returns all patterns, starting with those for files.
    pub fn patterns(&self) -> impl Iterator<Item = &'static str> {
        self.files.iter().chain(self.directories).copied()
    }

    pub(crate) fn rules(&self) -> impl Iterator<Item = (&'static str, GuardKind)> {
        let files = self.files.iter().map(|&rule| (rule, GuardKind::File));
        files.chain(self.directories.iter().map(|&rule| (rule, GuardKind::Directory)))
    }

    /// Panics if a pattern is invalid, an example is wrong, or there are too few examples.
    #[cfg(test)]
    pub(super) fn check(&self, name: &str) {
        let rules: Vec<_> = self.patterns().map(|rule| PathRule::new(rule).unwrap()).collect();
        check_examples(&rules, self.matches, self.not_matches)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for list in [self.matches, self.not_matches] {
            assert!(list.len() > 1, "{name}");
        }
    }
}

/// Reason why an example of a rule is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExampleError {
    /// The example is not a valid path.
    #[error("the example `{}` is not a path: {message}", Cut(example.as_bytes(), 200))]
    NoPath {
        /// Example path, as written in the policy.
        example: String,
        /// Reason why the example is not a path.
        message: String,
    },
    /// The example is listed under `match`, but the rule does not match it.
    #[error("the rule does not match `{}`, which is listed under `match`", Cut(example.as_bytes(), 200))]
    NoMatch {
        /// Example path, as written in the policy.
        example: String,
    },
    /// The example is listed under `not_match`, but the rule matches it.
    #[error("the rule matches `{}`, which is listed under `not_match`", Cut(example.as_bytes(), 200))]
    Match {
        /// Example path, as written in the policy.
        example: String,
    },
}

impl TierRule {
    /// Checks that the rule matches its own examples as declared.
    ///
    /// # Errors
    /// Returns [`ExampleError`] for the first wrong example.
    pub fn check_examples(&self) -> Result<(), ExampleError> {
        check_examples(&self.paths, &self.matches, &self.not_matches)
    }
}

pub(crate) fn check_examples(
    rules: &[PathRule],
    matches: &[impl AsRef<str>],
    not_matches: &[impl AsRef<str>],
) -> Result<(), ExampleError> {
    let guards: Vec<_> = rules.iter().map(crate::spelling::Guard::new).collect();
    let matches_example = |example: &str| {
        let path = RelPath::new(example).map_err(|error| ExampleError::NoPath {
            example: example.to_owned(),
            message: error.problem.to_string(),
        })?;
        let path = crate::spelling::Spellings::from_path(&path);
        Ok(guards.iter().any(|guard| guard.covers(&path)))
    };
    for example in matches.iter().map(AsRef::as_ref) {
        if !matches_example(example)? {
            return Err(ExampleError::NoMatch { example: example.to_owned() });
        }
    }
    for example in not_matches.iter().map(AsRef::as_ref) {
        if matches_example(example)? {
            return Err(ExampleError::Match { example: example.to_owned() });
        }
    }
    Ok(())
}

/// Built-in tier rules, which apply to every change.
pub static BUILT_IN: [BuiltIn; 7] = [
    BuiltIn {
        id: "ci",
        tier: RiskTier::R3,
        paths: BuiltInPaths {
            directories: &[
                "**/.github/workflows",
                "**/.github/actions",
                "**/.gitlab/ci",
                "**/.circleci",
                "**/.buildkite",
                "**/.forgejo/workflows",
                "**/.gitea/workflows",
                "**/.builds",
                "**/.sourcehut",
                "**/.semaphore",
                "**/.teamcity",
                "**/.azure-pipelines",
                "**/.woodpecker",
                "**/.tekton",
                "**/ci_scripts",
                "**/zuul.d",
            ],
            files: &[
                "**/action.yml",
                "**/action.yaml",
                "**/bitrise.yml",
                "**/codemagic.yaml",
                "**/.gitlab-ci.yml",
                "**/.gitlab-ci.yaml",
                "**/.travis.yml",
                "**/.drone.yml",
                "**/.drone.star",
                "**/.zuul.yaml",
                "**/.prow.yaml",
                "**/.packit.yaml",
                "**/wercker.yml",
                "**/.woodpecker*",
                "**/.build.yml",
                "**/.sourcehut.yml",
                "**/.cirrus.yml",
                "**/.cirrus.star",
                "**/appveyor.yml",
                "**/.appveyor.yml",
                "**/azure-pipelines*.yml",
                "**/azure-pipelines*.yaml",
                "**/bitbucket-pipelines.yml",
                "**/buildspec*.yml",
                "**/buildspec*.yaml",
                "**/cloudbuild.yaml",
                "**/cloudbuild.yml",
                "**/jenkinsfile*",
            ],
            matches: &[
                ".github/workflows/ci.yml",
                ".gitlab-ci.yml",
                "ci/Jenkinsfile.release",
                "ios/ci_scripts/ci_post_clone.sh",
                ".zuul.yaml",
            ],
            not_matches: &[".github/ISSUE_TEMPLATE.md", "docs/workflows/ci.md", "src/circleci.rs"],
        },
        why: "continuous integration runs this file with the project's secrets",
    },
    BuiltIn {
        id: "production",
        tier: RiskTier::R3,
        paths: BuiltInPaths {
            directories: &["**/.kamal", "**/.ebextensions", "**/.platform/hooks"],
            files: &[
                "**/*.tf",
                "**/*.tfvars",
                "**/*.tfvars.json",
                "**/*.tf.json",
                "**/*.tofu",
                "**/*.tofu.json",
                "**/terragrunt.hcl",
                "**/pulumi.*.yaml",
                "**/pulumi.yaml",
                "**/pulumi.*.yml",
                "**/pulumi.yml",
                "**/serverless.yml",
                "**/serverless.yaml",
                "**/serverless.json",
                "**/serverless.ts",
                "**/serverless.js",
                "**/.platform.app.yaml",
                "**/fly.toml",
                "**/vercel.json",
                "**/netlify.toml",
                "**/procfile",
                "**/app.yaml",
                "**/wrangler.toml",
                "**/wrangler.json",
                "**/wrangler.jsonc",
                "**/render.yaml",
                "**/kustomization",
                "**/kustomization.yaml",
                "**/kustomization.yml",
                "**/chart.yaml",
                "**/skaffold.yaml",
            ],
            matches: &[
                "infra/main.tf",
                "infra/main.tofu",
                "Pulumi.prod.yml",
                "deploy/Kustomization",
                "fly.toml",
                "deploy/kustomization.yaml",
                ".ebextensions/a.config",
            ],
            not_matches: &["src/terraform.rs", "docs/fly.md", "Dockerfile"],
        },
        why: "this file determines what runs in production",
    },
    BuiltIn {
        id: "hooks",
        tier: RiskTier::R3,
        paths: BuiltInPaths {
            directories: &["**/.devcontainer", "**/.idx", "**/.venv/bin", "**/venv/bin"],
            files: &[
                "**/.rprofile",
                "**/.renviron",
                "**/.octaverc",
                "**/.irbrc",
                "**/.pryrc",
                "**/.ghci",
                "**/.ocamlinit",
                "**/.helix/languages.toml",
                "**/.vim/coc-settings.json",
                "**/rust-analyzer.toml",
                "**/.rust-analyzer.toml",
                "**/.rspec",
                "**/.codesandbox/tasks.json",
                "**/.hg/hgrc",
                "**/.sl/config",
                "**/.jj/repo/config.toml",
                "**/.huskyrc*",
                "**/.pre-commit-config.yaml",
                "**/.pre-commit-config.yml",
                "**/lefthook.*",
                "**/.simple-git-hooks.*",
                "**/simple-git-hooks.*",
                "**/.overcommit.yml",
                "**/.lefthook*",
                "**/.lintstagedrc*",
                "**/lint-staged.config.*",
                "**/.vscode/tasks.json",
                "**/.devcontainer.json",
                "**/.gitmodules",
            ],
            matches: &[
                ".pre-commit-config.yaml",
                ".vscode/tasks.json",
                ".devcontainer/devcontainer.json",
                ".huskyrc.json",
                ".Rprofile",
                ".idx/dev.nix",
                ".jj/repo/config.toml",
                "lib/.irbrc",
                ".pryrc",
                ".helix/languages.toml",
                ".venv/bin/activate",
            ],
            not_matches: &["hgrc", ".vscode/settings.json", ".gitignore", "hooks/use-state.ts"],
        },
        why: "hooks or tools that open the project run this file automatically",
    },
    BuiltIn {
        id: "system-units",
        tier: RiskTier::R3,
        paths: BuiltInPaths {
            directories: &["**/cron.d", "**/*.service.d", "**/*.timer.d", "**/*.socket.d"],
            files: &["**/*.service", "**/*.timer", "**/*.socket", "**/crontab", "**/*.crontab"],
            matches: &["packaging/actum.service", "etc/cron.d/backup", "x.service.d/override.conf"],
            not_matches: &["src/service.rs", "src/timer.ts", "user.service.ts"],
        },
        why: "the system runs this file automatically",
    },
    BuiltIn {
        id: "agent-orders",
        tier: RiskTier::R3,
        paths: BuiltInPaths {
            directories: &[
                "**/.agents",
                "**/.idea",
                "**/.claude/output-styles",
                "**/.claude/plugins",
                "**/.claude/rules",
                "**/.amazonq/rules",
                "**/.gemini",
                "**/.github/agents",
                "**/.github/chatmodes",
                "**/.github/hooks",
                "**/.github/instructions",
                "**/.github/prompts",
                "**/.junie",
                "**/.opencode",
                "**/.roo",
                "**/.windsurf",
                "**/.agent",
                "**/.amp",
                "**/.claude-plugin",
                "**/.grok",
                "**/.augment",
                "**/.factory",
                "**/.kilocode",
                "**/.openhands",
                "**/.trae",
            ],
            files: &[
                "**/.clinerules",
                "**/.cursorrules",
                "**/.dir-locals.el",
                "**/.dir-locals-2.el",
                "**/.exrc",
                "**/.gdbinit",
                "**/.goosehints",
                "**/.lldbinit",
                "**/.lvimrc",
                "**/.nvim.lua",
                "**/.nvimrc",
                "**/.roomodes",
                "**/.roorules*",
                "**/.rules",
                "**/.vimrc",
                "**/.windsurfrules",
                "**/gemini.md",
                "**/qwen.md",
                "**/*.code-workspace",
                "**/.gitpod.yml",
                "**/agent.md",
                "**/agents.md",
                "**/agents.override.md",
                "**/crush.md",
                "**/warp.md",
                "**/claude.md",
                "**/claude.local.md",
                "**/.github/copilot-instructions.md",
            ],
            matches: &[
                "p.code-workspace",
                ".idea/workspace.xml",
                ".cursorrules",
                ".roo/rules/a.md",
                "CLAUDE.md",
                "sub/AGENTS.md",
                "AGENT.md",
                "CLAUDE.local.md",
                ".agents/skills/a/SKILL.md",
                ".claude/rules/a.md",
                ".github/hooks/a.json",
                ".openhands/setup.sh",
                ".kilocode/rules/a.md",
            ],
            not_matches: &[
                "x.rules",
                "docs/agents/x.md",
                "claude.rs",
                "idea/mod.rs",
                ".github/instructions.md",
            ],
        },
        why: "this file instructs coding agents or configures editors that open the project",
    },
    BuiltIn {
        id: "build-tools",
        tier: RiskTier::R3,
        paths: BuiltInPaths {
            directories: &["**/.mise", "**/.config/mise", "**/mise/conf.d", "**/.yarn/plugins"],
            files: &[
                "**/binding.gyp",
                "**/mise.toml",
                "**/mise/config.toml",
                "**/mise/config.*.toml",
                "**/mise.*.toml",
                "**/.mise.toml",
                "**/.mise.*.toml",
                "**/.rtx.toml",
                "**/.pnp.cjs",
                "**/.pnp.loader.mjs",
                "**/.npmrc",
                "**/.pnpmfile.*",
                "**/pnpm-workspace.yaml",
                "**/rust-toolchain",
                "**/rust-toolchain.toml",
                "**/bunfig.toml",
                "**/package.json5",
                "**/package.yaml",
                "**/.yarnrc",
                "**/.yarn/releases/*",
                "**/.yarnrc.yml",
                "**/.mvn/extensions.xml",
                "**/.mvn/jvm.config",
                "**/.mvn/maven.config",
                "**/.bundle/config",
                "**/.bazeliskrc",
                "**/.bazelversion",
                "**/.bazelrc",
                "**/tools/bazel",
                "**/.cargo/config.toml",
                "**/.cargo/config",
            ],
            matches: &[
                "mise.toml",
                "mise.local.toml",
                ".config/mise/config.toml",
                "addon/binding.gyp",
                ".npmrc",
                ".cargo/config.toml",
                "sub/.bazelrc",
                ".yarnrc.yml",
                ".yarnrc",
                "packages/a/package.yaml",
                "pnpm-workspace.yaml",
                "rust-toolchain.toml",
            ],
            not_matches: &[
                "cargo/config.toml",
                "docs/mise.md",
                ".mvn/wrapper/maven-wrapper.properties",
            ],
        },
        why: "build tools automatically run or load programs that this file names",
    },
    BuiltIn {
        id: "login",
        tier: RiskTier::R3,
        paths: BuiltInPaths {
            directories: &[
                "**/.config/autostart",
                "**/.config/environment.d",
                "**/.config/fish",
                "**/.config/git",
                "**/.config/nvim",
                "**/.config/plasma-workspace",
                "**/.emacs.d",
                "**/.local/bin",
                "**/.local/share/applications",
                "**/.config/systemd/user",
                "**/.ssh",
                "**/library/launchagents",
            ],
            files: &[
                "**/authorized_keys",
                "**/usercustomize.py",
                "**/sitecustomize.py",
                "**/site-packages/*.pth",
                "**/.bash_aliases",
                "**/.bash_login",
                "**/.bash_logout",
                "**/.bash_profile",
                "**/.bashrc",
                "**/.cshrc",
                "**/.curlrc",
                "**/.emacs",
                "**/.gitconfig",
                "**/.inputrc",
                "**/.kshrc",
                "**/.login",
                "**/.pam_environment",
                "**/.profile",
                "**/.screenrc",
                "**/.tcshrc",
                "**/.tmux.conf",
                "**/.wgetrc",
                "**/.xinitrc",
                "**/.xprofile",
                "**/.xsession",
                "**/.xsessionrc",
                "**/.zlogin",
                "**/.zlogout",
                "**/.zprofile",
                "**/.zshenv",
                "**/.zshrc",
            ],
            matches: &[
                ".bashrc",
                "dotfiles/.zshrc",
                ".ssh/config",
                "Library/LaunchAgents/a.plist",
                ".config/autostart/a.desktop",
            ],
            not_matches: &[
                ".config/foo/main.rs",
                "docs/bashrc.md",
                "ssh/mod.rs",
                "library/launch.rs",
            ],
        },
        why: "a shell, a login session or the system runs or loads this file for the user",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// AA-1: every built-in rule matches its examples, but not similar paths.
    #[test]
    fn every_built_in_rule_matches_its_examples_but_not_similar_paths() {
        for built_in in &BUILT_IN {
            built_in.paths.check(built_in.why);
        }
    }
}
