//! `actum init`: creates a workspace.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_api::init::Init;
use actum_core::path::Quoted;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::{records, recovery_note, root, shown_path};

/// Create a workspace, unless it already exists
///
/// A workspace is a directory that contains the state directory `.actum`. By default, it is created in the root of the
/// git repository, or in the current directory if there is no repository, even inside another workspace. From then on,
/// it belongs to the current ledger. If the workspace already exists, the command only rolls back an interrupted run.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Existing directory in which to create the workspace
    #[arg(value_name = "DIRECTORY")]
    exactly: Option<PathBuf>,
}

struct Made {
    document: Init,
    shown_root: String,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let named = arguments.exactly.as_ref();
    let named = named.map(|directory| root::start(Some(&session.start.join(directory))));
    let named = named.transpose()?;
    let root = named.as_deref().unwrap_or_else(|| root::wanted(&session.start));
    let created = !root::is_made(root);
    let (checked, records) = records::open_for(root, &session.tenant)?;
    let mut engine = checked.engine(records)?;
    let bound = engine.resume();
    recovery_note::print(&session.screen, engine.recovery());
    bound?;
    records::report_late_outcomes(&session.screen, &engine);
    if created && let Some(above) = root::above(root) {
        session.screen.note(above);
    }
    let bytes = root.as_os_str().as_bytes();
    let (root, shown_root) = (shown_path::text(bytes), Quoted(bytes).to_string());
    session.screen.show(&Made { document: Init { root, created }, shown_root })?;
    Ok(Exit::Success)
}

impl Document for Made {
    type Api = Init;

    fn document(&self) -> impl Borrow<Init> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let root = &self.shown_root;
        if self.document.created {
            writeln!(out, "created a workspace in {root}")
        } else {
            writeln!(out, "there is already a workspace in {root}")
        }
    }
}
