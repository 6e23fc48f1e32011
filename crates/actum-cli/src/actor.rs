//! Actor of a request: the user that the program runs as, and the agent that acts for this user.

use actum::RequestLease;
use actum_record::ledger::Actor;
use nix::unistd::{Uid, User};

/// Returns the actor of this process. A user without a name is named by number.
pub(crate) fn of(agent: Option<String>) -> Actor {
    let uid = Uid::effective();
    let name = User::from_uid(uid).ok().flatten().map(|user| user.name);
    Actor { user: name.unwrap_or_else(|| uid.to_string()), uid: uid.as_raw(), agent }
}

/// Returns the actor of a request under a lease. Without an agent of its own, the request is by the agent that holds
/// the lease.
pub(crate) fn under(agent: Option<String>, lease: Option<&RequestLease>) -> Actor {
    let holder = || Some(lease?.agent()?.as_str().to_owned());
    of(agent.or_else(holder))
}
