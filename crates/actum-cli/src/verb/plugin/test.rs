//! `actum plugin test`: runs the steps of a package on the workspace without keeping any changes.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use actum::StagedView;
use actum::plugin::{Call, PluginError, RollbackEvidence, Steps};
use actum_action::limits::PLAN_BYTES_MAX;
use actum_action::{Check, PlanScope};
use actum_api::change::Diffs;
use actum_api::plugin::{PluginCheck, PluginTest, RestoreEvidence};
use actum_core::path::{Harmless, Quoted};
use actum_workspace::RunOptions;
use serde_json::{Map, Value};

use super::{PluginFailure, lint};
use crate::change_list::{list, write_lines};
use crate::count::{count, number};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::file_diffs::FileDiffs;
use crate::output::Document;
use crate::verb::Session;
use crate::verb::exec::runner;
use crate::verb::sandbox::Confinement;
use crate::{input, policy, records};

/// Run the three steps of a package in the sandbox, without keeping their changes
///
/// `execute` runs on a view of the workspace; `verify` and `rollback` run on the resulting changes. The output shows
/// the changes, the checks of `verify`, and the evidence that `rollback` restores everything. Verification commands are
/// not run, and the gates do not judge the changes. Plugin code runs only if the operator's policy allows it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Directory of the package
    #[arg(value_name = "DIR")]
    package: PathBuf,
    /// File with the input, a JSON object; `-` is standard input. The default input is `{}`
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    confinement: Confinement,
}

/// Document with the result of the test, and additional data for the text output.
struct Tested {
    /// Document of the test, without the diff.
    document: PluginTest,
    diff: FileDiffs,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    let in_force = policy::in_force(root)?;
    let allowed = in_force.plugin_code().ok_or(PluginFailure::NotAllowed)?;
    let package = lint::package(&arguments.package, session)?;
    let given = read_input(arguments.input.as_deref(), &session.start)?;
    let runner = runner(&arguments.confinement, &in_force, root, &session.start, &session.screen)?;
    let mut workspace = records::own_root(root, &session.tenant)?.open_existing()?;
    let steps = Steps::prepare(&package, &runner, allowed)?;
    // A scope is only defined by a plan. The test has no plan, and does not need a scope because no changes are kept.
    let scope = PlanScope::default();
    let call = Call { input: &given, scope: &scope };
    let executed = steps.execute(call)?;
    let options = RunOptions { label: "plugin test".to_owned(), ..RunOptions::default() };
    let mut transaction = workspace.begin(options)?;
    transaction.operate_all(&executed.captured.operations)?;
    let staged = &StagedView::new(&runner, &mut transaction)?;
    let effects = &transaction.effects();
    let (checks, evidence) = std::thread::scope(|threads| {
        let verified = threads.spawn(|| steps.verify(call, &executed.output, staged));
        let evidence = steps.rollback(call, Some(&executed.output), staged, effects);
        (verified.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), evidence)
    });
    let checks = checks?;
    let RollbackEvidence { files, digest_before, digest_restored } = evidence?;
    let document = PluginTest {
        name: package.manifest.name.clone(),
        digest: package.digest,
        ok: checks.iter().all(|check| check.ok),
        output: executed.output,
        checks: checks.into_iter().map(check).collect(),
        rollback: RestoreEvidence {
            paths: number(files),
            before: digest_before,
            restored: digest_restored,
        },
        changes: list(&*transaction.changes()),
        diff: Diffs::default(),
    };
    let diff = FileDiffs::new(transaction.diff()?, session.screen.audience());
    let tested = Tested { document, diff };
    transaction.abort();
    session.screen.show(&tested)?;
    Ok(if tested.document.ok { Exit::Success } else { Exit::Refused })
}

fn check(check: Check) -> PluginCheck {
    let Check { name, ok, exit_code, duration_ms, stdout, stderr, message } = check;
    PluginCheck { name, ok, exit_code, duration_ms, stdout, stderr, message }
}

/// Reads the input of the action, which is an empty object if no file is given.
fn read_input(file: Option<&Path>, start: &Path) -> Result<Map<String, Value>, Failure> {
    let Some(file) = file else { return Ok(Map::new()) };
    let (name, bytes) = input::document(file, start, PLAN_BYTES_MAX)?;
    if bytes.len() > PLAN_BYTES_MAX {
        let (bytes, max) = (bytes.len(), PLAN_BYTES_MAX);
        return Err(PluginError::RequestTooLarge { bytes, max }.into());
    }
    let read = serde_json::from_slice(&bytes).map_err(|error| PluginFailure::Input {
        input: name,
        line: error.line(),
        column: error.column(),
    });
    Ok(read?)
}

impl Document for Tested {
    type Api = PluginTest;

    fn document(&self) -> impl Borrow<PluginTest> {
        PluginTest { diff: self.diff.document(), ..self.document.clone() }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let tested = &self.document;
        self.diff.write(out)?;
        write_lines(&tested.changes, out, 0)?;
        writeln!(out, "output     {}", Harmless(tested.output.to_string().as_bytes()))?;
        for PluginCheck { name, ok, message, .. } in &tested.checks {
            let outcome = if *ok { "passed" } else { "failed" };
            let message = message.as_ref().map(|it| format!(": {}", Harmless(it.as_bytes())));
            let (name, message) = (Quoted(name.as_bytes()), message.unwrap_or_default());
            writeln!(out, "check      `{name}` {outcome}{message}")?;
        }
        let RestoreEvidence { paths, restored, .. } = &tested.rollback;
        let paths = count(*paths, "path");
        writeln!(out, "rollback   restored everything: {paths}, {restored}")?;
        let end = if tested.ok { "the package works" } else { "some checks failed" };
        writeln!(out, "{end}; no changes were kept")
    }
}
