//! Actor of a request, which is the user account of this process and the agent that acts on the user's behalf.

use actum::RequestLease;
use actum_record::ledger::Actor;
use nix::unistd::{Uid, User};

/// Returns the actor for this process. If the user has no name, the user id is used instead.
pub(crate) fn from_agent(agent: Option<String>) -> Actor {
    let uid = Uid::effective();
    let name = User::from_uid(uid).ok().flatten().map(|user| user.name);
    Actor { user: name.unwrap_or_else(|| uid.to_string()), uid: uid.as_raw(), agent }
}

/// Returns the actor for a request under a lease. If the request names no agent, the agent that holds the lease is used.
pub(crate) fn under(agent: Option<String>, lease: Option<&RequestLease>) -> Actor {
    let holder = || Some(lease?.agent()?.as_str().to_owned());
    from_agent(agent.or_else(holder))
}
