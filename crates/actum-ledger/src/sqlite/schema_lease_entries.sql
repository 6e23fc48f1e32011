-- As the index of kinds: it holds only grants and revocations of leases.
CREATE INDEX entry_lease ON entry (kind) WHERE kind = 'LEASE_GRANTED' OR kind = 'LEASE_REVOKED';
