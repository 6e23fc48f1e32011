//! `actum lease show`: the content of a lease, not verified.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::PathBuf;

use actum_api::lease::Lease;

use super::new_lease::blocks;
use super::view::write_terms;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease;
use crate::output::Document;
use crate::verb::Session;

/// Show the terms of a lease from its file
///
/// Nothing is verified: `actum lease verify` checks signatures and ledger. The lease itself is not printed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File of the lease; `-` is standard input
    #[arg(value_name = "FILE")]
    lease: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let token = lease::read(&arguments.lease, session)?;
    let sealed = token.is_sealed();
    session.screen.show(&Lease { verified: false, sealed, blocks: blocks(&token) })?;
    Ok(Exit::Success)
}

impl Document for Lease {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for (block, number) in self.blocks.iter().zip(1..) {
            writeln!(out, "block {number}   {}", block.id)?;
            write_terms(&block.terms, out)?;
        }
        if self.sealed {
            writeln!(out, "sealed: it can be used, but not narrowed")?;
        }
        writeln!(out, "nothing of this is verified: `actum lease verify FILE` checks it")
    }
}
