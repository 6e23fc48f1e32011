#!/bin/sh
# Checks the seven rules of the Agent Execution Core (seed 004, section 14; AEC-14), in the tree that it stands in.
# Prints one line for each violation, and fails if there is one.
set -u
cd "$(dirname "$0")/.." || exit 2
core=crates/actum-agent
host=crates/actum-dispatch
failures=0

violation() {
    echo "violation $1: $2"
    failures=$((failures + 1))
}

# Source without comments and tests, as `file:line:code`.
code() {
    find "$@" -name '*.rs' -exec \
        awk '/^#\[cfg\(test\)\]/ { exit } !/^ *\/\// { print FILENAME ":" FNR ":" $0 }' {} \;
}

# True where a file has a line with this text.
has() {
    grep -qF -- "$2" "$1" 2>/dev/null
}

# 1. The agent bypasses the SimulationExecutor: an effect starts somewhere else than in the executor, or the core can reach
#    the engine.
if code "$host/src" | grep -v "^$host/src/executor.rs:" |
    grep -E '\.(act|act_with|act_as_approved|run|run_with|run_staged)\(' | grep -vE '\.run\(\)$|log\.run\(' >/dev/null; then
    violation 1 "an effect starts outside of $host/src/executor.rs"
fi
if sed -n '/^\[dependencies\]/,/^\[/p' "$core/Cargo.toml" |
    grep -E '^actum' | grep -vE '^actum-(core|document|gate|record)\.workspace' >/dev/null; then
    violation 1 "$core depends on a crate that can have effects"
fi
has "$core/src/lib.rs" '#![no_std]' || violation 1 "$core is not no_std"

# 2. The agent writes business state outside of the governed appends.
if code "$core/src" "$host/src" | grep -E 'std::fs|std::process|rusqlite|INSERT INTO|actum_edit|Transaction' >/dev/null; then
    violation 2 "files, processes or tables are reached without the engine"
fi
if code "$host/src" | grep -E 'NewEntry *\{ *kind: *EntryKind::' |
    grep -vE 'EntryKind::(AgentExecution|AgentAccessDecided|AgentConfirmation|IntakeResolved|SloWaived)' >/dev/null; then
    violation 2 "an entry of another kind than those of the agent core is appended"
fi

# 3. The agent dispatches a tool as a simulation: an id that no packet has.
if code "$core/src" "$host/src" | grep -E '"[a-z]+(_[a-z]+)+"\.(parse|to_owned|into)\(' |
    grep -vE 'json!|"undo_run"' >/dev/null; then
    violation 3 "the name of a simulation is made up"
fi
has "$core/src/decide.rs" 'filter(|it| it.id == candidate.simulation_id)' ||
    violation 3 "the simulation is not the one of the first candidate"

# 4. A rollback reference is missing on an impactful simulation.
has "$core/src/decide.rs" '(ReasonCode::RollbackPlanMissing, *impactful && planned.rollback == RollbackState::None)' ||
    violation 4 "the core dispatches an impactful simulation without a rollback plan"
has crates/actum-ledger/src/sqlite/schema_agent.sql 'NOT impactful OR (rollback_plan_ref IS NOT NULL' ||
    violation 4 "the database takes an impactful start without a rollback plan"

# 5. The path of a MissingSimulationPacket attempts a dispatch.
has "$core/src/decide.rs" 'FinderPacket::Missing(_) => Err(ReasonCode::SimulationMissing)' ||
    violation 5 "a MissingSimulationPacket does not end in Dev Intake"

# 6. A Finder packet lacks proof or idempotency fields.
for packet in match clarify refuse missing; do
    schema=schemas/finder-$packet.schema.json
    for field in finder_proof_ref idempotency_key goal_fingerprint catalog_snapshot_ref attempt_counter; do
        sed -n '/^  "required": \[/,/\]/p' "$schema" 2>/dev/null | grep -q "\"$field\"" ||
            violation 6 "$schema does not require $field"
        has "$core/src/packet.rs" "Member::required(\"$field\"" ||
            grep -A1 'Member::required($' "$core/src/packet.rs" | grep -qF "\"$field\"" ||
            violation 6 "$core/src/packet.rs does not require $field"
    done
done

# 7. A step lacks the references to policy snapshot or artifact fingerprints.
for field in policy_snapshot_ref artifact_fingerprint_bundle_ref; do
    sed -n '/^  "required": \[/,/\]/p' schemas/agent-dispatch.schema.json 2>/dev/null | grep -q "\"$field\"" ||
        violation 7 "a dispatch envelope does not require $field"
    grep -qE "^    pub $field: Digest," "$core/src/envelope.rs" ||
        violation 7 "$core/src/envelope.rs can leave $field out"
done
has crates/actum-ledger/src/sqlite/schema_agent.sql 'policy_snapshot_ref BLOB NOT NULL' ||
    violation 7 "the database takes a step without a policy snapshot"
has crates/actum-ledger/src/sqlite/schema_agent.sql 'AND artifact_fingerprint_bundle_ref IS NOT NULL)' ||
    violation 7 "the database takes a start without artifact fingerprints"

[ "$failures" -eq 0 ] || exit 1
echo "the agent execution core keeps its rules"
