//! Looks up terms in `docs/glossary.md`, which is compiled into the program.

use actum_api::reason::Reason;

const GLOSSARY: &str = include_str!("../../../../../docs/glossary.md");
/// Names of the risk tiers. The glossary explains all of them in its entry on risk tiers.
const TIERS: [&str; 5] = ["R0", "R1", "R2", "R3", "R4"];

/// Finds the glossary entry for a term, ignoring case.
pub(super) fn entry(word: &str) -> Option<Reason> {
    let is_tier = TIERS.iter().any(|tier| tier.eq_ignore_ascii_case(word));
    let word = if is_tier { "risk tier" } else { word };
    let row = rows().find(|row| names(row).any(|name| name.eq_ignore_ascii_case(word)))?;
    let [_, meaning, why] = cells(row)?;
    Some(Reason {
        reason: word.to_lowercase(),
        page: format!("# {}\n\n{meaning}\n\nWhy this word: {why}\n", word.to_lowercase()),
    })
}

/// Returns all terms that have an entry, in alphabetical order.
pub(super) fn terms() -> Vec<&'static str> {
    let mut terms: Vec<_> = rows().flat_map(names).collect();
    terms.sort_unstable_by_key(|term| term.to_lowercase());
    terms
}

/// Returns the rows of all tables in the glossary, without the header rows.
fn rows() -> impl Iterator<Item = &'static str> {
    GLOSSARY.lines().filter(|line| line.starts_with("| **"))
}

fn cells(row: &str) -> Option<[&str; 3]> {
    let mut cells = row.trim_matches('|').split(" | ").map(|cell| cell.trim_matches(['|', ' ']));
    Some([cells.next()?, cells.next()?, cells.next()?])
}

/// Returns the terms that a row explains, which are set in bold in its first cell.
fn names(row: &str) -> impl Iterator<Item = &str> {
    let first = cells(row).map(|[first, ..]| first).unwrap_or_default();
    first.split("**").skip(1).step_by(2).map(|name| name.trim_matches('`'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_glossary_row_is_found_by_its_terms() {
        assert!(rows().count() > 50);
        for row in rows() {
            for name in names(row) {
                let entry = entry(name).unwrap_or_else(|| panic!("{row}"));
                assert!(entry.page.contains("\n\nWhy this word: "), "{entry:?}");
            }
        }
    }

    #[test]
    fn a_risk_tier_is_explained_by_its_name() {
        let entry = entry("r3").unwrap();
        assert!(
            entry.page.starts_with("# risk tier\n\nThe risk of a change, R0 to R4"),
            "{entry:?}"
        );
        assert!(super::entry("no such word").is_none());
    }
}
