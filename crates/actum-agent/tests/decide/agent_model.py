"""Reference model of the decision of the Agent Execution Core, without code of actum (AEC-10).

Reads one bundle a line on standard input, and writes one decision a line.
"""

import hashlib
import json
import sys

CANDIDATES = range(1, 9)
STARTS_MAX = 3
AMBIGUOUS_MAX = 2


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def tagged(tag, *parts):
    hasher = hashlib.sha256(tag.encode() + b"\0")
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little") + part)
    return hasher.hexdigest()


def raw(digest):
    return bytes.fromhex(digest)


HEAD = {
    "packet_type", "correlation_id", "tenant_id", "goal_fingerprint", "catalog_snapshot_ref",
    "finder_proof_ref", "finder_version", "idempotency_key", "attempt_counter",
}
OWN = {
    "SimulationMatchPacket": {
        "candidates", "required_fields", "access_action", "rollback_plan", "learning_table_ref",
    },
    "ClarifyPacket": {"question", "missing_field", "candidates"},
    "RefusePacket": {"refusal_code", "message"},
    "MissingSimulationPacket": {"requested_capability"},
}
NO_PLAN = {
    "ClarifyPacket": ("CLARIFY_REQUIRED", "AWAITING_CLARIFY"),
    "RefusePacket": ("FINDER_REFUSED", "REFUSED"),
    "MissingSimulationPacket": ("SIMULATION_MISSING", "ESCALATED"),
}
ORDER = """
FINDER_PACKET_INVALID ACCESS_SCOPE_VIOLATION FINDER_PACKET_OF_ANOTHER_GOAL FINDER_REFUSED
CLARIFY_REQUIRED SIMULATION_MISSING CANDIDATES_UNRESOLVED CLOCK_WENT_BACKWARDS IDEMPOTENCY_VIOLATION
STEP_UNDER_WAY STEP_NEEDS_ATTENTION RETRIES_EXHAUSTED REPLAY_FAILED POLICY_SNAPSHOT_CHANGED
CATALOG_SNAPSHOT_CHANGED SIMULATION_NOT_REGISTERED SIMULATION_NOT_ACTIVE REQUIRED_FIELDS_INVALID
ACCESS_ACTION_MISMATCH ROLLBACK_PLAN_MISSING ROLLBACK_PLAN_UNUSABLE ACCESS_AP_REQUIRED
""".split()
WAITS = {
    "CLARIFY_REQUIRED": "AWAITING_CLARIFY",
    "SIMULATION_MISSING": "ESCALATED",
    "ACCESS_AP_REQUIRED": "AWAITING_AP",
    "CONFIRMATION_REJECTED": "REFUSED",
    "CONFIRMATION_ATTEMPTS_EXHAUSTED": "REFUSED",
}


def is_packet(packet):
    kind = packet.get("packet_type")
    if kind not in OWN or set(packet) != HEAD | OWN[kind]:
        return False
    return kind != "SimulationMatchPacket" or len(packet["candidates"]) in CANDIDATES


def confirmation_problem(bundle, fingerprint):
    answer = bundle["confirmation"]
    if answer is None:
        return "CONFIRMATION_REQUIRED"
    if answer["thread"] != bundle["goal"]["thread"]:
        return "CONFIRMATION_OF_ANOTHER_THREAD"
    if answer["plan_fingerprint"] != fingerprint:
        return "CONFIRMATION_OF_ANOTHER_PLAN"
    if answer["outcome"] == "REJECTED":
        return "CONFIRMATION_REJECTED"
    is_ambiguous = answer["outcome"] == "AMBIGUOUS"
    if is_ambiguous and bundle["history"]["ambiguous_answers"] >= AMBIGUOUS_MAX:
        return "CONFIRMATION_ATTEMPTS_EXHAUSTED"
    if answer["lexicon"] != bundle["lexicon"]:
        return "CONFIRMATION_LEXICON_CHANGED"
    if answer["relayed_by"] is None and answer["by"]["uid"] == bundle["caller"]["actor"]["uid"]:
        return "CONFIRMATION_BY_DISPATCHER"
    # RFC 3339 with six digits behind the point and `Z`: the order of the texts is that of the times.
    if max(answer["time"], bundle["time"]) > answer["expires"]:
        return "CONFIRMATION_EXPIRED"
    return "CONFIRMATION_AMBIGUOUS" if is_ambiguous else None


def decide(bundle):
    goal, packet, history = bundle["goal"], bundle["packet"], bundle["history"]
    claim, caller = history["claim"], bundle["caller"]
    denials = set()
    if caller["identity"]["kind"] == "unknown" or caller["tenant"] != goal["tenant"]:
        denials.add("ACCESS_SCOPE_VIOLATION")
    if history["last"] is not None and bundle["time"] < history["last"]:
        denials.add("CLOCK_WENT_BACKWARDS")
    if history["goal"] not in (None, goal["fingerprint"]):
        denials.add("IDEMPOTENCY_VIOLATION")
    if history["request"] not in (None, goal["correlation"]):
        denials.add("IDEMPOTENCY_VIOLATION")
    if history["is_replay_failed"]:
        denials.add("REPLAY_FAILED")
    key = fingerprint = None
    is_known = hashlib.sha256(canonical(packet)).hexdigest() == bundle["finder_packet"]
    if not is_known or not is_packet(packet):
        denials.add("FINDER_PACKET_INVALID")
        return ending(bundle, denials, key, fingerprint)
    attempt = goal["attempt"] + (packet["packet_type"] == "ClarifyPacket")
    ours = (goal["correlation"], goal["tenant"], goal["fingerprint"], attempt)
    named = ("correlation_id", "tenant_id", "goal_fingerprint", "attempt_counter")
    if tuple(packet[name] for name in named) != ours:
        denials.add("FINDER_PACKET_OF_ANOTHER_GOAL")
    if packet["packet_type"] in NO_PLAN:
        denials.add(NO_PLAN[packet["packet_type"]][0])
        return ending(bundle, denials, key, fingerprint)
    first, *others = packet["candidates"]
    simulation = bundle["simulation"]
    if simulation is None or simulation["id"] != first["simulation_id"]:
        denials.add("SIMULATION_NOT_REGISTERED")
        return ending(bundle, denials, key, fingerprint)
    fields = tagged("actum/agent-fields/1", canonical(packet["required_fields"]))
    policy = claim["policy_snapshot"] if claim else bundle["policy_snapshot"]
    key = tagged(
        "actum/agent-step/1", goal["correlation"].encode(), b"step-1", simulation["id"].encode(),
        raw(fields), raw(policy),
    )
    rollback = packet["rollback_plan"]
    rollback_digest = hashlib.sha256(canonical(rollback) if rollback is not None else b"").digest()
    fingerprint = tagged(
        "actum/agent-plan/1", raw(key), raw(bundle["catalog_snapshot"]), raw(bundle["artifacts"]),
        rollback_digest,
    )
    if claim and claim["key"] == key and claim["state"] == "SUCCEEDED":
        if not denials:
            return ("ANSWERED", "SUCCEEDED", [], key, fingerprint)
        return ending(bundle, denials, key, fingerprint)
    access = bundle["access"]
    if access is None or access["outcome"] == "DENIED":
        denials.add("ACCESS_SCOPE_VIOLATION")
    elif access["outcome"] == "AP_REQUIRED" and not access["is_approved"]:
        denials.add("ACCESS_AP_REQUIRED")
    if others and others[0]["score"] == first["score"]:
        denials.add("CANDIDATES_UNRESOLVED")
    if claim:
        if claim["key"] != key:
            denials.add("IDEMPOTENCY_VIOLATION")
        if claim["state"] == "STARTED":
            denials.add("STEP_UNDER_WAY")
        if claim["state"] == "FAILED":
            denials.add("STEP_NEEDS_ATTENTION")
        if claim["starts"] >= STARTS_MAX:
            denials.add("RETRIES_EXHAUSTED")
        if claim["policy_snapshot"] != bundle["policy_snapshot"]:
            denials.add("POLICY_SNAPSHOT_CHANGED")
    if packet["catalog_snapshot_ref"] != bundle["catalog_snapshot"]:
        denials.add("CATALOG_SNAPSHOT_CHANGED")
    if simulation["state"] != "ACTIVE":
        denials.add("SIMULATION_NOT_ACTIVE")
    if not simulation["fields_fit"]:
        denials.add("REQUIRED_FIELDS_INVALID")
    if packet["access_action"] != simulation["access_action"]:
        denials.add("ACCESS_ACTION_MISMATCH")
    if rollback is None:
        if simulation["impactful"]:
            denials.add("ROLLBACK_PLAN_MISSING")
    elif rollback["simulation_id"] != "undo_run" or bundle["rollback"] != {"id": "undo_run", "state": "ACTIVE"}:
        denials.add("ROLLBACK_PLAN_UNUSABLE")
    if not denials and any(simulation[flag] for flag in ("impactful", "side_effecting", "irreversible")):
        problem = confirmation_problem(bundle, fingerprint)
        if problem:
            denials.add(problem)
    if denials:
        return ending(bundle, denials, key, fingerprint)
    return ("DISPATCH", "STARTED", [], key, fingerprint)


def ending(bundle, denials, key, fingerprint):
    reasons = sorted(denials, key=lambda it: ORDER.index(it) if it in ORDER else len(ORDER))
    waits = "AWAITING_CONFIRM" if reasons[0].startswith("CONFIRMATION") else "REFUSED"
    state = WAITS.get(reasons[0], waits)
    claim = bundle["history"]["claim"]
    if claim:
        state = claim["state"]
    if bundle["history"]["is_replay_failed"] and state != "STARTED":
        state = "REPLAY_FAILED"
    return ("NO_DISPATCH", state, reasons, key, fingerprint)


for line in sys.stdin:
    verdict, state, reasons, key, fingerprint = decide(json.loads(line))
    print(json.dumps([verdict, state, reasons, key, fingerprint]))
