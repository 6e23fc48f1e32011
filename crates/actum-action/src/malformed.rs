//! Malformed plan envelope: the fields that a `rejected` result needs (AA-2).

use actum_core::json::{Content, Value};
use actum_core::{ActionName, Digest, RiskTier};
use actum_document::{Fault, Form, reader};

use super::limits::PLAN_BYTES_MAX;
use super::plan::{PLAN, PlanError, name, tier};

/// Malformed plan envelope that names its action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedPlan {
    /// Planner's name for the action, if it is well-formed.
    pub action_id: Option<String>,
    /// Requested action.
    pub action_type: ActionName,
    /// Declared tier, if it is well-formed.
    pub declared_tier: Option<RiskTier>,
    /// Digest of the bytes. It has a tag of its own, so it never equals the digest of a plan envelope.
    pub digest: Digest,
    /// First error.
    pub error: PlanError,
}

impl MalformedPlan {
    /// Reads the fields of a malformed plan envelope, from the bytes that
    /// [`PlanEnvelope::read`](super::PlanEnvelope::read) rejected with `error`.
    ///
    /// # Errors
    /// `error` itself, if the bytes are not JSON, are too many, or do not have one well-formed `actionType`.
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

    /// Returns the tier in force: R4 if none can be read.
    pub fn tier(&self) -> RiskTier {
        self.declared_tier.unwrap_or(RiskTier::R4)
    }
}

/// Returns the member of this name, if the object has it once and well-formed.
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
