//! Package: its files as they were read, and the checked content of its manifest (AA-8, AA-9).

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

/// Package that was read completely and checked.
#[derive(Debug, Clone)]
pub struct Package {
    /// Content of `action.json`.
    pub manifest: Manifest,
    /// Digest of all its files: paths, executable bits and bytes.
    pub digest: Digest,
    /// Commands that check its work, after `verify.js`.
    pub checks: Vec<CommandLine>,
    /// Command that runs once if a check fails.
    pub repair: Option<CommandLine>,
    pub(super) files: Files,
    /// Each `package.json` that it runs with, one for each possible module kind of its `.js` files.
    pub(super) run_as: Vec<Vec<u8>>,
    input: Schema,
    output: Schema,
}

/// Reason why a directory is not a usable package.
#[derive(Debug, thiserror::Error)]
pub enum PackageProblem {
    /// Part of the package cannot be read.
    #[error("{} cannot be read: {why}", named(.path))]
    Unreadable {
        /// Path relative to the package; empty for the package itself.
        path: String,
        /// Error of the read.
        why: io::Error,
    },
    /// The path is not a directory.
    #[error("it is no directory; a symbolic link to one is not followed")]
    NoDirectory,
    /// Only regular files and directories are allowed in a package.
    #[error("`{}` is {is}; a package may contain only regular files and directories", Harmless(.path.as_bytes()))]
    Special {
        /// Path.
        path: String,
        /// File type.
        is: &'static str,
    },
    /// The file has a hard link. The other name may be anywhere, and so any process may write to it.
    #[error(
        "`{}` has another name besides (a hard link); put a copy in its place",
        Harmless(.path.as_bytes())
    )]
    HardLink {
        /// Path.
        path: String,
    },
    /// Name that Node could not find.
    #[error("{} has a file whose name `{}` is not UTF-8", named(.within), Quoted(.name))]
    NoText {
        /// Directory of the file.
        within: String,
        /// Name.
        name: Vec<u8>,
    },
    /// Too many files.
    #[error("it has more than {FILES_MAX} files")]
    TooManyFiles,
    /// Files that are too large together.
    #[error("its files have more than {} MiB together", BYTES_MAX >> 20)]
    TooLarge,
    /// Directories that are nested too deeply.
    #[error("`{}` lies more than {DEPTH_MAX} directories deep", Harmless(.path.as_bytes()))]
    TooDeep {
        /// Path.
        path: String,
    },
    /// Missing file of the four that a package needs.
    #[error("it has no `{file}`; a package has {}", PACKAGE_FILES.join(", "))]
    Missing {
        /// File.
        file: &'static str,
    },
    /// Invalid manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Invalid `package.json`, which Node could not read.
    #[error("its `package.json` is no JSON object: {0}")]
    NodeManifest(serde_json::Error),
    /// Name that differs from that of the directory.
    #[error(
        "its name is `{name}`, and that of its directory `{}`; rename one of them",
        Quoted(.directory.as_bytes())
    )]
    Name {
        /// Name in the manifest.
        name: String,
        /// Name of the directory.
        directory: OsString,
    },
    /// Unusable schema.
    #[error("its `{schema}` is no JSON Schema that can be used: {problem}")]
    Schema {
        /// Schema.
        schema: &'static str,
        /// Problem with the schema.
        problem: SchemaProblem,
    },
    /// Unusable command.
    #[error("its command `{}` cannot be run: {problem}", Harmless(.command.as_bytes()))]
    Command {
        /// Command as the manifest has it.
        command: String,
        /// Problem with the command.
        problem: CommandLineError,
    },
    /// Risk tier below R2 of a package that writes.
    #[error(
        "it writes the workspace, and its `riskTier` is {tier}; one that writes is {least} at least",
        least = RiskTier::R2
    )]
    Tier {
        /// Declared tier.
        tier: RiskTier,
    },
    /// Missing requirement: this tier needs both verification and rollback (AA-3, AA-11).
    #[error(
        "its `riskTier` is {tier}, and `{rule}.required` is false; an action of {least} or more \
         needs both verification and rollback",
        least = RiskTier::R2
    )]
    NotRequired {
        /// Declared tier.
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
    /// Reads the package in a directory. Nothing of it runs.
    ///
    /// # Errors
    /// [`PackageProblem`] with the first problem.
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
        // A permitted command that can never run is a mistake, so it is rejected.
        commands(&manifest.permissions.commands)?;
        let checks = commands(&manifest.verification.commands)?;
        let repair = manifest.repair.as_deref().map(command).transpose()?;
        let run_as = modules::kinds(&files).map_err(PackageProblem::NodeManifest)?;
        let digest = digest(&files);
        Ok(Self { manifest, digest, checks, repair, files, run_as, input, output })
    }

    /// Checks an input against the schema of the package.
    ///
    /// # Errors
    /// [`SchemaProblem`] with the first difference.
    pub fn check_input(&self, input: &Map<String, Value>) -> Result<(), SchemaProblem> {
        self.input.check(&Value::Object(input.clone()))
    }

    /// Checks an output against the schema of the package.
    ///
    /// # Errors
    /// [`SchemaProblem`] with the first difference.
    pub fn check_output(&self, output: &Value) -> Result<(), SchemaProblem> {
        self.output.check(output)
    }

    /// Returns the bytes of a file; empty if it is missing.
    pub(super) fn file(&self, path: &str) -> &[u8] {
        self.files.get(path).map(|file| file.bytes.as_slice()).unwrap_or_default()
    }

    /// Returns the number of files, and of their bytes together.
    pub fn extent(&self) -> (usize, usize) {
        (self.files.len(), self.files.values().map(|file| file.bytes.len()).sum())
    }
}

/// Checks that the name in the manifest, which plans use, is that of the directory.
fn check_name(manifest: &Manifest, directory: &Path) -> Result<(), PackageProblem> {
    let unreadable = |why| PackageProblem::Unreadable { path: String::new(), why };
    // The directory may be given as `.`.
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
