//! Artifacts reported by cargo (`cargo build --message-format json`).

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::cargo;

/// Cargo's message about one artifact. Other messages contain none of these fields.
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

/// Builds a program with the features it has in the whole workspace, as the tests do, because most dependencies would otherwise be
/// built again. Returns `None` if it does not compile; cargo has then printed the errors.
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
