//! Extracts from a malformed plan envelope the fields that its `rejected` result needs (AA-2).

use actum_core::json::{Content, Value};
use actum_core::{ActionName, Digest, RiskTier};
use actum_document::{Fault, Form, reader};

use super::limits::PLAN_BYTES_MAX;
use super::plan::{PLAN, PlanError, name, tier};

/// Plan envelope that is malformed but names its action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedPlan {
    /// Id that the planner gave the action, if it is well-formed.
    pub action_id: Option<String>,
    /// Type of the action that was requested.
    pub action_type: ActionName,
    /// Risk tier that the planner declared, if it is well-formed.
    pub declared_tier: Option<RiskTier>,
    /// Digest of the bytes. It is computed with a tag of its own, so it never equals the digest of a valid plan
    /// envelope.
    pub digest: Digest,
    /// First error found in the plan envelope.
    pub error: PlanError,
}

impl MalformedPlan {
    /// Extracts the usable fields from bytes that [`PlanEnvelope::read`](super::PlanEnvelope::read) rejected with
    /// `error`.
    ///
    /// # Errors
    /// Returns `error` unchanged if the bytes are too large, are not JSON, or do not contain exactly one well-formed
    /// `actionType`.
    pub fn from_error(bytes: &[u8], error: PlanError) -> Result<Self, PlanError> {
        if bytes.len() > PLAN_BYTES_MAX {
            return Err(error);
        }
        let Ok(document) = Value::read(bytes) else { return Err(error) };
        match only(&document, "actionType", name) {
            Some(action_type) => Ok(Self {
                action_id: only(&document, "actionId", reader::text),
                action_type,
                declared_tier: only(&document, "riskTier", tier),
                digest: Digest::tagged("actum/malformed-plan-envelope/v1", &[bytes]),
                error,
            }),
            None => Err(error),
        }
    }

    /// Returns the effective risk tier, which is R4 if the declared tier is missing or malformed.
    pub fn tier(&self) -> RiskTier {
        self.declared_tier.unwrap_or(RiskTier::R4)
    }
}

/// Returns the member with this name if the object contains it exactly once and it is well-formed.
fn only<'v, T>(
    object: &'v Value<'v>,
    name: &str,
    take: fn(Form, &'v Value<'v>) -> Result<T, Fault>,
) -> Option<T> {
    let Content::Object(members) = &object.content else { return None };
    let mut named = members.iter().filter(|member| member.name == name);
    let (Some(member), None) = (named.next(), named.next()) else { return None };
    take(PLAN.member(name)?.form, &member.value).ok()
}
