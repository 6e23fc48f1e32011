//! Downloads a version of a package into the cache, with the tool that users of the package use.

use std::fs::{create_dir, create_dir_all, remove_dir_all, rename};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

use super::Failure;
use super::catalogue::Kind;
use super::child::run;
use super::options::Network;
use super::tree::{TakenOut, Tree};
use crate::cargo;

/// Time limit of one download attempt.
const TIME_MAX: Duration = Duration::from_secs(180);
/// Number of attempts at a download.
const ATTEMPTS: usize = 3;
/// Pause before the next attempt.
const PAUSE: Duration = Duration::from_secs(2);
/// File that cargo creates in an unpacked crate.
const CARGO_MARK: &[u8] = b".cargo-ok";

/// Downloaded packages, and a scratch directory for downloads in progress.
pub(super) struct Cache {
    directory: PathBuf,
    scratch: PathBuf,
    network: Network,
}

/// Fields of `cargo metadata` that are read.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
}

/// Reason why a package is missing.
#[derive(Debug, thiserror::Error)]
enum DownloadError {
    #[error("`{package}` was not downloaded before, and `--offline` forbids to do it now")]
    Offline { package: String },
    #[error("downloading `{package}`, {ATTEMPTS} times: {source}")]
    Download { package: String, source: Failure },
    #[error("the package gave no file `*.tgz`")]
    NoArchive,
    #[error("cargo does not say where the crate is")]
    NoCrate,
}

impl Cache {
    /// Creates a cache. `scratch` must be on the same file system as the cache directory.
    pub(super) fn new(directory: PathBuf, scratch: PathBuf, network: Network) -> Self {
        Self { directory, scratch, network }
    }

    /// Returns the files of a package, and the entries that were left out.
    pub(super) fn get(
        &self,
        kind: Kind,
        name: &str,
        version: &str,
    ) -> Result<(Tree, TakenOut), Failure> {
        let place = self.directory.join(kind.slug()).join(file_name(name, version));
        if !place.exists() {
            self.fill(&place, kind, name, version)?;
        }
        let mut tree = Tree::read(&place)?;
        tree.remove(CARGO_MARK);
        let taken_out = tree.take_out();
        Ok((tree, taken_out))
    }

    /// Downloads into the scratch directory and moves complete packages to their `place`.
    fn fill(&self, place: &Path, kind: Kind, name: &str, version: &str) -> Result<(), Failure> {
        let package = format!("{name} {version}");
        if self.network == Network::Avoid {
            return Err(DownloadError::Offline { package }.into());
        }
        eprintln!("downloading {package}");
        let work = self.scratch.join("download");
        let attempt = || -> Result<PathBuf, Failure> {
            fresh(&work)?;
            match kind {
                Kind::Crate => unpacked_crate(&work, name, version),
                Kind::Npm => unpacked_npm(&work, name, version),
            }
        };
        let mut result = attempt();
        for _ in 1..ATTEMPTS {
            result = result.or_else(|_| {
                std::thread::sleep(PAUSE);
                attempt()
            });
        }
        let tree = result.map_err(|source| DownloadError::Download { package, source })?;
        if let Some(parent) = place.parent() {
            create_dir_all(parent)?;
        }
        rename(tree, place)?;
        Ok(())
    }
}

/// Lets cargo resolve a project whose only dependency is this version, and copies the crate that cargo has unpacked.
fn unpacked_crate(work: &Path, name: &str, version: &str) -> Result<PathBuf, Failure> {
    std::fs::write(work.join("Cargo.toml"), manifest(name, version))?;
    std::fs::write(work.join("lib.rs"), "")?;
    let metadata = run(
        cargo(work).args(["metadata", "--format-version", "1"]).stdin(Stdio::null()),
        TIME_MAX,
    )?;
    let metadata: Metadata = serde_json::from_slice(&metadata)?;
    // The dependencies may include another version of the same package.
    let found = metadata.packages.iter().filter(|package| package.name == name);
    let mut directories = found.filter_map(|package| package.manifest_path.parent());
    let source = directories
        .find(|directory| is_version(directory, name, version))
        .ok_or(DownloadError::NoCrate)?;
    let tree = work.join("tree");
    let arguments = ["--recursive", "--no-dereference", "--preserve=mode", "--"];
    run(Command::new("cp").args(arguments).args([source, &tree]).stdin(Stdio::null()), TIME_MAX)?;
    Ok(tree)
}

/// Whether cargo's directory contains this version, possibly followed by build metadata.
fn is_version(directory: &Path, name: &str, version: &str) -> bool {
    let found = directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let wanted = format!("{name}-{version}");
    found.is_some_and(|found| found.split('+').next() == Some(&wanted))
}

fn manifest(name: &str, version: &str) -> String {
    format!(
        "[package]\nname = \"material\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
         [lib]\npath = \"lib.rs\"\n\n[workspace]\n\n\
         [dependencies]\n{name} = {{ version = \"={version}\", default-features = false }}\n"
    )
}

/// Downloads the archive with `npm pack`, which runs no scripts, and unpacks it.
fn unpacked_npm(work: &Path, name: &str, version: &str) -> Result<PathBuf, Failure> {
    let npm = ["pack", "--ignore-scripts", "--silent", "--pack-destination", "."];
    let package = format!("{name}@{version}");
    let mut command = Command::new("npm");
    run(command.args(npm).arg(package).current_dir(work).stdin(Stdio::null()), TIME_MAX)?;
    let archive = std::fs::read_dir(work)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "tgz"))
        .ok_or(DownloadError::NoArchive)?;
    let tree = work.join("tree");
    create_dir(&tree)?;
    let tar = ["--extract", "--gzip", "--strip-components=1", "--no-same-owner"];
    let mut command = Command::new("tar");
    let command = command.args(tar).arg("--no-same-permissions");
    let command = command.arg("--directory").arg(&tree).arg("--file").arg(archive);
    run(command.stdin(Stdio::null()), TIME_MAX)?;
    Ok(tree)
}

/// Creates an empty directory at `path`, replacing any existing one.
pub(crate) fn fresh(path: &Path) -> io::Result<()> {
    match remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    create_dir_all(path)
}

/// Returns a file name for a package, whose own name may contain a slash.
fn file_name(name: &str, version: &str) -> String {
    format!("{}-{version}", name.replace('/', "+"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_project_pins_its_exact_version_in_a_separate_workspace() {
        let manifest = manifest("serde", "1.0.100");
        assert!(manifest.contains("serde = { version = \"=1.0.100\", default-features = false }"));
        assert!(manifest.contains("[workspace]"));
    }

    #[test]
    fn build_metadata_does_not_hide_a_version() {
        let is = |directory| is_version(Path::new(directory), "zstd-sys", "2.0.8");
        assert!(is("a/zstd-sys-2.0.8"));
        assert!(is("a/zstd-sys-2.0.8+zstd.1.5.5"));
        assert!(!is("a/zstd-sys-2.0.81"));
        assert!(!is("a/zstd-sys-2.0.8-rc.1"));
    }

    #[test]
    fn scoped_package_maps_to_a_single_directory_name() {
        assert_eq!(file_name("@types/node", "14.0.0"), "@types+node-14.0.0");
    }

    #[test]
    fn nothing_is_downloaded_offline() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let cache = Cache::new(path("cache"), path("scratch"), Network::Avoid);
        let error = cache.get(Kind::Npm, "chalk", "4.1.2").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`chalk 4.1.2` was not downloaded before, and `--offline` forbids to do it now"
        );
    }
}
