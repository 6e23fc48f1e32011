-- As the index of kinds: it holds only waivers of the SLO gate.
CREATE INDEX entry_slo_waived ON entry (kind) WHERE kind = 'SLO_WAIVED';
