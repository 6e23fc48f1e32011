//! `actum resolve`: unblocks paths after the user has checked them.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use actum::NewAlert;
use actum::reason::Reason;
use actum_api::recovery::{BlockedPath, Resolve};
use actum_core::RelPath;
use actum_core::path::InBackticks;
use actum_workspace::{Error, ErrorKind, Workspace};

use super::Session;
use super::status::blocked_paths;
use crate::count::number;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::{actor, records, recovery_note, shown_path};

/// Let runs change blocked paths again, after you have checked them
///
/// The files stay unchanged, and so do the saved versions under `.actum/lost`. An alert is recorded in the ledger.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Blocked paths, relative to the workspace root, as `actum status` lists them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,
}

/// Maximum number of paths that the alert names.
const NAMED_MAX: usize = 20;

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let mut paths = BTreeSet::new();
    for path in &arguments.paths {
        let path = RelPath::new(path.as_encoded_bytes());
        paths.insert(path.map_err(|source| Error::from(ErrorKind::Path { source }))?);
    }
    let mut workspace = records::own_root(session.root(), &session.tenant)?.open_existing()?;
    recovery_note::print(&session.screen, workspace.recovery());
    // Check every path before resolving the first, so that either all of them are resolved or none.
    if let Some(path) = paths.iter().find(|path| !workspace.blocked().contains_key(*path)) {
        return Err(Error::from(ErrorKind::NotBlocked { path: path.clone() }).into());
    }
    alert_operator(&workspace, session, &paths)?;
    let mut resolved = Vec::new();
    for path in &paths {
        let run = workspace.resolve(path)?;
        resolved.extend(blocked_paths([(path, &run)]));
    }
    session.screen.show(&Resolve { resolved, blocked: number(workspace.blocked().len()) })?;
    Ok(Exit::Success)
}

/// Raises an alert about the paths. This happens before they are resolved, because `actum status` no longer reports them
/// afterwards.
fn alert_operator(
    workspace: &Workspace,
    session: &Session,
    paths: &BTreeSet<RelPath>,
) -> Result<(), Failure> {
    let named = paths.iter().filter_map(|path| {
        let run = workspace.blocked().get(path)?;
        Some(format!("{} of run {run}", InBackticks(path.as_bytes())))
    });
    let named: Vec<_> = named.take(NAMED_MAX).collect();
    let more = match paths.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "runs may change {}{more} again; the saved versions are in `.actum/lost`",
        named.join(", ")
    );
    let id = workspace.id().map_err(actum::Error::from)?;
    let root = shown_path::text(session.root().as_os_str().as_bytes());
    records::open(&session.tenant)?.alert(NewAlert {
        name: Reason::PathBlocked.name(),
        message,
        actor: Some(actor::from_agent(None)),
        workspace: id.map(|id| (id, root)),
    })?;
    Ok(())
}

impl Document for Resolve {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for BlockedPath { path, run } in &self.resolved {
            writeln!(out, "resolved  {path}; the saved versions stay in .actum/lost/{run}/")?;
        }
        match self.blocked {
            0 => writeln!(out, "no other path is blocked"),
            blocked => writeln!(out, "still blocked: {blocked}; run `actum status` to list them"),
        }
    }
}
