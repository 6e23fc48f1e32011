//! `actum explain`: prints the page of a reason, an error code of task plans or a glossary term.

mod glossary;

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::reason::{self, Reasons};
use actum_api::task::TaskCode;
use actum_task::ErrorCode;

use super::Session;
use crate::code_document;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Document, Kind};
use actum::reason::Reason;

/// Explain a reason, a task plan error code or a glossary term; without an argument, list all of them
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of a reason, such as HUNK_DOES_NOT_APPLY; number or name of a task plan error code, such as 1100; or a term
    /// of the glossary, such as drift or R3. Case is ignored
    #[arg(value_name = "REASON", num_args = 1..)]
    reason: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let explained = |reason: Reason| reason::Reason {
        reason: reason.name().to_owned(),
        page: reason.page().to_owned(),
    };
    if arguments.reason.is_empty() {
        let reasons = Reason::ALL.iter().copied().map(explained).collect();
        session.screen.show(&Reasons { reasons })?;
        return Ok(Exit::Success);
    }
    let name = arguments.reason.join(" ");
    let known = Reason::ALL.iter().find(|reason| reason.name().eq_ignore_ascii_case(&name));
    if let Some(reason) = known {
        session.screen.show(&explained(*reason))?;
    } else if let Some(code) = task_code(&name) {
        session.screen.show(&code_page(code))?;
    } else if let Some(entry) = glossary::entry(&name) {
        session.screen.show(&entry)?;
    } else {
        return Err(Failure::UnknownReason { name });
    }
    Ok(Exit::Success)
}

/// Finds the error code of task plans that has the given number or name.
fn task_code(name: &str) -> Option<ErrorCode> {
    let is_it = |code: &ErrorCode| {
        code.number().to_string() == name || code.error_type().eq_ignore_ascii_case(name)
    };
    ErrorCode::ALL.into_iter().find(is_it)
}

fn code_page(code: ErrorCode) -> TaskCode {
    TaskCode {
        error_code: code.number(),
        error_type: code.error_type().to_owned(),
        error_category: code_document::category(code.category()),
        about: code.about().to_owned(),
        recovery_action: code_document::recovery_action(code.recovery_action()),
        response: code.response().about().to_owned(),
        to_do: code.to_do().to_owned(),
    }
}

impl Document for TaskCode {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { error_code, error_type, error_category, about, response, to_do, .. } = self;
        writeln!(out, "# {error_code} {error_type}\n\n{about}\n")?;
        writeln!(out, "{} of a task plan. {response}\n", error_category.as_str())?;
        writeln!(out, "## What to do\n\n{to_do}")
    }
}

impl Document for reason::Reason {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}", self.page)
    }
}

impl Document for Reasons {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for reason::Reason { reason, page } in &self.reasons {
            writeln!(out, "{reason:26}  {}", summary(page))?;
        }
        writeln!(out, "\nGlossary terms: {}", glossary::terms().join(", "))
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}

/// Returns the summary of a page, which is its first non-empty line after the title.
fn summary(page: &str) -> &str {
    page.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or_default()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests read the pages from disk")]
mod tests {
    use super::*;

    fn pages() -> Vec<String> {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reasons");
        let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name != "README.md");
        names.sort();
        names
    }

    #[test]
    fn reasons_and_pages_match_one_to_one() {
        let mut expected: Vec<_> =
            Reason::ALL.iter().map(|reason| format!("{}.md", reason.name())).collect();
        expected.sort();
        assert_eq!(pages(), expected);
    }

    #[test]
    fn every_reason_page_has_a_title_a_summary_and_advice() {
        for reason in Reason::ALL {
            let (name, page) = (reason.name(), reason.page());
            assert!(page.starts_with(&format!("# {name}\n\n")), "{name}: title");
            let summary = summary(page);
            assert!(summary.ends_with('.') && summary.len() <= 100, "{name}: {summary}");
            assert!(page.contains("\n## What to do\n"), "{name}: what to do");
        }
    }

    #[test]
    fn the_index_lists_every_page_with_its_summary() {
        let index = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reasons/README.md");
        let lines = Reason::ALL.iter().map(|reason| {
            let name = reason.name();
            format!("- [{name}]({name}.md): {}\n", summary(reason.page()))
        });
        let expected = format!(
            "# Reasons\n\nThis page lists every reason why a command can refuse or fail. `actum explain REASON` prints \
             the page of a reason.\n\n{}",
            lines.collect::<String>()
        );
        #[expect(clippy::disallowed_methods, reason = "the variable enables updating the snapshot")]
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(index, &expected).unwrap();
        }
        assert_eq!(std::fs::read_to_string(index).unwrap(), expected);
    }
}
