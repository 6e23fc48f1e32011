//! Kinds of statements that may run. DuckDB's parser determines the kind of each statement, so this module never
//! examines the SQL text.

/// Kind of statement, with its number in `duckdb_statement_type` of `duckdb.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    number: u32,
    pub(crate) name: &'static str,
}

const fn kind(number: u32, name: &'static str) -> Kind {
    Kind { number, name }
}

/// Kinds that may run. They change only the database, which is a private copy.
const ALLOWED: &[Kind] = &[
    kind(1, "SELECT"),
    kind(2, "INSERT"),
    kind(3, "UPDATE"),
    kind(4, "EXPLAIN"),
    kind(5, "DELETE"),
    kind(7, "CREATE"),
    kind(9, "ALTER"),
    kind(10, "TRANSACTION"),
    kind(12, "ANALYZE"),
    kind(15, "DROP"),
    kind(18, "VACUUM"),
    kind(MERGE, "MERGE"),
];

/// `MERGE INTO`, which DuckDB supports since version 1.4.
const MERGE: u32 = 30;

/// Kinds that are refused with their name. Any other kind is refused with its number.
const REFUSED: &[Kind] = &[
    kind(6, "PREPARE"),
    kind(8, "EXECUTE"),
    kind(11, "COPY"),
    kind(13, "SET VARIABLE"),
    kind(14, "CREATE FUNCTION"),
    kind(16, "EXPORT"),
    kind(17, "PRAGMA"),
    kind(19, "CALL"),
    kind(20, "SET"),
    kind(21, "LOAD"),
    kind(23, "EXTENSION"),
    kind(25, "ATTACH"),
    kind(26, "DETACH"),
    kind(27, "several statements in one"),
    kind(28, "COPY FROM DATABASE"),
    kind(29, "UPDATE EXTENSIONS"),
];

impl Kind {
    /// Returns the kind with the given number if statements of this kind may run. Otherwise, returns a description of
    /// the kind.
    pub(crate) fn allowed(number: u32) -> Result<Self, String> {
        let find = |kinds: &[Self]| kinds.iter().find(|kind| kind.number == number).copied();
        match (find(ALLOWED), find(REFUSED)) {
            (Some(kind), _) => Ok(kind),
            (None, Some(kind)) => Err(format!("`{}`", kind.name)),
            (None, None) => Err(format!("a statement of kind {number}")),
        }
    }

    /// Returns whether the statement is a query, whose rows can be saved.
    pub(crate) fn is_query(self) -> bool {
        self.name == "SELECT"
    }
}
