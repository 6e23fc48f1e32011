//! `actum resolve`: a person has looked at a blocked path.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write};

use actum_core::RelPath;
use actum_workspace::{Error, ErrorKind};
use serde::Serialize;

use super::Session;
use super::status::Blocked;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::{records, recovery_note};

/// Let runs touch blocked paths again, once you have looked at them
///
/// The files stay as they are, and so does what is kept of them under `.actum/lost`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The paths, from the root of the workspace, as `actum status` lists them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,
}

#[derive(Serialize)]
struct Resolved {
    resolved: Vec<Blocked>,
    /// How many paths are still blocked.
    blocked: usize,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let mut paths = BTreeSet::new();
    for path in &arguments.paths {
        let path = RelPath::new(path.as_encoded_bytes());
        paths.insert(path.map_err(|source| Error::from(ErrorKind::Path { source }))?);
    }
    let mut workspace = records::own_root(session.root())?.open_existing()?;
    recovery_note::tell(&session.screen, workspace.recovery());
    // All or nothing here too: look at every path before the first is resolved.
    if let Some(path) = paths.iter().find(|path| !workspace.blocked().contains_key(*path)) {
        return Err(Error::from(ErrorKind::NotBlocked { path: path.clone() }).into());
    }
    let mut resolved = Vec::new();
    for path in &paths {
        let run = workspace.resolve(path)?;
        resolved.extend(Blocked::all([(path, &run)]));
    }
    session.screen.show(&Resolved { resolved, blocked: workspace.blocked().len() })?;
    Ok(Exit::Success)
}

impl Document for Resolved {
    fn format(&self) -> &'static str {
        "actum.resolve/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for Blocked { path, run } in &self.resolved {
            writeln!(out, "resolved  {path}; what run {run} left is kept in .actum/lost/{run}/")?;
        }
        match self.blocked {
            0 => writeln!(out, "nothing is blocked any more"),
            blocked => writeln!(out, "still blocked: {blocked}; `actum status` lists them"),
        }
    }
}
