//! `actum.bind/1`: the ledger to which a workspace belongs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::value;
use crate::word::words;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Bind>()];

words! {
    /// State of the binding of a workspace to the ledger in use.
    Binding {
        /// The workspace belongs to the ledger in use.
        Own = "own",
        /// The workspace belongs to the ledger in use from now on.
        Adopted = "adopted",
        /// The request waits.
        Waiting = "waiting",
        /// The request that waited is rejected.
        Cancelled = "cancelled",
        /// No request waits.
        NothingWaits = "nothing_waits",
    }
}

/// Result of `actum bind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bind {
    /// State of the binding.
    pub binding: Binding,
    /// Log that asked for the workspace. Only of a request that waits or was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub ledger: Option<String>,
    /// Time from which the request can be completed. Only of a request that waits or was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::Time")]
    pub from: Option<String>,
}

impl Document for Bind {
    const FORMAT: &'static str = "actum.bind/1";
}
