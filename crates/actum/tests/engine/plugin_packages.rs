//! Runs the Node.js tests of the plugin driver and of the bundled packages.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the test files in a directory, sorted by name.
fn tests_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a directory of tests");
    let mut tests: Vec<PathBuf> = entries.map(|entry| entry.expect("a test").path()).collect();
    tests.retain(|path| path.to_string_lossy().ends_with(".test.mjs"));
    assert!(!tests.is_empty(), "no test in `{}`", directory.display());
    tests.sort();
    tests
}

fn node_tests(directory: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut node = Command::new("node");
    let ended =
        node.arg("--test").args(tests_in(&root.join(directory))).current_dir(&root).output();
    let ended = ended.expect("`node` is in the PATH");
    let stdout = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{stdout}{}", String::from_utf8_lossy(&ended.stderr));
    // A test runner that finds no tests exits successfully.
    assert!(!stdout.contains("# tests 0\n"), "{stdout}");
}

/// AA-8, AA-10
#[test]
fn the_driver_calls_a_package_and_answers_with_one_line() {
    node_tests("crates/actum/tests/plugin_driver");
}

/// AA-8, AA-11
#[test]
fn version_bump_package_changes_only_versions() {
    node_tests("actions/bump_version/test");
}

/// AA-8, AA-11
#[test]
fn licence_header_package_only_adds_headers() {
    node_tests("actions/add_license_header/test");
}
