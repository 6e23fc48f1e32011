-- As the index of kinds: there is nothing in it of an entry that is about no alert.
CREATE INDEX entry_alert ON entry (kind) WHERE kind = 'ALERT_RAISED' OR kind = 'ALERT_SEEN';
