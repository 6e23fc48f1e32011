//! The rollback script and the owners of the files that it restores (EX-16).

#![expect(clippy::disallowed_methods, reason = "the script is a program, and works on files")]

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::{env, fs};

use tempfile::TempDir;

use crate::rollback::{files, output_text, run};
use crate::tree::{Files, Run};

/// EX-16: a setuid program restored by root keeps its owner.
#[test]
fn setuid_file_keeps_its_owner_or_is_not_restored() {
    let root = TempDir::new().unwrap();
    let is_root = fs::metadata(root.path()).unwrap().uid() == 0;
    let a_run = Run {
        before: files(&[(b"it's a tool", b"old\n", 0o4755)]),
        after: files(&[(b"it's a tool", b"new\n", 0o4755)]),
        ..Run::default()
    };
    let script = a_run.write_after(root.path());
    let tool = root.path().join("it's a tool");
    if is_root {
        chown(&tool, Some(1234), Some(1234)).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o4755)).unwrap();
    }
    let owner = fs::metadata(&tool).unwrap().uid();
    let done = run(&script, &[]);
    assert_eq!(done.status.code(), Some(0), "{}", output_text(&done));
    let now = fs::metadata(&tool).unwrap();
    assert_eq!((now.uid(), now.mode() & 0o7777), (owner, 0o4755));
    assert_eq!(fs::read(&tool).unwrap(), b"old\n");

    let gone = Run { after: Files::new(), ..a_run };
    let root = TempDir::new().unwrap();
    let script = gone.write_after(root.path());
    let done = run(&script, &[]);
    assert_eq!(done.status.code(), Some(i32::from(is_root)), "{}", output_text(&done));
    assert_eq!(root.path().join("it's a tool").exists(), !is_root);
}

/// EX-16: root does not run a script in a user's directory, because the user could place links where root would write.
#[test]
fn root_does_not_run_a_script_in_another_users_tree() {
    let owned = Owned::new(&Run {
        before: files(&[(b"tool", b"old\n", 0o644)]),
        after: files(&[(b"tool", b"new\n", 0o644)]),
        ..Run::default()
    });
    let report = owned.script.parent().unwrap();
    let is_root = fs::metadata(report).unwrap().uid() == 0;
    for directory in [owned.root.path(), report] {
        if is_root {
            chown(directory, Some(4321), Some(4321)).unwrap();
        }
        let refused = owned.run_as(0, "0", &[]);
        assert_eq!(refused.status.code(), Some(1), "{}", output_text(&refused));
        assert!(
            output_text(&refused).contains("belongs to another user"),
            "{}",
            output_text(&refused)
        );
        assert_eq!(fs::read(owned.root.path().join("tool")).unwrap(), b"new\n");
        if is_root {
            chown(directory, Some(0), Some(0)).unwrap();
        }
    }
}

/// EX-16: a symlink at the temporary path does not redirect the copy of a backup.
#[test]
fn backup_copy_does_not_follow_symlinks() {
    let a_run = Run {
        before: files(&[(b"tool", b"old\n", 0o644)]),
        after: files(&[(b"tool", b"new\n", 0o644)]),
        ..Run::default()
    };
    let (root, programs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let script = a_run.write_after(root.path());
    let other = programs.path().join("other");
    fs::write(&other, "theirs\n").unwrap();
    // The third call that mentions the path is the last one before the copy.
    let rm = programs.path().join("rm");
    let report = script.parent().unwrap().display();
    let text = format!(
        "#!/bin/sh\n/bin/rm \"$@\"\ncase \"$*\" in *.restore-*) echo x >>'{calls}' ;; *) exit 0 ;; esac\n\
         [ $(wc -l <'{calls}') -lt 3 ] || ln -s '{other}' '{report}/.restore-0'\n",
        calls = programs.path().join("calls").display(),
        other = other.display()
    );
    fs::write(&rm, text).unwrap();
    fs::set_permissions(&rm, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.path().display(), env::var("PATH").unwrap());
    let stopped = Command::new("/bin/sh").arg(&script).env("PATH", path).output().unwrap();
    assert_eq!(stopped.status.code(), Some(4), "{}", output_text(&stopped));
    assert_eq!(fs::read(&other).unwrap(), b"theirs\n");
    assert_eq!(fs::read(root.path().join("tool")).unwrap(), b"new\n");
}

/// The files of a run that an ordinary user owns, and a script that runs as the user reported by a fake `id`.
struct Owned {
    root: TempDir,
    programs: TempDir,
    script: PathBuf,
    user: u32,
    group: u32,
}

impl Owned {
    fn new(a_run: &Run) -> Self {
        let root = TempDir::new().unwrap();
        let script = a_run.write_after(root.path());
        let tool = root.path().join("tool");
        let made = fs::metadata(&tool).unwrap();
        if made.uid() == 0 {
            chown(&tool, Some(4321), Some(4321)).unwrap();
            fs::set_permissions(&tool, made.permissions()).unwrap();
        }
        let made = fs::metadata(tool).unwrap();
        let programs = TempDir::new().unwrap();
        Self { root, programs, script, user: made.uid(), group: made.gid() }
    }

    fn run_as(&self, user: u32, groups: &str, arguments: &[&str]) -> Output {
        let id = self.programs.path().join("id");
        let script_text = format!("#!/bin/sh\n[ \"$1\" = -u ] && echo {user} || echo {groups}\n");
        fs::write(&id, script_text).unwrap();
        fs::set_permissions(&id, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", self.programs.path().display(), env::var("PATH").unwrap());
        let mut shell = Command::new("/bin/sh");
        shell.arg(&self.script).args(arguments).env("PATH", path).output().unwrap()
    }
}

/// EX-16: a user who cannot restore the owner of a program gets an error before anything changes.
#[test]
fn unrestorable_owner_stops_the_script_before_any_change() {
    let owned = Owned::new(&Run {
        before: files(&[(b"first", b"old\n", 0o644), (b"tool", b"old\n", 0o4755)]),
        after: files(&[(b"first", b"new\n", 0o644), (b"tool", b"new\n", 0o4755)]),
        ..Run::default()
    });
    let Owned { user, group, .. } = owned;
    let (others, both) = (format!("{}", group + 1), format!("{} {group}", group + 1));
    for (user, groups) in [(user + 1, &both), (user, &others)] {
        for arguments in [&["--check"][..], &[]] {
            let refused = owned.run_as(user, groups, arguments);
            assert_eq!(refused.status.code(), Some(1), "{}", output_text(&refused));
            let expected = "tool: runs as its owner or group";
            assert!(output_text(&refused).contains(expected), "{}", output_text(&refused));
            assert_eq!(fs::read(owned.root.path().join("first")).unwrap(), b"new\n");
        }
    }
    let done = owned.run_as(user, &both, &[]);
    assert_eq!(done.status.code(), Some(0), "{}", output_text(&done));
    assert_eq!(fs::read(owned.root.path().join("tool")).unwrap(), b"old\n");
}

/// EX-16: the group does not matter if only the mode is restored, except for a set-group-ID file.
#[test]
fn owner_restores_the_mode_of_a_setuid_file() {
    for (mode, code) in [(0o4755, 0), (0o2755, 1)] {
        let owned = Owned::new(&Run {
            before: files(&[(b"tool", b"same\n", mode)]),
            after: files(&[(b"tool", b"same\n", 0o755)]),
            ..Run::default()
        });
        let done = owned.run_as(owned.user, &format!("{}", owned.group + 1), &[]);
        assert_eq!(done.status.code(), Some(code), "{mode:o}: {}", output_text(&done));
    }
}
