//! `actum policy test`: checks that the policy in force makes the decisions that a file of test cases expects.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum::reason::Reason;
use actum_api::gate;
use actum_api::policy::{self as api, ExpectedDecision, FoundDecision, PolicyCase};
use actum_core::path::{Harmless, Quoted};
use actum_core::place::Place;
use actum_core::{Digest, RiskTier};
use actum_gate::policy::{Diagnostic, ExpectedCase, PolicyTest, PolicyTestError, expected_word};
use actum_gate::{Decision, Grounds, Verdict};

use crate::count::number;
use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};

use crate::output::Document;
use crate::snippet::Quote;
use crate::verb::Session;
use crate::{input, policy, root, shown_path};

/// Name of the default file with test cases, in the workspace root.
const IN_WORKSPACE: &str = "actum.test.toml";

/// Test the policy in force against a file of cases, each with a change or command and the expected decision
///
/// A case is a `[[case]]` table with a `name`, and either a `change` (such as ['created db/7.sql', 'renamed a -> b']) or
/// a `command` (such as 'cargo test'). `expect` is the expected decision: allow, ask or deny. A case may also set the
/// expected risk `tier`, the `gate` that is expected to refuse first, and `declared`, the tier that the request declares.
/// All cases are run, and the command exits with 4 if any of them fails. It changes and records nothing.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File with the cases, or `-` for standard input; by default, `actum.test.toml` in the workspace root
    file: Option<PathBuf>,
}

/// Failure to read the test cases of a policy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PolicyTestFailure {
    #[error("cannot test the policy: the file {file} with test cases does not exist")]
    Missing { file: String },
    #[error(
        "cannot test the policy with {file}: {}",
        quote.message_at_place(source, "it is not a file of policy test cases")
    )]
    Unusable { file: String, source: PolicyTestError, quote: Quote },
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = root::existing_or_new(&session.start);
    let file = arguments.file.clone().unwrap_or_else(|| root.join(IN_WORKSPACE));
    let test = read(&file, session)?;
    let in_force = policy::in_force(root)?;
    let digest = Digest::of(&in_force.policy.to_vec().map_err(actum::Error::from)?);
    let asked = policy::asked(&in_force, None, &session.tenant)?;
    let judged = |case: &ExpectedCase| {
        let decision = case.decide(&asked, &in_force.policy, digest, &in_force.cedar);
        tested(case, &decision)
    };
    let cases = test.cases().iter().map(judged).collect::<Result<Vec<_>, _>>();
    let cases = cases.map_err(|error| Failure::Unwritten { source: io::Error::other(error) })?;
    let held = cases.iter().filter(|case| case.holds).count();
    let exit = if held == cases.len() { Exit::Success } else { Exit::NeedsAttention };
    let file = shown_path::text(file.as_os_str().as_bytes());
    session.screen.show(&api::PolicyTest { file, policy: digest, held: number(held), cases })?;
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
        let place = if let PolicyTestError::Malformed(Diagnostic { line, column, .. }) = &source {
            Some(Place { line: *line, column: column.unwrap_or(1) })
        } else {
            None
        };
        let quote = Quote::new(input::path(file, &session.start).as_deref(), &bytes, place);
        let quote = quote.of_kind(bytes.windows(4).any(|word| word == b"case"));
        PolicyTestFailure::Unusable { file: name, source, quote }.into()
    })
}

fn tested(case: &ExpectedCase, decision: &Decision) -> serde_json::Result<PolicyCase> {
    let ground = case.explaining_gate(decision).map(|gate| &gate.ground);
    let message = ground.map(Grounds::without_tier).unwrap_or_default();
    Ok(PolicyCase {
        line: case.line,
        name: case.name.clone(),
        holds: case.holds(decision),
        expected: ExpectedDecision {
            verdict: case.verdict.as_str().into(),
            tier: case.tier,
            gate: case.gate.map(|gate| gate.as_str().to_owned()),
        },
        found: FoundDecision {
            verdict: decision.verdict.as_str().into(),
            tier: decision.tier,
            gate: decision.first_refusal().map(|gate| gate.gate.as_str().to_owned()),
            ground: ground.map(serde_json::to_value).transpose()?,
            message,
        },
    })
}

impl FailureKind for PolicyTestFailure {
    fn hints(&self) -> Vec<String> {
        let example = "create a file like this:\n\
                       \x20 [[case]]\n\
                       \x20 name = \"migrations need approval\"\n\
                       \x20 change = [\"created db/migrations/7.sql\", \"modified src/lib.rs\"]\n\
                       \x20 expect = \"ask\"  # or allow, or deny";
        match self {
            Self::Missing { .. } | Self::Unusable { source: PolicyTestError::NoCase, .. } => {
                vec![example.to_owned()]
            }
            Self::Unusable { .. } => {
                vec!["run `actum help policy test` to see the fields of a case".to_owned()]
            }
        }
    }

    fn reason(&self) -> Reason {
        Reason::PolicyTestUnusable
    }
}

/// Describes a decision in the words of a test case, with the gate and the tier if they are known.
fn words(verdict: &gate::Verdict, tier: Option<RiskTier>, gate: Option<&str>) -> String {
    let verdict = match verdict {
        gate::Verdict::Allow => expected_word(Verdict::Allow),
        gate::Verdict::NeedsApproval => expected_word(Verdict::NeedsApproval),
        gate::Verdict::Deny => expected_word(Verdict::Deny),
        gate::Verdict::Other(word) => word,
    };
    let gate = gate.map(|gate| format!(" by `{gate}`")).unwrap_or_default();
    let tier = tier.map(|tier| format!(", {tier}")).unwrap_or_default();
    format!("{verdict}{gate}{tier}")
}

impl Document for api::PolicyTest {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for PolicyCase { line, name, expected, found, .. } in
            self.cases.iter().filter(|case| !case.holds)
        {
            let (name, message) = (Quoted(name.as_bytes()), Harmless(found.message.as_bytes()));
            let expected = words(&expected.verdict, expected.tier, expected.gate.as_deref());
            let found = words(&found.verdict, Some(found.tier), found.gate.as_deref());
            writeln!(out, "line {line}, `{name}`: expected {expected}, found {found}: {message}")?;
        }
        writeln!(out, "{} of {} cases passed", self.held, self.cases.len())
    }
}
