//! Probes which sandbox features the host supports by trying them.

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

/// File that contains the limit on process IDs.
const PID_MAX: &str = "/proc/sys/kernel/pid_max";
/// Arbitrary limit on process IDs for trying whether it can be set.
const PID_MAX_TRIED: u64 = 4000;
/// First kernel version with a separate `kernel.pid_max` for each PID namespace.
const PID_MAX_SINCE: (u32, u32) = (6, 14);

/// Cached report with the conditions under which it is valid, because a different boot, user, program or
/// security profile may lead to a different result.
#[derive(Serialize, Deserialize)]
struct Kept {
    holds_for: String,
    report: HostReport,
}

impl HostReport {
    /// Probes the host by entering each tier without running a command in it.
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
        // Try all features of tier N together first, because usually all of them work. Only if this
        // fails, try each one separately.
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

    /// Returns the report cached in `file` if it was created since the last boot, by this user and for this
    /// helper. Otherwise probes the host, and caches the new report if no feature is missing. Failing to
    /// write the file is not an error, because the next call tries again.
    pub fn kept(helper: &Helper, file: &Path) -> Self {
        let Ok(holds_for) = holds_for(helper) else { return Self::probe(helper) };
        let whole = |report: &Self| {
            report.tier_n.is_ok() && report.overlay.is_ok() && report.loopback.is_ok()
        };
        // Do not trust a cached report that would weaken the sandbox. If it lists missing features, probe
        // the host again.
        let kept = read(file).filter(|kept| kept.holds_for == holds_for && whole(&kept.report));
        if let Some(kept) = kept {
            // Determine these again because they may differ from process to process.
            return Self {
                landlock: sys::landlock_version().map(inside::landlock_used),
                is_root: rustix::process::geteuid().is_root(),
                cgroup: controllers(),
                kept_in: Some(file.to_owned()),
                ..kept.report
            };
        }
        let report = Self::probe(helper);
        // Do not cache missing features, because they may be available the next time.
        if whole(&report) {
            drop(write(file, &Kept { holds_for, report: report.clone() })); // the next call tries again
        }
        report
    }

    /// Probes the host again if this report was read from a cache file, and returns the new report if it
    /// differs. This can happen, for example, if this process runs under a different seccomp filter, whose
    /// rules /proc does not show.
    pub(crate) fn renewed(&self, helper: &Helper) -> Option<Self> {
        let file = self.kept_in.as_deref()?;
        drop(std::fs::remove_file(file)); // if this fails, the cached report is ignored below
        let found = Self::kept(helper, file);
        let found = if found.kept_in.is_none() { found } else { Self::probe(helper) };
        (Self { kept_in: self.kept_in.clone(), ..found.clone() } != *self).then_some(found)
    }

    /// Enters a tier without a command, with a plan modified by `change`. Returns the step that failed, if
    /// any.
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
            // The helper itself failed, so nothing is known about the host.
            Err(error) => Err(Missing {
                step: "start the sandbox helper".to_owned(),
                why: error.to_string(),
                is_scarce: true,
            }),
        }
    }
}

fn controllers() -> Controllers {
    Delegated::ours().map(Delegated::controllers).unwrap_or_default()
}

/// Returns a view for probing. Its base can be any directory, because nothing in it is changed.
fn some_view() -> View {
    let base = PathBuf::from("/usr");
    View { base, staged: None, caches: Vec::new(), before: None, upper: None, max: 1 << 20 }
}

/// Returns whether each PID namespace has its own `kernel.pid_max`. On older kernels it must not be set,
/// because root would change the limit of the host.
fn may_try_pid_max() -> bool {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    let version = parts.next().flatten().zip(parts.next().flatten());
    version.is_some_and(|version: (u32, u32)| version >= PID_MAX_SINCE)
        && Path::new(PID_MAX).exists()
}

/// Returns advice on how to enable tier N, if the failed step and the settings of the kernel indicate a
/// known cause.
fn remedy(missing: &Missing) -> Option<String> {
    if missing.step == inside::MOUNTS_PROC {
        return Some(
            "a container runtime probably masks parts of /proc; unmask them with `--security-opt \
             systempaths=unconfined` or `--security-opt unmask=ALL`"
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
            "AppArmor prevents programs without a profile from creating namespaces; install the profile \
             `packaging/apparmor/actum`, which allows it for this program only"
                .to_owned(),
        );
    }
    if setting("user/max_user_namespaces") == Some(0)
        || setting("kernel/unprivileged_userns_clone") == Some(0)
    {
        return Some(
            "user namespaces are disabled on this host; ask its administrator to enable them"
                .to_owned(),
        );
    }
    let in_container =
        Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
    in_container.then(|| {
        "this container's runtime prevents programs from creating namespaces; use a seccomp profile \
         that allows `unshare`, `mount` and `pivot_root`"
            .to_owned()
    })
}

/// Kernel settings that allow or deny namespaces (user_namespaces(7)). Some exist only on certain
/// distributions.
const SETTINGS: [&str; 3] = [
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
];

/// Returns a string of all conditions that a cached report depends on, such as the boot, the user, the
/// helper program and the kernel's settings.
fn holds_for(helper: &Helper) -> io::Result<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    // Profile of the active security module, if any.
    let profile = std::fs::read_to_string("/proc/self/attr/current").unwrap_or_default();
    let program = std::fs::metadata(helper.program())?;
    let settings = SETTINGS.map(|name| std::fs::read_to_string(name).unwrap_or_default());
    let namespaces = ["user", "mnt", "pid"]
        .map(|name| std::fs::read_link(Path::new("/proc/self/ns").join(name)).unwrap_or_default());
    // These lines differ inside of another sandbox or a container.
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

/// Reads a cached report. Returns `None` if another user could have written the file.
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

/// Writes a report to its cache file atomically.
fn write(file: &Path, kept: &Kept) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(name);
    let text = serde_json::to_vec(kept)?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    let written = made.and_then(|mut file: File| file.write_all(&text));
    written.and_then(|()| std::fs::rename(&new, file)).inspect_err(|_| {
        drop(std::fs::remove_file(&new)); // fails if the file was never created
    })
}
