CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    time INTEGER NOT NULL,
    run INTEGER,
    workspace INTEGER,
    request TEXT,
    attempt INTEGER,
    status TEXT,
    nodes BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE blob (
    number INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE checkpoint (
    size INTEGER PRIMARY KEY,
    note TEXT NOT NULL
) STRICT;

CREATE TABLE run (
    run INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL,
    request TEXT,
    attempt INTEGER NOT NULL,
    started INTEGER NOT NULL,
    done INTEGER,
    status TEXT
) STRICT;

CREATE INDEX run_open ON run (workspace, started) WHERE done IS NULL;

CREATE UNIQUE INDEX run_request ON run (workspace, request, attempt) WHERE request IS NOT NULL;

-- Each refuses also what would replace a row, which fires no trigger of its own unless the
-- connection asks for that.
CREATE TRIGGER entry_insert BEFORE INSERT ON entry
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq) + 1, 0) FROM entry)
BEGIN SELECT RAISE(ABORT, 'entries are numbered without gaps'); END;

CREATE TRIGGER entry_update BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;

CREATE TRIGGER entry_delete BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;

CREATE TRIGGER blob_insert BEFORE INSERT ON blob
WHEN NEW.number IS NOT (SELECT coalesce(max(number) + 1, 0) FROM blob)
    OR EXISTS (SELECT 1 FROM blob WHERE digest = NEW.digest)
BEGIN SELECT RAISE(ABORT, 'documents are numbered without gaps, and each is there once'); END;

CREATE TRIGGER blob_update BEFORE UPDATE ON blob
BEGIN SELECT RAISE(ABORT, 'documents are never changed'); END;

CREATE TRIGGER blob_delete BEFORE DELETE ON blob
BEGIN SELECT RAISE(ABORT, 'documents are never removed'); END;

CREATE TRIGGER checkpoint_insert BEFORE INSERT ON checkpoint
WHEN NEW.size <= (SELECT coalesce(max(size), 0) FROM checkpoint)
    OR NEW.size > (SELECT coalesce(max(seq) + 1, 0) FROM entry)
BEGIN SELECT RAISE(ABORT, 'a checkpoint covers more than the one before, and no more than there is'); END;

CREATE TRIGGER checkpoint_update BEFORE UPDATE ON checkpoint
BEGIN SELECT RAISE(ABORT, 'checkpoints are never changed'); END;

CREATE TRIGGER checkpoint_delete BEFORE DELETE ON checkpoint
BEGIN SELECT RAISE(ABORT, 'checkpoints are never removed'); END;
