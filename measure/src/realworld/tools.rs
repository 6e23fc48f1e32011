//! Programs for the parts that run the real `actum`: actum itself, the DuckDB library, and a Python environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use xtask::{cargo, packages};

use super::Failure;
use super::child;
use super::download::fresh;
use super::options::Network;

/// Packages of the Python environment.
const REQUIREMENTS: &str = include_str!("requirements.txt");
/// Time limit for pip to download and unpack the packages.
const INSTALLATION_MAX: Duration = Duration::from_secs(600);
/// Time limit for cargo to build the program.
const BUILD_MAX: Duration = Duration::from_secs(3600);

/// Programs that are installed below `target`.
pub(super) struct Tools {
    /// The program `actum`.
    pub(super) actum: PathBuf,
    /// DuckDB library that actum loads.
    pub(super) library: PathBuf,
    /// Root of the Python environment.
    pub(super) environment: PathBuf,
}

impl Tools {
    /// Builds and installs any missing tools.
    pub(super) fn install(root: &Path, network: Network) -> Result<Self, Failure> {
        let tools = root.join("target").join("tools");
        let environment = tools.join("python");
        let python = packages::python_with("ensurepip").ok_or("no Python has `ensurepip`")?;
        let missing =
            |what: &str| format!("{what} is not installed, and `--offline` installs nothing");
        if !is_installed(&environment) {
            if network == Network::Avoid {
                return Err(missing("the Python environment").into());
            }
            install_environment(&python, &environment)?;
        }
        if network == Network::Avoid && !tools.join("sql").exists() {
            return Err(missing("the DuckDB library").into());
        }
        let installed = actum_sql::install(&tools, &python)?;
        if !installed.was_there {
            eprintln!("installed the DuckDB library at {}", installed.path.display());
        }
        Ok(Self { actum: build(root)?, library: installed.path, environment })
    }

    /// Returns the path of the environment's Python.
    pub(super) fn python(&self) -> PathBuf {
        self.environment.join("bin/python")
    }
}

/// Tests whether the environment has exactly the required packages.
fn is_installed(environment: &Path) -> bool {
    fs::read_to_string(environment.join("requirements.txt")).is_ok_and(|it| it == REQUIREMENTS)
}

fn install_environment(python: &Path, environment: &Path) -> Result<(), Failure> {
    eprintln!(
        "installing dbt and the Python driver of DuckDB with pip, into {}",
        environment.display()
    );
    fresh(environment)?;
    let mut make = Command::new(python);
    make.args(["-m", "venv"]).arg(environment).stdin(Stdio::null());
    child::run(&mut make, INSTALLATION_MAX)?;
    let list = environment.join("requirements.new");
    fs::write(&list, REQUIREMENTS)?;
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
        "--requirement",
    ]);
    child::run(pip.arg(&list).stdin(Stdio::null()), INSTALLATION_MAX)?;
    // Renamed only when it is complete, so that it marks a complete installation.
    Ok(fs::rename(&list, environment.join("requirements.txt"))?)
}

/// Builds the program in the same profile as this one, and returns its path.
fn build(root: &Path) -> Result<PathBuf, Failure> {
    eprintln!("building the program `actum`");
    let mut command = cargo(root);
    command
        .args(["build", "--package", "actum-cli", "--message-format", "json"])
        .stdin(Stdio::null());
    let messages = child::run(&mut command, BUILD_MAX)?;
    let messages = String::from_utf8(messages)?;
    let mut executables = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(PathBuf::from)
    });
    executables.next_back().ok_or_else(|| "cargo built no program".into())
}
