//! Attacks by their targets.

pub(crate) mod calls;
pub(crate) mod files;
pub(crate) mod kept;
pub(crate) mod kernel;
pub(crate) mod lasting;
pub(crate) mod machine;
pub(crate) mod processes;
pub(crate) mod resources;
pub(crate) mod secrets;
pub(crate) mod set_id;
pub(crate) mod sockets;
