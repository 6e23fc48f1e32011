//! `actum init`: makes a workspace.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use actum_core::path::Quoted;
use actum_workspace::Workspace;
use serde::Serialize;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::{recovery_note, root, shown_path};

/// Make a workspace, if there is none
///
/// A workspace is a directory with the state directory `.actum` in it. It is made in the root of
/// the git repository, or else where the command was started. Inside a workspace nothing is done,
/// but that a run that was cut off is rolled back.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

#[derive(Serialize)]
struct Made {
    root: String,
    created: bool,
    #[serde(skip)]
    shown_root: String,
}

pub(crate) fn run(_: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = root::wanted(&session.start);
    let created = !root::is_made(root);
    let workspace = Workspace::open(root)?;
    recovery_note::tell(&session.screen, workspace.recovery());
    let bytes = root.as_os_str().as_bytes();
    let (root, shown_root) = (shown_path::text(bytes), Quoted(bytes).to_string());
    session.screen.show(&Made { root, created, shown_root })?;
    Ok(Exit::Success)
}

impl Document for Made {
    fn format(&self) -> &'static str {
        "actum.init/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let root = &self.shown_root;
        if self.created {
            writeln!(out, "made a workspace in {root}")
        } else {
            writeln!(out, "there is a workspace in {root} already")
        }
    }
}
