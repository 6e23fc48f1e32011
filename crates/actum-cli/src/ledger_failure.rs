//! Failures of ledgers, keys and receipts: an operation failed, or a proof does not hold.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::RunId;
use actum_core::path::Quoted;
use actum_gate::{BundleProblem, ReplayProblem};
use actum_record::keyring::KeyringError;
use actum_record::ledger::TenantId;

use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::home::HomeUnknown;
use crate::own_format;
use crate::snippet::Quote;
use actum::reason::Reason;

/// Failure of an operation on the ledger, or of a proof.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerFailure {
    #[error(
        "cannot tell where ledgers and keys are: none of `ACTUM_HOME`, `XDG_DATA_HOME` and `HOME` is \
         set to an absolute path"
    )]
    NoHome,
    #[error(
        "there are two policies of the operator, in `{}` and, where the environment leads, in `{}`",
        shown(known),
        shown(named)
    )]
    TwoConfigurations { known: PathBuf, named: PathBuf },
    #[error("cannot make a new directory of ledgers and keys in `{}`: {why}", shown(home))]
    HomePlace { home: PathBuf, why: HomePlaceRefused },
    #[error("there are no keys in `{}`", shown(home))]
    NoKeys { home: PathBuf },
    #[error("there is no ledger of the tenant `{tenant}` in `{}`", shown(home))]
    NoLedger { tenant: TenantId, home: PathBuf },
    #[error(
        "cannot use the keyring {input}: {}",
        quote.message_at_place(source, "it is no keyring")
    )]
    Keyring { input: String, source: KeyringError, quote: Quote },
    #[error("cannot read the keyring {input}: {source}")]
    KeyringUnreadable { input: String, source: std::io::Error },
    #[error("{input} is no ledger as `actum ledger export` writes it")]
    NoExport { input: String, found: Option<String> },
    #[error("{input} is not verified: {}", quote.message_at_place(source, "it proves nothing"))]
    Receipt { input: String, source: Box<BundleProblem>, quote: Quote },
    #[error("the ledger has {size} entries, and entry {index} is not among them")]
    NoEntry { index: u64, size: u64 },
    #[error("the ledger of the tenant `{tenant}` has no run {run}")]
    NotRecorded { run: RunId, tenant: TenantId },
    #[error("the run {run} has no receipt yet: how it ended is not recorded")]
    NoReceipt { run: RunId },
    #[error("the decision of run {run} cannot be made again: {source}")]
    Replay { run: RunId, source: Box<ReplayProblem> },
}

/// Reason for which no home is made at a path.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HomePlaceRefused {
    #[error("it holds other files, such as `{}`", Quoted(.0.as_os_str().as_bytes()))]
    InUse(PathBuf),
    #[error("it is or holds your home directory `{}`", Quoted(.0.as_os_str().as_bytes()))]
    UserHome(PathBuf),
    #[error("it lies in a workspace or a repository, as `{}` shows", Quoted(.0.as_os_str().as_bytes()))]
    InProject(PathBuf),
    #[error("{0}")]
    Protected(String),
    #[error(
        "`{}`, which it is, holds or lies in, is for ledgers and keys or the operator's policy",
        Quoted(.0.as_os_str().as_bytes())
    )]
    OperatorsOwn(PathBuf),
    #[error("`{}` is a place of credentials", Quoted(.0.as_os_str().as_bytes()))]
    Credentials(PathBuf),
    #[error("it is or holds a directory of the system")]
    System,
}

impl From<HomeUnknown> for Failure {
    fn from(unknown: HomeUnknown) -> Self {
        match unknown {
            HomeUnknown::Nowhere => LedgerFailure::NoHome.into(),
            HomeUnknown::Two { known, named } => {
                LedgerFailure::TwoConfigurations { known, named }.into()
            }
            HomeUnknown::Tenant { message } => Self::Usage { message },
        }
    }
}

fn shown(path: &std::path::Path) -> Quoted<'_> {
    use std::os::unix::ffi::OsStrExt;
    Quoted(path.as_os_str().as_bytes())
}

const KEYRING_OF_THE_SIGNER: &str = "`actum key export` writes one, where the ledger is";

impl FailureKind for LedgerFailure {
    /// Returns the exit code. A record that no longer matches needs the user's attention.
    fn exit(&self) -> Exit {
        match self {
            Self::Replay { source, .. } => match **source {
                ReplayProblem::EngineUnsupported { .. } => Exit::Refused,
                ReplayProblem::RefMissing { .. }
                | ReplayProblem::RefHashMismatch { .. }
                | ReplayProblem::DecisionMismatch { .. }
                | ReplayProblem::ProjectionDrift { .. } => Exit::NeedsAttention,
            },
            Self::NoHome
            | Self::TwoConfigurations { .. }
            | Self::HomePlace { .. }
            | Self::NoKeys { .. }
            | Self::NoLedger { .. }
            | Self::Keyring { .. }
            | Self::KeyringUnreadable { .. }
            | Self::NoExport { .. }
            | Self::Receipt { .. }
            | Self::NoEntry { .. }
            | Self::NotRecorded { .. }
            | Self::NoReceipt { .. } => Exit::Refused,
        }
    }

    fn reason(&self) -> Reason {
        match self {
            Self::NoHome => Reason::LedgerHomeUnknown,
            Self::TwoConfigurations { .. } => Reason::ConfigurationElsewhere,
            Self::HomePlace { .. } => Reason::LedgerHomeUnusable,
            Self::NoKeys { .. } => Reason::KeysMissing,
            Self::NoLedger { .. } => Reason::LedgerMissing,
            Self::Keyring { source: KeyringError::Format { found }, .. }
                if found.starts_with("actum.keyring/") =>
            {
                Reason::NewerFormat
            }
            Self::Keyring { .. } => Reason::KeyringInvalid,
            Self::KeyringUnreadable { .. } => Reason::InputUnreadable,
            Self::NoExport { .. } => Reason::InputUnrecognised,
            Self::Receipt { source, .. } => named(source.reason()),
            Self::NoEntry { .. } => Reason::UnknownEntry,
            Self::NotRecorded { .. } => Reason::RunNotRecorded,
            Self::NoReceipt { .. } => Reason::ReceiptPending,
            Self::Replay { source, .. } => named(source.reason()),
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NoHome => "`ACTUM_HOME=DIR` names a directory for them, for you alone",
            Self::TwoConfigurations { known, .. } => {
                return vec![format!(
                    "unset `XDG_CONFIG_HOME`, or keep one policy, in `{}`, and let a symbolic link lead to it",
                    shown(known)
                )];
            }
            Self::HomePlace { .. } => "name a new directory of its own, or unset `ACTUM_HOME`",
            Self::NoKeys { .. } => {
                "the first run makes them; `actum verify` and `actum ledger verify` take those of \
                 someone else: `--keyring FILE`"
            }
            Self::NoLedger { .. } => {
                "the first run makes it; `--tenant` and `ACTUM_HOME` say which is meant"
            }
            Self::Keyring { source: KeyringError::Format { found }, .. } => {
                own_format::hint(found).unwrap_or(KEYRING_OF_THE_SIGNER)
            }
            Self::Keyring { .. } | Self::KeyringUnreadable { .. } => KEYRING_OF_THE_SIGNER,
            Self::NoExport { found, .. } => {
                let hint = found.as_deref().and_then(own_format::hint);
                hint.unwrap_or("`actum ledger export -o FILE` writes one")
            }
            Self::Receipt { source, .. } => return after(source),
            Self::NoEntry { .. } => "`actum ledger show` lists the newest entries",
            Self::NotRecorded { .. } => {
                "runs made before there was a ledger, or with another `ACTUM_HOME` or `--tenant`, are not in \
                 it"
            }
            Self::NoReceipt { .. } => {
                "the next run in its workspace, or `actum recover`, writes it"
            }
            Self::Replay { .. } => "`actum ledger verify` tells whether the ledger is sound",
        };
        vec![hint.to_owned()]
    }
}

/// Returns the hint about a bundle that is not verified.
fn after(problem: &BundleProblem) -> Vec<String> {
    if let BundleProblem::Format { found } = problem
        && let Some(hint) = own_format::hint(found)
    {
        return vec![hint.to_owned()];
    }
    let hint = match problem.reason() {
        "SIGNER_UNKNOWN" | "KEY_UNKNOWN" => {
            "give the keyring of who signed it (`--keyring FILE`), or a newer one, where a key was made \
             since: `actum key export` writes it there"
        }
        "KEY_EXPIRED" => {
            "if the key was changed since, an old keyring does not know until when it counted: get the \
             newest"
        }
        "KEY_REVOKED" | "KEY_NOT_YET_VALID" | "KEY_OF_ANOTHER_ROLE" => {
            "do not rely on it; ask who signed it"
        }
        "RECEIPT_MALFORMED" | "RECEIPT_OF_ANOTHER_TYPE" | "BUNDLE_MALFORMED" => {
            "`actum receipt RUN` writes a receipt with its proof"
        }
        "BUNDLE_OF_ANOTHER_FORMAT" => "a later version of actum may know it",
        _ => "it was changed since it was signed, or never was what it says: do not rely on it",
    };
    vec![hint.to_owned()]
}

/// Returns the reason of a name; those of `actum-gate` are all included, as a test checks.
fn named(name: &str) -> Reason {
    Reason::ALL.iter().copied().find(|reason| reason.name() == name).unwrap_or(Reason::SystemError)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-11
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test reads the sources")]
    fn every_reason_of_the_gates_has_a_page() {
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../actum-gate/src");
        let mut found = 0;
        for file in ["bundle", "checkpoint", "envelope", "lib", "merkle", "receipt", "rotation"]
            .iter()
            .map(|name| format!("{sources}/{name}.rs"))
            .chain([format!("{sources}/decide/replay.rs")])
        {
            let text = std::fs::read_to_string(file).unwrap();
            for name in text.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let is_name = name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
                if is_name && !name.is_empty() {
                    assert_eq!(named(name).name(), name);
                    found += 1;
                }
            }
        }
        assert!(found > 25, "{found}");
    }
}
