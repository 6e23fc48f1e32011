//! `actum diff`: shows the changes of one run or of consecutive runs as a unified diff.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::str::FromStr;

use actum_api::change::Diffs;
use actum_api::history::Diff;
use actum_core::RunId;
use actum_workspace::View;
use actum_workspace::path_change::PathChange;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::file_diffs::FileDiffs;
use crate::output::{Document, Kind};
use crate::run_prefix::{RunPrefix, RunPrefixError, newest};

/// Show the changes of a run, or of several runs together, as a unified diff
///
/// The diff can be applied again, by git and by actum. The content of the files is reconstructed from the history. If a
/// change outside of runs makes this impossible, the diff reports it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run to show, by default the newest; FROM..TO shows the changes after the run FROM up to TO, or up to the newest
    /// run if TO is omitted
    #[arg(value_name = "RUN|FROM..TO")]
    runs: Option<Range>,
    /// Show the inverse change
    #[arg(long)]
    reverse: bool,
}

/// Run or range of runs, as typed by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Range {
    One(RunPrefix),
    Between(RunPrefix, Option<RunPrefix>),
}

impl FromStr for Range {
    type Err = RunPrefixError;

    fn from_str(text: &str) -> Result<Self, RunPrefixError> {
        Ok(match text.split_once("..") {
            None => Self::One(text.parse()?),
            Some((from, "")) => Self::Between(from.parse()?, None),
            Some((from, to)) => Self::Between(from.parse()?, Some(to.parse()?)),
        })
    }
}

/// Diff of one run or of a range of runs.
pub(super) struct Difference {
    from: Option<RunId>,
    to: RunId,
    pub(super) files: FileDiffs,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let view = View::open(session.root())?;
    let (from, to, mut changes) = match &arguments.runs {
        None => {
            let run = newest(&view)?;
            (None, run, view.diff(run)?)
        }
        Some(Range::One(run)) => {
            let run = run.resolve(&view)?;
            (None, run, view.diff(run)?)
        }
        Some(Range::Between(from, to)) => {
            let to = to.as_ref().map_or_else(|| newest(&view), |to| to.resolve(&view));
            let (from, to) = (from.resolve(&view)?, to?);
            (Some(from), to, view.diff_between(from, to)?)
        }
    };
    if arguments.reverse {
        changes = PathChange::reversed(changes);
    }
    let files = FileDiffs::new(changes, session.screen.audience());
    session.screen.show(&Difference { from, to, files })?;
    Ok(Exit::Success)
}

impl Document for Difference {
    type Api = Diff;

    fn document(&self) -> impl Borrow<Diff> {
        let Diffs { changes } = self.files.document();
        Diff { from: self.from, to: self.to, changes }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.files.write(out)
    }

    fn kind(&self) -> Kind {
        Kind::Verbatim
    }
}
