//! `cargo xtask share`: how many commits of real histories would need an approval, or be denied.

mod catalogue;
mod debian;
mod history;
mod rules;
mod table;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use actum_core::Digest;
use actum_gate::{Bundle, GateDecision, GateName, NoAccess, Policy, PolicyFile, Verdict, decide};
use clap::Args;

use crate::realworld::judged::case;
use crate::realworld::lock;
use crate::{Outcome, packages};
use debian::Debian;
use history::{Commit, History};
use rules::Rule;

type Failure = Box<dyn Error>;

/// Count the commits of real histories that would need an approval, or be denied
///
/// Judges the full change of each non-merge commit with the gates, under the built-in policy without any written policy or
/// approval. Renames are those that git detects. Symbolic links and submodules, which actum does not change, are left out. No code
/// of a repository is ever run.
#[derive(Args)]
pub(crate) struct Options {
    /// Git repositories to judge; the default is this one
    repositories: Vec<PathBuf>,
    /// Debian source package whose patches are judged if they were commits (needs a network)
    #[arg(long, value_name = "NAME")]
    debian: Vec<String>,
    /// Judge this repository and all Debian source packages of the published figure (needs a network)
    #[arg(long, conflicts_with_all = ["repositories", "debian"])]
    sample: bool,
}

/// Decision about one commit.
struct Judged {
    /// Verdicts under each of [`PROFILES`].
    verdicts: [Verdict; PROFILES.len()],
    /// Rules that hold the commit back under the default profile, without duplicates.
    rules: Vec<Rule>,
    /// Grounds of the gates that hold the commit back under the default profile.
    grounds: Vec<String>,
}

/// Decisions about one history.
struct Row {
    name: String,
    kind: Kind,
    /// Decisions by commit id.
    judged: Vec<(String, Judged)>,
    /// Number of links and submodules that were left out.
    left_out: usize,
}

/// Origin of a history, which determines how its share is interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// All commits of a repository except merges.
    Whole,
    /// Commits that a distribution selected as patches.
    Patches,
}

/// Profiles under which commits are judged, with the default profile first.
const PROFILES: [&str; 3] = ["interactive", "critical", "agent-executor"];

impl Kind {
    const ALL: [Self; 2] = [Self::Whole, Self::Patches];

    fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole histories",
            Self::Patches => "commits picked as patches",
        }
    }
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    packages::require("share")?;
    let directory = root.join("target").join("share");
    std::fs::create_dir_all(&directory)?;
    let _lock = lock(&directory)?;
    let mut histories = Vec::new();
    let mut problems = Vec::new();
    let is_default = options.repositories.is_empty() && options.debian.is_empty();
    if is_default {
        histories.push(History::whole(root, "actum", directory.join("commits"))?);
    }
    for (at, repository) in options.repositories.iter().enumerate() {
        let path = std::fs::canonicalize(repository)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        histories.push(History::whole(&path, &name, directory.join(format!("commits-{at}")))?);
    }
    if options.sample || !options.debian.is_empty() {
        packages::require("share of Debian packages")?;
        let debian = Debian::open(&directory)?;
        if options.sample {
            histories.extend(debian.packed()?);
        }
        let sample = catalogue::PATCHED.iter().copied().filter(|_| options.sample);
        for name in options.debian.iter().map(String::as_str).chain(sample) {
            match debian.patches(name) {
                Ok(history) => histories.push(history),
                Err(failure) => problems.push(format!("{name}: {failure}")),
            }
        }
    }
    let rows = histories.iter().map(judge_history).collect::<Result<Vec<_>, _>>()?;
    print!("{}", table::report(&rows));
    for problem in &problems {
        eprintln!("share: {problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn judge_history(history: &History) -> Result<Row, Failure> {
    eprintln!("judging {}", history.name);
    let policies = policies()?;
    let mut row =
        Row { name: history.name.clone(), kind: history.kind, judged: Vec::new(), left_out: 0 };
    row.left_out = history.each_commit(|commit| {
        row.judged.push((commit.id.clone(), judge(commit, &policies)));
        Ok(())
    })?;
    Ok(row)
}

fn judge(commit: &Commit, policies: &[(Policy, Digest); PROFILES.len()]) -> Judged {
    let case = case(&commit.touched());
    let decisions = policies
        .each_ref()
        .map(|(policy, digest)| decide(&Bundle::new(*digest, case.clone()), policy, &NoAccess));
    let verdicts = decisions.each_ref().map(|decision| decision.verdict);
    let [default, ..] = decisions;
    // The approval gate only repeats the verdict.
    let is_held =
        |gate: &&GateDecision| gate.verdict != Verdict::Allow && gate.gate != GateName::Approval;
    let held: Vec<&GateDecision> = default.gates.iter().filter(is_held).collect();
    let gates: Vec<GateName> = held.iter().map(|gate| gate.gate).collect();
    let grounds = held.iter().map(|gate| format!("{}: {}", gate.gate, gate.ground)).collect();
    Judged { verdicts, rules: rules::holding_back(&case, &gates), grounds }
}

/// Returns policies that set only a profile, with their digests.
fn policies() -> Result<[(Policy, Digest); PROFILES.len()], Failure> {
    let policy = |profile: &str| -> Result<(Policy, Digest), Failure> {
        let text = format!("version = 1\n[protected]\nprofile = \"{profile}\"\n");
        let (policy, _) = Policy::new(Some(PolicyFile::read(text.as_bytes())?), None);
        let digest = Digest::of(&policy.to_vec()?);
        Ok((policy, digest))
    };
    let [interactive, critical, agent_executor] = PROFILES;
    Ok([policy(interactive)?, policy(critical)?, policy(agent_executor)?])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::realworld::child::run as run_child;
    use crate::realworld::git::{TIME_MAX, git, initialise};

    /// Creates a repository with one commit for each `change` to its files.
    fn repository(place: &Path, commits: &[&dyn Fn()]) -> History {
        initialise(place).unwrap();
        for change in commits {
            change();
            run_child(&mut git(place, &["add", "--all"]), TIME_MAX).unwrap();
            let mut commit = git(place, &["commit", "--quiet", "--message", "x"]);
            for role in ["AUTHOR", "COMMITTER"] {
                commit.env(format!("GIT_{role}_NAME"), "x").env(format!("GIT_{role}_EMAIL"), "x");
            }
            run_child(&mut commit, TIME_MAX).unwrap();
        }
        History::whole(place, "x", place.join(".git").join("commits")).unwrap()
    }

    /// M1
    #[test]
    fn each_commit_is_judged_by_its_paths_and_contents() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        let write = |path: &str, content: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        let package = r#"{"scripts":{"postinstall":"x"}}"#;
        let key = ["AKIA", "Q3EGRZ7L2M5VXK4T"].concat();
        let history = repository(
            root,
            &[
                &|| write("src/a.rs", "fn a() {}\n"),
                &|| write(".github/workflows/ci.yml", "on: push\n"),
                &|| write("package.json", package),
                &|| fs::rename(root.join("package.json"), root.join("src/package.json")).unwrap(),
                &|| write("src/b.rs", &format!("let key = \"{key}\";\n")),
                &|| write(".env", "A=1\n"),
                &|| write("README.md", "x\n"),
                &|| std::os::unix::fs::symlink("a.rs", root.join("src/link")).unwrap(),
            ],
        );
        let row = judge_history(&history).unwrap();
        assert_eq!(row.left_out, 1);
        let mut judged: Vec<_> = row.judged.iter().map(|(_, judged)| judged).collect();
        judged.reverse();
        let rules = |judged: &&Judged| {
            judged.rules.iter().map(|it| format!("{}: {}", it.gate, it.name)).collect::<Vec<_>>()
        };
        let expected: [(Verdict, &[&str]); 7] = [
            (Verdict::Allow, &[]),
            (Verdict::NeedsApproval, &["tier: **/.github/workflows"]),
            (Verdict::NeedsApproval, &["tier: lifecycle script in package.json"]),
            (Verdict::NeedsApproval, &["tier: lifecycle script in package.json"]),
            (Verdict::Deny, &["credentials: aws-access-key-id"]),
            (Verdict::Deny, &["protected: **/.env", "protected: **/.env*"]),
            (Verdict::Allow, &[]),
        ];
        let found: Vec<_> = judged.iter().map(|it| (it.verdicts[0], rules(it))).collect();
        let expected: Vec<_> = expected
            .map(|(verdict, rules)| (verdict, rules.iter().map(|it| (*it).to_owned()).collect()))
            .into();
        assert_eq!(found, expected);
        assert_eq!(judged[6].verdicts, [Verdict::Allow, Verdict::Allow, Verdict::Deny]);
        let report = table::report(&[row]);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let total = report.lines().map(words).find(|line| line.starts_with("whole histories"));
        let expected =
            "whole histories (1), interactive 7 3 42.9 % (15.8 to 75.0) 2 28.6 % (8.2 to 64.1)";
        assert_eq!(total.as_deref(), Some(expected), "{report}");
    }
}
