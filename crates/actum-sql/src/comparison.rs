//! Differences between the tables of a database before and after a step.

use serde::{Deserialize, Serialize};

/// Differences between all tables before and after a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Tables that differ, by schema and name.
    pub tables: Vec<TableDifference>,
    /// Further tables that differ.
    pub tables_left_out: u64,
    /// Tables that are the same.
    pub unchanged: u64,
    /// Changed, new and removed rows of all tables. Of a table that was not compared all rows count.
    pub rows_changed: u64,
    /// Views and indexes that are new or removed, by kind, schema and name. Their definitions are not compared.
    #[serde(default)]
    pub objects: Vec<ObjectDifference>,
    /// Further views and indexes that are new or removed.
    #[serde(default)]
    pub objects_left_out: u64,
}

/// View or index that only one side has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectDifference {
    /// Kind, and the table of an index.
    pub kind: ObjectKind,
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Side that has it.
    pub change: ObjectChange,
}

/// Kind of an object that holds no rows of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// View.
    View,
    /// Index on this table.
    Index(String),
}

/// Side that has an object which the other side lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectChange {
    /// The object exists after the step.
    Added,
    /// The object existed before the step.
    Removed,
}

/// Differences of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDifference {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Number of rows before; `None` if there was no such table.
    pub rows_before: Option<u64>,
    /// Number of rows after; `None` if there is no such table.
    pub rows_after: Option<u64>,
    /// Columns that only the table after has.
    pub columns_added: Vec<Column>,
    /// Columns that only the table before had.
    pub columns_removed: Vec<Column>,
    /// Columns of another type: the column after, and its type before.
    pub columns_retyped: Vec<(Column, String)>,
    /// Changed, new and removed rows; `None` if they were not compared.
    pub rows_changed: Option<u64>,
    /// Reason why the rows were not compared, as a sentence.
    pub not_compared: Option<String>,
    /// Columns of the rows that are shown: first those of the primary key, then those that differ in any of the rows.
    pub columns: Vec<Column>,
    /// Number of those that are in the primary key; 0 if the rows were compared as a whole.
    pub key_columns: u64,
    /// Columns that are not shown.
    pub columns_left_out: u64,
    /// First rows that differ.
    pub rows: Vec<RowDifference>,
}

/// Column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type, as DuckDB writes it.
    pub kind: String,
}

/// Row before and after: a removed one has no `new`, a new one no `old`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowDifference {
    /// Row before, a value for each column.
    pub old: Option<Vec<Cell>>,
    /// Row after.
    pub new: Option<Vec<Cell>>,
}

/// Value as DuckDB writes it, from outside: escape it on its way to a screen. `None` is `NULL`. A text of
/// [`CELL_CHARACTERS_MAX`] characters that ends with `…` was cut.
pub type Cell = Option<String>;

/// Characters of a value that are shown, at most.
pub const CELL_CHARACTERS_MAX: usize = 120;

impl TableDifference {
    /// Returns true if nothing differs.
    pub(crate) fn is_none(&self) -> bool {
        self.rows_before == self.rows_after
            && self.rows_changed == Some(0)
            && self.columns_added.is_empty()
            && self.columns_removed.is_empty()
            && self.columns_retyped.is_empty()
    }

    /// Rows that count as changed: all of them if they were not compared.
    pub(crate) fn rows_counted(&self) -> u64 {
        let all = self.rows_before.max(self.rows_after);
        self.rows_changed.or(all).unwrap_or(0)
    }
}
