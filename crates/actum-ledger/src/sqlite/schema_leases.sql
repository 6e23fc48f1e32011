-- A block that no entry is about has no row.
CREATE TABLE lease (
    lease BLOB PRIMARY KEY,
    granted INTEGER,
    revoked INTEGER,
    used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
