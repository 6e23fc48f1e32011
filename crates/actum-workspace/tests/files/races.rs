//! An attacker works on the same tree while runs are under way: nothing outside the root is
//! touched, and no byte is lost (FO-6, FO-7).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use actum_core::RelPath;
use actum_edit::Operation;
use actum_testkit::{TestDir, effort};
use actum_workspace::{RunOptions, State, Workspace};

/// How often a run is tried; `ACTUM_RACE_ROUNDS=N` sets another number.
const ROUNDS: usize = 400;

fn rounds() -> usize {
    effort("ACTUM_RACE_ROUNDS", ROUNDS)
}

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

/// Runs change files below `d` while `attack` runs in a loop. Gives how many runs succeeded and
/// were refused.
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
                if error.state == State::NeedsAttention {
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
fn a_directory_that_is_swapped_for_a_symbolic_link_lets_nothing_out() {
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

/// FO-7
#[test]
fn a_directory_that_is_moved_out_of_the_root_takes_nothing_along() {
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
    // The file is whole: what some run wrote, or the start.
    let content = String::from_utf8(dir.get("d/f").unwrap()).unwrap();
    assert!(content == "start\n" || content.trim().parse::<usize>().is_ok(), "{content:?}");
}

/// FO-6
#[test]
fn contents_that_someone_writes_meanwhile_are_never_lost() {
    let dir = TestDir::new();
    dir.put("f", "start\n");
    let written: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let displaced: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let (log, taken) = (Arc::clone(&written), Arc::clone(&displaced));
    // The attacker puts content of its own in the file's place and notes what it displaced.
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
        // This run replaced exactly what it read.
        seen.insert(read);
        Ok(())
    });
    let last = String::from_utf8(dir.get("f").unwrap()).unwrap();
    seen.insert(last);
    // What lies in `lost` was displaced and set aside for a person.
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
fn many_handles_on_one_workspace_take_turns() {
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
