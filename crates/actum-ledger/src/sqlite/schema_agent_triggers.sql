-- Append-only ledgers. A trigger on INSERT refuses also a statement that would replace a row, which fires no other trigger
-- unless the connection asks for that.

CREATE TRIGGER agent_execution_ledger_insert BEFORE INSERT ON agent_execution_ledger
WHEN NEW.seq <= (SELECT coalesce(max(seq), -1) FROM agent_execution_ledger)
    OR NOT EXISTS (SELECT 1 FROM entry WHERE seq = NEW.seq AND kind = 'AGENT_EXECUTION')
BEGIN SELECT RAISE(ABORT, 'rows of `agent_execution_ledger` follow their entries'); END;

CREATE TRIGGER agent_execution_ledger_update BEFORE UPDATE ON agent_execution_ledger
BEGIN SELECT RAISE(ABORT, 'rows of `agent_execution_ledger` are never changed'); END;

CREATE TRIGGER agent_execution_ledger_delete BEFORE DELETE ON agent_execution_ledger
BEGIN SELECT RAISE(ABORT, 'rows of `agent_execution_ledger` are never removed'); END;

CREATE TRIGGER agent_execution_access_decision_ledger_insert BEFORE INSERT ON agent_execution_access_decision_ledger
WHEN NEW.seq <= (SELECT coalesce(max(seq), -1) FROM agent_execution_access_decision_ledger)
    OR NOT EXISTS (SELECT 1 FROM entry WHERE seq = NEW.seq AND kind = 'AGENT_ACCESS_DECIDED')
BEGIN SELECT RAISE(ABORT, 'rows of `agent_execution_access_decision_ledger` follow their entries'); END;

CREATE TRIGGER agent_execution_access_decision_ledger_update BEFORE UPDATE ON agent_execution_access_decision_ledger
BEGIN SELECT RAISE(ABORT, 'rows of `agent_execution_access_decision_ledger` are never changed'); END;

CREATE TRIGGER agent_execution_access_decision_ledger_delete BEFORE DELETE ON agent_execution_access_decision_ledger
BEGIN SELECT RAISE(ABORT, 'rows of `agent_execution_access_decision_ledger` are never removed'); END;

CREATE TRIGGER agent_execution_confirmation_ledger_insert BEFORE INSERT ON agent_execution_confirmation_ledger
WHEN NEW.seq <= (SELECT coalesce(max(seq), -1) FROM agent_execution_confirmation_ledger)
    OR NOT EXISTS (SELECT 1 FROM entry WHERE seq = NEW.seq AND kind = 'AGENT_CONFIRMATION')
BEGIN SELECT RAISE(ABORT, 'rows of `agent_execution_confirmation_ledger` follow their entries'); END;

CREATE TRIGGER agent_execution_confirmation_ledger_update BEFORE UPDATE ON agent_execution_confirmation_ledger
BEGIN SELECT RAISE(ABORT, 'rows of `agent_execution_confirmation_ledger` are never changed'); END;

CREATE TRIGGER agent_execution_confirmation_ledger_delete BEFORE DELETE ON agent_execution_confirmation_ledger
BEGIN SELECT RAISE(ABORT, 'rows of `agent_execution_confirmation_ledger` are never removed'); END;

CREATE TRIGGER agent_intake_resolved_ledger_insert BEFORE INSERT ON agent_intake_resolved_ledger
WHEN NEW.seq <= (SELECT coalesce(max(seq), -1) FROM agent_intake_resolved_ledger)
    OR NOT EXISTS (SELECT 1 FROM entry WHERE seq = NEW.seq AND kind = 'INTAKE_RESOLVED')
BEGIN SELECT RAISE(ABORT, 'rows of `agent_intake_resolved_ledger` follow their entries'); END;

CREATE TRIGGER agent_intake_resolved_ledger_update BEFORE UPDATE ON agent_intake_resolved_ledger
BEGIN SELECT RAISE(ABORT, 'rows of `agent_intake_resolved_ledger` are never changed'); END;

CREATE TRIGGER agent_intake_resolved_ledger_delete BEFORE DELETE ON agent_intake_resolved_ledger
BEGIN SELECT RAISE(ABORT, 'rows of `agent_intake_resolved_ledger` are never removed'); END;

CREATE TRIGGER agent_execution_ledger_claims BEFORE INSERT ON agent_execution_ledger
WHEN NEW.event = 'DISPATCH_STARTED' AND EXISTS (
        SELECT 1 FROM agent_execution_ledger WHERE tenant_id = NEW.tenant_id AND correlation_id = NEW.correlation_id
            AND step_id = NEW.step_id AND event = 'DISPATCH_STARTED')
BEGIN SELECT RAISE(ABORT, 'the effect of a step starts once'); END;

CREATE TRIGGER agent_execution_ledger_current AFTER INSERT ON agent_execution_ledger
BEGIN
    INSERT INTO agent_execution_current (tenant_id, plan_id, step_id, last_seq, correlation_id, state, decision_key,
        reason_code, updated_at)
    VALUES (NEW.tenant_id, NEW.plan_id, NEW.step_id, NEW.seq, NEW.correlation_id, NEW.state, NEW.decision_key,
        NEW.reason_code, NEW.created_at)
    ON CONFLICT (tenant_id, plan_id, step_id) DO UPDATE SET last_seq = excluded.last_seq,
        correlation_id = excluded.correlation_id, state = excluded.state, decision_key = excluded.decision_key,
        reason_code = excluded.reason_code, updated_at = excluded.updated_at;
END;

CREATE TRIGGER agent_execution_ledger_slo AFTER INSERT ON agent_execution_ledger WHEN NEW.event = 'OUTCOME'
BEGIN
    INSERT INTO agent_slo_minute (tenant_id, minute, total, over_p95, over_p99, errors)
    SELECT NEW.tenant_id, NEW.created_at / 60000000, 0, 0, 0, 0 WHERE NOT EXISTS (
        SELECT 1 FROM agent_slo_minute WHERE tenant_id = NEW.tenant_id AND minute = NEW.created_at / 60000000);
    UPDATE agent_slo_minute SET total = total + 1, over_p95 = over_p95 + (NEW.duration_us > 1200000),
        over_p99 = over_p99 + (NEW.duration_us > 2500000), errors = errors + (NEW.state = 'FAILED')
    WHERE tenant_id = NEW.tenant_id AND minute = NEW.created_at / 60000000;
END;

-- No silent transitions: a row is what the newest row of the ledger says. All rows may be removed, for a rebuild.
CREATE TRIGGER agent_execution_current_insert BEFORE INSERT ON agent_execution_current
WHEN NOT EXISTS (
        SELECT 1 FROM agent_execution_ledger AS newest WHERE newest.seq = NEW.last_seq
            AND newest.tenant_id = NEW.tenant_id AND newest.plan_id = NEW.plan_id AND newest.step_id = NEW.step_id
            AND newest.correlation_id = NEW.correlation_id AND newest.state = NEW.state
            AND newest.decision_key IS NEW.decision_key AND newest.reason_code IS NEW.reason_code
            AND newest.created_at = NEW.updated_at)
    OR EXISTS (
        SELECT 1 FROM agent_execution_ledger AS later WHERE later.tenant_id = NEW.tenant_id
            AND later.plan_id = NEW.plan_id AND later.step_id = NEW.step_id AND later.seq > NEW.last_seq)
BEGIN SELECT RAISE(ABORT, 'no silent transitions'); END;

CREATE TRIGGER agent_execution_current_update BEFORE UPDATE ON agent_execution_current
WHEN OLD.tenant_id <> NEW.tenant_id OR OLD.plan_id <> NEW.plan_id OR OLD.step_id <> NEW.step_id
    OR NOT EXISTS (
        SELECT 1 FROM agent_execution_ledger AS newest WHERE newest.seq = NEW.last_seq
            AND newest.tenant_id = NEW.tenant_id AND newest.plan_id = NEW.plan_id AND newest.step_id = NEW.step_id
            AND newest.correlation_id = NEW.correlation_id AND newest.state = NEW.state
            AND newest.decision_key IS NEW.decision_key AND newest.reason_code IS NEW.reason_code
            AND newest.created_at = NEW.updated_at)
    OR EXISTS (
        SELECT 1 FROM agent_execution_ledger AS later WHERE later.tenant_id = NEW.tenant_id
            AND later.plan_id = NEW.plan_id AND later.step_id = NEW.step_id AND later.seq > NEW.last_seq)
BEGIN SELECT RAISE(ABORT, 'no silent transitions'); END;

CREATE TRIGGER agent_slo_minute_insert BEFORE INSERT ON agent_slo_minute
WHEN (NEW.total, NEW.over_p95, NEW.over_p99, NEW.errors) IS NOT (0, 0, 0, 0)
    OR EXISTS (SELECT 1 FROM agent_slo_minute WHERE tenant_id = NEW.tenant_id AND minute = NEW.minute)
BEGIN SELECT RAISE(ABORT, 'a minute begins without outcomes'); END;

CREATE TRIGGER agent_slo_minute_update BEFORE UPDATE ON agent_slo_minute
WHEN NOT EXISTS (
        SELECT 1 FROM agent_execution_ledger WHERE seq = (SELECT max(seq) FROM agent_execution_ledger)
            AND event = 'OUTCOME' AND (tenant_id, created_at / 60000000) = (NEW.tenant_id, NEW.minute)
            AND (OLD.tenant_id, OLD.minute) = (NEW.tenant_id, NEW.minute)
            AND NEW.total = OLD.total + 1 AND NEW.over_p95 = OLD.over_p95 + (duration_us > 1200000)
            AND NEW.over_p99 = OLD.over_p99 + (duration_us > 2500000)
            AND NEW.errors = OLD.errors + (state = 'FAILED'))
BEGIN SELECT RAISE(ABORT, 'counters count outcomes'); END;

CREATE TRIGGER agent_slo_minute_delete BEFORE DELETE ON agent_slo_minute
BEGIN SELECT RAISE(ABORT, 'minutes are never removed'); END;
