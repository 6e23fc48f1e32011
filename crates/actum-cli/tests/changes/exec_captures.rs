//! `actum exec` with changes so large that they are captured on disk (issue 28).

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use crate::json;
use crate::meanwhile::{started, wait_check, while_it_is_checked};
use crate::program::{Ended, actum, approval_key, command, workspace};
use crate::trees::{plain_run, tree};

fn exec(root: &Path, options: &[&str], script: &str) -> Ended {
    actum(root, &[&["exec"], options, &["--", "sh", "-c", script]].concat())
}

/// Returns the names of all captures in a workspace.
fn captures(root: &Path) -> Vec<String> {
    let names = fs::read_dir(root.join(".actum/captures")).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the id of the newest plan in the queue.
fn plan(root: &Path) -> String {
    let queue = json(&actum(root, &["queue", "--json"]));
    queue["plans"].as_array().unwrap().last().unwrap()["plan"].as_str().unwrap().to_owned()
}

fn approve(root: &Path, plan: &str, key: &str) -> Ended {
    actum(root, &["approve", plan, "--passphrase-file", key])
}

/// AA-6, issue 28: new and changed files of any size are published with their modification times, and then the capture is removed.
#[test]
fn on_disk_capture_is_published_and_undone() {
    let (_directory, root) = workspace();
    actum(&root, &["init"]);
    let script = "head -c 3000000 /dev/zero > large; echo more >> a.txt; mkdir -p new/deep; echo x > new/deep/x; \
                  touch -d 2001-01-01 new/deep/x; chmod 755 new/deep/x; rm -r sub; ln -s a.txt link; \
                  ln new/deep/x new/other; head -c 2000000 /dev/urandom > random; ln random again";
    let before = tree(&root);
    for script in [
        script,
        "echo x >> large; cp large larger; rm new/deep/x; mv a.txt b.txt",
        "rm -r new large*",
    ] {
        let ended = exec(&root, &[], script);
        assert_eq!(ended.code, 0, "{script}: {ended:?}");
        assert_eq!(captures(&root), [] as [String; 0], "{script}");
        if let Ok(found) = fs::metadata(root.join("new/deep/x")) {
            let year_2002 = UNIX_EPOCH + Duration::from_secs(1_009_843_200);
            assert!(found.modified().unwrap() < year_2002);
            assert_eq!(found.nlink(), 1);
        }
    }
    for _ in 0..3 {
        assert_eq!(actum(&root, &["undo"]).code, 0);
    }
    assert_eq!(tree(&root), before);
    let expected =
        plain_run(&root, "echo 1 > n; chmod 600 n; mkdir d; echo 2 > d/m; echo 3 > a.txt");
    let ended = exec(&root, &[], "echo 1 > n; chmod 600 n; mkdir d; echo 2 > d/m; echo 3 > a.txt");
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(tree(&root), expected);
}

/// Issue 28: publishing a change of many files does not exceed the limit on open files.
#[test]
fn a_change_of_many_files_is_made_with_few_open_files() {
    let (_directory, root) = workspace();
    actum(&root, &["init"]);
    let script = "mkdir many; for i in $(seq 400); do head -c 60000 /dev/zero > many/$i; done";
    let inner = command(&root, &["exec", "--", "sh", "-c", script]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 128; exec \"$@\"", "sh"]).arg(inner.get_program());
    limited.args(inner.get_args()).current_dir(&root).env_clear();
    limited.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended: Ended = limited.output().unwrap().into();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(fs::read_dir(root.join("many")).unwrap().count(), 400);
}

/// AA-5, issue 28: the capture of a queued plan is kept until the plan is carried out or leaves the queue.
#[test]
fn a_queued_plan_keeps_its_capture_until_it_leaves_the_queue() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    let ended = exec(&root, &["--review"], "head -c 2000000 /dev/zero > large; echo x > small");
    assert_eq!(ended.code, 116, "{ended:?}");
    // The workspace was created for this change, so the change was still held in memory.
    let first = plan(&root);
    assert_eq!(approve(&root, &first, &key).code, 0);
    assert_eq!(exec(&root, &["--review"], "head -c 3000000 /dev/zero > large").code, 116);
    let second = plan(&root);
    assert_eq!(captures(&root).len(), 1);
    actum(&root, &["gc"]);
    assert_eq!(captures(&root).len(), 1, "the plan still waits");
    let approved = approve(&root, &second, &key);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert_eq!(fs::metadata(root.join("large")).unwrap().len(), 3_000_000);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(fs::metadata(root.join("large")).unwrap().len(), 2_000_000);
    assert_eq!(exec(&root, &["--review"], "echo y > small").code, 116);
    let third = plan(&root);
    let deny = ["deny", &third, "--reason", "no", "--passphrase-file", &key];
    assert_eq!(actum(&root, &deny).code, 0);
    actum(&root, &["gc"]);
    assert_eq!(captures(&root), [] as [String; 0]);
}

/// AA-5, issue 28: content is published only if it is the content that the gates judged.
#[test]
fn capture_changed_while_its_plan_is_queued_is_not_published() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    actum(&root, &["init"]);
    assert_eq!(exec(&root, &["--review"], "echo judged > new").code, 116);
    let captured = root.join(".actum/captures").join(&captures(&root)[0]).join("upper/new");
    fs::write(captured, "other!\n").unwrap();
    let approved = approve(&root, &plan(&root), &key);
    assert_ne!(approved.code, 0, "{approved:?}");
    assert!(approved.stderr.contains("run the command again"), "{approved:?}");
    assert!(!root.join("new").exists());
}

/// EX-9, issue 28: a killed `exec` publishes nothing, and the next command removes its capture.
#[test]
fn capture_of_a_killed_command_is_removed_by_the_next_one() {
    let (_directory, root) = workspace();
    actum(&root, &["init"]);
    let before = tree(&root);
    let mut child = started(&root, &[], "echo x > new; echo ready; sleep 30");
    let status = actum(&root, &["exec", "--status"]);
    assert!(status.stdout.contains("`sh -c echo x > new; echo ready; sleep 30`"), "{status:?}");
    let document = json(&actum(&root, &["exec", "--status", "--json"]));
    assert_eq!(document["commands"][0]["paths"], 1, "{document}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(captures(&root).len(), 1);
    assert_eq!(tree(&root), before);
    assert_eq!(exec(&root, &[], "true").code, 0);
    assert_eq!(captures(&root), [] as [String; 0]);
    assert_eq!(
        actum(&root, &["exec", "--status"]).stdout,
        "no command is running in this workspace\n"
    );
}

/// AA-5, issue 28: a selected part of a plan is judged independently of the rest.
#[test]
fn a_part_of_a_plan_is_kept_without_the_rest() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    actum(&root, &["init"]);
    let script = "mkdir -p out .github/workflows; echo 1 > out/a; echo 2 > out/b; echo on > .github/workflows/ci.yml";
    assert_eq!(exec(&root, &[], script).code, 116);
    let whole = plan(&root);
    let part = actum(&root, &["review", &whole, "--only", "out/", "--without", "out/b"]);
    assert_eq!(part.code, 0, "{part:?}");
    assert!(
        part.stderr.contains("path of plan") || part.stderr.contains("paths of plan"),
        "{part:?}"
    );
    assert!(root.join("out/a").exists() && !root.join("out/b").exists());
    assert!(!root.join(".github").exists());
    let nothing = actum(&root, &["review", &whole, "--only", "none/"]);
    assert_eq!(nothing.code, 2, "{nothing:?}");
    assert!(nothing.stderr.contains("no path of plan"), "{nothing:?}");
    let waiting = actum(&root, &["review", &whole, "--only", ".github/"]);
    assert_eq!(waiting.code, 6, "{waiting:?}");
    let rest = plan(&root);
    assert_ne!(rest, whole);
    assert_eq!(approve(&root, &rest, &key).code, 0);
    assert!(root.join(".github/workflows/ci.yml").exists());
}

/// AA-5, AA-6: a rule selects its own paths, plus only those parent directories that the paths need.
#[test]
fn partial_change_has_only_selected_paths_and_needed_parents() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    let cases = [
        ("chmod 700 d; echo x > d/a; echo y > d/b", "d/a", "d 755, d/a x, d/b 2"),
        ("rm -rf d", "d/a", "d 755, d/b 2"),
        ("rm -rf d", "d/", ""),
        ("rm -rf d; echo file > d", "d/", "d 755"),
        ("rm -rf d; echo file > d", "d/a", "d 755, d/b 2"),
        (
            "mkdir -p new/deep/er other; echo n > new/deep/n",
            "new/deep/n",
            "d 755, d/a 1, d/b 2, new/deep/n n",
        ),
        ("rm a.txt; mkdir a.txt; echo n > a.txt/n", "d/", "d 755, d/a 1, d/b 2"),
    ];
    for (script, rule, wanted) in cases {
        for by_review in [false, true] {
            drop(fs::remove_dir_all(root.join("d")));
            drop(fs::remove_dir_all(root.join("new")));
            fs::create_dir(root.join("d")).unwrap();
            fs::write(root.join("d/a"), "1\n").unwrap();
            fs::write(root.join("d/b"), "2\n").unwrap();
            let done = if by_review {
                assert_eq!(exec(&root, &["--review"], script).code, 116);
                let part = actum(&root, &["review", &plan(&root), "--only", rule]);
                // The part inherits the declared tier R3 from the whole change.
                if part.code == 6 { approve(&root, &plan(&root), &key) } else { part }
            } else {
                exec(&root, &["--keep-only", rule], script)
            };
            let left: Vec<String> = ["d", "d/a", "d/b", "new/deep/n", "new/deep/er", "other"]
                .into_iter()
                .filter_map(|path| {
                    let stat = root.join(path).symlink_metadata().ok()?;
                    Some(match fs::read_to_string(root.join(path)) {
                        Ok(content) => format!("{path} {}", content.trim()),
                        Err(_) => format!("{path} {:o}", stat.permissions().mode() & 0o777),
                    })
                })
                .collect();
            assert_eq!(left.join(", "), wanted, "{script}, {rule}, review {by_review}: {done:?}");
            assert!(root.join("a.txt").is_file());
        }
    }
}

/// AA-5, issue 28: a captured file that another process changes after it was read is not published.
#[test]
fn a_capture_that_is_changed_during_the_checks_is_not_published() {
    let (_directory, root) = workspace();
    let check = wait_check(&root);
    actum(&root, &["init"]);
    let key = approval_key(&root);
    let script = "mkdir t; echo good > t/small; head -c 600000 /dev/zero > t/large";
    for by_approval in [false, true] {
        for (name, is_content) in [("small", true), ("large", true), ("small", false)] {
            let change = || {
                let [capture] = captures(&root).try_into().unwrap();
                let file = root.join(format!(".actum/captures/{capture}/upper/t/{name}"));
                if is_content {
                    let modified = file.metadata().unwrap().modified().unwrap();
                    let opened = fs::File::options().write(true).open(&file).unwrap();
                    opened.write_all_at(b"EVIL", 0).unwrap();
                    opened.set_modified(modified).unwrap();
                } else {
                    fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
                }
            };
            let command = ["exec", "--verify", &check, "--", "sh", "-c", script];
            let ended = if by_approval {
                let queued = [&["exec", "--review"], &command[1..]].concat();
                let queued = while_it_is_checked(&root, &queued, || {});
                assert_eq!(queued.code, 116, "{queued:?}");
                let plan = plan(&root);
                let ended = while_it_is_checked(
                    &root,
                    &["approve", &plan, "--passphrase-file", &key],
                    change,
                );
                actum(&root, &["gc"]);
                ended
            } else {
                while_it_is_checked(&root, &command, change)
            };
            assert_ne!(ended.code, 0, "{by_approval} {name}: {ended:?}");
            assert!(ended.stderr.contains("is missing or was changed"), "{ended:?}");
            assert!(!root.join("t").exists());
        }
    }
}

/// AA-5, issue 28: once the plan is denied, no part of it is applied.
#[test]
fn part_of_a_plan_denied_during_the_checks_is_not_applied() {
    let (_directory, root) = workspace();
    let check = wait_check(&root);
    actum(&root, &["init"]);
    let key = approval_key(&root);
    let script = "echo n > n; ln -s /etc out";
    let command = ["exec", "--verify", &check, "--", "sh", "-c", script];
    let queued = while_it_is_checked(&root, &command, || {});
    assert_eq!(queued.code, 116, "{queued:?}");
    let whole = plan(&root);
    let part = while_it_is_checked(&root, &["review", &whole, "--only", "n"], || {
        let denied = actum(&root, &["deny", &whole, "--reason", "no", "--passphrase-file", &key]);
        assert_eq!(denied.code, 0, "{denied:?}");
    });
    assert_ne!(part.code, 0, "{part:?}");
    assert!(
        part.stderr.contains("cannot keep a part of plan") && !root.join("n").exists(),
        "{part:?}"
    );
    let late = actum(&root, &["review", &whole, "--only", "n"]);
    assert!(late.code != 0 && late.stderr.contains("it was denied"), "{late:?}");
}

/// AA-5: an approval revoked during the checks has no effect, and the error does not blame the ledger.
#[test]
fn approval_revoked_during_the_checks_has_no_effect() {
    let (_directory, root) = workspace();
    let check = wait_check(&root);
    actum(&root, &["init"]);
    let key = approval_key(&root);
    let command = ["exec", "--review", "--verify", &check, "--", "sh", "-c", "echo n > n"];
    assert_eq!(while_it_is_checked(&root, &command, || {}).code, 116);
    let plan = plan(&root);
    let approve = ["approve", &plan, "--passphrase-file", &key];
    let approved = while_it_is_checked(&root, &approve, || {
        let revoked = actum(&root, &["revoke", &plan, "--passphrase-file", &key]);
        assert_eq!(revoked.code, 0, "{revoked:?}");
    });
    assert!(approved.stderr.contains("explain PLAN_NOT_OPEN"), "{approved:?}");
    assert!(approved.code != 0 && !root.join("n").exists(), "{approved:?}");
}

/// AA-5: an approval of a new directory mode is valid only as long as the directory has its previous mode.
#[test]
fn directory_mode_approval_is_valid_only_for_the_previous_mode() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    fs::create_dir(root.join("d")).unwrap();
    let set = |mode| {
        fs::set_permissions(root.join("d"), fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o755);
    assert_eq!(exec(&root, &["--review"], "chmod 750 d").code, 116);
    let plan = plan(&root);
    let shown = actum(&root, &["queue", &plan]);
    assert!(shown.stdout.contains("`d`: 0755 -> 0750"), "{shown:?}");
    set(0o777);
    let stale = approve(&root, &plan, &key);
    assert!(stale.code != 0 && stale.stderr.contains("its permissions differ"), "{stale:?}");
    assert_eq!(root.join("d").metadata().unwrap().mode() & 0o7777, 0o777);
    set(0o755);
    assert_eq!(approve(&root, &plan, &key).code, 0);
    assert_eq!(root.join("d").metadata().unwrap().mode() & 0o7777, 0o750);
}

/// AA-10, issue 28: a one-line note names the missing network or program and suggests a fix.
#[test]
fn a_note_reports_a_missing_network_or_program() {
    let (_directory, root) = workspace();
    for (script, expected) in [
        (
            "echo 'fatal: Could not resolve host: example.org' >&2; exit 1",
            "note: the sandbox has no network: ",
        ),
        ("exec no-such-program", "note: a program was not found in the sandbox: "),
    ] {
        let ended = exec(&root, &[], script);
        assert!(ended.stderr.contains(expected), "{script}: {ended:?}");
    }
    let other = exec(&root, &[], "echo 'Could not resolve host'; exit 0").stderr;
    assert!(!other.contains("no network"), "{other}");
    assert!(!exec(&root, &[], "exit 3").stderr.contains("sandbox"));
}

/// AA-5, issue 28: captured files that another plan still needs are kept.
#[test]
fn making_and_undoing_a_part_leaves_the_whole_plan_intact() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    actum(&root, &["init"]);
    let before = tree(&root);
    let script = "echo 1 > one; echo 2 > two; head -c 1500000 /dev/zero > three";
    assert_eq!(exec(&root, &["--review"], script).code, 116);
    let whole = plan(&root);
    assert_eq!(actum(&root, &["review", &whole, "--without", "two"]).code, 6);
    let part = approve(&root, &plan(&root), &key);
    assert_eq!(part.code, 0, "{part:?}");
    assert_eq!(fs::metadata(root.join("one")).unwrap().nlink(), 1);
    assert!(root.join("three").exists() && !root.join("two").exists());
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(tree(&root), before);
    let made = approve(&root, &whole, &key);
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(fs::read_to_string(root.join("two")).unwrap(), "2\n");
    assert_eq!(fs::metadata(root.join("three")).unwrap().len(), 1_500_000);
}

/// AA-5, issue 28
#[test]
fn a_directory_stays_if_a_part_of_its_removal_is_left_out() {
    let (_directory, root) = workspace();
    actum(&root, &["init"]);
    assert_eq!(
        exec(&root, &[], "mkdir -p d/s; echo a > d/a; echo b > d/b; echo c > d/s/c").code,
        0
    );
    assert_eq!(exec(&root, &["--review"], "rm -r d").code, 116);
    let part = actum(&root, &["review", &plan(&root), "--without", "d/b"]);
    assert_eq!(part.code, 6, "{part:?}");
    let shown = actum(&root, &["queue", &plan(&root)]).stdout;
    assert!(
        shown.contains("deleted `d/a`") && shown.contains("directory removed `d/s`"),
        "{shown}"
    );
    assert!(!shown.contains("deleted `d/b`") && !shown.contains("removed `d`"), "{shown}");
}

/// Issue 28: long changes are folded by directory to stay readable, and `actum queue` lists every path.
#[test]
fn long_change_is_folded_by_directory_and_listed_in_full_by_the_queue() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    let script =
        "mkdir n; for i in $(seq 250); do echo $i > n/f$i; ln -s f$i n/l$i; done; chmod 600 n/f7";
    let queued = actum(&root, &["exec", "--review", "--", "sh", "-c", script]);
    assert_eq!(queued.code, 116, "{queued:?}");
    let plan = plan(&root);
    let approved = approve(&root, &plan, &key);
    assert_eq!(approved.code, 0, "{approved:?}");
    for line in [
        "  created     n/  249 paths  +249 -0\n",
        "  created link  n/  250 paths  +250 -0\n",
        "  created `n/f7`  +1 -0  mode 0600\n",
        &format!("`actum queue {plan}` to see every path and the diff of 500 lines"),
    ] {
        assert!(approved.stderr.contains(line), "{line}: {approved:?}");
    }
    assert!(!approved.stderr.contains("n/f99"), "{approved:?}");
    assert!(approved.stdout.contains("created     n/  500 paths  +500 -0\n"), "{approved:?}");
    let run = approved.stdout.split("`actum show ").nth(1).unwrap().split('`').next().unwrap();
    let shown = actum(&root, &["show", run]);
    assert!(shown.stdout.contains("n/f99"), "{shown:?}");
}

/// AA-5: a folded change still shows every path that needs approval, with its content, target or permissions.
#[test]
fn a_folded_change_shows_what_needs_approval_in_full() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    fs::create_dir(root.join("d")).unwrap();
    fs::write(root.join("tool"), "#!/bin/sh\n").unwrap();
    fs::write(root.join("config"), "1\n").unwrap();
    fs::set_permissions(root.join("tool"), fs::Permissions::from_mode(0o644)).unwrap();
    let script = "for i in $(seq 250); do mkdir p$i; echo $i > p$i/k; done; mkdir -p .github/workflows; \
                  echo 'run: evil' > .github/workflows/evil.yml; echo 'do evil' > CLAUDE.md; echo blocks > agent; \
                  ln -s /etc/passwd p2/out; rm config; ln -s k config; chmod 1777 d; chmod 755 tool; \
                  printf '#!/bin/sh\\n' > p3/new; chmod 755 p3/new; head -c 4000 /dev/zero > p4/data";
    let queued = actum(&root, &["exec", "--", "sh", "-c", script]);
    assert_eq!(queued.code, 116, "{queued:?}");
    let approved = approve(&root, &plan(&root), &key);
    assert_eq!(approved.code, 0, "{approved:?}");
    for line in [
        "  created `.github/workflows/evil.yml`",
        "+run: evil\n",
        "+do evil\n",
        "+blocks\n",
        "+/etc/passwd\n",
        "config`",
        "permissions of the directory `d`: 0755 -> 1777",
        "mode 0644 -> 0755  tool",
        "created executable  p3/new",
        "created binary  p4/data",
    ] {
        assert!(approved.stderr.contains(line), "{line}: {}", approved.stderr);
    }
    assert!(!approved.stderr.contains("p99/k"), "{approved:?}");
}
