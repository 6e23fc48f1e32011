//! Commands that run on top of the staged changes of a transaction, and whose changes continue that transaction.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use crate::library::{Grounds, runner, tree};
use actum::{Captured, StagedView, Trial, WhyUnkept};
use actum_core::{FileMode, RelPath};
use actum_edit::{EmptyParents, ModeChange, Operation};
use actum_gate::Policy;
use actum_sandbox::Stdin;
use actum_workspace::{LinuxDisk, RunOptions, Transaction, Workspace};

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

fn create(at: &str) -> Operation {
    Operation::Create { path: path(at), content: b"staged\n".to_vec(), mode: None }
}

fn write(at: &str) -> Operation {
    Operation::Write { path: path(at), content: b"staged\n".to_vec(), expected: None }
}

fn delete(at: &str) -> Operation {
    Operation::Delete { path: path(at), expected: None, parents: EmptyParents::Keep }
}

fn rename(from: &str, to: &str) -> Operation {
    Operation::Rename { from: path(from), to: path(to), parents: EmptyParents::Keep }
}

fn make(at: &str) -> Operation {
    Operation::MakeDirectory { path: path(at), mode: None }
}

fn remove(at: &str) -> Operation {
    Operation::RemoveDirectory { path: path(at) }
}

fn chmod(at: &str, mode: u32) -> Operation {
    Operation::Chmod { path: path(at), mode: ModeChange::Exact(FileMode::new(mode)) }
}

/// Returns the changes that a script makes on top of the staged state. `act` simulates another process once the script prints
/// `ready`.
fn over(
    root: &Path,
    transaction: &mut Transaction<'_, LinuxDisk>,
    script: &str,
    mut act: impl FnMut(),
) -> Captured {
    let runner = runner(root);
    let staged = StagedView::new(&runner, transaction).unwrap();
    let script = format!("umask 022; {script}");
    let words = ["sh", "-ec", script.as_str()];
    let policy = Policy::default();
    let trial = Trial::start_over(&runner, &policy, &words, Stdin::Empty, &staged).unwrap();
    let tried = trial.wait(|_, output| {
        if output.starts_with(b"ready") {
            act();
        }
        ControlFlow::Continue(())
    });
    let tried = tried.unwrap();
    assert!(tried.succeeded(&[].into()), "{script}: {:?}", tried.outcome);
    tried.captured().unwrap()
}

/// Staged changes, a script that builds on them, and the expected number of its operations.
type Case = (Vec<Operation>, &'static str, usize);

fn cases() -> Vec<Case> {
    vec![
        (vec![create("n/new")], "echo more >> n/new", 1),
        (vec![create("n/new")], "rm n/new", 1),
        (vec![create("n/new")], "rm -r n", 2),
        (vec![create("n/new")], "echo x > n/other; chmod 755 n/other", 1),
        (vec![create("n/new")], "chmod 755 n/new", 1),
        (vec![create("n/new")], "mv n moved", 4),
        (vec![create("new")], "rm new; mkdir new; echo x > new/in", 3),
        (vec![write("a.txt")], "echo more >> a.txt", 1),
        (vec![write("a.txt")], "rm a.txt", 1),
        (vec![write("a.txt")], "echo 1 > a.txt", 1),
        (vec![write("a.txt"), chmod("a.txt", 0o755)], "chmod 644 a.txt", 1),
        (vec![write("a.txt")], "echo staged > a.txt; touch sub/b.txt", 0),
        (vec![delete("a.txt")], "test ! -e a.txt; echo again > a.txt", 1),
        (vec![delete("a.txt")], "mkdir a.txt; echo in > a.txt/in", 2),
        (vec![delete("a.txt"), make("a.txt")], "rmdir a.txt; echo 1 > a.txt", 2),
        (vec![delete("a.txt"), create("a.txt/in")], "rm -r a.txt; echo 1 > a.txt", 3),
        (vec![delete("sub/b.txt")], "echo x > sub/c.txt", 1),
        (vec![delete("sub/b.txt")], "rmdir sub", 1),
        (vec![delete("sub/b.txt"), remove("sub")], "mkdir sub; echo 2 > sub/b.txt", 2),
        (vec![delete("sub/b.txt"), remove("sub")], "echo file > sub", 1),
        (
            vec![delete("sub/b.txt"), remove("sub"), make("sub")],
            "mkdir sub/b.txt; echo x > sub/b.txt/c",
            2,
        ),
        (vec![delete("sub/b.txt"), remove("sub"), create("sub")], "rm sub; mkdir sub", 2),
        (vec![rename("a.txt", "c")], "echo more >> c; echo a > a.txt", 2),
        (vec![rename("a.txt", "c")], "mv c a.txt", 2),
        (vec![rename("sub/b.txt", "b")], "rmdir sub; mkdir sub; mv b sub/b.txt", 2),
        (vec![write("sub/b.txt")], "rm -r sub", 2),
        (vec![write("sub/b.txt")], "mv sub moved", 4),
        (vec![write("far/deep/d.txt"), delete("sub/b.txt")], "cp -r far copy", 3),
    ]
}

/// AA-6: a command on top of staged changes produces the same tree as on a copy where those changes are committed.
#[test]
fn command_over_staged_changes_continues_the_same_transaction() {
    for (first, script, count) in cases() {
        let grounds = Grounds::new();
        let (root, copy) = (&grounds.root, &grounds.copy());
        let before = tree(root);
        let mut plain = Workspace::open(copy).unwrap();
        let mut done = plain.begin(RunOptions::default()).unwrap();
        done.operate_all(&first).unwrap();
        done.commit().unwrap();
        let ran = Command::new("sh").args(["-ec", script]).current_dir(copy).status().unwrap();
        assert!(ran.success(), "{script}");

        let mut workspace = Workspace::open(root).unwrap();
        let mut transaction = workspace.begin(RunOptions::default()).unwrap();
        transaction.operate_all(&first).unwrap();
        let captured = over(root, &mut transaction, script, || {});
        assert_eq!(tree(root), before, "{first:?}, {script}: nothing is there yet");
        assert_eq!(captured.unkept, [], "{first:?}, {script}");
        assert_eq!(captured.operations.len(), count, "{script}: {:?}", captured.operations);
        transaction.operate_all(&captured.operations).unwrap();
        let is_change = !transaction.changes().is_empty();
        if is_change {
            transaction.commit().unwrap();
        }
        assert_eq!(tree(root), tree(copy), "{first:?}, {script}");
        assert_eq!(tree(root) != before, is_change, "{first:?}, {script}");
    }
}

/// AA-6: a concurrent change by another process is a conflict even if other changes are staged.
#[test]
fn concurrent_change_beside_staged_changes_is_a_conflict() {
    type Act = fn(&Path);
    let cases: [(&str, Act, &str); 4] = [
        ("echo x >> a.txt", |root| fs::write(root.join("a.txt"), "other\n").unwrap(), "a.txt"),
        ("rm -r sub", |root| fs::write(root.join("sub/new"), "other\n").unwrap(), "sub"),
        ("echo x > other/y", |root| fs::remove_dir(root.join("other")).unwrap(), "other"),
        (
            "chmod 600 a.txt",
            |root| {
                fs::remove_file(root.join("a.txt")).unwrap();
                fs::write(root.join("a.txt"), "other\n").unwrap();
            },
            "a.txt",
        ),
    ];
    for (script, act, at) in cases {
        let grounds = Grounds::new();
        let root = &grounds.root;
        fs::create_dir(root.join("other")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut workspace = Workspace::open(root).unwrap();
        let mut transaction = workspace.begin(RunOptions::default()).unwrap();
        transaction.operate_all(&[create("new"), write("sub/b.txt")]).unwrap();
        let script = format!("cat a.txt > /dev/null; {script}; echo ready; sleep 1");
        let captured = over(root, &mut transaction, &script, || act(root));
        let conflict = captured.unkept.iter().any(|unkept| {
            unkept.path == Path::new(at) && unkept.why == WhyUnkept::ChangedMeanwhile
        });
        assert!(conflict, "{script}: {captured:?}");
    }
}

/// AA-6: the command saw only the staged content, so a concurrent change to the underlying file is detected when both are applied.
#[test]
fn concurrent_change_below_a_staged_file_is_not_overwritten() {
    let grounds = Grounds::new();
    let root = &grounds.root;
    let mut workspace = Workspace::open(root).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.operate_all(&[write("a.txt")]).unwrap();
    let captured = over(root, &mut transaction, "echo ready; sleep 1; echo x >> a.txt", || {
        fs::write(root.join("a.txt"), "somebody else's\n").unwrap();
    });
    transaction.operate_all(&captured.operations).unwrap();
    let refused = transaction.commit().unwrap_err().to_string();
    assert!(refused.contains("a.txt"), "{refused}");
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "somebody else's\n");
}
