//! Hostile repositories: nothing that a repository configures is executed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::repo::Repo;

/// Creates a repository that runs a program wherever git allows it. Returns the repository and the file that each program creates.
fn armed() -> (Repo, std::path::PathBuf) {
    let repo = Repo::with(&[("a.txt", b"1\n"), ("b.flt", b"1\n")]);
    let marker = repo.beside("marker");
    fs::create_dir(&marker).unwrap();
    let script = |name: &str| {
        let path = repo.beside(name);
        let text = format!(
            "#!/bin/sh\ntouch {}/{name}-\"$(basename \"$0\")\"\ncat 2>/dev/null\nexit 0\n",
            marker.display()
        );
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let hook = script("hook");
    let hooks = repo.beside("hooks-elsewhere");
    fs::create_dir_all(&hooks).unwrap();
    for name in [
        "pre-commit",
        "post-commit",
        "commit-msg",
        "prepare-commit-msg",
        "reference-transaction",
        "post-index-change",
    ] {
        for directory in [repo.path(".git/hooks"), hooks.clone()] {
            fs::create_dir_all(&directory).unwrap();
            fs::copy(&hook, directory.join(name)).unwrap();
        }
    }
    for (name, value) in [
        ("core.fsmonitor", script("fsmonitor")),
        ("filter.x.clean", script("clean")),
        ("filter.x.smudge", script("smudge")),
        ("merge.m.driver", script("driver")),
        ("diff.d.textconv", script("textconv")),
        ("core.editor", script("editor")),
        ("commit.gpgSign", "true".to_owned()),
        ("gpg.program", script("gpg")),
    ] {
        repo.git(&["config", name, &value]);
    }
    repo.write(".git/info/attributes", "*.flt filter=x\n*.txt merge=m diff=d\n");
    for entry in fs::read_dir(&marker).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    (repo, marker)
}

fn left(marker: &std::path::Path) -> Vec<String> {
    let name =
        |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut left: Vec<String> = fs::read_dir(marker).unwrap().map(name).collect();
    left.sort();
    left
}

/// EX-17: hooks, filters, fsmonitor, merge drivers and signing are disabled, regardless of the repository's configuration.
#[test]
fn programs_configured_by_a_repository_are_never_executed() {
    // Plain git runs these programs, which shows that the test works.
    let (repo, marker) = armed();
    repo.write("a.txt", "2\n");
    repo.write("b.flt", "2\n");
    repo.try_git(&["add", "-A"]);
    repo.try_git(&["commit", "-q", "-m", "x"]);
    let ran = left(&marker);
    for name in
        ["clean-clean", "fsmonitor-fsmonitor", "gpg-gpg", "hook-pre-commit", "hook-commit-msg"]
    {
        assert!(ran.contains(&name.to_owned()), "{name} in {ran:?}");
    }

    for hooks_path in [false, true] {
        let (repo, marker) = armed();
        if hooks_path {
            let elsewhere = repo.beside("hooks-elsewhere");
            repo.git(&["config", "core.hooksPath", elsewhere.to_str().unwrap()]);
        }
        for entry in fs::read_dir(&marker).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let root = &repo.root;
        let opened = actum_git::Repository::open(root).unwrap();
        assert!(opened.check(&repo.before(&["b.flt"])).is_err());
        let id = repo.run(&[("a.txt", Some((b"1\n2\n", false))), ("new", Some((b"n", false)))]);
        let revert = repo.revert(id).unwrap();
        repo.commit_revert(&revert);
        assert_eq!(left(&marker), Vec::<String>::new());
    }
}

/// EX-17: environment variables cannot redirect actum to another repository.
#[test]
fn git_environment_variables_are_ignored() {
    let other = Repo::with(&[("a", b"other\n")]);
    let repo = Repo::with(&[("a", b"1\n")]);
    let program = std::env::current_exe().unwrap();
    let mut again = std::process::Command::new(program);
    again.args(["--exact", "hostile::commits_in_the_given_directory", "--ignored"]);
    again.env("ACTUM_GIT_TEST_ROOT", &repo.root);
    let git = |path: &str| other.path(".git").join(path);
    again.env("GIT_DIR", git("")).env("GIT_WORK_TREE", &other.root);
    again.env("GIT_INDEX_FILE", git("index")).env("GIT_OBJECT_DIRECTORY", git("objects"));
    again.env("GIT_COMMON_DIR", git("")).env("GIT_NAMESPACE", "x");
    again.env("GIT_CONFIG_GLOBAL", other.beside("none")).env("GIT_CONFIG_COUNT", "1");
    again.env("GIT_CONFIG_KEY_0", "core.bare").env("GIT_CONFIG_VALUE_0", "true");
    let untouched = other.git_directory();
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(other.git_directory(), untouched);
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]).trim(), "2");
    assert_eq!(repo.status(), "?? new\n".replace("?? new\n", ""));
    repo.git(&["fsck", "--strict"]);
}

/// EX-17: body of the test above, run in a separate process.
#[test]
#[ignore = "it is run with an environment that misleads"]
fn commits_in_the_given_directory() {
    let root = std::env::var_os("ACTUM_GIT_TEST_ROOT").unwrap();
    let opened = actum_git::Repository::open(root.as_ref()).unwrap();
    let path = crate::repo::rel("new");
    let before = actum_git::Before { path: path.clone(), state: None };
    let checked = opened.check(&[before]).unwrap();
    fs::write(std::path::Path::new(&root).join("new"), b"n").unwrap();
    let new = actum_git::NewFile { bytes: b"n", mode: actum_core::FileMode::REGULAR };
    let change = actum_git::Change { path: &path, after: Some(new) };
    let made = opened.commit(&checked, &[change], &crate::repo::message(), &crate::repo::author());
    crate::repo::whole(made.unwrap());
}

/// EX-17: no FIFO in `.git` makes a command wait for the other end. Without the check, libgit2 would wait forever.
#[test]
fn a_repository_with_a_fifo_is_rejected_without_waiting() {
    let names = [
        "HEAD",
        "ORIG_HEAD",
        "config",
        "index",
        "index.lock",
        "info/exclude",
        "logs/HEAD",
        "logs/refs/heads/main",
        "objects/info/alternates",
        "objects/00/11111111111111111111111111111111111111",
        "packed-refs",
        "refs/heads/main",
        "refs/heads/main.lock",
        "refs/remotes/origin/HEAD",
        "shallow",
    ];
    for name in names {
        let repo = Repo::with(&[("a", b"1\n")]);
        let path = repo.path(&format!(".git/{name}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.exists() {
            fs::remove_file(&path).unwrap();
        }
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let problem = actum_git::Repository::open(&repo.root).unwrap_err();
        assert!(matches!(problem, actum_git::GitProblem::Unsupported { .. }), "{name}: {problem}");
        let expected = format!("`.git/{name}` is a FIFO or a device");
        assert!(problem.to_string().contains(&expected), "{problem}");
    }
    // A symbolic link to a FIFO, at a path where git follows links.
    let repo = Repo::with(&[("a", b"1\n")]);
    let fifo = repo.beside("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    fs::remove_file(repo.path(".git/config")).unwrap();
    std::os::unix::fs::symlink(&fifo, repo.path(".git/config")).unwrap();
    assert!(actum_git::Repository::open(&repo.root).is_err());
    // The directory of a bare repository.
    let bare = repo.beside("bare");
    repo.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    fs::remove_file(bare.join("config")).unwrap();
    assert!(
        std::process::Command::new("mkfifo").arg(bare.join("config")).status().unwrap().success()
    );
    assert!(actum_git::Repository::open(&bare).is_err());
}

/// EX-17: a socket in `.git`, such as that of git's file monitor, does not make a repository unusable.
#[test]
fn fsmonitor_socket_does_not_prevent_opening() {
    let repo = Repo::with(&[("a", b"1\n")]);
    let _socket =
        std::os::unix::net::UnixListener::bind(repo.path(".git/fsmonitor--daemon.ipc")).unwrap();
    actum_git::Repository::open(&repo.root).unwrap();
}

/// EX-17, issue 22 (claims): a few megabytes of compressed zeros can expand to a tree of gigabytes.
#[test]
fn oversized_tree_is_rejected_before_it_is_read() {
    let repo = Repo::with(&[("a.txt", b"1\n")]);
    let object = |kind: &str, content: &[u8]| {
        let file = repo.beside(kind);
        fs::write(&file, content).unwrap();
        let file = file.to_str().unwrap();
        repo.git(&["hash-object", "-t", kind, "-w", "--literally", file]).trim().to_owned()
    };
    let size = 65 << 20;
    let tree = object("tree", &vec![0; size]);
    let identity = "x <x@y> 1 +0000";
    let commit = format!("tree {tree}\nauthor {identity}\ncommitter {identity}\n\nm\n");
    let commit = object("commit", commit.as_bytes());
    let branch = repo.git(&["symbolic-ref", "HEAD"]);
    repo.write(&format!(".git/{}", branch.trim()), format!("{commit}\n"));
    let error = repo.check(&["a.txt"]).unwrap_err().to_string();
    let why = format!("{tree} is too large to read ({size} bytes, but the limit is 67108864)");
    assert!(error.contains(&why), "{error}");
}
