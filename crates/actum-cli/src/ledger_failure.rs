//! Failures of operations on ledgers, keys and receipts, including proofs that do not verify.

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

/// Failure of an operation on a ledger, its keys or its receipts, or of a verification.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerFailure {
    #[error(
        "cannot locate ledgers and keys: none of `ACTUM_HOME`, `XDG_DATA_HOME` and `HOME` is set to an absolute path"
    )]
    NoHome,
    #[error(
        "the operator has two policies: one in `{}`, and one in `{}`, which the environment names",
        shown(known),
        shown(named)
    )]
    TwoConfigurations { known: PathBuf, named: PathBuf },
    #[error("cannot use `{}` as a new directory of ledgers and keys: {why}", shown(home))]
    HomePlace { home: PathBuf, why: HomePlaceRefused },
    #[error("there are no keys in `{}`", shown(home))]
    NoKeys { home: PathBuf },
    #[error("there is no ledger of the tenant `{tenant}` in `{}`", shown(home))]
    NoLedger { tenant: TenantId, home: PathBuf },
    #[error(
        "cannot use the keyring {input}: {}",
        quote.message_at_place(source, "it is not a keyring")
    )]
    Keyring { input: String, source: KeyringError, quote: Quote },
    #[error("cannot read the keyring {input}: {source}")]
    KeyringUnreadable { input: String, source: std::io::Error },
    #[error("{input} is not a ledger that `actum ledger export` wrote")]
    NoExport { input: String, found: Option<String> },
    #[error("{input} could not be verified: {}", quote.message_at_place(source, "it proves nothing"))]
    Receipt { input: String, source: Box<BundleProblem>, quote: Quote },
    #[error("the ledger has {size} entries, so there is no entry {index}")]
    NoEntry { index: u64, size: u64 },
    #[error("the ledger of the tenant `{tenant}` has no run {run}")]
    NotRecorded { run: RunId, tenant: TenantId },
    #[error("run {run} has no receipt yet, because its outcome is not recorded")]
    NoReceipt { run: RunId },
    #[error("cannot reproduce the decision on run {run}: {source}")]
    Replay { run: RunId, source: Box<ReplayProblem> },
}

/// Reason why a path cannot be used as a new directory of ledgers and keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HomePlaceRefused {
    #[error("it contains other files, such as `{}`", Quoted(.0.as_os_str().as_bytes()))]
    InUse(PathBuf),
    #[error("it is or contains your home directory `{}`", Quoted(.0.as_os_str().as_bytes()))]
    UserHome(PathBuf),
    #[error("it is in a workspace or a repository, as `{}` shows", Quoted(.0.as_os_str().as_bytes()))]
    InProject(PathBuf),
    #[error("{0}")]
    Protected(String),
    #[error(
        "it overlaps with `{}`, which is for ledgers and keys or the operator's policy",
        Quoted(.0.as_os_str().as_bytes())
    )]
    OperatorsOwn(PathBuf),
    #[error("`{}` is a well-known location for credentials", Quoted(.0.as_os_str().as_bytes()))]
    Credentials(PathBuf),
    #[error("it is or contains a system directory")]
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

const KEYRING_OF_THE_SIGNER: &str = "run `actum key export` where the ledger is to create one";

impl FailureKind for LedgerFailure {
    /// Returns the exit code. A recorded decision that cannot be reproduced needs the user's attention.
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
            Self::NoHome => "set `ACTUM_HOME` to a directory that only you can access",
            Self::TwoConfigurations { known, .. } => {
                return vec![format!(
                    "unset `XDG_CONFIG_HOME`, or keep only the policy in `{}` and make the other directory a symbolic link \
                     to it",
                    shown(known)
                )];
            }
            Self::HomePlace { .. } => "choose a new, dedicated directory, or unset `ACTUM_HOME`",
            Self::NoKeys { .. } => {
                "the first run creates them; to verify with another user's keys, pass `--keyring FILE` to `actum verify` or \
                 `actum ledger verify`"
            }
            Self::NoLedger { .. } => {
                "the first run creates it; `--tenant` and `ACTUM_HOME` select the ledger"
            }
            Self::Keyring { source: KeyringError::Format { found }, .. } => {
                own_format::hint(found).unwrap_or(KEYRING_OF_THE_SIGNER)
            }
            Self::Keyring { .. } | Self::KeyringUnreadable { .. } => KEYRING_OF_THE_SIGNER,
            Self::NoExport { found, .. } => {
                let hint = found.as_deref().and_then(own_format::hint);
                hint.unwrap_or("run `actum ledger export -o FILE` to write one")
            }
            Self::Receipt { source, .. } => return after(source),
            Self::NoEntry { .. } => "`actum ledger show` lists the newest entries",
            Self::NotRecorded { .. } => {
                "the ledger lacks runs that were made before it existed, or with a different `ACTUM_HOME` or `--tenant`"
            }
            Self::NoReceipt { .. } => {
                "run `actum recover` in its workspace to write the receipt, or wait for the next run there"
            }
            Self::Replay { .. } => "run `actum ledger verify` to check the ledger",
        };
        vec![hint.to_owned()]
    }
}

/// Returns the hint for a receipt that could not be verified.
fn after(problem: &BundleProblem) -> Vec<String> {
    if let BundleProblem::Format { found } = problem
        && let Some(hint) = own_format::hint(found)
    {
        return vec![hint.to_owned()];
    }
    let hint = match problem.reason() {
        "SIGNER_UNKNOWN" | "KEY_UNKNOWN" => {
            "pass the keyring of the signer (`--keyring FILE`), or a newer one if a key was added since; the signer can \
             create it with `actum key export`"
        }
        "KEY_EXPIRED" => {
            "if the key was replaced since, an old keyring does not know how long it was valid, so get the newest one"
        }
        "KEY_REVOKED" | "KEY_NOT_YET_VALID" | "KEY_OF_ANOTHER_ROLE" => {
            "do not rely on it; ask the signer"
        }
        "RECEIPT_MALFORMED" | "RECEIPT_OF_ANOTHER_TYPE" | "BUNDLE_MALFORMED" => {
            "`actum receipt RUN` writes a receipt with its proof"
        }
        "BUNDLE_OF_ANOTHER_FORMAT" => "a later version of actum may support it",
        _ => "it was changed after it was signed, or was never genuine, so do not rely on it",
    };
    vec![hint.to_owned()]
}

/// Returns the reason with the given name. A test checks that every name used in `actum-gate` has a reason.
fn named(name: &str) -> Reason {
    Reason::ALL.iter().copied().find(|reason| reason.name() == name).unwrap_or(Reason::SystemError)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-11
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test reads the sources")]
    fn every_gate_reason_has_a_page() {
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
