//! Plugin package as it was read from a directory: all its files, and its checked manifest (AA-8, AA-9).

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

/// Plugin package whose files were all read and checked.
#[derive(Debug, Clone)]
pub struct Package {
    /// Parsed content of `action.json`.
    pub manifest: Manifest,
    /// Digest over the path, the executable bit and the content of every file.
    pub digest: Digest,
    /// Commands that check the result of the action, in addition to `verify.js`.
    pub checks: Vec<CommandLine>,
    /// Repair command, which runs once if a check fails.
    pub repair: Option<CommandLine>,
    pub(super) files: Files,
    /// Versions of `package.json` that the package runs with, one for each possible module kind of its `.js` files.
    pub(super) run_as: Vec<Vec<u8>>,
    input: Schema,
    output: Schema,
}

/// Reason why a directory is not a valid plugin package.
#[derive(Debug, thiserror::Error)]
pub enum PackageProblem {
    /// A file or directory of the package cannot be read.
    #[error("{} cannot be read: {why}", named(.path))]
    Unreadable {
        /// Path relative to the package directory, or an empty string for that directory itself.
        path: String,
        /// Underlying I/O error.
        why: io::Error,
    },
    /// The path of the package is not a directory.
    #[error("it is not a directory; symbolic links are not followed")]
    NoDirectory,
    /// The package contains something other than regular files and directories.
    #[error("`{}` is {is}; a package may contain only regular files and directories", Harmless(.path.as_bytes()))]
    Special {
        /// Path relative to the package directory.
        path: String,
        /// Description of the file type, such as `a socket`.
        is: &'static str,
    },
    /// A file has more than one hard link. The other names can be anywhere, so any process may be able to change the file.
    #[error(
        "`{}` has more than one hard link; replace it with a copy",
        Harmless(.path.as_bytes())
    )]
    HardLink {
        /// Path relative to the package directory.
        path: String,
    },
    /// A file name is not UTF-8, so Node.js could not find the file.
    #[error("{} contains a file whose name `{}` is not UTF-8", named(.within), Quoted(.name))]
    NoText {
        /// Directory that contains the file, relative to the package.
        within: String,
        /// Name of the file in bytes.
        name: Vec<u8>,
    },
    /// The package contains more than 2000 files.
    #[error("it has more than {FILES_MAX} files")]
    TooManyFiles,
    /// The files of the package exceed 32 MiB in total.
    #[error("its files contain more than {} MiB in total", BYTES_MAX >> 20)]
    TooLarge,
    /// The directories of the package are nested more than 32 levels deep.
    #[error("`{}` is nested more than {DEPTH_MAX} directories deep", Harmless(.path.as_bytes()))]
    TooDeep {
        /// Path relative to the package directory.
        path: String,
    },
    /// One of the four files that every package needs is missing.
    #[error("it has no `{file}`; a package needs {}", PACKAGE_FILES.join(", "))]
    Missing {
        /// Name of the missing file.
        file: &'static str,
    },
    /// The manifest `action.json` is invalid.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The file `package.json` is invalid, so Node.js could not read it.
    #[error("its `package.json` is not a valid JSON object: {0}")]
    NodeManifest(serde_json::Error),
    /// The name in the manifest differs from the name of the directory.
    #[error(
        "its name is `{name}`, but its directory is named `{}`; rename one of them",
        Quoted(.directory.as_bytes())
    )]
    Name {
        /// Action name in the manifest.
        name: String,
        /// Name of the package directory.
        directory: OsString,
    },
    /// A schema in the manifest is not a usable JSON Schema.
    #[error("its `{schema}` is not a usable JSON Schema: {problem}")]
    Schema {
        /// Name of the manifest field with the schema.
        schema: &'static str,
        /// Reason why the schema cannot be used.
        problem: SchemaProblem,
    },
    /// A command in the manifest cannot be run.
    #[error("its command `{}` cannot be run: {problem}", Harmless(.command.as_bytes()))]
    Command {
        /// Command as written in the manifest.
        command: String,
        /// Reason why the command cannot be run.
        problem: CommandLineError,
    },
    /// The package writes to the workspace, but declares a risk tier below R2.
    #[error(
        "its `riskTier` is {tier}, but a package that writes to the workspace must be at least {least}",
        least = RiskTier::R2
    )]
    Tier {
        /// Risk tier declared in the manifest.
        tier: RiskTier,
    },
    /// The declared risk tier requires both verification and rollback, but one of them is optional (AA-3, AA-11).
    #[error(
        "its `riskTier` is {tier}, but `{rule}.required` is false; an action of tier {least} or higher \
         requires both verification and rollback",
        least = RiskTier::R2
    )]
    NotRequired {
        /// Risk tier declared in the manifest.
        tier: RiskTier,
        /// Manifest field that is not required: `verification` or `rollback`.
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
    /// Reads and checks the package in a directory. No code of the package runs.
    ///
    /// # Errors
    /// Returns the first [`PackageProblem`] that was found.
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
        // A permitted command that cannot be parsed could never run, so reject it as a mistake.
        commands(&manifest.permissions.commands)?;
        let checks = commands(&manifest.verification.commands)?;
        let repair = manifest.repair.as_deref().map(command).transpose()?;
        let run_as = modules::kinds(&files).map_err(PackageProblem::NodeManifest)?;
        let digest = digest(&files);
        Ok(Self { manifest, digest, checks, repair, files, run_as, input, output })
    }

    /// Checks an input against the `inputSchema` of the package.
    ///
    /// # Errors
    /// Returns the first violation of the schema.
    pub fn check_input(&self, input: &Map<String, Value>) -> Result<(), SchemaProblem> {
        self.input.check(&Value::Object(input.clone()))
    }

    /// Checks an output against the `outputSchema` of the package.
    ///
    /// # Errors
    /// Returns the first violation of the schema.
    pub fn check_output(&self, output: &Value) -> Result<(), SchemaProblem> {
        self.output.check(output)
    }

    /// Returns the content of a file, or an empty slice if the package has no such file.
    pub(super) fn file(&self, path: &str) -> &[u8] {
        self.files.get(path).map(|file| file.bytes.as_slice()).unwrap_or_default()
    }

    /// Returns the number of files in the package and their total size in bytes.
    pub fn extent(&self) -> (usize, usize) {
        (self.files.len(), self.files.values().map(|file| file.bytes.len()).sum())
    }
}

/// Checks that the action name in the manifest, which plans refer to, equals the name of the directory.
fn check_name(manifest: &Manifest, directory: &Path) -> Result<(), PackageProblem> {
    let unreadable = |why| PackageProblem::Unreadable { path: String::new(), why };
    // Resolve the path first, because the directory may have been given as `.`.
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
