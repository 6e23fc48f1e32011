//! Preview of the changes that an SQL step makes to the tables of its database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word::words;

/// Preview of the changes that an SQL step makes to its database.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlPreview {
    /// Version of DuckDB, as reported by the library.
    pub version: String,
    /// Executed statements, in order.
    pub statements: Vec<SqlStatement>,
    /// Number of changed rows: the sum reported by the statements or the number of rows that differ, whichever is larger. All rows
    /// of a table that was not compared count as changed.
    pub rows_changed: u64,
    /// Tables that differ, sorted by schema and name. At most 200 are listed.
    pub tables: Vec<SqlTable>,
    /// Number of further tables that differ but are not listed.
    pub tables_left_out: u64,
    /// Number of tables that did not change.
    pub unchanged: u64,
    /// Views and indexes that were added or removed, at most 200. Their definitions are not compared. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<SqlObject>,
    /// Number of further views and indexes that were added or removed but are not listed. Absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub objects_left_out: u64,
    /// Reason why the tables could not be compared. Absent if they were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
}

/// Statement of an SQL step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlStatement {
    /// Kind of the statement, such as `UPDATE`.
    pub kind: String,
    /// Number of rows that the statement changed, or that a query returned.
    pub rows: u64,
}

/// View or index that an SQL step added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlObject {
    /// Kind of the object.
    pub kind: SqlObjectKind,
    /// Schema of the object.
    pub schema: String,
    /// Name of the object.
    pub name: String,
    /// Table that the index belongs to. Absent for a view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub table: Option<String>,
    /// Change to the object.
    pub change: SqlObjectChange,
}

words! {
    /// Kind of a database object that has no rows of its own.
    SqlObjectKind {
        /// View.
        View = "view",
        /// Index.
        Index = "index",
    }
}

words! {
    /// Change to a view or an index.
    SqlObjectChange {
        /// The object was added.
        Added = "added",
        /// The object was removed.
        Removed = "removed",
    }
}

/// Table before and after an SQL step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlTable {
    /// Schema of the table.
    pub schema: String,
    /// Name of the table.
    pub name: String,
    /// Number of rows before the step, or `null` if the table is new.
    pub rows_before: Option<u64>,
    /// Number of rows after the step, or `null` if the table was removed.
    pub rows_after: Option<u64>,
    /// Number of changed, added and removed rows, or `null` if the rows were not compared.
    pub rows_changed: Option<u64>,
    /// Reason why the rows were not compared or cannot be shown. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
    /// Columns that were added to an existing table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns_added: Vec<SqlColumn>,
    /// Columns that were removed from an existing table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns_removed: Vec<SqlColumn>,
    /// Columns whose type changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns_retyped: Vec<SqlRetypedColumn>,
    /// Columns of `rows`, at most 32: first the columns of the primary key, then those that differ in any of the rows.
    pub columns: Vec<SqlColumn>,
    /// Number of primary key columns by which rows were matched, or 0 if entire rows were compared.
    pub key_columns: u64,
    /// Number of columns that are not shown in `rows`.
    pub columns_left_out: u64,
    /// First rows that differ. At most 20 are shown for all tables of the step together.
    pub rows: Vec<SqlRow>,
}

/// Column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlColumn {
    /// Name of the column.
    pub name: String,
    /// Type of the column, as written by DuckDB.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Column whose type changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlRetypedColumn {
    /// Name of the column.
    pub name: String,
    /// Type after the step.
    #[serde(rename = "type")]
    pub kind: String,
    /// Type before the step.
    pub type_before: String,
}

/// Row that differs. Each value is a string as formatted by DuckDB, or `null` for `NULL`. A value of 120 characters that ends with
/// `…` was truncated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlRow {
    /// Values before the step, or `null` for an added row.
    pub old: Option<Vec<Option<String>>>,
    /// Values after the step, or `null` for a removed row.
    pub new: Option<Vec<Option<String>>>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
