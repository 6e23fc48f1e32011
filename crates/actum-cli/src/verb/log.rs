//! `actum log`: lists past runs, newest first.

use std::borrow::Borrow;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;

use actum_api::change::Changes;
use actum_api::history::{Log, LoggedRun, RunFacts, RunKind};
use actum_core::path::Quoted;
use actum_core::{RelPath, RunId, Status};
use actum_workspace::{Change, ErrorKind, RunRef, RunReport, View};

use super::Session;
use super::show::{kind_name, status_of, undoes};
use crate::change_list::{list, write_lines};
use crate::count::{lines, number};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Document, Kind};
use crate::record::RecordedFacts;
use crate::records::{self, Seen};
use crate::selected_path::SelectedPath;
use crate::style::{self, Painted};
use crate::timestamp;

/// List past runs, newest first: all of them, or those that changed a path
///
/// The column ENTRY shows the number of the ledger entry that contains the receipt. It shows `-` if the ledger does not
/// know the run, `open` if the outcome is not recorded yet, and `wrong` if the record fails verification. On a
/// terminal, labels that do not fit into the line are shortened.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// List only runs that changed this file or a file below this directory
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// List at most N runs
    #[arg(short, value_name = "N", default_value_t = 20)]
    number: usize,
    /// List only runs of the client session with this id
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// List only runs of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// List the changed files of each run
    #[arg(long)]
    stat: bool,
}

/// Filter for the listed runs. A run must match every criterion that is set.
struct Filter<'a> {
    session: Option<&'a str>,
    agent: Option<&'a str>,
    paths: Option<Vec<RelPath>>,
}

impl<'a> Filter<'a> {
    /// Creates the filter from the command line, resolving its paths relative to the workspace.
    ///
    /// # Errors
    /// Returns `Usage` if a path is outside the workspace.
    fn new(arguments: &'a Arguments, session: &Session) -> Result<Self, Failure> {
        let mut paths = Vec::new();
        for path in &arguments.paths {
            match SelectedPath::resolve(path, session)? {
                SelectedPath::Inside(path) => paths.push(path),
                SelectedPath::Root => continue,
                SelectedPath::Outside => {
                    let (path, root) = (path.as_bytes(), session.root().as_os_str().as_bytes());
                    let message = format!(
                        "cannot list the runs of `{}`: it is outside the workspace `{}`",
                        Quoted(path),
                        Quoted(root)
                    );
                    return Err(Failure::Usage { message });
                }
            }
        }
        let selects_every_path = paths.len() < arguments.paths.len() || paths.is_empty();
        Ok(Self {
            session: arguments.session.as_deref(),
            agent: arguments.agent.as_deref(),
            paths: (!selects_every_path).then_some(paths),
        })
    }

    fn is_empty(&self) -> bool {
        let Self { session, agent, paths } = self;
        session.is_none() && agent.is_none() && paths.is_none()
    }

    fn selects(&self, line: &Line) -> bool {
        let Self { session, agent, paths } = self;
        let actor = line.recorded.record.as_ref().map(|record| &record.actor);
        session.is_none_or(|session| line.recorded.session() == Some(session))
            && agent.is_none_or(|agent| actor.and_then(|it| it.agent.as_deref()) == Some(agent))
            && paths.as_ref().is_none_or(|paths| line.changes_any(paths))
    }
}

/// Selected runs of the log, with the total number of runs.
#[derive(Debug, Clone)]
pub(super) struct History {
    runs: Vec<Line>,
    total: usize,
    unfinished: Option<RunId>,
    detail: Detail,
}

/// Amount of detail that is shown for each listed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// A single row.
    Row,
    /// A row, followed by the changed files.
    Files,
}

#[derive(Debug, Clone)]
struct Line {
    run: RunId,
    kind: RunKind,
    undoes: Option<RunId>,
    status: Status,
    /// `None` if the record of the run is damaged.
    facts: Option<Facts>,
    /// Information that the ledger has about the run.
    recorded: RecordedFacts,
}

#[derive(Debug, Clone)]
struct Facts {
    short_time: String,
    known: RunFacts,
    changes: Changes,
    /// Changed paths, including the old path of a renamed file.
    paths: Vec<RelPath>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let view = View::open(session.root())?;
    let seen = Seen::look(session);
    let filter = Filter::new(arguments, session)?;
    let log = match filter.is_empty() {
        true => log(&view, &seen, arguments.number)?,
        false => filtered(&view, &seen, arguments.number, |line| filter.selects(line))?,
    };
    let log = History { detail: if arguments.stat { Detail::Files } else { Detail::Row }, ..log };
    session.screen.show(&log)?;
    if log.runs.is_empty() && !filter.is_empty() {
        session.screen.note("no runs match");
    }
    let older = log.total.saturating_sub(log.runs.len());
    if older > 0 && filter.is_empty() {
        session.screen.note(format_args!(
            "older runs not shown: {older}; run `actum log -n {}` to list all",
            log.total
        ));
    }
    Ok(records::report_problems(&session.screen, log.runs.iter().map(|line| &line.recorded)))
}

/// Returns the newest runs that `selects` accepts, up to `number` of them.
fn filtered(
    view: &View,
    seen: &Seen,
    number: usize,
    selects: impl Fn(&Line) -> bool,
) -> Result<History, Failure> {
    let all = log(view, seen, usize::MAX)?;
    let runs = all.runs.into_iter().filter(selects);
    Ok(History { runs: runs.take(number).collect(), ..all })
}

/// Returns the log entries of the given runs, newest first.
pub(super) fn select(view: &View, seen: &Seen, runs: &[RunId]) -> Result<History, Failure> {
    filtered(view, seen, usize::MAX, |line| runs.contains(&line.run))
}

/// Returns up to `number` of the newest runs as a document.
pub(super) fn document(number: usize, session: &Session) -> Result<Log, Failure> {
    let log = log(&View::open(session.root())?, &Seen::look(session), number)?;
    Ok(Document::document(&log).borrow().clone())
}

pub(super) fn log(view: &View, seen: &Seen, number: usize) -> Result<History, Failure> {
    let (newest, status) = (view.newest(number)?.into_iter(), view.status()?);
    Ok(History {
        runs: newest.map(|(run, report)| line(&run, report, seen)).collect::<Result<_, _>>()?,
        total: status.runs,
        unfinished: status.unfinished,
        detail: Detail::Row,
    })
}

fn line(
    known: &RunRef,
    report: actum_workspace::Result<RunReport>,
    seen: &Seen,
) -> Result<Line, Failure> {
    let recorded = seen.recorded_facts(known.run)?;
    let facts = match report {
        Ok(report) => {
            let changed = || report.changes.iter().map(|shown| &shown.change);
            let paths = changed().flat_map(Change::paths).cloned().collect();
            let changes = list(changed());
            let Changes { files, added, removed, .. } = changes;
            let (time, short_time) = (timestamp::exact(report.time), timestamp::ago(report.time));
            let (label, undone_by) = (report.label, report.undone_by);
            let known = RunFacts { time, label, files, added, removed, undone_by };
            Some(Facts { short_time, known, changes, paths })
        }
        // A damaged record must not prevent the other runs from being listed.
        Err(error) if matches!(error.kind, ErrorKind::DamagedHistory { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Line {
        run: known.run,
        kind: kind_name(known.kind),
        undoes: undoes(known.kind),
        status: status_of(known.outcome),
        facts,
        recorded,
    })
}

impl Document for History {
    type Api = Log;

    fn document(&self) -> impl Borrow<Log> {
        let runs = self.runs.iter().map(|line| line.document(self.detail)).collect();
        Log { runs, total: number(self.total), unfinished: self.unfinished }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(run) = self.unfinished {
            writeln!(out, "{}  has started but not finished", Painted(style::RUN, run))?;
        } else if self.total == 0 {
            return writeln!(out, "no runs yet");
        }
        self.write_lines(out, 0)
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}

impl History {
    pub(super) fn write_lines(&self, out: &mut dyn Write, indent: usize) -> io::Result<()> {
        if self.runs.is_empty() {
            return Ok(());
        }
        let is_terminal = io::stdout().is_terminal();
        let columns_max = if is_terminal { output::columns() } else { usize::MAX };
        let rows: Vec<_> = self.runs.iter().map(|line| line.cells(is_terminal)).collect();
        let widths = Cells::widths(rows.iter().flatten());
        // Width of the run id and of all columns before the label, each followed by two spaces.
        let before_label = widths.iter().fold(RunId::CHARS, |sum, width| sum + 2 + width) + 2;
        let label_max = columns_max.saturating_sub(indent + before_label).max(LABEL_CHARS_MIN);
        let write_row = |out: &mut dyn Write, run: &dyn Display, cells: &Cells| {
            write!(out, "{:indent$}{run}", "")?;
            for (cell, width) in cells.columns.iter().zip(widths) {
                write!(out, "  {cell:width$}")?;
            }
            writeln!(out, "  {}", shortened(&cells.label, label_max))
        };
        write_row(out, &format_args!("{:len$}", "RUN", len = RunId::CHARS), &Cells::header())?;
        for (line, cells) in self.runs.iter().zip(&rows) {
            let run = Painted(style::RUN, line.run);
            match cells {
                None => writeln!(out, "{:indent$}{run}  the record of this run is damaged", "")?,
                Some(cells) => write_row(out, &run, cells)?,
            }
            if let (Detail::Files, Some(facts)) = (self.detail, &line.facts) {
                write_lines(&facts.changes, out, indent + 2)?;
            }
        }
        Ok(())
    }
}

/// Minimum length to which a label is shortened, in characters. On a very narrow terminal, the row wraps instead.
const LABEL_CHARS_MIN: usize = 12;

/// Maximum length of the name of an agent or a user on a terminal, in characters. Longer names are shortened.
const NAME_CHARS_MAX: usize = 12;

/// Texts of the columns in a row, except the run id.
struct Cells {
    columns: [String; 6],
    label: String,
}

impl Cells {
    fn header() -> Self {
        let columns = ["WHEN", "STATUS", "ENTRY", "BY", "FILES", "LINES"];
        Self { columns: columns.map(str::to_owned), label: "LABEL".to_owned() }
    }

    /// Returns the width of each column in characters, which is the length of its longest cell or of its header.
    fn widths<'c>(rows: impl Iterator<Item = &'c Self>) -> [usize; 6] {
        let width = |columns: &[String; 6]| columns.each_ref().map(|cell| cell.chars().count());
        let wider = |widths: [usize; 6], row: &Self| {
            let mut row = width(&row.columns).into_iter();
            widths.map(|width| row.next().map_or(width, |cell| width.max(cell)))
        };
        rows.fold(width(&Self::header().columns), wider)
    }
}

impl Line {
    fn changes_any(&self, paths: &[RelPath]) -> bool {
        let Some(facts) = &self.facts else { return false };
        let is_selected = |changed: &RelPath| {
            paths.iter().any(|path| changed == path || changed.starts_with(path))
        };
        facts.paths.iter().any(is_selected)
    }

    fn document(&self, detail: Detail) -> LoggedRun {
        let changes = self.facts.as_ref().map(|facts| facts.changes.changes.clone());
        LoggedRun {
            run: self.run,
            kind: self.kind.clone(),
            undoes: self.undoes,
            status: self.status,
            facts: self.facts.as_ref().map(|facts| facts.known.clone()),
            changes: changes.filter(|_| detail == Detail::Files),
            damaged: self.facts.is_none(),
            record: self.recorded.document(),
            record_problem: self.recorded.problem.clone(),
        }
    }

    /// Formats the columns of the row. Returns `None` if the record of the run is damaged.
    fn cells(&self, is_terminal: bool) -> Option<Cells> {
        let Facts { short_time, known: facts, .. } = self.facts.as_ref()?;
        let undone = if facts.undone_by.is_some() { "(undone) " } else { "" };
        let name_max = if is_terminal { NAME_CHARS_MAX } else { usize::MAX };
        Some(Cells {
            columns: [
                short_time.clone(),
                self.status.as_str().to_owned(),
                self.recorded.place(),
                shortened(&self.recorded.requester(), name_max),
                facts.files.to_string(),
                lines(facts.added, facts.removed).unwrap_or_default(),
            ],
            label: format!("{undone}{}", Quoted(facts.label.as_bytes())),
        })
    }
}

/// Shortens a text to at most `chars_max` characters. A shortened text ends with an ellipsis.
fn shortened(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let kept = text.chars().take(chars_max.saturating_sub(1));
    kept.chain(['…']).collect()
}
