//! `actum log`: past runs, the newest first.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::change::Changes;
use actum_api::history::{Log, LoggedRun, RunFacts, RunKind};
use actum_core::{RunId, Status};
use actum_workspace::{ErrorKind, RunRef, RunReport, View};

use super::Session;
use super::show::{kind_name, status_of, undoes};
use crate::change_list::list;
use crate::count::{count, lines, number};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::record::RecordedFacts;
use crate::records::{self, Seen};
use crate::style::{self, Painted};
use crate::timestamp;

/// List past runs, the newest first
///
/// Each line has the run, its time, its outcome, the position of its receipt in the ledger, the requester, the size of
/// the change, and its label. Instead of a position, `-` means that the ledger does not know the run, `open` that its
/// end is not recorded yet, and `wrong` that its record is not proven.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// List at most N runs
    #[arg(short, value_name = "N", default_value_t = 20)]
    number: usize,
    /// List only runs of this session of an agent's client
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// List only runs of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

impl Arguments {
    fn selects_all(&self) -> bool {
        self.session.is_none() && self.agent.is_none()
    }

    fn selects(&self, told: &RecordedFacts) -> bool {
        let agent = told.record.as_ref().and_then(|record| record.actor.agent.as_deref());
        let is_of_session =
            self.session.as_deref().is_none_or(|session| told.session() == Some(session));
        is_of_session && self.agent.as_deref().is_none_or(|wanted| agent == Some(wanted))
    }
}

/// Part of the log.
#[derive(Debug, Clone)]
pub(super) struct History {
    runs: Vec<Line>,
    total: usize,
    unfinished: Option<RunId>,
}

#[derive(Debug, Clone)]
struct Line {
    run: RunId,
    kind: RunKind,
    undoes: Option<RunId>,
    status: Status,
    /// `None` if the record of the run is damaged.
    facts: Option<Facts>,
    /// Facts of the ledger about the run.
    told: RecordedFacts,
}

#[derive(Debug, Clone)]
struct Facts {
    short_time: String,
    known: RunFacts,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let view = View::open(session.root())?;
    let seen = Seen::look(session);
    let log = match arguments.selects_all() {
        true => log(&view, &seen, arguments.number)?,
        false => selected(&view, &seen, arguments)?,
    };
    session.screen.show(&log)?;
    let older = log.total.saturating_sub(log.runs.len());
    if older > 0 && arguments.selects_all() {
        session.screen.note(format_args!("{older} older; `actum log -n {}` lists all", log.total));
    }
    Ok(records::tell_problems(&session.screen, log.runs.iter().map(|line| &line.told)))
}

/// Returns the newest runs that the options select.
fn selected(view: &View, seen: &Seen, arguments: &Arguments) -> Result<History, Failure> {
    let all = log(view, seen, usize::MAX)?;
    let runs = all.runs.into_iter().filter(|line| arguments.selects(&line.told));
    Ok(History { runs: runs.take(arguments.number).collect(), ..all })
}

/// Returns these runs, in the order of the log.
pub(super) fn of_runs(view: &View, seen: &Seen, runs: &[RunId]) -> Result<History, Failure> {
    let all = log(view, seen, usize::MAX)?;
    let lines = all.runs.into_iter().filter(|line| runs.contains(&line.run));
    Ok(History { runs: lines.collect(), ..all })
}

/// Returns the newest runs as a document.
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
    })
}

fn line(
    known: &RunRef,
    report: actum_workspace::Result<RunReport>,
    seen: &Seen,
) -> Result<Line, Failure> {
    let told = seen.told(known.run)?;
    let facts = match report {
        Ok(report) => {
            let changes = report.changes.iter().map(|shown| &shown.change);
            let Changes { files, added, removed, .. } = list(changes);
            let (time, short_time) = (timestamp::exact(report.time), timestamp::ago(report.time));
            let (label, undone_by) = (report.label, report.undone_by);
            let known = RunFacts { time, label, files, added, removed, undone_by };
            Some(Facts { short_time, known })
        }
        // One damaged record must not hide the others.
        Err(error) if matches!(error.kind, ErrorKind::DamagedHistory { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Line {
        run: known.run,
        kind: kind_name(known.kind),
        undoes: undoes(known.kind),
        status: status_of(known.outcome),
        facts,
        told,
    })
}

impl Document for History {
    type Api = Log;

    fn document(&self) -> impl Borrow<Log> {
        let runs = self.runs.iter().map(Line::document).collect();
        Log { runs, total: number(self.total), unfinished: self.unfinished }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(run) = self.unfinished {
            writeln!(out, "{}  has begun and not ended", Painted(style::RUN, run))?;
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
        let cells: Vec<_> = self.runs.iter().map(Line::cells).collect();
        let width = |cell: fn(&Cells) -> &String| {
            cells.iter().flatten().map(|cells| cell(cells).len()).max().unwrap_or(0)
        };
        let (files_width, lines_width) = (width(|cells| &cells.files), width(|cells| &cells.lines));
        let time_width = width(|cells| &cells.time);
        let (record_width, who_width) = (width(|cells| &cells.record), width(|cells| &cells.who));
        for (line, cells) in self.runs.iter().zip(&cells) {
            let (run, status) = (Painted(style::RUN, line.run), line.status.as_str());
            match cells {
                None => writeln!(out, "{:indent$}{run}  (its record is damaged)", "")?,
                Some(Cells { time, files, lines, record, who, label }) => writeln!(
                    out,
                    "{:indent$}{run}  {time:time_width$}  {status:9}  {record:record_width$}  \
                     {who:who_width$}  {files:files_width$}  {lines:lines_width$}  {label}",
                    ""
                )?,
            }
        }
        Ok(())
    }
}

struct Cells {
    time: String,
    files: String,
    lines: String,
    record: String,
    who: String,
    label: String,
}

impl Line {
    fn document(&self) -> LoggedRun {
        LoggedRun {
            run: self.run,
            kind: self.kind.clone(),
            undoes: self.undoes,
            status: self.status,
            facts: self.facts.as_ref().map(|facts| facts.known.clone()),
            damaged: self.facts.is_none(),
            record: self.told.document(),
            record_problem: self.told.problem.clone(),
        }
    }

    fn cells(&self) -> Option<Cells> {
        let Facts { short_time, known: facts } = self.facts.as_ref()?;
        let undone = facts.undone_by.map(|by| format!(" (undone by {by})")).unwrap_or_default();
        Some(Cells {
            time: short_time.clone(),
            files: count(facts.files, "file"),
            lines: lines(facts.added, facts.removed).unwrap_or_default(),
            record: self.told.place(),
            who: shortened(self.told.who()),
            label: format!("{}{undone}", actum_core::path::Quoted(facts.label.as_bytes())),
        })
    }
}

/// Shortens a name to the width of a column. An agent chooses its name, and a long one would wrap the line.
fn shortened(who: String) -> String {
    const CHARS_MAX: usize = 32;
    match who.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", who.get(..end).unwrap_or_default()),
        None => who,
    }
}
