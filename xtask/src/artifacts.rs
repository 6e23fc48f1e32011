//! Artifacts that cargo reports (`cargo build --message-format json`).

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::cargo;

/// The message of cargo about one artifact; other messages have none of the fields.
#[derive(Deserialize)]
pub(crate) struct Artifact {
    pub(crate) executable: Option<PathBuf>,
    pub(crate) manifest_path: Option<PathBuf>,
    pub(crate) profile: Option<Profile>,
    pub(crate) target: Option<Target>,
}

#[derive(Deserialize)]
pub(crate) struct Profile {
    pub(crate) test: bool,
}

#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
}

/// Builds a program with the features that it has in the whole workspace, as the tests have it.
/// With those of its package alone, most dependencies would be built once more. `None` if it does
/// not compile, which cargo has reported.
pub(crate) fn build_program(
    root: &Path,
    name: &str,
) -> Result<Option<PathBuf>, Box<dyn std::error::Error>> {
    let arguments =
        ["build", "--workspace", "--message-format", "json-render-diagnostics", "--bin", name];
    let mut child = cargo(root)
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("starting cargo: {error}; nothing was done"))?;
    let messages = child.stdout.take().ok_or("cargo has no standard output")?;
    let mut program = None;
    for line in BufReader::new(messages).lines() {
        let Artifact { executable, target, .. } = serde_json::from_str(&line?)?;
        if target.is_some_and(|target| target.name == name) {
            program = executable.or(program);
        }
    }
    Ok(program.filter(|_| child.wait().is_ok_and(|status| status.success())))
}
