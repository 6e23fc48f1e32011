//! Runs programs that users verify their work with, in both tiers and under realistic policies. Also tests the changes that a view
//! reports.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::collections::BTreeMap;
use std::fs::{Permissions, create_dir_all, metadata, read, set_permissions, write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use actum_sandbox::{
    Change, Ended, Helper, HostReport, Missing, Net, Node, Outcome, SandboxPolicy, StagedLayer,
    Tier, View,
};
use tempfile::TempDir;

/// Size of a scratch directory in bytes, large enough for a build.
const SCRATCH: u64 = 256 << 20;

/// Creates a host directory outside `/tmp`, where scratch directories are mounted.
fn workspace() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn helper() -> Helper {
    Helper::at(env!("CARGO_BIN_EXE_sandbox-inside"))
}

/// Returns the report of this host. For tier L, the report claims that namespaces are unavailable.
fn host(tier: Tier) -> HostReport {
    static FOUND: OnceLock<HostReport> = OnceLock::new();
    let found = FOUND.get_or_init(|| HostReport::probe(&helper())).clone();
    let missing = Missing::of_host("create namespaces".to_owned(), "this is a test".to_owned());
    match tier {
        Tier::N => found,
        Tier::L => HostReport { tier_n: Err(missing), ..found },
    }
}

/// Returns the path of a program. Panics if it is missing, because `cargo xtask test` installs what it can.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Skip the shims of version managers, which may come first in `PATH`.
    let system = ["/usr/bin", "/usr/local/bin", "/bin"].map(PathBuf::from);
    let mut places = system.into_iter().chain(std::env::split_paths(&path));
    let is_program = |path: &PathBuf| {
        metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let found = places.find_map(|place| Some(place.join(name)).filter(is_program));
    found.unwrap_or_else(|| panic!("`{name}` is not installed, so its test cannot run"))
}

/// Directories with the programs and libraries of the system.
const SYSTEM: [&str; 4] = ["/usr", "/bin", "/lib", "/lib64"];
/// System settings that these programs need: alternatives such as `cc` and `awk` on Debian, the library cache, and files that git
/// and node read if present. In tier L, both would see these files but fail to open them.
const SETTINGS: [&str; 4] =
    ["/etc/alternatives", "/etc/ld.so.cache", "/etc/gitconfig", "/etc/ssl/openssl.cnf"];

fn present(paths: [&str; 4]) -> impl Iterator<Item = PathBuf> {
    paths.into_iter().map(PathBuf::from).filter(|path| path.exists())
}

/// Returns a typical policy for verification: system programs, a read-only workspace, a scratch directory and no network.
fn policy(workspace: &Path) -> SandboxPolicy {
    let system: Vec<_> = present(SYSTEM).collect();
    let read = present(SYSTEM).chain(present(SETTINGS)).chain([workspace.to_owned()]).collect();
    SandboxPolicy {
        read,
        exec: system,
        env: [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LC_ALL", "C.UTF-8")]
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        scratch: Some(SCRATCH),
        ..SandboxPolicy::new(workspace)
    }
}

/// Returns a policy with a writable workspace from which built programs can run.
fn writing(workspace: &Path) -> SandboxPolicy {
    let mut policy = policy(workspace);
    policy.read.pop();
    policy.write.push(workspace.to_owned());
    policy.exec.push(workspace.to_owned());
    policy
}

fn run(policy: &SandboxPolicy, tier: Tier, command: &[&str]) -> Outcome {
    let [name, arguments @ ..] = command else { panic!("no command") };
    let mut words = vec![program(name).into_os_string()];
    words.extend(arguments.iter().map(Into::into));
    let plan = policy.plan(&host(tier)).unwrap();
    assert_eq!(plan.in_force.tier, tier);
    plan.spawn(&helper(), &words).unwrap().wait().unwrap()
}

/// Runs a command that must succeed, and returns its output.
fn passes(policy: &SandboxPolicy, tier: Tier, command: &[&str]) -> String {
    let outcome = run(policy, tier, command);
    let stdout = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(
        (outcome.ended, outcome.violated.as_slice()),
        (Some(Ended::Code(0)), [].as_slice()),
        "tier {tier}: {command:?}\n{stdout}\n{complaints}"
    );
    stdout
}

const BOTH: [Tier; 2] = [Tier::N, Tier::L];

/// AA-10
#[test]
fn node_checks_and_runs_a_file() {
    let workspace = workspace();
    write(workspace.path().join("file.js"), "const a = 1;\nmodule.exports = { a };\n").unwrap();
    let policy = policy(workspace.path());
    for tier in BOTH {
        assert_eq!(passes(&policy, tier, &["node", "--check", "file.js"]), "");
        let script = "console.log(require('./file.js').a, process.version.length > 0)";
        assert_eq!(passes(&policy, tier, &["node", "-e", script]), "1 true\n");
        let script = "const { execFileSync } = require('child_process');\
                      const { Worker } = require('worker_threads');\
                      process.stdout.write(execFileSync('echo', ['child']));\
                      new Worker('console.log(\"thread\")', { eval: true });";
        assert_eq!(passes(&policy, tier, &["node", "-e", script]), "child\nthread\n");
    }
}

/// AA-10
#[test]
fn python_uses_temporary_files_and_subprocesses() {
    let workspace = workspace();
    let policy = policy(workspace.path());
    let script = "\
import json, os, sqlite3, ssl, subprocess, sys, tempfile, threading
with tempfile.TemporaryDirectory() as place, tempfile.NamedTemporaryFile(dir=place) as file:
    file.write(b'x'); file.flush()
    print(os.path.getsize(file.name), place.startswith(os.environ['TMPDIR']))
with tempfile.TemporaryFile() as file:
    file.write(b'y')
print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True).stdout)
thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()
print(sqlite3.connect(os.path.join(os.environ['TMPDIR'], 'base')).execute('select 1').fetchone())
";
    for tier in BOTH {
        let stdout = passes(&policy, tier, &["python3", "-c", script]);
        assert_eq!(stdout, "1 True\nb'42\\n'\nthread\n(1,)\n", "tier {tier}");
    }
}

/// AA-10
#[test]
fn python_multiprocessing_works() {
    let workspace = workspace();
    let script = "\
import multiprocessing
if __name__ == '__main__':
    with multiprocessing.Pool(2) as pool:
        print(pool.map(abs, range(-3, 0)))
    queue = multiprocessing.Queue(); queue.put('queued'); print(queue.get())
";
    // Semaphores are files in `/dev/shm`, which in tier L would be the directory of the host.
    let stdout = passes(&policy(workspace.path()), Tier::N, &["python3", "-c", script]);
    assert_eq!(stdout, "[3, 2, 1]\nqueued\n");
}

/// AA-10
#[test]
fn git_reports_changes_in_the_sandbox() {
    let workspace = workspace();
    let at = workspace.path();
    let git = |arguments: &[&str]| {
        let mut command = Command::new(program("git"));
        command.args(["-c", "user.name=test", "-c", "user.email=test@example.invalid"]);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(command.args(arguments).current_dir(at).status().unwrap().success());
    };
    write(at.join("a"), "one\n").unwrap();
    git(&["init", "--quiet"]);
    git(&["add", "a"]);
    git(&["commit", "--quiet", "--message=first"]);
    write(at.join("a"), "two\n").unwrap();
    write(at.join("b"), "new\n").unwrap();
    for policy in [policy(at), writing(at)] {
        for tier in BOTH {
            let stdout = passes(&policy, tier, &["git", "status", "--porcelain"]);
            assert_eq!(stdout, " M a\n?? b\n", "tier {tier}");
            let stdout = passes(&policy, tier, &["git", "diff", "--unified=0"]);
            assert!(stdout.ends_with("@@ -1 +1 @@\n-one\n+two\n"), "tier {tier}: {stdout}");
            assert_eq!(passes(&policy, tier, &["git", "log", "--format=%s"]), "first\n");
        }
    }
}

/// AA-10
#[test]
fn shells_connect_programs_with_pipes() {
    let workspace = workspace();
    write(workspace.path().join("list"), "b\na\nb\n").unwrap();
    let policy = policy(workspace.path());
    for tier in BOTH {
        let script = "sort list | uniq -c | awk '{ print $2 $1 }' | tr '\\n' ' '";
        assert_eq!(passes(&policy, tier, &["sh", "-c", script]), "a1 b2 ");
        let script = "list=\"$PWD/list\"; cd \"$TMPDIR\"; mkfifo out in; \
                      comm -12 <(sort \"$list\") <(echo a) > >(cat > out) & cat out; \
                      cat <<< here; (echo fifo > in & cat in)";
        assert_eq!(passes(&policy, tier, &["bash", "-c", script]), "a\nhere\nfifo\n");
    }
}

/// AA-10
#[test]
fn copies_and_archives_keep_modes_and_times() {
    for tier in BOTH {
        let workspace = workspace();
        let at = workspace.path();
        create_dir_all(at.join("from/in")).unwrap();
        write(at.join("from/in/run"), "#!/bin/sh\necho ran\n").unwrap();
        set_permissions(at.join("from/in/run"), Permissions::from_mode(0o755)).unwrap();
        symlink("in/run", at.join("from/link")).unwrap();
        let script = "cp -a from to && tar -cf a.tar to && mkdir x && tar -xf a.tar -C x && \
                      install -m 700 from/in/run y && ./x/to/link && ./y && mv x z && rm -r to";
        assert_eq!(passes(&writing(at), tier, &["sh", "-c", script]), "ran\nran\n", "tier {tier}");
    }
}

/// AA-10
#[test]
fn child_of_a_command_reads_its_own_proc_entries() {
    let workspace = workspace();
    for tier in BOTH {
        let mut policy = policy(workspace.path());
        if tier == Tier::L {
            // A process can read its own directory in /proc, but its children cannot read theirs.
            policy.read.push("/proc".into());
        }
        // A shell executes its last command in its own process, so another command follows.
        let script = "node -e 'console.log(process.memoryUsage().rss > 0)'; echo $?";
        assert_eq!(passes(&policy, tier, &["sh", "-c", script]), "true\n0\n", "tier {tier}");
    }
}

/// AA-10
#[test]
fn make_builds_and_runs_a_c_program() {
    for tier in BOTH {
        let workspace = workspace();
        let at = workspace.path();
        write(at.join("main.c"), "#include <stdio.h>\nint main(void) { puts(\"made\"); }\n")
            .unwrap();
        write(at.join("Makefile"), "test: main\n\t./main\nmain: main.c\n\tcc -o $@ $<\n").unwrap();
        let stdout = passes(&writing(at), tier, &["make", "--jobs=2", "--silent", "test"]);
        assert_eq!(stdout, "made\n", "tier {tier}");
    }
}

/// Returns the directory of the Rust toolchain that contains the real program instead of a shim.
fn toolchain() -> PathBuf {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()).canonicalize().unwrap()
}

/// AA-10
#[test]
fn cargo_tests_a_crate_with_a_build_script() {
    let sysroot = toolchain();
    let cargo = sysroot.join("bin/cargo");
    assert!(cargo.is_file(), "`cargo` is not in `{}`", sysroot.display());
    for tier in BOTH {
        let workspace = workspace();
        let at = workspace.path();
        put_crate(at);
        let mut policy = writing(at);
        policy.read.push(sysroot.clone());
        policy.exec.push(sysroot.clone());
        let path = format!("{}/bin:/usr/bin:/bin", sysroot.display());
        policy.env.insert("PATH".into(), path.as_str().into());
        let script = "export CARGO_HOME=\"$TMPDIR/cargo\"; exec cargo test --offline --quiet";
        let stdout = passes(&policy, tier, &["sh", "-c", script]);
        assert!(stdout.contains("2 passed"), "tier {tier}: {stdout}");
    }
}

fn put_crate(at: &Path) {
    create_dir_all(at.join("src")).unwrap();
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
                    [workspace]\n";
    let build = "fn main() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
                 std::fs::write(out + \"/made.rs\", \"pub const MADE: u8 = 7;\").unwrap();\n    \
                 println!(\"cargo:rerun-if-changed=build.rs\");\n}\n";
    let library = "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\n\
                   #[test]\nfn it_was_made() { assert_eq!(MADE, 7); }\n\
                   #[test]\nfn it_has_a_place_for_temporary_files() {\n    \
                   std::fs::write(std::env::temp_dir().join(\"x\"), \"x\").unwrap();\n}\n";
    for (path, text) in [("Cargo.toml", manifest), ("build.rs", build), ("src/lib.rs", library)] {
        write(at.join(path), text).unwrap();
    }
}

/// AA-10
#[test]
fn server_and_client_connect_over_a_private_loopback() {
    let workspace = workspace();
    let script = "\
import socket, threading, urllib.request, http.server
tcp = socket.create_server(('127.0.0.1', 0))
def serve():
    peer, _ = tcp.accept(); peer.sendall(b'tcp ' + peer.recv(9)); peer.close()
threading.Thread(target=serve).start()
with socket.create_connection(tcp.getsockname()) as client:
    client.sendall(b'hello'); print(client.recv(99))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(('127.0.0.1', 0))
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.sendto(b'udp', udp.getsockname()); print(udp.recv(99))
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'page')
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen('http://127.0.0.1:%d/' % server.server_port).read())
";
    let policy =
        SandboxPolicy { net: Net::PrivateLoopback, floor: Tier::N, ..policy(workspace.path()) };
    let stdout = passes(&policy, Tier::N, &["python3", "-c", script]);
    assert_eq!(stdout, "b'tcp hello'\nb'udp'\nb'page'\n");
}

/// Returns the kind, mode and content of everything in a directory.
fn everything(at: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![at.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let stat = std::fs::symlink_metadata(&path).unwrap();
            let content = if stat.is_dir() {
                waiting.push(path.clone());
                Vec::new()
            } else if stat.is_symlink() {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if stat.is_file() {
                read(&path).unwrap()
            } else {
                stat.rdev().to_string().into_bytes()
            };
            all.insert(path.strip_prefix(at).unwrap().to_owned(), (stat.mode(), content));
        }
    }
    all
}

fn file(mode: u32, size: u64) -> Option<Node> {
    Some(Node::File { mode, size })
}

fn directory(mode: u32) -> Option<Node> {
    Some(Node::Directory { mode })
}

/// Writes files with the listed paths, modes and contents.
fn put(base: &Path, list: &[(&str, u32, &str)]) {
    for (path, mode, content) in list {
        let path = base.join(path);
        create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, content).unwrap();
        set_permissions(&path, Permissions::from_mode(*mode)).unwrap();
    }
    for entry in everything(base).keys().map(|path| base.join(path)).filter(|path| path.is_dir()) {
        set_permissions(entry, Permissions::from_mode(0o755)).unwrap();
    }
}

/// AA-10
#[test]
fn view_shows_staged_files_and_reports_changes_without_applying_them() {
    let workspace = workspace();
    let base = workspace.path().join("project");
    put(
        &base,
        &[
            (".git/HEAD", 0o644, "ref: refs/heads/main\n"),
            ("cache/old", 0o644, "old"),
            ("chmod", 0o644, "mode"),
            ("delete", 0o644, "gone"),
            ("deep/in/side", 0o644, "inside"),
            ("keep", 0o644, "kept"),
            ("modify", 0o644, "before"),
            ("moved/a", 0o640, "a"),
            ("rename", 0o644, "moved"),
            ("replace/a", 0o644, "a"),
            ("replace/b", 0o644, "b"),
            ("rewritten", 0o644, "same"),
            ("staged", 0o644, "not yet"),
            ("to-directory", 0o644, "file"),
            ("to-file/in", 0o644, "in"),
            ("unstaged", 0o644, "deleted by the stage"),
        ],
    );
    symlink("keep", base.join("link")).unwrap();
    let layer = workspace.path().join("layer");
    let staged = StagedLayer::create(&layer, &base).unwrap();
    staged.file(Path::new("staged"), &b"staged"[..], 0o644).unwrap();
    staged.file(Path::new("new/staged"), &b"new"[..], 0o755).unwrap();
    staged.delete(Path::new("unstaged")).unwrap();
    staged.symlink(Path::new("staged-link"), Path::new("staged")).unwrap();
    let before = everything(&base);
    let before_layer = everything(&layer);

    let mut policy = policy(&base);
    policy.read.pop();
    let view = View {
        base: base.clone(),
        staged: Some(layer.clone()),
        caches: vec![base.join("cache")],
        before: None,
        upper: None,
        max: 16 << 20,
    };
    policy.view = Some(view);
    policy.deny_write.push(base.join(".git"));
    policy.floor = Tier::N;
    let script = "\
set -e
cat staged new/staged staged-link; echo; test ! -e unstaged; cat .git/HEAD
echo > .git/HEAD && exit 9; rm -r .git 2> /dev/null && exit 9; mv .git away 2> /dev/null && exit 9
printf created > created; mkdir -p made/in; printf x > made/in/x
printf after > modify; printf more >> staged; printf same > rewritten
rm delete; mv rename renamed; chmod 755 chmod
rm -r replace; mkdir replace; printf new > replace/c
rm -r to-file; printf file > to-file; rm to-directory; mkdir to-directory; printf x > to-directory/x
mv moved moved-away
printf changed > deep/in/side
ln -s created symlink; ln -sf modify link
printf back > unstaged; rm new/staged
printf cached > cache/new; rm cache/old
";
    let outcome = run(&policy, Tier::N, &["sh", "-c", script]);
    let stdout = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.ended, Some(Ended::Code(0)), "{stdout}{complaints}");
    assert_eq!(stdout, "stagednewstaged\nref: refs/heads/main\n");

    let captured = outcome.captured.unwrap();
    let mut changes = captured.changes().unwrap();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    let change = |path: &str, before, after| Change {
        path: path.into(),
        before,
        after,
        is_disturbed: false,
    };
    let link = |target: &str| Some(Node::Symlink { target: target.into() });
    let expected = [
        change("chmod", file(0o644, 4), file(0o755, 4)),
        change("created", None, file(0o644, 7)),
        change("deep/in/side", file(0o644, 6), file(0o644, 7)),
        change("delete", file(0o644, 4), None),
        change("link", link("keep"), link("modify")),
        change("made", None, directory(0o755)),
        change("made/in", None, directory(0o755)),
        change("made/in/x", None, file(0o644, 1)),
        change("modify", file(0o644, 6), file(0o644, 5)),
        change("moved", directory(0o755), None),
        change("moved/a", file(0o640, 1), None),
        change("moved-away", None, directory(0o755)),
        change("moved-away/a", None, file(0o640, 1)),
        change("new/staged", file(0o755, 3), None),
        change("rename", file(0o644, 5), None),
        change("renamed", None, file(0o644, 5)),
        change("replace/a", file(0o644, 1), None),
        change("replace/b", file(0o644, 1), None),
        change("replace/c", None, file(0o644, 3)),
        change("staged", file(0o644, 6), file(0o644, 10)),
        change("symlink", None, link("created")),
        change("to-directory", file(0o644, 4), directory(0o755)),
        change("to-directory/x", None, file(0o644, 1)),
        change("to-file", directory(0o755), file(0o644, 4)),
        change("to-file/in", file(0o644, 2), None),
        change("unstaged", None, file(0o644, 4)),
    ];
    assert_eq!(changes, expected);
    let mut content = String::new();
    let mut opened = captured.open(Path::new("renamed")).unwrap();
    std::io::Read::read_to_string(&mut opened, &mut content).unwrap();
    assert_eq!(content, "moved");

    let mut expected = before;
    expected.remove(Path::new("cache/old"));
    expected.insert("cache/new".into(), (0o100644, b"cached".to_vec()));
    assert_eq!(everything(&base), expected);
    assert_eq!(everything(&layer), before_layer);
}
