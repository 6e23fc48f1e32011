//! `actum apply`: applies a change completely or not at all.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum::Work;
use actum_core::path::Quoted;
use actum_core::{Budget, PathRule, RelPath, Scope};
use actum_edit::format::{Format, HunkCounts, Reading, RootPrefix};
use actum_workspace::{ExistingFiles, HardLinks, HunkPlaces, LaterEdits, Limits};
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input::Input;
use crate::requested_run::{Asked, IfMissing};
use crate::run_arguments::{RunArguments, label};
use crate::{records, root};

/// Apply a change completely or not at all
///
/// Reads a unified diff in git's format, SEARCH/REPLACE blocks, a Codex patch, or JSON: edits (search and replace),
/// whole files, JSON Patches, or a change set. Paths in the change are relative to the root of the workspace. The
/// expected text must match at exactly one place, because actum neither guesses nor merges.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File that describes the change; `-` is standard input
    file: PathBuf,
    #[command(flatten)]
    run_arguments: RunArguments,
    /// Describe the run with LABEL in the log, instead of `apply FILE` or, for standard input, the changed paths
    #[arg(short, long, value_name = "LABEL", value_parser = label)]
    message: Option<String>,
    /// Allow only paths that RULE matches: `src` matches the path and everything below it, `src/` only what is below
    /// it, and `**/*.rs` uses wildcards
    #[arg(long, value_name = "RULE", value_parser = rule())]
    allow: Vec<PathRule>,
    /// Refuse paths that RULE matches, even if they are allowed
    #[arg(long, value_name = "RULE", value_parser = rule())]
    deny: Vec<PathRule>,
    /// Refuse to change more files than this; a renamed file counts once
    #[arg(long, value_name = "N")]
    max_files: Option<u64>,
    /// Refuse to add and remove more lines than this in total; binary files have no lines
    #[arg(long, value_name = "N")]
    max_loc: Option<u64>,
    /// Replace existing files that the change creates, renames to or copies to; undo restores them
    #[arg(long)]
    overwrite: bool,
    /// Allow a hunk to apply at a line other than the stated one, if its lines match at exactly one place
    #[arg(long)]
    allow_offset: bool,
    /// Count the lines of each hunk of a diff instead of trusting the counts in its header
    #[arg(long)]
    recount: bool,
    /// Set the format of the input, which is detected by default
    #[arg(long, value_parser = format())]
    format: Option<Format>,
    /// Apply the input, a bare JSON Patch, to this file
    #[arg(long, value_name = "FILE", value_parser = relative_path())]
    target: Option<RelPath>,
}

fn format() -> impl TypedValueParser<Value = Format> {
    let described = |format: Format| PossibleValue::new(format.name()).help(format.summary());
    PossibleValuesParser::new(Format::ALL.map(described))
        .try_map(|name| Format::named(&name).ok_or("unknown format"))
}

pub(crate) fn rule() -> impl TypedValueParser<Value = PathRule> {
    OsStringValueParser::new().try_map(|text| PathRule::new(text.as_encoded_bytes()))
}

fn relative_path() -> impl TypedValueParser<Value = RelPath> {
    OsStringValueParser::new().try_map(|text| RelPath::new(text.as_encoded_bytes()))
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let input = Input::read(&arguments.file, &session.start)?;
    let root = root::existing_or_new(&session.start);
    let reading = Reading {
        format: arguments.format,
        target: arguments.target.clone(),
        counts: if arguments.recount { HunkCounts::Counted } else { HunkCounts::Stated },
        root: RootPrefix::new(root.as_os_str().as_bytes()),
    };
    let operations = input.operations(&reading)?;
    let is_new = !root::is_made(root);
    if is_new {
        // Report errors of the workspace before errors of the ledger and the keys.
        drop(records::own_root(root, &session.tenant)?.open()?);
    }
    if let Some(repository) = root::repository(&session.start)
        && repository.starts_with(root)
        && repository != root
    {
        let (root, inner) = (shown(root), shown(repository));
        session.screen.note(format_args!(
            "the workspace {root} is above the git repository {inner}; run `actum init` to give the \
             repository a workspace of its own"
        ));
    }
    if is_new {
        session.note_made(root);
    }
    let asked = Asked {
        limits: arguments.limits(),
        label: arguments
            .message
            .clone()
            .or_else(|| Some(format!("apply {}", input.name.as_deref()?))),
        if_missing: IfMissing::Make,
    };
    arguments.run_arguments.carry_out(session, root, || Ok(Work::Apply(operations)), asked)
}

fn shown(path: &Path) -> Quoted<'_> {
    Quoted(path.as_os_str().as_bytes())
}

impl Arguments {
    fn limits(&self) -> Limits {
        let allow = (!self.allow.is_empty()).then(|| self.allow.clone());
        Limits {
            scope: Scope { allow, deny: self.deny.clone() },
            budget: Budget { max_files: self.max_files, max_loc: self.max_loc },
            existing_files: match self.overwrite {
                true => ExistingFiles::Replace,
                false => ExistingFiles::Keep,
            },
            hunk_places: match self.allow_offset {
                true => HunkPlaces::Searched,
                false => HunkPlaces::Stated,
            },
            later_edits: LaterEdits::Refuse,
            hard_links: HardLinks::Break,
        }
    }
}
