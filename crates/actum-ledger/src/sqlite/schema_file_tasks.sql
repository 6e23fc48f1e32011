CREATE TABLE file_task (
    task TEXT PRIMARY KEY,
    started INTEGER,
    ended INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX file_task_open ON file_task (started) WHERE started IS NOT NULL AND ended IS NULL;
