-- Rows of the four ledgers are images of entries of the agent core: one row an entry, with all that its columns name.
CREATE TABLE agent_execution_ledger (
    seq INTEGER PRIMARY KEY,
    ref BLOB NOT NULL,
    tenant_id TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    request_key BLOB NOT NULL,
    plan_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    event TEXT NOT NULL,
    state TEXT NOT NULL,
    idempotency_key BLOB,
    decision_key BLOB,
    simulation_id TEXT,
    simulation_ledger_ref BLOB,
    access_decision_ref BLOB,
    confirmation_ref BLOB,
    rollback_plan_ref BLOB,
    decision_bundle_ref BLOB NOT NULL,
    finder_packet_ref BLOB NOT NULL,
    policy_snapshot_ref BLOB NOT NULL,
    catalog_snapshot_ref BLOB NOT NULL,
    artifact_fingerprint_bundle_ref BLOB,
    confirmation_parse_proof_ref BLOB,
    confirmation_prompt_ref BLOB,
    simulation_outcome_ref BLOB,
    dispatch_decision_hash BLOB NOT NULL,
    reason_code TEXT,
    impactful INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    duration_us INTEGER,
    command_us INTEGER,
    CHECK (event IN ('NO_DISPATCH', 'NO_EFFECT', 'DISPATCH_STARTED', 'RETRY_STARTED', 'OUTCOME', 'REPLAY_MISMATCH')),
    CHECK (state IN ('AWAITING_CLARIFY', 'AWAITING_CONFIRM', 'AWAITING_AP', 'REFUSED', 'ESCALATED', 'STARTED', 'SUCCEEDED',
        'REVERTED', 'FAILED', 'REPLAY_FAILED')),
    CHECK ((event = 'DISPATCH_STARTED') = (idempotency_key IS NOT NULL)),
    CHECK (idempotency_key IS NULL OR idempotency_key IS decision_key),
    CHECK (decision_key IS NOT NULL OR event IN ('NO_DISPATCH', 'REPLAY_MISMATCH')),
    CHECK (event NOT IN ('DISPATCH_STARTED', 'RETRY_STARTED') OR (simulation_id IS NOT NULL
        AND simulation_ledger_ref IS NOT NULL AND access_decision_ref IS NOT NULL
        AND artifact_fingerprint_bundle_ref IS NOT NULL)),
    CHECK (event NOT IN ('DISPATCH_STARTED', 'RETRY_STARTED') OR NOT impactful OR (rollback_plan_ref IS NOT NULL
        AND confirmation_ref IS NOT NULL AND confirmation_parse_proof_ref IS NOT NULL)),
    CHECK (event NOT IN ('NO_DISPATCH', 'NO_EFFECT') OR reason_code IS NOT NULL),
    CHECK (event <> 'OUTCOME' OR simulation_outcome_ref IS NOT NULL),
    CHECK ((event = 'OUTCOME') = (duration_us IS NOT NULL)),
    CHECK ((duration_us IS NULL) = (command_us IS NULL))
) STRICT;

CREATE UNIQUE INDEX agent_execution_ledger_idempotency
    ON agent_execution_ledger (tenant_id, correlation_id, step_id, idempotency_key);

CREATE INDEX agent_execution_ledger_plan ON agent_execution_ledger (tenant_id, plan_id, step_id);

CREATE INDEX agent_execution_ledger_replay ON agent_execution_ledger (tenant_id, correlation_id, created_at);

CREATE INDEX agent_execution_ledger_request ON agent_execution_ledger (tenant_id, request_key);

-- A second start of a step under another key.
CREATE UNIQUE INDEX agent_execution_ledger_claim
    ON agent_execution_ledger (tenant_id, correlation_id, step_id) WHERE event = 'DISPATCH_STARTED';

CREATE INDEX agent_execution_ledger_escalated ON agent_execution_ledger (ref) WHERE state = 'ESCALATED';

CREATE INDEX agent_execution_ledger_effect
    ON agent_execution_ledger (decision_key) WHERE event = 'OUTCOME' AND state = 'SUCCEEDED';

CREATE TABLE agent_execution_access_decision_ledger (
    seq INTEGER PRIMARY KEY,
    ref BLOB NOT NULL,
    tenant_id TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    access_action TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason_code TEXT,
    policy_snapshot_ref BLOB NOT NULL,
    access_case_ref BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    CHECK (outcome IN ('ALLOWED', 'AP_REQUIRED', 'DENIED')),
    CHECK ((outcome = 'ALLOWED') = (reason_code IS NULL))
) STRICT;

CREATE INDEX agent_execution_access_decision_ledger_replay
    ON agent_execution_access_decision_ledger (tenant_id, correlation_id, created_at);

CREATE TABLE agent_execution_confirmation_ledger (
    seq INTEGER PRIMARY KEY,
    ref BLOB NOT NULL,
    tenant_id TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    confirm_lexicon_version_ref BLOB NOT NULL,
    confirmation_parse_proof_ref BLOB NOT NULL,
    confirmation_prompt_ref BLOB NOT NULL,
    plan_fingerprint BLOB NOT NULL,
    language_tag TEXT NOT NULL,
    accepted_token TEXT,
    created_at INTEGER NOT NULL,
    CHECK (outcome IN ('CONFIRMED', 'REJECTED', 'AMBIGUOUS')),
    CHECK ((outcome = 'CONFIRMED') = (accepted_token IS NOT NULL))
) STRICT;

CREATE INDEX agent_execution_confirmation_ledger_replay
    ON agent_execution_confirmation_ledger (tenant_id, correlation_id, created_at);

CREATE TABLE agent_intake_resolved_ledger (
    seq INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    escalated_ref BLOB NOT NULL,
    simulation_id TEXT,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX agent_intake_resolved_ledger_replay
    ON agent_intake_resolved_ledger (tenant_id, correlation_id, created_at);

-- Projection: the newest row of each step of a plan.
CREATE TABLE agent_execution_current (
    tenant_id TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    correlation_id TEXT NOT NULL,
    state TEXT NOT NULL,
    decision_key BLOB,
    reason_code TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, plan_id, step_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX agent_execution_current_open ON agent_execution_current (last_seq) WHERE state = 'STARTED';

-- Counters of outcomes: a percentile is within its target if few enough dispatches took longer than the target.
CREATE TABLE agent_slo_minute (
    tenant_id TEXT NOT NULL,
    minute INTEGER NOT NULL,
    total INTEGER NOT NULL,
    over_p95 INTEGER NOT NULL,
    over_p99 INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, minute)
) STRICT, WITHOUT ROWID;
