//! `actum demo`: demonstrates the main workflow from end to end, on a temporary project.

mod project;

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum::{Engine, PolicyInForce, Records, Request, Which};
use actum_api::program::{Demo, DemoCheck};
use actum_core::{ShellWord, path::Quoted};
use actum_edit::Operation;
use actum_edit::format::{Reading, parse};
use actum_gate::verify_receipt;
use actum_record::ledger::TenantId;
use actum_workspace::{View, Workspace};

use self::project::{Project, Tree};
use super::Session;
use super::log::log;
use crate::change_list::write_lines;
use crate::count::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::records::Seen;
use crate::run_end::RunEnd;
use crate::snippet::Quote;
use crate::{actor, clock, shown_path};

/// Demonstrate actum on a small project: apply, refuse, list, undo
///
/// Works in a new directory under TMPDIR or /tmp, and removes it at the end. The exit code is 0 only if all checks
/// succeed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Keep the directory for inspection
    #[arg(long)]
    keep: bool,
}

/// Output of the demo, as text and as a JSON document.
#[derive(Default)]
struct Transcript {
    document: Demo,
    text: String,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let project = Project::make(&session.tenant)?;
    let mut transcript = Transcript::default();
    transcript.play(&project)?;
    if arguments.keep {
        let (root, records) = (project.root().to_owned(), project.records());
        project.keep();
        let bytes = root.as_os_str().as_bytes();
        let word = |path: &Path| ShellWord::path(path.as_os_str().as_bytes()).to_string();
        let (root, records) = (word(&root), word(&records));
        transcript
            .line(format_args!("\nThe project is in {}; to inspect it, run\n", Quoted(bytes)));
        transcript.line(format_args!("  ACTUM_HOME={records} actum -C {root} log"));
        transcript.document.directory = Some(shown_path::text(bytes));
    }
    session.screen.show(&transcript)?;
    let held = transcript.document.checks.iter().all(|check| check.held);
    Ok(if held { Exit::Success } else { Exit::NeedsAttention })
}

impl Transcript {
    fn play(&mut self, project: &Project) -> Result<(), Failure> {
        let root = project.root();
        let at_the_start = Tree::read(root)?;
        self.line(format_args!(
            "A small project: {} files, one executable, one binary, one without a final \
             newline.",
            at_the_start.files()
        ));
        let records = Records::open(&project.records(), &TenantId::default(), clock::clock())?;
        let mut engine = Engine::open(root, records.clone())?;

        self.title("1  A change to all of these files, written as a git diff");
        let change = named("apply change.diff", steps(project::CHANGE)?);
        let end = RunEnd::make(&mut engine, change, None.into())?;
        self.lines(|out| write_lines(&end.effect.changes, out, 5))?;
        let changed = Tree::read(root)?;
        self.check("every file matches the diff", changed == project.changed());

        self.title("2  A change whose first patch applies and whose second does not");
        let second = steps(project::HALF_FITTING)?;
        let first_fits = fits(root, second.get(..1).unwrap_or_default())?;
        let refused = RunEnd::make(&mut engine, named("apply half.diff", second), None.into());
        if let Err(error) = &refused {
            self.line(format_args!("     error: {}", error.with_state()));
        }
        self.check("the first patch alone would have applied", first_fits);
        self.check("the entire change was refused", refused.is_err());
        self.check("not a single byte was changed", Tree::read(root)? == changed);

        self.title("3  The log");
        let log = log(&View::open(root)?, &Seen::Nothing, usize::MAX)?;
        self.lines(|out| log.write_lines(out, 5))?;

        self.title("4  Undo");
        if let Some(run) = end.outcome.run {
            let request = Request::undo(Which::Run(run)).asked_by(actor::from_agent(None));
            let done = engine.run(request)?;
            let after = done.receipt.statement.predicate.paths.len();
            self.line(format_args!(
                "     {} undone",
                count(u64::try_from(after).unwrap_or(u64::MAX), "path")
            ));
            let undone = Tree::read(root)?;
            self.check("every byte and every permission is restored", undone == at_the_start);

            self.title("5  The signed receipt of that undo, verified with only the public key");
            let genuine = verify_receipt(&done.receipt.envelope, records.keyring());
            let mut forged = done.receipt.envelope.clone();
            if let Some(byte) = forged.get_mut(100) {
                *byte ^= 1;
            }
            let forged = verify_receipt(&forged, records.keyring());
            self.check("the receipt is genuine", genuine.is_ok());
            self.check("a copy with one changed bit is refused", forged.is_err());
        }

        let held = self.document.checks.iter().filter(|check| check.held).count();
        let all = self.document.checks.len();
        self.title(if held == all {
            "All checks succeeded: a change is applied completely or not at all, and can be undone."
        } else {
            "NOT all checks succeeded. Please report this with all of the text above."
        });
        Ok(())
    }

    fn title(&mut self, title: &str) {
        self.line(format_args!("\n{title}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        self.text.push_str(&format!("{line}\n"));
    }

    fn lines(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        let written = write(&mut bytes);
        written.map_err(|source| Failure::Demo { action: "write its output", source })?;
        self.text.push_str(&String::from_utf8_lossy(&bytes));
        Ok(())
    }

    fn check(&mut self, what: &'static str, held: bool) {
        self.line(format_args!("   {}  {what}", if held { "ok    " } else { "FAILED" }));
        self.document.checks.push(DemoCheck { what: what.to_owned(), held });
    }
}

fn steps(diff: &str) -> Result<Vec<Operation>, Failure> {
    parse(diff.as_bytes(), &Reading::default()).map_err(|source| {
        let input = "the demo's diff".to_owned();
        Failure::Input { input, source: Box::new(source), quote: Quote::Shown(None) }
    })
}

fn named(label: &str, operations: Vec<Operation>) -> Request {
    Request::apply(operations).labelled(label).asked_by(actor::from_agent(None))
}

fn fits(root: &std::path::Path, operations: &[Operation]) -> Result<bool, Failure> {
    let mut workspace = Workspace::open(root)?;
    let request = Request::apply(operations.to_vec());
    let built_in = PolicyInForce::built_in(root);
    let tried =
        RunEnd::look(&mut workspace, &request, (&built_in, &TenantId::default()), None.into());
    Ok(tried.is_ok_and(|end| !end.is_empty()))
}

impl Document for Transcript {
    type Api = Demo;

    fn document(&self) -> impl Borrow<Demo> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.text.as_bytes())
    }
}
