//! Formats the path of the operator's policy and its settings for use in messages.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum::PolicyFiles;
use actum_core::path::{Quoted, needs_escape};

use crate::home;

/// Returns the quoted path of the operator's policy in use, which may not exist.
pub(crate) fn operators() -> String {
    match home::configuration() {
        Ok(directory) => {
            let path = directory.join("actum.toml");
            format!("`{}`", Quoted(path.as_os_str().as_bytes()))
        }
        Err(_) => "`actum/actum.toml` in `XDG_CONFIG_HOME`".to_owned(),
    }
}

/// Returns the quoted path of the only operator's policy in which keys that loosen the rules take effect.
pub(crate) fn widening() -> String {
    match home::known_configuration() {
        Some(directory) => {
            let path = directory.join(PolicyFiles::IN_WORKSPACE);
            format!("`{}`", Quoted(path.as_os_str().as_bytes()))
        }
        None => {
            "`.config/actum/actum.toml` in the home directory from the password database".to_owned()
        }
    }
}

/// Returns the clause that shows the setting for listing `root` in a policy. The value is omitted if `root` is not valid
/// UTF-8, which TOML cannot represent, or contains characters that are escaped in output, so that users could not copy it.
pub(crate) fn root_setting(root: &Path) -> String {
    let is_hidden = |c: char| c == '`' || needs_escape(c);
    let shown = root.to_str().filter(|root| !root.contains(is_hidden));
    let setting =
        |root: &str| format!(": `[workspaces] roots = [{}]`", toml::Value::String(root.to_owned()));
    shown.map_or_else(|| " under `[workspaces] roots`".to_owned(), setting)
}
