//! `cargo xtask prose`: checks the language of documents, comments and error messages.
//!
//! The rules are in `xtask/prose/styles`, in vale's format, and `.vale.ini` selects the rules for each path. Offences older than a
//! rule are counted in a baseline that may only decrease.

mod baseline;
mod comments;
mod exceptions;
mod markdown;
mod messages;
mod pattern;
mod rule;
mod styles;
mod words;
mod yaml;

use std::error::Error;
use std::fs::{read_dir, read_to_string, write};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::Outcome;
use crate::lexer::Kind;
use crate::tidy::{Finding, tree::Tree};
use baseline::Baseline;
use exceptions::Exceptions;
use rule::{Offence, Position, Rule};
use styles::Styles;

/// Maximum number of findings printed without `--all`.
const FINDINGS_MAX: usize = 50;

/// Markdown files in the root directory. Files below `docs` are checked as well.
const DOCUMENTS: &[&str] =
    &["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"];
/// Only the part below this heading is checked, because the rest is history.
const CHANGELOG: (&str, &str) = ("CHANGELOG.md", "## Unreleased");

/// Check the language of documents, comments and error messages
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Check only these files, or files below these directories
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// List every offence, including those in the baseline
    #[arg(long, conflicts_with = "update")]
    all: bool,
    /// Lower the counts of the baseline to the current numbers
    #[arg(long, conflicts_with = "paths")]
    update: bool,
    /// Raise the counts of this file, or of the files below this directory
    #[arg(long, value_name = "PATH", requires = "update")]
    raise: Vec<String>,
}

/// Offence with its file and its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    path: String,
    rule: String,
    offence: Offence,
}

impl Place {
    fn finding(&self) -> Finding {
        let problem = format!("{}: {}", self.rule, self.offence.message);
        Finding::new(&self.path, self.offence.line, problem)
    }
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    let tree = Tree::read(root)?;
    let named = options.paths.iter().chain(&options.raise);
    let checked = checked_paths(&tree)?;
    for named in named.map(std::slice::from_ref) {
        if !checked.iter().any(|path| is_below(path, named)) {
            let named = named.join(" ");
            return Err(format!(
                "`{named}` is not checked: name a document or source, or a directory of these, relative to the root of the repository"
            )
            .into());
        }
    }
    let is_selected = |path: &str| options.paths.is_empty() || is_below(path, &options.paths);
    let report = Report::new(&tree, is_selected)?;
    if options.update {
        return report.update(root, &options.raise);
    }
    let findings: Vec<Finding> = match (options.all, options.paths.is_empty()) {
        (true, _) => report.places.iter().map(Place::finding).collect(),
        (false, true) => report.findings(),
        (false, false) => report.baseline.findings(&report.places),
    };
    let shown = if options.all { findings.len() } else { FINDINGS_MAX };
    for finding in findings.iter().take(shown) {
        println!("{finding}");
    }
    match findings.len() {
        0 => eprintln!("prose: nothing found"),
        count if count > shown => eprintln!("prose: {count} findings, {shown} of them shown"),
        1 => eprintln!("prose: 1 finding"),
        count => eprintln!("prose: {count} findings"),
    }
    let passes = options.all || findings.is_empty();
    Ok(if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the language findings for `cargo xtask tidy`, at most as many as `cargo xtask prose` prints.
pub(crate) fn findings(tree: &Tree) -> Result<Vec<Finding>, Box<dyn Error>> {
    let mut findings = Report::new(tree, |_| true)?.findings();
    let more = findings.len().saturating_sub(FINDINGS_MAX);
    findings.truncate(FINDINGS_MAX);
    if more > 0 {
        let problem = format!("{more} more findings on the language: see `cargo xtask prose`");
        findings.push(Finding::new(baseline::FILE, None, problem));
    }
    Ok(findings)
}

/// Whether a path equals one of `parents` or is below one.
fn is_below(path: &str, parents: &[String]) -> bool {
    parents.iter().any(|parent| {
        let parent = parent.trim_start_matches("./").trim_end_matches('/');
        let rest = path.strip_prefix(parent);
        parent == "." || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// All offences of a tree, with the baseline and the exceptions.
struct Report {
    places: Vec<Place>,
    baseline: Baseline,
    exceptions: Exceptions,
}

impl Report {
    fn new(tree: &Tree, is_selected: impl Fn(&str) -> bool) -> Result<Self, Box<dyn Error>> {
        let styles = Styles::read(&tree.root)?;
        let baseline = read_optional(&tree.root.join(baseline::FILE))?;
        let baseline = Baseline::read(&baseline.unwrap_or_default())?.within(&is_selected);
        let mut exceptions = match read_optional(&tree.root.join(exceptions::FILE))? {
            Some(text) => Exceptions::read(&text)
                .map_err(|error| format!("`{}`: {error}", exceptions::FILE))?,
            None => Exceptions::default(),
        };
        let mut places = Vec::new();
        for (path, text) in documents(&tree.root)?.iter().filter(|(path, _)| is_selected(path)) {
            places.extend(document_places(path, text, &styles.markdown));
        }
        for source in tree.sources.iter().filter(|source| is_selected(&source.path)) {
            places.extend(source_places(&source.path, &source.text, &styles.rust));
        }
        places.retain(|place| !exceptions.cover(place));
        places.sort_by(|a, b| (&a.path, a.offence.line).cmp(&(&b.path, b.offence.line)));
        Ok(Self { places, baseline, exceptions })
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = self.baseline.findings(&self.places);
        findings.extend(self.exceptions.findings());
        findings
    }

    /// Rewrites the baseline, and reports the offences that still exceed it.
    fn update(&self, root: &Path, raise: &[String]) -> Outcome {
        let now = Baseline::count(&self.places);
        let after = self.baseline.lowered_to(&now, |path| is_below(path, raise));
        write(root.join(baseline::FILE), after.write())?;
        let findings = after.findings(&self.places);
        for finding in findings.iter().take(FINDINGS_MAX) {
            println!("{finding}");
        }
        let (before, after) = (self.baseline.total(), after.total());
        eprintln!("prose: {before} offences in the baseline before, {after} now");
        if findings.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        eprintln!(
            "prose: {} new findings: rewrite them; the baseline only becomes lower",
            findings.len()
        );
        Ok(ExitCode::FAILURE)
    }
}

fn checked_paths(tree: &Tree) -> Result<Vec<String>, Box<dyn Error>> {
    let documents = documents(&tree.root)?.into_iter().map(|(path, _)| path);
    Ok(documents.chain(tree.sources.iter().map(|source| source.path.clone())).collect())
}

fn read_optional(path: &Path) -> Result<Option<String>, String> {
    match read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("reading `{}`: {error}", path.display())),
    }
}

/// Returns the path and text of each Markdown file that exists and is checked.
fn documents(root: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut paths: Vec<String> = DOCUMENTS.iter().map(|&path| path.to_owned()).collect();
    let mut directories = vec!["docs".to_owned()];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = read_dir(root.join(&directory)) else { continue };
        for entry in entries {
            let entry = entry?;
            let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                directories.push(path);
            } else if path.ends_with(".md") {
                paths.push(path);
            }
        }
    }
    let mut documents = Vec::new();
    for path in paths {
        if let Some(text) = read_optional(&root.join(&path))? {
            documents.push((path, text));
        }
    }
    Ok(documents)
}

fn document_places(path: &str, text: &str, rules: &[Rule]) -> Vec<Place> {
    let (changelog, heading) = CHANGELOG;
    let lines = (1..).zip(text.lines());
    let paragraphs = if path == changelog {
        let unreleased = lines.skip_while(|(_, line)| *line != heading).skip(1);
        markdown::paragraphs(unreleased.take_while(|(_, line)| !line.starts_with("## ")))
    } else {
        markdown::paragraphs(lines)
    };
    places(path, &paragraphs, Position::Elsewhere, rules)
}

fn source_places(path: &str, text: &str, rules: &[Rule]) -> Vec<Place> {
    let mut found = Vec::new();
    for comment in comments::comments(text) {
        let is_doc = matches!(comment.kind, Kind::OuterDoc | Kind::InnerDoc);
        let lines = comment
            .lines
            .iter()
            .map(|(number, line)| (*number, line.strip_prefix(' ').unwrap_or(line)));
        let paragraphs = markdown::paragraphs(lines);
        let (opening, rest) = paragraphs.split_at(usize::from(is_doc).min(paragraphs.len()));
        found.extend(places(path, opening, Position::Opening, rules));
        found.extend(places(path, rest, Position::Elsewhere, rules));
    }
    for message in messages::messages(text) {
        let lines = message.lines.iter().map(|(number, line)| (*number, line.trim()));
        let paragraphs = markdown::paragraphs(lines);
        found.extend(places(path, &paragraphs, Position::Elsewhere, rules));
    }
    found
}

fn places(
    path: &str,
    paragraphs: &[markdown::Paragraph],
    position: Position,
    rules: &[Rule],
) -> Vec<Place> {
    let mut places = Vec::new();
    for paragraph in paragraphs {
        let words = words::words(&paragraph.text);
        for rule in rules {
            places.extend(
                rule.offences(paragraph, &words, position).into_iter().map(|offence| Place {
                    path: path.to_owned(),
                    rule: rule.name.clone(),
                    offence,
                }),
            );
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::testing::write_tree;
    use tempfile::TempDir;

    const CONFIGURATION: &str =
        "StylesPath = s\n[*.md]\nBasedOnStyles = A\nA.Open = NO\n[*.rs]\nBasedOnStyles = A\n";
    const WORDS: &str = "extends: substitution\nmessage: 'write %s, not ''%s'''\nlevel: error\nignorecase: true\nswap:\n  told: reported\n";
    const OPEN: &str = "extends: existence\nmessage: 'open without ''%s'''\nlevel: error\nignorecase: true\ntokens:\n  - '\\AWhat'\n";

    /// Creates a tree with two rules and these files.
    fn tree_of(files: &[(&str, &str)]) -> TempDir {
        let rules =
            [(".vale.ini", CONFIGURATION), ("s/A/Words.yml", WORDS), ("s/A/Open.yml", OPEN)];
        write_tree(&[&rules, files].concat())
    }

    fn report(root: &Path, paths: &[&str]) -> Report {
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        let is_selected = |path: &str| paths.is_empty() || is_below(path, &paths);
        Report::new(&Tree::read(root).unwrap(), is_selected).unwrap()
    }

    fn places(root: &Path, paths: &[&str]) -> Vec<String> {
        report(root, paths).places.iter().map(|place| place.finding().to_string()).collect()
    }

    fn findings(root: &Path) -> Vec<String> {
        report(root, &[]).findings().iter().map(ToString::to_string).collect()
    }

    fn baseline(root: &Path) -> String {
        read_to_string(root.join(baseline::FILE)).unwrap().replace(baseline::HEADER, "")
    }

    #[test]
    fn documents_comments_and_messages_are_checked_and_code_is_not() {
        let source = "#[error(\"is told\")]\n//! What.\n\n/// Told\n/// told\nfn told() {\n    \"told\"; // What told\n}\n\n/// Not `told`.\n///\n/// What.\n";
        let root = tree_of(&[
            ("README.md", "What\nis told\n"),
            ("docs/a/b.md", "`told` told\n```\ntold\n```\n"),
            ("other/c.md", "told\n"),
            ("crates/d/src/lib.rs", source),
        ]);
        assert_eq!(
            places(root.path(), &[]),
            [
                "README.md:2: A.Words: write reported, not `told`",
                "crates/d/src/lib.rs:1: A.Words: write reported, not `told`",
                "crates/d/src/lib.rs:2: A.Open: open without `What`",
                "crates/d/src/lib.rs:4: A.Words: write reported, not `Told`",
                "crates/d/src/lib.rs:5: A.Words: write reported, not `told`",
                "crates/d/src/lib.rs:7: A.Words: write reported, not `told`",
                "docs/a/b.md:1: A.Words: write reported, not `told`",
            ]
        );
        assert_eq!(places(root.path(), &["docs/", "./README.md"]).len(), 2);
        assert_eq!(places(root.path(), &["READ", "crates/d/src/li"]), [""; 0]);
    }

    #[test]
    fn unchecked_path_is_rejected() {
        let root = tree_of(&[("docs/a.md", "told\n"), ("other/b.md", "told\n")]);
        let run = |paths: &[&str]| {
            let paths = paths.iter().map(|&path| path.to_owned()).collect();
            run(root.path(), &Options { paths, all: true, update: false, raise: Vec::new() })
        };
        assert_eq!(run(&["docs", "docs/a.md"]).unwrap(), ExitCode::SUCCESS);
        for path in ["other/b.md", "docs/c.md", "doc"] {
            let error = run(&["docs", path]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{path}` is not checked: ")), "{error}");
        }
    }

    #[test]
    fn only_the_unreleased_part_of_the_changelog_is_checked() {
        let text = "told\n## Unreleased\n### Added\ntold\n## 0.1\ntold\n";
        let root = tree_of(&[("CHANGELOG.md", text)]);
        assert_eq!(
            places(root.path(), &[]),
            ["CHANGELOG.md:4: A.Words: write reported, not `told`"]
        );
    }

    #[test]
    fn tidy_lists_at_most_50_findings_and_counts_the_others() {
        for (lines, expected) in [(50, 50), (51, 51), (60, 51)] {
            let root = tree_of(&[("docs/a.md", &"told\n\n".repeat(lines))]);
            let found = super::findings(&Tree::read(root.path()).unwrap()).unwrap();
            assert_eq!(found.len(), expected);
            let last = found.last().unwrap().to_string();
            let more = format!("{} more findings on the language: ", lines - 50);
            assert_eq!(last.contains(&more), lines > 50, "{last}");
        }
    }

    #[test]
    fn exception_hides_its_offence_and_fails_when_unused() {
        let exceptions =
            r#"[{"path": "docs/*.md", "rule": "A.Words", "text": "is told", "reason": "r"}]"#;
        let root = tree_of(&[(exceptions::FILE, exceptions), ("docs/a.md", "It is told. Told.\n")]);
        assert_eq!(findings(root.path()), ["docs/a.md:1: A.Words: write reported, not `Told`"]);
        write(root.path().join("docs/a.md"), "").unwrap();
        let unused = "xtask/prose/exceptions.json: the exception for `docs/*.md`, `A.Words`, `is told` covers nothing: remove it";
        assert_eq!(findings(root.path()), [unused]);
    }

    #[test]
    fn an_update_lowers_the_baseline_and_raises_it_only_for_a_stated_path() {
        let root = tree_of(&[
            (baseline::FILE, "docs/a.md A.Words 2\n"),
            ("docs/a.md", "told\n"),
            ("docs/b.md", "told\n"),
        ]);
        let update = |raise: &[&str]| {
            let raise: Vec<String> = raise.iter().map(|&path| path.to_owned()).collect();
            report(root.path(), &[]).update(root.path(), &raise).unwrap()
        };
        assert_eq!(update(&[]), ExitCode::FAILURE);
        assert_eq!(baseline(root.path()), "docs/a.md A.Words 1\n");
        assert_eq!(update(&["docs/b.md"]), ExitCode::SUCCESS);
        assert_eq!(baseline(root.path()), "docs/a.md A.Words 1\ndocs/b.md A.Words 1\n");
        assert_eq!(findings(root.path()), [""; 0]);
    }
}
