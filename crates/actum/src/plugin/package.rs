//! A package: its files as they were read, and what its manifest says (AA-8, AA-9).

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fs, io};

use actum_action::{MANIFEST_FILE, Manifest, ManifestError, PACKAGE_FILES};
use actum_core::path::{Harmless, Quoted};
use actum_core::{Digest, Hasher, RiskTier};
use actum_gate::{CommandLine, CommandLineError};
use serde_json::{Map, Value};

use super::directory::{self, BYTES_MAX, DEPTH_MAX, FILES_MAX, Files};
use super::modules;
use crate::schema::{Schema, SchemaProblem};

/// A package that was read whole and judged.
#[derive(Debug, Clone)]
pub struct Package {
    /// What `action.json` says.
    pub manifest: Manifest,
    /// The digest of all its files: paths, executable bits and bytes.
    pub digest: Digest,
    /// The commands that check its work, after `verify.js`.
    pub checks: Vec<CommandLine>,
    /// The command that is tried once where a check fails.
    pub repair: Option<CommandLine>,
    pub(super) files: Files,
    /// The `package.json` that it is run with, for each kind of modules that its `.js` files may be.
    pub(super) run_as: Vec<Vec<u8>>,
    input: Schema,
    output: Schema,
}

/// Why a directory is no package that can be used.
#[derive(Debug, thiserror::Error)]
pub enum PackageProblem {
    /// Something of it cannot be read.
    #[error("{} cannot be read: {why}", named(.path))]
    Unreadable {
        /// Where, seen from the package; empty for the package itself.
        path: String,
        /// Why not.
        why: io::Error,
    },
    /// It is something else.
    #[error("it is no directory; a symbolic link to one is not followed")]
    NoDirectory,
    /// Packages are regular files and directories.
    #[error("`{}` is {is}; a package has regular files and directories alone", Harmless(.path.as_bytes()))]
    Special {
        /// Where.
        path: String,
        /// What it is.
        is: &'static str,
    },
    /// Its other name may lie anywhere, and so may who writes to it.
    #[error(
        "`{}` has another name besides (a hard link); put a copy in its place",
        Harmless(.path.as_bytes())
    )]
    HardLink {
        /// Where.
        path: String,
    },
    /// Node could not find it.
    #[error("{} holds a file whose name `{}` is no UTF-8", named(.within), Quoted(.name))]
    NoText {
        /// The directory that holds it.
        within: String,
        /// The name.
        name: Vec<u8>,
    },
    /// It has too many files.
    #[error("it has more than {FILES_MAX} files")]
    TooManyFiles,
    /// Its files are too large.
    #[error("its files have more than {} MiB together", BYTES_MAX >> 20)]
    TooLarge,
    /// Its directories lie too deep.
    #[error("`{}` lies more than {DEPTH_MAX} directories deep", Harmless(.path.as_bytes()))]
    TooDeep {
        /// Where.
        path: String,
    },
    /// One of its four files is not there.
    #[error("it has no `{file}`; a package has {}", PACKAGE_FILES.join(", "))]
    Missing {
        /// Which.
        file: &'static str,
    },
    /// Its manifest is none.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// What it says to Node is nothing that Node reads.
    #[error("its `package.json` is no JSON object: {0}")]
    NodeManifest(serde_json::Error),
    /// Its directory is called otherwise.
    #[error(
        "its name is `{name}`, and that of its directory `{}`; rename one of them",
        Quoted(.directory.as_bytes())
    )]
    Name {
        /// As the manifest has it.
        name: String,
        /// The name of the directory.
        directory: OsString,
    },
    /// A schema cannot be used.
    #[error("its `{schema}` is no JSON Schema that can be used: {problem}")]
    Schema {
        /// Which.
        schema: &'static str,
        /// What is wrong.
        problem: SchemaProblem,
    },
    /// A command is none.
    #[error("its command `{}` cannot be run: {problem}", Harmless(.command.as_bytes()))]
    Command {
        /// As the manifest has it.
        command: String,
        /// Why not.
        problem: CommandLineError,
    },
    /// What writes is no less than R2.
    #[error(
        "it writes the workspace, and its `riskTier` is {tier}; one that writes is {least} at least",
        least = RiskTier::R2
    )]
    Tier {
        /// What it says.
        tier: RiskTier,
    },
    /// Of this tier both are needed (AA-3, AA-11).
    #[error(
        "its `riskTier` is {tier}, and `{rule}.required` is false; an action of {least} or more must be checked, \
         and must be able to be taken back",
        least = RiskTier::R2
    )]
    NotRequired {
        /// What it says.
        tier: RiskTier,
        /// `verification` or `rollback`.
        rule: &'static str,
    },
}

fn named(path: &str) -> String {
    match path {
        "" => "it".to_owned(),
        path => format!("`{}`", Harmless(path.as_bytes())),
    }
}

impl Package {
    /// Reads the package in a directory. Nothing of it is run.
    ///
    /// # Errors
    /// [`PackageProblem`] with the first that is wrong.
    pub fn read(directory: &Path) -> Result<Self, PackageProblem> {
        let files = directory::read(directory)?;
        if let Some(file) = PACKAGE_FILES.into_iter().find(|file| !files.contains_key(*file)) {
            return Err(PackageProblem::Missing { file });
        }
        let manifest = files.get(MANIFEST_FILE).map(|file| file.bytes.as_slice());
        let manifest = Manifest::read(manifest.unwrap_or_default())?;
        check_name(&manifest, directory)?;
        check_safe(&manifest)?;
        let schema = |schema, written| {
            Schema::read(written).map_err(|problem| PackageProblem::Schema { schema, problem })
        };
        let input = schema("inputSchema", &manifest.input_schema)?;
        let output = schema("outputSchema", &manifest.output_schema)?;
        // What can never be run was meant to be something else.
        commands(&manifest.permissions.commands)?;
        let checks = commands(&manifest.verification.commands)?;
        let repair = manifest.repair.as_deref().map(command).transpose()?;
        let run_as = modules::kinds(&files).map_err(PackageProblem::NodeManifest)?;
        let digest = digest(&files);
        Ok(Self { manifest, digest, checks, repair, files, run_as, input, output })
    }

    /// Whether an input is as the package asks for it.
    ///
    /// # Errors
    /// [`SchemaProblem`] with the first place where it is not.
    pub fn check_input(&self, input: &Map<String, Value>) -> Result<(), SchemaProblem> {
        self.input.check(&Value::Object(input.clone()))
    }

    /// Whether an output is as the package says.
    ///
    /// # Errors
    /// [`SchemaProblem`] with the first place where it is not.
    pub fn check_output(&self, output: &Value) -> Result<(), SchemaProblem> {
        self.output.check(output)
    }

    /// The bytes of one of its files; none where it is not there.
    pub(super) fn file(&self, path: &str) -> &[u8] {
        self.files.get(path).map(|file| file.bytes.as_slice()).unwrap_or_default()
    }

    /// How many files it has, and their bytes together.
    pub fn extent(&self) -> (usize, usize) {
        (self.files.len(), self.files.values().map(|file| file.bytes.len()).sum())
    }
}

/// The name by which a plan asks for it is that of its directory.
fn check_name(manifest: &Manifest, directory: &Path) -> Result<(), PackageProblem> {
    let unreadable = |why| PackageProblem::Unreadable { path: String::new(), why };
    // It may be given as `.`.
    let real = fs::canonicalize(directory).map_err(unreadable)?;
    let name = real.file_name().unwrap_or_default();
    match name.as_bytes() == manifest.name.as_str().as_bytes() {
        true => Ok(()),
        false => Err(PackageProblem::Name {
            name: manifest.name.to_string(),
            directory: name.to_owned(),
        }),
    }
}

fn check_safe(manifest: &Manifest) -> Result<(), PackageProblem> {
    let tier = manifest.risk_tier;
    if manifest.is_write_like() && tier < RiskTier::R2 {
        return Err(PackageProblem::Tier { tier });
    }
    let rules = [
        ("verification", manifest.verification.required),
        ("rollback", manifest.rollback.required),
    ];
    match rules.into_iter().find(|(_, required)| tier >= RiskTier::R2 && !required) {
        Some((rule, _)) => Err(PackageProblem::NotRequired { tier, rule }),
        None => Ok(()),
    }
}

fn commands(written: &[String]) -> Result<Vec<CommandLine>, PackageProblem> {
    written.iter().map(|written| command(written)).collect()
}

fn command(written: &str) -> Result<CommandLine, PackageProblem> {
    CommandLine::parse(written)
        .map_err(|problem| PackageProblem::Command { command: written.to_owned(), problem })
}

fn digest(files: &Files) -> Digest {
    let mut hasher = Hasher::tagged("actum/plugin-package/v1");
    for (path, file) in files {
        hasher.part(path.as_bytes());
        hasher.part(if file.is_executable { b"executable" } else { b"plain" });
        hasher.part(&file.bytes);
    }
    hasher.finish()
}
