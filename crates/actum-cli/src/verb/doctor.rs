//! `actum doctor`: whether the workspace and the system below it are fit for work.

use std::io::{self, Write};

use actum_workspace::examination::{Finding, Verdict, examine};
use serde::Serialize;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::style::{self, Painted};

/// Examine whether the workspace and the file system below it are fit for work
///
/// Tries what changes need, on files of its own. Ends with code 4 when something is to be done.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

#[derive(Serialize)]
struct Examined {
    version: &'static str,
    findings: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    what: &'static str,
    verdict: &'static str,
    detail: String,
    #[serde(skip)]
    style: anstyle::Style,
}

pub(crate) fn run(_: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let findings = examine(session.root());
    let worst = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Good);
    let findings = findings.into_iter().map(Shown::of).collect();
    session.screen.show(&Examined { version: env!("CARGO_PKG_VERSION"), findings })?;
    Ok(match worst {
        Verdict::Good => Exit::Success,
        Verdict::Limited | Verdict::Bad => Exit::NeedsAttention,
    })
}

impl Shown {
    fn of(Finding { what, verdict, detail }: Finding) -> Self {
        let (verdict, style) = match verdict {
            Verdict::Good => ("ok", style::ADDED),
            Verdict::Limited => ("limited", style::CHANGED),
            Verdict::Bad => ("bad", style::REMOVED),
        };
        Self { what, verdict, detail, style }
    }
}

impl Document for Examined {
    fn format(&self) -> &'static str {
        "actum.doctor/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for Shown { what, verdict, detail, style } in &self.findings {
            let verdict = format!("{verdict:7}");
            writeln!(out, "{}  {what:20}  {detail}", Painted(*style, verdict))?;
        }
        writeln!(out, "actum {}", self.version)
    }
}
