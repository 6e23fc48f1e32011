//! Differences between the tables of a database before and after a step.

use serde::{Deserialize, Serialize};

/// Differences between all tables of a database before and after a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Tables that differ, sorted by schema and name.
    pub tables: Vec<TableDifference>,
    /// Number of further tables that differ.
    pub tables_left_out: u64,
    /// Number of tables that do not differ.
    pub unchanged: u64,
    /// Number of changed, added and removed rows in all tables. If the rows of a table were not compared, all of them
    /// count.
    pub rows_changed: u64,
    /// Views and indexes that were added or removed, sorted by kind, schema and name. Their definitions are not
    /// compared.
    #[serde(default)]
    pub objects: Vec<ObjectDifference>,
    /// Number of further views and indexes that were added or removed.
    #[serde(default)]
    pub objects_left_out: u64,
}

/// View or index that exists on only one side of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectDifference {
    /// Kind of the object. For an index, it includes the name of the indexed table.
    pub kind: ObjectKind,
    /// Schema that contains the object.
    pub schema: String,
    /// Name of the object within its schema.
    pub name: String,
    /// Whether the object was added or removed.
    pub change: ObjectChange,
}

/// Kind of a database object that has no rows of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// View on other tables.
    View,
    /// Index on the table with this name.
    Index(String),
}

/// Direction of the change of a database object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectChange {
    /// The object exists only after the step.
    Added,
    /// The object existed only before the step.
    Removed,
}

/// Differences between a table before and after a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDifference {
    /// Schema that contains the table.
    pub schema: String,
    /// Name of the table within its schema.
    pub name: String,
    /// Number of rows before the step, or `None` if the table did not exist.
    pub rows_before: Option<u64>,
    /// Number of rows after the step, or `None` if the table no longer exists.
    pub rows_after: Option<u64>,
    /// Columns that exist only after the step.
    pub columns_added: Vec<Column>,
    /// Columns that existed only before the step.
    pub columns_removed: Vec<Column>,
    /// Columns whose type changed, each with its type before the step.
    pub columns_retyped: Vec<(Column, String)>,
    /// Number of changed, added and removed rows, or `None` if the rows were not compared.
    pub rows_changed: Option<u64>,
    /// Reason why the rows were not compared or cannot be shown, as a sentence.
    pub not_compared: Option<String>,
    /// Columns of the shown rows. The primary key comes first, followed by the columns that differ in any of these
    /// rows.
    pub columns: Vec<Column>,
    /// Number of primary key columns at the start of `columns`, or 0 if the rows were not matched by a key.
    pub key_columns: u64,
    /// Number of columns that are not shown.
    pub columns_left_out: u64,
    /// First rows that differ.
    pub rows: Vec<RowDifference>,
}

/// Name and type of a table column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Type of the column, as DuckDB writes it.
    pub kind: String,
}

/// Row before and after a step. A removed row has no `new` values, and an added row has no `old` values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowDifference {
    /// Values before the step, one for each shown column.
    pub old: Option<Vec<Cell>>,
    /// Values after the step, one for each shown column.
    pub new: Option<Vec<Cell>>,
}

/// Value as DuckDB formats it, or `None` for `NULL`. It is untrusted and must be escaped before it is printed to a
/// terminal. If it has [`CELL_CHARACTERS_MAX`] characters and ends with `…`, it was truncated.
pub type Cell = Option<String>;

/// Maximum number of characters of a value that are shown.
pub const CELL_CHARACTERS_MAX: usize = 120;

impl TableDifference {
    /// Returns whether the table is equal before and after the step.
    pub(crate) fn is_none(&self) -> bool {
        self.rows_before == self.rows_after
            && self.rows_changed == Some(0)
            && self.columns_added.is_empty()
            && self.columns_removed.is_empty()
            && self.columns_retyped.is_empty()
    }

    /// Returns the number of rows that count as changed, which is all of them if the rows were not compared.
    pub(crate) fn rows_counted(&self) -> u64 {
        let all = self.rows_before.max(self.rows_after);
        self.rows_changed.or(all).unwrap_or(0)
    }
}
