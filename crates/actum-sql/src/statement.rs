//! Kinds of statements that may run. The parser of DuckDB finds the kind of each one; the text is
//! never looked at.

/// Kind of a statement that may run, with the number of `duckdb_statement_type` in `duckdb.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    number: u32,
    pub(crate) name: &'static str,
}

const fn kind(number: u32, name: &'static str) -> Kind {
    Kind { number, name }
}

/// All kinds that may run. Their effects are in the database, which is a copy.
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

/// `MERGE INTO`, since DuckDB 1.4.
const MERGE: u32 = 30;

/// Kinds that are refused by name; any other one is refused by its number.
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
    /// Returns the kind with this number, if it may run; else its name.
    pub(crate) fn allowed(number: u32) -> Result<Self, String> {
        let find = |kinds: &[Self]| kinds.iter().find(|kind| kind.number == number).copied();
        match (find(ALLOWED), find(REFUSED)) {
            (Some(kind), _) => Ok(kind),
            (None, Some(kind)) => Err(format!("`{}`", kind.name)),
            (None, None) => Err(format!("a statement of the kind {number}")),
        }
    }

    /// Returns true for a statement that gives rows.
    pub(crate) fn is_query(self) -> bool {
        self.name == "SELECT"
    }
}
