//! Malformed or unusable commands and policies: each is an error with a reason, and nothing is started.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use actum_sandbox::{
    Enforcement, Helper, HostReport, Limits, Missing, Resource, SandboxPolicy, Tier, View,
};
use tempfile::TempDir;

/// Returns the full report of this host and one that is reduced to tier L, as far as the host supports them.
fn hosts() -> &'static [HostReport] {
    static HOSTS: OnceLock<Vec<HostReport>> = OnceLock::new();
    HOSTS.get_or_init(|| {
        let whole = HostReport::probe(&helper());
        let missing = Missing::of_host("take tier N".to_owned(), "not in this test".to_owned());
        let lower = HostReport {
            tier_n: Err(missing.clone()),
            loopback: Err(missing.clone()),
            overlay: Err(missing),
            ..whole.clone()
        };
        let mut hosts = vec![whole, lower];
        hosts.retain(|host| host.tier_n.is_ok() || host.tier_l.is_ok());
        hosts
    })
}

fn helper() -> Helper {
    Helper::at(env!("CARGO_BIN_EXE_sandbox-inside"))
}

/// A directory that a command may write to and execute programs from.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::Builder::new().prefix("actum-bad-").tempdir_in("/var/tmp").unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn policy(&self) -> SandboxPolicy {
        let system = ["/usr", "/bin", "/lib", "/lib64"].map(Path::new);
        let read: Vec<_> =
            system.into_iter().filter(|path| path.exists()).map(Path::to_owned).collect();
        let place = self.path("");
        let place = place.components().collect::<PathBuf>();
        let mut exec = read.clone();
        exec.push(place.clone());
        SandboxPolicy { read, exec, write: vec![place.clone()], ..SandboxPolicy::new(place) }
    }

    /// Creates an executable file.
    fn program(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) -> OsString {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        path.into()
    }

    /// Returns a command that would create a marker file.
    fn marking(&self) -> Vec<OsString> {
        let marker = self.path("marker");
        ["/usr/bin/touch".into(), marker.into()].to_vec()
    }

    fn is_marked(&self) -> bool {
        self.path("marker").exists()
    }

    /// Returns the error for a command, which must be the same in every tier.
    fn refusal(&self, policy: &SandboxPolicy, command: &[OsString]) -> String {
        let refused = |host: &HostReport| {
            let plan = match policy.plan(host) {
                Ok(plan) => plan,
                Err(refusal) => return refusal.to_string(),
            };
            match plan.spawn(&helper(), command).map(|child| child.wait().unwrap()) {
                Ok(outcome) => {
                    let stderr = String::from_utf8_lossy(&outcome.stderr);
                    let marked = self.is_marked();
                    panic!("it ran: {:?} marked {marked}: {stderr}", outcome.ended)
                }
                Err(error) => error.to_string(),
            }
        };
        let mut reasons: Vec<String> = hosts().iter().map(refused).collect();
        assert!(!self.is_marked(), "{reasons:?}");
        reasons.dedup();
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        let reason = reasons.remove(0);
        assert!(reason.ends_with("nothing was started"), "{reason}");
        reason
    }

    /// Returns the error for an invalid policy, under which the command would otherwise leave a marker.
    fn policy_refusal(&self, change: impl FnOnce(&mut SandboxPolicy)) -> String {
        let mut policy = self.policy();
        change(&mut policy);
        self.refusal(&policy, &self.marking())
    }
}

#[track_caller]
fn assert_contains(reason: &str, expected: &str) {
    assert!(reason.contains(expected), "`{reason}` does not say `{expected}`");
}

/// AA-10
#[test]
fn runnable_command_leaves_its_marker() {
    for host in hosts() {
        let place = Place::new();
        let plan = place.policy().plan(host).unwrap();
        let outcome = plan.spawn(&helper(), &place.marking()).unwrap().wait().unwrap();
        assert!(place.is_marked(), "{outcome:?}");
    }
}

/// AA-10
#[test]
fn empty_or_relative_command_is_rejected() {
    let place = Place::new();
    let refusal = |words: &[&[u8]]| {
        let command: Vec<_> = words.iter().map(|word| OsString::from_vec(word.to_vec())).collect();
        place.refusal(&place.policy(), &command)
    };
    assert_contains(&refusal(&[]), "no command was given");
    assert_contains(&refusal(&[b""]), "the path of the program must be absolute");
    assert_contains(
        &refusal(&[b"touch"]),
        "cannot run `touch`: the path of the program must be absolute",
    );
    assert_contains(&refusal(&[b"./touch"]), "cannot run `./touch`");
    assert_contains(&refusal(&[b"/usr/bin/touch", b"a\0b"]), "the command contains a NUL byte");
    assert_contains(&refusal(&[b"/usr/bin/to\0uch"]), "the command contains a NUL byte");
    assert_contains(
        &refusal(&[b"/usr/bin/no-such-program"]),
        "could not execute `/usr/bin/no-such-program`",
    );
    assert_contains(&refusal(&[b"/usr/bin"]), "could not execute `/usr/bin`");
}

/// AA-10
#[test]
fn file_that_is_not_a_program_is_rejected() {
    let place = Place::new();
    let refusal = |program: OsString| place.refusal(&place.policy(), &[program]);
    let plain = place.program("plain", "#!/bin/sh\ntouch marker\n", 0o644);
    assert_contains(&refusal(plain), "it is not executable");
    let lost = place.program("lost", "#!/no/such/interpreter\n", 0o755);
    assert_contains(&refusal(lost), "its interpreter or its dynamic loader");
    // This path exists but is not declared.
    let policy = SandboxPolicy { exec: Vec::new(), ..place.policy() };
    let script = place.program("script", "#!/bin/sh\ntouch marker\n", 0o755);
    assert_contains(&place.refusal(&policy, &[script]), "the policy does not allow executing it");
}

/// FE-16: no shell is started even if the kernel does not recognise the file as a program.
#[test]
fn script_without_an_interpreter_is_not_passed_to_a_shell() {
    let place = Place::new();
    let refusal = |program: OsString| place.refusal(&place.policy(), &[program]);
    let text = place.program("text", "/usr/bin/touch marker\n", 0o755);
    assert_contains(
        &refusal(text),
        "it is neither a program for this machine nor a script that starts with `#!`",
    );
    assert_contains(
        &refusal(place.program("empty", "", 0o755)),
        "it is neither a program for this machine",
    );
}

/// FE-16
#[test]
fn foreign_architecture_program_is_not_passed_to_a_shell() {
    let place = Place::new();
    // A bare ELF header for a processor that no test machine has.
    const SPARC: u8 = 2;
    let mut header = [0_u8; 64];
    for (at, byte) in [0x7f, b'E', b'L', b'F', 2, 1, 1].into_iter().enumerate() {
        header[at] = byte;
    }
    (header[16], header[18], header[20], header[52]) = (2, SPARC, 1, 64);
    let program = place.program("foreign", header, 0o755);
    let refusal = place.refusal(&place.policy(), &[program]);
    assert_contains(&refusal, "it is neither a program for this machine");
}

/// AA-10
#[test]
fn contradictory_policy_is_rejected() {
    let place = Place::new();
    let (work, git) = (place.path("."), place.path(".git"));
    let work = work.components().collect::<PathBuf>();
    let refusal = place.policy_refusal(|policy| policy.deny_write.push(work));
    assert_contains(&refusal, "is writable, but is also in `deny_write` or below a path in it");
    let refusal = place.policy_refusal(|policy| policy.deny_write.push("/usr/lib".into()));
    assert_contains(&refusal, "`/usr/lib` in `deny_write` is not below any path in `write`");
    let inner = place.path(".git/inner");
    let refusal = place.policy_refusal(|policy| {
        policy.deny_write.push(git.clone());
        policy.write.push(inner);
    });
    assert_contains(&refusal, "is writable, but is also in `deny_write` or below a path in it");
    let refusal = place.policy_refusal(|policy| {
        policy.scratch = Some(1 << 20);
        policy.view = Some(View {
            base: "/tmp".into(),
            staged: None,
            caches: vec![],
            before: None,
            upper: None,
            max: 1 << 20,
        });
    });
    assert_contains(&refusal, "is hidden by the scratch directory");
    let refusal = place.policy_refusal(|policy| {
        policy.view = Some(View {
            base: git,
            staged: None,
            caches: vec![],
            before: None,
            upper: None,
            max: 1 << 20,
        });
    });
    assert_contains(&refusal, "overlaps the view, which is writable already");
}

/// FE-12
#[test]
fn limits_outside_the_sensible_range_are_rejected() {
    let place = Place::new();
    for resource in Resource::ALL {
        let (least, most) = resource.sensible();
        for max in [0, least - 1, most + 1, u64::MAX] {
            let refusal = place.policy_refusal(|policy| {
                policy.limits = Limits::default().with(resource, max, Enforcement::Polled);
            });
            assert_contains(
                &refusal,
                &format!("the limit on {resource} is {max}, but must be between {least}"),
            );
        }
    }
    for scratch in [0, 1, u64::MAX] {
        let refusal = place.policy_refusal(|policy| policy.scratch = Some(scratch));
        assert_contains(&refusal, &format!("`scratch` is {scratch} bytes, but must be between"));
    }
}

/// AA-10
#[test]
fn invalid_policy_paths_are_rejected() {
    let place = Place::new();
    let refusal = |path: &[u8]| {
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        let by_read = place.policy_refusal(|policy| policy.read.push(path.clone()));
        let by_write = place.policy_refusal(|policy| policy.write.push(path.clone()));
        assert_eq!(by_read.replace("`read`", "`write`"), by_write);
        by_read
    };
    assert_contains(&refusal(b""), "is not an absolute path");
    assert_contains(&refusal(b"src"), "`src` in `read` is not an absolute path");
    assert_contains(&refusal(b"/"), "`/` in `read` would allow everything");
    assert_contains(&refusal(b"/usr/../etc"), "contains a `.` or `..` component");
    assert_contains(&refusal(b"/usr/\0"), "`read` contains a NUL byte");
    assert_contains(&refusal(b"/usr/\xff"), "is not valid UTF-8");
    assert_contains(
        &place.policy_refusal(|policy| policy.cwd = "/etc".into()),
        "the working directory `/etc`",
    );
    assert_contains(&place.policy_refusal(|policy| policy.cwd = "work".into()), "`work` in `cwd`");
    let missing = place.path("missing");
    assert_contains(&place.policy_refusal(|policy| policy.cwd = missing), "could not start in");
    for name in ["", "A=B"] {
        let refusal =
            place.policy_refusal(|policy| drop(policy.env.insert(name.into(), "".into())));
        assert_contains(&refusal, "is not a valid name of an environment variable");
    }
    let refusal = place.policy_refusal(|policy| drop(policy.env.insert("A".into(), "a\0b".into())));
    assert_contains(&refusal, "`env` contains a NUL byte");
}

/// AA-10, FE-16
#[test]
fn declared_path_that_is_missing_or_a_symlink_is_rejected() {
    let place = Place::new();
    fs::create_dir_all(place.path("real/inner")).unwrap();
    symlink(place.path("real"), place.path("link")).unwrap();
    symlink(place.path("link"), place.path("loop")).unwrap();
    let missing = place.path("missing");
    // Use paths outside the writable directory, because a path below it needs no separate declaration.
    for path in [PathBuf::from("/var/no-such-directory"), PathBuf::from("/usr/bin/env/x")] {
        let refusal = place.policy_refusal(|policy| policy.read.push(path.clone()));
        assert_contains(&refusal, &format!("could not open `{}`", path.display()));
        let refusal = place.policy_refusal(|policy| policy.write.push(path.clone()));
        assert_contains(&refusal, &format!("could not open `{}`", path.display()));
    }
    assert_contains(&place.policy_refusal(|policy| policy.write.push(missing)), "could not open");
    for name in ["link/inner", "loop/inner"] {
        let refusal = place.policy_refusal(|policy| policy.write.push(place.path(name)));
        assert_contains(
            &refusal,
            "it leads through a symbolic link; use the resolved path instead",
        );
    }
}

/// AA-10
#[test]
fn deny_write_is_rejected_without_tier_n() {
    let place = Place::new();
    let policy = SandboxPolicy { deny_write: vec![place.path(".git")], ..place.policy() };
    for host in hosts().iter().filter(|host| host.tier_n.is_err()) {
        let refusal = policy.plan(host).unwrap_err();
        assert_eq!(refusal.code(), "NEEDS_TIER_N", "{refusal}");
        let floor = SandboxPolicy { floor: Tier::N, ..place.policy() };
        assert_eq!(floor.plan(host).unwrap_err().code(), "NEEDS_TIER_N");
    }
}
