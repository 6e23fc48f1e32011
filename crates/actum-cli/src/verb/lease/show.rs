//! `actum lease show`: shows the terms of a lease without verifying it.

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

/// Show the terms of a lease, without verifying it
///
/// Use `actum lease verify` to check the lease's signatures and its state in the ledger. The lease token itself, which
/// is a secret, is not printed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File with the lease; `-` is standard input
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
            writeln!(out, "sealed: the lease can be used, but not narrowed")?;
        }
        writeln!(out, "the lease was not verified; run `actum lease verify FILE` to verify it")
    }
}
