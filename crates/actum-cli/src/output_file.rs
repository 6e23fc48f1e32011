//! Results that are asked for as a file: the only place that writes one outside a workspace.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_core::path::Quoted;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Document;
use crate::shown_path;
use crate::verb::Session;

/// That something is in a file now.
#[derive(Serialize)]
struct Written {
    what: &'static str,
    file: String,
    bytes: usize,
    #[serde(skip)]
    shown_file: String,
}

/// Writes `file`, seen from where the command was started, and says so. What is there is replaced.
pub(crate) fn write(
    session: &Session,
    file: &Path,
    what: &'static str,
    bytes: &[u8],
) -> Result<(), Failure> {
    let path = session.start.join(file);
    #[expect(clippy::disallowed_methods, reason = "the file was named on the command line")]
    let written = File::create(&path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|source| Failure::PageUnwritten { path, source })?;
    let name = file.as_os_str().as_bytes();
    let (file, shown_file) = (shown_path::text(name), Quoted(name).to_string());
    session.screen.show(&Written { what, file, bytes: bytes.len(), shown_file })
}

impl Document for Written {
    fn format(&self) -> &'static str {
        "actum.written/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "wrote the {} to {}", self.what, self.shown_file)
    }
}
