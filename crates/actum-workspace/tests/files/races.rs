//! Races: an attacker modifies the tree while runs are in progress. Nothing outside the root is touched, and no byte is
//! lost (FO-6, FO-7).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use actum_core::{Digest, FileMode, RelPath};
use actum_edit::{EmptyParents, Operation};
use actum_testkit::{TestDir, effort};
use actum_workspace::{RunOptions, State, Workspace};

/// Number of runs that are tried. `ACTUM_RACE_ROUNDS=N` sets another number.
const ROUNDS: usize = 400;

fn rounds() -> usize {
    effort("ACTUM_RACE_ROUNDS", ROUNDS)
}

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

/// Makes runs that change files below `d` while `attack` runs in a loop. Returns the numbers of successful and rejected
/// runs.
fn race(
    dir: &TestDir,
    attack: impl Fn(usize, &Path) + Send + 'static,
    mut round: impl FnMut(usize, &mut Workspace) -> Result<(), actum_workspace::Error>,
) -> (usize, usize) {
    let stop = Arc::new(AtomicBool::new(false));
    let attacker = {
        let (stop, root) = (Arc::clone(&stop), dir.path().to_owned());
        std::thread::spawn(move || {
            let mut turn = 0;
            while !stop.load(Ordering::Relaxed) {
                attack(turn, &root);
                turn += 1;
            }
        })
    };
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let (mut succeeded, mut refused) = (0, 0);
    for turn in 0..rounds() {
        match round(turn, &mut workspace) {
            Ok(()) => succeeded += 1,
            Err(error) => {
                refused += 1;
                if error.state == State::NeedsAttention || !workspace.blocked().is_empty() {
                    let blocked: Vec<_> = workspace.blocked().keys().cloned().collect();
                    drop(workspace);
                    workspace = Workspace::open(dir.path()).unwrap();
                    for path in blocked {
                        drop(workspace.resolve(&path));
                    }
                }
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    attacker.join().unwrap();
    (succeeded, refused)
}

/// FO-7
#[test]
fn directory_swapped_for_a_symlink_does_not_allow_an_escape() {
    let dir = TestDir::new();
    let outside = TestDir::new();
    outside.put("f", "outside\n");
    outside.put("g", "outside\n");
    dir.put("d/f", "0\n");
    let target = outside.path().to_owned();
    let attack = move |_, root: &Path| {
        let (d, away, link) = (root.join("d"), root.join("away"), root.join("link"));
        drop(std::os::unix::fs::symlink(&target, &link));
        if fs::rename(&d, &away).is_ok() {
            drop(fs::rename(&link, &d));
            std::thread::yield_now();
            drop(fs::remove_file(&d));
            drop(fs::rename(&away, &d));
        }
    };
    let counts = race(&dir, attack, |turn, workspace| {
        let operations = [
            Operation::Write {
                path: path("d/f"),
                content: format!("{turn}\n").into_bytes(),
                expected: None,
            },
            Operation::Create {
                path: path(&format!("d/n{turn}")),
                content: b"new\n".to_vec(),
                mode: None,
            },
        ];
        workspace.apply_operations(&operations, RunOptions::default()).map(drop)
    });
    let mut names: Vec<_> =
        fs::read_dir(outside.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["f", "g"], "{counts:?}");
    assert_eq!(outside.get("f").unwrap(), b"outside\n");
    assert_eq!(counts.0 + counts.1, rounds());
}

/// FO-7, D-6: runs create, retarget and remove links and directories below a directory that is continually exchanged
/// with a link.
#[test]
fn links_and_directories_change_safely_during_a_concurrent_exchange() {
    let dir = TestDir::new();
    let outside = TestDir::new();
    outside.put("f", "outside\n");
    outside.put("sub/f", "outside\n");
    std::os::unix::fs::symlink("f", outside.join("l")).unwrap();
    dir.put("d/sub/f", "0\n");
    std::os::unix::fs::symlink("start", dir.join("d/l")).unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.join("other")).unwrap();
    let before = (dir_facts(outside.path()), dir_facts(&outside.join("sub")));
    let attack = |turn: usize, root: &Path| {
        let names = if turn.is_multiple_of(2) { ["d", "other"] } else { ["d/sub", "d/l"] };
        let [one, other] = names.map(|name| root.join(name));
        let exchange = rustix::fs::RenameFlags::EXCHANGE;
        let swap =
            || rustix::fs::renameat_with(rustix::fs::CWD, &one, rustix::fs::CWD, &other, exchange);
        if swap().is_ok() {
            std::thread::yield_now();
            swap().unwrap_or_default(); // a run may have removed one of them
        }
        std::thread::sleep(std::time::Duration::from_micros(50));
    };
    let root = dir.path().to_owned();
    let counts = race(&dir, attack, |turn, workspace| {
        let link = |at: &str, target: String, expected| Operation::Link {
            path: path(at),
            target: target.into_bytes(),
            expected,
        };
        let fresh = fs::read_link(root.join("d/fresh"));
        let there = fresh.ok().map(|target| Digest::of(target.as_os_str().as_bytes()));
        let parents = EmptyParents::Remove;
        let of_link = match there {
            Some(_) if turn.is_multiple_of(3) => {
                Operation::Delete { path: path("d/fresh"), expected: there, parents }
            }
            Some(_) | None => link("d/fresh", format!("t{turn}"), there),
        };
        let mode = fs::metadata(root.join("d/sub")).map_or(0o755, |it| it.permissions().mode());
        let modes = [mode ^ 0o055, mode].map(FileMode::new);
        let of_directory = match turn % 4 {
            0 => {
                let [mode, expected] = modes;
                Operation::ChmodDirectory { path: path("d/sub"), mode, expected }
            }
            1 => {
                let (path, mode) = (path(&format!("d/n{turn}/e")), Some(FileMode::new(0o700)));
                Operation::MakeDirectory { path, mode }
            }
            2 => Operation::RemoveDirectory { path: path(&format!("d/n{}/e", turn - 1)) },
            _ => link(&format!("d/sub/l{turn}"), "../f".to_owned(), None),
        };
        let done = workspace.apply_operations(&[of_link, of_directory], RunOptions::default());
        if let (Ok(run), true) = (&done, turn.is_multiple_of(5)) {
            drop(workspace.revert(*run)); // which may meet the exchange
        }
        done.map(drop)
    });
    assert_eq!((dir_facts(outside.path()), dir_facts(&outside.join("sub"))), before, "{counts:?}");
    assert_eq!(counts.0 + counts.1, rounds());
    eprintln!("{counts:?} runs succeeded and were refused");
}

/// Returns the mode of a directory, and its entries with their times and contents.
fn dir_facts(directory: &Path) -> Vec<String> {
    let mode = |path: &Path| path.symlink_metadata().unwrap().permissions().mode();
    let facts = |path: std::path::PathBuf| {
        let content = fs::read(&path).unwrap_or_default();
        let changed = path.symlink_metadata().unwrap();
        format!(
            "{path:?} {:o} {content:?} {}.{}",
            mode(&path),
            changed.ctime(),
            changed.ctime_nsec()
        )
    };
    let mut all: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| facts(entry.unwrap().path())).collect();
    all.sort();
    all.push(format!("{:o}", mode(directory)));
    all
}

/// FO-7
#[test]
fn file_stays_whole_when_its_directory_moves_out_of_the_root() {
    let dir = TestDir::new();
    let outside = TestDir::new();
    dir.put("d/f", "start\n");
    let away = outside.join("d");
    let gone = away.clone();
    let attack = move |_, root: &Path| {
        drop(fs::rename(root.join("d"), &away));
        std::thread::yield_now();
        drop(fs::rename(&away, root.join("d")));
    };
    race(&dir, attack, |turn, workspace| {
        let operation = Operation::Write {
            path: path("d/f"),
            content: format!("{turn}\n").into_bytes(),
            expected: None,
        };
        let result = workspace.apply_operations(&[operation], RunOptions::default()).map(drop);
        if let Err(error) = &result {
            assert_ne!(error.state, State::Published, "{error}");
        }
        result
    });
    drop(fs::rename(&gone, dir.join("d")));
    // The file is complete: it has the initial content or that of some run.
    let content = String::from_utf8(dir.get("d/f").unwrap()).unwrap();
    assert!(content == "start\n" || content.trim().parse::<usize>().is_ok(), "{content:?}");
}

/// FO-6
#[test]
fn concurrently_written_contents_are_never_lost() {
    let dir = TestDir::new();
    dir.put("f", "start\n");
    let written: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let displaced: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let (log, taken) = (Arc::clone(&written), Arc::clone(&displaced));
    // The attacker replaces the file with its own content and records the content that it displaced.
    let attack = move |turn: usize, root: &Path| {
        let content = format!("mine {turn}\n");
        let (new, file) = (root.join("f.new"), root.join("f"));
        fs::write(&new, &content).unwrap();
        log.lock().unwrap().insert(content);
        let (here, exchange) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
        rustix::fs::renameat_with(here, &new, here, &file, exchange).unwrap();
        taken.lock().unwrap().insert(fs::read_to_string(&new).unwrap());
        fs::remove_file(&new).unwrap();
    };
    let mut seen = BTreeSet::new();
    race(&dir, attack, |turn, workspace| {
        let mut transaction = workspace.begin(RunOptions::default())?;
        let read = String::from_utf8(transaction.read(&path("f"))?).unwrap();
        transaction.write(&path("f"), format!("run {turn}\n").as_bytes(), None)?;
        transaction.commit()?;
        // The run replaced exactly the content that it read.
        seen.insert(read);
        Ok(())
    });
    let last = String::from_utf8(dir.get("f").unwrap()).unwrap();
    seen.insert(last);
    // A file in `lost` was displaced and set aside for the user.
    let mut lost = vec![dir.join(".actum/lost")];
    while let Some(directory) = lost.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                lost.push(path);
            } else {
                seen.insert(fs::read_to_string(path).unwrap());
            }
        }
    }
    seen.extend(displaced.lock().unwrap().iter().cloned());
    let missing: Vec<_> = written.lock().unwrap().difference(&seen).cloned().collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// FO-2
#[test]
fn concurrent_handles_on_one_workspace_are_serialized() {
    let dir = TestDir::new();
    dir.put("counter", "0\n");
    drop(Workspace::open(dir.path()).unwrap());
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let root = dir.path().to_owned();
            std::thread::spawn(move || {
                let mut workspace = Workspace::open(root).unwrap();
                for _ in 0..20 {
                    let options = RunOptions { wait: true, ..RunOptions::default() };
                    let mut transaction = workspace.begin(options).unwrap();
                    let read = transaction.read(&path("counter")).unwrap();
                    let number: u32 = String::from_utf8(read).unwrap().trim().parse().unwrap();
                    let next = format!("{}\n", number + 1);
                    transaction.write(&path("counter"), next.as_bytes(), None).unwrap();
                    transaction.commit().unwrap();
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(dir.get("counter").unwrap(), b"160\n");
}
