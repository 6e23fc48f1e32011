//! Malformed plan envelope: the fields that a `rejected` result needs (AA-2).

use actum_core::json::{Content, Value};
use actum_core::{ActionName, Digest, RiskTier};
use actum_document::{Fault, Form, reader};

use super::limits::PLAN_BYTES_MAX;
use super::plan::{PLAN, PlanError, name, tier};

/// A plan envelope that is malformed, but names its action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedPlan {
    /// The planner's name for the action, where it is well-formed.
    pub action_id: Option<String>,
    /// Which action was asked for.
    pub action_type: ActionName,
    /// The declared tier, where it is well-formed.
    pub declared_tier: Option<RiskTier>,
    /// Digest of the bytes. It has a tag of its own, so it never equals the digest of a plan envelope.
    pub digest: Digest,
    /// The first mistake.
    pub error: PlanError,
}

impl MalformedPlan {
    /// Reads the fields of a malformed plan envelope from the bytes that [`PlanEnvelope::read`](super::PlanEnvelope::read)
    /// refused with `error`.
    ///
    /// # Errors
    /// `error` itself, where the bytes are not JSON, are too many, or do not have one well-formed `actionType`.
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

    /// The tier that counts: R4 where none can be read.
    pub fn tier(&self) -> RiskTier {
        self.declared_tier.unwrap_or(RiskTier::R4)
    }
}

/// The member of this name, where the object has it once and in its form.
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
