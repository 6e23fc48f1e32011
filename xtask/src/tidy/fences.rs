//! Words that only certain files may use.

use super::Finding;
use super::mask::lines_with_word;
use super::tree::Tree;

struct Fence {
    word: &'static str,
    /// Returns whether the file at `path` may use the word.
    is_open: fn(path: &str) -> bool,
    reason: &'static str,
}

const SYSTEM_CALLS: &str = "crates/actum-workspace/src/disk/";
/// The sandbox consists of system calls.
const SANDBOX: &str = "crates/actum-sandbox/src/";
const UNWRAPPED: &str = "crates/actum-sandbox/src/sys.rs";
/// The DuckDB library is called through its C interface.
const DUCKDB: &str = "crates/actum-sql/src/duckdb.rs";
/// The hostile tests make system calls that no library wraps.
const HOSTILE: &str = "crates/actum-sandbox/tests/hostile/";

/// Keys and ledgers are stored outside any workspace.
const LEDGER_HOME: &str = "crates/actum-ledger/src/home/disk.rs";

/// Policies are stored next to the workspace, and read by path.
const POLICIES: &str = "crates/actum/src/policies.rs";

/// Roots, homes and configurations may be at any path, and are examined before a workspace is opened.
const REAL_PATHS: &str = "crates/actum/src/real_path.rs";
/// Plugin packages may be at any path, and no link in them is followed.
const PACKAGES: &str = "crates/actum/src/plugin/directory.rs";
/// Result files are created in a directory that was opened without following links.
const RESULTS: &str = "crates/actum-cli/src/output_file.rs";
/// Client settings are replaced in a directory that was opened without following links.
const CLIENT_SETTINGS: &str = "crates/actum-cli/src/verb/protect/file.rs";

const FENCES: &[Fence] = &[
    Fence {
        word: "unsafe",
        is_open: |path| path == UNWRAPPED || path == DUCKDB || path.starts_with(HOSTILE),
        reason: "`rustix` wraps the system calls, and the few that it does not are in the sandbox's `sys.rs`",
    },
    Fence {
        word: "rustix",
        is_open: |path| {
            path.starts_with(SYSTEM_CALLS)
                || path.starts_with(SANDBOX)
                || path == LEDGER_HOME
                || path == POLICIES
                || path == REAL_PATHS
                || path == PACKAGES
                || path == RESULTS
                || path == CLIENT_SETTINGS
                || !path.starts_with("crates/")
                || path.starts_with("crates/actum-testkit/")
                || path.contains("/tests/")
        },
        reason: "files are reached below `crates/actum-workspace/src/disk/` alone",
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Fence { word, is_open, reason } in FENCES {
        for source in tree.sources.iter().filter(|source| !is_open(&source.path)) {
            let problem = format!("`{word}` is fenced: {reason}");
            findings.extend(
                lines_with_word(&source.masked.code, word)
                    .into_iter()
                    .map(|line| Finding::new(&source.path, line, &*problem)),
            );
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::testing::findings;

    #[test]
    fn fenced_word_is_reported_only_in_code() {
        let text =
            "//! unsafe\n// unsafe\nconst A: &str = \"unsafe\";\nfn f() { unsafe { g() } }\n";
        assert_eq!(
            findings(
                check,
                &[("crates/a/tests/t.rs", text), (UNWRAPPED, text), ("xtask/src/main.rs", text)]
            ),
            ["crates/a/tests/t.rs", "xtask/src/main.rs"].map(|path| format!(
                "{path}:4: `unsafe` is fenced: `rustix` wraps the system calls, and the few that it \
                 does not are in the sandbox's `sys.rs`"
            ))
        );
    }

    #[test]
    fn only_the_system_call_module_and_tests_may_use_rustix() {
        let text = "//! x\nuse rustix::fs;\n";
        let files = [
            "crates/actum-cli/src/main.rs",
            "crates/actum-sandbox/src/spawn.rs",
            "crates/actum-testkit/src/lib.rs",
            "crates/actum-workspace/src/disk.rs",
            "crates/actum-workspace/src/disk/linux.rs",
            "crates/actum-workspace/tests/crash.rs",
            "xtask/src/crash.rs",
        ];
        assert_eq!(
            findings(check, &files.map(|path| (path, text))),
            ["crates/actum-cli/src/main.rs", "crates/actum-workspace/src/disk.rs"].map(|path| {
                format!(
                    "{path}:2: `rustix` is fenced: files are reached below \
                     `crates/actum-workspace/src/disk/` alone"
                )
            })
        );
    }
}
