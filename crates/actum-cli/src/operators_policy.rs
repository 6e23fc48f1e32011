//! Names of the operator's policy and its settings, for messages.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum::PolicyFiles;
use actum_core::path::{Quoted, needs_escape};

use crate::home;

/// Returns the path of the operator's policy, which may not exist, for messages.
pub(crate) fn operators() -> String {
    match home::configuration() {
        Ok(directory) => {
            let path = directory.join("actum.toml");
            format!("`{}`", Quoted(path.as_os_str().as_bytes()))
        }
        Err(_) => "`actum/actum.toml` in `XDG_CONFIG_HOME`".to_owned(),
    }
}

/// Returns the path of the operator's policy in which keys that allow more are read, for messages.
pub(crate) fn widening() -> String {
    match home::known_configuration() {
        Some(directory) => {
            let path = directory.join(PolicyFiles::IN_WORKSPACE);
            format!("`{}`", Quoted(path.as_os_str().as_bytes()))
        }
        None => "`.config/actum/actum.toml` in a home directory that the system knows".to_owned(),
    }
}

/// Returns the clause with the setting that lists a root in a policy. TOML cannot hold bytes that are not text, and an
/// escape that is shown could not be copied.
pub(crate) fn root_setting(root: &Path) -> String {
    let is_hidden = |c: char| c == '`' || needs_escape(c);
    let shown = root.to_str().filter(|root| !root.contains(is_hidden));
    let setting =
        |root: &str| format!(": `[workspaces] roots = [{}]`", toml::Value::String(root.to_owned()));
    shown.map_or_else(|| " under `[workspaces] roots`".to_owned(), setting)
}
