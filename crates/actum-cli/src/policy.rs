//! Locates and reads the policy in force, and evaluates it for single effects.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum::{Cedar, EntryPoint, Place, PolicyFiles, PolicyInForce};
use actum_core::path::Quoted;
use actum_core::path_name::PathName;
use actum_core::{Digest, RelPath};
use actum_gate::{Bundle, Case, Decision, decide};
use actum_record::receipt::{EffectKind, PathEffect};

use crate::failure::Failure;
use crate::home::Tenant;
use crate::{actor, clock, home, operators_policy};

/// Returns the path of the machine administrator's policy, which can only tighten the rules. No environment variable or
/// option changes it.
pub(crate) fn system() -> PathBuf {
    Path::new(home::SYSTEM_CONFIGURATION).join(PolicyFiles::IN_WORKSPACE)
}

/// Returns the locations of all policies that apply to this user.
pub(crate) fn files() -> Result<PolicyFiles, Failure> {
    let operator = Some(home::configuration()?.join("actum.toml"));
    let (cedar, clock) = (Cedar::default(), clock::clock());
    let is_known_place = home::is_known_configuration;
    let (system, home, named) = (Some(system()), home::path()?, home::named_configuration());
    Ok(PolicyFiles { system, operator, named, home, cedar, clock, is_known_place })
}

/// Returns the policy in force in the workspace at `root`.
pub(crate) fn in_force(root: &Path) -> Result<PolicyInForce, Failure> {
    Ok(files()?.read(root)?)
}

/// Returns a sentence about the keys in the operator's policy that cannot take full effect, if there are any.
pub(crate) fn set_aside(in_force: &PolicyInForce) -> Option<String> {
    let keys = &in_force.set_aside;
    if keys.is_empty() {
        return None;
    }
    let place = match home::known_configuration() {
        Some(known) => format!(
            "these keys take full effect only in `{}`, which may be a symbolic link",
            Quoted(known.as_os_str().as_bytes())
        ),
        None => "the password database names no home directory for this user".to_owned(),
    };
    let (keys, operators) = (keys.join("`, `"), operators_policy::operators());
    Some(format!(
        "`{keys}` in {operators} can only tighten the rules, because the environment selects that file: {place}"
    ))
}

/// Returns a case with the requester, workspace and time of a change that the gates only evaluate. The caller adds the
/// change itself.
pub(crate) fn asked(
    in_force: &PolicyInForce,
    agent: Option<String>,
    tenant: &Tenant,
) -> Result<Case, Failure> {
    let Place { root, enclosing, .. } = in_force.place();
    Ok(Case {
        actor: actor::from_agent(agent),
        door: EntryPoint::CommandLine.as_str().to_owned(),
        tenant: tenant.id()?,
        root,
        enclosing,
        time: clock::now(),
        ..Case::new(Vec::new())
    })
}

/// Evaluates whether the policy would allow a change with this effect on the file at `path` in the workspace.
pub(crate) fn decide_effect(
    in_force: &PolicyInForce,
    path: RelPath,
    effect: EffectKind,
    tenant: &Tenant,
) -> Result<Decision, Failure> {
    let change = PathEffect {
        path: PathName(path),
        effect,
        from: None,
        before: None,
        after: None,
        added: 0,
        removed: 0,
    };
    let digest = Digest::of(&in_force.policy.to_vec().map_err(actum::Error::from)?);
    let case = Case { change: vec![change], ..asked(in_force, None, tenant)? };
    Ok(decide(&Bundle::new(digest, case), &in_force.policy, &in_force.cedar))
}

/// Returns the path of the policy of the workspace at `root`. The file may not exist.
pub(crate) fn in_workspace(root: &Path) -> PathBuf {
    root.join(PolicyFiles::IN_WORKSPACE)
}
