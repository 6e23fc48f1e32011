//! `actum exec` records all changes of a command as one run, or keeps none of them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::json;
use crate::meanwhile::started;
use crate::program::{Ended, actum, command, workspace};
use crate::trees::{plain_run, tree};

fn exec(root: &Path, options: &[&str], script: &str) -> Ended {
    actum(root, &[&["exec"], options, &["--", "sh", "-c", script]].concat())
}

/// AA-6
#[test]
fn command_changes_are_kept_as_one_run_and_can_be_undone() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    let script =
        "echo more >> a.txt; rm -r sub; mkdir -p new/empty; echo x > new/x; chmod 755 new/x";
    let after = plain_run(&root, script);
    let ended = exec(&root, &[], script);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.is_empty(), "standard output is the command's: {ended:?}");
    assert!(ended.stderr.contains("3 files changed; undo with `actum undo"), "{}", ended.stderr);
    assert_eq!(tree(&root), after);
    let log = json(&actum(&root, &["log", "--json"]));
    assert_eq!(log["runs"].as_array().unwrap().len(), 1);
    let label = log["runs"][0]["label"].as_str().unwrap();
    assert!(label.starts_with("exec sh -c echo more"), "{label}");
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(tree(&root), before);
}

/// AA-6: a directory that is removed and recreated, as in a clean build, is compared with the original.
#[test]
fn recreated_directory_is_compared_with_the_original() {
    let (_directory, root) = workspace();
    for (path, content) in
        [("d/a", "1\n"), ("d/same", "s\n"), ("d/s/b", "2\n"), ("d/s/t/c", "3\n"), ("d/gone", "4\n")]
    {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), content).unwrap();
    }
    fs::create_dir_all(root.join("e")).unwrap();
    fs::write(root.join("e/a"), "e\n").unwrap();
    let before = tree(&root);
    for script in [
        "rm -r d; mkdir d; echo 9 > d/a; echo s > d/same",
        "rm -r d; mkdir -p d/s/t; echo 9 > d/s/b; echo 3 > d/s/t/c; echo new > d/s/t/d",
        "rm -r d; mv e d",
        "mv d d3; mv e d; mv d3 e",
        "rm -r d; echo file > d",
        "rm -r d; mkdir -p d/s; echo 2 > d/s/b; rm -r d; mkdir d; echo 1 > d/a",
    ] {
        let after = plain_run(&root, script);
        let ended = exec(&root, &[], script);
        assert_eq!(ended.code, 0, "{script}: {ended:?}");
        assert_eq!(tree(&root), after, "{script}");
        assert_eq!(actum(&root, &["undo"]).code, 0, "{script}");
        assert_eq!(tree(&root), before, "{script}");
    }
    let ended = exec(&root, &["--drop"], "rm -r d; mkdir d; echo 9 > d/a; echo s > d/same");
    assert!(ended.stderr.contains("modified    d/a"), "{ended:?}");
    assert!(!ended.stderr.contains("d/same"), "{ended:?}");
}

/// AA-6
#[test]
fn failed_command_keeps_nothing_and_passes_on_its_exit_code() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    let ended = exec(&root, &[], "echo said; echo gone > a.txt; exit 7");
    assert_eq!((ended.code, ended.stdout.as_str()), (7, "said\n"));
    assert_eq!(
        ended.stderr,
        "note: the command failed: it exited with code 7; its 1 change was dropped, and the \
         workspace is unchanged\n"
    );
    assert_eq!(exec(&root, &[], "echo gone > a.txt; kill -TERM $$").code, 143);
    assert_eq!(exec(&root, &["--limit", "wall=200ms"], "echo gone > a.txt; sleep 60").code, 124);
    assert_eq!(exec(&root, &["--limit", "output=10K"], "echo gone > a.txt; yes").code, 124);
    assert_eq!(actum(&root, &["exec", "no-such-program"]).code, 127);
    assert_eq!(actum(&root, &["exec", "./a.txt"]).code, 126);
    assert_eq!(tree(&root), before);
    let accepted = exec(&root, &["--accept", "7"], "echo kept > a.txt; exit 7");
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "kept\n");
}

/// AA-6
#[test]
fn a_command_that_changes_nothing_makes_no_run() {
    let (_directory, root) = workspace();
    let ended = exec(&root, &[], "cat a.txt; echo 1 > a.txt; touch sub/b.txt");
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "1\n"));
    assert_eq!(ended.stderr, "note: the command changed nothing\n");
    let log = json(&actum(&root, &["log", "--json"]));
    assert_eq!(log["runs"].as_array().unwrap().len(), 0);
}

/// AA-4, AA-5
#[test]
fn exit_code_distinguishes_a_gate_from_the_command() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    let cases: [(&[&str], &str, i32, &str); 6] = [
        (&["--scope", "sub/"], "echo x > a.txt", 111, "outside the scope: the path `a.txt`"),
        (&["--deny", "a.txt"], "echo x > a.txt", 111, "the path `a.txt` is denied"),
        (&["--max-files", "1"], "echo x > a.txt; echo x > sub/b.txt", 111, "2 files"),
        (&[], "mkdir .git; echo x > .git/config", 111, "`.git/config`"),
        (&[], "echo SECRET=x > .env", 111, "`.env`"),
        (&["--review"], "echo x > a.txt", 116, "R3: the request declares this tier"),
    ];
    for (options, script, code, expected) in cases {
        let ended = exec(&root, options, script);
        assert_eq!(ended.code, code, "{script}: {ended:?}");
        assert!(ended.stderr.contains(expected), "{script}: {}", ended.stderr);
        assert!(ended.stderr.contains("nothing was changed"), "{script}: {}", ended.stderr);
        assert_eq!(tree(&root), before, "{script}");
    }
}

/// AA-4: unsupported kinds of changes are listed, and then no change of the command is kept.
#[test]
fn changes_exec_cannot_keep_are_rejected_by_name() {
    let (_directory, root) = workspace();
    symlink("a.txt", root.join("link")).unwrap();
    let before = tree(&root);
    let cases = [
        ("mkfifo pipe", "`pipe` is a pipe, a socket or a device"),
        ("ln -s a.txt other; mkfifo pipe", "`pipe` is a pipe, a socket or a device"),
        ("chmod 700 .", "`.` is the root of the workspace, whose permissions changed"),
        (
            "for i in $(seq 17); do truncate -s 1G hole$i; done",
            "` is too large: a command may leave at most 17179869184 bytes in files",
        ),
    ];
    for (script, expected) in cases {
        let ended = exec(&root, &[], script);
        assert_eq!(ended.code, 111, "{script}: {ended:?}");
        assert!(ended.stderr.contains(expected), "{script}: {}", ended.stderr);
        assert_eq!(tree(&root), before, "{script}");
    }
    // Neither an unchanged link nor a write through it is a problem.
    assert_eq!(exec(&root, &[], "echo through > link").code, 0);
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "through\n");
    assert!(fs::symlink_metadata(root.join("link")).unwrap().is_symlink());
}

/// AA-3, AA-7
#[test]
fn checks_see_the_pending_change_and_their_writes_are_discarded() {
    let (_directory, root) = workspace();
    fs::write(root.join("script.sh"), "test -e new/x && ! test -e sub && grep -q done a.txt")
        .unwrap();
    let script = "echo done > a.txt; rm -r sub; mkdir -p new/empty; echo x > new/x";
    let ended =
        exec(&root, &["--verify", "sh script.sh", "--verify", "touch new/x2 a.txt"], script);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(!root.join("new/x2").exists());
    let run =
        json(&actum(&root, &["log", "--json"]))["runs"][0]["run"].as_str().unwrap().to_owned();
    let receipt = json(&actum(&root, &["receipt", &run]));
    let verified = json(&{
        let path = root.parent().unwrap().join("receipt.json");
        fs::write(&path, receipt.to_string()).unwrap();
        actum(&root, &["verify", "--json", path.to_str().unwrap()])
    });
    assert_eq!(verified["status"], "succeeded", "{verified}");
    let before = tree(&root);
    let refused = exec(&root, &["--verify", "grep -q never a.txt"], "echo other > a.txt");
    assert_eq!(refused.code, 111);
    let expected =
        "the check `grep -q never a.txt` rejected the staged change: it exited with code 1";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    let queued = exec(&root, &["--review", "--verify", "false"], "echo other > a.txt");
    assert_eq!(queued.code, 111, "nobody is asked about what its checks refuse: {queued:?}");
    let hangs =
        exec(&root, &["--limit", "wall=300ms", "--verify", "sleep 60"], "echo other > a.txt");
    assert_eq!(hangs.code, 111, "{hangs:?}");
    assert!(hangs.stderr.contains("it exceeded its limit of wall"), "{}", hangs.stderr);
    let shell = actum(&root, &["exec", "--verify", "true; rm a.txt", "--", "true"]);
    assert_eq!(shell.code, 2, "no shell reads a check: {shell:?}");
    assert_eq!(tree(&root), before);
}

/// AA-5, D-1: git diffs can express only two modes, so the approver is shown all others separately.
#[test]
fn unusual_permissions_are_shown_and_world_writable_paths_need_approval() {
    let (_directory, root) = workspace();
    let script = "umask 022; echo x > open; chmod 666 open; echo y > odd; chmod 6 odd; \
                  mkdir -m 777 shared; echo z > plain; echo e > tool; chmod 755 tool";
    let queued = exec(&root, &["--json"], script);
    assert_eq!(queued.code, 116, "{queued:?}");
    let plan = json(&queued)["error"]["plan"].as_str().unwrap().to_owned();
    let shown = actum(&root, &["queue", &plan]).stdout;
    for expected in [
        "R3: every user could write to `odd` after the change; the same applies to 2 more",
        "`odd`  +1 -0  mode 0006\n",
        "permissions of `open`: 0666\n",
        "`plain`  +1 -0\n",
        "`tool`  +1 -0\n",
        "permissions of the directory `shared`: 0777\n",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let mode = exec(&root, &["--json"], "chmod 666 a.txt");
    assert_eq!(mode.code, 116, "{mode:?}");
    let plan = json(&mode)["error"]["plan"].as_str().unwrap().to_owned();
    let shown = actum(&root, &["queue", &plan]).stdout;
    assert!(shown.contains("mode `a.txt`  +0 -0  mode 0644 -> 0666\n"), "{shown}");
}

/// Writes a passphrase file next to the workspace.
fn passphrase(root: &Path) -> String {
    let passphrase = root.parent().unwrap().join("passphrase");
    fs::write(&passphrase, "correct horse battery staple").unwrap();
    fs::set_permissions(&passphrase, fs::Permissions::from_mode(0o600)).unwrap();
    passphrase.to_str().unwrap().to_owned()
}

/// AA-5
#[test]
fn approval_publishes_the_captured_change_without_rerunning_the_command() {
    let (_directory, root) = workspace();
    let file = passphrase(&root);
    let made = actum(&root, &["key", "make", "approval", "--passphrase-file", &file]);
    assert_eq!(made.code, 0, "{made:?}");
    let ended = exec(&root, &["--review", "--verify", "grep -q . a.txt"], "date +%s%N > a.txt");
    assert_eq!(ended.code, 116, "{ended:?}");
    let plans = json(&actum(&root, &["queue", "--json"]));
    let plan = plans["plans"][0]["plan"].as_str().unwrap().to_owned();
    let queued = actum(&root, &["queue", &plan]);
    let approved = actum(&root, &["approve", &plan, "--passphrase-file", &file]);
    assert_eq!(approved.code, 0, "{approved:?}");
    let stamp = fs::read_to_string(root.join("a.txt")).unwrap();
    assert!(queued.stdout.contains(&format!("+{}", stamp.trim())), "{stamp}: {queued:?}");
}

/// AA-6
#[test]
fn a_drop_shows_the_change_and_its_tier_and_keeps_nothing() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    let ended = exec(&root, &["--drop", "--diff"], "echo new > a.txt");
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stderr.contains("-1\n+new\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("dry run: 1 file would change (R2)"), "{}", ended.stderr);
    assert_eq!(tree(&root), before);
    let refused = exec(&root, &["--drop"], "echo x > .env");
    assert_eq!(refused.code, 111, "{refused:?}");
}

/// AA-3, AA-5, AA-7: a check runs in the directory that was requested, because its result may differ in another one.
#[test]
fn check_runs_in_the_requested_directory_also_at_approval() {
    let (_directory, root) = workspace();
    fs::write(root.join("sub/only-here"), "").unwrap();
    let file = passphrase(&root);
    assert_eq!(actum(&root, &["key", "make", "approval", "--passphrase-file", &file]).code, 0);
    let asked = ["exec", "--review", "--verify", "test -e only-here", "--env", "WORD=x"];
    let asked =
        [&asked[..], &["--verify", "sh -c 'test \"$WORD\" = x'", "--", "touch", "new"]].concat();
    let ended: Ended =
        command(&root, &asked).current_dir(root.join("sub")).output().unwrap().into();
    assert_eq!(ended.code, 116, "{ended:?}");
    let plans = json(&actum(&root, &["queue", "--json"]));
    let plan = plans["plans"][0]["plan"].as_str().unwrap().to_owned();
    let approved = actum(&root, &["approve", &plan, "--passphrase-file", &file]);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(root.join("sub/new").exists());
}

/// AA-4: the change that is reported, judged and checked is the one that is applied, even if a file replaces a directory.
#[test]
fn file_and_directory_swaps_are_reported_and_checked() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join("empty")).unwrap();
    let script =
        "rm a.txt; mkdir -m 750 a.txt; rmdir empty; echo x > empty; rm -r sub; echo y > sub";
    let check =
        "sh -c 'test -d a.txt && test $(stat -c %a a.txt) = 750 && test -f empty && test -f sub'";
    let ended = exec(&root, &["--verify", check], script);
    assert_eq!(ended.code, 0, "{ended:?}");
    for expected in
        ["deleted     a.txt ", "created     a.txt/", "deleted     empty/", "created     empty "]
    {
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    }
    let shown = actum(&root, &["show", "--no-diff"]);
    assert!(
        shown.stdout.contains("created `a.txt/`") || shown.stdout.contains("a.txt/"),
        "{shown:?}"
    );
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert!(root.join("a.txt").is_file() && root.join("empty").is_dir());
}

/// AA-6: if another process removed or created a path, the change is a conflict and that path is left unchanged.
#[test]
fn paths_moved_or_removed_by_another_process_are_a_conflict() {
    type Act = fn(&Path);
    let cases: [(&str, Act); 9] = [
        ("touch a.txt; WAIT", |root| fs::remove_file(root.join("a.txt")).unwrap()),
        ("echo x >> sub/b.txt; WAIT", |root| fs::remove_dir_all(root.join("sub")).unwrap()),
        ("echo x >> sub/b.txt; WAIT", |root| {
            fs::rename(root.join("sub"), root.join("sub.old")).unwrap();
            fs::rename(root.join("other"), root.join("sub")).unwrap();
        }),
        ("echo x >> sub/b.txt; WAIT", |root| {
            fs::rename(root.join("sub"), root.join("sub.old")).unwrap();
            fs::rename(root.join("other"), root.join("sub")).unwrap();
            fs::write(root.join("sub/new"), "").unwrap();
        }),
        ("rm -r sub; WAIT", |root| fs::rename(root.join("other"), root.join("sub/other")).unwrap()),
        ("rm -r sub; mkdir sub; WAIT", |root| {
            fs::rename(root.join("sub"), root.join("sub.old")).unwrap();
            fs::rename(root.join("other"), root.join("sub")).unwrap();
        }),
        ("echo file > new; WAIT", |root| {
            fs::rename(root.join("other"), root.join("new")).unwrap();
        }),
        ("mkdir new; echo x > new/b.txt; WAIT", |root| {
            fs::rename(root.join("other"), root.join("new")).unwrap();
        }),
        ("rm -r sub; mkdir sub; WAIT", |root| fs::write(root.join("sub/precious"), "p").unwrap()),
    ];
    for (number, (script, act)) in cases.into_iter().enumerate() {
        let (_directory, root) = workspace();
        fs::create_dir(root.join("other")).unwrap();
        fs::write(root.join("other/b.txt"), "precious\n").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let script = script.replace("WAIT", "echo ready; sleep 1.5");
        let child = started(&root, &[], &script);
        act(&root);
        let left = tree(&root);
        let ended: Ended = child.wait_with_output().unwrap().into();
        assert_eq!(ended.code, 111, "case {number}: {ended:?}");
        let expected = "was changed by another process while the command ran";
        assert!(ended.stderr.contains(expected), "case {number}: {}", ended.stderr);
        assert_eq!(tree(&root), left, "case {number}");
    }
}

/// AA-6: the changes of a command are applied only to the directory in which it ran.
#[test]
fn directory_that_replaces_the_workspace_meanwhile_is_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap().join("one");
    let other = root.with_file_name("two");
    for root in [&root, &other] {
        fs::create_dir(root).unwrap();
        fs::write(root.join("a.txt"), format!("{}\n", root.display())).unwrap();
    }
    let script = "echo mine >> a.txt; echo ready; sleep 1.5";
    let child = started(&root, &[], script);
    fs::rename(&root, root.with_file_name("old")).unwrap();
    fs::rename(&other, &root).unwrap();
    let ended: Ended = child.wait_with_output().unwrap().into();
    assert_eq!(ended.code, 111, "{ended:?}");
    let why = "was replaced by another directory while the command ran";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), format!("{}\n", other.display()));
}

/// AA-6: no content is lost, regardless of which process wrote first.
#[test]
fn file_changed_by_another_process_is_a_conflict() {
    let (_directory, root) = workspace();
    actum(&root, &["init"]);
    let script = "echo ready; sleep 2; echo mine >> a.txt; echo mine >> sub/b.txt";
    let child = started(&root, &[], script);
    fs::write(root.join("a.txt"), "somebody else's\n").unwrap();
    let ended: Ended = child.wait_with_output().unwrap().into();
    assert_eq!(ended.code, 111, "{ended:?}");
    let expected = "`a.txt` was changed by another process while the command ran";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "somebody else's\n");
    assert_eq!(fs::read_to_string(root.join("sub/b.txt")).unwrap(), "2\n");
}

/// AA-6: overwriting content that the command never saw is a conflict, even if both processes wrote the same bytes.
#[test]
fn file_changed_concurrently_to_the_same_content_is_a_conflict() {
    let (_directory, root) = workspace();
    let script = "n=$(cat a.txt); echo ready; sleep 2; echo $((n + 1)) > a.txt";
    let child = started(&root, &[], script);
    fs::write(root.join("a.txt"), "2\n").unwrap();
    let ended: Ended = child.wait_with_output().unwrap().into();
    assert_eq!(ended.code, 111, "{ended:?}");
    assert!(ended.stderr.contains("`a.txt`"), "{ended:?}");
    assert!(ended.stderr.contains("another process"), "{ended:?}");
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "2\n");
}

/// AA-6: with `--json`, the output is a single document that includes the output of the command.
#[test]
fn exec_json_is_a_single_document() {
    let (_directory, root) = workspace();
    let kept = json(&exec(&root, &["--json"], "echo out; echo err >&2; echo x > a.txt"));
    assert_eq!(kept["format"], "actum.exec/1");
    assert_eq!((&kept["status"], &kept["outcome"]), (&"succeeded".into(), &"changed".into()));
    assert_eq!((&kept["stdout"], &kept["stderr"]), (&"out\n".into(), &"err\n".into()));
    assert_eq!(kept["change"]["changes"][0]["path"], "a.txt");
    assert_eq!(kept["change"]["tier"], "R2");
    let failed = json(&exec(&root, &["--json"], "echo y > a.txt; exit 3"));
    assert_eq!((&failed["status"], &failed["outcome"]), (&"rejected".into(), &"dropped".into()));
    assert_eq!(failed["dropped_changes"], 1);
    let refused = json(&exec(&root, &["--json"], "echo y > .env"));
    assert_eq!((&refused["status"], &refused["outcome"]), (&"rejected".into(), &"refused".into()));
    assert_eq!(refused["error"]["reason"], "CHANGE_DENIED", "{refused}");
    let queued = json(&exec(&root, &["--json", "--review"], "echo z > a.txt"));
    assert_eq!((&queued["status"], &queued["outcome"]), (&"queued".into(), &"queued".into()));
    let nothing = json(&exec(&root, &["--json"], "true"));
    assert_eq!((&nothing["status"], &nothing["outcome"]), (&"succeeded".into(), &"nothing".into()));
}

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

/// AA-6
#[test]
fn declared_cache_is_changed_permanently_and_not_part_of_the_run() {
    let (_directory, root) = workspace();
    let policy = "version = 1\n[sandbox]\ncaches = [\"target\", \"none/below\"]\n";
    let script = "echo built > target/out; ln -s out target/link; echo x > a.txt";
    let ended = under_policy(&root, policy, &["exec", "--", "sh", "-c", script]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(fs::read_to_string(root.join("target/out")).unwrap(), "built\n");
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert!(root.join("target/link").exists(), "it is no part of the run");
}

/// AA-6, AEC-8: choosing a subdirectory as the root does not turn a declared cache into ordinary files of the workspace.
#[test]
fn nested_workspace_has_no_caches() {
    let (_directory, root) = workspace();
    let policy = "version = 1\n[sandbox]\ncaches = [\"target\"]\n";
    let inner = root.join("deploy");
    fs::create_dir_all(inner.join("target")).unwrap();
    fs::write(inner.join("target/prod.sh"), "good\n").unwrap();
    let script = ["exec", "--", "sh", "-c", "echo evil > deploy/target/prod.sh; exit 3"];
    assert_eq!(under_policy(&root, policy, &script).code, 3);
    assert_eq!(actum(&inner, &["init"]).code, 0);
    let run = |arguments: &[&str]| {
        let mut started = command(&inner, arguments);
        started.env("XDG_CONFIG_HOME", root.parent().unwrap().join("config"));
        let ended: Ended = started.output().unwrap().into();
        ended
    };
    assert_eq!(run(&["exec", "--", "sh", "-c", "echo evil > target/prod.sh; exit 3"]).code, 3);
    assert_eq!(run(&["sandbox", "run", "--capture", "--cache", "target", "--", "true"]).code, 125);
    assert_eq!(fs::read_to_string(inner.join("target/prod.sh")).unwrap(), "good\n");
}

/// AA-6: build output that a dropped change left in a cache is not found by the next build.
#[test]
fn cache_keeps_nothing_from_checks_or_dropped_changes() {
    let (_directory, root) = workspace();
    let policy = "version = 1\n[sandbox]\ncaches = [\"target\"]\n";
    fs::create_dir(root.join("target")).unwrap();
    let build = "cp a.txt target/built; echo x > a.txt";
    let ended = under_policy(&root, policy, &["exec", "--drop", "--", "sh", "-c", build]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(!ended.stderr.contains("target"), "{}", ended.stderr);
    assert!(!root.join("target/built").exists());
    let verify = ["exec", "--verify", "cp a.txt target/built", "--verify", "false"];
    let ended = under_policy(&root, policy, &[&verify[..], &["--", "touch", "new"]].concat());
    assert_eq!(ended.code, 111, "{ended:?}");
    assert!(!root.join("target/built").exists());
    let failed =
        under_policy(&root, policy, &["exec", "--", "sh", "-c", "cp a.txt target/; exit 1"]);
    assert!(failed.stderr.contains("nothing was changed outside of `target`"), "{failed:?}");
}

/// AA-6
#[test]
fn git_status_diff_and_log_write_nothing_and_git_writes_are_rejected() {
    let (_directory, root) = workspace();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.invalid"]).args(arguments);
        assert!(git.current_dir(&root).output().unwrap().status.success(), "{arguments:?}");
    };
    let changed_at = |seconds: u64| {
        let file = fs::File::options().write(true).open(root.join("a.txt")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    };
    let look = |arguments: &[&str]| {
        let ended = actum(&root, &[&["exec", "--", "git"], arguments].concat());
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
    };
    changed_at(1_000_000_000);
    git(&["init", "-q"]);
    git(&["add", "a.txt"]);
    git(&["commit", "-qm", "first"]);
    // `git describe` refreshes a stale index whatever its options are, so it runs while the index is fresh.
    look(&["describe", "--always", "--dirty"]);
    changed_at(1_000_000_060);
    for arguments in [&["status"][..], &["diff"], &["log", "--oneline"]] {
        look(arguments);
    }
    let describe = actum(&root, &["exec", "--", "git", "describe", "--always", "--dirty"]);
    assert_eq!(describe.code, 111, "{describe:?}");
    assert!(describe.stderr.contains("`.git/index"), "{describe:?}");
    let ended =
        exec(&root, &[], "echo x > a.txt; git -c user.name=a -c user.email=a commit -qam x");
    assert_eq!(ended.code, 111, "{ended:?}");
    assert!(ended.stderr.contains("`.git/"), "{}", ended.stderr);
    assert!(ended.stderr.contains("without actum"), "{}", ended.stderr);
}

/// D-4
#[test]
fn mistyped_option_is_not_run_as_a_program() {
    let (_directory, root) = workspace();
    let ended = actum(&root, &["exec", "--vreify", "true", "--", "ls"]);
    assert_eq!(ended.code, 112, "{ended:?}");
    assert!(ended.stderr.contains("`--vreify` is not an option of `exec`"), "{}", ended.stderr);
}

/// AA-7
#[test]
fn operator_rule_denies_a_command_before_it_starts() {
    let (_directory, root) = workspace();
    let policy = "version = 1\n[[command]]\nargv = [\"touch\"]\ndecision = \"deny\"\n\
                  reason = \"use an editor\"\n[[command]]\nargv = [\"cp\"]\ndecision = \"ask\"\n";
    let denied = under_policy(&root, policy, &["exec", "--", "touch", "new"]);
    assert_eq!(denied.code, 111, "{denied:?}");
    assert!(denied.stderr.contains("use an editor"), "{}", denied.stderr);
    let asked = under_policy(&root, policy, &["exec", "--", "cp", "a.txt", "new"]);
    assert_eq!(asked.code, 116, "{asked:?}");
    let other = under_policy(&root, policy, &["exec", "--", "tee", "new"]);
    assert_eq!(other.code, 0, "{other:?}");
}

/// AA-10: the policy of a workspace cannot extend what commands can see.
#[test]
fn workspace_policy_cannot_loosen_the_sandbox() {
    let (_directory, root) = workspace();
    fs::write(root.join("actum.toml"), "version = 1\n[sandbox]\nread = [\"/root\"]\n").unwrap();
    let ended = exec(&root, &[], "echo x > a.txt");
    assert_eq!(ended.code, 111, "{ended:?}");
    assert!(ended.stderr.contains("only the operator's policy can"), "{}", ended.stderr);
}
