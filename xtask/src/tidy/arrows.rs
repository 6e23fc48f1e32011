//! Allowed dependencies between our crates.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Finding;
use crate::cargo;

struct Arrows {
    from: &'static str,
    /// Crates that the crate itself may use.
    to: &'static [&'static str],
    /// Additional crates that its tests may use.
    to_in_tests: &'static [&'static str],
}

/// Any other dependency, and any crate missing from this list, is rejected.
const ARROWS: &[Arrows] = &[
    Arrows { from: "actum-core", to: &[], to_in_tests: &[] },
    Arrows { from: "actum-edit", to: &["actum-core"], to_in_tests: &[] },
    Arrows { from: "actum-record", to: &["actum-core"], to_in_tests: &[] },
    Arrows { from: "actum-api", to: &["actum-core", "actum-record"], to_in_tests: &[] },
    Arrows { from: "actum-document", to: &["actum-core"], to_in_tests: &[] },
    Arrows {
        from: "actum-action",
        to: &["actum-core", "actum-document", "actum-record"],
        to_in_tests: &[],
    },
    Arrows {
        from: "actum-task",
        to: &["actum-core", "actum-document", "actum-edit", "actum-gate", "actum-record"],
        to_in_tests: &[],
    },
    Arrows {
        from: "actum-agent",
        to: &["actum-core", "actum-document", "actum-gate", "actum-record"],
        to_in_tests: &["actum-testkit"],
    },
    Arrows {
        from: "actum-access",
        to: &["actum-core", "actum-gate", "actum-record"],
        to_in_tests: &[],
    },
    Arrows { from: "actum-gate", to: &["actum-core", "actum-record"], to_in_tests: &[] },
    Arrows { from: "actum-git", to: &["actum-core"], to_in_tests: &[] },
    Arrows { from: "actum-lease", to: &["actum-core", "actum-record"], to_in_tests: &[] },
    Arrows {
        from: "actum-workspace",
        to: &["actum-core", "actum-edit", "actum-record"],
        to_in_tests: &["actum-testkit"],
    },
    Arrows {
        from: "actum-ledger",
        to: &["actum-core", "actum-record"],
        to_in_tests: &["actum-gate"],
    },
    Arrows {
        from: "actum",
        to: &[
            "actum-access",
            "actum-action",
            "actum-core",
            "actum-document",
            "actum-edit",
            "actum-gate",
            "actum-git",
            "actum-lease",
            "actum-ledger",
            "actum-record",
            "actum-sandbox",
            "actum-sql",
            "actum-task",
            "actum-workspace",
        ],
        to_in_tests: &["actum-testkit"],
    },
    Arrows {
        from: "actum-dispatch",
        to: &[
            "actum",
            "actum-action",
            "actum-agent",
            "actum-core",
            "actum-gate",
            "actum-ledger",
            "actum-record",
            "actum-workspace",
        ],
        to_in_tests: &["actum-edit", "actum-testkit"],
    },
    Arrows {
        from: "actum-file",
        to: &[
            "actum",
            "actum-core",
            "actum-document",
            "actum-edit",
            "actum-gate",
            "actum-ledger",
            "actum-record",
            "actum-sandbox",
            "actum-workspace",
        ],
        to_in_tests: &["actum-testkit"],
    },
    Arrows {
        from: "actum-cli",
        to: &[
            "actum",
            "actum-action",
            "actum-agent",
            "actum-api",
            "actum-core",
            "actum-dispatch",
            "actum-document",
            "actum-edit",
            "actum-file",
            "actum-finder",
            "actum-gate",
            "actum-hook",
            "actum-lease",
            "actum-ledger",
            "actum-mcp",
            "actum-record",
            "actum-sandbox",
            "actum-sql",
            "actum-task",
            "actum-workspace",
        ],
        to_in_tests: &["actum-testkit"],
    },
    Arrows {
        from: "actum-mcp",
        to: &["actum-api", "actum-core", "actum-record"],
        to_in_tests: &[],
    },
    Arrows {
        from: "actum-hook",
        to: &["actum", "actum-core", "actum-edit", "actum-record", "actum-workspace"],
        to_in_tests: &[],
    },
    Arrows {
        from: "actum-finder",
        to: &["actum", "actum-agent", "actum-core", "actum-document", "actum-record"],
        to_in_tests: &["actum-action"],
    },
    Arrows { from: "actum-sandbox", to: &[], to_in_tests: &[] },
    Arrows { from: "actum-sql", to: &["actum-core", "actum-sandbox"], to_in_tests: &[] },
    Arrows {
        from: "actum-testkit",
        to: &["actum-core", "actum-edit", "actum-lease", "actum-record", "actum-workspace"],
        to_in_tests: &[],
    },
    Arrows {
        from: "actum-measure",
        to: &[
            "actum",
            "actum-access",
            "actum-action",
            "actum-agent",
            "actum-api",
            "actum-core",
            "actum-dispatch",
            "actum-edit",
            "actum-file",
            "actum-finder",
            "actum-gate",
            "actum-lease",
            "actum-ledger",
            "actum-record",
            "actum-sandbox",
            "actum-sql",
            "actum-task",
            "actum-testkit",
            "actum-workspace",
            "xtask",
        ],
        to_in_tests: &[],
    },
    Arrows { from: "xtask", to: &[], to_in_tests: &[] },
];

/// Fields of `cargo metadata` that are read.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    /// Name of the package, even if the manifest renames it.
    name: String,
    /// Kind of dependency. `None` is a normal dependency of the crate itself.
    kind: Option<Kind>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Dev,
    Build,
}

/// Reason why the dependencies could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArrowsError {
    #[error("starting `cargo metadata`: {0}")]
    Start(#[from] std::io::Error),
    #[error("`cargo metadata` failed: {0}")]
    Failed(String),
    #[error("reading the output of `cargo metadata`: {0}")]
    Output(#[from] serde_json::Error),
}

pub(super) fn check(root: &Path) -> Result<Vec<Finding>, ArrowsError> {
    let output = cargo(root).args(["metadata", "--format-version", "1", "--no-deps"]).output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(ArrowsError::Failed(message));
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let ours: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    Ok(metadata.packages.iter().flat_map(|package| wrong_arrows(root, package, &ours)).collect())
}

fn wrong_arrows(root: &Path, package: &Package, ours: &[&str]) -> Vec<Finding> {
    let Package { name, manifest_path, dependencies } = package;
    let manifest = manifest_path.strip_prefix(root).unwrap_or(manifest_path).to_string_lossy();
    let Some(arrows) = ARROWS.iter().find(|arrows| arrows.from == name) else {
        let problem = format!(
            "the crate `{name}` is not in the table of `xtask/src/tidy/arrows.rs`; add what it may \
             depend on"
        );
        return vec![Finding::new(&manifest, None, problem)];
    };
    dependencies
        .iter()
        .filter(|dependency| ours.contains(&dependency.name.as_str()))
        .filter_map(|dependency| arrows.refusal(dependency))
        .map(|problem| Finding::new(&manifest, None, problem))
        .collect()
}

impl Arrows {
    fn refusal(&self, dependency: &Dependency) -> Option<String> {
        let Self { from, to, to_in_tests } = self;
        let target = dependency.name.as_str();
        let in_tests = dependency.kind == Some(Kind::Dev);
        if to.contains(&target) || in_tests && to_in_tests.contains(&target) {
            return None;
        }
        let hint = if to_in_tests.contains(&target) {
            "only its tests may, as a dev-dependency".to_owned()
        } else if to.is_empty() {
            "it may depend on no crate of ours".to_owned()
        } else {
            format!("it may depend on `{}`", to.join("`, `"))
        };
        Some(format!("`{from}` may not depend on `{target}`; {hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::testing::write_tree;

    /// Returns the findings in a workspace of these crates, each with the lines after `[package]` in its manifest.
    fn found(crates: &[(&str, &str)]) -> Vec<String> {
        let mut files = vec![(
            "Cargo.toml".into(),
            "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]".into(),
        )];
        for (name, rest) in crates {
            let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{rest}");
            files.push((format!("crates/{name}/Cargo.toml"), manifest));
            files.push((format!("crates/{name}/src/lib.rs"), String::new()));
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(p, c): &(String, String)| (&**p, &**c)).collect();
        let root = write_tree(&files);
        let root = root.path().canonicalize().unwrap();
        check(&root).unwrap().iter().map(ToString::to_string).collect()
    }

    fn on(kind: &str, names: &[&str]) -> String {
        let mut table = format!("[{kind}]\n");
        for name in names {
            table += &format!("{name} = {{ path = \"../{name}\" }}\n");
        }
        table
    }

    #[test]
    fn dependencies_of_the_design_are_allowed() {
        let both = on("dependencies", &["actum-core", "actum-workspace"]);
        let tests = on("dev-dependencies", &["actum-testkit"]);
        let found = found(&[
            ("actum-cli", &format!("{both}{tests}")),
            ("actum-core", ""),
            ("actum-testkit", &both),
            ("actum-workspace", &format!("{}{tests}", on("dependencies", &["actum-core"]))),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn every_other_dependency_is_reported_even_when_renamed() {
        let renamed =
            "[dependencies]\ntools = { path = \"../actum-testkit\", package = \"actum-testkit\" }";
        let found = found(&[
            ("actum-cli", renamed),
            ("actum-core", &on("dev-dependencies", &["actum-testkit"])),
            ("actum-testkit", ""),
            ("actum-workspace", &on("build-dependencies", &["actum-cli"])),
        ]);
        assert_eq!(
            found,
            [
                "crates/actum-cli/Cargo.toml: `actum-cli` may not depend on `actum-testkit`; only \
                 its tests may, as a dev-dependency",
                "crates/actum-core/Cargo.toml: `actum-core` may not depend on `actum-testkit`; it \
                 may depend on no crate of ours",
                "crates/actum-workspace/Cargo.toml: `actum-workspace` may not depend on \
                 `actum-cli`; it may depend on `actum-core`, `actum-edit`, `actum-record`",
            ]
        );
    }
}
