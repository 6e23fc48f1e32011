//! The repository as seen by the checks, with every Rust source read once.

use std::fs::{read_dir, read_to_string};
use std::io;
use std::path::{Path, PathBuf};

use super::mask::Masked;

pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    /// Sources in the order of their paths.
    pub(crate) sources: Vec<Source>,
}

/// Rust source file.
pub(crate) struct Source {
    /// Path relative to the root.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(super) masked: Masked,
}

#[derive(Debug, thiserror::Error)]
#[error("reading `{path}`: {source}")]
pub(crate) struct ReadError {
    path: PathBuf,
    source: io::Error,
}

/// Inputs and expected outputs of scenarios are data, even if they are Rust files.
const DATA_DIRECTORY: &str = "scenarios";
/// File that marks a directory of build output, whatever its name.
const CACHE_MARK: &str = "CACHEDIR.TAG";

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self, ReadError> {
        let mut paths = Vec::new();
        collect(root, &mut paths).map_err(at(root))?;
        let sources =
            paths.iter().map(|path| Source::read(root, path)).collect::<Result<_, _>>()?;
        Ok(Self { root: root.to_owned(), sources })
    }
}

impl Source {
    fn read(root: &Path, path: &Path) -> Result<Self, ReadError> {
        let text = read_to_string(path).map_err(at(path))?;
        let relative = path.strip_prefix(root).unwrap_or(path);
        let path = relative.to_string_lossy().into_owned();
        Ok(Self { masked: Masked::new(&text), path, text })
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ReadError + '_ {
    move |source| ReadError { path: path.to_owned(), source }
}

/// Collects the sources without following symbolic links, so that it terminates and stays in the tree.
fn collect(directory: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    if entries.iter().any(|entry| entry.file_name() == CACHE_MARK) {
        return Ok(());
    }
    for entry in entries {
        let (name, path) = (entry.file_name(), entry.path());
        let kind = entry.file_type()?;
        if name.as_encoded_bytes().starts_with(b".") || name == DATA_DIRECTORY {
            continue;
        }
        if kind.is_dir() {
            collect(&path, paths)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod testing {
    use std::fs::{create_dir_all, write};

    use tempfile::TempDir;

    use super::Tree;

    /// Creates a directory with these files, given by path and content.
    pub(crate) fn write_tree(files: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            create_dir_all(path.parent().unwrap()).unwrap();
            write(path, content).unwrap();
        }
        root
    }

    /// Returns the findings of `check` in a directory with these files.
    pub(crate) fn findings(
        check: fn(&Tree) -> Vec<super::super::Finding>,
        files: &[(&str, &str)],
    ) -> Vec<String> {
        let root = write_tree(files);
        check(&Tree::read(root.path()).unwrap()).iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_hidden_directories_and_scenarios_are_not_sources() {
        let root = testing::write_tree(&[
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/target/kept.rs", ""),
            ("crates/a/tests/scenarios/001_x/before/data.rs", ""),
            (".hidden/x.rs", ""),
            ("build/CACHEDIR.TAG", ""),
            ("build/debug/x.rs", ""),
            ("README.md", ""),
        ]);
        let tree = Tree::read(root.path()).unwrap();
        let paths: Vec<&str> = tree.sources.iter().map(|source| source.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/src/lib.rs", "crates/a/src/target/kept.rs"]);
    }
}
