//! Effects of an SQL step on the tables of its database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word::words;

/// Effects of an SQL step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlPreview {
    /// Version of DuckDB, as it names itself.
    pub version: String,
    /// Statements in their order.
    pub statements: Vec<SqlStatement>,
    /// Rows that the step changes: those that the statements count or, if more differ, those that differ. A table that was not
    /// compared counts with all its rows.
    pub rows_changed: u64,
    /// Tables that differ, by schema and name, at most 200.
    pub tables: Vec<SqlTable>,
    /// Further tables that differ.
    pub tables_left_out: u64,
    /// Tables that are the same.
    pub unchanged: u64,
    /// Views and indexes that are new or removed, at most 200. Their definitions are not compared. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<SqlObject>,
    /// Further views and indexes that are new or removed. Absent if empty.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub objects_left_out: u64,
    /// Reason why the tables could not be compared. Absent where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
}

/// Statement of an SQL step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlStatement {
    /// Kind, such as `UPDATE`.
    pub kind: String,
    /// Rows that it changes; of a query the rows that it gives.
    pub rows: u64,
}

/// View or index that an SQL step makes or removes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlObject {
    /// Kind.
    pub kind: SqlObjectKind,
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Table of an index. Absent of a view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub table: Option<String>,
    /// Change of the object.
    pub change: SqlObjectChange,
}

words! {
    /// Kind of an object that holds no rows of its own.
    SqlObjectKind {
        /// View.
        View = "view",
        /// Index.
        Index = "index",
    }
}

words! {
    /// Change of a view or an index.
    SqlObjectChange {
        /// The object is new.
        Added = "added",
        /// The object is removed.
        Removed = "removed",
    }
}

/// Table before and after an SQL step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlTable {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Rows before; `null` if the table is new.
    pub rows_before: Option<u64>,
    /// Rows after; `null` if the table is removed.
    pub rows_after: Option<u64>,
    /// Changed, new and removed rows; `null` if they were not compared.
    pub rows_changed: Option<u64>,
    /// Reason why the rows were not compared or cannot be shown. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
    /// New columns of a table that is there before and after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns_added: Vec<SqlColumn>,
    /// Removed columns of such a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns_removed: Vec<SqlColumn>,
    /// Columns of another type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns_retyped: Vec<SqlRetypedColumn>,
    /// Columns of `rows`: first those of the primary key, then those that differ in any of the rows; at most 32.
    pub columns: Vec<SqlColumn>,
    /// Number of columns of the primary key by which the rows were compared; 0 if they were compared as a whole.
    pub key_columns: u64,
    /// Columns that `rows` leave out.
    pub columns_left_out: u64,
    /// First rows that differ, of all tables of the step at most 20.
    pub rows: Vec<SqlRow>,
}

/// Column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlColumn {
    /// Name.
    pub name: String,
    /// Type, as DuckDB writes it.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Column whose type differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlRetypedColumn {
    /// Name.
    pub name: String,
    /// Type after.
    #[serde(rename = "type")]
    pub kind: String,
    /// Type before.
    pub type_before: String,
}

/// Row that differs. Each value is a text, as DuckDB writes it, or `null` for `NULL`. A text of 120 characters that ends
/// with `…` was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SqlRow {
    /// Values before; `null` for a new row.
    pub old: Option<Vec<Option<String>>>,
    /// Values after; `null` for a removed row.
    pub new: Option<Vec<Option<String>>>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
