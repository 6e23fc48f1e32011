//! Landlock rules: for the files of the policy, and in tier L for signals and sockets as well.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::declared::{self, Found};
use super::{Result, Trying};
use crate::policy::{SandboxPolicy, Tier};

/// Files of /proc that a command of tier L may read, besides its own directory. The rest shows
/// other processes of the host, their command lines among it; in tier N there is no other process.
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

pub(super) fn used(version: u32) -> u32 {
    let known = ABI::from(i32::try_from(version).unwrap_or(i32::MAX));
    u32::try_from(known as i32).unwrap_or(0)
}

/// Rights to files that a rule may grant.
struct Rights {
    read: BitFlags<AccessFs>,
    execute: BitFlags<AccessFs>,
    write: BitFlags<AccessFs>,
    file_only: BitFlags<AccessFs>,
}

/// Drops all rights to files except those of the policy. `abi` is what the kernel offers. All that
/// we know it can refuse is refused, or nothing is run.
pub(super) fn confine(
    policy: &SandboxPolicy,
    tier: Tier,
    abi: u32,
    scratch: Option<&Path>,
) -> Result<()> {
    let abi = ABI::from(i32::try_from(abi).unwrap_or(i32::MAX));
    let doing = || "set Landlock up".to_owned();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .trying(doing)?;
    // A network of its own needs no rules.
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
        // In a root of its own, stand-ins are in the place of hidden paths.
        let hidden: &[PathBuf] = if tier == Tier::L { &policy.hide } else { &[] };
        rules = allow_around(rules, (path, access), hidden, &rights)?;
    }
    for path in super::devices(policy) {
        let mut access = AccessFs::ReadFile | AccessFs::WriteFile;
        if path.ends_with(super::TERMINAL) {
            // Programs set the terminal as they need it.
            access |= AccessFs::from_all(abi) & AccessFs::IoctlDev;
        }
        rules = allow(rules, &path, access, &rights)?;
    }
    if let Some(scratch) = scratch {
        rules = allow(rules, scratch, rights.write, &rights)?;
    }
    match tier {
        // In a root of its own only declared paths can be listed.
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

/// Adds rules for a path and all below, except for the content of hidden paths there: names can be
/// listed.
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
    let doing = || format!("look at what is in `{}`", path.display());
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
        Found::Link(_) => return Ok(rules), // what it leads to has a rule of its own, or none
    };
    rules
        .add_rule(PathBeneath::new(opened, access))
        .trying(|| format!("allow `{}` by Landlock", path.display()))
}
