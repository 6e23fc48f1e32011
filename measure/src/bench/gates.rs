//! `cargo xtask bench gates`: compares the time of a decision with hashing the same new content once.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use actum_access::{AccessPolicies, Cedar};
use actum_core::path_name::PathName;
use actum_core::{Digest, FileMode, FileState, RelPath};
use actum_gate::credential::scan;
use actum_gate::{AccessText, Bundle, Case, Policy, PolicyFile, Verdict, decide};
use actum_record::receipt::{EffectKind, PathEffect};

use super::format::{over, ratio};
use super::machine::Machine;
use super::options::Options;
use super::race::{Contestant, Finish, race, time};
use super::tables::markdown;
use super::{Failure, finish, take_precedence};
use crate::Outcome;

/// Page that a full run writes.
const PAGE: &str = "docs/benchmarks-gates.md";
const FILES: usize = 100;
const FILE_BYTES: usize = 10 << 10;
const RULES: usize = 1000;

const ALL: &str = "all gates, with the scan";
const MANY: &str = "all gates, 1,000 rules of a policy";
const ACCESS: &str = "all gates, 1,000 access policies";

/// Time limits of the gates for a change of 100 files.
const BARS: [(&str, Duration); 3] = [
    (ALL, Duration::from_millis(1)),
    (MANY, Duration::from_millis(5)),
    (ACCESS, Duration::from_millis(5)),
];

const HEAD: &str = "\
# Benchmarks of the gates

Written by `cargo xtask bench gates`; do not edit.

";

const HOW: &str = "
## How to read

- A change edits 100 files of 10 KiB of source text; all of each is looked through. Deciding is what follows: all
  gates over a bundle in memory.
- *Hashing it* is the SHA-256 of the same new content, which staging takes anyway.
- Of the 1,000 rules each speaks of one path and of no path in the change, as protected paths and as tiers in halves.
- Of the 1,000 access policies each forbids one user to change one path, and one more permits everything. Cedar looks at
  all of them for each change.
- A process reads its policy once.
";

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    take_precedence();
    let finishes = measure(options.rounds(200, 20))?;
    let text = page(&Machine::this(&["rustc"]), &finishes);
    finish(root, PAGE, &text, options)
}

fn measure(rounds: usize) -> Result<Vec<Finish>, Failure> {
    let contents: Vec<Vec<u8>> = (0..FILES).map(content).collect();
    let (plain, text) = (Policy::default(), policy_text());
    let many = Policy::new(Some(PolicyFile::read(text.as_bytes())?), None).0;
    let texts = vec![AccessText { name: "many.cedar".to_owned(), text: access_text() }];
    let access = Policy::default().with_access(texts.clone());
    let (case, cedar) = (case()?, Cedar::default());
    let judge = |policy: &Policy, case: Case| -> Result<(), Failure> {
        let bytes = policy.to_vec()?;
        let bundle = Bundle::new(Digest::of(&bytes), case);
        let decision = decide(&bundle, policy, &cedar);
        let record = decision.record(&bundle.to_vec()?)?;
        match decision.verdict {
            Verdict::Allow => {
                black_box(record);
                Ok(())
            }
            Verdict::NeedsApproval | Verdict::Deny => Err(format!("{record:?}").into()),
        }
    };
    let look = || -> Result<(), Failure> {
        let found: usize = contents.iter().map(|content| scan(None, content).len()).sum();
        if found == 0 { Ok(()) } else { Err(format!("{found} credentials").into()) }
    };
    let contestants = vec![
        Contestant::new("hashing it", || {
            time(|| {
                black_box(contents.iter().map(|content| Digest::of(content)).collect::<Vec<_>>());
                Ok(())
            })
        }),
        Contestant::new("looking through it", || time(look)),
        Contestant::new("deciding", || {
            let case = case.clone();
            time(|| judge(&plain, case))
        }),
        Contestant::new(ALL, || {
            let case = case.clone();
            time(|| {
                look()?;
                judge(&plain, case)
            })
        }),
        Contestant::new("deciding, 1,000 rules of a policy", || {
            let case = case.clone();
            time(|| judge(&many, case))
        }),
        Contestant::new(MANY, || {
            let case = case.clone();
            time(|| {
                look()?;
                judge(&many, case)
            })
        }),
        Contestant::new("deciding, 1,000 access policies", || {
            let case = case.clone();
            time(|| judge(&access, case))
        }),
        Contestant::new(ACCESS, || {
            let case = case.clone();
            time(|| {
                look()?;
                judge(&access, case)
            })
        }),
        Contestant::new("reading 1,000 access policies", || {
            time(|| {
                black_box(AccessPolicies::read_files(&texts)?);
                Ok(())
            })
        }),
        Contestant::new("reading a policy of 1,000 rules", || {
            time(|| {
                black_box(PolicyFile::read(text.as_bytes())?);
                Ok(())
            })
        }),
    ];
    Ok(race(contestants, rounds))
}

/// Returns text that resembles source code.
fn content(file: usize) -> Vec<u8> {
    let line =
        |line| format!("    let value_{line} = compute({file}, \"{line}\")?; // as before\n");
    let mut text: String = (0..).map(line).take(FILE_BYTES / 40).collect();
    text.truncate(FILE_BYTES);
    text.into_bytes()
}

fn case() -> Result<Case, Failure> {
    let facts = || FileState { sha256: Digest::of(b""), size: 10_240, mode: FileMode::REGULAR };
    let effect = |file: usize| -> Result<PathEffect, Failure> {
        Ok(PathEffect {
            path: PathName(RelPath::new(format!("crates/part-{}/src/file_{file}.rs", file % 7))?),
            effect: EffectKind::Modified,
            from: None,
            before: Some(facts()),
            after: Some(facts()),
            added: 3,
            removed: 1,
        })
    };
    Ok(Case::new((0..FILES).map(effect).collect::<Result<_, _>>()?))
}

fn policy_text() -> String {
    let mut text = "version = 1\n[protected]\npaths = [\n".to_owned();
    for rule in 0..RULES / 2 {
        text += &format!("  \"secret-{rule}/**/*.key\",\n");
    }
    text += "]\n";
    for rule in 0..RULES / 2 {
        text += &format!(
            "[[tier]]\ntier = \"R3\"\npaths = [\"deploy/place-{rule}/\"]\nwhy = \"place {rule}\"\n"
        );
    }
    text
}

fn access_text() -> String {
    let forbid = |number| {
        format!(
            "@id(\"rule-{number}\")\nforbid (principal == User::\"user-{number}\", action, resource)\nwhen {{ \
             context.paths.contains(\"crates/part-{number}/Cargo.toml\") }};\n"
        )
    };
    let permit = "@id(\"all\")\npermit (principal, action, resource);\n".to_owned();
    (0..RULES).map(forbid).chain([permit]).collect()
}

fn page(machine: &Machine, finishes: &[Finish]) -> String {
    let mut text = format!("{HEAD}{machine}\n\n");
    let head = ["microseconds", "rounds", "minimum", "median", "95th", "ratio"];
    let first = finishes.first().and_then(Finish::median);
    let row = |finish: &Finish| {
        let at = |percent| {
            let time = finish.percentile(percent);
            time.map_or("-".to_owned(), |time| format!("{:.0}", time.as_secs_f64() * 1e6))
        };
        let rounds = finish.times.as_ref().map_or(0, Vec::len);
        let over = finish.median().zip(first).map(|(median, first)| over(median, first));
        vec![
            finish.who.clone(),
            rounds.to_string(),
            at(0),
            at(50),
            at(95),
            over.map_or("-".to_owned(), ratio),
        ]
    };
    let rows: Vec<_> = finishes.iter().map(row).collect();
    text += &markdown(&head.map(str::to_owned), &rows);
    text += "\n";
    for (who, bar) in BARS {
        let median = finishes.iter().find(|it| it.who == who).and_then(Finish::median);
        let reached = if median.is_some_and(|it| it < bar) { "reached" } else { "NOT reached" };
        text += &format!("- {who}: must take less than {} ms: {reached}\n", bar.as_millis());
    }
    text + HOW
}
