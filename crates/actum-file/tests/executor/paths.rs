//! Path attacks (FE-3, FE-4, FE-6, FE-7, FE-16), modelled on the test tables of libpathrs and cap-std.
//!
//! Each row describes a source or a destination that a task must not reach. The task must fail with the reason in the row, and
//! nothing inside or outside the base directories may change.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use actum_file::ErrorCode;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::world::{World, failure};

/// Path below the row's directory, or an absolute path, and the entry that is created there first.
struct Obstacle {
    name: &'static str,
    path: &'static str,
    setup: fn(&World, &str),
    reason: &'static str,
}

const fn row(
    name: &'static str,
    path: &'static str,
    setup: fn(&World, &str),
    reason: &'static str,
) -> Obstacle {
    Obstacle { name, path, setup, reason }
}

fn nothing(_: &World, _: &str) {}

fn link(world: &World, at: &str, target: &str) {
    symlink(target, world.path(at)).unwrap();
}

fn special(world: &World, at: &str, kind: FileType) {
    let device = if kind == FileType::CharacterDevice { 0x103 } else { 0 };
    if mknodat(CWD, world.path(at), kind, Mode::RUSR | Mode::WUSR, device).is_err() {
        // Uses a FIFO instead of a device, because creating a device needs privileges.
        mknodat(CWD, world.path(at), FileType::Fifo, Mode::RUSR, 0).unwrap();
    }
}

const MANIFEST: &str = "TASK_MANIFEST_INVALID";
const OUTSIDE: &str = "OUTSIDE_BASE_DIRECTORIES";
const NO_FILE: &str = "NOT_A_REGULAR_FILE";
const NO_DIRECTORY: &str = "WAY_IS_NO_DIRECTORY";
const EXISTS: &str = "PATH_EXISTS";
const MISSING: &str = "FILE_MISSING";
const REFUSED: &str = "PATH_REFUSED";

/// Paths that a task may use neither as source nor as destination. `D` is the directory of the row and `B` the base directory.
const BOTH: &[Obstacle] = &[
    row("empty", "=", nothing, MANIFEST),
    row("relative", "=f", nothing, MANIFEST),
    row("relative-dot", "=./f", nothing, MANIFEST),
    row("home", "=~/f", nothing, MANIFEST),
    row("parent", "D/x/../f", nothing, MANIFEST),
    row("parent-first", "=/../etc/passwd", nothing, MANIFEST),
    row("parent-last", "D/x/..", nothing, MANIFEST),
    row("parent-of-base", "B/../b/f", nothing, MANIFEST),
    row("trailing-slash", "D/f/", nothing, MANIFEST),
    row("trailing-dot", "D/f/.", nothing, MANIFEST),
    row("newline", "D/a\nb", nothing, MANIFEST),
    row("escape", "D/a\u{1b}[2Jb", nothing, MANIFEST),
    row("nul", "D/a\0b", nothing, MANIFEST),
    row("delete-character", "D/a\u{7f}b", nothing, MANIFEST),
    row("root", "=/", nothing, MANIFEST),
    row("base-itself", "B", nothing, OUTSIDE),
    row("base-with-dots", "B/./.", nothing, MANIFEST),
    row("base-evil", "B-evil/f", nothing, OUTSIDE),
    row("base-prefix", "Bx", nothing, OUTSIDE),
    row("etc-passwd", "=/etc/passwd", nothing, OUTSIDE),
    row("proc-root", "=/proc/self/root/etc/passwd", nothing, OUTSIDE),
    row("proc-cwd", "=/proc/self/cwd/f", nothing, OUTSIDE),
    row("proc-fd", "=/proc/self/fd/3", nothing, OUTSIDE),
    row("proc-thread", "=/proc/thread-self/fd/3", nothing, OUTSIDE),
    row("dev-stdin", "=/dev/stdin", nothing, OUTSIDE),
    row("dev-null", "=/dev/null", nothing, OUTSIDE),
    row("state", "B/.actum/journal", nothing, REFUSED),
    row("state-in-capitals", "B/.ACTUM/journal", nothing, REFUSED),
    row("state-below", "D/.actum/x", nothing, REFUSED),
    row("git", "B/.git/config", nothing, REFUSED),
    row("git-in-capitals", "D/.Git/config", nothing, REFUSED),
    row("link-to-directory", "D/l/f", |w, d| link(w, &format!("{d}/l"), "real"), NO_DIRECTORY),
    row(
        "link-to-outside-directory",
        "D/l/secret",
        |w, d| link(w, &format!("{d}/l"), &w.path("outside")),
        NO_DIRECTORY,
    ),
    row("link-to-root", "D/l/etc/passwd", |w, d| link(w, &format!("{d}/l"), "/"), NO_DIRECTORY),
    row("link-to-parent", "D/l/real/f", |w, d| link(w, &format!("{d}/l"), "."), NO_DIRECTORY),
    row(
        "link-through-proc",
        "D/l/f",
        |w, d| link(w, &format!("{d}/l"), "/proc/self/cwd"),
        NO_DIRECTORY,
    ),
    row("link-deep", "D/real/l/x/f", |w, d| link(w, &format!("{d}/real/l"), ".."), NO_DIRECTORY),
    row(
        "link-to-other-base",
        "D/l/f",
        |w, d| link(w, &format!("{d}/l"), &w.path("b")),
        NO_DIRECTORY,
    ),
    row("dangling-directory", "D/l/f", |w, d| link(w, &format!("{d}/l"), "none"), NO_DIRECTORY),
    row("link-loop", "D/l/f", |w, d| link(w, &format!("{d}/l"), "l"), NO_DIRECTORY),
    row("file-on-the-way", "D/f/x", nothing, "WAY_IS_A_FILE"),
    row(
        "fifo-on-the-way",
        "D/p/x",
        |w, d| special(w, &format!("{d}/p"), FileType::Fifo),
        NO_DIRECTORY,
    ),
    row("missing-directory", "D/none/f", nothing, MISSING),
    row("missing-directories", "D/none/none/f", nothing, MISSING),
];

/// Paths that a task may not use as its source.
const SOURCES: &[Obstacle] = &[
    row("missing", "D/none", nothing, MISSING),
    row("directory", "D/real", nothing, NO_FILE),
    row("link", "D/l", |w, d| link(w, &format!("{d}/l"), "f"), NO_FILE),
    row(
        "link-outside",
        "D/l",
        |w, d| link(w, &format!("{d}/l"), &w.path("outside/secret")),
        NO_FILE,
    ),
    row("link-absolute", "D/l", |w, d| link(w, &format!("{d}/l"), "/etc/passwd"), NO_FILE),
    row("dangling-link", "D/l", |w, d| link(w, &format!("{d}/l"), "none"), NO_FILE),
    row("loop", "D/l", |w, d| link(w, &format!("{d}/l"), "l"), NO_FILE),
    row("fifo", "D/p", |w, d| special(w, &format!("{d}/p"), FileType::Fifo), NO_FILE),
    row("device", "D/p", |w, d| special(w, &format!("{d}/p"), FileType::CharacterDevice), NO_FILE),
    row(
        "socket",
        "D/s",
        |w, d| drop(UnixListener::bind(w.path(&format!("{d}/s"))).unwrap()),
        NO_FILE,
    ),
    row(
        "hard-link",
        "D/h",
        |w, d| std::fs::hard_link(w.path(&format!("{d}/f")), w.path(&format!("{d}/h"))).unwrap(),
        "HARD_LINK",
    ),
    row(
        "hard-link-to-outside",
        "D/h",
        |w, d| std::fs::hard_link(w.path("outside/secret"), w.path(&format!("{d}/h"))).unwrap(),
        "HARD_LINK",
    ),
    row("wildcard", "D/*", nothing, MISSING),
    row("question-mark", "D/?", nothing, MISSING),
    row("braces", "D/{f,g}", nothing, MISSING),
    row("shell", "D/f; rm -rf .", nothing, MISSING),
    row("substitution", "D/$(echo f)", nothing, MISSING),
];

/// Paths that a task may not use as its destination.
const DESTINATIONS: &[Obstacle] = &[
    row("same", "D/f", nothing, MANIFEST),
    row("same-in-other-spelling", "D//./f", nothing, MANIFEST),
    row("existing-file", "D/g", nothing, EXISTS),
    row("existing-directory", "D/real", nothing, EXISTS),
    row("existing-link", "D/l", |w, d| link(w, &format!("{d}/l"), "g"), NO_FILE),
    row("dangling-link", "D/l", |w, d| link(w, &format!("{d}/l"), "none"), NO_FILE),
    row(
        "dangling-link-outside",
        "D/l",
        |w, d| link(w, &format!("{d}/l"), &w.path("outside/new")),
        NO_FILE,
    ),
    row("fifo", "D/p", |w, d| special(w, &format!("{d}/p"), FileType::Fifo), NO_FILE),
    row("device", "D/p", |w, d| special(w, &format!("{d}/p"), FileType::CharacterDevice), NO_FILE),
    row("other-base-existing", "O/taken", nothing, EXISTS),
    row("other-base-missing-directory", "O/none/x", nothing, MISSING),
    row("other-base-link", "O/l/x", |w, _| drop(symlink(w.path("a"), w.path("b/l"))), NO_DIRECTORY),
];

/// Returns the path of a row with its placeholders replaced.
fn resolve(world: &World, directory: &str, path: &str) -> String {
    match path.split_at(1) {
        ("=", absolute) => absolute.to_owned(),
        ("D", below) => format!("{}{below}", world.path(directory)),
        ("B", below) => format!("{}{below}", world.path("a")),
        ("O", below) => format!("{}{below}", world.path("b")),
        _ => panic!("{path}"),
    }
}

fn manifest(task: &str, capability: &str, source: &str, destination: Option<&str>) -> String {
    let input = match destination {
        None => serde_json::json!({"source_path": source}),
        Some(to) => serde_json::json!({"source_path": source, "destination_path": to}),
    };
    serde_json::json!({
        "task_id": task, "capability_id": capability, "input": input,
        "constraints": {"reversible": true},
    })
    .to_string()
}

/// Creates a world with files outside the base directories that must not change.
fn world() -> World {
    let world = World::new();
    world.directory.put("outside/secret", "secret");
    world.directory.put("a-evil/f", "evil");
    world.directory.put("b/taken", "taken");
    world
}

/// Prepares the directory of a row.
fn prepare(world: &World, row: &Obstacle, directory: &str) {
    world.directory.put(format!("{directory}/f"), "f");
    world.directory.put(format!("{directory}/g"), "g");
    world.directory.put(format!("{directory}/real/f"), "real");
    (row.setup)(world, directory);
}

fn check(world: &World, name: &str, manifest: &str, reason: &str, wrong: &mut Vec<String>) {
    let before = world.files();
    let end = world.run(manifest);
    let found = failure(&end);
    if found != (ErrorCode::ExecutionFailed, reason.to_owned()) {
        wrong.push(format!("{name}: {found:?} and not {reason}: {:?}", end.result.detail));
    }
    if world.files() != before {
        wrong.push(format!("{name}: files changed"));
    }
}

/// FE-3, FE-6, FE-7, FE-16
#[test]
fn attacks_through_the_source_path_have_no_effect() {
    let (mut rows, mut wrong) = (0, Vec::new());
    for capability in ["FILE_MOVE", "FILE_COPY", "FILE_DELETE"] {
        let world = world();
        for row in BOTH.iter().chain(SOURCES) {
            rows += 1;
            let name = format!("{capability}-from-{}", row.name);
            let directory = format!("a/{rows}");
            prepare(&world, row, &directory);
            let source = resolve(&world, &directory, row.path);
            let to = format!("{}/new", world.path(&directory));
            let to = (capability != "FILE_DELETE").then_some(&*to);
            let manifest = manifest(&name, capability, &source, to);
            check(&world, &name, &manifest, row.reason, &mut wrong);
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(rows >= 150, "{rows}");
}

/// FE-3, FE-4, FE-6, FE-7, FE-16
#[test]
fn attacks_through_the_destination_path_have_no_effect() {
    let (mut rows, mut wrong) = (0, Vec::new());
    for capability in ["FILE_MOVE", "FILE_COPY"] {
        let world = world();
        for row in BOTH.iter().chain(DESTINATIONS) {
            rows += 1;
            let name = format!("{capability}-to-{}", row.name);
            let directory = format!("a/{rows}");
            prepare(&world, row, &directory);
            let from = format!("{}/f", world.path(&directory));
            let to = resolve(&world, &directory, row.path);
            let manifest = manifest(&name, capability, &from, Some(&to));
            check(&world, &name, &manifest, row.reason, &mut wrong);
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// FE-3: the kernel's limits on the length of names and paths, tested on both sides.
#[test]
fn name_and_path_lengths_follow_kernel_limits() {
    let world = world();
    world.directory.put("a/f", "f");
    let name = |length: usize| format!("{}/{}", world.path("a"), "n".repeat(length));
    let from = world.path("a/f");
    let run = |task: &str, to: &str| world.run(&manifest(task, "FILE_COPY", &from, Some(to)));
    assert_eq!(run("fits", &name(255)).result.error_code, None);
    assert_eq!(failure(&run("long", &name(256))).1, MANIFEST);
    let deep = format!("{}{}", world.path("a"), "/d".repeat(2100));
    assert_eq!(failure(&run("deep", &deep)).1, MANIFEST);
}

/// FE-6, FE-7: a base directory that is missing, a file or a link is rejected.
#[test]
fn missing_or_replaced_base_directory_is_rejected() {
    let world = world();
    let base = world.path("a");
    let failed = |task: &str| {
        let manifest =
            manifest(task, "FILE_COPY", &format!("{base}/f"), Some(&format!("{base}/new")));
        failure(&world.run(&manifest))
    };
    let expected = (ErrorCode::ExecutionFailed, "BASE_DIRECTORY_UNUSABLE".to_owned());
    std::fs::remove_dir_all(&base).unwrap();
    assert_eq!(failed("missing"), expected);
    std::fs::write(&base, "file").unwrap();
    assert_eq!(failed("file"), expected);
    std::fs::remove_file(&base).unwrap();
    symlink(world.path("outside"), &base).unwrap();
    world.directory.put("outside/f", "f");
    let before = std::fs::read_dir(world.path("outside")).unwrap().count();
    assert_eq!(failed("link"), expected);
    assert_eq!(std::fs::read_dir(world.path("outside")).unwrap().count(), before);
}
