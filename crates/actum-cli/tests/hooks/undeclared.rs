//! Detection of undeclared changes, and a guarantee that no work is reverted unless it is named.

use std::fs;

use serde_json::json;

use crate::program::{command, text};
use crate::turns::{begin, end, git, turn_event};
use crate::{Session, allowed, ended, names, refused};

/// Issue 27: the user's own work between or after turns is adopted or restored only by name.
#[test]
fn restoring_a_turn_keeps_the_users_own_work() {
    let session = Session::new("claude");
    let path = |name: &str| session.root.join(name);
    fs::write(path("b"), "1\n").unwrap();
    begin(&session);
    allowed(&session.write("c1", "a.txt", "by a run\n"));
    allowed(&session.write("c2", "gone", "by a run\n"));
    end(&session);
    fs::write(path("a.txt"), "by a person\n").unwrap();
    fs::remove_file(path("gone")).unwrap();
    begin(&session);
    fs::write(path("b"), "by a command\n").unwrap();
    assert!(end(&session).contains("`b`."));
    fs::write(path("later"), "by a person\n").unwrap();
    let restored = session.actum(&["adopt", "--restore"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert!(
        restored.stderr.contains("after the turn ended (to include it, pass its path): `later`"),
        "{restored:?}"
    );
    assert_eq!(text(&session.root, "b"), "1\n");
    assert_eq!(text(&session.root, "a.txt"), "by a person\n");
    assert!(path("later").exists() && !path("gone").exists());
    // Paths that the user names are recorded as a run.
    assert_eq!(session.actum(&["adopt", "a.txt", "later"]).code, 0);
    assert_eq!(session.actum(&["undo"]).code, 0);
    assert_eq!(text(&session.root, "a.txt"), "by a run\n");
    assert!(!path("later").exists());
}

/// Issue 27: files that an agent creates in an empty workspace are reported too.
#[test]
fn files_created_in_an_empty_workspace_are_reported() {
    let session = Session::new("claude");
    for entry in fs::read_dir(&session.root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::remove_file(path).unwrap();
        }
    }
    begin(&session);
    fs::write(session.root.join("made"), "1\n").unwrap();
    assert!(end(&session).contains("`made` (new)"));
    assert_eq!(session.actum(&["adopt", "--restore"]).code, 0);
    assert!(!session.root.join("made").exists());
}

/// Issue 27: a cache tag or a new ignore rule does not hide changes that were made before it.
#[test]
fn cache_directory_tag_does_not_hide_an_earlier_change() {
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n";
    let session = Session::new("claude");
    let path = |name: &str| session.root.join(name);
    fs::create_dir(path("src")).unwrap();
    fs::write(path("src/k"), "1\n").unwrap();
    fs::write(path("file"), "1\n").unwrap();
    begin(&session);
    fs::write(path("src/k"), "changed\n").unwrap();
    fs::write(path("src/CACHEDIR.TAG"), tag).unwrap();
    fs::remove_file(path("file")).unwrap();
    fs::create_dir(path("file")).unwrap();
    fs::write(path("file/CACHEDIR.TAG"), tag).unwrap();
    let message = end(&session);
    assert!(
        message.contains("3 files") && message.contains("`src/k`") && message.contains("`file`"),
        "{message}"
    );
    begin(&session);
    assert_eq!(end(&session), "");
    let adopted = session.actum(&["adopt", "--restore", "src"]);
    assert_eq!(adopted.code, 0, "{adopted:?}");
    assert_eq!(text(&session.root, "src/k"), "1\n");
    // The file name alone does not make a valid cache tag.
    fs::create_dir(path("plain")).unwrap();
    fs::write(path("plain/CACHEDIR.TAG"), "no signature\n").unwrap();
    begin(&session);
    fs::write(path("plain/x"), "1\n").unwrap();
    assert!(end(&session).contains("`plain/x` (new)"));
}

/// Issue 27: a change that cannot be reverted is listed, and the remaining changes can still be adopted.
#[test]
fn change_that_cannot_be_a_run_does_not_block_adopting_the_others() {
    let session = Session::new("claude");
    let path = |name: &str| session.root.join(name);
    fs::create_dir(path("d")).unwrap();
    fs::write(path("d/x"), "1\n").unwrap();
    fs::write(path("k"), "1\n").unwrap();
    begin(&session);
    fs::remove_dir_all(path("d")).unwrap();
    fs::write(path("d"), "a file\n").unwrap();
    fs::write(path("k"), "2\n").unwrap();
    end(&session);
    let restored = session.actum(&["adopt", "--restore"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert!(restored.stderr.contains("`d`, `d/x`"), "{restored:?}");
    assert_eq!(
        (text(&session.root, "k"), text(&session.root, "d")),
        ("1\n".to_owned(), "a file\n".to_owned())
    );
}

/// Issue 27: a git blob is not used as earlier content if git would convert the file on checkout.
#[test]
fn file_converted_by_git_is_copied_instead_of_read_from_its_blob() {
    let session = Session::new("claude");
    let path = |name: &str| session.root.join(name);
    git(&session.root, &["init", "-q"]);
    git(&session.root, &["config", "filter.r.clean", "tr a-z n-za-m"]);
    git(&session.root, &["config", "filter.r.smudge", "tr a-z n-za-m"]);
    git(&session.root, &["config", "core.autocrlf", "true"]);
    fs::write(path(".gitattributes"), "*.rot filter=r\n").unwrap();
    fs::write(path("a.rot"), "hello\n").unwrap();
    fs::write(path("crlf"), "1\r\n").unwrap();
    git(&session.root, &["add", "-A"]);
    git(&session.root, &["commit", "-qm", "x"]);
    std::thread::sleep(std::time::Duration::from_millis(30));
    fs::write(path("other"), "1\n").unwrap();
    git(&session.root, &["add", "other"]);
    begin(&session);
    fs::write(path("a.rot"), "olleh\n").unwrap();
    fs::write(path("crlf"), "2\r\n").unwrap();
    assert!(!end(&session).contains("no copy"));
    assert_eq!(session.actum(&["adopt", "--restore"]).code, 0);
    assert_eq!(
        (text(&session.root, "a.rot"), text(&session.root, "crlf")),
        ("hello\n".to_owned(), "1\r\n".to_owned())
    );
}

/// Issue 27: the gates judge a restore like any other change, so CI files need approval.
#[test]
fn restore_is_judged_by_the_gates() {
    let session = Session::new("claude");
    let workflow = session.root.join(".github/workflows/x.yml");
    fs::create_dir_all(workflow.parent().unwrap()).unwrap();
    fs::write(&workflow, "before\n").unwrap();
    begin(&session);
    fs::write(&workflow, "changed\n").unwrap();
    end(&session);
    let restored = session.actum(&["adopt", "--restore", ".github"]);
    assert_eq!(restored.code, 6, "{restored:?}");
    assert_eq!(fs::read_to_string(&workflow).unwrap(), "changed\n");
}

/// Issue 27: shell writes to devices or into the workspace are not mistaken for changes to protected files.
#[test]
fn harmless_shell_commands_are_allowed() {
    let session = Session::new("claude");
    let run = |command: &str| session.before("c1", "Bash", &json!({ "command": command }));
    for command in [
        "ls 2>/dev/null",
        "cat a.txt > /dev/null 2>&1",
        "dd if=a.txt of=/dev/null",
        "cp ../x .",
        "cp -r /tmp/tpl/. .",
        "chmod -R u+w .",
        "sed -i s/.env/x/ a.txt",
        "perl -pi -e s/.git/x/ a.txt",
        "cp -t /tmp .env",
        "touch -r .env a.txt",
        "(cd .git && ls); touch config",
        "bash -c 'cd .git; ls'; touch config",
        "[[ a > .env ]]",
        "cat <<EOF\n\tEOF\nrm .env\nEOF",
    ] {
        let ended = run(command);
        assert_eq!((ended.code, &*ended.stderr), (0, ""), "{command}");
    }
}

/// Issue 27: predictable changes are detected even after unpredictable parts of a command.
#[test]
fn certain_changes_are_rejected_even_after_uncertain_words() {
    let session = Session::new("claude");
    fs::create_dir(session.root.join(".claude")).unwrap();
    fs::write(session.root.join(".claude/settings.json"), "{}").unwrap();
    let run = |command: &str| session.before("c1", "Bash", &json!({ "command": command }));
    let root = session.root.display();
    for command in [
        "echo \"$(date)\"; rm .env",
        "echo \"$(git log -1 --format=\"%h\")\" > .env",
        "x=`date`; rm .env",
        "echo \"$(rm .env)\"",
        &format!("cd \"$X\"; rm {root}/.env"),
        "cd -- .; rm .env",
        "pushd .; popd; true; cd; rm .env; rm ~/.ssh/authorized_keys",
        "sudo -n rm .env",
        "sudo -u root rm .env",
        "env -i -u X rm .env",
        "timeout -s KILL 5 rm .env",
        "nice -n 5 rm .env",
        "A=$x rm .env",
        "unlink .env",
        "if false; then true; elif rm .env; then true; fi",
        "echo x 1<> .env",
        "bash -c -- 'rm .env'",
        "rm -rf .claude",
        "mv .claude x",
    ] {
        let ended = run(command);
        assert_eq!(ended.code, 2, "{command}: {ended:?}");
    }
}

/// Issue 27: the hook judges the project's workspace, whatever the current directory of the client's shell is.
#[test]
fn hook_judges_the_project_from_any_directory() {
    let session = Session::new("claude");
    let outside = tempfile::tempdir().unwrap();
    begin(&session);
    fs::write(session.root.join("a.txt"), "by a command\n").unwrap();
    let hook = |event: &serde_json::Value| {
        let mut command = crate::program::command(&session.root, &["hook", "claude"]);
        command.env("CLAUDE_PROJECT_DIR", &session.root);
        crate::ended(command, event.to_string().as_bytes())
    };
    let rm = format!("rm {}", session.root.join(".env").display());
    refused(
        &hook(&json!({
            "hook_event_name": "PreToolUse", "session_id": "s1", "cwd": outside.path(), "tool_name": "Bash",
            "tool_use_id": "c", "tool_input": { "command": rm },
        })),
        "is protected",
    );
    let stop =
        hook(&json!({ "hook_event_name": "Stop", "session_id": "s1", "cwd": outside.path() }));
    assert!(stop.stdout.contains("`a.txt`"), "{stop:?}");
}

/// Issue 27: a turn event that cannot be parsed is reported but blocks nothing.
#[test]
fn turn_event_with_missing_fields_is_reported_but_not_blocked() {
    let session = Session::new("claude");
    for event in ["UserPromptSubmit", "Stop"] {
        let ended = session.hook(&json!({ "hook_event_name": event, "cwd": "relative" }));
        assert_eq!(ended.code, 0, "{ended:?}");
        assert!(ended.stdout.contains("systemMessage"), "{ended:?}");
    }
    assert_eq!(turn_event(&session, "Stop").code, 0);
}

/// Issue 27: a strict hook allows only simple commands that run actum itself.
#[test]
fn strict_hook_rejects_commands_other_than_actum() {
    for (client, tool) in [
        ("claude", "Bash"),
        ("codex", "Bash"),
        ("gemini", "run_shell_command"),
        ("opencode", "bash"),
    ] {
        let session = Session::new(client);
        let strict = |text: &str| {
            let event =
                session.event(names(client).before, "c1", tool, &json!({ "command": text }));
            session.hook_with(&["--strict"], &event)
        };
        for text in [
            "ls",
            "touch x",
            "actum exec -- true; touch x",
            "actum exec -- true && touch x",
            "actum exec -- echo $(touch x)",
            "actum exec -- true > x",
            "PATH=. actum exec -- true",
            "./actum exec -- true",
            "env actum exec -- true",
            "sh -c 'actum exec -- true'",
            "actum",
            "actum gc --older-than 0s",
            "actum --root x exec -- true",
            "",
        ] {
            refused(&strict(text), "the hook is strict here");
        }
        let program = env!("CARGO_BIN_EXE_actum");
        for text in ["exec -- sh -c 'touch x && ls *'", "log -n 3", "undo\n", "--version"] {
            allowed(&strict(&format!("{program} {text}")));
        }
        for text in [
            "exec -C .. -- true",
            "exec -qC .. -- true",
            "exec -qC.. -- true",
            "exec --tenant=t -- true",
            "queue --seen all",
            "--json log",
        ] {
            assert_eq!(strict(&format!("{program} {text}")).code, 2, "{text}");
        }
        let other = session.root.join("node_modules/.bin");
        fs::create_dir_all(&other).unwrap();
        std::os::unix::fs::symlink("/bin/true", other.join("actum")).unwrap();
        let own = std::path::Path::new(program).parent().unwrap();
        for (path, code) in [
            (format!("{}:{}", other.display(), own.display()), 2),
            (format!(".:{}", own.display()), 2),
            (format!("/nowhere:{}:{}", own.display(), other.display()), 0),
            (String::new(), 2),
        ] {
            let input = json!({ "command": "actum log" });
            let event = session.event(names(client).before, "c1", tool, &input);
            let mut hook = command(&session.root, &["hook", client, "--strict"]);
            hook.env("PATH", &path);
            assert_eq!(ended(hook, event.to_string().as_bytes()).code, code, "{path}");
        }
    }
}

/// Issue 27: commands reserved for the operator are rejected in every client's shell, strict or not.
#[test]
fn operator_commands_are_rejected_in_the_shell_of_a_client() {
    let session = Session::new("claude");
    let run = |text: &str| session.before("c1", "Bash", &json!({ "command": text }));
    for text in [
        "actum approve abcd",
        "echo x | actum hook claude",
        "/usr/bin/actum protect claude --off --yes",
        "sh -c 'actum --color=never protect claude --off'",
        "env -i actum hook codex < event",
        "actum -C . protect claude --off",
        "actum -qC . protect claude --off",
        "actum -qC. protect claude --off",
        "actum -q protect claude --off",
        "actum --tenant t approve abcd",
        "actum queue --seen all",
    ] {
        refused(&run(text), "which only the user may run");
    }
    for text in [
        "actum protect claude --check",
        "actum protect claude --print=agents",
        "actum --help approve",
        "actum hook --help",
        "actum log",
        "echo actum hook",
    ] {
        allowed(&run(text));
    }
}

/// Issue 27: a command inside `actum exec` is judged by the same command rules as without `exec`.
#[test]
fn shell_command_inside_exec_is_judged_by_the_command_rules() {
    let session = Session::new("claude");
    let rule =
        "version = 1\n\n[[command]]\nreason = \"no rm\"\nargv = [\"rm\"]\ndecision = \"deny\"\n";
    fs::write(session.root.join("actum.toml"), rule).unwrap();
    let run = |text: &str| session.before("c1", "Bash", &json!({ "command": text }));
    refused(&run("rm a"), "no rm");
    refused(&run("actum exec --drop -- sh -c 'true; rm a'"), "no rm");
    refused(&run("actum -q exec -- sh -c 'true; rm a'"), "no rm");
    allowed(&run("actum exec -- sh -c 'echo rm a'"));
}

/// Issue 27: runs that an agent starts from its client's shell belong to the current turn.
#[test]
fn runs_of_a_client_in_its_shell_belong_to_the_turn() {
    let session = Session::new("claude");
    let change = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    begin(&session);
    allowed(&session.write("c1", "one", "1\n"));
    for (path, agent) in [("two", "claude"), ("three", "person")] {
        let mut apply = command(&session.root, &["apply", "-", "--agent", agent]);
        apply.stdin(std::process::Stdio::piped());
        assert_eq!(ended(apply, change(path).as_bytes()).code, 0);
    }
    assert!(end(&session).starts_with("actum: 2 runs in this turn"));
    assert_eq!(session.actum(&["undo", "--turn"]).code, 0);
    let is_there = |path: &str| session.root.join(path).exists();
    assert_eq!((is_there("one"), is_there("two"), is_there("three")), (false, false, true));
}
