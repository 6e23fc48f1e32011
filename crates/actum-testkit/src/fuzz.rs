//! Targets of the fuzzer: one function each, which panics if a rule is broken.
//!
//! `cargo xtask fuzz` calls them with inputs it makes up; the test `fuzz_corpus` with every input
//! that is kept in `fuzz/corpus`.

mod apply_revert;
mod bytes;
mod edits;
mod journal;
mod leases;
mod parsers;
mod paths;

/// Target of the fuzzer.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, and that of the directory with its inputs.
    pub name: &'static str,
    /// Runs it.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "apply_revert", run: apply_revert::run },
    Target { name: "codex_patch", run: parsers::codex_patch },
    Target { name: "edits", run: edits::run },
    Target { name: "formats", run: parsers::formats },
    Target { name: "git_diff", run: parsers::git_diff },
    Target { name: "hunks", run: edits::hunks },
    Target { name: "journal", run: journal::run },
    Target { name: "leases", run: leases::run },
    Target { name: "paths", run: paths::run },
    Target { name: "search_replace", run: parsers::search_replace },
];

/// Runs the target of this name.
///
/// # Panics
/// The target does not exist, or a rule is broken.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("there is no target `{name}`")).run)(input);
}
