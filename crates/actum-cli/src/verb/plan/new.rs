//! `actum plan new`: creates a task plan from a template.

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

/// Template for a new plan. It is a working example of a plan with two actions.
const TEMPLATE: &str = include_str!("new_plan.json");
/// Plan id in the template. Each new plan gets its own id instead, because a task with the same id is carried out only once.
const TEMPLATE_ID: &str = "plan-001";

/// Create a task plan from a template
///
/// The new plan has a unique id that contains the current time, and two working example actions, which you replace with
/// your own. An existing file is not overwritten.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// File to create
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

/// Formats a timestamp for use in an id: only its digits, with `-` between the date and the time of day.
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
