//! Captures on the real disk (issue 28).

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use actum_workspace::{Error, Workspace};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Issue 28: overlayfs leaves a directory with mode 0000, and a command may make other directories inaccessible. Modes
/// restrict root only without the capabilities that override them.
#[test]
fn capture_with_inaccessible_directories_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let workspace = Workspace::open(&root).unwrap();
    let close =
        |path: &std::path::Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
    let held = workspace.make_capture(b"note").unwrap();
    let left = workspace.make_capture(b"note").unwrap();
    for capture in [&held, &left] {
        let place = root.join(capture.path());
        fs::create_dir_all(place.join("work/work/#1")).unwrap();
        fs::create_dir_all(place.join("upper/closed/deep")).unwrap();
        fs::write(place.join("upper/closed/deep/file"), "x").unwrap();
        for (path, mode) in
            [("upper/closed/deep", 0o000), ("upper/closed", 0o555), ("work/work", 0o000)]
        {
            close(&place.join(path), mode).unwrap();
        }
    }
    let captures = root.join(".actum/captures");
    std::thread::spawn(move || {
        let mut sets = capabilities(None).unwrap();
        sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, sets).unwrap();
        drop(held);
        assert_eq!(fs::read_dir(&captures).unwrap().count(), 1);
        let swept = workspace.sweep_captures(|| Ok::<_, Error>(BTreeSet::new())).unwrap();
        assert_eq!(swept, 0, "it is in use");
        drop(left);
        assert_eq!(fs::read_dir(&captures).unwrap().count(), 0);
    })
    .join()
    .unwrap();
}
