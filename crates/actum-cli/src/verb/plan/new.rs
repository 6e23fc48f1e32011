//! `actum plan new`: the beginning of a task plan.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::path::Quoted;
use serde::Serialize;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::output_file::{Existing, OutputFile};
use crate::shown_path;

/// A plan that can be carried out as it is, and shows how actions look.
const TEMPLATE: &str = include_str!("new_plan.json");

/// Write the beginning of a task plan
///
/// It has two actions, which can be carried out as they are; put your own in their place. What is there already is not
/// written over.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The file to write
    #[arg(default_value = "task_plan.json")]
    file: PathBuf,
}

#[derive(Serialize)]
struct Made {
    file: String,
    #[serde(skip)]
    shown: String,
}

pub(super) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let path = session.start.join(&arguments.file);
    OutputFile::create(&path, Existing::Refuse)?.fill(TEMPLATE.as_bytes())?;
    let bytes = arguments.file.as_os_str().as_bytes();
    session
        .screen
        .show(&Made { file: shown_path::text(bytes), shown: Quoted(bytes).to_string() })?;
    Ok(Exit::Success)
}

impl Document for Made {
    fn format(&self) -> &'static str {
        "actum.plan-new/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = &self.shown;
        writeln!(out, "wrote {file}; `actum plan preview {file}` shows what it would do")
    }
}
