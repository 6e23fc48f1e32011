//! Unified diffs are parsed to operations, and the operations have the effect the diff describes (FO-10).

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops at what it did not expect"
)]

mod beside_git;
mod binary;
mod hunk_writer;
mod links;
mod model;
mod operations;
mod properties;
mod refusals;
mod repository;
mod trees;

use actum_core::RelPath;
use actum_edit::{Operation, format};
use model::Tree;

/// Regular file.
const R: bool = false;
/// Executable file.
const X: bool = true;

fn tree(files: &[(&str, &str, bool)]) -> Tree {
    let file = |&(name, content, executable): &(&str, &str, bool)| {
        (path(name), (content.as_bytes().to_vec(), executable))
    };
    Tree(files.iter().map(file).collect())
}

fn path(name: &str) -> RelPath {
    RelPath::new(name).unwrap()
}

fn parse(diff: &str) -> Vec<Operation> {
    format::git_diff::parse(diff.as_bytes()).unwrap()
}
