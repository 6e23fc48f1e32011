#!/usr/bin/env python3
"""Judges the vectors beside it, or in the directory that is given.

It shares no code with actum, and needs Python 3.9 and the package `cryptography` for Ed25519 alone.
The formats: canonical JSON (RFC 8785), DSSE v1, in-toto Statement v1, RFC 6962 trees with the checks
of RFC 9162, C2SP signed notes and checkpoints.

Exit code 0: every vector is judged as it says; 1: not; 2: it cannot run.
"""

import base64
import hashlib
import json
import pathlib
import re
import sys
import unicodedata

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    print("missing: the Python package `cryptography` (Debian: python3-cryptography)", file=sys.stderr)
    sys.exit(2)


class Refused(Exception):
    """The permanent name of a reason."""


def need(condition, reason):
    if not condition:
        raise Refused(reason)


# --- canonical JSON -------------------------------------------------------------------------------

NUMBER_MAX = 2**53 - 1


def read_json(data):
    """What the bytes say, if every reader has the same idea of it."""

    def pairs(members):
        names = [name for name, _ in members]
        need(len(names) == len(set(names)), "NAME_TWICE")
        return dict(members)

    def number(kind):
        def read(text):
            need(abs(float(text)) <= NUMBER_MAX, "NUMBER_NOT_EXACT")
            return kind(text)

        return read

    def constant(_):
        raise Refused("NOT_JSON")

    try:
        text = data.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=pairs,
            parse_int=number(int),
            parse_float=number(float),
            parse_constant=constant,
        )
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # No half of a character.
        return value
    except (ValueError, RecursionError):
        raise Refused("NOT_JSON") from None


def canonical(value):
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"


def number_text(value):
    """As ECMAScript writes a double: the fewest digits that lead back to it."""
    if value == 0:
        return "0"
    if isinstance(value, int):
        return str(value)
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + part) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        shown = digits[0] + ("." + digits[1:] if count > 1 else "")
        text = f"{shown}e{point - 1:+d}"
    return sign + text


# --- digests, keys, signatures --------------------------------------------------------------------


def sha256(data):
    return hashlib.sha256(data).digest()


def tagged(tag, *parts):
    data = tag.encode() + b"\0"
    return sha256(data + b"".join(len(part).to_bytes(8, "little") + part for part in parts))


def decode(text, alphabets=(b"+/",)):
    """Base64 in the one spelling that each alphabet has, or None."""
    for alphabet in alphabets:
        try:
            data = base64.b64decode(text, altchars=alphabet, validate=True)
        except ValueError:
            continue
        if base64.b64encode(data, altchars=alphabet).decode() == text:
            return data
    return None


P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


def is_small(point):
    """Whether eight times an encoded point of the curve is the neutral element; None for no point."""
    y = int.from_bytes(point, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    xx = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if x * x % P != xx:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != xx:
        return None
    if x & 1 != sign:
        x = P - x
    for _ in range(3):
        k = D * x * x * y * y % P
        x, y = (
            2 * x * y * pow(1 + k, -1, P) % P,
            (y * y + x * x) * pow(1 - k, -1, P) % P,
        )
    return (x % P, y % P) == (0, 1)


def is_signed(public, message, signature):
    if len(signature) != 64 or is_small(public) is not False or is_small(signature[:32]) is not False:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        return True
    except InvalidSignature:
        return False


TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def keys_of(keyring):
    assert keyring["format"] == "actum.keyring/1"
    for key in keyring["keys"]:
        key["bytes"] = decode(key["public"])
        name = tagged("actum/key/v1", key["role"].encode(), key["bytes"]).hex()[:16]
        assert key["id"] == name, "a key of another name"
        assert TIME.fullmatch(key["not_before"])
    return keyring["keys"]


def check_key(key, role, time):
    """Times of the one form sort as texts."""
    need(key["role"] == role, "KEY_OF_ANOTHER_ROLE")
    need(key["revoked"] is None, "KEY_REVOKED")
    need(key["not_before"] <= time, "KEY_NOT_YET_VALID")
    need(key["not_after"] is None or time <= key["not_after"], "KEY_EXPIRED")


# --- envelopes ------------------------------------------------------------------------------------


def read_envelope(value, malformed):
    try:
        payload = decode(value["payload"], (b"+/", b"-_"))
        signatures = [
            (one.get("keyid", ""), decode(one["sig"], (b"+/", b"-_"))) for one in value["signatures"]
        ]
        payload_type = value["payloadType"]
    except (KeyError, TypeError, AttributeError):
        raise Refused(malformed) from None
    sound = [payload] + [signature for _, signature in signatures]
    need(isinstance(payload_type, str) and None not in sound, malformed)
    return payload_type, payload, signatures


def signers(envelope, keys):
    payload_type, payload, signatures = envelope
    need(len(signatures) <= 16, "TOO_MANY_SIGNATURES")
    kind = payload_type.encode()
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    found = []
    for name, signature in signatures:
        named = [key for key in keys if key["id"] == name] if name else keys
        signed = [key for key in named if is_signed(key["bytes"], message, signature)]
        need(signed or not named or not name, "SIGNATURE_WRONG")
        found += signed[:1]
    need(found, "SIGNER_UNKNOWN")
    return found


def counting(found, role, time):
    problems = []
    for key in found:
        try:
            check_key(key, role, time)
            return key
        except Refused as refused:
            problems.append(refused)
    raise problems[0]


def entry_of(envelope):
    """The canonical bytes under which an envelope is in a log."""
    payload_type, payload, signatures = envelope
    b64 = lambda data: base64.b64encode(data).decode()
    written = [{"keyid": name, "sig": b64(signature)} for name, signature in signatures]
    value = {"payload": b64(payload), "payloadType": payload_type, "signatures": written}
    return canonical(value).encode()


# --- receipts -------------------------------------------------------------------------------------

text = lambda value: isinstance(value, str)
whole = lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0
digest = lambda value: text(value) and re.fullmatch("[0-9a-f]{64}", value)
time = lambda value: text(value) and TIME.fullmatch(value)
name = lambda value: text(value) and re.fullmatch("[0-9a-hjkmnp-tv-z]{12}", value)
optional = lambda check: lambda value: value is None or check(value)
each = lambda check: lambda value: isinstance(value, list) and all(map(check, value))
one_of = lambda *words: lambda value: value in words


def fields(**checks):
    def check(value):
        known = lambda field, one: one(value[field]) if field in value else one(None)
        return isinstance(value, dict) and all(known(*item) for item in checks.items())

    return check


def path_bytes(value):
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    return value.encode()


def path(value):
    try:
        data = path_bytes(value)
    except (KeyError, ValueError, AttributeError):
        return False
    reserved = (b"", b".", b"..", b".git", b".actum")
    return b"\0" not in data and all(part.lower() not in reserved for part in data.split(b"/"))


def shown(value):
    """A path as the name of a subject."""
    if text(value):
        return value
    marks = {"\t": "\\t", "\\": "\\\\", "\n": "\\n", "\r": "\\r"}
    decoded = path_bytes(value).decode("utf-8", "surrogateescape")
    octal = lambda char: "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
    each_char = (marks.get(c) or (octal(c) if is_escaped(c) else c) for c in decoded)
    return "".join(each_char)


# Unicode, Default_Ignorable_Code_Point; separators of lines and annotations; some noncharacters; bytes that are no text.
UNSEEN = """ad-ad 34f-34f 61c-61c 115f-1160 17b4-17b5 180b-180f 200b-200f 2028-202e 2060-206f 2800-2800 3164-3164
    d800-dfff fdd0-fdef fe00-fe0f feff-feff ffa0-ffa0 fff0-fffb 1bca0-1bca3 1d173-1d17a e0000-e0fff"""
UNSEEN = [[int(end, 16) for end in ends.split("-")] for ends in UNSEEN.split()]


def is_escaped(char):
    unseen = any(first <= ord(char) <= last for first, last in UNSEEN)
    return unseen or unicodedata.category(char) == "Cc"


def is_deceptive(path):
    """Whether a character of a name is not shown; bytes that are no text are shown by their digits."""
    return bool(unseen_of(path))


EMOJI = re.compile(
    "[\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff]"
)


def unseen_of(path):
    """The characters of a name that are not shown and belong to no emoji."""
    texts = path.decode("utf-8", "backslashreplace")
    texts = re.sub(f"({EMOJI.pattern})\ufe0f", r"\1", texts)
    return [char for char in re.sub(f"(?<={EMOJI.pattern})\u200d(?={EMOJI.pattern})", "", texts) if is_escaped(char)]


def has_emoji(path):
    """Whether characters that are not shown belong to an emoji, and no others are there."""
    return not is_deceptive(path) and any(map(is_escaped, path.decode("utf-8", "ignore")))


bound = fields(plan=digest, limits=digest, change=digest, policy=digest)
is_actor = fields(user=text, uid=whole, agent=optional(text))
is_entry = fields(origin=text, index=whole, leaf=digest)
isolation = one_of("passphrase", "same_user")
is_approval = fields(plan=name, entry=is_entry, key=text, by=is_actor, isolation=isolation)
file_facts = fields(sha256=digest, size=whole, mode=text)
is_effect = fields(
    path=path,
    effect=one_of(
        "created",
        "modified",
        "renamed",
        "mode",
        "attributes",
        "deleted",
        "directory_created",
        "directory_removed",
    ),
    **{"from": optional(path)},
    before=optional(file_facts),
    after=optional(file_facts),
    added=whole,
    removed=whole,
)
is_answer = fields(
    time=time,
    tenant=lambda value: text(value) and re.fullmatch("[a-z0-9][a-z0-9-]{0,63}", value),
    workspace=name,
    plan=name,
    queued=is_entry,
    answer=one_of("approved", "denied", "revoked"),
    reason=optional(text),
    bound=bound,
    expires=time,
    by=is_actor,
    isolation=isolation,
)
ANSWER = {"format", "time", "tenant", "workspace", "plan", "queued", "answer", "reason", "bound"}
ANSWER |= {"expires", "by", "isolation"}
state = one_of("DRAFT", "ACTIVE", "RETIRED")
is_change = fields(
    time=time,
    tenant=lambda value: text(value) and re.fullmatch("[a-z0-9][a-z0-9-]{0,63}", value),
    follows=is_entry,
    action=lambda value: text(value) and re.fullmatch("[a-z][a-z0-9_]{0,63}", value),
    **{"from": optional(state)},
    to=state,
    reason=optional(text),
    snapshot=digest,
    by=is_actor,
    isolation=isolation,
)
CHANGE = {"format", "time", "tenant", "follows", "action", "from", "to", "reason", "snapshot"}
CHANGE |= {"by", "isolation"}
is_lease = fields(
    blocks=each(fields(agent=optional(text), id=digest, uses=optional(whole))),
    document=digest,
    key=text,
)
is_result = fields(
    tenant=lambda value: text(value) and re.fullmatch("[a-z0-9][a-z0-9-]{0,63}", value),
    workspace=name,
    run=name,
    undoes=optional(name),
    status=one_of("succeeded", "reverted", "queued", "rejected", "failed"),
    reason=optional(text),
    plan=digest,
    change=digest,
    paths=each(is_effect),
    policy=digest,
    decision=fields(
        semantics=whole,
        bundle=digest,
        digest=digest,
        tier=one_of("R0", "R1", "R2", "R3", "R4"),
        gates=each(fields(gate=text, verdict=text, ground=lambda value: text(value) or isinstance(value, dict))),
    ),
    approval=optional(is_approval),
    lease=optional(is_lease),
    sandbox=optional(text),
    verification=each(text),
    rollback=optional(fields(undo=name)),
    request=optional(lambda value: text(value) and re.fullmatch("[!-~]{1,128}", value)),
    attempt=whole,
    actor=is_actor,
    door=text,
    label=text,
    started=time,
    ended=time,
    settled=time,
    intent=is_entry,
    settled_by=one_of("run", "recovery"),
    engine=text,
)
is_statement = fields(
    subject=each(fields(name=text, digest=fields(sha256=digest))), predicate=is_result
)


def signed_json(payload, malformed):
    try:
        return read_json(payload)
    except Refused:
        raise Refused(malformed) from None


def typed(value, field):
    found = value.get(field) if isinstance(value, dict) else None
    return found if text(found) else ""


def together(gates):
    """What gates said together; a word that is not known allows nothing."""
    said = [one["verdict"] if one["verdict"] in VERDICTS else "deny" for one in gates]
    answer = said.pop() if gates and gates[-1]["gate"] == "approval" else None
    strictest = max(said, key=VERDICTS.index, default="deny")
    if answer is None or strictest == "needs_approval":
        return answer or strictest
    return max(strictest, answer, key=VERDICTS.index)


def verify_receipt(value, keys):
    envelope = read_envelope(value, "RECEIPT_MALFORMED")
    found = signers(envelope, keys)
    payload_type, payload, _ = envelope
    other = "RECEIPT_OF_ANOTHER_TYPE"
    need(payload_type == "application/vnd.in-toto+json", other)
    statement = signed_json(payload, "RECEIPT_MALFORMED")
    need(typed(statement, "_type") == "https://in-toto.io/Statement/v1", other)
    need(typed(statement, "predicateType") == "urn:actum:run-result:1", other)
    need(is_statement(statement), "RECEIPT_MALFORMED")
    result = statement["predicate"]
    left = result["paths"] if result["status"] == "succeeded" else []
    change = tagged("actum/change/v1", canonical(result["paths"]).encode()).hex()
    subjects = [[f"urn:actum:change:{result['run']}", change]]
    subjects += [[shown(one["path"]), one["after"]["sha256"]] for one in left if one.get("after")]
    said = [[one["name"], one["digest"]["sha256"]] for one in statement["subject"]]
    in_order = result["started"] <= result["ended"]
    in_order &= result["status"] != "succeeded" or together(result["decision"]["gates"]) == "allow"
    need(in_order and result["change"] == change and said == subjects, "RECEIPT_INCONSISTENT")
    key = counting(found, "result", result["settled"])
    leaf = sha256(b"\0" + entry_of(envelope))
    told = {
        "key": key["id"],
        "leaf": leaf.hex(),
        "run": result["run"],
        "status": result["status"],
        "subjects": said,
    }
    return told, result, leaf


def judge_receipt(given, keys):
    return verify_receipt(signed_json(given["text"].encode(), "RECEIPT_MALFORMED"), keys)[0]


def judge_answer(given, keys):
    value = signed_json(given["text"].encode(), "ANSWER_MALFORMED")
    envelope = read_envelope(value, "ANSWER_MALFORMED")
    found = signers(envelope, keys)
    other = "ANSWER_OF_ANOTHER_TYPE"
    need(envelope[0] == "application/vnd.actum.plan-answered+json", other)
    said = signed_json(envelope[1], "ANSWER_MALFORMED")
    need(typed(said, "format") == "actum.plan-answered/1", other)
    need(set(said) == ANSWER and is_answer(said), "ANSWER_MALFORMED")
    key = counting(found, "approval", said["time"])
    return {"plan": said["plan"], "answer": said["answer"], "key": key["id"]}


def judge_change(given, keys):
    value = signed_json(given["text"].encode(), "CATALOG_CHANGE_MALFORMED")
    envelope = read_envelope(value, "CATALOG_CHANGE_MALFORMED")
    found = signers(envelope, keys)
    other = "CATALOG_CHANGE_OF_ANOTHER_TYPE"
    need(envelope[0] == "application/vnd.actum.catalog-changed+json", other)
    said = signed_json(envelope[1], "CATALOG_CHANGE_MALFORMED")
    need(typed(said, "format") == "actum.catalog-changed/1", other)
    need(set(said) == CHANGE and is_change(said), "CATALOG_CHANGE_MALFORMED")
    told = {name: said[name] for name in ("action", "to", "snapshot")}
    key = counting(found, "approval", said["time"])
    return {**told, "follows": said["follows"]["index"], "key": key["id"]}


def judge_rotation(given, keys):
    value = signed_json(given["text"].encode(), "ROTATION_MALFORMED")
    envelope = read_envelope(value, "ROTATION_MALFORMED")
    found = signers(envelope, keys)
    other = "ROTATION_OF_ANOTHER_TYPE"
    need(envelope[0] == "application/vnd.actum.key-rotated+json", other)
    said = signed_json(envelope[1], "ROTATION_MALFORMED")
    need(typed(said, "format") == "actum.key-rotated/1", other)
    names = {"format", "time", "role", "old", "new", "public"}
    public = decode(said["public"]) if set(said) == names and text(said["public"]) else None
    need(public is not None and len(public) == 32 and time(said["time"]), "ROTATION_MALFORMED")
    found = [key for key in found if key["id"] == said["old"]]
    need(found, "ROTATION_NOT_BY_THE_OLD_KEY")
    check_key(found[0], said["role"], said["time"])
    named = tagged("actum/key/v1", said["role"].encode(), public).hex()[:16]
    need(said["old"] != said["new"] == named, "ROTATION_INCONSISTENT")
    return {"old": said["old"], "new": said["new"], "public": said["public"]}


# --- Merkle trees ---------------------------------------------------------------------------------


def node(left, right):
    return sha256(b"\1" + left + right)


def check_inclusion(leaf, index, size, hashes, root):
    """RFC 9162, section 2.1.3.2."""
    need(index < size, "PROOF_NO_ENTRY")
    fn, sn, found = index, size - 1, leaf
    for beside in hashes:
        need(sn, "PROOF_LENGTH")
        if fn & 1 or fn == sn:
            found = node(beside, found)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            found = node(found, beside)
        fn, sn = fn >> 1, sn >> 1
    need(sn == 0, "PROOF_LENGTH")
    need(found == root, "PROOF_OTHER_ROOT")


def check_consistency(first, first_root, second, second_root, hashes):
    """RFC 9162, section 2.1.4.2, and what it leaves to the reader: empty and equal logs."""
    need(first <= second, "PROOF_LOG_SHORTER")
    if first in (0, second):
        need(not hashes, "PROOF_LENGTH")
        if first == 0 < second:
            need(first_root == sha256(b""), "PROOF_OTHER_OLD_ROOT")
        elif first == 0:
            need(second_root == sha256(b""), "PROOF_OTHER_ROOT")
        need(first == 0 < second or first_root == second_root, "PROOF_OTHER_OLD_ROOT")
        return
    need(hashes, "PROOF_LENGTH")
    path = list(hashes) if first & (first - 1) else [first_root] + list(hashes)
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    old = new = path[0]
    for beside in path[1:]:
        need(sn, "PROOF_LENGTH")
        if fn & 1 or fn == sn:
            old, new = node(beside, old), node(beside, new)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            new = node(new, beside)
        fn, sn = fn >> 1, sn >> 1
    need(sn == 0, "PROOF_LENGTH")
    need(old == first_root, "PROOF_OTHER_OLD_ROOT")
    need(new == second_root, "PROOF_OTHER_ROOT")


def hexes(values):
    return [bytes.fromhex(value) for value in values]


def judge_inclusion(given, _):
    leaf, root = hexes([given["leaf"], given["root"]])
    check_inclusion(leaf, given["index"], given["size"], hexes(given["hashes"]), root)
    return {}


def judge_consistency(given, _):
    old, root = hexes([given["old_root"], given["root"]])
    check_consistency(given["old_size"], old, given["size"], root, hexes(given["hashes"]))
    return {}


# --- checkpoints ----------------------------------------------------------------------------------


def verify_checkpoint(note, keys):
    malformed = "CHECKPOINT_MALFORMED"
    need(not re.search("[\0-\x09\x0b-\x1f]", note), malformed)
    body, blank, lines = note.rpartition("\n\n")
    need(blank and lines.endswith("\n"), malformed)
    body += "\n"
    signatures = []
    for line in lines[:-1].split("\n"):
        parts = re.fullmatch("\u2014 ([^\\s+]+) (\\S+)", line)
        data = decode(parts[2]) if parts else None
        need(data is not None and len(data) > 4, malformed)
        signatures.append((parts[1], data[:4], data[4:]))
    parts = re.fullmatch("([^\n]+)\n(0|[1-9][0-9]*)\n([^\n]+)\n", body)
    root = decode(parts[3]) if parts else None
    need(root is not None and len(root) == 32, malformed)
    origin, size = parts[1], int(parts[2])
    need(size or root == sha256(b""), malformed)
    signer, revoked = None, False
    for named, hashed, signature in signatures:
        known = [
            key
            for key in keys
            if key["role"] == "checkpoint"
            and named == origin
            and sha256(origin.encode() + b"\n\1" + key["bytes"])[:4] == hashed
        ]
        signed = [key for key in known if is_signed(key["bytes"], body.encode(), signature)]
        need(signed or not known, "SIGNATURE_WRONG")
        counted = [key for key in signed if key["revoked"] is None]
        revoked = revoked or bool(signed and not counted)
        signer = signer or (counted[0]["id"] if counted else None)
    need(signer or not revoked, "KEY_REVOKED")
    need(signer, "SIGNER_UNKNOWN")
    return {"origin": origin, "size": size, "root": root.hex(), "key": signer}


def judge_checkpoint(given, keys):
    return verify_checkpoint(given["note"], keys)


def judge_bundle(given, keys):
    bundle = signed_json(given["text"].encode(), "BUNDLE_MALFORMED")
    need(typed(bundle, "format") == "actum.receipt/1", "BUNDLE_OF_ANOTHER_FORMAT")
    is_proof = fields(index=whole, size=whole, hashes=each(digest), checkpoint=text)
    need("receipt" in bundle and is_proof(bundle.get("proof")), "BUNDLE_MALFORMED")
    told, result, leaf = verify_receipt(bundle["receipt"], keys)
    proof = bundle["proof"]
    log = verify_checkpoint(proof["checkpoint"], keys)
    need(result["intent"]["origin"] == log["origin"], "PROOF_OF_ANOTHER_LOG")
    need(proof["size"] == log["size"], "PROOF_OF_ANOTHER_SIZE")
    need(proof["index"] > result["intent"]["index"], "RECEIPT_BEFORE_INTENT")
    root = bytes.fromhex(log["root"])
    check_inclusion(leaf, proof["index"], proof["size"], hexes(proof["hashes"]), root)
    return {**told, "log": {**log, "index": proof["index"]}}


# --- decisions ------------------------------------------------------------------------------------

DIRECTORIES = ("directory_created", "directory_removed")
OWN_AREAS = (b"agent/agent_outputs/", b"agent/temp/")
DELETED_FILES_MAX, CHANGED_FILES_MAX = 200, 2000
IGNORABLE = "".join(
    f"\\U{first:08x}-\\U{last:08x}"
    for first, last in (
        *((one, one) for one in (0xAD, 0x34F, 0x61C, 0x3164, 0xFEFF, 0xFFA0)),
        *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F)),
        *((0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFFF0, 0xFFF8)),
        *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
    )
)


def folded(name):
    """A name without case, compatibility forms and what is not seen."""
    normal = lambda value: unicodedata.normalize("NFKC", value)
    value = normal(name.decode("utf-8", "surrogateescape")).casefold()
    value = normal(re.sub(f"[{IGNORABLE}]", "", value).casefold())
    return value.encode("utf-8", "surrogateescape")


def as_windows_opens(name):
    return name.split(b":")[0].rstrip(b". ")


def name_pattern(name, form):
    """One name of a rule as a regular expression over bytes."""
    pattern, run = b"", b""
    for piece in re.findall(rb"\\.|.", name, re.DOTALL):
        if piece in (b"*", b"?"):
            anything = b".*" if piece == b"*" else b"(?:[\\x00-\\x7f]|[\\xc0-\\xff][\\x80-\\xbf]*)"
            pattern, run = pattern + re.escape(form(run)) + anything, b""
        else:
            run += piece[-1:]
    return re.compile(pattern + re.escape(form(run)), re.DOTALL)


def covers(rule, path, form=lambda name: name, whole=False):
    """Whether a rule matches a path, or a directory that it is in."""
    below_only = rule.endswith(b"/")
    names = [
        None if name == b"**" else name_pattern(name, form)
        for name in (rule[:-1] if below_only else rule).split(b"/")
    ]
    path = path.split(b"/")

    def speaks(rule, path):
        if not rule:
            return not path if whole else len(path) > 0 if below_only else True
        if rule[0] is None:
            return speaks(rule[1:], path) or (bool(path) and speaks(rule, path[1:]))
        return bool(path) and bool(rule[0].fullmatch(path[0])) and speaks(rule[1:], path[1:])

    return speaks(names, path)


WORK_TREES = ([b".claude", b"worktrees"], [b".codex", b"worktrees"], [b".cursor", b"worktrees"])


def names_of(root):
    return [name for name in root.encode().split(b"/") if name]


def depth_of(root, case):
    """How many names lead to a root that is the workspace's or lies around it."""
    root, own = names_of(root), names_of(case["root"])
    return len(root) if own[: len(root)] == root else None


class Place:
    """The directories around a workspace, and how many of their names lead to each root."""

    def __init__(self, case):
        self.names = names_of(case["root"])
        self.own = len(self.names)
        ends = [at + 2 for at in range(self.own - 1) if self.names[at : at + 2] in WORK_TREES]
        self.unseen = max(ends, default=0)
        depths = [depth_of(root, case) for root in case["enclosing"]]
        self.enclosing = [depth for depth in depths if depth is not None]

    def roots(self, layer, case):
        """Where the rules of a layer count from."""
        if layer["source"] in ("system", "operator"):
            return [*self.enclosing, self.own]
        depth = depth_of(layer["root"], case) if layer["source"] == "enclosing" else None
        return [self.own if depth is None else depth]


def guards(rule, path, place, starts, is_file=False):
    """Whether a rule matches a path in any of its spellings, with the directories around its workspace.

    The empty path is the root of the workspace."""
    names = [*place.names, *(path.split(b"/") if path else ())]
    anywhere = rule.split(b"/")[0] == b"**"
    if anywhere:
        # The match of a rule about files ends in the workspace: not at one of the directories around it.
        starts = [place.unseen]
    small = [folded(name) for name in names]
    forms = ((names, lambda name: name), (small, folded), ([as_windows_opens(name) for name in small], folded))

    def matches(names, form, start):
        if not (anywhere and is_file):
            return covers(rule, b"/".join(names[start:]), form)
        ends = range(place.own + 1, len(names) + 1)
        return any(covers(rule, b"/".join(names[start:end]), form, whole=True) for end in ends)

    return any(matches(names, form, start) for names, form in forms for start in starts)


def within(limit, files, loc):
    fits = lambda count, most: most is None or count <= most
    return fits(files, limit["max_files"]) and fits(loc, limit["max_loc"])


VERDICTS = ("allow", "needs_approval", "deny")
# Order of the gates, version of the rules, and the rules that hold everywhere.
BUILT_IN = json.loads(
    (pathlib.Path(__file__).resolve().parent / "rules" / "built-in.json").read_text("utf-8")
)
SEMANTICS = BUILT_IN["semantics"]
# Kinds of grounds that each gate has for each verdict.
GROUNDS = {
    "protected": {
        "allow": ("not_protected", "excepted"),
        "needs_approval": ("emoji_characters",),
        "deny": ("protected", "shared_permissions", "hidden_characters", "new_state"),
    },
    "scope": {
        "allow": ("in_scope", "restores"),
        "deny": ("scope_denied", "scope_not_allowed", "scope_unknown"),
    },
    "budget": {"allow": ("budget",), "deny": ("budget",)},
    "commands": {
        "allow": ("no_command", "command_rule", "confined"),
        "needs_approval": ("command_rule",),
        "deny": ("command_rule", "no_command_rule", "too_many_commands"),
    },
    "credentials": {
        "allow": ("no_credential", "allowed_credentials"),
        "deny": ("credential", "unscanned"),
    },
    "lease": {
        "allow": ("no_lease", "restores", "lease_allows"),
        "deny": ("lease_required", "lease_denies", "no_lease_block"),
    },
    "tier": {"allow": ("tier",), "needs_approval": ("tier",)},
    "access": {"allow": ("no_access_policies", "restores")},
    "approval": {
        "allow": ("no_approval_needed", "approved"),
        "needs_approval": ("not_approved",),
        "deny": ("approval_rejected",),
    },
}
DECISIONS = {"allow": "allow", "ask": "needs_approval", "deny": "deny"}
COMMANDS_MAX = 1000


def decide(bundle, policy, rules):
    """Verdicts of the gates, of all of them together, and the tier."""
    case = bundle["case"]
    effects = case["change"]
    files = [one for one in effects if one["effect"] not in DIRECTORIES]
    paths = lambda one: [path_bytes(p) for p in (one["path"], one["from"]) if p is not None]
    all_paths = [path for one in effects for path in paths(one)]
    touched = [path for one in files for path in paths(one)]

    def in_scope(path, is_directory, scope, between):
        allow, deny = scope["allow"], scope["deny"]
        path = b"/".join([*between, path])
        if any(covers(path_bytes(rule), path) for rule in deny):
            return False
        if allow is None or any(covers(path_bytes(rule), path) for rule in allow):
            return True
        return is_directory and any(
            b"/".join([*between, file]).startswith(path + b"/") for file in touched
        )

    groups = [one for one in rules["protected"] if set(one["profiles"]) & set(policy["profiles"])]
    place = Place(case)
    around = [*place.enclosing, place.own]
    rules_of = lambda one: [(rule.encode(), around, kind == "files")
                            for kind in ("directories", "files") for rule in one[kind]]
    own = [(path_bytes(rule), place.roots(layer, case), False)
           for layer in policy["layers"] for rule in layer["protected"]]
    protects = lambda rules, path: any(guards(rule, path, place, starts, is_file)
                                       for rule, starts, is_file in rules)
    excepted = {path_bytes(path) for path in policy.get("except", ())}
    if policy["profiles"] != ["interactive"] or any(protects(rules_of(one), b"") for one in groups):
        excepted = set()
    free = not any(protects(own, path) for path in all_paths)
    free &= not any(protects(rules_of(one), path) for one in groups for path in all_paths
                    if not (one["exceptions"] and path in excepted))
    linked = [path_bytes(path) for path in case["linked"]]
    shared = ("mode", "attributes")
    free &= not any(one["effect"] in shared and path_bytes(one["path"]) in linked for one in effects)
    new = ("created", "renamed", "directory_created")
    names = [path_bytes(one["path"]) for one in effects if one["effect"] in new]
    free &= case["work"] != "apply" or not any(map(is_deceptive, names))
    emoji = case["work"] == "apply" and any(map(has_emoji, names))
    restores = is_free_undo(case)
    layers = [] if restores else policy["layers"]
    scopes = [(case["scope"], place.own)]
    scopes += [(layer["scope"], root) for layer in layers for root in place.roots(layer, case)]
    scope = all(
        in_scope(path, one["effect"] in DIRECTORIES, scope, place.names[root:])
        for scope, root in scopes
        for one in effects
        for path in paths(one)
    )
    loc = sum(one["added"] + one["removed"] for one in files)
    budgets = [case["budget"], *(layer["budget"] for layer in layers)]
    budget = all(within(limit, len(files), loc) for limit in budgets)
    allowed = set(policy["credentials"])
    secret = any(one["finding"]["digest"] not in allowed for one in case["found"])
    credentials = "deny" if secret or case["unscanned"] else "allow"
    tier = tier_of(case, policy, rules, files, paths, place, rules_of)
    # Access policies are written in Cedar, which nobody knows here.
    need(policy["access"] is None or restores, "REPLAY_ENGINE_UNSUPPORTED")
    word = lambda passes: "allow" if passes else "deny"
    asked = "needs_approval" if tier >= "R3" else "allow"
    protected = "needs_approval" if free and emoji else word(free)
    said = {
        "protected": protected,
        "scope": word(scope),
        "budget": word(budget),
        "commands": commands_of(case["commands"], case["confined"], policy["layers"]),
        "credentials": credentials,
        "lease": word(lease_problem(case, policy) is None),
        "tier": asked,
        "access": "allow",
    }
    strictest = max(said.values(), key=VERDICTS.index)
    approval = said["approval"] = approval_of(bundle, strictest)
    verdict = approval if strictest == "needs_approval" else max(strictest, approval, key=VERDICTS.index)
    return [[gate, said[gate]] for gate in rules["gates"]], verdict, tier


def fits(rule, argv, same_program):
    """Whether a command begins as a rule says or, where that is exact, is so."""
    places = [place if isinstance(place, list) else [place] for place in rule["argv"]]
    if len(argv) < len(places) or rule.get("exact") and len(argv) > len(places):
        return False
    same = lambda number: same_program if number == 0 else lambda one, other: one == other
    return all(
        any(same(number)(word, argv[number]) for word in words) for number, words in enumerate(places)
    )


def covers_command(rule, argv):
    """Whether a rule speaks of a command as it is written."""

    def is_barred(word, option):
        name = word.split("=")[0]
        if option.startswith("--"):
            return len(name) > 2 and option.startswith(name)
        if len(option) == 2:
            return word.startswith("-") and not word.startswith("--") and option[1] in word[1:]
        return name == option

    rest = argv[len(rule["argv"]) :]
    barred = any(is_barred(word, option) for word in rest for option in rule.get("barred", []))
    return fits(rule, argv, lambda one, other: one == other) and not barred


def restrains(rule, argv):
    """Whether a rule that asks or denies means a command, whatever path its program is called by."""
    name = lambda program: program.rsplit("/", 1)[-1].encode().lower()  # Of bytes: ASCII alone.
    same = lambda one, other: name(one) == name(other)
    return rule["decision"] != "allow" and fits(rule, argv, same)


def commands_of(commands, confined, layers):
    """What no rule that counts in full speaks of is denied; else the strictest rule decides. What is confined
    is only held back by rules."""
    if len(commands) + len(confined) > COMMANDS_MAX:
        return "deny"
    full = [rule for layer in layers for rule in layer["commands"]["rules"]]
    every = full + [rule for layer in layers for rule in layer["commands"]["narrowing"]]
    verdict = "allow"
    for argv in commands:
        covering = [rule for rule in full if covers_command(rule, argv)]
        held = covering + [rule for rule in every if restrains(rule, argv)]
        said = [DECISIONS[rule["decision"]] for rule in held] if covering else ["deny"]
        verdict = max([verdict, *said], key=VERDICTS.index)
    for argv in confined:
        said = [DECISIONS[rule["decision"]] for rule in every if restrains(rule, argv)]
        verdict = max([verdict, *said], key=VERDICTS.index)
    return verdict


DOORS = {"library": "apply", "command line": "apply", "exec": "exec", "action": "action", "task plan": "task"}


def lease_problem(case, policy):
    """The kind of the ground on which the gate of leases denies, the block and the term; nothing where it allows."""
    lease, door = case.get("lease"), case["door"]
    if lease is None:
        required = [layer.get("lease", []) for layer in policy["layers"]]
        needs = door == "file task" or any(
            DOORS[door] in one if door in DOORS else bool(one) for one in required
        )
        return ("lease_required", None, None) if needs and not is_free_undo(case) else None
    if not lease["blocks"]:
        return ("no_lease_block", None, None)
    root, directories = names_of(case["root"]), []
    for number, block in enumerate(lease["blocks"], 1):
        directories = block["terms"].get("base_directories", directories)
        problem = block_problem(case, lease, block, directories, root, number == 1)
        if problem is not None:
            return ("lease_denies", number, problem)
    return None


def block_problem(case, lease, block, directories, root, is_first):
    """The first term of a block that the request does not meet."""
    terms, quotas = block["terms"], block["terms"].get("quotas", {})
    agent, asked = terms.get("agent"), case["actor"]["agent"]
    limits, time = lease.get("limits", {}), case["time"]
    files = [one for one in case["change"] if one["effect"] not in DIRECTORIES]
    runs = bool(case["commands"] or case["confined"]) or case["door"] == "file task"
    used = {
        "files": len(files),
        "space_bytes": sum(one["after"]["size"] for one in files if one["after"] is not None),
    }
    over = [
        name
        for name in ("files", "space_bytes", "memory_bytes", "storage_bytes", "wall_ms")
        if name in quotas
        and (name in used or runs)
        and (used[name] if name in used else limits.get(name, quotas[name] + 1)) > quotas[name]
    ]

    def placed(effect):
        for one in (effect["path"], effect["from"]):
            if one is None:
                continue
            names = [*root, *path_bytes(one).split(b"/")]
            starts = [names_of(directory) for directory in directories]
            below = [names[len(start):] for start in starts
                     if names[: len(start)] == start and len(names) > len(start)]
            if not below:
                yield "outside_directories"
            elif "scope" in terms and effect["effect"] not in DIRECTORIES:
                allow, deny = terms["scope"]["allow"], terms["scope"]["deny"]
                inside = lambda one: not any(covers(path_bytes(rule), one) for rule in deny) and (
                    allow is None or any(covers(path_bytes(rule), one) for rule in allow)
                )
                if not any(inside(b"/".join(one)) for one in below):
                    yield "outside_scope"

    limited = "base_directories" in terms or "scope" in terms
    outside = next((kind for one in case["change"] if limited for kind in placed(one)), None)
    problems = [
        ("not_granted", is_first and not lease["granted"]),
        ("revoked", block["revoked"]),
        ("other_tenant", terms.get("tenant", case["tenant"]) != case["tenant"]),
        ("other_agent", agent is not None and (asked is None or not f"{asked}/".startswith(f"{agent}/"))),
        ("other_task", "task" in terms and terms["task"] != lease["task"]),
        ("capability", "capabilities" in terms and lease["capability"] not in terms["capabilities"]),
        ("not_yet_valid", "not_before" in terms and time < terms["not_before"]),
        ("expired", "expires" in terms and time >= terms["expires"]),
        ("used_up", "uses" in terms and block["used"] >= terms["uses"]),
        (outside, outside is not None),
        ("quota", bool(over)),
    ]
    return next((kind for kind, fails in problems if fails), None)


def approval_of(bundle, strictest):
    case, approved = bundle["case"], bundle["case"]["approved"]
    if approved is None:
        return "needs_approval" if strictest == "needs_approval" else "allow"
    change = tagged("actum/change/v1", canonical(case["change"]).encode()).hex()
    now = {"plan": case["plan"], "limits": case["limits"], "change": change}
    now["policy"] = bundle["policy"]
    counts = approved["bound"] == now and case["time"] <= approved["expires"]
    return "allow" if counts else "deny"


def is_free_undo(case):
    """An undo that restores, of a run that is the actor's own and that no person approved."""
    undone, actor = case["undone"], case["actor"]
    if case["undoes"] is None or not case["restores"] or undone is None or undone["approved"]:
        return False
    same_user = all(undone["actor"][key] == actor[key] for key in ("uid", "user"))
    return same_user and actor["agent"] in (None, undone["actor"]["agent"])


def tier_of(case, policy, rules, files, paths, place, rules_of):
    effects = case["change"]
    if not effects:
        found = ["R0"]
    elif is_free_undo(case):
        found = ["R2"]
    else:
        own = lambda path: any(covers(area, path) for area in OWN_AREAS)
        found = ["R1" if all(own(path) for one in effects for path in paths(one)) else "R2"]
        deleted = [one for one in files if one["effect"] == "deleted"]
        if len(deleted) > DELETED_FILES_MAX or len(files) > CHANGED_FILES_MAX \
                or case["linked"] or case.get("opened"):
            found.append("R3")
        for rule in rules["tiers"]:
            spoken_of = [rule["tier"] for one in files for path in paths(one)
                         if any(guards(text, path, place, starts, is_file)
                                for text, starts, is_file in rules_of(rule))]
            found += spoken_of
        for layer, rule in ((layer, rule) for layer in policy["layers"] for rule in layer["tiers"]):
            named, starts = rule.get("effects") or None, place.roots(layer, case)
            found += [rule["tier"] for one in effects for path in paths(one)
                      if (named is None or one["effect"] in named)
                      and any(guards(path_bytes(text), path, place, starts) for text in rule["paths"])]
    return max([*found, case["declared"] or "R0"])


def is_ground_of(one, case, tier, policy):
    """Whether the recorded ground of a gate can be one of its verdict, and names what is in the case."""
    gate, verdict, ground = one["gate"], one["verdict"], one["ground"]
    kind = ground["kind"] if isinstance(ground, dict) else None
    if kind not in GROUNDS[gate].get(verdict, ()):
        return False
    files = [effect for effect in case["change"] if effect["effect"] not in DIRECTORIES]
    paths = [path for effect in case["change"] for path in (effect["path"], effect["from"])]
    if gate == "tier":
        reason = ground["reason"]
        return ground["tier"] == tier and ("path" not in reason or reason["path"] in paths)
    if gate == "budget":
        loc = sum(effect["added"] + effect["removed"] for effect in files)
        return (ground["files"], ground["loc"]) == (len(files), loc)
    if gate == "protected":
        return "path" not in ground or ground["path"] in paths
    if kind == "credential":
        found = [(found["path"], found["finding"]["digest"]) for found in case["found"]]
        return (ground["path"], ground["digest"]) in found
    if kind in ("command_rule", "no_command_rule", "confined"):
        argv = ground["command"]["argv"]
        length = len(argv) + ground["command"].get("omitted", 0)
        lines = case["confined"] if kind == "confined" else case["commands"] + case["confined"]
        return any(line[:len(argv)] == argv and len(line) == length for line in lines)
    if gate == "lease":
        if kind == "lease_allows":
            return ground["lease"] == case["lease"]["blocks"][-1]["id"]
        if kind == "lease_denies":
            number = ground["block"]
            found = (kind, number, ground["problem"]["kind"])
            named = ground["lease"] == case["lease"]["blocks"][number - 1]["id"]
            return named and found == lease_problem(case, policy)
        return kind not in ("lease_required", "no_lease_block") or lease_problem(case, policy)[0] == kind
    if gate == "approval" and case["approved"] is not None:
        return ground["plan"] == case["approved"]["approval"]["plan"]
    return True


def judge_decision(given, _):
    data, record, policy = given["bundle"].encode(), given["record"], given["policy"].encode()
    need(sha256(data).hex() == record["bundle"], "REPLAY_REF_HASH_MISMATCH")
    unsupported, mismatch = "REPLAY_ENGINE_UNSUPPORTED", "REPLAY_DECISION_MISMATCH"
    bundle = signed_json(data, unsupported)
    need(record["semantics"] == bundle["semantics"] == SEMANTICS, unsupported)
    names = {"format", "semantics", "policy", "case"}
    need(bundle["format"] == "actum.bundle/6" and set(bundle) == names, unsupported)
    need(canonical(bundle).encode() == data, unsupported)
    need(sha256(policy).hex() == bundle["policy"], "REPLAY_REF_HASH_MISMATCH")
    policy = signed_json(policy, unsupported)
    need(policy["format"] == "actum.policy/3", unsupported)
    said, verdict, tier = decide(bundle, policy, BUILT_IN)
    need([[one["gate"], one["verdict"]] for one in record["gates"]] == said, mismatch)
    need(record["tier"] == tier, mismatch)
    for one in record["gates"]:
        need(is_ground_of(one, bundle["case"], tier, policy), mismatch)
    decision = {"semantics": SEMANTICS, "verdict": verdict, "tier": tier, "gates": record["gates"]}
    bound = tagged(f"actum/decision/v{SEMANTICS}", sha256(data), canonical(decision).encode())
    need(bound.hex() == record["digest"], mismatch)
    return {"verdict": verdict, "tier": tier}


def judge_canonical(given, _):
    data = given["text"].encode() if "text" in given else bytes.fromhex(given["hex"])
    return {"canonical": canonical(read_json(data))}


JUDGES = {
    "canonical": judge_canonical,
    "decisions": judge_decision,
    "inclusion": judge_inclusion,
    "consistency": judge_consistency,
    "checkpoints": judge_checkpoint,
    "receipts": judge_receipt,
    "answers": judge_answer,
    "changes": judge_change,
    "bundles": judge_bundle,
    "rotations": judge_rotation,
}


def judged(judge, case, keyrings):
    keys = keyrings.get(case["input"].get("keyring"), [])
    try:
        return {"expect": "accept", "result": judge(case["input"], keys)}
    except Refused as refused:
        return {"expect": "refuse", "reason": str(refused)}


def main():
    here = pathlib.Path(__file__).resolve().parent
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    count, wrong = 0, 0
    seen = set()
    for file in sorted(directory.glob("*.json")):
        vectors = json.loads(file.read_text(encoding="utf-8"))
        judge = JUDGES[vectors["kind"]]
        seen.add(vectors["kind"])
        keyrings = {name: keys_of(keyring) for name, keyring in vectors["keyrings"].items()}
        verdicts = {"accept": 0, "refuse": 0}
        for case in vectors["cases"]:
            found = judged(judge, case, keyrings)
            expected = {key: value for key, value in case.items() if key not in ("name", "input")}
            count += 1
            verdicts[case["expect"]] += 1
            if found != expected:
                wrong += 1
                print(f"{file.name}: {case['name']}: expected {expected}, found {found}")
        accepted, refused = verdicts["accept"], verdicts["refuse"]
        print(f"{file.name}: {accepted} to accept, {refused} to refuse")
    missing = sorted(set(JUDGES) - seen)
    if missing:
        print(f"no vectors in {directory}: {', '.join(missing)}")
    print(f"{count} vectors, {wrong} disagreements")
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
