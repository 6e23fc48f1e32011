//! Landlock rules that restrict access to files and, where supported, to signals and sockets.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::declared::{self, Found};
use super::{Result, Trying};
use crate::policy::{SandboxPolicy, Tier};

/// Files in /proc that a command in tier L may read besides its own directory. Other entries would reveal
/// processes of the host, such as their command lines. Tier N needs no such list because other
/// processes are not visible there.
const PROC_OF_THE_HOST: [&str; 8] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
];

/// Returns `version`, or the latest known Landlock ABI version if that is lower.
pub(super) fn used(version: u32) -> u32 {
    let known = ABI::from(i32::try_from(version).unwrap_or(i32::MAX));
    u32::try_from(known as i32).unwrap_or(0)
}

/// Landlock access rights that rules grant for each kind of use.
struct Rights {
    read: BitFlags<AccessFs>,
    execute: BitFlags<AccessFs>,
    write: BitFlags<AccessFs>,
    file_only: BitFlags<AccessFs>,
}

/// Restricts this process to the file access that the policy allows. `abi` is the Landlock version of
/// the kernel. Every right that this version can restrict is restricted, or an error is returned.
pub(super) fn confine(
    policy: &SandboxPolicy,
    tier: Tier,
    abi: u32,
    scratch: Option<&Path>,
) -> Result<()> {
    let abi = ABI::from(i32::try_from(abi).unwrap_or(i32::MAX));
    let doing = || "set up Landlock".to_owned();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .trying(doing)?;
    // Tier N needs no network rules: its network is a separate namespace, or the policy allows the host's.
    if tier == Tier::L && !AccessNet::from_all(abi).is_empty() {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi)).trying(doing)?;
    }
    if !Scope::from_all(abi).is_empty() {
        ruleset = ruleset.scope(Scope::from_all(abi)).trying(doing)?;
    }
    let mut rules = ruleset.create().trying(doing)?;
    let rights = Rights {
        read: AccessFs::ReadFile | AccessFs::ReadDir,
        execute: AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir,
        write: AccessFs::from_all(abi)
            & !AccessFs::Execute
            & !AccessFs::MakeChar
            & !AccessFs::MakeBlock,
        file_only: AccessFs::from_file(abi),
    };
    for (path, access) in declared_rules(policy, &rights) {
        // In tier N, hidden paths are covered by other mounts, so rules are needed only in tier L.
        let hidden: &[PathBuf] = if tier == Tier::L { &policy.hide } else { &[] };
        rules = allow_around(rules, (path, access), hidden, &rights)?;
    }
    for path in super::devices(policy) {
        let mut access = AccessFs::ReadFile | AccessFs::WriteFile;
        if path.ends_with(super::TERMINAL) {
            // Programs need ioctl(2) to change the settings of their terminal.
            access |= AccessFs::from_all(abi) & AccessFs::IoctlDev;
        }
        rules = allow(rules, &path, access, &rights)?;
    }
    if let Some(scratch) = scratch {
        rules = allow(rules, scratch, rights.write, &rights)?;
    }
    match tier {
        // The root can be listed because it contains only declared paths.
        Tier::N => {
            rules = allow(rules, Path::new("/proc"), rights.read, &rights)?;
            rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into(), &rights)?;
        }
        Tier::L => {
            let own = PathBuf::from(format!("/proc/{}", rustix::process::getpid()));
            rules = allow(rules, &own, rights.read, &rights)?;
            for path in PROC_OF_THE_HOST.map(Path::new).into_iter().filter(|path| path.exists()) {
                rules = allow(rules, path, rights.read, &rights)?;
            }
        }
    }
    rules.restrict_self().trying(doing).map(drop)
}

/// Returns each declared path with the access rights that the policy grants for it.
fn declared_rules<'a>(
    policy: &'a SandboxPolicy,
    rights: &Rights,
) -> Vec<(&'a Path, BitFlags<AccessFs>)> {
    let caches = policy.view.iter().flat_map(|view| &view.caches);
    let with = |access: BitFlags<AccessFs>| move |path: &'a PathBuf| (path.as_path(), access);
    let before = policy.view.iter().flat_map(|view| &view.before);
    let read = policy.read.iter().chain(before).map(with(rights.read));
    let execute = policy.exec.iter().map(with(rights.execute));
    let write = policy.written().chain(caches).map(with(rights.write));
    read.chain(execute).chain(write).collect()
}

/// Adds rules for a path and everything below it except hidden paths. Landlock cannot exclude them from a
/// rule, so the entries around a hidden path get separate rules, and their names can still be listed.
fn allow_around(
    mut rules: RulesetCreated,
    (path, access): (&Path, BitFlags<AccessFs>),
    hidden: &[PathBuf],
    rights: &Rights,
) -> Result<RulesetCreated> {
    if hidden.iter().any(|hidden| path.starts_with(hidden)) {
        return Ok(rules);
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
        return allow(rules, path, access, rights);
    }
    let doing = || format!("list the directory `{}`", path.display());
    rules = allow(rules, path, access & AccessFs::ReadDir, rights)?;
    for entry in std::fs::read_dir(path).trying(doing)? {
        let below = entry.trying(doing)?.path();
        rules = allow_around(rules, (&below, access), hidden, rights)?;
    }
    Ok(rules)
}

/// Adds a rule for a path and everything below it.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    rights: &Rights,
) -> Result<RulesetCreated> {
    let (opened, access): (OwnedFd, _) = match declared::open(path)? {
        Found::Directory(opened) => (opened, access),
        Found::File(opened) => (opened, access & rights.file_only),
        Found::Link(_) => return Ok(rules), // access to the target depends on the target's own rule
    };
    rules
        .add_rule(PathBeneath::new(opened, access))
        .trying(|| format!("add a Landlock rule for `{}`", path.display()))
}
