//! Messages about caches when `exec` keeps no other change.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::{Ended, command, workspace};

/// Runs the program under the given operator policy.
fn under_policy(root: &Path, policy: &str, arguments: &[&str]) -> Ended {
    let configuration = root.parent().unwrap().join("config");
    let directory = configuration.join("actum");
    fs::create_dir_all(&directory).unwrap();
    for path in [&configuration, &directory] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::write(directory.join("actum.toml"), policy).unwrap();
    fs::set_permissions(directory.join("actum.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut started = command(root, arguments);
    started.env("XDG_CONFIG_HOME", &configuration);
    started.output().unwrap().into()
}

/// AA-6, D-4
#[test]
fn message_about_a_dropped_change_names_the_changed_cache() {
    let (_directory, root) = workspace();
    let policy = "version = 1\n[sandbox]\ncaches = [\"target\"]\n";
    let ended = |options: &[&str], script: &str| {
        let command = ["--", "sh", "-c", script];
        under_policy(&root, policy, &[&["exec"], options, &command[..]].concat())
    };
    let kept = "; the command's changes to the cache `target` were kept\n";
    for (options, script, code) in [
        (&[][..], "echo y > target/y; echo k > .env", 111),
        (&[], "echo z > target/z; mkfifo pipe", 111),
        (&["--verify", "false"], "echo c > target/c; echo q > q", 111),
        (&["--scope", "src/"], "echo s > target/s; echo q > q", 111),
        (&["--review"], "echo w > target/w; echo q > q", 116),
    ] {
        let output = ended(options, script);
        assert_eq!(output.code, code, "{output:?}");
        let message = output.stderr.lines().next().unwrap_or_default();
        assert!(format!("{message}\n").ends_with(kept), "{output:?}");
        let output = ended(&[&["--json"], options].concat(), script);
        let document: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        let message = format!("{}\n", document["error"]["message"].as_str().unwrap());
        assert!(message.ends_with(kept) && message.contains("nothing was changed"), "{message}");
        assert_eq!(document["error"]["workspace"], "unchanged");
    }
    let output = ended(&[], "rm target/y");
    assert!(output.stderr.contains("changed nothing outside of `target`\n"), "{output:?}");
    assert!(!root.join("target/y").exists() && root.join("target/c").exists());
}
