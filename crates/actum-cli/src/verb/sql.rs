//! `actum sql`: installs the DuckDB library that SQL steps of task plans load.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum::reason::Reason;
use actum_api::sql::SqlLibrary;
use actum_core::path::Quoted;
use actum_sql::{InstallError, Installed, install};

use super::Session;
use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::output::Document;
use crate::{home, new_home, shown_path};

/// Install the DuckDB library that SQL steps of task plans load
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Install(InstallArguments),
}

/// Download the tested DuckDB library with pip, and check its digest
///
/// pip downloads the package `duckdb` from its configured index, in the version that was tested with this version of
/// actum, and checks its SHA-256. Only the library is kept, in the home of actum, and no code of the package is run. A
/// library that is already installed is not replaced.
#[derive(clap::Args)]
struct InstallArguments {
    /// Download the package with the pip of this Python
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let Command::Install(InstallArguments { python }) = &arguments.command;
    let home = home::path()?;
    new_home::check(&home)?;
    let Installed { version, path, sha256, was_there } =
        install(&home, python).map_err(SqlFailure)?;
    let bytes = path.as_os_str().as_bytes();
    let document = SqlLibrary {
        version: version.to_owned(),
        path: shown_path::text(bytes),
        sha256: sha256.to_string(),
        installed: !was_there,
    };
    session.screen.show(&Shown { document, path: Quoted(bytes).to_string() })?;
    Ok(Exit::Success)
}

struct Shown {
    document: SqlLibrary,
    path: String,
}

impl Document for Shown {
    type Api = SqlLibrary;

    fn document(&self) -> impl Borrow<SqlLibrary> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let SqlLibrary { version, sha256, installed, .. } = &self.document;
        let done = if *installed { "installed" } else { "already installed:" };
        writeln!(out, "{done} DuckDB {version} at {}", self.path)?;
        writeln!(out, "  sha256 {sha256}, as tested with this version of actum")
    }
}

/// Failure to install the DuckDB library.
#[derive(Debug, thiserror::Error)]
#[error("cannot install the DuckDB library: {0}")]
struct SqlFailure(InstallError);

impl FailureKind for SqlFailure {
    fn reason(&self) -> Reason {
        Reason::DuckDbNotInstalled
    }

    fn hints(&self) -> Vec<String> {
        let hint = match &self.0 {
            InstallError::Untested { .. } => {
                "SQL steps are currently supported only on x86_64 processors"
            }
            InstallError::Pip { .. } => {
                "make sure that pip's index has the package `duckdb`, or pass `--python` to use a different Python"
            }
            InstallError::Package { .. } => {
                "the index provided a different package; nothing of it was kept"
            }
            InstallError::System { .. } => "pass `--python` to use a Python that has pip",
        };
        vec![hint.to_owned()]
    }
}
