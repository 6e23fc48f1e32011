//! `actum ledger export`: writes the entire ledger to a file.

use std::borrow::Borrow;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_api::ledger::Export;
use actum_core::path::Quoted;
use actum_ledger::Log;
use actum_ledger::export::{ExportError, Exported, export};

use super::{Opened, entries_of};
use crate::count::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::output_file::{OutputFile, Target};
use crate::shown_path;
use crate::verb::Session;

/// Export the entire ledger as lines of JSON
///
/// The export contains every entry byte for byte, the documents that the entries refer to, and the signed checkpoints.
/// It can be stored in a different location and verified there with `actum ledger verify FILE`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
}

struct Shown {
    document: Export,
    shown_file: String,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let opened = Opened::existing(&session.tenant)?;
    let size = opened.log.size().map_err(actum::Error::from)?;
    let Opened { log, .. } = match opened.checkpoint(size) {
        Ok((opened, _)) => opened,
        Err(failure) => {
            let screen = &session.screen;
            screen.note(format_args!(
                "the newest entries are not covered by a signed checkpoint: {failure}"
            ));
            Opened::existing(&session.tenant)?
        }
    };
    let Some((file, existing)) = arguments.target.file() else {
        return match export(&log, &mut BufWriter::new(io::stdout().lock())) {
            Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(Exit::Success)
            }
            exported => exported.map(|_| Exit::Success).map_err(|error| failed(error, None)),
        };
    };
    let path = session.start.join(file);
    let unwritten = |source| Failure::PageUnwritten { path: path.clone(), source };
    let mut out = BufWriter::new(OutputFile::stream(&path, existing, &session.tenant)?);
    let exported = export(&log, &mut out).map_err(|error| failed(error, Some(&path)))?;
    out.into_inner().map_err(|error| unwritten(error.into_error()))?.finish()?;
    let Exported { entries, documents, checkpoints } = exported;
    let name = file.as_os_str().as_bytes();
    let (file, shown_file) = (shown_path::text(name), Quoted(name).to_string());
    let document = Export { file, entries, documents, checkpoints };
    session.screen.show(&Shown { document, shown_file })?;
    Ok(Exit::Success)
}

fn failed(error: ExportError, file: Option<&PathBuf>) -> Failure {
    match (error, file) {
        (ExportError::Ledger(error), _) => actum::Error::from(error).into(),
        (ExportError::Write(source), Some(path)) => {
            Failure::PageUnwritten { path: path.clone(), source }
        }
        (ExportError::Write(source), None) => Failure::Unwritten { source },
        (ExportError::Read(source), _) => Failure::Unwritten { source },
        (ExportError::Line(error), _) => Failure::Unwritten { source: io::Error::other(error) },
    }
}

impl Document for Shown {
    type Api = Export;

    fn document(&self) -> impl Borrow<Export> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { document: Export { entries, documents, checkpoints, .. }, shown_file } = self;
        let documents = count(*documents, "document");
        let checkpoints = count(*checkpoints, "checkpoint");
        let entries = entries_of(*entries);
        writeln!(out, "wrote the ledger to {shown_file}: {entries}, {documents}, {checkpoints}")
    }
}
