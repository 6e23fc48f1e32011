//! Writes a new lease to its destination and reports it.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_api::lease::{LeaseBlock, NewLease};
use actum_core::path::Quoted;
use actum_lease::Token;
use actum_record::lease::LeaseId;

use super::view::write_terms;
use crate::failure::Failure;
use crate::output::Document;
use crate::output_file::{self, OutputFile};
use crate::shown_path;
use crate::verb::Session;

/// Destination of a new lease.
#[derive(clap::Args)]
pub(super) struct Destination {
    /// Write the lease to FILE, a new file that only you can read; `-` prints the lease to standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Destination that is open for writing. It is opened before the lease is created, so that a lease is not granted if it cannot
/// be written.
pub(super) enum ReadyDestination {
    /// Standard output.
    Screen,
    /// New file. `name` is its path as given on the command line.
    File { file: OutputFile, path: PathBuf, name: PathBuf },
}

impl Destination {
    /// Checks that a file can be created at the destination, without creating it.
    pub(super) fn check(&self, session: &Session) -> Result<(), Failure> {
        if self.is_screen() {
            return Ok(());
        }
        OutputFile::check_file(&session.start.join(&self.output), &session.tenant)
    }

    /// Creates an empty file at the destination, unless the lease is printed to standard output.
    pub(super) fn open(&self, session: &Session) -> Result<ReadyDestination, Failure> {
        if self.is_screen() {
            return Ok(ReadyDestination::Screen);
        }
        let path = session.start.join(&self.output);
        let file = OutputFile::secret(&path, &session.tenant)?;
        Ok(ReadyDestination::File { file, path, name: self.output.clone() })
    }

    fn is_screen(&self) -> bool {
        self.output == Path::new("-")
    }
}

impl ReadyDestination {
    /// Writes the token. If it is written to a file, also prints the result of the command.
    pub(super) fn write(self, token: &Token, session: &Session) -> Result<(), Failure> {
        let text = token.to_text();
        match self {
            Self::Screen => {
                session.screen.hand_over(text.as_bytes())?;
                session.screen.hand_over(b"\n")
            }
            Self::File { mut file, path, name } => {
                let written = file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n"));
                written.map_err(|source| output_file::unwritten(&path, source))?;
                file.finish()?;
                session.screen.show(&Made::new(token, &name))
            }
        }
    }
}

struct Made {
    document: NewLease,
    shown_file: String,
}

impl Made {
    fn new(token: &Token, name: &Path) -> Self {
        let blocks: Vec<LeaseBlock> = blocks(token);
        // A parsed token always has at least one block, so the default is never used.
        let lease = blocks.last().map_or(LeaseId(actum_core::Digest::of(b"")), |block| block.id);
        let bytes = name.as_os_str().as_bytes();
        let (file, shown_file) = (shown_path::text(bytes), Quoted(bytes).to_string());
        Self { document: NewLease { lease, file, sealed: token.is_sealed(), blocks }, shown_file }
    }
}

/// Converts the blocks of a token to their type in documents.
pub(super) fn blocks(token: &Token) -> Vec<LeaseBlock> {
    let block =
        |block: &actum_lease::ChainBlock| LeaseBlock { id: block.id, terms: (&block.terms).into() };
    token.blocks().iter().map(block).collect()
}

impl Document for Made {
    type Api = NewLease;

    fn document(&self) -> impl Borrow<NewLease> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let NewLease { lease, sealed, blocks, .. } = &self.document;
        let number = blocks.len();
        let sealed = if *sealed { ", sealed" } else { "" };
        writeln!(out, "lease {lease}")?;
        writeln!(out, "block {number}{sealed}, written to {}", self.shown_file)?;
        // `actum lease grant` shows the terms before it reads the passphrase, so only print those of a narrowed lease.
        if let [_, .., block] = blocks.as_slice() {
            write_terms(&block.terms, out)?;
        }
        writeln!(out, "any program that can read this file can use the lease")
    }
}
