//! `actum.bind/1`: binding of a workspace to a ledger.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::value;
use crate::word::words;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Bind>()];

words! {
    /// State of the binding between a workspace and the ledger in use.
    Binding {
        /// The workspace already belongs to the ledger in use.
        Own = "own",
        /// The workspace was moved to the ledger in use.
        Adopted = "adopted",
        /// A request to move the workspace is pending.
        Waiting = "waiting",
        /// The pending request was cancelled.
        Cancelled = "cancelled",
        /// There is no pending request.
        NothingWaits = "nothing_waits",
    }
}

/// Result of `actum bind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bind {
    /// State of the binding.
    pub binding: Binding,
    /// Name of the log that requested the workspace. Present only for a pending or cancelled request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub ledger: Option<String>,
    /// Earliest time at which the request can be completed. Present only for a pending or cancelled request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::Time")]
    pub from: Option<String>,
}

impl Document for Bind {
    const FORMAT: &'static str = "actum.bind/1";
}
