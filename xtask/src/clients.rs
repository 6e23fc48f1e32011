//! Runs real agent clients, as published in their registries, against a mock model (`tests/clients`).

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::artifacts::build_program;
use crate::measure::Arguments;
use crate::{Outcome, packages};

/// Builds actum, installs missing pinned clients, and runs the given scenarios, or all of them.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Outcome {
    packages::require("clients")?;
    let Some(program) = build_program(root, "actum")? else { return Ok(ExitCode::FAILURE) };
    let harness = root.join("tests/clients");
    let python = |script: &str| {
        let mut python = Command::new("python3");
        python.arg(harness.join(script)).env("ACTUM", &program);
        python
    };
    if !python("install.py").status()?.success() {
        return Err("the clients could not be installed; nothing was run".into());
    }
    let status = python("run.py").args(&arguments.as_typed).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
