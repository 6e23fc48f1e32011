//! `actum show`: all about one run.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_core::path::Quoted;
use actum_core::{Digest, RunId, Status};
use actum_record::ledger::Actor;
use actum_workspace::{Image, Outcome, RunKind, RunReport, View};
use serde::Serialize;

use super::Session;
use crate::change_list::{ChangeLine, ChangeList, count, octal};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::file_diffs::FileDiffs;
use crate::gate_view::views;
use crate::output::{Document, Kind};
use crate::record::{Record, SignedBy, Told, write_commands};
use crate::records::{self, Seen};
use crate::run_prefix::{RunPrefix, newest};
use crate::{shown_path, timestamp};

/// Show all about one run: each path with what it held before and after, and the diff
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The run, or at least 4 characters of the beginning of its id; without it the newest
    run: Option<RunPrefix>,
    /// Leave out the diff
    #[arg(long)]
    no_diff: bool,
}

#[derive(Serialize)]
struct Shown {
    run: RunId,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<RunId>,
    status: Status,
    undone_by: Option<RunId>,
    time: String,
    label: String,
    files: u64,
    added: u64,
    removed: u64,
    changes: Vec<ShownChange>,
    /// What the ledger tells of it.
    #[serde(flatten)]
    told: Told,
    /// Whether it could not be asked.
    #[serde(skip)]
    unread: bool,
    #[serde(skip)]
    short_time: String,
    /// Left out where the user wants none.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<FileDiffs>,
}

#[derive(Serialize)]
struct ShownChange {
    #[serde(flatten)]
    line: ChangeLine,
    before: ShownImage,
    after: ShownImage,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ShownImage {
    Absent,
    Directory(ShownAttributes),
    File {
        sha256: Digest,
        size: u64,
        #[serde(flatten)]
        attributes: ShownAttributes,
    },
}

#[derive(Serialize)]
struct ShownAttributes {
    mode: String,
    user: u32,
    group: u32,
    xattrs: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let view = View::open(session.root())?;
    let run = match &arguments.run {
        Some(prefix) => prefix.resolve(&view)?,
        None => newest(&view)?,
    };
    let report = view.show(run)?;
    let diff = match arguments.no_diff {
        true => None,
        false => Some(FileDiffs::of(view.diff(run)?, session.screen.audience_of_decisions())),
    };
    let seen = Seen::look(session);
    let (told, unread) = (seen.told(run)?, matches!(seen, Seen::Unreadable));
    let shown = Shown { diff, told, unread, ..Shown::of(report) };
    session.screen.show(&shown)?;
    Ok(records::tell_problems(&session.screen, [&shown.told].into_iter()))
}

/// The outcome in the frozen words (D-1).
pub(super) fn status_of(outcome: Outcome) -> Status {
    match outcome {
        Outcome::Committed => Status::Succeeded,
        Outcome::RolledBack => Status::Reverted,
        Outcome::Failed => Status::Failed,
    }
}

pub(super) fn kind_name(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Apply => "apply",
        RunKind::Undo(_) => "undo",
    }
}

pub(super) fn undoes(kind: RunKind) -> Option<RunId> {
    match kind {
        RunKind::Apply => None,
        RunKind::Undo(run) => Some(run),
    }
}

impl Shown {
    fn of(report: RunReport) -> Self {
        let shown = &report.changes;
        let ChangeList { files, added, removed, .. } =
            ChangeList::of(shown.iter().map(|shown| &shown.change));
        let changes = shown.iter().map(|shown| ShownChange {
            line: ChangeLine::of(&shown.change),
            before: ShownImage::of(&shown.before),
            after: ShownImage::of(&shown.after),
        });
        Self {
            run: report.run,
            kind: kind_name(report.kind),
            undoes: undoes(report.kind),
            status: status_of(report.outcome),
            undone_by: report.undone_by,
            time: timestamp::exact(report.time),
            label: report.label.clone(),
            files,
            added,
            removed,
            changes: changes.collect(),
            told: Told::default(),
            unread: false,
            short_time: timestamp::to_the_second(report.time),
            diff: None,
        }
    }
}

impl ShownImage {
    fn of(image: &Image) -> Self {
        match image {
            Image::Absent => Self::Absent,
            Image::Directory(attributes) => Self::Directory(ShownAttributes::of(attributes)),
            Image::File(file) => Self::File {
                sha256: file.digest,
                size: file.size,
                attributes: ShownAttributes::of(&file.attributes),
            },
        }
    }
}

impl ShownAttributes {
    fn of(attributes: &actum_workspace::Attributes) -> Self {
        Self {
            mode: octal(attributes.mode),
            user: attributes.user,
            group: attributes.group,
            xattrs: attributes.xattrs.iter().map(|(name, _)| shown_path::text(name)).collect(),
        }
    }
}

impl std::fmt::Display for ShownImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("nothing"),
            Self::Directory(attributes) => write!(f, "a directory  {}", attributes.mode),
            Self::File { sha256, size, attributes } => {
                let size = count(*size, "byte");
                write!(f, "{sha256}  {}  {size}", attributes.mode)
            }
        }
    }
}

fn write_record(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let Actor { user, uid, agent } = &record.actor;
    let agent = agent.as_ref().map(|agent| format!("{} for ", Quoted(agent.as_bytes())));
    let (agent, user) = (agent.unwrap_or_default(), Quoted(user.as_bytes()));
    writeln!(out, "asked by   {agent}{user} ({uid}), {}", Quoted(record.door.as_bytes()))?;
    if let Some(request) = &record.request {
        writeln!(out, "request    {request}, attempt {}", record.attempt)?;
    }
    write_commands(out, 11, &record.commands)?;
    for gate in views(&record.gates) {
        writeln!(out, "gate       {gate}")?;
    }
    match &record.receipt {
        None => writeln!(out, "receipt    none yet; the next run here records how this one ended"),
        Some(SignedBy { index, key }) => {
            let intent = record.intent;
            writeln!(out, "receipt    #{index}, signed by {key}; its intent is #{intent}")
        }
    }
}

impl actum_api::Document for Shown {
    const FORMAT: &'static str = "actum.run/1";
}

impl Document for Shown {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "run        {}", self.run)?;
        match self.undoes {
            None => writeln!(out, "kind       {}", self.kind)?,
            Some(run) => writeln!(out, "kind       {} of {run}", self.kind)?,
        }
        writeln!(out, "status     {}", self.status.as_str())?;
        if let Some(by) = self.undone_by {
            writeln!(out, "undone by  {by}")?;
        }
        writeln!(out, "time       {}", self.short_time)?;
        writeln!(out, "label      {}", Quoted(self.label.as_bytes()))?;
        match &self.told.record {
            None if self.unread => {
                writeln!(out, "receipt    not shown; the ledger cannot be read")?
            }
            None if self.told.problem.is_some() => {
                writeln!(out, "receipt    not shown; what the ledger has of the run is not proven")?
            }
            None => writeln!(out, "receipt    none; this ledger does not know the run")?,
            Some(record) => write_record(out, record)?,
        }
        let files = count(self.files, "file");
        let word = if self.status == Status::Succeeded { "changed" } else { "tried" };
        writeln!(out, "{word:9}  {files} +{} -{}", self.added, self.removed)?;
        for change in &self.changes {
            writeln!(out, "\n{}", change.line.title())?;
            writeln!(out, "  before  {}", change.before)?;
            writeln!(out, "  after   {}", change.after)?;
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
