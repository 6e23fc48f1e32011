//! Links that clients edit through, and links and directory permissions that commands change.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::program::text;
use crate::turns::{begin, end};
use crate::{Session, allowed, refused};

/// Issue 27: an edit through a link is judged and recorded at the target of the link.
#[test]
fn edit_through_a_link_is_judged_and_recorded_at_its_target() {
    let session = Session::new("claude");
    fs::write(session.root.join(".env"), "SECRET=1\n").unwrap();
    symlink(".env", session.root.join("notes.txt")).unwrap();
    symlink("a.txt", session.root.join("alias.txt")).unwrap();
    let input = |path: &str| json!({ "file_path": session.root.join(path), "content": "x\n" });
    refused(&session.before("c1", "Write", &input("notes.txt")), "`.env` is protected");
    allowed(&session.before("c2", "Write", &input("alias.txt")));
    fs::write(session.root.join("alias.txt"), "x\n").unwrap();
    allowed(&session.after("c2", "Write", &input("alias.txt")));
    assert_eq!(session.runs().len(), 1);
    assert_eq!(session.actum(&["undo"]).code, 0);
    assert_eq!(text(&session.root, "a.txt"), "1\n");
}

/// D-6: a link that an edit leaves in place of a file is judged by its target, and rolled back if rejected.
#[test]
fn link_left_by_an_edit_is_judged_by_its_target() {
    let session = Session::new("claude");
    let input = json!({ "file_path": session.root.join("a.txt"), "content": "x\n" });
    let edit = |call: &str, target: &str| {
        allowed(&session.before(call, "Write", &input));
        fs::remove_file(session.root.join("a.txt")).unwrap();
        symlink(target, session.root.join("a.txt")).unwrap();
        session.after(call, "Write", &input)
    };
    let outside = edit("c1", "/etc/passwd");
    refused(&outside, "points outside the workspace");
    assert_eq!(text(&session.root, "a.txt"), "1\n");
    allowed(&edit("c2", "sub/b.txt"));
    assert_eq!(fs::read_link(session.root.join("a.txt")).unwrap().to_str(), Some("sub/b.txt"));
    assert_eq!(session.actum(&["undo"]).code, 0);
    assert_eq!(text(&session.root, "a.txt"), "1\n");
}

/// D-6: a link named by the user is adopted as a link, and a repeated request returns the same run.
#[test]
fn named_link_is_adopted_itself_and_a_key_adopts_once() {
    let session = Session::new("claude");
    begin(&session);
    fs::write(session.root.join("a.txt"), "by a command\n").unwrap();
    symlink("a.txt", session.root.join("link")).unwrap();
    end(&session);
    let link = session.actum(&["adopt", "link"]);
    assert_eq!((link.code, session.runs().len()), (0, 1), "{link:?}");
    assert!(!link.stdout.contains("a.txt"), "{link:?}");
    for _ in 0..2 {
        let adopted = session.actum(&["adopt", "--request-key", "once"]);
        assert_eq!(adopted.code, 0, "{adopted:?}");
    }
    assert_eq!(session.runs().len(), 2);
}

/// D-6: links and directory permissions that a command changed can be adopted, undone and restored.
#[test]
fn links_and_modes_of_directories_are_adopted_undone_and_restored() {
    let session = Session::new("claude");
    let at = |path: &str| session.root.join(path);
    let set_mode = |path: &str, mode| {
        fs::set_permissions(at(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir(at("closed")).unwrap();
    set_mode("closed", 0o750);
    symlink("a.txt", at("moved")).unwrap();
    symlink("a.txt", at("gone")).unwrap();
    symlink("a.txt", at("to_file")).unwrap();
    fs::write(at("to_link"), "a.txt").unwrap();
    let state = || {
        let link = |path: &str| fs::read_link(at(path)).ok();
        let links = ["moved", "gone", "to_file", "to_link", "new"].map(link);
        let file = ["to_file", "to_link"].map(|path| fs::read(at(path)).unwrap());
        let mode = fs::metadata(at("closed")).unwrap().permissions().mode() & 0o7777;
        (links, file, mode)
    };
    let change = || {
        for path in ["moved", "gone", "to_file", "to_link"] {
            fs::remove_file(at(path)).unwrap();
        }
        symlink("closed", at("moved")).unwrap();
        fs::write(at("to_file"), "a.txt").unwrap();
        symlink("a.txt", at("to_link")).unwrap();
        symlink("nowhere", at("new")).unwrap();
        set_mode("closed", 0o755);
    };
    begin(&session);
    let before = state();
    change();
    let after = state();
    let message = end(&session);
    assert!(message.contains("6 paths changed") && message.contains("`closed`"), "{message}");
    let adopted = session.actum(&["adopt"]);
    assert_eq!(adopted.code, 0, "{adopted:?}");
    assert_eq!(state(), after);
    assert_eq!(session.actum(&["undo"]).code, 0);
    assert_eq!(state(), before);

    begin(&session);
    change();
    end(&session);
    let restored = session.actum(&["adopt", "--restore"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert_eq!(state(), before);
    assert_eq!(session.actum(&["undo"]).code, 0);
    assert_eq!(state(), after);
}
