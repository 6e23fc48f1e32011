//! `actum trust`: lets what a workspace's policy widens count.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use actum::{PolicyFiles, PolicyInForce};
use actum_core::Digest;
use actum_core::path::Quoted;
use actum_gate::policy::Source;
use actum_ledger::LedgerHome;
use serde::Serialize;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::{home, policy, root, shown_path};

/// Trust the policy in this workspace as it is now
///
/// What `actum.toml` in the root of a workspace narrows always counts; what it widens counts once you trust
/// it, and only as it is now: when the file changes, it is not trusted any more. Read it first.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Trust it no longer
    #[arg(long)]
    remove: bool,
}

#[derive(Serialize)]
struct Trusted {
    file: String,
    trusted: bool,
    /// Of the file that is trusted now.
    digest: Option<Digest>,
    /// What did not count before.
    counts: Vec<String>,
    #[serde(skip)]
    shown: String,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = root::existing_or_new(&session.start);
    let path = policy::in_workspace(root);
    let bytes = path.as_os_str().as_bytes();
    let (file, shown) = (shown_path::text(bytes), Quoted(bytes).to_string());
    let place = home::path()?;
    if arguments.remove {
        let home = LedgerHome::open_existing(&place).map_err(actum::Error::from)?;
        home.map_or(Ok(()), |home| home.distrust(root)).map_err(actum::Error::from)?;
        let counts = Vec::new();
        session.screen.show(&Trusted { file, trusted: false, digest: None, counts, shown })?;
        return Ok(Exit::Success);
    }
    let files: PolicyFiles = policy::files()?;
    let PolicyInForce { files, ignored, .. } = files.read(root)?;
    let own = files.into_iter().find(|file| file.source == Source::Workspace);
    let digest = own.ok_or(Failure::NoPolicy { path })?.digest;
    let home = LedgerHome::open(&place).map_err(actum::Error::from)?;
    home.trust(root, digest).map_err(actum::Error::from)?;
    let counts = ignored.iter().map(ToString::to_string).collect();
    let digest = Some(digest);
    session.screen.show(&Trusted { file, trusted: true, digest, counts, shown })?;
    Ok(Exit::Success)
}

impl Document for Trusted {
    fn format(&self) -> &'static str {
        "actum.trust/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { trusted, counts, shown, .. } = self;
        if !trusted {
            return writeln!(out, "{shown} is not trusted; it can only narrow");
        }
        writeln!(out, "{shown} is trusted as it is now")?;
        counts.iter().try_for_each(|it| writeln!(out, "now counts: {it}"))
    }
}
