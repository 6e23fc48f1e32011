//! `actum plugin lint`: checks a package in the same way as the engine does, without running its code.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use actum::plugin::{Node, Package, PluginError};
use actum_api::plugin::PluginLint;
use actum_core::path::Quoted;

use super::phrases;
use crate::count::{count, number};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::verb::Session;
use crate::verb::exec::runner;
use crate::verb::sandbox::Confinement;
use crate::{policy, root};

/// Check a package without running its code
///
/// The manifest, the schemas, the commands and all files are checked in the same way as before a run of the action. If
/// Node.js is installed, the three steps are compiled as well.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Directory of the package
    #[arg(value_name = "DIR")]
    package: PathBuf,
}

/// Reads and checks the package in `directory`, a path relative to the current directory.
pub(super) fn package(directory: &Path, session: &Session) -> Result<Package, Failure> {
    let read = Package::read(&session.start.join(directory));
    let directory = directory.to_owned();
    let problem = |problem| PluginError::Package { directory, problem: Box::new(problem) };
    let package = read.map_err(problem)?;
    phrases::check(&package.manifest)?;
    Ok(package)
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let package = package(&arguments.package, session)?;
    let (node, not_compiled) = compiled(&package, session)?;
    let (files, bytes) = package.extent();
    let manifest = package.manifest;
    session.screen.show(&PluginLint {
        name: manifest.name,
        version: manifest.version,
        tier: manifest.risk_tier,
        filesystem: manifest.permissions.filesystem.as_str().to_owned(),
        digest: package.digest,
        files: number(files),
        bytes: number(bytes),
        node,
        not_compiled,
    })?;
    Ok(Exit::Success)
}

/// Compiles the steps of a package, and returns the version of Node.js that was used. If no suitable Node.js is available, returns
/// the reason in the second element instead.
fn compiled(
    package: &Package,
    session: &Session,
) -> Result<(Option<String>, Option<String>), Failure> {
    let root = root::existing_or_new(&session.start);
    let in_force = policy::in_force(root)?;
    let runner = runner(&Confinement::default(), &in_force, root, &session.start, &session.screen)?;
    let compiled = Node::find(&runner).and_then(|node| {
        node.compile(&runner, package)?;
        Ok(node)
    });
    match compiled {
        Ok(node) => Ok((Some(node.version), None)),
        // These errors are about the host, not about the package, so the package is still reported as valid.
        Err(
            error @ (PluginError::NoNode { .. }
            | PluginError::OldNode { .. }
            | PluginError::Command(_)),
        ) => Ok((None, Some(error.to_string()))),
        Err(error) => Err(error.into()),
    }
}

impl Document for PluginLint {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { name, version, tier, filesystem, digest, node, not_compiled, .. } = self;
        let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        writeln!(out, "package    {name}{version}, {tier}, filesystem {filesystem}")?;
        let files = count(self.files, "file");
        writeln!(out, "files      {files}, {} bytes", self.bytes)?;
        writeln!(out, "digest     {digest}")?;
        match (node, not_compiled) {
            (Some(node), _) => writeln!(out, "compiled   all three steps, by Node.js {node}")?,
            (None, Some(why)) => {
                writeln!(out, "compiled   nothing: {}", Quoted(why.as_bytes()))?;
            }
            (None, None) => {}
        }
        writeln!(out, "the package is valid; none of its code was run")
    }
}
