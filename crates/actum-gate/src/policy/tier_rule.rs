//! What raises the risk tier of a change: rules of a policy, and those that are built in.

use actum_core::path::Cut;
use actum_core::receipt::EffectKind;
use actum_core::{PathRule, RelPath, RiskTier};
use serde::{Deserialize, Serialize};

/// A rule of a policy. It can only raise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierRule {
    /// What the change is at least, if the rule speaks of something in it.
    pub tier: RiskTier,
    /// The paths that it speaks of, in any spelling.
    pub paths: Vec<PathRule>,
    /// What happens to them; anything, where nothing is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectKind>,
    /// Why, for the person who is asked.
    pub why: String,
    /// Paths that it speaks of.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Paths that it does not speak of.
    #[serde(default, rename = "not_match", skip_serializing_if = "Vec::is_empty")]
    pub not_matches: Vec<String>,
}

/// A rule that holds everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// What a change is at least.
    pub tier: RiskTier,
    /// The paths, as [`PathRule`] reads them, in any spelling.
    pub paths: &'static [&'static str],
    /// Why.
    pub why: &'static str,
    /// Paths that it speaks of.
    pub matches: &'static [&'static str],
    /// Paths that look alike and that it does not speak of.
    pub not_matches: &'static [&'static str],
}

/// An example of a rule that is not as it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExampleError {
    /// No path can be that.
    #[error("the example `{}` is no path: {message}", Cut(example.as_bytes(), 200))]
    NoPath {
        /// The example.
        example: String,
        /// Why.
        message: String,
    },
    /// The rule does not speak of it.
    #[error("the rule does not speak of `{}`, which stands under `match`", Cut(example.as_bytes(), 200))]
    NoMatch {
        /// The example.
        example: String,
    },
    /// The rule speaks of it.
    #[error("the rule speaks of `{}`, which stands under `not_match`", Cut(example.as_bytes(), 200))]
    Match {
        /// The example.
        example: String,
    },
}

impl TierRule {
    /// Sees to it that its examples are what they say.
    ///
    /// # Errors
    /// [`ExampleError`] of the first that is not.
    pub fn check_examples(&self) -> Result<(), ExampleError> {
        check_examples(&self.paths, &self.matches, &self.not_matches)
    }
}

pub(crate) fn check_examples(
    rules: &[PathRule],
    matches: &[impl AsRef<str>],
    not_matches: &[impl AsRef<str>],
) -> Result<(), ExampleError> {
    let guards: Vec<_> = rules.iter().map(crate::gate::Guard::new).collect();
    let speaks = |example: &str| {
        let path = RelPath::new(example).map_err(|error| ExampleError::NoPath {
            example: example.to_owned(),
            message: error.problem.to_string(),
        })?;
        let path = crate::gate::Spellings::of(&path);
        Ok(guards.iter().any(|guard| guard.covers(&path)))
    };
    for example in matches.iter().map(AsRef::as_ref) {
        if !speaks(example)? {
            return Err(ExampleError::NoMatch { example: example.to_owned() });
        }
    }
    for example in not_matches.iter().map(AsRef::as_ref) {
        if speaks(example)? {
            return Err(ExampleError::Match { example: example.to_owned() });
        }
    }
    Ok(())
}

/// What everybody's changes are judged by.
pub static BUILT_IN: [BuiltIn; 4] = [
    BuiltIn {
        tier: RiskTier::R3,
        paths: &[
            "**/.github/workflows",
            "**/.github/actions",
            "**/.gitlab-ci.yml",
            "**/.gitlab-ci.yaml",
            "**/.gitlab/ci",
            "**/.circleci",
            "**/.travis.yml",
            "**/.drone.yml",
            "**/.woodpecker*",
            "**/.buildkite",
            "**/.forgejo/workflows",
            "**/.gitea/workflows",
            "**/.builds",
            "**/.build.yml",
            "**/.cirrus.yml",
            "**/.semaphore",
            "**/.teamcity",
            "**/appveyor.yml",
            "**/.appveyor.yml",
            "**/azure-pipelines*.yml",
            "**/azure-pipelines*.yaml",
            "**/.azure-pipelines",
            "**/bitbucket-pipelines.yml",
            "**/buildspec*.yml",
            "**/buildspec*.yaml",
            "**/cloudbuild.yaml",
            "**/cloudbuild.yml",
            "**/jenkinsfile*",
        ],
        why: "it is run by continuous integration, with the secrets of the project",
        matches: &[".github/workflows/ci.yml", ".gitlab-ci.yml", "ci/Jenkinsfile.release"],
        not_matches: &[".github/ISSUE_TEMPLATE.md", "docs/workflows/ci.md", "src/circleci.rs"],
    },
    BuiltIn {
        tier: RiskTier::R3,
        paths: &[
            "**/*.tf",
            "**/*.tfvars",
            "**/*.tf.json",
            "**/terragrunt.hcl",
            "**/pulumi.*.yaml",
            "**/pulumi.yaml",
            "**/serverless.yml",
            "**/fly.toml",
            "**/vercel.json",
            "**/netlify.toml",
            "**/procfile",
            "**/app.yaml",
            "**/wrangler.toml",
            "**/render.yaml",
            "**/kustomization.yaml",
            "**/chart.yaml",
            "**/skaffold.yaml",
            "**/.kamal",
        ],
        why: "it says what runs in production",
        matches: &["infra/main.tf", "fly.toml", "deploy/kustomization.yaml"],
        not_matches: &["src/terraform.rs", "docs/fly.md", "Dockerfile"],
    },
    BuiltIn {
        tier: RiskTier::R3,
        paths: &[
            "**/.pre-commit-config.yaml",
            "**/.pre-commit-config.yml",
            "**/lefthook.yml",
            "**/.lefthook*",
            "**/.lintstagedrc*",
            "**/.vscode/tasks.json",
            "**/.devcontainer",
            "**/.devcontainer.json",
            "**/.gitmodules",
        ],
        why: "it is run by a hook or on opening the project, unasked",
        matches: &[
            ".pre-commit-config.yaml",
            ".vscode/tasks.json",
            ".devcontainer/devcontainer.json",
        ],
        not_matches: &[".vscode/settings.json", ".gitignore", "hooks/use-state.ts"],
    },
    BuiltIn {
        tier: RiskTier::R3,
        paths: &[
            "**/*.service",
            "**/*.timer",
            "**/*.socket",
            "**/crontab",
            "**/cron.d",
            "**/*.crontab",
        ],
        why: "it is started by the system, at a time of its own",
        matches: &["packaging/actum.service", "etc/cron.d/backup"],
        not_matches: &["src/service.rs", "src/timer.ts", "user.service.ts"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// AA-1
    #[test]
    fn every_rule_that_is_built_in_speaks_of_its_examples_and_not_of_what_looks_alike() {
        for built_in in &BUILT_IN {
            let rules: Vec<_> =
                built_in.paths.iter().map(|rule| PathRule::new(rule).unwrap()).collect();
            check_examples(&rules, built_in.matches, built_in.not_matches).unwrap();
            for list in [built_in.matches, built_in.not_matches] {
                assert!(list.len() > 1, "{}", built_in.why);
            }
        }
    }
}
