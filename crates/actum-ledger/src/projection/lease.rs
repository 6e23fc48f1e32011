//! Projection of lease blocks, which records when a block was granted or revoked and how often it was used (FE-17, D-7).

use std::collections::BTreeMap;

use actum_record::lease::LeaseId;
use actum_record::ledger::{LeaseEvent, LeaseUse};

use crate::error::Refusal;
use crate::log::LeaseRow;

/// Computes the new state of the lease blocks that the entry at `index` changes. `known` returns the state of a block
/// before the entry.
///
/// # Errors
/// The outer result contains an error of `known`. The inner result contains a [`Refusal`] if the entry is not allowed.
pub(crate) fn after<E>(
    event: &LeaseEvent,
    index: u64,
    mut known: impl FnMut(LeaseId) -> Result<Option<LeaseRow>, E>,
) -> Result<Result<Vec<LeaseRow>, Refusal>, E> {
    let mut row = |lease| Ok(known(lease)?.unwrap_or_else(|| LeaseRow::unknown(lease)));
    Ok(match event {
        LeaseEvent::Granted { lease } => {
            let row = row(*lease)?;
            match row.granted {
                Some(granted) => Err(Refusal::LeaseGranted { lease: *lease, granted }),
                None => Ok(vec![LeaseRow { granted: Some(index), ..row }]),
            }
        }
        LeaseEvent::Revoked { lease } => {
            let row = row(*lease)?;
            match row.revoked {
                Some(revoked) => Err(Refusal::LeaseRevokedBefore { lease: *lease, revoked }),
                None => Ok(vec![LeaseRow { revoked: Some(index), ..row }]),
            }
        }
        LeaseEvent::Used { blocks } => {
            let rows = blocks.iter().map(|block| row(block.id)).collect::<Result<Vec<_>, E>>()?;
            can_start(&rows).and_then(|()| used(blocks, rows))
        }
        LeaseEvent::UsedByTask { blocks } => {
            let rows = blocks.iter().map(|block| row(block.id)).collect::<Result<Vec<_>, E>>()?;
            can_start(&rows).map(|()| Vec::new())
        }
    })
}

/// Checks that a lease with these blocks can be used. Its first block must be granted, and none may be revoked.
fn can_start(rows: &[LeaseRow]) -> Result<(), Refusal> {
    if let Some(first) = rows.first().filter(|first| first.granted.is_none()) {
        return Err(Refusal::LeaseNotGranted { lease: first.lease });
    }
    let revoked = rows.iter().find_map(|row| Some((row.lease, row.revoked?)));
    revoked.map_or(Ok(()), |(lease, revoked)| Err(Refusal::LeaseRevoked { lease, revoked }))
}

/// Returns the state of the blocks after one more use. A block that is listed twice is only counted once.
fn used(blocks: &[LeaseUse], rows: Vec<LeaseRow>) -> Result<Vec<LeaseRow>, Refusal> {
    for (block, row) in blocks.iter().zip(&rows) {
        if let Some(uses) = block.uses.filter(|uses| row.used >= *uses) {
            return Err(Refusal::LeaseUsedUp { lease: row.lease, used: row.used, uses });
        }
    }
    let used = rows.into_iter().map(|row| LeaseRow { used: row.used.saturating_add(1), ..row });
    let used: BTreeMap<LeaseId, LeaseRow> = used.map(|row| (row.lease, row)).collect();
    Ok(used.into_values().collect())
}
