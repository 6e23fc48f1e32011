//! Schemas of values that `actum-core` and `actum-record` define.
//!
//! These types are never made. A field names one in `#[schemars(with = "...")]`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Defines schemas of texts.
macro_rules! texts {
    ($($(#[doc = $about:literal])+ $name:ident { $($keyword:literal: $value:expr),+ $(,)? })+) => { $(
        $(#[doc = $about])+
        pub(crate) enum $name {}

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let about = concat!($($about),+).trim_start();
                json_schema!({ "description": about, "type": "string", $($keyword: $value),+ })
            }
        }
    )+ };
}

texts! {
    /// Id of a run or of a plan.
    RunId { "pattern": "^[0-9a-hjkmnp-tv-z]{12}$" }
    /// SHA-256 digest in hexadecimal.
    Digest { "pattern": "^[0-9a-f]{64}$" }
    /// Id of a block of a lease.
    LeaseId { "pattern": "^[0-9a-f]{64}$" }
    /// Id of a key.
    KeyId { "pattern": "^[0-9a-f]{16}$" }
    /// Time in UTC (RFC 3339).
    Time { "format": "date-time", "pattern": "Z$" }
    /// Ed25519 public key in base64.
    PublicKey { "pattern": "^[A-Za-z0-9+/]{43}=$" }
    /// Purpose of a key: receipts (`result`), the state of a ledger (`checkpoint`), approvals (`approval`).
    KeyRole { "enum": ["lease", "result", "checkpoint", "approval"] }
    /// Name of a tenant, to which a ledger belongs.
    TenantId { "minLength": 1, "maxLength": 64 }
    /// Id of a workspace.
    WorkspaceId { "pattern": "^[0-9a-hjkmnp-tv-z]{12}$" }
    /// Name of an action.
    ActionName { "pattern": "^[a-z][a-z0-9_]*$" }
    /// State of an action: registered (`DRAFT`), usable (`ACTIVE`), or usable no longer (`RETIRED`).
    ActionState { "enum": ["DRAFT", "ACTIVE", "RETIRED"] }
    /// Effect on a path.
    EffectKind {
        "enum": [
            "created", "modified", "renamed", "mode", "attributes", "deleted", "directory_created",
            "directory_removed"
        ]
    }
    /// Permission bits in octal.
    Mode { "pattern": "^([0-7]{4}|120000)$" }
    /// Status of a request: `reverted` is rolled back, `rejected` changed nothing, `queued` waits for an approver, `failed`
    /// needs a look.
    Status { "enum": ["succeeded", "reverted", "rejected", "queued", "failed"] }
    /// Risk tier; from R3 on an approver decides.
    Tier { "enum": ["R0", "R1", "R2", "R3", "R4"] }
}

/// Path below the root of the workspace: its text, or an object with `hex` where its bytes are not UTF-8.
pub(crate) enum PathName {}

impl JsonSchema for PathName {
    fn schema_name() -> Cow<'static, str> {
        "PathName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let about =
            "Path below the root: its text, or an object with `hex` where its bytes are not UTF-8.";
        json_schema!({
            "description": about,
            "oneOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "hex": {
                            "description": "Bytes of the path in hexadecimal.",
                            "type": "string",
                            "pattern": "^([0-9a-f]{2})+$"
                        }
                    },
                    "required": ["hex"]
                }
            ]
        })
    }
}
