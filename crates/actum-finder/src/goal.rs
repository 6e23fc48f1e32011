//! Goal in the form of the Finder.

use actum_agent::AgentGoalRequest;
use actum_agent::confirmation::LanguageTag;
use actum_core::Digest;
use actum_record::agent::CorrelationId;
use actum_record::ledger::TenantId;

/// Facts of a goal that a search uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// Goal.
    pub correlation_id: CorrelationId,
    /// Tenant.
    pub tenant_id: TenantId,
    /// [`AgentGoalRequest::fingerprint`] of the goal.
    pub fingerprint: Digest,
    /// Words of the user.
    pub utterance: String,
    /// Intent as the language processor normalised it.
    pub normalized_intent: String,
    /// Language of the utterance; `None` if unknown, so that the phrases of all languages count.
    pub language: Option<LanguageTag>,
    /// Number of the attempt, counted from 0.
    pub attempt_counter: u32,
}

impl Goal {
    /// Creates the goal from a request. Its packet does not matter.
    pub fn from_request(request: &AgentGoalRequest, language: Option<LanguageTag>) -> Self {
        Self {
            correlation_id: request.correlation_id.clone(),
            tenant_id: request.tenant_id.clone(),
            fingerprint: request.fingerprint(),
            utterance: request.raw_user_utterance.clone(),
            normalized_intent: request.normalized_intent.clone(),
            language,
            attempt_counter: request.attempt_counter,
        }
    }

    /// Returns the code of the language, without script and region.
    pub(crate) fn language_code(&self) -> Option<String> {
        let code = self.language.as_ref()?.language();
        (code != crate::simulation::ANY_LANGUAGE).then(|| code.to_owned())
    }
}
