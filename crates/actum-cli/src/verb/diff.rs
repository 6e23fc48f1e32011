//! `actum diff`: what a run, or a row of runs, changed, as a unified diff.

use std::io::{self, Write};
use std::str::FromStr;

use actum_core::RunId;
use actum_edit::format::git_diff::write::Part;
use actum_workspace::View;
use actum_workspace::path_change::PathChange;
use serde::{Serialize, Serializer};

use super::Session;
use crate::diff_text::{self, Audience, Section};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::run_prefix::{RunPrefix, RunPrefixError, newest};
use crate::shown_path::ShownPath;

/// Show what a run changed, or several runs together, as a unified diff
///
/// The diff can be applied again, by git and by actum. What a file held is put together from the
/// history; where something else than a run changed it later, that may not be possible, and the
/// diff says so.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A run, without which it is the newest; or FROM..TO: what changed from after the run FROM to
    /// after the run TO, or after the newest where TO is left out
    #[arg(value_name = "RUN|FROM..TO")]
    runs: Option<Range>,
    /// Show the change that takes it back
    #[arg(long)]
    reverse: bool,
}

/// One run or a range of them, as it is typed.
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

/// A change as a diff.
#[derive(Serialize)]
pub(super) struct Diff {
    from: Option<RunId>,
    to: RunId,
    #[serde(flatten)]
    pub(super) files: FileDiffs,
}

/// The differences of files, ordered by path.
#[derive(Debug, Clone)]
pub(crate) struct FileDiffs {
    known: Vec<PathChange>,
    audience: Audience,
}

/// The same for programs.
#[derive(Serialize)]
struct ShownDiffs {
    changes: Vec<FileDiff>,
}

#[derive(Debug, Clone, Serialize)]
struct FileDiff {
    #[serde(flatten)]
    path: ShownPath,
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_from: Option<ShownPath>,
    /// `None` where the content is too large, is not known any more, or is not UTF-8.
    diff: Option<String>,
    added: u64,
    removed: u64,
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
    let files = FileDiffs::of(changes, session.screen.audience());
    session.screen.show(&Diff { from, to, files })?;
    Ok(Exit::Success)
}

impl FileDiffs {
    pub(crate) fn of(known: Vec<PathChange>, audience: Audience) -> Self {
        Self { known, audience }
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.audience == Audience::Terminal {
            diff_text::write_directories(&self.known, out)?;
        }
        let sections = diff_text::sections(&self.known);
        sections.iter().try_for_each(|section| section.write(self.audience, out))
    }
}

impl Serialize for FileDiffs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let changes = diff_text::sections(&self.known).iter().map(FileDiff::of).collect();
        ShownDiffs { changes }.serialize(serializer)
    }
}

impl FileDiff {
    fn of(section: &Section<'_>) -> Self {
        let (mut text, mut added, mut removed) = (Vec::new(), 0, 0);
        section.pieces(|part, piece| {
            text.extend_from_slice(piece);
            // The mark of a missing newline is no line.
            if piece.first() != Some(&b'\\') {
                added += u64::from(part == Part::Added);
                removed += u64::from(part == Part::Removed);
            }
        });
        Self {
            path: ShownPath(section.change.path.clone()),
            renamed_from: section.change.renamed_from.clone().map(ShownPath),
            diff: String::from_utf8(text).ok(),
            added,
            removed,
        }
    }
}

impl Document for Diff {
    fn format(&self) -> &'static str {
        "actum.diff/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.files.write(out)
    }

    fn kind(&self) -> Kind {
        Kind::Verbatim
    }
}
