//! Projection of lease blocks: granted, revoked, and how often used (FE-17, D-7).

use std::collections::BTreeMap;

use actum_record::lease::LeaseId;
use actum_record::ledger::{LeaseEvent, LeaseUse};

use crate::error::Refusal;
use crate::log::LeaseRow;

/// Computes the rows of the blocks that the entry `index` is about. `known` reads the row of a
/// block as it was before.
///
/// # Errors
/// Those of `known`; [`Refusal`] inside, if the entry cannot follow.
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

/// Checks that a lease of these blocks counts: the first one was granted, and none was revoked.
fn can_start(rows: &[LeaseRow]) -> Result<(), Refusal> {
    if let Some(first) = rows.first().filter(|first| first.granted.is_none()) {
        return Err(Refusal::LeaseNotGranted { lease: first.lease });
    }
    let revoked = rows.iter().find_map(|row| Some((row.lease, row.revoked?)));
    revoked.map_or(Ok(()), |(lease, revoked)| Err(Refusal::LeaseRevoked { lease, revoked }))
}

/// Returns the rows after one more use. A block that is listed twice is used once.
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
