//! Probe of the host: finds its capabilities by trying them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cgroup::Delegated;
use crate::host::{Controllers, HostReport, LANDLOCK_LEAST, Missing};
use crate::plan::{InForce, Plan};
use crate::policy::{Net, SandboxPolicy, Tier, View};
use crate::program::Helper;
use crate::spawn_error::SpawnError;
use crate::{inside, sys};

/// File with the largest process number of the host.
const PID_MAX: &str = "/proc/sys/kernel/pid_max";
/// Some number of processes for trying that out.
const PID_MAX_TRIED: u64 = 4000;
/// First kernel in which each PID namespace has its own.
const PID_MAX_SINCE: (u32, u32) = (6, 14);

/// A report, and the facts it holds for: another boot, user, program or security module may make it
/// another.
#[derive(Serialize, Deserialize)]
struct Kept {
    holds_for: String,
    report: HostReport,
}

impl HostReport {
    /// Enters each tier for real, without a command in it, and reports what worked.
    pub fn probe(helper: &Helper) -> Self {
        let landlock = sys::landlock_version().map(inside::landlock_used);
        let mut report = Self {
            landlock,
            tier_n: Ok(()),
            tier_l: Ok(()),
            loopback: Ok(()),
            overlay: Ok(()),
            remedy: None,
            namespace_pid_max: may_try_pid_max(),
            is_root: rustix::process::geteuid().is_root(),
            cgroup: controllers(),
            kept_in: None,
        };
        report.tier_l = match landlock {
            Some(abi) if abi >= LANDLOCK_LEAST => report.attempt(helper, Tier::L, |_| ()),
            Some(_) | None => Err(HostReport::missing_landlock(landlock)),
        };
        // Mostly all of it works, and then once is enough.
        let network = |plan: &mut Plan| plan.policy.net = Net::PrivateLoopback;
        let view = |plan: &mut Plan| plan.policy.view = Some(some_view());
        let numbers = |plan: &mut Plan| plan.pid_max = Some(PID_MAX_TRIED);
        let all = report.attempt(helper, Tier::N, |plan| {
            network(plan);
            view(plan);
            if may_try_pid_max() {
                numbers(plan);
            }
        });
        if all.is_err() {
            report.tier_n = report.attempt(helper, Tier::N, |_| ());
            let of_n = report.tier_n.clone();
            let and = |tried: &dyn Fn(&mut Plan)| {
                of_n.clone().and_then(|()| report.attempt(helper, Tier::N, tried))
            };
            let (loopback, overlay) = (and(&network), and(&view));
            let numbered = may_try_pid_max() && and(&numbers).is_ok();
            (report.loopback, report.overlay) = (loopback, overlay);
            report.namespace_pid_max = numbered;
            if let Err(missing) = &report.tier_n {
                report.remedy = remedy(missing);
            }
        }
        report
    }

    /// Returns the report that `file` keeps, if it was made since the machine was started, by this
    /// user and for this helper. Otherwise a new report is made, and kept there if nothing is
    /// missing. A file that cannot be kept is no error: the next time it is tried again.
    pub fn kept(helper: &Helper, file: &Path) -> Self {
        let Ok(holds_for) = holds_for(helper) else { return Self::probe(helper) };
        let whole = |report: &Self| {
            report.tier_n.is_ok() && report.overlay.is_ok() && report.loopback.is_ok()
        };
        // A kept report is not believed if it would weaken the sandbox: steps that it calls missing
        // are tried again.
        let kept = read(file).filter(|kept| kept.holds_for == holds_for && whole(&kept.report));
        if let Some(kept) = kept {
            // The group of a process is no property of the machine.
            return Self {
                landlock: sys::landlock_version().map(inside::landlock_used),
                is_root: rustix::process::geteuid().is_root(),
                cgroup: controllers(),
                kept_in: Some(file.to_owned()),
                ..kept.report
            };
        }
        let report = Self::probe(helper);
        // A process that lacks something may have got it by the next time.
        if whole(&report) {
            drop(write(file, &Kept { holds_for, report: report.clone() })); // tried again next time
        }
        report
    }

    /// Tries the host again, if this was read from a file. Returns the new report if the host now
    /// holds something else: another seccomp filter around this process, for example, which /proc
    /// does not show.
    pub(crate) fn renewed(&self, helper: &Helper) -> Option<Self> {
        let file = self.kept_in.as_deref()?;
        drop(std::fs::remove_file(file)); // one that cannot be removed is not believed here
        let found = Self::kept(helper, file);
        let found = if found.kept_in.is_none() { found } else { Self::probe(helper) };
        (Self { kept_in: self.kept_in.clone(), ..found.clone() } != *self).then_some(found)
    }

    fn attempt(
        &self,
        helper: &Helper,
        tier: Tier,
        change: impl FnOnce(&mut Plan),
    ) -> Result<(), Missing> {
        let in_force = InForce {
            tier,
            landlock: self.landlock.filter(|&abi| abi >= LANDLOCK_LEAST),
            ipc_confined: false,
            is_root: self.is_root,
            limits: std::collections::BTreeMap::new(),
        };
        let mut plan =
            Plan { policy: SandboxPolicy::new("/"), in_force, has_group: false, pid_max: None };
        change(&mut plan);
        match plan.try_out(helper) {
            Ok(_) => Ok(()),
            Err(SpawnError::Sandbox(missing) | SpawnError::Command { missing, .. }) => Err(missing),
            // Nothing was found out about the host.
            Err(error) => Err(Missing {
                step: "start the helper".to_owned(),
                why: error.to_string(),
                is_scarce: true,
            }),
        }
    }
}

fn controllers() -> Controllers {
    Delegated::ours().map(Delegated::controllers).unwrap_or_default()
}

/// Any directory will do, since nothing is changed in it.
fn some_view() -> View {
    let base = PathBuf::from("/usr");
    View { base, staged: None, caches: Vec::new(), before: None, upper: None, max: 1 << 20 }
}

/// Returns true if a PID namespace may have a `kernel.pid_max` of its own. Where it has none, root
/// would set that of the host.
fn may_try_pid_max() -> bool {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    let version = parts.next().flatten().zip(parts.next().flatten());
    version.is_some_and(|version: (u32, u32)| version >= PID_MAX_SINCE)
        && Path::new(PID_MAX).exists()
}

/// Returns the remedy for a tier N that could not be entered: the known cause that blocks it, from
/// the kernel's settings.
fn remedy(missing: &Missing) -> Option<String> {
    if missing.step == inside::MOUNTS_PROC {
        return Some(
            "parts of /proc are covered here, as container runtimes do; unmask them (`--security-opt \
             systempaths=unconfined`, or `unmask=ALL`)"
                .to_owned(),
        );
    }
    if missing.step != inside::MAKES_NAMESPACES {
        return None;
    }
    let setting = |name: &str| {
        let text = std::fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
        text.trim().parse::<u64>().ok()
    };
    if setting("kernel/apparmor_restrict_unprivileged_userns") == Some(1) {
        return Some(
            "AppArmor keeps programs without a profile from making namespaces; install the profile \
             `packaging/apparmor/actum`, which allows it to this program alone"
                .to_owned(),
        );
    }
    if setting("user/max_user_namespaces") == Some(0)
        || setting("kernel/unprivileged_userns_clone") == Some(0)
    {
        return Some(
            "user namespaces are switched off on this host; whoever administers it can allow them"
                .to_owned(),
        );
    }
    let in_container =
        Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
    in_container.then(|| {
        "this is a container whose runtime keeps programs from making namespaces; a seccomp profile \
         that allows `unshare`, `mount` and `pivot_root` gives them"
            .to_owned()
    })
}

/// Settings that allow or forbid namespaces (user_namespaces(7)); some are of one distribution.
const SETTINGS: [&str; 3] = [
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
];

/// Returns all that a report depends on and that can change under it.
fn holds_for(helper: &Helper) -> io::Result<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    // The profile of a security module, if there is one.
    let profile = std::fs::read_to_string("/proc/self/attr/current").unwrap_or_default();
    let program = std::fs::metadata(helper.program())?;
    let settings = SETTINGS.map(|name| std::fs::read_to_string(name).unwrap_or_default());
    let namespaces = ["user", "mnt", "pid"]
        .map(|name| std::fs::read_link(Path::new("/proc/self/ns").join(name)).unwrap_or_default());
    // A sandbox or a container around this one.
    let status = std::fs::read_to_string("/proc/self/status")?;
    let confined = status
        .lines()
        .filter(|line| ["NoNewPrivs", "Seccomp"].iter().any(|it| line.starts_with(it)));
    let around = confined.collect::<Vec<_>>().join(" ");
    let user = rustix::process::geteuid().as_raw();
    Ok(format!(
        "{} {user} {}:{}:{}:{} {} {settings:?} {namespaces:?} {around}",
        boot.trim(),
        program.dev(),
        program.ino(),
        program.mtime(),
        program.mtime_nsec(),
        profile.trim_end_matches(['\0', '\n']),
    ))
}

/// Reads a kept report, if no other user can have written it.
fn read(file: &Path) -> Option<Kept> {
    let no_follow = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(no_follow).open(file).ok()?;
    let metadata = file.metadata().ok()?;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_file() || !ours || metadata.mode() & 0o022 != 0 {
        return None;
    }
    const SIZE_MAX: u64 = 1 << 16;
    let mut text = Vec::new();
    file.take(SIZE_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Keeps a report: whole or not at all.
fn write(file: &Path, kept: &Kept) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(name);
    let text = serde_json::to_vec(kept)?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    let written = made.and_then(|mut file: File| file.write_all(&text));
    written.and_then(|()| std::fs::rename(&new, file)).inspect_err(|_| {
        drop(std::fs::remove_file(&new)); // it may not have been made
    })
}
