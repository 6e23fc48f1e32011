CREATE TABLE plan (
    plan INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL,
    queued INTEGER NOT NULL,
    answer TEXT,
    answered INTEGER,
    started INTEGER,
    open INTEGER NOT NULL
) STRICT;

CREATE INDEX plan_open ON plan (queued) WHERE open = 1;
