//! `actum show`: prints everything that is known about a run.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::change::Changes;
use actum_api::gate::Verdict;
use actum_api::history::{ImageAttributes, ImageChange, ImageType, Run};
use actum_api::record::SignedReceipt;
use actum_core::path::{Harmless, Quoted};
use actum_core::{RunId, Status};
use actum_gate::GateName;
use actum_record::ledger::{Actor, Publisher};
use actum_record::receipt::GateRecord;
use actum_workspace::{Image, Outcome, RunKind, RunReport, View};

use super::Session;
use crate::change_list::{list, octal, title};
use crate::count::count;
use crate::diff_text::Audience;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::file_diffs::FileDiffs;
use crate::gate_view::views;
use crate::output::{Document, Kind};
use crate::record::{Record, RecordedFacts, write_commands, write_external, write_queries};
use crate::records::{self, Seen};
use crate::run_prefix::{RunPrefix, newest};
use crate::{shown_path, timestamp};

/// Show everything about a run: its record, the state of each path before and after, and the diff
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run to show, or a prefix of its id with at least 4 characters; by default, the newest run
    run: Option<RunPrefix>,
    /// Do not show the diff
    #[arg(long)]
    no_diff: bool,
}

struct Shown {
    report: RunReport,
    changes: Changes,
    /// Record of the run in the ledger.
    recorded: RecordedFacts,
    /// Whether the ledger could not be read.
    unread: bool,
    /// Diff of the run, or `None` if it was not requested.
    diff: Option<FileDiffs>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let audience = (!arguments.no_diff).then(|| session.screen.audience_of_decisions());
    let shown = Shown::find(arguments.run.as_ref(), audience, session)?;
    session.screen.show(&shown)?;
    Ok(records::report_problems(&session.screen, [&shown.recorded].into_iter()))
}

/// Returns the JSON document of a run, with a diff for the given audience if there is one.
pub(super) fn document(
    run: Option<&RunPrefix>,
    diff: Option<Audience>,
    session: &Session,
) -> Result<Run, Failure> {
    let shown = Shown::find(run, diff, session)?;
    Ok(Document::document(&shown).borrow().clone())
}

impl Shown {
    /// Finds a run, by default the newest one, and computes its diff for the audience `diff`, if there is one.
    fn find(
        run: Option<&RunPrefix>,
        diff: Option<Audience>,
        session: &Session,
    ) -> Result<Self, Failure> {
        let view = View::open(session.root())?;
        let run = match run {
            Some(prefix) => prefix.resolve(&view)?,
            None => newest(&view)?,
        };
        let report = view.show(run)?;
        let diff = match diff {
            None => None,
            Some(audience) => Some(FileDiffs::new(view.diff(run)?, audience)),
        };
        let seen = Seen::look(session);
        let (recorded, unread) = (seen.recorded_facts(run)?, matches!(seen, Seen::Unreadable));
        let changes = list(report.changes.iter().map(|shown| &shown.change));
        Ok(Self { report, changes, recorded, unread, diff })
    }
}

/// Converts the outcome of a run to a status word of the shared, frozen set (D-1).
pub(super) fn status_of(outcome: Outcome) -> Status {
    match outcome {
        Outcome::Committed => Status::Succeeded,
        Outcome::RolledBack => Status::Reverted,
        Outcome::Failed => Status::Failed,
    }
}

pub(super) fn kind_name(kind: RunKind) -> actum_api::history::RunKind {
    match kind {
        RunKind::Apply => actum_api::history::RunKind::Apply,
        RunKind::Undo(_) => actum_api::history::RunKind::Undo,
    }
}

pub(super) fn undoes(kind: RunKind) -> Option<RunId> {
    match kind {
        RunKind::Apply => None,
        RunKind::Undo(run) => Some(run),
    }
}

/// Converts the state of a path to its form in JSON documents.
fn image_of(image: &Image) -> actum_api::history::Image {
    let (r#type, file, attributes) = match image {
        Image::Absent => (ImageType::Absent, None, None),
        Image::Directory(attributes) => (ImageType::Directory, None, Some(attributes)),
        Image::File(file) => (ImageType::File, Some(file), Some(&file.attributes)),
    };
    actum_api::history::Image {
        r#type,
        sha256: file.map(|file| file.digest),
        size: file.map(|file| file.size),
        attributes: attributes.map(|attributes| ImageAttributes {
            mode: octal(attributes.mode),
            user: attributes.user,
            group: attributes.group,
            xattrs: attributes.xattrs.iter().map(|(name, _)| shown_path::text(name)).collect(),
        }),
    }
}

/// Formats the state of a path as human-readable text.
fn image_text(image: &Image) -> String {
    match image {
        Image::Absent => "nothing".to_owned(),
        Image::Directory(attributes) => format!("a directory  {}", octal(attributes.mode)),
        Image::File(file) => {
            let (mode, size) = (octal(file.attributes.mode), count(file.size, "byte"));
            format!("{}  {mode}  {size}", file.digest)
        }
    }
}

/// Writes the decisions of the gates, in a single line if all of them allow the change, and otherwise one line per gate.
fn write_gates(out: &mut dyn Write, gates: &[GateRecord]) -> io::Result<()> {
    let views = views(gates);
    if !views.is_empty() && views.iter().all(|gate| gate.verdict == Verdict::Allow) {
        let tier = views.iter().find(|gate| gate.gate == GateName::Tier.as_str());
        let tier = tier.map(|gate| format!("; {}", Harmless(gate.message.as_bytes())));
        let tier = tier.unwrap_or_default();
        return writeln!(out, "gates      all {} allow{tier}", views.len());
    }
    views.iter().try_for_each(|gate| writeln!(out, "gate       {gate}"))
}

fn write_record(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let Actor { user, uid, agent } = &record.actor;
    let agent = agent.as_ref().map(|agent| format!("{} for ", Quoted(agent.as_bytes())));
    let (agent, user) = (agent.unwrap_or_default(), Quoted(user.as_bytes()));
    writeln!(out, "asked by   {agent}{user} ({uid}), {}", Quoted(record.door.as_bytes()))?;
    if record.published_by == Publisher::Client {
        writeln!(
            out,
            "published  by the client, which made the change itself; the run was adopted afterwards"
        )?;
    }
    if let Some(request) = &record.request {
        writeln!(out, "request    {request}, attempt {}", record.attempt)?;
    }
    write_commands(out, 11, &record.commands)?;
    write_queries(out, 11, &record.queries)?;
    write_external(out, 11, &record.external)?;
    write_gates(out, &record.gates)?;
    match &record.receipt {
        None => writeln!(
            out,
            "receipt    none yet; the next run here will record the outcome of this one"
        ),
        Some(SignedReceipt { index, key }) => {
            let intent = record.intent;
            writeln!(out, "receipt    #{index}, signed by {key}; its intent is #{intent}")
        }
    }
}

impl Document for Shown {
    type Api = Run;

    fn document(&self) -> impl Borrow<Run> {
        let report = &self.report;
        let images = report.changes.iter().zip(&self.changes.changes);
        Run {
            run: report.run,
            kind: kind_name(report.kind),
            undoes: undoes(report.kind),
            status: status_of(report.outcome),
            undone_by: report.undone_by,
            time: timestamp::exact(report.time),
            label: report.label.clone(),
            files: self.changes.files,
            added: self.changes.added,
            removed: self.changes.removed,
            changes: images
                .map(|(shown, change)| ImageChange {
                    change: change.clone(),
                    before: image_of(&shown.before),
                    after: image_of(&shown.after),
                })
                .collect(),
            record: self.recorded.document(),
            record_problem: self.recorded.problem.clone(),
            diff: self.diff.as_ref().map(FileDiffs::document),
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let report = &self.report;
        let (kind, status) = (kind_name(report.kind), status_of(report.outcome));
        writeln!(out, "run        {}", report.run)?;
        match undoes(report.kind) {
            None => writeln!(out, "kind       {kind}")?,
            Some(run) => writeln!(out, "kind       {kind} of {run}")?,
        }
        writeln!(out, "status     {}", status.as_str())?;
        if let Some(by) = report.undone_by {
            writeln!(out, "undone by  {by}")?;
        }
        writeln!(out, "time       {}", timestamp::to_the_second(report.time))?;
        writeln!(out, "label      {}", Quoted(report.label.as_bytes()))?;
        match &self.recorded.record {
            None if self.unread => {
                writeln!(out, "receipt    not shown; the ledger cannot be read")?
            }
            None if self.recorded.problem.is_some() => {
                writeln!(out, "receipt    not shown; the ledger's record of the run is not proven")?
            }
            None => writeln!(out, "receipt    none; the run is not in this ledger")?,
            Some(record) => write_record(out, record)?,
        }
        let Changes { files, added, removed, changes } = &self.changes;
        let files = count(*files, "file");
        let word = if status == Status::Succeeded { "changed" } else { "tried" };
        writeln!(out, "{word:9}  {files} +{added} -{removed}")?;
        for (shown, change) in report.changes.iter().zip(changes) {
            writeln!(out, "\n{}", title(change))?;
            writeln!(out, "  before  {}", image_text(&shown.before))?;
            writeln!(out, "  after   {}", image_text(&shown.after))?;
        }
        match &self.diff {
            Some(diff) => {
                writeln!(out)?;
                diff.write(out)
            }
            None => Ok(()),
        }
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
