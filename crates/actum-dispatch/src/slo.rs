//! SLO gate, evaluated exactly from the per-minute counters in the ledger (AEC-17).

use actum::{Approver, Records};
use actum_core::{Timestamp, canonical};
use actum_gate::verify_slo_waived;
use actum_ledger::{AgentSlo, LedgerError, Log, NewEntry};
use actum_record::dsse::Envelope;
use actum_record::keyring::Keyring;
use actum_record::ledger::{EntryKind, SloWaived};

use crate::error::{DispatchError, WAIVER_DAYS_MAX, WaiveError};

/// Service level over a period of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SloReport {
    /// Start of the period.
    pub since: Timestamp,
    /// Counters of dispatches and errors in the period.
    pub counters: AgentSlo,
    /// Number of idempotency keys with more than one effect in the entire ledger.
    pub duplicates: u64,
    /// Targets that were missed.
    pub breaches: Vec<SloTarget>,
    /// Time at which the current waiver ends, if there is one.
    pub waived_until: Option<Timestamp>,
}

/// Service level target from section 14.2 of seed 004.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SloTarget {
    /// At most 5 % of the dispatches take longer than 1,200 ms.
    DispatchP95,
    /// At most 1 % of the dispatches take longer than 2,500 ms.
    DispatchP99,
    /// At most 0.5 % of the outcomes are failures.
    ErrorRate,
    /// No idempotency key has a second effect.
    DuplicateRate,
}

impl SloTarget {
    /// Returns the name of the target in seed 004.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DispatchP95 => "agent_dispatch_p95_ms",
            Self::DispatchP99 => "agent_dispatch_p99_ms",
            Self::ErrorRate => "execution_error_rate",
            Self::DuplicateRate => "idempotency_duplicate_side_effect_rate",
        }
    }
}

/// Maximum number of waivers that are read, starting with the newest.
const WAIVERS_READ_MAX: u64 = 16;

impl SloReport {
    /// Computes the service level since a given time.
    ///
    /// # Errors
    /// [`LedgerError`] if the counters or the waivers cannot be read.
    pub fn read(
        (log, keyring): (&dyn Log, &Keyring),
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Self, LedgerError> {
        let counters = log.agent_slo(since)?;
        let duplicates = log.count_duplicate_effects()?;
        // "p95 is at most 1,200 ms" is equivalent to "at most 5 % took longer", which can be computed exactly from
        // counters.
        let AgentSlo { total, over_p95, over_p99, errors } = counters;
        let exceeds = |count: u64, per_thousand: u64| {
            u128::from(count) * 1000 > u128::from(total) * u128::from(per_thousand)
        };
        let checks = [
            (SloTarget::DispatchP95, exceeds(over_p95, 50)),
            (SloTarget::DispatchP99, exceeds(over_p99, 10)),
            (SloTarget::ErrorRate, exceeds(errors, 5)),
            (SloTarget::DuplicateRate, duplicates > 0),
        ];
        let breaches = checks.into_iter().filter(|(_, missed)| *missed).map(|(target, _)| target);
        let waived_until = waiver((log, keyring), now)?;
        Ok(Self { since, counters, duplicates, breaches: breaches.collect(), waived_until })
    }

    /// Waives the SLO gate until a given time. Returns the index of the ledger entry.
    ///
    /// # Errors
    /// [`WaiveError`], in which case the gate was not waived.
    pub fn waive(
        records: &Records,
        (until, reason): (Timestamp, &str),
        approver: &Approver<'_>,
    ) -> Result<u64, WaiveError> {
        let now = records.now();
        Self::check_waiver(until, now)?;
        let waived = SloWaived {
            format: SloWaived::FORMAT.to_owned(),
            time: now,
            tenant: records.tenant().clone(),
            until,
            reason: reason.to_owned(),
            by: approver.by.clone(),
            isolation: approver.isolation,
        };
        let payload = canonical::to_vec(&waived).map_err(DispatchError::from)?;
        let envelope = Envelope::sign(SloWaived::PAYLOAD_TYPE, payload, approver.signer);
        let envelope = envelope.map_err(|error| DispatchError::from(actum::Error::from(error)))?;
        let body = envelope.to_vec().map_err(DispatchError::from)?;
        verify_slo_waived(&body, records.keyring())?;
        let entry = NewEntry { kind: EntryKind::SloWaived, body, blobs: Vec::new() };
        let appended = records.ledger().append(vec![entry]).wait().map_err(DispatchError::from)?;
        let first = appended.first().ok_or(LedgerError::Stopped).map_err(DispatchError::from)?;
        Ok(first.index)
    }

    /// Checks that a waiver ends after `now` and within 30 days.
    ///
    /// # Errors
    /// [`WaiveError::Until`]
    pub fn check_waiver(until: Timestamp, now: Timestamp) -> Result<(), WaiveError> {
        let micros_max = WAIVER_DAYS_MAX * 24 * 60 * 60 * 1_000_000;
        let is_short = until.micros().saturating_sub(now.micros()) <= micros_max;
        (until > now && is_short).then_some(()).ok_or(WaiveError::Until)
    }

    /// Returns whether a release is permitted, because no target was missed or a waiver is active.
    pub fn passes(&self) -> bool {
        self.breaches.is_empty() || self.waived_until.is_some()
    }
}

/// Returns the latest time until which the gate is waived. Waivers that are not signed by a valid approval key are
/// ignored.
fn waiver(
    (log, keyring): (&dyn Log, &Keyring),
    now: Timestamp,
) -> Result<Option<Timestamp>, LedgerError> {
    let mut until = None;
    for index in log.newest_of_kind(EntryKind::SloWaived, None, WAIVERS_READ_MAX)? {
        let verified = verify_slo_waived(&log.sound_entry(index)?.body, keyring);
        let ends = verified.ok().map(|waiver| waiver.waived.until);
        until = until.max(ends.filter(|ends| *ends > now));
    }
    Ok(until)
}
