//! Fuzz targets. Each target is a function that panics if its input violates an invariant.
//!
//! `cargo xtask fuzz` calls the targets with generated inputs. The test `fuzz_corpus` calls them with all inputs in `fuzz/corpus`.

mod apply_revert;
mod bytes;
mod edits;
mod journal;
mod leases;
mod parsers;
mod paths;

/// Fuzz target.
#[derive(Clone, Copy)]
pub struct Target {
    /// Name of the target, and of the directory in `fuzz/corpus` that contains its inputs.
    pub name: &'static str,
    /// Function that runs the target on an input.
    pub run: fn(&[u8]),
}

/// All fuzz targets.
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

/// Runs the fuzz target `name` on an input.
///
/// # Panics
/// Panics if the target does not exist or the input violates an invariant.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("unknown fuzz target `{name}`")).run)(input);
}
