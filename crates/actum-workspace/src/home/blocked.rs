//! List of blocked paths in `.actum/blocked`, which no run may change until a user resolves them.

use std::collections::BTreeMap;
use std::io;

use actum_core::path::Quoted;
use actum_core::{RelPath, RunId};

use crate::disk::Disk;
use crate::error::{ErrorKind, Result, ResultExt};
use crate::home::{Home, replace_file};
use crate::tree::read_whole;

const BLOCKED: &[u8] = b"blocked";
const BLOCKED_NEW: &[u8] = b"blocked.new";
/// Maximum size of the list of blocked paths in bytes, which is enough for several hundred thousand paths.
const BLOCKED_BYTES_MAX: u64 = 256 << 20;

impl<H> Home<H> {
    /// Reads the blocked paths, each with the run that left it blocked.
    ///
    /// # Errors
    /// `State` if the list cannot be parsed or is too large; `Io`.
    pub(crate) fn read_blocked<D: Disk<Handle = H>>(
        &self,
        disk: &D,
    ) -> Result<BTreeMap<RelPath, RunId>> {
        let doing = || "read the list of blocked paths".to_owned();
        let file = match disk.open_file(&self.state, BLOCKED) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error).doing(doing),
        };
        let size = disk.stat(&file).doing(doing)?.size;
        if size > BLOCKED_BYTES_MAX {
            let what = "its list of blocked paths is too large to be valid".to_owned();
            return Err(ErrorKind::State { what }.into());
        }
        let bytes = read_whole(disk, &file, size).doing(doing)?;
        let text = String::from_utf8_lossy(&bytes);
        let line = |line: &str| {
            let (run, rest) = line.split_once(' ')?;
            let hex = rest.split(' ').next()?;
            let (pairs, odd) = hex.as_bytes().as_chunks::<2>();
            let path: Option<Vec<u8>> = pairs
                .iter()
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
                .collect();
            let path = RelPath::new(path.filter(|_| odd.is_empty())?).ok()?;
            Some((path, run.parse().ok()?))
        };
        // A malformed line is an error, because ignoring it would allow runs on a blocked path.
        text.lines()
            .map(|text| {
                line(text).ok_or_else(|| {
                    let what = "its list of blocked paths cannot be read".to_owned();
                    ErrorKind::State { what }.into()
                })
            })
            .collect()
    }

    /// Replaces the list of blocked paths on the disk.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn write_blocked<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        blocked: &BTreeMap<RelPath, RunId>,
    ) -> Result<()> {
        let mut text = String::new();
        for (path, run) in blocked {
            let hex: String = path.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            text.push_str(&format!("{run} {hex} {}\n", Quoted(path.as_bytes())));
        }
        let replaced = replace_file(disk, &self.state, (BLOCKED_NEW, BLOCKED), text.as_bytes());
        replaced.doing(|| "write the list of blocked paths".to_owned())
    }
}
