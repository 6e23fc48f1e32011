//! File names and calls that clients or attackers write in unexpected ways.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use crate::program::{text, workspace};
use crate::{Session, allowed, refused};

/// Issue 27: a repeated call is judged and recorded again, even if the client has no call ids.
#[test]
fn repeated_call_is_judged_again() {
    let session = Session::new("gemini");
    let write = |content: &str| json!({ "file_path": "a.txt", "content": content });
    for content in ["A\n", "B\n", "A\n"] {
        allowed(&session.before("", "write_file", &write(content)));
        fs::write(session.root.join("a.txt"), content).unwrap();
        allowed(&session.after("", "write_file", &write(content)));
    }
    assert_eq!(session.runs().len(), 3);
    allowed(&session.before("", "write_file", &write("B\n")));
    let key = format!("key = \"{}{}\"\n", "AKIA", "Z7QWERTYUIOPASDF");
    fs::write(session.root.join("a.txt"), key).unwrap();
    refused(&session.after("", "write_file", &write("B\n")), "undid it");
    assert_eq!(text(&session.root, "a.txt"), "A\n");
}

/// Issue 27: calls from different sessions and clients have separate snapshots, even if their ids are equal.
#[test]
fn calls_of_different_sessions_have_separate_snapshots() {
    let session = Session::new("claude");
    let event = |name: &str, client_session: &str, call: &str, path: &str| {
        let input = json!({ "file_path": session.root.join(path), "content": "x\n" });
        let mut event = session.event(name, call, "Write", &input);
        event["session_id"] = json!(client_session);
        session.hook(&event)
    };
    let calls = [
        ("a/b", "c", "one.txt"),
        ("a", "b/c", "two.txt"),
        ("a", "c", "three.txt"),
        ("b", "c", "four.txt"),
    ];
    calls.iter().for_each(|(client_session, call, path)| {
        allowed(&event("PreToolUse", client_session, call, path))
    });
    calls.iter().for_each(|(_, _, path)| fs::write(session.root.join(path), "x\n").unwrap());
    calls.iter().for_each(|(client_session, call, path)| {
        allowed(&event("PostToolUse", client_session, call, path))
    });
    assert_eq!(session.runs().len(), calls.len());
    let taken = session.actum(&["apply", "--request-key", "hook:a/z#0", "../change.diff"]);
    assert_ne!(taken.code, 0, "keys of hooks are reserved: {taken:?}");
}

/// Issue 27: protected files are rejected from any client directory, through dangling links, and in patches across several
/// workspaces.
#[test]
fn protected_file_is_rejected_however_its_path_is_spelled() {
    let session = Session::new("claude");
    let root = session.root.clone();
    symlink(".env", root.join("notes.txt")).unwrap();
    symlink(".git/hooks/post-checkout", root.join("n1.txt")).unwrap();
    symlink(".actum/pw", root.join("n2.txt")).unwrap();
    fs::create_dir(root.join("open")).unwrap();
    fs::set_permissions(root.join("open"), fs::Permissions::from_mode(0o777)).unwrap();
    let write = |directory: &Path, path: &Path| {
        let input = json!({ "file_path": path, "content": "x\n" });
        let mut event = session.event("PreToolUse", "c1", "Write", &input);
        event["cwd"] = json!(directory);
        session.hook(&event)
    };
    for name in ["notes.txt", "n1.txt", "n2.txt"] {
        assert_eq!(write(&root, &root.join(name)).code, 2, "{name}");
    }
    for directory in ["/", "/tmp", "/nonexistent"] {
        refused(&write(Path::new(directory), &root.join("deploy/.env")), "is protected");
    }
    refused(&write(&root.join("open"), Path::new(".env")), "is protected");
    assert_eq!(write(Path::new("relative"), Path::new("f")).code, 2);

    let (_other, other) = workspace();
    let other = other.canonicalize().unwrap();
    let codex = Session { client: "codex", ..Session::new("codex") };
    let patch = |body: String| {
        codex.before(
            "c1",
            "apply_patch",
            &json!({ "command": format!("*** Begin Patch\n{body}*** End Patch\n") }),
        )
    };
    refused(
        &patch(format!(
            "*** Add File: {}\n+x\n*** Add File: .env\n+S=1\n",
            other.join("n").display()
        )),
        "several workspaces",
    );
    for header in [" *** Add File: .env", "*** Add File:.env", "\u{a0}*** Add File:\t.env"] {
        assert_eq!(patch(format!("{header}\n+S=1\n")).code, 2, "{header}");
    }
    refused(&patch("*** Rename File: a.txt\n".to_owned()), "is not a known header");
}
