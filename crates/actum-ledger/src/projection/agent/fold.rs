//! In-memory projection of the Agent Execution Core, computed from the entries of a log.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;

use actum_core::{Digest, Timestamp};
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::ledger::{
    AgentConfirmation, AgentEventKind, AgentExecution, AgentState, ConfirmationOutcome, EntryFacts,
    EntryKind, TenantId,
};

use super::{AgentChange, AgentReader, KnownAccess, KnownConfirmation, KnownEscalation};
use crate::log::{AgentCurrentRow, AgentEscalation, AgentSlo, AgentStepRow};

/// Key of an entry of the Agent Execution Core, which consists of its goal and its hash.
type GoalEntry = (CorrelationId, Digest);

/// Steps, decisions, escalations and counters of the Agent Execution Core, computed from entries.
///
/// Verification and in-memory stores keep a projection of all entries. An update to a store only has a projection of the
/// entries in one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentProjection {
    tenant: Option<TenantId>,
    /// Index of the newest `CATALOG_CHANGED` entry.
    catalog: Option<u64>,
    steps: HashMap<(CorrelationId, StepId), AgentStepRow>,
    current: HashMap<(AgentPlanId, StepId), AgentCurrentRow>,
    /// Goal to which each request key is bound.
    requests: HashMap<Digest, CorrelationId>,
    access: HashMap<GoalEntry, KnownAccess>,
    confirmations: HashMap<GoalEntry, KnownConfirmation>,
    /// Steps whose plan was rejected, with the fingerprint of the plan.
    rejected: HashSet<(CorrelationId, StepId, Digest)>,
    escalated: HashSet<GoalEntry>,
    escalations: BTreeMap<u64, AgentEscalation>,
    /// Index of the `INTAKE_RESOLVED` entry for each resolved escalation.
    resolved: HashMap<GoalEntry, u64>,
    minutes: BTreeMap<i64, AgentSlo>,
    /// Number of successful outcomes for each idempotency key.
    effects: HashMap<Digest, u64>,
    entries: BTreeMap<u64, (EntryKind, CorrelationId)>,
}

impl AgentProjection {
    /// Records the tenant and the latest catalog change from an entry. Must be called for entries of all kinds.
    pub(crate) fn observe(&mut self, facts: &EntryFacts, index: u64) {
        if let Some(tenant) = &facts.tenant {
            self.tenant = Some(tenant.clone());
        }
        if facts.kind == EntryKind::CatalogChanged {
            self.catalog = Some(index);
        }
    }

    /// Adds an entry to the list of entries about its goal, even if the entry violates a rule.
    pub(crate) fn record(&mut self, kind: EntryKind, correlation: &CorrelationId, index: u64) {
        self.entries.insert(index, (kind, correlation.clone()));
    }

    /// Applies the change that a valid entry makes.
    pub(crate) fn apply(&mut self, change: AgentChange<'_>, (index, leaf): (u64, Digest)) {
        match change {
            AgentChange::Step(entry, row) => {
                self.apply_step(entry, (index, leaf));
                self.steps.insert((row.correlation.clone(), row.step.clone()), row);
            }
            AgentChange::Access(entry) => {
                let access = KnownAccess { step: entry.step.clone(), outcome: entry.outcome };
                self.access.insert((entry.correlation.clone(), leaf), access);
            }
            AgentChange::Confirmation(entry) => {
                let AgentConfirmation { outcome, proof, plan_fingerprint: plan, .. } = *entry;
                let (correlation, step) = (entry.correlation.clone(), entry.step.clone());
                if outcome == ConfirmationOutcome::Rejected {
                    self.rejected.insert((correlation.clone(), step.clone(), plan));
                }
                let answer = KnownConfirmation { step, outcome, proof, plan };
                self.confirmations.insert((correlation, leaf), answer);
            }
            AgentChange::Resolved(entry) => {
                self.resolved.insert((entry.correlation.clone(), entry.escalated), index);
            }
        }
    }

    fn apply_step(&mut self, entry: &AgentExecution, (index, leaf): (u64, Digest)) {
        let current = AgentCurrentRow::new(entry, index);
        self.current.insert((entry.plan.clone(), entry.step.clone()), current);
        let (correlation, step) = (entry.correlation.clone(), entry.step.clone());
        self.requests.entry(entry.request).or_insert_with(|| correlation.clone());
        if entry.state == AgentState::Escalated {
            self.escalated.insert((correlation.clone(), leaf));
            let escalation = AgentEscalation { index, leaf, correlation, step };
            self.escalations.insert(index, escalation);
        }
        if let Some(duration) = entry.duration {
            let minute = self.minutes.entry(AgentSlo::minute(entry.time)).or_default();
            minute.add(&AgentSlo::new(duration, entry.state));
        }
        let has_effect =
            entry.event == AgentEventKind::Outcome && entry.state == AgentState::Succeeded;
        if let Some(key) = entry.key.filter(|_| has_effect) {
            let effects = self.effects.entry(key).or_default();
            *effects = effects.saturating_add(1);
        }
    }

    /// Merges the projection of later entries, which must have been computed on top of this one.
    pub fn extend(&mut self, later: &Self) {
        self.tenant = later.tenant.clone().or(self.tenant.take());
        self.catalog = later.catalog.or(self.catalog);
        self.steps.extend(later.steps.clone());
        self.current.extend(later.current.clone());
        for (request, goal) in &later.requests {
            self.requests.entry(*request).or_insert_with(|| goal.clone());
        }
        self.access.extend(later.access.clone());
        self.confirmations.extend(later.confirmations.clone());
        self.rejected.extend(later.rejected.clone());
        self.escalated.extend(later.escalated.clone());
        self.escalations.extend(later.escalations.clone());
        self.resolved.extend(later.resolved.clone());
        self.entries.extend(later.entries.clone());
        for (minute, counters) in &later.minutes {
            self.minutes.entry(*minute).or_default().add(counters);
        }
        for (key, count) in &later.effects {
            let effects = self.effects.entry(*key).or_default();
            *effects = effects.saturating_add(*count);
        }
    }

    /// Returns the tenant to which the log belongs, or `None` if the first entry has not been observed.
    pub fn tenant(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }

    /// Returns the state of a step of a goal.
    pub fn step(&self, correlation: &CorrelationId, step: &StepId) -> Option<&AgentStepRow> {
        self.steps.get(&(correlation.clone(), step.clone()))
    }

    /// Returns the steps whose effect was started and has no outcome yet, in the order of their newest events.
    pub fn open_steps(&self) -> Vec<AgentStepRow> {
        let open = self.steps.values().filter(|row| row.state == AgentState::Started);
        let mut open: Vec<AgentStepRow> = open.cloned().collect();
        open.sort_by_key(|row| row.newest);
        open
    }

    /// Returns the newest event of a step of a plan.
    pub fn current(&self, plan: &AgentPlanId, step: &StepId) -> Option<&AgentCurrentRow> {
        self.current.get(&(plan.clone(), step.clone()))
    }

    /// Returns the goal to which a request key is bound.
    pub fn goal_of(&self, request: &Digest) -> Option<&CorrelationId> {
        self.requests.get(request)
    }

    /// Returns the newest event of each step of each plan.
    pub fn all_current(&self) -> impl Iterator<Item = &AgentCurrentRow> {
        self.current.values()
    }

    /// Returns the escalations that have not been resolved, oldest first.
    pub fn unresolved(&self) -> Vec<AgentEscalation> {
        let is_resolved =
            |it: &AgentEscalation| self.resolved.contains_key(&(it.correlation.clone(), it.leaf));
        self.escalations.values().filter(|it| !is_resolved(it)).cloned().collect()
    }

    /// Returns the indexes of all entries about a goal, in ascending order.
    pub fn entries_of(&self, correlation: &CorrelationId) -> Vec<u64> {
        let entries = self.entries.iter().filter(|(_, (_, of))| of == correlation);
        entries.map(|(index, _)| *index).collect()
    }

    /// Returns the indexes of all entries of a kind, in ascending order.
    pub fn entries_of_kind(&self, kind: EntryKind) -> impl Iterator<Item = u64> {
        let entries = self.entries.iter().filter(move |(_, (of, _))| *of == kind);
        entries.map(|(index, _)| *index)
    }

    /// Returns the counters for each minute, starting with `minute`.
    pub fn minutes_since(&self, minute: i64) -> impl Iterator<Item = (i64, &AgentSlo)> {
        self.minutes.range(minute..).map(|(minute, counters)| (*minute, counters))
    }

    /// Returns the sum of all counters, starting with the minute that contains `since`.
    pub fn slo_since(&self, since: Timestamp) -> AgentSlo {
        let mut sum = AgentSlo::default();
        for (_, counters) in self.minutes_since(AgentSlo::minute(since)) {
            sum.add(counters);
        }
        sum
    }

    /// Counts the idempotency keys that have more than one successful outcome.
    pub fn count_duplicate_effects(&self) -> u64 {
        let duplicates = self.effects.values().filter(|count| **count > 1).count();
        u64::try_from(duplicates).unwrap_or(u64::MAX)
    }
}

impl AgentReader for AgentProjection {
    type Error = Infallible;

    fn log_tenant(&self) -> Result<Option<TenantId>, Infallible> {
        Ok(self.tenant.clone())
    }

    fn known_catalog(&self) -> Result<Option<u64>, Infallible> {
        Ok(self.catalog)
    }

    fn known_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, Infallible> {
        Ok(self.step(correlation, step).cloned())
    }

    fn known_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, Infallible> {
        Ok(self.current(plan, step).cloned())
    }

    fn known_request(&self, request: &Digest) -> Result<Option<CorrelationId>, Infallible> {
        Ok(self.goal_of(request).cloned())
    }

    fn known_access(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownAccess>, Infallible> {
        Ok(self.access.get(&(correlation.clone(), *leaf)).cloned())
    }

    fn known_confirmation(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownConfirmation>, Infallible> {
        Ok(self.confirmations.get(&(correlation.clone(), *leaf)).cloned())
    }

    fn is_rejected(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
        plan: &Digest,
    ) -> Result<bool, Infallible> {
        Ok(self.rejected.contains(&(correlation.clone(), step.clone(), *plan)))
    }

    fn known_escalation(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownEscalation>, Infallible> {
        let entry = (correlation.clone(), *leaf);
        let resolved = self.resolved.get(&entry).copied();
        Ok(self.escalated.contains(&entry).then_some(KnownEscalation { resolved }))
    }
}

/// Reader that combines the projection saved in a store with the entries of a request that is being checked.
pub(crate) struct Overlay<'a, E> {
    pub(crate) stored: &'a dyn AgentReader<Error = E>,
    pub(crate) update: &'a AgentProjection,
}

impl<E> AgentReader for Overlay<'_, E> {
    type Error = E;

    fn log_tenant(&self) -> Result<Option<TenantId>, E> {
        self.update.tenant.clone().map_or_else(|| self.stored.log_tenant(), |it| Ok(Some(it)))
    }

    fn known_catalog(&self) -> Result<Option<u64>, E> {
        self.update.catalog.map_or_else(|| self.stored.known_catalog(), |it| Ok(Some(it)))
    }

    fn known_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, E> {
        let updated = self.update.step(correlation, step).cloned();
        updated.map_or_else(|| self.stored.known_step(correlation, step), |row| Ok(Some(row)))
    }

    fn known_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, E> {
        let updated = self.update.current(plan, step).cloned();
        updated.map_or_else(|| self.stored.known_current(plan, step), |row| Ok(Some(row)))
    }

    fn known_request(&self, request: &Digest) -> Result<Option<CorrelationId>, E> {
        // The stored entries take precedence because they are older than the request.
        let stored = self.stored.known_request(request)?;
        Ok(stored.or_else(|| self.update.goal_of(request).cloned()))
    }

    fn known_access(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownAccess>, E> {
        let updated = self.update.access.get(&(correlation.clone(), *leaf)).cloned();
        updated.map_or_else(|| self.stored.known_access(correlation, leaf), |it| Ok(Some(it)))
    }

    fn known_confirmation(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownConfirmation>, E> {
        let updated = self.update.confirmations.get(&(correlation.clone(), *leaf)).cloned();
        updated.map_or_else(|| self.stored.known_confirmation(correlation, leaf), |it| Ok(Some(it)))
    }

    fn is_rejected(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
        plan: &Digest,
    ) -> Result<bool, E> {
        match self.update.rejected.contains(&(correlation.clone(), step.clone(), *plan)) {
            true => Ok(true),
            false => self.stored.is_rejected(correlation, step, plan),
        }
    }

    fn known_escalation(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownEscalation>, E> {
        // The request may resolve an escalation that was stored earlier.
        let entry = (correlation.clone(), *leaf);
        let stored = self.stored.known_escalation(correlation, leaf)?;
        let is_known = stored.is_some() || self.update.escalated.contains(&entry);
        let resolved = self.update.resolved.get(&entry).copied();
        let resolved = resolved.or(stored.and_then(|stored| stored.resolved));
        Ok(is_known.then_some(KnownEscalation { resolved }))
    }
}
