//! `actum plan new`: a template of a task plan.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_api::task::PlanNew;
use actum_core::{ShellWord, path::Quoted};

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::output_file::{Existing, OutputFile};
use crate::{clock, shown_path, timestamp};

/// Plan that can be carried out unchanged, and shows the form of actions.
const TEMPLATE: &str = include_str!("new_plan.json");
/// Id in the template, which each new plan replaces: a task is carried out once.
const TEMPLATE_ID: &str = "plan-001";

/// Write a template of a task plan
///
/// It has an id of its own, made of the time, and two actions that work unchanged; replace them by your own. An
/// existing file is not overwritten.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// File to write
    #[arg(default_value = "task_plan.json")]
    file: PathBuf,
}

struct Made {
    document: PlanNew,
    given: PathBuf,
}

pub(super) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let path = session.start.join(&arguments.file);
    let id = format!("plan-{}", compact(&timestamp::second(clock::now())));
    let text = TEMPLATE.replace(TEMPLATE_ID, &id);
    OutputFile::write(&path, Existing::Refuse, text.as_bytes(), &session.tenant)?;
    let bytes = arguments.file.as_os_str().as_bytes();
    let document = PlanNew { file: shown_path::text(bytes) };
    session.screen.show(&Made { document, given: arguments.file.clone() })?;
    Ok(Exit::Success)
}

/// Returns the digits of a time, with `-` between date and time of day.
fn compact(time: &str) -> String {
    time.chars()
        .filter_map(|c| match c {
            'T' => Some('-'),
            c => c.is_ascii_digit().then_some(c),
        })
        .collect()
}

impl Document for Made {
    type Api = PlanNew;

    fn document(&self) -> impl Borrow<PlanNew> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = self.given.as_os_str().as_bytes();
        let (file, word) = (Quoted(bytes), ShellWord::path(bytes));
        writeln!(out, "wrote {file}; `actum plan preview {word}` shows what it would do")
    }
}
