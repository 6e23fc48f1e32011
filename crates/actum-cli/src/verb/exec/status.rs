//! `actum exec --status`: lists the commands that are running in a workspace.

use std::borrow::Borrow;
use std::ffi::OsString;
use std::io::{self, Write};

use actum_api::command::{ExecStatus, RunningCommand};
use actum_core::Timestamp;
use actum_core::path::Harmless;
use actum_workspace::RunningCapture;
use serde::{Deserialize, Serialize};

use crate::count::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::verb::Session;
use crate::{clock, records, timestamp};

/// Note that is stored with a capture and describes the command whose changes it holds.
#[derive(Serialize, Deserialize)]
pub(super) struct Note {
    command: Vec<String>,
    process: u32,
    started: Timestamp,
}

impl Note {
    /// Creates the note for a command that this process starts now.
    pub(super) fn new(command: &[OsString]) -> Self {
        let command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Self { command, process: std::process::id(), started: clock::now() }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Prints the running commands, with the number and total size of their changes so far.
pub(super) fn run(session: &Session) -> Result<Exit, Failure> {
    let workspace = records::own_root(session.root(), &session.tenant)?.open_existing()?;
    let running = workspace.running_captures()?;
    let commands = running.into_iter().filter_map(|RunningCapture { note, paths, bytes }| {
        // Captures with an unreadable note are skipped.
        let Note { command, process, started } = serde_json::from_slice(&note).ok()?;
        Some(RunningCommand { command, process, started, paths, bytes })
    });
    session.screen.show(&ExecStatus { commands: commands.collect() })?;
    Ok(Exit::Success)
}

impl Document for ExecStatus {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.commands.is_empty() {
            return writeln!(out, "no command is running in this workspace");
        }
        for RunningCommand { command, process, started, paths, bytes } in &self.commands {
            let line = command.join(" ");
            writeln!(
                out,
                "process {process} since {}: `{}`; {} and {} bytes so far",
                timestamp::second(started),
                Harmless(line.as_bytes()),
                count(*paths, "path"),
                bytes
            )?;
        }
        Ok(())
    }
}
