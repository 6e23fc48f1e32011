//! What a ledger last acknowledged about this workspace, in `.actum/recorded`: a witness beside the
//! ledger, so that one that lost its newest entries cannot go on as if it had not.
//!
//! A note in place, in one sector and made durable by nobody: after a power cut it may be an older one,
//! which is as true and proves less. What it says is for whoever keeps the ledger.

use crate::disk::Disk;
use crate::error::{Doing, Result};
use crate::history::view::View;
use crate::home::{Home, PRIVATE};
use crate::transaction::Transaction;
use crate::transaction::commit::Held;

const RECORDED: &[u8] = b"recorded";
/// The longest note, in bytes, with the newline behind it: what a disk writes whole or not at all.
const WITNESS_BYTES_MAX: usize = 512;

impl<D: Disk> Transaction<'_, D> {
    /// What was kept last, if anything was.
    ///
    /// # Errors
    /// `Io`.
    pub fn witness(&self) -> Result<Option<String>> {
        read(&self.workspace.disk, &self.workspace.home)
    }

    /// Keeps one line of text, of at most 511 bytes, in the place of the last. Where that fails the old
    /// one stays.
    pub fn keep_witness(&self, line: &str) {
        drop(write(&self.workspace.disk, &self.workspace.home, line));
    }
}

impl<D: Disk> Held<'_, D> {
    /// As [`Transaction::keep_witness`].
    pub fn keep_witness(&self, line: &str) {
        self.transaction.keep_witness(line);
    }
}

impl<D: Disk> View<D> {
    /// As [`Transaction::witness`].
    ///
    /// # Errors
    /// `Io`.
    pub fn witness(&self) -> Result<Option<String>> {
        read(&self.disk, &self.home)
    }
}

fn read<D: Disk>(disk: &D, home: &Home<D::Handle>) -> Result<Option<String>> {
    let doing = || "read what the ledger recorded last (`.actum/recorded`)".to_owned();
    let file = match disk.open_file(&home.state, RECORDED) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.doing(doing)?,
    };
    let mut bytes = [0; WITNESS_BYTES_MAX];
    let read = disk.read_at(&file, &mut bytes, 0).doing(doing)?;
    let text = bytes.get(..read).and_then(|bytes| std::str::from_utf8(bytes).ok());
    // Behind the line stand the ends of longer ones.
    Ok(text.and_then(|text| text.split_once('\n')).map(|(line, _)| line.to_owned()))
}

fn write<D: Disk>(disk: &D, home: &Home<D::Handle>, line: &str) -> std::io::Result<()> {
    let line = format!("{line}\n");
    if line.len() > WITNESS_BYTES_MAX {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let own = disk.open_own(&home.state, RECORDED);
    let file = own.or_else(|_| disk.create(&home.state, RECORDED, PRIVATE))?;
    disk.write_at(&file, line.as_bytes(), 0)
}
