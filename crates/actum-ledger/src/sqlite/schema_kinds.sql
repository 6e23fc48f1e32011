-- Nothing is kept in it of an entry of another kind, so appending that costs what it did.
CREATE INDEX entry_kind ON entry (kind) WHERE kind = 'ACTION_ENDED' OR kind = 'CATALOG_CHANGED';
