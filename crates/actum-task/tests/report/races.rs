//! The rollback script while an editor saves a file (EX-16).

#![expect(clippy::disallowed_methods, reason = "the script is a program, and works on files")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::rollback::{files, output_text, run};
use crate::tree::{Run, at};

const SAVED: &str = "hours of work\n";
const CONTENT: &str = "what was there\n";

/// Wrappers around system programs that let an editor act before a chosen call.
struct Editor {
    programs: TempDir,
}

impl Editor {
    /// Creates wrappers that run `act` before call number `turn` of one of the programs.
    fn new(names: &[&str], turn: usize, act: &str) -> Self {
        let programs = TempDir::new().unwrap();
        let here = programs.path().display();
        fs::write(programs.path().join("turn"), turn.to_string()).unwrap();
        for name in names {
            let real = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
            let Some(real) = real.into_iter().find(|program| program.exists()) else { continue };
            let text = format!(
                "#!/bin/sh\nread -r turn <'{here}/turn'\necho $((turn - 1)) >'{here}/turn'\nif [ \"$turn\" -eq 0 ]; then\n\
                 {act}\nfi\nexec {} \"$@\"\n",
                real.display()
            );
            fs::write(programs.path().join(name), text).unwrap();
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(programs.path().join(name), mode).unwrap();
        }
        Self { programs }
    }

    fn run(&self, script: &Path) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.programs.path().display());
        Command::new("/bin/sh").arg(script).env("PATH", path).output().unwrap()
    }

    fn has_acted(&self) -> bool {
        let turn = fs::read_to_string(self.programs.path().join("turn")).unwrap();
        turn.trim().parse::<i64>().unwrap() < 0
    }
}

const ALL: [&str; 15] = [
    "sha256sum",
    "rm",
    "mv",
    "cat",
    "chown",
    "chmod",
    "mkdir",
    "rmdir",
    "link",
    "ln",
    "find",
    "ls",
    "id",
    "dd",
    "sync",
];

/// Returns a script that saves a file as editors do, by replacing it with a new one.
fn save(root: &Path, path: &Path) -> String {
    let new = root.join("agent/new");
    let saved = root.join("agent/saved");
    let (new, path, saved) = (new.display(), path.display(), saved.display());
    format!(
        "[ ! -e '{path}' ] || : >'{saved}-over'\nprintf '{SAVED}' >'{new}' && \
         /bin/mv -f '{new}' '{path}' 2>/dev/null && : >'{saved}'"
    )
}

/// Returns runs with one change each, and the paths involved.
fn runs() -> Vec<(Run, Vec<&'static [u8]>)> {
    let old = (CONTENT.as_bytes(), 0o644);
    let a_run = |before: &[(&[u8], &[u8], u32)], after: &[(&[u8], &[u8], u32)]| Run {
        before: files(before),
        after: files(after),
        ..Run::default()
    };
    let renamed = |run: Run| Run { renamed: vec![(b"a".to_vec(), b"b".to_vec())], ..run };
    vec![
        (a_run(&[(b"a", old.0, old.1)], &[(b"a", b"new\n", 0o644)]), vec![b"a"]),
        (a_run(&[], &[(b"in/a", b"new\n", 0o644)]), vec![b"in/a"]),
        (a_run(&[(b"a", old.0, old.1)], &[]), vec![b"a"]),
        (renamed(a_run(&[(b"a", old.0, old.1)], &[(b"b", old.0, old.1)])), vec![b"a", b"b"]),
        (renamed(a_run(&[(b"a", old.0, old.1)], &[(b"b", b"new\n", 0o644)])), vec![b"a", b"b"]),
        (
            Run {
                deltas: BTreeSet::from([b"a".to_vec()]),
                ..a_run(&[(b"a", old.0, old.1)], &[(b"a", b"new\n", 0o644)])
            },
            vec![b"a"],
        ),
    ]
}

fn report_of(script: &Path) -> &Path {
    script.parent().unwrap()
}

/// Lists the files that the script moved aside.
fn aside(script: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(report_of(script)).unwrap().map(|entry| entry.unwrap().path());
    let is_aside =
        |path: &PathBuf| path.file_name().unwrap().as_encoded_bytes().starts_with(b".displaced-");
    entries.filter(is_aside).collect()
}

/// Returns whether the content is at the path, or was moved aside to a path that the script printed.
fn is_kept(content: &str, path: &Path, script: &Path, output_text: &str) -> bool {
    let has = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text == content);
    has(path) || aside(script).iter().any(|path| has(path) && is_printed(path, output_text))
}

fn is_printed(path: &Path, output_text: &str) -> bool {
    output_text.contains(path.file_name().unwrap().to_str().unwrap())
}

/// EX-16: a file that an editor saves before any external call of the script is kept, whether the script is killed there or
/// continues.
#[test]
fn script_keeps_files_saved_by_an_editor_at_any_moment() {
    let mut saves = 0;
    for (number, (a_run, paths)) in runs().into_iter().enumerate() {
        for (path, is_killed) in paths.iter().flat_map(|path| [(path, false), (path, true)]) {
            for turn in 0.. {
                let root = TempDir::new().unwrap();
                let script = a_run.write_after(root.path());
                let file = at(root.path(), path);
                let kill = if is_killed { "\nkill -9 \"$PPID\"\nexit 1" } else { "" };
                let editor = Editor::new(&ALL, turn, &(save(root.path(), &file) + kill));
                let ended = editor.run(&script);
                if !editor.has_acted() {
                    break;
                }
                let mut printed = output_text(&ended);
                if is_killed {
                    printed += &output_text(&run(&script, &[]));
                }
                let case = format!("run {number}, {}, turn {turn}: {printed}", file.display());
                if root.path().join("agent/saved").exists() {
                    saves += 1;
                    assert!(is_kept(SAVED, &file, &script, &printed), "{case}");
                }
                // A file that was only renamed has no backup of its content.
                let is_over = root.path().join("agent/saved-over").exists();
                let is_moved = number == 3 && !is_over;
                let mut places = paths.iter().map(|path| at(root.path(), path));
                let is_somewhere = places.any(|at| is_kept(CONTENT, &at, &script, &printed));
                assert!(!is_moved || is_somewhere, "{case}");
                // A delta restores the content only from the file that the run left.
                let has_base = is_somewhere || is_kept("new\n", &file, &script, &printed);
                assert!(number != 5 || is_over || has_base, "{case}");
                assert!(aside(&script).iter().all(|aside| is_printed(aside, &printed)), "{case}");
            }
        }
    }
    assert!(saves > 200, "only {saves} saves");
}

/// EX-16: a second save during the restoration of the first is not overwritten and overwrites nothing.
#[test]
fn unrestorable_file_is_kept_and_its_path_printed() {
    let (a_run, _) = runs().swap_remove(0);
    let root = TempDir::new().unwrap();
    let script = a_run.write_after(root.path());
    let file = root.path().join("a");
    // The first save happens before the file is moved aside, and the second before the digest of the moved file is computed.
    let editor = Editor::new(&["mv"], 0, &save(root.path(), &file));
    let second = format!(
        "#!/bin/sh\n[ -e '{file}' ] || printf 'second\\n' >'{file}'\nexec /usr/bin/sha256sum \"$@\"\n",
        file = file.display()
    );
    let program = editor.programs.path().join("sha256sum");
    fs::write(&program, second).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let stopped = editor.run(&script);
    let printed = output_text(&stopped);
    assert_eq!(stopped.status.code(), Some(4), "{printed}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "second\n");
    assert!(is_kept(SAVED, &file, &script, &printed), "{printed}");
    for arguments in [&["--check"][..], &[]] {
        let refused = run(&script, arguments);
        let printed = output_text(&refused);
        assert_eq!(refused.status.code(), Some(1), "{printed}");
        assert!(printed.contains("Nothing was changed"), "{printed}");
        assert!(is_kept(SAVED, &file, &script, &printed), "{printed}");
    }
    // The user chooses between the two versions.
    fs::write(&file, "new\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(aside(&script).pop().unwrap()).unwrap();
    let done = run(&script, &[]);
    assert_eq!(done.status.code(), Some(0), "{}", output_text(&done));
    assert_eq!(fs::read_to_string(&file).unwrap(), CONTENT);
}

/// EX-16: a directory or symlink that replaced the file is restored, and nothing is written into it.
#[test]
fn directory_or_symlink_that_replaces_a_file_is_restored() {
    for make in ["mkdir -p '{}/inside'", "ln -s . '{}'"] {
        for name in ["mv", "link"] {
            let (a_run, _) = runs().swap_remove(0);
            let root = TempDir::new().unwrap();
            let script = a_run.write_after(root.path());
            let file = root.path().join("a");
            let make = make.replace("{}", file.to_str().unwrap());
            // The first call of `link` tests whether hard links work.
            let turn = usize::from(name == "link");
            let act = format!("PATH=/usr/bin:/bin\nrm -f '{}'\n{make}", file.display());
            let editor = Editor::new(&[name], turn, &act);
            let stopped = editor.run(&script);
            let printed = output_text(&stopped);
            assert_eq!((editor.has_acted(), stopped.status.code()), (true, Some(4)), "{printed}");
            let now = fs::symlink_metadata(&file).unwrap();
            assert!(now.is_symlink() || file.join("inside").is_dir(), "{printed}");
            if now.is_dir() {
                assert_eq!(fs::read_dir(&file).unwrap().count(), 1, "{printed}");
            }
            let is_aside = name == "link";
            assert_eq!(aside(&script).len(), usize::from(is_aside), "{printed}");
        }
    }
}

/// EX-16: the script changes nothing if hard links are not supported.
#[test]
fn without_hard_links_nothing_is_changed() {
    let (a_run, _) = runs().swap_remove(0);
    let root = TempDir::new().unwrap();
    let script = a_run.write_after(root.path());
    let editor = Editor::new(&["link"], 0, "exit 1");
    let refused = editor.run(&script);
    assert_eq!(refused.status.code(), Some(1), "{}", output_text(&refused));
    assert!(
        output_text(&refused).contains("a: cannot get a second name"),
        "{}",
        output_text(&refused)
    );
    assert_eq!(fs::read_to_string(root.path().join("a")).unwrap(), "new\n");
    let names = fs::read_dir(report_of(&script)).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.as_encoded_bytes().starts_with(b".")));
}

/// EX-16, issue 22 (claims): the script keeps stricter permissions that a user sets before any of its external calls.
#[test]
fn script_keeps_permissions_that_a_user_restricts_meanwhile() {
    let modes = Run {
        before: files(&[(b"a", b"same\n", 0o644)]),
        after: files(&[(b"a", b"same\n", 0o755)]),
        ..Run::default()
    };
    let closing = runs().into_iter().filter(|(run, _)| !run.after.is_empty());
    let closing = closing.map(|(run, mut paths)| (run, paths.pop().unwrap()));
    let mut closed = 0;
    for (number, (a_run, path)) in closing.chain([(modes, &b"a"[..])]).enumerate() {
        // If only the mode of a file is restored, the last check happens just before `chmod`.
        let names: Vec<_> = ALL.into_iter().filter(|name| *name != "chmod").collect();
        for turn in 0.. {
            let root = TempDir::new().unwrap();
            let script = a_run.write_after(root.path());
            let file = at(root.path(), path);
            let marker = root.path().join("agent/closed");
            let act = format!(
                "/bin/chmod 600 '{}' 2>/dev/null && : >'{}'",
                file.display(),
                marker.display()
            );
            let editor = Editor::new(&names, turn, &act);
            let ended = editor.run(&script);
            if !editor.has_acted() {
                break;
            }
            if marker.exists() {
                closed += 1;
                let mode = fs::metadata(&file).map(|facts| facts.permissions().mode() & 0o777);
                let what = format!("run {number}, turn {turn}: {}", output_text(&ended));
                assert_eq!(mode.unwrap_or_else(|error| panic!("{error}: {what}")), 0o600, "{what}");
            }
        }
    }
    assert!(closed > 10, "{closed}");
}
