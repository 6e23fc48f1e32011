//! Documents beside their names, and beside the entries that name them.

use actum_core::Digest;

use super::{Fold, Subject};
use crate::error::LedgerError;
use crate::sqlite::fault;
use crate::sqlite::link::Link;

/// Gives how many there are.
pub(super) fn check(link: &Link, fold: &mut Fold) -> Result<u64, LedgerError> {
    let count = rows(link, fold).map_err(|error| fault("read", &link.path, error))?;
    fold.tell_missing_documents();
    Ok(count)
}

/// Looks at one document.
fn take(fold: &mut Fold, name: Option<Digest>, bytes: &[u8]) {
    let digest = Digest::of(bytes);
    if name != Some(digest) {
        let subject = name.map_or(Subject::Database, Subject::Document);
        fold.tell(subject, format!("its bytes are not those of that name; they are {digest}"));
    } else if !fold.named().remove(&digest) {
        fold.tell(Subject::Document(digest), "no entry names it, or it is there twice".to_owned());
    }
}

fn rows(link: &Link, fold: &mut Fold) -> rusqlite::Result<u64> {
    let mut table =
        link.connection.prepare_cached("SELECT number, digest, bytes FROM blob ORDER BY number")?;
    let mut find = link.connection.prepare_cached("SELECT number FROM blob WHERE digest = ?")?;
    let mut rows = table.query(())?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let (digest, bytes) = (row.get_ref(1)?, row.get_ref(2)?);
        let hash = digest.as_blob().ok().and_then(|bytes| bytes.try_into().ok());
        match (hash.map(Digest::from_bytes), bytes.as_blob()) {
            (name @ Some(_), Ok(bytes)) => take(fold, name, bytes),
            _ => fold.tell(Subject::Database, format!("document {number} is none")),
        }
        if number.cast_unsigned() != count {
            fold.tell(Subject::Database, format!("document {count} is missing"));
        }
        count = number.cast_unsigned().saturating_add(1);
        let mut found = find.query([digest.as_blob().unwrap_or_default()])?;
        let is_found = match found.next()? {
            Some(found) => found.get::<_, i64>(0)? == number,
            None => false,
        };
        if !is_found {
            let message = format!("what finds document {number} leads elsewhere");
            fold.tell(Subject::Database, message);
        }
    }
    let sql = "SELECT digest FROM blob INDEXED BY sqlite_autoindex_blob_1 ORDER BY digest";
    let mut index = link.connection.prepare_cached(sql)?;
    let mut rows = index.query(())?;
    let mut indexed = 0u64;
    while rows.next()?.is_some() {
        indexed = indexed.saturating_add(1);
    }
    if indexed != count {
        let message = format!("what finds documents finds {indexed}, and there are {count}");
        fold.tell(Subject::Database, message);
    }
    Ok(count)
}
