//! What Landlock holds: the files of the policy, and in tier L signals and sockets as well.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, Scope,
};

use super::{Result, Trying};
use crate::policy::{SandboxPolicy, Tier};

/// Gives up all rights to files but those of the policy. `abi` is what the kernel offers; all that it
/// can refuse is refused, or nothing is run.
pub(super) fn confine(policy: &SandboxPolicy, tier: Tier, abi: u32) -> Result<()> {
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
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let execute = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let write =
        AccessFs::from_all(abi) & !AccessFs::Execute & !AccessFs::MakeChar & !AccessFs::MakeBlock;
    let devices = super::DEVICES.map(|name| Path::new("/dev").join(name));
    let allowed = policy.read.iter().map(|path| (path.as_path(), read));
    let allowed = allowed.chain(policy.exec.iter().map(|path| (path.as_path(), execute)));
    let allowed = allowed.chain(policy.write.iter().map(|path| (path.as_path(), write)));
    // In a root of its own what can be listed is what was declared.
    let listed = (tier == Tier::N).then_some((Path::new("/"), AccessFs::ReadDir.into()));
    let own = std::iter::once((Path::new("/proc"), read)).chain(listed);
    let use_them = AccessFs::ReadFile | AccessFs::WriteFile;
    let devices = devices.iter().map(|path| (path.as_path(), use_them));
    for (path, access) in allowed.chain(own).chain(devices) {
        let doing = || format!("allow `{}` by Landlock", path.display());
        let opened = PathFd::new(path).trying(doing)?;
        let file_only = AccessFs::from_file(abi);
        let access = if path.is_dir() { access } else { access & file_only };
        rules = rules.add_rule(PathBeneath::new(opened, access)).trying(doing)?;
    }
    rules.restrict_self().trying(doing).map(drop)
}
