//! Node.js, which executes the code of plugin packages. It is not bundled with actum but looked up when needed.

use std::ops::ControlFlow;
use std::path::PathBuf;

use actum_gate::CommandLine;
use actum_sandbox::{Ended, Stdin};

use super::answer;
use super::error::PluginError;
use super::package::Package;
use super::steps::Step;
use crate::command::{CommandError, Runner, Seen};

/// Oldest supported major version of Node.js. `driver.cjs` contains the same number and rejects older versions.
pub const NODE_MAJOR_LEAST: u32 = 18;

/// Node.js installation that is recent enough to run packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Path of the `node` program.
    pub program: PathBuf,
    /// Version of Node.js, such as `20.1.0`.
    pub version: String,
}

impl Node {
    /// Checks that each of the three JavaScript files of a package compiles as CommonJS or as an ES module. Node.js only
    /// parses the text of the files and does not run them.
    ///
    /// # Errors
    /// Returns `Syntax` for the first file that does not compile, or `Command` if Node.js cannot be run.
    pub fn compile(&self, runner: &Runner, package: &Package) -> Result<(), PluginError> {
        let no_text = || CommandError::NoText(self.program.as_os_str().to_owned());
        let node = self.program.to_str().ok_or_else(no_text)?.to_owned();
        for step in [Step::Execute, Step::Verify, Step::Rollback] {
            let mut stderr = Vec::new();
            let mut compiles = false;
            for kind in ["commonjs", "module"] {
                let kind = format!("--input-type={kind}");
                let words = vec![node.clone(), "--check".to_owned(), kind, "-".to_owned()];
                let line = CommandLine::new(words).map_err(CommandError::from)?;
                let text = package.file(step.file()).to_vec();
                let child = runner.start(&line, Seen::default(), Stdin::Bytes(text))?;
                let outcome = child.wait_with(|_, _| ControlFlow::Continue(()));
                let outcome = outcome.map_err(CommandError::from)?;
                compiles = compiles || outcome.ended == Some(Ended::Code(0));
                stderr = outcome.stderr;
            }
            if !compiles {
                let (file, output_excerpt) = (step.file(), answer::stderr_excerpt(&stderr));
                return Err(PluginError::Syntax { file, output_excerpt });
            }
        }
        Ok(())
    }

    /// Returns the path of the `node` program that commands of this runner would use, without checking its version.
    ///
    /// # Errors
    /// Returns `NoNode` if Node.js is missing, or `Command` if the search fails for another reason.
    pub(super) fn program(runner: &Runner) -> Result<PathBuf, PluginError> {
        match runner.program(&asking()?) {
            Ok(program) => Ok(program),
            Err(CommandError::NotFound { why, .. }) => Err(PluginError::NoNode { why }),
            Err(error) => Err(error.into()),
        }
    }

    /// Finds the `node` program that commands of this runner would use, and runs it to check its version.
    ///
    /// # Errors
    /// Returns `NoNode` if Node.js is missing, `OldNode` if its version is too old, or `Command` if it cannot be run.
    pub fn find(runner: &Runner) -> Result<Self, PluginError> {
        let (asked, program) = (asking()?, Self::program(runner)?);
        let child = runner.start(&asked, Seen::default(), Stdin::Empty)?;
        let outcome = child.wait_with(|_, _| ControlFlow::Continue(()));
        let outcome = outcome.map_err(CommandError::from)?;
        let stdout = String::from_utf8_lossy(&outcome.stdout);
        let version = stdout.trim().strip_prefix('v').unwrap_or_default().to_owned();
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        match major.filter(|_| outcome.ended == Some(Ended::Code(0))) {
            Some(major) if major >= NODE_MAJOR_LEAST => Ok(Self { program, version }),
            Some(_) | None => {
                let output_excerpt = stdout.trim().chars().take(VERSION_CHARS_MAX).collect();
                Err(PluginError::OldNode { program, output_excerpt })
            }
        }
    }
}

fn asking() -> Result<CommandLine, PluginError> {
    let words = vec!["node".to_owned(), "--version".to_owned()];
    Ok(CommandLine::new(words).map_err(CommandError::from)?)
}

/// Maximum number of characters of an unexpected version text that an error message repeats.
const VERSION_CHARS_MAX: usize = 100;
