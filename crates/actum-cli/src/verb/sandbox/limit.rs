//! Parser for resource limits as users type them, such as `memory=512M`, `wall=30s` or `processes=64:hard`.

use std::str::FromStr;

use actum_sandbox::{Enforcement, Resource};

use crate::duration::milliseconds;
use crate::size::{Size, SizeError};

/// Limit of one resource, and how strictly it must be enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypedLimit {
    pub(crate) resource: Resource,
    pub(crate) max: u64,
    pub(crate) require: Enforcement,
}

/// Reason why a text is not a valid resource limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LimitError {
    #[error("expected NAME=AMOUNT, for example `memory=512M` or `wall=30s`")]
    Malformed,
    #[error("unknown resource `{0}`; expected one of {names}", names = names())]
    Unknown(String),
    #[error("`{0}` is not a duration: expected a whole number with `ms`, `s`, `m`, `h` or `d`")]
    Time(String),
    #[error("`{0}` is not a whole number")]
    Number(String),
    #[error(transparent)]
    Size(#[from] SizeError),
    #[error("`{0}` is neither `hard` nor `polled`")]
    Require(String),
}

fn names() -> String {
    Resource::ALL.map(|resource| format!("`{resource}`")).join(", ")
}

impl FromStr for TypedLimit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let (name, amount) = text.split_once('=').ok_or(LimitError::Malformed)?;
        let resource = Resource::ALL.into_iter().find(|resource| resource.name() == name);
        let resource = resource.ok_or_else(|| LimitError::Unknown(name.to_owned()))?;
        let (amount, require) = match amount.split_once(':') {
            None => (amount, Enforcement::Polled),
            Some((amount, "polled")) => (amount, Enforcement::Polled),
            Some((amount, "hard")) => (amount, Enforcement::Hard),
            Some((_, other)) => return Err(LimitError::Require(other.to_owned())),
        };
        let max = match resource.unit() {
            "ms" => milliseconds(amount).ok_or_else(|| LimitError::Time(amount.to_owned()))?,
            "bytes" => amount.parse::<Size>()?.0,
            _ => amount.parse().map_err(|_| LimitError::Number(amount.to_owned()))?,
        };
        Ok(Self { resource, max, require })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-12
    #[test]
    fn limit_is_parsed_with_the_unit_of_its_resource() {
        let limit = |text: &str| text.parse::<TypedLimit>().map(|it| (it.resource, it.max));
        assert_eq!(limit("memory=512M"), Ok((Resource::Memory, 512 << 20)));
        assert_eq!(limit("wall=30s"), Ok((Resource::Wall, 30_000)));
        assert_eq!(limit("cpu=2m"), Ok((Resource::Cpu, 120_000)));
        assert_eq!(limit("processes=64:polled"), Ok((Resource::Processes, 64)));
        let hard = "processes=64:hard".parse::<TypedLimit>().map(|it| it.require);
        assert_eq!(hard, Ok(Enforcement::Hard));
        for (wrong, message) in [
            ("memory", "expected NAME=AMOUNT"),
            ("ram=1G", "unknown resource `ram`; expected one of `wall`, `cpu`"),
            ("wall=30", "`30` is not a duration"),
            ("wall=99999999999999999h", "is not a duration"),
            ("processes=many", "`many` is not a whole number"),
            ("memory=big", "expected a number of bytes"),
            ("memory=1G:soft", "`soft` is neither"),
        ] {
            let error = wrong.parse::<TypedLimit>().unwrap_err().to_string();
            assert!(error.contains(message), "{wrong}: {error}");
        }
    }
}
