//! `cargo xtask tidy`: house rules that the compiler does not check, with one file for each kind.

mod arrows;
mod conformance;
mod fences;
mod files;
mod mask;
mod rooms;
mod test_index;
pub(crate) mod tree;

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use crate::{Outcome, prose};
use tree::Tree;

/// Checks that only read the tree. [`arrows`] also runs cargo.
const CHECKS: &[fn(&Tree) -> Vec<Finding>] =
    &[files::check, fences::check, conformance::check, rooms::check];

/// Violation of a house rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Path relative to the root of the repository.
    path: String,
    /// Line number, counted from 1. `None` if the finding is about the whole file.
    line: Option<usize>,
    /// Description of the violation.
    problem: String,
}

impl Finding {
    pub(crate) fn new(
        path: &str,
        line: impl Into<Option<usize>>,
        problem: impl Into<String>,
    ) -> Self {
        Self { path: path.to_owned(), line: line.into(), problem: problem.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.problem),
            None => write!(f, "{}: {}", self.path, self.problem),
        }
    }
}

pub(crate) fn run(root: &Path) -> Outcome {
    Ok(if is_tidy(root)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints every finding, and returns whether there were none.
pub(crate) fn is_tidy(root: &Path) -> Result<bool, Box<dyn Error>> {
    let findings = findings(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => eprintln!("tidy: nothing found"),
        1 => eprintln!("tidy: 1 finding"),
        count => eprintln!("tidy: {count} findings"),
    }
    Ok(findings.is_empty())
}

fn findings(root: &Path) -> Result<Vec<Finding>, Box<dyn Error>> {
    // Cargo reports manifests by their canonical paths.
    let root = &root.canonicalize()?;
    let tree = Tree::read(root)?;
    let mut findings = arrows::check(root)?;
    findings.extend(CHECKS.iter().flat_map(|check| check(&tree)));
    findings.extend(prose::findings(&tree)?);
    // The sort is stable, so the findings of one check on the same line keep their order.
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tree::testing::write_tree;

    #[test]
    fn this_repository_is_tidy() {
        let findings = findings(&crate::root()).unwrap();
        let list: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert_eq!(list, [""; 0], "\n{}\n", list.join("\n"));
    }

    #[test]
    fn invalid_tree_reports_each_finding_with_its_location() {
        let manifest = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{rest}")
        };
        let tree = write_tree(&[
            (".vale.ini", "StylesPath = styles\n"),
            ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n"),
            (
                "crates/actum-core/Cargo.toml",
                &manifest(
                    "actum-core",
                    "[dependencies]\nactum-extra = { path = \"../actum-extra\" }",
                ),
            ),
            ("crates/actum-core/src/lib.rs", "pub fn no_first_line() {}\n"),
            ("crates/actum-extra/Cargo.toml", &manifest("actum-extra", "")),
            ("crates/actum-extra/src/lib.rs", "//! Fine.\n\nuse rustix::fs;\n"),
            ("docs/conformance.md", "| FO-1 | A rule. | | |\n"),
        ]);
        let found: Vec<String> =
            findings(tree.path()).unwrap().iter().map(Finding::to_string).collect();
        let numbers = [("FO", 2..=10), ("FE", 1..=17), ("AA", 1..=13), ("EX", 1..=25)];
        let numbers = numbers.into_iter().chain([("AEC", 1..=22), ("D", 1..=8)]);
        let missing = numbers.flat_map(|(group, numbers)| {
            numbers.map(move |number| format!("docs/conformance.md: {group}-{number} has no row"))
        });
        let of_the_row = [
            "docs/conformance.md:1: FO-1 names no code file",
            "docs/conformance.md:1: FO-1 names no test, and no test names it",
        ];
        assert_eq!(
            found,
            [
                "crates/actum-core/Cargo.toml: `actum-core` may not depend on `actum-extra`; it may \
                 depend on no crate of ours",
                "crates/actum-core/src/lib.rs:1: the first line is not a `//!` comment that says \
                 what the file does",
                "crates/actum-extra/Cargo.toml: the crate `actum-extra` is not in the table of \
                 `xtask/src/tidy/arrows.rs`; add what it may depend on",
                "crates/actum-extra/src/lib.rs:3: `rustix` is fenced: files are reached below \
                 `crates/actum-workspace/src/disk/` alone",
            ]
            .map(str::to_owned)
            .into_iter()
            .chain(missing)
            .chain(of_the_row.map(str::to_owned))
            .collect::<Vec<_>>()
        );
    }
}
