-- As the index of kinds: it holds only entries of removed history.
CREATE INDEX entry_forgotten ON entry (kind) WHERE kind = 'HISTORY_FORGOTTEN';
