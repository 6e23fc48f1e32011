//! Limits on the size of a run's change (FO-4).

use serde::{Deserialize, Serialize};

use crate::{RelPath, count};

/// Limits on the change of a single run, each of which is `None` if the run is not limited in this respect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Maximum number of changed paths.
    #[serde(deserialize_with = "Option::deserialize")]
    pub max_files: Option<u64>,
    /// Maximum number of added and removed lines, counted together.
    #[serde(deserialize_with = "Option::deserialize")]
    pub max_loc: Option<u64>,
}

/// Number of lines that a run changes in one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathCost {
    /// Path of the changed file.
    pub path: RelPath,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}

/// Size of a run's change, together with the limits it is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetStatus {
    /// Limits on the run.
    pub budget: Budget,
    /// Number of paths that would change.
    pub files: u64,
    /// Number of lines that would be added or removed.
    pub loc: u64,
    /// Number of changed lines for each path.
    pub per_file: Vec<PathCost>,
}

impl std::fmt::Display for BudgetStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let limit =
            |max: Option<u64>| max.map_or("no limit".to_owned(), |max| format!("limit {max}"));
        write!(
            f,
            "{} ({}), {} ({})",
            number(self.files, "file"),
            limit(self.budget.max_files),
            number(self.loc, "changed line"),
            limit(self.budget.max_loc)
        )?;
        let mut largest: Vec<_> = self.per_file.iter().collect();
        largest.sort_by_key(|cost| std::cmp::Reverse(cost.added.saturating_add(cost.removed)));
        for (index, cost) in largest.iter().take(3).enumerate() {
            let lead = if index == 0 { "; the largest: " } else { ", " };
            write!(f, "{lead}`{}` +{} -{}", cost.path, cost.added, cost.removed)?;
        }
        Ok(())
    }
}

fn number(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

impl Budget {
    /// Returns a budget without limits.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Checks the changes of a run against the limits, and returns their total size.
    ///
    /// # Errors
    /// Returns the same status as an error if a limit is exceeded.
    pub fn check(self, per_file: Vec<PathCost>) -> Result<BudgetStatus, BudgetStatus> {
        let status = BudgetStatus {
            budget: self,
            files: count(per_file.len()),
            loc: per_file.iter().fold(0u64, |sum, cost| {
                sum.saturating_add(cost.added).saturating_add(cost.removed)
            }),
            per_file,
        };
        let over = |asked: u64, max: Option<u64>| max.is_some_and(|max| asked > max);
        if over(status.files, self.max_files) || over(status.loc, self.max_loc) {
            return Err(status);
        }
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-4
    #[test]
    fn budget_with_a_missing_limit_is_refused() {
        let budget = Budget { max_files: Some(2), max_loc: None };
        let json = r#"{"max_files":2,"max_loc":null}"#;
        assert_eq!(serde_json::to_string(&budget).unwrap(), json);
        assert_eq!(serde_json::from_str::<Budget>(json).unwrap(), budget);
        for json in [r#"{"max_files":2}"#, r#"{"max_files":2,"max_loc":-1}"#] {
            assert!(serde_json::from_str::<Budget>(json).is_err(), "{json}");
        }
    }

    fn cost(path: &str, added: u64, removed: u64) -> PathCost {
        PathCost { path: RelPath::new(path).unwrap(), added, removed }
    }

    /// FO-4
    #[test]
    fn budget_is_enforced_on_both_sides_of_each_limit() {
        let budget = Budget { max_files: Some(2), max_loc: Some(5) };
        assert!(budget.check(vec![cost("a", 3, 1), cost("b", 1, 0)]).is_ok());
        let files = budget.check(vec![cost("a", 0, 0), cost("b", 0, 0), cost("c", 0, 0)]);
        assert_eq!(files.unwrap_err().files, 3);
        let loc = budget.check(vec![cost("a", 3, 1), cost("b", 1, 1)]).unwrap_err();
        assert_eq!(
            loc.to_string(),
            "2 files (limit 2), 6 changed lines (limit 5); \
             the largest: `a` +3 -1, `b` +1 -1"
        );
    }
}
