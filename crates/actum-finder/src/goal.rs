//! Goal in the form that the Finder uses.

use actum_agent::AgentGoalRequest;
use actum_agent::confirmation::LanguageTag;
use actum_core::Digest;
use actum_record::agent::CorrelationId;
use actum_record::ledger::TenantId;

/// Parts of a user's goal that a search uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// Correlation id of the goal.
    pub correlation_id: CorrelationId,
    /// Tenant that the goal belongs to.
    pub tenant_id: TenantId,
    /// [`AgentGoalRequest::fingerprint`] of the goal.
    pub fingerprint: Digest,
    /// Request of the user, verbatim.
    pub utterance: String,
    /// Intent of the user, as normalised by the language processor.
    pub normalized_intent: String,
    /// Language of the utterance. If it is `None`, the search uses the phrases of all languages.
    pub language: Option<LanguageTag>,
    /// Number of the current attempt, starting at 0.
    pub attempt_counter: u32,
}

impl Goal {
    /// Creates a goal from a request, ignoring the packet of the request.
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

    /// Returns the language code without script and region, or `None` if the language is unknown.
    pub(crate) fn language_code(&self) -> Option<String> {
        let code = self.language.as_ref()?.language();
        (code != crate::simulation::ANY_LANGUAGE).then(|| code.to_owned())
    }
}
