//! A hostile package whose attacks all succeed without actum, and all fail under `actum action run`.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::program::text;
use crate::stage::{ALLOWED, Stage, manifest, plan, status};
use crate::trees::tree;
use serde_json::{Value, json};
use tempfile::TempDir;

const ATTACKS: &str = include_str!("plugin_attacks/execute.js");
const HOLDS: &str = "module.exports = async () => ({ checks: [{ name: 'it_holds', ok: true }] });";
const RESTORES: &str = "module.exports = async ({ context }) => { const fs = require('fs'); \
    fs.writeFileSync(context.workspace + '/a.txt', fs.readFileSync(context.before + '/a.txt')); };";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Calls a step of the package directly, in the way actum would call it.
const DRIVER: &str = "require(process.argv[1])(JSON.parse(process.argv[2]))\
    .then((output) => console.log(JSON.stringify(output)));";

/// Targets of one attack on the host: files, a process and sockets that no other test uses.
struct Host {
    stage: Stage,
    /// Stored outside `/tmp`, because a scratch directory would hide it there.
    outside: TempDir,
    secret: String,
    victim: Child,
    stream: UnixListener,
    tcp: TcpListener,
    udp: UdpSocket,
}

impl Host {
    fn new() -> Self {
        let stage = Stage::new(ALLOWED);
        let outside = tempfile::Builder::new().prefix("actum-hostile-").tempdir_in("/var/tmp");
        let outside = outside.unwrap();
        // Reuses the random name of the directory.
        let name = outside.path().file_name().unwrap().to_str().unwrap().to_owned();
        let secret = format!("secret{}", name.replace("actum-hostile-", ""));
        let beside = stage.root.with_file_name("beside");
        fs::create_dir(&beside).unwrap();
        for (directory, file, content) in [
            (outside.path(), "secret", secret.as_str()),
            (outside.path(), &secret, ""),
            (outside.path(), "file", "as it was"),
            (&beside, "secret", &secret),
            (&beside, "taken", "as it was"),
        ] {
            fs::write(directory.join(file), content).unwrap();
        }
        symlink(format!("/nowhere/{secret}"), outside.path().join("link")).unwrap();
        symlink(outside.path().join("secret"), stage.root.join("given")).unwrap();
        symlink(outside.path(), stage.root.join("given-directory")).unwrap();
        let victim = Command::new("/bin/sleep")
            .arg0(&secret)
            .arg("300")
            .env_clear()
            .env("SECRET", &secret)
            .current_dir(outside.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let host = Self {
            stream: UnixListener::bind(outside.path().join("stream")).unwrap(),
            tcp: TcpListener::bind(("127.0.0.1", 0)).unwrap(),
            udp: UdpSocket::bind(("127.0.0.1", 0)).unwrap(),
            stage,
            outside,
            secret,
            victim,
        };
        host.stream.set_nonblocking(true).unwrap();
        host.tcp.set_nonblocking(true).unwrap();
        host.udp.set_nonblocking(true).unwrap();
        host
    }

    fn name(&self) -> &str {
        self.outside.path().file_name().unwrap().to_str().unwrap()
    }

    fn input(&self) -> Value {
        json!({
            "outside": self.outside.path(),
            "beside": self.stage.root.with_file_name("beside"),
            "victim": self.victim.id(),
            "tcp": self.tcp.local_addr().unwrap().port(),
            "udp": self.udp.local_addr().unwrap().port(),
            "name": self.name(),
        })
    }

    /// Returns the state of the files outside the sandbox and of the target process.
    fn look(&mut self) -> String {
        let mut lines = Vec::new();
        for place in [self.outside.path(), &self.stage.root.with_file_name("beside")] {
            for (path, (mode, content)) in tree(place) {
                let metadata = fs::symlink_metadata(place.join(&path)).unwrap();
                let times = (metadata.mtime(), metadata.mtime_nsec(), metadata.nlink());
                lines.push(format!("{} {mode:o} {times:?} {content:?}", path.display()));
            }
        }
        let process = fs::read_to_string(format!("/proc/{}/stat", self.victim.id()));
        let process = process.unwrap_or_default();
        let fields: Vec<&str> =
            process.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        lines.push(format!("ended {:?}", self.victim.try_wait().unwrap()));
        lines.push(format!("priority {:?}", fields.get(16)));
        lines.join("\n")
    }

    /// Returns the sockets that received data.
    fn heard(&self) -> Vec<&'static str> {
        let mut bytes = [0; 16];
        [
            ("a path", self.stream.accept().is_ok()),
            ("TCP", self.tcp.accept().is_ok()),
            ("UDP", self.udp.recv(&mut bytes).is_ok()),
        ]
        .into_iter()
        .filter_map(|(name, heard)| heard.then_some(name))
        .collect()
    }

    /// Returns the IDs of processes that the attack left running.
    fn left(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let is_left = |id: &u32| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.contains("trap") && line.contains(self.name())
        };
        entries.filter_map(|it| it.file_name().to_str()?.parse().ok()).filter(is_left).collect()
    }

    /// Counts the system-wide objects that the attack created, and removes them.
    fn made_in_the_system(&self) -> usize {
        let start = format!("pwned-{}-", self.name());
        let entries = fs::read_dir("/var/tmp").unwrap().flatten();
        let made = entries.filter(|it| it.file_name().to_string_lossy().starts_with(&start));
        made.map(|entry| fs::remove_dir(entry.path()).unwrap()).count()
    }

    /// Returns the attempts that had an effect, and the total number of attempts.
    fn worked(&self, answers: &Value) -> (Vec<String>, usize) {
        let answers = answers.as_object().unwrap_or_else(|| panic!("no answers: {answers}"));
        let has_effect = |(name, answer): (&String, &Value)| {
            let answer = answer.as_str().unwrap();
            let works = match name.starts_with("read ") {
                true => answer.contains(&self.secret),
                false => !answer.starts_with("failed: "),
            };
            works.then(|| name.clone())
        };
        (answers.iter().filter_map(has_effect).collect(), answers.len())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for id in self.left() {
            drop(Command::new("kill").args(["-9", &id.to_string()]).status());
        }
        drop(self.victim.kill());
        drop(self.victim.wait());
    }
}

/// AA-10: every attempt succeeds without actum, and none succeeds from a step of a package.
#[test]
fn hostile_package_cannot_reach_the_host() {
    let mut host = Host::new();
    let before = host.look();
    let script = host.outside.path().join("execute.js");
    fs::write(&script, ATTACKS).unwrap();
    let called = json!({ "input": host.input(), "context": { "workspace": &host.stage.root } });
    let output = Command::new("/usr/bin/env")
        .arg("node")
        .args(["-e", DRIVER, script.to_str().unwrap(), &called.to_string()])
        .env_clear()
        .env("PATH", PATH)
        .env("SECRET", &host.secret)
        .output()
        .unwrap();
    let answered: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (worked, all) = host.worked(&answered["answers"]);
    assert_eq!(worked.len(), all, "without actum each has an effect: {answered:#}");
    assert_ne!(host.look(), before);
    assert_eq!(host.heard(), ["a path", "TCP", "UDP"]);
    assert_eq!((host.left().is_empty(), host.made_in_the_system()), (false, 1));
    drop(host);

    let mut host = Host::new();
    let (before, files) = (host.look(), tree(&host.stage.root));
    host.stage.package("hostile", &manifest("hostile", "R2"), [ATTACKS, HOLDS, RESTORES]);
    assert_eq!(host.stage.activate("hostile").code, 0);
    let result = host.stage.act_beside_a_secret(&plan("hostile", host.input()), &host.secret);
    assert_eq!(status(&result), ("succeeded", None), "{result:#}");
    let (worked, tried) = host.worked(&result["output"]["answers"]);
    assert_eq!((worked, tried), (Vec::new(), all), "{result:#}");
    assert!(!result.to_string().contains(&host.secret), "{result:#}");
    assert_eq!(host.look(), before);
    assert_eq!(host.heard(), [""; 0]);
    assert_eq!((host.left(), host.made_in_the_system()), (Vec::new(), 0));
    // The changes it made inside the workspace are recorded as an ordinary run.
    assert_eq!(text(&host.stage.root, "a.txt"), "two\n");
    assert_eq!(host.stage.actum(&["undo"]).code, 0);
    let mut after = tree(&host.stage.root);
    after.retain(|path, _| !path.starts_with("actions"));
    assert_eq!(after, files);
}

/// AA-4, AA-10, AA-11: the gates judge the changes in its view like any others, and the size of the view is limited.
#[test]
fn hostile_package_cannot_leave_forbidden_changes_or_fill_the_disk() {
    let stage = Stage::new(ALLOWED);
    fs::create_dir_all(stage.root.join(".git/hooks")).unwrap();
    let before = |root: &Path| {
        let mut found = tree(root);
        found.retain(|path, _| !path.starts_with("actions"));
        found
    };
    let files = before(&stage.root);
    let restores =
        RESTORES.replace("};", "fs.rmSync(context.workspace + '/.env', { force: true }); };");
    let body = |acts: &str| {
        format!(
            "const fs = require('fs'); const child = require('child_process'); \
             module.exports = async ({{ context }}) => {{ process.chdir(context.workspace); \
             fs.writeFileSync('a.txt', 'two\\n'); {acts}; return {{}}; }};"
        )
    };
    for (name, acts, expected, message) in [
        (
            "hook",
            "fs.writeFileSync('.git/hooks/post-commit', 'x')",
            "EFFECT_NOT_KEPT",
            ".git/hooks",
        ),
        ("state", "fs.writeFileSync('.actum/x', 'x')", "PLUGIN_FAILED", ".actum"),
        ("secrets", "fs.writeFileSync('.env', 'x')", "CHANGE_DENIED", ".env"),
        ("links", "fs.symlinkSync('../..', 'out')", "EFFECT_NOT_KEPT", "out"),
        ("pipe", "child.execFileSync('mkfifo', ['pipe'])", "EFFECT_NOT_KEPT", "pipe"),
        (
            "fill",
            "const file = fs.openSync('fill', 'w'); const bytes = Buffer.alloc(1 << 24, 1); \
             for (let at = 0; at < 256; at++) fs.writeSync(file, bytes)",
            "PLUGIN_FAILED",
            "ENOSPC",
        ),
        ("hole", "fs.truncateSync(fs.openSync('hole', 'w'), 2 ** 40)", "PLUGIN_FAILED", "EFBIG"),
    ] {
        stage.package(name, &manifest(name, "R2"), [&body(acts), HOLDS, &restores]);
        assert_eq!(stage.activate(name).code, 0, "{name}");
        let result = stage.act(&plan(name, json!({})));
        assert_eq!(status(&result).1, Some(expected), "{name}: {result:#}");
        assert!(
            result["feedback"]["message"].as_str().unwrap().contains(message),
            "{name}: {result:#}"
        );
        assert_eq!(before(&stage.root), files, "{name}");
    }
}
