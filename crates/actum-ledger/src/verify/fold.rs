//! Computation of the state of a log from its entries, for verification.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;

use actum_core::{Digest, RunId, Timestamp};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{EntryFacts, EntryKind, RequestKey, WorkspaceId};

use super::{Finding, Subject, Verification};
use crate::log::LeaseRow;
use crate::projection::agent::{self, AgentProjection};
use crate::projection::{self, Known, KnownFileTask, KnownPlan};
use crate::snapshot::Projection;

/// Time in microseconds by which an entry may be older than the previous one. A writer determines the time of an entry before
/// it waits for its turn, so this is the longest possible wait.
const STEP_MICROS: i64 = 60_000_000;

/// State computed from the entries so far. It needs about 250 bytes for each run, and about 1,500 bytes for each step of the
/// Agent Execution Core.
#[derive(Default)]
pub(crate) struct Fold {
    entries: u64,
    runs: HashMap<RunId, Known>,
    plans: HashMap<RunId, KnownPlan>,
    leases: HashMap<LeaseId, LeaseRow>,
    file_tasks: HashMap<TaskName, KnownFileTask>,
    agent: AgentProjection,
    /// Index and hash of the latest catalog change, or of the first entry if the catalog was never changed.
    catalog: Option<(u64, Digest)>,
    /// Hash of each entry that raised an alert, by index.
    alerts: HashMap<u64, Digest>,
    /// Kind and index of each entry whose kind is covered by a database index.
    indexed: Vec<(EntryKind, u64)>,
    attempts: BTreeSet<(WorkspaceId, RequestKey, u32)>,
    named: HashSet<Digest>,
    newest: Option<Timestamp>,
    receipts: u64,
    steps_back: u64,
    key_entries: Vec<u64>,
    signed: Vec<u64>,
    findings: Vec<Finding>,
    findings_left_out: u64,
}

impl Fold {
    /// Applies the next entry, which has the hash `leaf`, and reports violated rules as findings.
    pub(crate) fn take(&mut self, facts: &EntryFacts, (index, leaf): (u64, Digest)) {
        self.entries = self.entries.saturating_add(1);
        let step = |newest: Timestamp| newest.micros().saturating_sub(facts.time.micros());
        if self.newest.is_some_and(|newest| step(newest) > STEP_MICROS) {
            self.steps_back = self.steps_back.saturating_add(1);
        }
        self.newest = Some(facts.time);
        match facts.kind {
            EntryKind::LogStarted => {
                self.key_entries.push(index);
                self.catalog.get_or_insert((index, leaf));
            }
            EntryKind::KeyRotated => self.key_entries.push(index),
            EntryKind::PlanAnswered => self.signed.push(index),
            EntryKind::HistoryForgotten
            | EntryKind::LeaseGranted
            | EntryKind::LeaseRevoked
            | EntryKind::SloWaived => {
                self.signed.push(index);
                self.indexed.push((facts.kind, index));
            }
            EntryKind::ActionEnded => self.indexed.push((facts.kind, index)),
            EntryKind::CatalogChanged => {
                self.signed.push(index);
                self.indexed.push((facts.kind, index));
                if let Err(refusal) = projection::catalog_follows(self.catalog, facts) {
                    self.add_finding(Subject::Entry(index), refusal.to_string());
                }
                self.catalog = Some((index, leaf));
            }
            EntryKind::AlertRaised => {
                self.indexed.push((facts.kind, index));
                self.alerts.insert(index, leaf);
            }
            EntryKind::AlertSeen => {
                self.indexed.push((facts.kind, index));
                let alert = facts.follows.and_then(|(alert, _)| self.alerts.get(&alert).copied());
                if let Err(refusal) = projection::alert_follows(alert, facts) {
                    self.add_finding(Subject::Entry(index), refusal.to_string());
                }
            }
            EntryKind::EffectStarted
            | EntryKind::EffectDone
            | EntryKind::PlanRefused
            | EntryKind::PlanQueued
            | EntryKind::ActionStarted
            | EntryKind::FileTaskStarted
            | EntryKind::FileTaskEnded
            | EntryKind::AgentExecution
            | EntryKind::AgentAccessDecided
            | EntryKind::AgentConfirmation
            | EntryKind::IntakeResolved => {}
        }
        self.named.extend(&facts.blobs);
        if let Some(plan) = facts.plan {
            match projection::plan_after(self.plans.get(&plan), facts, (index, leaf)) {
                Ok(known) => self.plans.extend(known.map(|known| (plan, known))),
                Err(refusal) => self.add_finding(Subject::Entry(index), refusal.to_string()),
            }
        }
        self.take_lease(facts, index);
        self.take_file_task(facts, (index, leaf));
        self.take_agent(facts, (index, leaf));
        let kept = facts.run.map(|run| self.runs.entry(run));
        let before = match &kept {
            Some(Entry::Occupied(kept)) => Some(kept.get()),
            Some(Entry::Vacant(_)) | None => None,
        };
        match projection::after(before, facts, (index, leaf)) {
            Ok(None) => {}
            Ok(Some(known)) => {
                let row = &known.row;
                let attempt = row.request.clone().map(|key| (row.workspace, key, row.attempt));
                let attempt = attempt.filter(|_| facts.kind == EntryKind::EffectStarted);
                let is_first = attempt.is_none_or(|attempt| self.attempts.insert(attempt));
                if let Some(kept) = kept {
                    kept.insert_entry(known);
                }
                if !is_first {
                    let message =
                        "an earlier run already made the attempt at the request".to_owned();
                    self.add_finding(Subject::Entry(index), message);
                }
            }
            Err(refusal) => self.add_finding(Subject::Entry(index), refusal.to_string()),
        }
    }

    fn take_lease(&mut self, facts: &EntryFacts, index: u64) {
        let Some(event) = &facts.lease else { return };
        let known = |lease| Ok::<_, Infallible>(self.leases.get(&lease).cloned());
        let Ok(after) = projection::lease_after(event, index, known);
        match after {
            Ok(rows) => self.leases.extend(rows.into_iter().map(|row| (row.lease, row))),
            Err(refusal) => self.add_finding(Subject::Entry(index), refusal.to_string()),
        }
    }

    fn take_file_task(&mut self, facts: &EntryFacts, (index, leaf): (u64, Digest)) {
        let Some(event) = &facts.file_task else { return };
        let before = self.file_tasks.get(event.task());
        match projection::file_task_after(before, event, facts, (index, leaf)) {
            Ok(known) => drop(self.file_tasks.insert(event.task().clone(), known)),
            Err(refusal) => self.add_finding(Subject::Entry(index), refusal.to_string()),
        }
    }

    fn take_agent(&mut self, facts: &EntryFacts, (index, leaf): (u64, Digest)) {
        self.agent.observe(facts, index);
        let Some(event) = &facts.agent else { return };
        self.agent.record(facts.kind, event.correlation(), index);
        let Ok(after) = agent::after(&self.agent, event, index);
        match after {
            Ok(change) => self.agent.apply(change, (index, leaf)),
            Err(refusal) => self.add_finding(Subject::Entry(index), refusal.to_string()),
        }
    }

    /// Counts a receipt whose signature is valid.
    pub(crate) fn receipt(&mut self) {
        self.receipts = self.receipts.saturating_add(1);
    }

    /// Returns the indexes of the entries that list or change the keys.
    pub(crate) fn key_entries(&self) -> &[u64] {
        &self.key_entries
    }

    /// Returns the indexes of entries that users signed, such as answers to plans, catalog changes, leases and waivers.
    pub(crate) fn signed(&self) -> &[u64] {
        &self.signed
    }

    /// Returns the computed state, for comparison with the state that a store has saved.
    pub(crate) fn projection(&self) -> Projection<'_> {
        let Self { runs, plans, leases, file_tasks, agent, indexed, .. } = self;
        Projection { runs, plans, leases, file_tasks, agent, indexed }
    }

    /// Returns the number of entries that have been applied.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the digests of documents that entries refer to. The caller removes the documents that it finds.
    pub(crate) fn named(&mut self) -> &mut HashSet<Digest> {
        &mut self.named
    }

    /// Reports all documents that entries refer to but that were not found.
    pub(crate) fn report_missing_documents(&mut self) {
        let mut missing: Vec<Digest> = self.named.drain().collect();
        missing.sort_unstable();
        for digest in missing {
            let message = "an entry refers to the document, but it is missing".to_owned();
            self.add_finding(Subject::Document(digest), message);
        }
    }

    /// Reports a finding.
    pub(crate) fn add_finding(&mut self, subject: Subject, message: String) {
        self.found(vec![Finding { subject, message }]);
    }

    /// Adds findings. Once there are [`Verification::FINDINGS_MAX`] findings, further ones are only counted.
    pub(crate) fn found(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            if self.findings.len() < Verification::FINDINGS_MAX {
                self.findings.push(finding);
            } else {
                self.findings_left_out = self.findings_left_out.saturating_add(1);
            }
        }
    }

    /// Creates the result of the verification. The parameters contain the values that are not computed from entries, such as
    /// the number of documents and checkpoints.
    pub(crate) fn finish(
        self,
        origin: Option<String>,
        root: Digest,
        documents: u64,
        (checkpoints, covered): (u64, u64),
    ) -> Verification {
        let count = |things: usize| u64::try_from(things).unwrap_or(u64::MAX);
        Verification {
            origin,
            entries: self.entries,
            root,
            runs: count(self.runs.len()),
            open_runs: count(self.runs.values().filter(|known| known.row.done.is_none()).count()),
            documents,
            checkpoints,
            covered,
            receipts: self.receipts,
            steps_back: self.steps_back,
            key_entries: self.key_entries,
            findings: self.findings,
            findings_left_out: self.findings_left_out,
        }
    }
}

#[cfg(test)]
mod tests {
    use actum_record::merkle::leaf_hash;

    use super::*;
    use crate::conformance::sample::{SampleRun, alert_raised, alert_seen};
    use crate::new_entry::NewEntry;

    /// Returns the subjects of the findings about an `ALERT_SEEN` entry that refers to `entry` with the hash `leaf`.
    fn finding_subjects(entry: &NewEntry, leaf: Digest) -> Vec<Subject> {
        let mut fold = Fold::default();
        let seen = alert_seen((3, leaf)).unwrap();
        for (index, entry) in [(3, entry), (4, &seen)] {
            let facts = EntryFacts::parse(entry.kind, &entry.body).unwrap();
            fold.take(&facts, (index, leaf_hash(&entry.body)));
        }
        fold.findings.into_iter().map(|finding| finding.subject).collect()
    }

    /// EX-18, AEC-8: `ALERT_SEEN` must refer to an earlier alert by its hash.
    #[test]
    fn seen_entry_without_a_matching_alert_is_found() {
        let (alert, run) = (alert_raised(1).unwrap(), SampleRun::numbered(1, 0).started().unwrap());
        assert_eq!(finding_subjects(&alert, leaf_hash(&alert.body)), []);
        assert_eq!(finding_subjects(&alert, leaf_hash(&run.body)), [Subject::Entry(4)]);
        assert_eq!(finding_subjects(&run, leaf_hash(&run.body)), [Subject::Entry(4)]);
    }
}
