//! Simulates hosts that lack a feature, with system call filters on a thread that all its children inherit. Also tests a sandbox
//! inside a sandbox.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use actum_sandbox::{
    Enforcement, Helper, HostReport, Limits, Resource, SandboxPolicy, SpawnError, Tier,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

fn helper() -> Helper {
    Helper::at(env!("CARGO_BIN_EXE_sandbox-inside"))
}

/// Runs a function on a simulated host on which the given system calls fail with the given errors.
fn on_a_host_without<T: Send + 'static>(
    calls: &[i64],
    error: i32,
    run: impl FnOnce() -> T + Send + 'static,
) -> T {
    let rules: BTreeMap<i64, _> = calls.iter().map(|call| (*call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(error.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
    let program = BpfProgram::try_from(filter).unwrap();
    let thread = std::thread::spawn(move || {
        seccompiler::apply_filter(&program).unwrap();
        run()
    });
    thread.join().unwrap()
}

const LANDLOCK: [i64; 3] = [
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];
const NAMESPACES: [i64; 1] = [libc::SYS_unshare];

fn policy(marker: &Path) -> SandboxPolicy {
    let system: Vec<PathBuf> = ["/usr", "/bin", "/lib", "/lib64"]
        .into_iter()
        .map(PathBuf::from)
        .filter(|path| path.symlink_metadata().is_ok())
        .collect();
    SandboxPolicy {
        read: system.clone(),
        exec: system,
        write: vec![marker.to_owned()],
        ..SandboxPolicy::new(marker)
    }
}

/// Runs a command that leaves a marker, and returns the tier in which it ran, or the error.
fn mark(host: &HostReport, directory: &Path) -> Result<Tier, String> {
    let plan = policy(directory).plan(host).map_err(|refused| refused.to_string())?;
    let command = ["/bin/sh", "-c", "echo ran > ran"].map(OsString::from);
    let child = plan.spawn(&helper(), &command).map_err(|error| error.to_string())?;
    let outcome = child.wait().map_err(|error| error.to_string())?;
    assert!(directory.join("ran").exists(), "{outcome:?}");
    Ok(outcome.in_force.tier)
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// AA-10
#[test]
fn without_namespaces_a_command_runs_in_tier_l() {
    let ran = on_a_host_without(&NAMESPACES, libc::EPERM, || {
        let host = HostReport::probe(&helper());
        assert_eq!(host.tier_n.clone().unwrap_err().step, "create namespaces");
        assert!(host.loopback.is_err() && host.overlay.is_err() && !host.namespace_pid_max);
        mark(&host, directory().path())
    });
    assert_eq!(ran, Ok(Tier::L));
}

/// AA-10: some hosts allow namespaces to be created but remove the capabilities inside them.
#[test]
fn namespaces_without_capabilities_fall_back_to_tier_l() {
    let ran = on_a_host_without(&[libc::SYS_mount], libc::EACCES, || {
        let host = HostReport::probe(&helper());
        assert!(host.tier_n.is_err(), "{host:?}");
        mark(&host, directory().path())
    });
    assert_eq!(ran, Ok(Tier::L));
}

/// AA-10
#[test]
fn without_landlock_a_command_runs_in_tier_n() {
    let ran = on_a_host_without(&LANDLOCK, libc::EOPNOTSUPP, || {
        let host = HostReport::probe(&helper());
        assert_eq!((host.landlock, host.tier_l.is_err()), (None, true));
        mark(&host, directory().path())
    });
    assert_eq!(ran, Ok(Tier::N));
}

/// AA-10
#[test]
fn without_namespaces_and_landlock_nothing_is_started() {
    let calls = [&LANDLOCK[..], &NAMESPACES].concat();
    let (ran, marked) = on_a_host_without(&calls, libc::ENOSYS, || {
        let directory = directory();
        let ran = mark(&HostReport::probe(&helper()), directory.path());
        (ran, directory.path().join("ran").exists())
    });
    let refused = ran.unwrap_err();
    assert!(
        refused.starts_with("this host cannot enforce the sandbox policy: no sandbox"),
        "{refused}"
    );
    assert!(!marked);
}

/// AA-10: a report from a more capable host, or a forged one, starts nothing.
#[test]
fn wrong_host_report_starts_nothing() {
    let directory = directory();
    let host = HostReport::probe(&helper());
    let path = directory.path().to_owned();
    let refused = on_a_host_without(&NAMESPACES, libc::EPERM, move || mark(&host, &path));
    assert_eq!(
        refused.unwrap_err(),
        "cannot set up the sandbox: could not create namespaces: Operation not permitted (os error 1); \
         nothing was started"
    );
    assert!(!directory.path().join("ran").exists());
}

/// FE-12
#[test]
fn unavailable_hard_limit_starts_nothing() {
    let directory = directory();
    let limits = Limits::default().with(Resource::Cpu, 1000, Enforcement::Hard);
    let policy = SandboxPolicy { limits, ..policy(directory.path()) };
    let refused = policy.plan(&HostReport::probe(&helper())).unwrap_err();
    assert_eq!(refused.code(), "SANDBOX_UNAVAILABLE");
}

/// AA-10
#[test]
fn cached_host_report_is_per_helper_and_ignored_if_others_can_write_it() {
    let directory = directory();
    let file = directory.path().join("host.json");
    let made = HostReport::kept(&helper(), &file);
    let text = std::fs::read_to_string(&file).unwrap();
    let forge = |from: String, to: &str| {
        let forged = text.replace(&from, to);
        assert_ne!(forged, text);
        std::fs::write(&file, &forged).unwrap();
        HostReport { kept_in: None, ..HostReport::kept(&helper(), &file) }
    };
    // The cached report is used as long as no other user could have written it.
    let numbers = made.namespace_pid_max;
    let forged_report = forge(
        format!("\"namespace_pid_max\":{numbers}"),
        &format!("\"namespace_pid_max\":{}", !numbers),
    );
    assert_eq!(forged_report.namespace_pid_max, !numbers);
    // A cached report that would lower the enforcement is regenerated.
    assert_eq!(
        forge(format!("\"landlock\":{}", made.landlock.unwrap()), "\"landlock\":null"),
        made
    );
    let missing = "\"tier_n\":{\"Err\":{\"step\":\"x\",\"why\":\"y\"}}";
    assert_eq!(forge("\"tier_n\":{\"Ok\":null}".to_owned(), missing), made);
    let forged = text.replace(
        &format!("\"namespace_pid_max\":{numbers}"),
        &format!("\"namespace_pid_max\":{}", !numbers),
    );
    let other = Helper::at("/bin/true");
    assert!(HostReport::kept(&other, &file).tier_n.is_err(), "another helper is tried anew");
    std::fs::write(&file, &forged).unwrap();
    let writable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(&file, writable).unwrap();
    // A cache file that others can write is regenerated.
    assert_eq!(HostReport::kept(&helper(), &file), made);
}

/// AA-10: the filter of this process may differ from the one at the time of the report, and /proc does not show the filter of a
/// single thread.
#[test]
fn stale_cached_host_report_is_refreshed_before_rejecting() {
    let directory = directory();
    let file = directory.path().join("host.json");
    let made = HostReport::kept(&helper(), &file);
    assert!(made.tier_n.is_ok(), "{made:?}");
    let place = directory.path().to_owned();
    let run = move |floor: Tier| {
        let command = ["/bin/sh", "-c", "echo ran > ran"].map(OsString::from);
        let policy = SandboxPolicy { floor, ..policy(&place) };
        policy.start(&HostReport::kept(&helper(), &file), &helper(), &command).map(|child| {
            let outcome = child.wait().unwrap();
            assert!(place.join("ran").exists(), "{outcome:?}");
            outcome.in_force.tier
        })
    };
    let again = run.clone();
    let ran = on_a_host_without(&NAMESPACES, libc::EPERM, move || {
        assert_eq!(run(Tier::L).unwrap(), Tier::L);
        // The demanded tier is not lowered, and the error describes the current host.
        run(Tier::N).unwrap_err().to_string()
    });
    assert!(ran.contains("tier N is required: could not create namespaces"), "{ran}");
    assert_eq!(again(Tier::L).unwrap(), Tier::N);
}

/// AA-10
#[test]
fn invalid_helper_is_an_error() {
    let directory = directory();
    let plan = policy(directory.path()).plan(&HostReport::probe(&helper())).unwrap();
    let command = ["/bin/true"].map(OsString::from);
    for program in ["/bin/true", "/no/such/program"] {
        let error = plan.spawn(&Helper::at(program), &command).err().unwrap();
        assert!(matches!(error, SpawnError::Helper(_)), "{error}");
    }
}
