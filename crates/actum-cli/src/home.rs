//! Where ledgers and keys are, and whose: what the environment and the command line say.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use actum_core::ledger::TenantId;

use crate::failure::Failure;
use crate::ledger_failure::LedgerFailure;

/// The tenant that was typed. One process has one command line.
static TYPED: OnceLock<TenantId> = OnceLock::new();

/// Takes in the tenant of the command line.
pub(crate) fn choose(tenant: Option<&TenantId>) {
    if let Some(tenant) = tenant {
        drop(TYPED.set(tenant.clone())); // it is done once
    }
}

/// The directory of ledgers and keys: `ACTUM_HOME`, else where this user's programs keep their data
/// (XDG Base Directory Specification). It may not be there yet.
pub(crate) fn path() -> Result<PathBuf, Failure> {
    place(variable).ok_or_else(|| LedgerFailure::NoHome.into())
}

/// Whose ledger it is: `--tenant`, else `ACTUM_TENANT`, else `default`.
pub(crate) fn tenant() -> Result<TenantId, Failure> {
    if let Some(tenant) = TYPED.get() {
        return Ok(tenant.clone());
    }
    match variable("ACTUM_TENANT") {
        None => Ok(TenantId::default()),
        Some(name) => name.to_string_lossy().parse().map_err(|error| {
            let message = format!("`ACTUM_TENANT`: {error}; nothing was changed");
            Failure::Usage { message }
        }),
    }
}

/// A relative `ACTUM_HOME` is given on, to be refused; the others do not count then, as their
/// specification says.
fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    variable("ACTUM_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(absolute("XDG_DATA_HOME")?.join("actum")))
        .or_else(|| Some(absolute("HOME")?.join(".local/share/actum")))
}

/// A variable of the environment; an empty one counts as none.
#[expect(clippy::disallowed_methods, reason = "only the command line reads the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_the_first_that_is_named() {
        let with = |variables: &[(&str, &str)]| {
            let find = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            };
            place(find).map(|path| path.into_os_string().into_string().unwrap())
        };
        let all = [("ACTUM_HOME", "/a"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(with(&all).as_deref(), Some("/a"));
        assert_eq!(with(&all[1..]).as_deref(), Some("/x/actum"));
        assert_eq!(with(&all[2..]).as_deref(), Some("/h/.local/share/actum"));
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("ACTUM_HOME", "a"), ("HOME", "/h")]).as_deref(), Some("a"));
        let relative = [("XDG_DATA_HOME", "x"), ("HOME", "/h")];
        assert_eq!(with(&relative).as_deref(), Some("/h/.local/share/actum"));
        assert_eq!(with(&[("HOME", "h")]), None);
    }
}
