//! Policy in force, and its origin.

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

/// Returns the policy of the machine's administrator, which always tightens. No variable and no option changes its
/// path.
pub(crate) fn system() -> PathBuf {
    Path::new(home::SYSTEM_CONFIGURATION).join(PolicyFiles::IN_WORKSPACE)
}

/// Returns the paths of policies.
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

/// Returns a sentence on the rules of the operator's policy that have no effect, if there are any.
pub(crate) fn set_aside(in_force: &PolicyInForce) -> Option<String> {
    let keys = &in_force.set_aside;
    if keys.is_empty() {
        return None;
    }
    let place = match home::known_configuration() {
        Some(known) => format!(
            "these keys count in full only in `{}`; a symbolic link there is accepted",
            Quoted(known.as_os_str().as_bytes())
        ),
        None => "the system knows no home directory for this user".to_owned(),
    };
    let (keys, operators) = (keys.join("`, `"), operators_policy::operators());
    Some(format!("`{keys}` in {operators} only tightens: the environment leads there, and {place}"))
}

/// Returns the requester and the place of a change that the gates only judge; the change is not included.
pub(crate) fn asked(
    in_force: &PolicyInForce,
    agent: Option<String>,
    tenant: &Tenant,
) -> Result<Case, Failure> {
    let Place { root, enclosing, .. } = in_force.place();
    Ok(Case {
        actor: actor::of(agent),
        door: EntryPoint::CommandLine.as_str().to_owned(),
        tenant: tenant.id()?,
        root,
        enclosing,
        time: clock::now(),
        ..Case::new(Vec::new())
    })
}

/// Decides whether a change could have this effect on a file at `path` in the workspace.
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

/// Returns the policy of the workspace at `root`, which may not exist.
pub(crate) fn in_workspace(root: &Path) -> PathBuf {
    root.join(PolicyFiles::IN_WORKSPACE)
}
