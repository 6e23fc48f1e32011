//! Queries on the database tables of the Agent Execution Core.

use actum_core::{Digest, Timestamp};
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::ledger::{EntryKind, TenantId};

use crate::error::LedgerError;
use crate::log::{AgentCurrentRow, AgentEscalation, AgentSlo, AgentStepRow, Log};
use crate::projection::agent::{AgentReader, KnownAccess, KnownConfirmation, KnownEscalation};
use crate::sqlite::link::Link;
use crate::sqlite::rows;

/// Builds a query for the state of steps, with their claim and last start. The condition must select the newest row of
/// each step, under the alias `newest`.
macro_rules! step_of_newest {
    ($condition:literal) => {
        concat!(
            "SELECT newest.correlation_id, newest.step_id, newest.state, newest.seq, claim.seq, \
             claim.idempotency_key, start.seq, start.plan_id FROM agent_execution_ledger AS newest \
             LEFT JOIN agent_execution_ledger AS claim ON claim.tenant_id = newest.tenant_id \
             AND claim.correlation_id = newest.correlation_id AND claim.step_id = newest.step_id \
             AND claim.event = 'DISPATCH_STARTED' \
             LEFT JOIN agent_execution_ledger AS start ON start.seq = (SELECT max(any.seq) \
             FROM agent_execution_ledger AS any WHERE any.tenant_id = newest.tenant_id \
             AND any.correlation_id = newest.correlation_id AND any.step_id = newest.step_id \
             AND any.event IN ('DISPATCH_STARTED', 'RETRY_STARTED')) WHERE ",
            $condition
        )
    };
}

const STEP: &str = step_of_newest!(
    "newest.seq = (SELECT max(seq) FROM agent_execution_ledger \
     WHERE tenant_id = ? AND correlation_id = ? AND step_id = ?)"
);

/// Selects the steps that have started but have no outcome. A step can have rows for several plans, and only the newest of
/// these rows contains its current state.
const OPEN: &str = step_of_newest!(
    "newest.seq IN (SELECT last_seq FROM agent_execution_current WHERE state = 'STARTED') \
     AND NOT EXISTS (SELECT 1 FROM agent_execution_ledger AS later \
     WHERE later.tenant_id = newest.tenant_id AND later.correlation_id = newest.correlation_id \
     AND later.step_id = newest.step_id AND later.seq > newest.seq) ORDER BY newest.seq"
);

const ENTRIES: &str = "SELECT seq FROM agent_execution_ledger WHERE tenant_id = ?1 AND correlation_id = ?2 UNION ALL \
     SELECT seq FROM agent_execution_access_decision_ledger \
     WHERE tenant_id = ?1 AND correlation_id = ?2 UNION ALL \
     SELECT seq FROM agent_execution_confirmation_ledger \
     WHERE tenant_id = ?1 AND correlation_id = ?2 UNION ALL \
     SELECT seq FROM agent_intake_resolved_ledger \
     WHERE tenant_id = ?1 AND correlation_id = ?2";

impl Link {
    pub(in crate::sqlite) fn agent_step_row(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, LedgerError> {
        let tenant = self.own_tenant()?;
        let params = (tenant.as_str(), correlation.as_str(), step.as_str());
        self.one(STEP, params, rows::agent_step)
    }

    pub(in crate::sqlite) fn open_agent_step_rows(&self) -> Result<Vec<AgentStepRow>, LedgerError> {
        self.all(OPEN, (), rows::agent_step)
    }

    pub(in crate::sqlite) fn agent_current_row(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, LedgerError> {
        let sql = "SELECT plan_id, step_id, last_seq, correlation_id, state, decision_key, \
                   reason_code, updated_at FROM agent_execution_current \
                   WHERE tenant_id = ? AND plan_id = ? AND step_id = ?";
        let tenant = self.own_tenant()?;
        self.one(sql, (tenant.as_str(), plan.as_str(), step.as_str()), rows::agent_current)
    }

    pub(in crate::sqlite) fn agent_entry_indexes(
        &self,
        correlation: &CorrelationId,
    ) -> Result<Vec<u64>, LedgerError> {
        let tenant = self.own_tenant()?;
        let params = (tenant.as_str(), correlation.as_str());
        let mut entries = self.all(ENTRIES, params, |row| row.get(0))?;
        // Sort here instead of in SQL. Compiling the merge of four sorted queries would take longer than sorting the rows.
        entries.sort_unstable();
        Ok(entries)
    }

    pub(in crate::sqlite) fn goal_of_request(
        &self,
        request: &Digest,
    ) -> Result<Option<CorrelationId>, LedgerError> {
        let sql = "SELECT correlation_id FROM agent_execution_ledger \
                   WHERE tenant_id = ? AND request_key = ? ORDER BY seq LIMIT 1";
        let tenant = self.own_tenant()?;
        self.one(sql, (tenant.as_str(), request.as_bytes()), |row| {
            let rows::Text(goal) = row.get(0)?;
            Ok(goal)
        })
    }

    pub(in crate::sqlite) fn unresolved_escalation_rows(
        &self,
    ) -> Result<Vec<AgentEscalation>, LedgerError> {
        let sql = "SELECT seq, ref, correlation_id, step_id FROM agent_execution_ledger \
                   AS escalated WHERE state = 'ESCALATED' AND NOT EXISTS (SELECT 1 \
                   FROM agent_intake_resolved_ledger AS resolved \
                   WHERE resolved.tenant_id = escalated.tenant_id \
                   AND resolved.correlation_id = escalated.correlation_id \
                   AND resolved.escalated_ref = escalated.ref) ORDER BY seq";
        self.all(sql, (), rows::agent_escalation)
    }

    pub(in crate::sqlite) fn agent_slo_sum(
        &self,
        since: Timestamp,
    ) -> Result<AgentSlo, LedgerError> {
        let sql = "SELECT coalesce(sum(total), 0), coalesce(sum(over_p95), 0), \
                   coalesce(sum(over_p99), 0), coalesce(sum(errors), 0) \
                   FROM agent_slo_minute WHERE tenant_id = ? AND minute >= ?";
        let tenant = self.own_tenant()?;
        let sum = self.one(sql, (tenant.as_str(), AgentSlo::minute(since)), rows::agent_slo)?;
        Ok(sum.unwrap_or_default())
    }

    pub(in crate::sqlite) fn duplicate_effects(&self) -> Result<u64, LedgerError> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM agent_execution_ledger \
                   WHERE event = 'OUTCOME' AND state = 'SUCCEEDED' \
                   GROUP BY decision_key HAVING count(*) > 1)";
        Ok(self.one(sql, (), |row| row.get(0))?.unwrap_or(0))
    }

    /// Returns the tenant of the log, which is read from the first entry only once.
    fn own_tenant(&self) -> Result<&TenantId, LedgerError> {
        match self.tenant.get() {
            Some(tenant) => Ok(tenant),
            None => {
                let tenant = Log::tenant(self)?;
                Ok(self.tenant.get_or_init(|| tenant))
            }
        }
    }
}

impl AgentReader for Link {
    type Error = LedgerError;

    fn log_tenant(&self) -> Result<Option<TenantId>, LedgerError> {
        match self.size()? {
            0 => Ok(None),
            _ => self.own_tenant().cloned().map(Some),
        }
    }

    fn known_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, LedgerError> {
        self.agent_step_row(correlation, step)
    }

    fn known_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, LedgerError> {
        self.agent_current_row(plan, step)
    }

    fn known_request(&self, request: &Digest) -> Result<Option<CorrelationId>, LedgerError> {
        self.goal_of_request(request)
    }

    fn known_access(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownAccess>, LedgerError> {
        let sql = "SELECT step_id, outcome FROM agent_execution_access_decision_ledger \
                   WHERE tenant_id = ? AND correlation_id = ? AND ref = ? LIMIT 1";
        let tenant = self.own_tenant()?;
        let params = (tenant.as_str(), correlation.as_str(), leaf.as_bytes());
        self.one(sql, params, rows::known_access)
    }

    fn known_confirmation(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownConfirmation>, LedgerError> {
        let sql = "SELECT step_id, outcome, confirmation_parse_proof_ref, plan_fingerprint \
                   FROM agent_execution_confirmation_ledger \
                   WHERE tenant_id = ? AND correlation_id = ? AND ref = ? LIMIT 1";
        let tenant = self.own_tenant()?;
        let params = (tenant.as_str(), correlation.as_str(), leaf.as_bytes());
        self.one(sql, params, rows::known_confirmation)
    }

    fn known_catalog(&self) -> Result<Option<u64>, LedgerError> {
        Ok(self.newest_of_kind(EntryKind::CatalogChanged, None, 1)?.first().copied())
    }

    fn is_rejected(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
        plan: &Digest,
    ) -> Result<bool, LedgerError> {
        let sql = "SELECT 1 FROM agent_execution_confirmation_ledger \
                   WHERE tenant_id = ? AND correlation_id = ? AND step_id = ? \
                   AND plan_fingerprint = ? AND outcome = 'REJECTED' LIMIT 1";
        let tenant = self.own_tenant()?;
        let params = (tenant.as_str(), correlation.as_str(), step.as_str(), plan.as_bytes());
        Ok(self.one(sql, params, |_| Ok(()))?.is_some())
    }

    fn known_escalation(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownEscalation>, LedgerError> {
        let sql = "SELECT (SELECT min(seq) FROM agent_intake_resolved_ledger \
                   WHERE tenant_id = ?1 AND correlation_id = ?2 AND escalated_ref = ?3) \
                   FROM agent_execution_ledger \
                   WHERE tenant_id = ?1 AND correlation_id = ?2 AND ref = ?3 \
                   AND state = 'ESCALATED' LIMIT 1";
        let tenant = self.own_tenant()?;
        let params = (tenant.as_str(), correlation.as_str(), leaf.as_bytes());
        self.one(sql, params, |row| Ok(KnownEscalation { resolved: row.get(0)? }))
    }
}
