//! `actum policy test`: whether the policy in force does what the operator expects of it.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum::reason::Reason;
use actum_core::path::{Harmless, Quoted};
use actum_core::place::Place;
use actum_core::{Digest, RiskTier};
use actum_gate::policy::{ExpectedCase, Mistake, PolicyTest, PolicyTestError, expected_word};
use actum_gate::{Decision, GateName, Grounds, Verdict};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::output::Document;
use crate::snippet::Quote;
use crate::verb::Session;
use crate::{input, policy, root, shown_path};

/// The file in the root of a workspace where none is named.
const IN_WORKSPACE: &str = "actum.test.toml";

/// Test the policy in force by the cases of a file, each a change or a command and what should be said of it
///
/// A case is a table `[[case]]` with a `name`, a `change` (a list such as ['created db/7.sql', 'renamed a -> b']) or
/// a `command` (such as 'cargo test'), and what should be said of it: `expect` is allow, ask or deny; `tier`, and `gate`, the first that refuses, need
/// not be there. `declared` is the tier that is asked for. All cases are tried. Ends with code 4 where one does
/// not hold. Nothing is changed, and nothing is recorded.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The file, `-` for standard input; without it `actum.test.toml` in the root of the workspace
    file: Option<PathBuf>,
}

/// Why there is nothing to test by.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PolicyTestFailure {
    #[error("there is no file {file} with cases to test the policy by")]
    Missing { file: String },
    #[error(
        "cannot test the policy by {file}: {}",
        quote.message_at_place(source, "it is no file of test cases")
    )]
    Unusable { file: String, source: PolicyTestError, quote: Quote },
}

#[derive(Serialize)]
struct Tested {
    file: String,
    /// The digest of all that is in force, as it stands in receipts.
    policy: Digest,
    /// How many cases hold.
    held: usize,
    cases: Vec<TestedCase>,
}

#[derive(Serialize)]
struct TestedCase {
    line: u64,
    name: String,
    holds: bool,
    expected: Expected,
    found: Found,
}

/// What was expected; what it does not say may be anything.
#[derive(Serialize)]
struct Expected {
    verdict: Verdict,
    tier: Option<RiskTier>,
    gate: Option<GateName>,
}

/// What came.
#[derive(Serialize)]
struct Found {
    verdict: Verdict,
    tier: RiskTier,
    /// The first that refuses.
    gate: Option<GateName>,
    /// Of the gate that refuses or, where none does, of the one that should have.
    ground: Option<Grounds>,
    /// The same as a sentence; its wording is not fixed.
    message: String,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = root::existing_or_new(&session.start);
    let file = arguments.file.clone().unwrap_or_else(|| root.join(IN_WORKSPACE));
    let test = read(&file, session)?;
    let in_force = policy::in_force(root)?;
    let digest = Digest::of(&in_force.policy.to_vec().map_err(actum::Error::from)?);
    let asked = policy::asked(&in_force, None, &session.tenant)?;
    let tested = |case: &ExpectedCase| {
        let decision = case.decide(&asked, &in_force.policy, digest, &in_force.cedar);
        TestedCase::of(case, &decision)
    };
    let cases: Vec<_> = test.cases().iter().map(tested).collect();
    let held = cases.iter().filter(|case| case.holds).count();
    let exit = if held == cases.len() { Exit::Success } else { Exit::NeedsAttention };
    let file = shown_path::text(file.as_os_str().as_bytes());
    session.screen.show(&Tested { file, policy: digest, held, cases })?;
    Ok(exit)
}

fn read(file: &std::path::Path, session: &Session) -> Result<PolicyTest, Failure> {
    let max = usize::try_from(PolicyTest::BYTES_MAX).unwrap_or(usize::MAX);
    let (name, bytes) = match input::document(file, &session.start, max) {
        Ok(read) => read,
        Err(Failure::Unreadable { input, source }) if source.kind() == io::ErrorKind::NotFound => {
            return Err(PolicyTestFailure::Missing { file: input }.into());
        }
        Err(failure) => return Err(failure),
    };
    let test = PolicyTest::read(&bytes);
    test.map_err(|source| {
        let place = if let PolicyTestError::Malformed(Mistake { line, column, .. }) = &source {
            Some(Place { line: *line, column: column.unwrap_or(1) })
        } else {
            None
        };
        let quote = Quote::new(input::path(file, &session.start).as_deref(), &bytes, place);
        let quote = quote.of_kind(bytes.windows(4).any(|word| word == b"case"));
        PolicyTestFailure::Unusable { file: name, source, quote }.into()
    })
}

impl TestedCase {
    fn of(case: &ExpectedCase, decision: &Decision) -> Self {
        let holds = case.holds(decision);
        let ground = case.telling(decision).map(|gate| gate.ground.clone());
        let message = ground.as_ref().map(Grounds::without_tier).unwrap_or_default();
        let gate = decision.first_refusal().map(|gate| gate.gate);
        let Decision { verdict, tier, .. } = *decision;
        Self {
            line: case.line,
            name: case.name.clone(),
            holds,
            expected: Expected { verdict: case.verdict, tier: case.tier, gate: case.gate },
            found: Found { verdict, tier, gate, ground, message },
        }
    }
}

impl FailureKind for PolicyTestFailure {
    /// What the reader can do.
    fn hints(&self) -> Vec<String> {
        let example = "such a file looks like this:\n\
                       \x20 [[case]]\n\
                       \x20 name = \"migrations ask a person\"\n\
                       \x20 change = [\"created db/migrations/7.sql\", \"modified src/lib.rs\"]\n\
                       \x20 expect = \"ask\"  # or allow, or deny";
        match self {
            Self::Missing { .. } | Self::Unusable { source: PolicyTestError::NoCase, .. } => {
                vec![example.to_owned()]
            }
            Self::Unusable { .. } => {
                vec!["`actum help policy test` says what a case has".to_owned()]
            }
        }
    }

    fn reason(&self) -> Reason {
        Reason::PolicyTestUnusable
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write_verdict(f, self.verdict, self.tier, self.gate)
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write_verdict(f, self.verdict, Some(self.tier), self.gate)
    }
}

fn write_verdict(
    f: &mut std::fmt::Formatter<'_>,
    verdict: Verdict,
    tier: Option<RiskTier>,
    gate: Option<GateName>,
) -> std::fmt::Result {
    f.write_str(expected_word(verdict))?;
    if let Some(gate) = gate {
        write!(f, " by `{gate}`")?;
    }
    tier.map_or(Ok(()), |tier| write!(f, ", {tier}"))
}

impl actum_api::Document for Tested {
    const FORMAT: &'static str = "actum.policy-test/1";
}

impl Document for Tested {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for TestedCase { line, name, expected, found, .. } in
            self.cases.iter().filter(|case| !case.holds)
        {
            let (name, message) = (Quoted(name.as_bytes()), Harmless(found.message.as_bytes()));
            writeln!(out, "line {line}, `{name}`: expected {expected}; it is {found}: {message}")?;
        }
        writeln!(out, "{} of {} cases hold", self.held, self.cases.len())
    }
}
