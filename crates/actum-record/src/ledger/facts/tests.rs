//! Compares the fast path for entry facts with the slow path, which serves as the reference.

use actum_core::path_name::PathName;
use actum_core::{FileMode, FileState, RiskTier, canonical};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::ledger::{Actor, Approval, Bound, Isolation, JudgedPlan, Publisher, TenantId};
use crate::receipt::{
    DecisionRecord, EffectKind, GateRecord, PathEffect, RecordedGround, Rollback, RollbackFiles,
    RunResult, SettledBy, Statement,
};
use crate::signer::{KeyId, KeyRole, PublicKey};

mod actions;
mod agents;
mod alerts;
mod leases;

const KINDS: [EntryKind; 2] = [EntryKind::EffectStarted, EntryKind::EffectDone];

fn run(bits: u64) -> RunId {
    RunId::from_random(bits.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn actor(number: u64) -> Actor {
    let agent = (!number.is_multiple_of(3)).then(|| "agent \"7\"".to_owned());
    Actor { user: "ada".to_owned(), uid: 1000, agent }
}

fn decision(number: u64) -> DecisionRecord {
    let gate = |gate: &str| GateRecord {
        gate: gate.to_owned(),
        verdict: "allow".to_owned(),
        ground: RecordedGround(match gate {
            // Before version 7 of the decision rules, a ground was recorded as a sentence.
            "budget" => "within\nlimits".into(),
            _ => json!({
                "kind": "scope_not_allowed", "more": 2, "path": { "hex": "ff" }, "rules": ["a\nb"]
            }),
        }),
    };
    DecisionRecord {
        semantics: 1,
        bundle: Digest::of(&number.to_le_bytes()),
        digest: Digest::of(b"decision"),
        tier: RiskTier::ALL[(number % 5) as usize],
        gates: ["scope", "budget"].into_iter().map(gate).take((number % 3) as usize).collect(),
    }
}

fn label(number: u64) -> String {
    ["", "mend the build", "zwei Wörter: \t„ä“ \\o/ 𝄞", "a \"word\"\r\n"][(number % 4) as usize]
        .to_owned()
}

fn started(number: u64) -> EffectStarted {
    EffectStarted {
        format: EffectStarted::FORMAT.to_owned(),
        time: Timestamp::from_micros(1_795_291_387_000_042 + number.cast_signed()),
        tenant: TenantId::default(),
        workspace: WorkspaceId::from_random(number),
        root: "/home/ada/project".to_owned(),
        run: run(number),
        place: number,
        action: (number % 4 == 3).then(|| run(number + 2)),
        undoes: number.is_multiple_of(2).then(|| run(number + 1)),
        request: (number % 3 == 1).then(|| format!("T-{number}/step#2").parse().unwrap()),
        attempt: 2,
        actor: actor(number),
        door: "cli".to_owned(),
        label: label(number),
        plan: Digest::of(b"plan"),
        change: Digest::of(b"change"),
        policy: Digest::of(b"policy"),
        decision: decision(number),
        approval: (number % 5 == 4).then(|| approval(number)),
        commands: Default::default(),
        queries: Vec::new(),
        external: Vec::new(),
        published_by: [Publisher::Actum, Publisher::Client][usize::from(number % 7 == 6)],
        rollback_files: (number % 3 == 2).then(|| rollback_files(number)),
        lease: None,
        engine: "actum 0.1.0".to_owned(),
    }
}

fn rollback_files(number: u64) -> RollbackFiles {
    RollbackFiles {
        manifest: Digest::of(b"manifest"),
        outcomes: number.is_multiple_of(2).then(|| Digest::of(b"outcomes")),
        script: Digest::of(b"script"),
    }
}

fn approval(number: u64) -> Approval {
    Approval {
        plan: run(number + 2),
        entry: EntryRef {
            origin: "actum/sample/default".to_owned(),
            index: 7,
            leaf: Digest::of(b"leaf"),
        },
        key: KeyId::new(KeyRole::Approval, &PublicKey([4; 32])),
        by: actor(0),
        isolation: Isolation::Passphrase,
    }
}

fn result(number: u64) -> RunResult {
    let intent = started(number);
    let facts = || FileState { sha256: Digest::of(b"file"), size: 12, mode: FileMode::REGULAR };
    let effect = |name: &str| PathEffect {
        path: PathName(actum_core::RelPath::new(name.as_bytes()).unwrap()),
        effect: EffectKind::Modified,
        from: None,
        before: Some(facts()),
        after: Some(facts()),
        added: 1,
        removed: 2,
    };
    RunResult {
        external: Vec::new(),
        tenant: intent.tenant,
        workspace: intent.workspace,
        run: intent.run,
        undoes: intent.undoes,
        status: Status::ALL[(number % 5) as usize],
        reason: None,
        plan: intent.plan,
        change: intent.change,
        paths: ["src/lib.rs", "a \"b\"", "é"]
            .into_iter()
            .map(effect)
            .take((number % 4) as usize)
            .collect(),
        policy: intent.policy,
        decision: intent.decision,
        approval: intent.approval,
        lease: None,
        commands: Vec::new(),
        sandbox: None,
        verification: Vec::new(),
        queries: intent.queries,
        published_by: intent.published_by,
        rollback: Some(Rollback { undo: intent.run }),
        rollback_files: intent.rollback_files,
        request: intent.request,
        attempt: intent.attempt,
        actor: intent.actor,
        door: intent.door,
        label: intent.label,
        started: intent.time,
        ended: intent.time,
        settled: intent.time,
        intent: EntryRef {
            origin: "actum/sample/default".to_owned(),
            index: number * 2 + 1,
            leaf: Digest::of(b"leaf"),
        },
        settled_by: SettledBy::Run,
        engine: intent.engine,
    }
}

/// Wraps the payload of a receipt in an envelope, in the form in which actum writes it.
fn envelope(payload: &[u8]) -> Vec<u8> {
    let signature = json!({ "keyid": "0000000000000000", "sig": STANDARD.encode([7; 64]) });
    let envelope = json!({
        "payload": STANDARD.encode(payload),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [signature],
    });
    canonical::to_vec(&envelope).unwrap()
}

fn payload(number: u64) -> Vec<u8> {
    canonical::to_vec(&Statement::new(result(number))).unwrap()
}

/// Returns ordinary entries of both kinds, with different combinations of optional members.
fn ordinary() -> Vec<(EntryKind, Vec<u8>)> {
    let pair = |number| {
        let started = canonical::to_vec(&started(number)).unwrap();
        [(EntryKind::EffectStarted, started), (EntryKind::EffectDone, envelope(&payload(number)))]
    };
    (0..12).flat_map(pair).collect()
}

fn assert_the_same(kind: EntryKind, body: &[u8]) {
    let body_text = || String::from_utf8_lossy(body).into_owned();
    assert_eq!(
        EntryFacts::parse(kind, body),
        EntryFacts::at_length(kind, body),
        "{kind:?} {}",
        body_text()
    );
}

/// Asserts that both paths agree on the bytes, interpreted as an entry of each kind and as the payload of a receipt.
fn assert_the_same_in_all_ways(body: &[u8]) {
    KINDS.into_iter().for_each(|kind| assert_the_same(kind, body));
    assert_the_same(EntryKind::EffectDone, &envelope(body));
}

#[test]
fn ordinary_entries_take_the_fast_path() {
    for (kind, body) in ordinary() {
        let facts = EntryFacts::at_length(kind, &body).unwrap();
        // Runs that needed an approval are left to the slow path.
        let is_ordinary = facts.plan.is_none();
        assert_eq!(quick::parse(kind, &body), is_ordinary.then_some(facts));
    }
}

fn nothing(kind: EntryKind) -> EntryFacts {
    EntryFacts::nothing(kind, started(3).time)
}

fn judged(number: u64) -> JudgedPlan {
    let EffectStarted { run: id, tenant, workspace, root, undoes, request, actor, .. } =
        started(number);
    let EffectStarted { door, label, plan, change, policy, decision, engine, .. } = started(number);
    let bound = Bound { plan, limits: Digest::of(b"limits"), change, policy };
    JudgedPlan {
        id,
        tenant,
        workspace,
        root,
        undoes,
        request,
        actor,
        door,
        label,
        bound,
        decision,
        lease: None,
        engine,
    }
}

/// AA-5: the facts of an entry about a plan name the plan and the entry that it follows.
#[test]
fn plan_entry_facts_name_the_plan_and_the_preceding_entry() {
    let plan = judged(3);
    let time = started(3).time;
    let blobs = vec![plan.decision.bundle, plan.bound.policy];
    let about = |kind| EntryFacts { workspace: Some(plan.workspace), ..nothing(kind) };
    let refused = PlanRefused { format: PlanRefused::FORMAT.to_owned(), time, plan: plan.clone() };
    let body = canonical::to_vec(&refused).unwrap();
    let expected = EntryFacts { blobs: blobs.clone(), ..about(EntryKind::PlanRefused) };
    assert_eq!(EntryFacts::parse(EntryKind::PlanRefused, &body).unwrap(), expected);
    let queued = PlanQueued {
        format: PlanQueued::FORMAT.to_owned(),
        time,
        expires: time,
        plan: plan.clone(),
        input: Digest::of(b"input"),
        earlier: None,
    };
    let body = canonical::to_vec(&queued).unwrap();
    let judged = Some(plan.bound.judged());
    let expected =
        EntryFacts { plan: Some(plan.id), judged, blobs, ..about(EntryKind::PlanQueued) };
    assert_eq!(EntryFacts::parse(EntryKind::PlanQueued, &body).unwrap(), expected);
    // A queued plan is not accepted as a refused one.
    assert!(EntryFacts::parse(EntryKind::PlanRefused, &body).is_err());
    for answer in Answer::ALL {
        let entry = approval(3).entry;
        let answered = PlanAnswered {
            format: PlanAnswered::FORMAT.to_owned(),
            time,
            tenant: plan.tenant.clone(),
            workspace: plan.workspace,
            plan: plan.id,
            queued: entry.clone(),
            answer,
            reason: Some("not on a Friday".to_owned()),
            bound: plan.bound,
            expires: time,
            by: actor(0),
            isolation: Isolation::SameUser,
        };
        let payload = canonical::to_vec(&answered).unwrap();
        let envelope = json!({
            "payload": STANDARD.encode(payload),
            "payloadType": PlanAnswered::PAYLOAD_TYPE,
            "signatures": [],
        });
        let body = canonical::to_vec(&envelope).unwrap();
        let expected = EntryFacts {
            plan: Some(plan.id),
            judged,
            answer: Some(answer),
            follows: Some((entry.index, entry.leaf)),
            ..about(EntryKind::PlanAnswered)
        };
        assert_eq!(EntryFacts::parse(EntryKind::PlanAnswered, &body).unwrap(), expected);
    }
}

#[test]
fn receipts_with_unknown_members_take_the_fast_path() {
    let mut statement = serde_json::to_value(Statement::new(result(3))).unwrap();
    statement["later"] = json!({ "a": [1, true, { "b": null }, [], {}], "c": "d" });
    statement["predicate"]["later"] = json!([[["x"]]]);
    let body = envelope(&canonical::to_vec(&statement).unwrap());
    let facts = quick::parse(EntryKind::EffectDone, &body);
    assert_eq!(facts, EntryFacts::at_length(EntryKind::EffectDone, &body).ok());
    assert!(facts.is_some());
}

/// AEC-11: both paths give the same result if any single byte of an entry is changed.
#[test]
fn fast_and_slow_paths_agree_on_any_changed_byte() {
    let others = b"\0\t\n \"\\,:{}[]09afgzAF-+.eutn/\x7f\x80\xc3\xff";
    let bodies = ordinary().into_iter().map(|(_, body)| body);
    for body in bodies.skip(2).step_by(5).take(4).chain([payload(1), payload(4)]) {
        let is_payload = body.starts_with(br#"{"_type"#);
        let is_receipt = body.starts_with(br#"{"payload"#);
        for at in 0..body.len() {
            // Try fewer replacements in the middle of the base64 text, where all positions are equivalent.
            let some =
                if is_receipt && at > 400 && at + 400 < body.len() { 3 } else { others.len() };
            let bits = (0..8).map(|bit| body[at] ^ (1 << bit));
            for other in bits.chain(others.iter().copied().take(some)) {
                let mut changed = body.clone();
                changed[at] = other;
                match (is_payload, is_receipt) {
                    (true, _) => assert_the_same(EntryKind::EffectDone, &envelope(&changed)),
                    (_, true) => assert_the_same(EntryKind::EffectDone, &changed),
                    _ => assert_the_same(EntryKind::EffectStarted, &changed),
                }
            }
        }
    }
}

#[test]
fn fast_and_slow_paths_agree_on_truncated_or_extended_entries() {
    for body in [canonical::to_vec(&started(1)).unwrap(), envelope(&payload(1)), payload(2)] {
        for end in 0..body.len() {
            assert_the_same_in_all_ways(&body[..end]);
            assert_the_same_in_all_ways(&body[end..]);
            let mut shorter = body.clone();
            shorter.remove(end);
            assert_the_same_in_all_ways(&shorter);
            let mut longer = body.clone();
            longer.insert(end, body[end]);
            assert_the_same_in_all_ways(&longer);
        }
        for more in ["}", " ", "\n", ",", "{}", "\0"] {
            assert_the_same_in_all_ways(&[&body, more.as_bytes()].concat());
            assert_the_same_in_all_ways(&[more.as_bytes(), &body].concat());
        }
    }
}

/// D-4: both paths agree if a member is missing, duplicated, moved, unknown or of the wrong type. An intent must have
/// exactly the known members, but a receipt may have more.
#[test]
fn fast_and_slow_paths_agree_on_malformed_members() {
    let values = [
        "null",
        "0",
        "-1",
        "1.5",
        "1e3",
        "01",
        "4294967296",
        "18446744073709551615",
        "18446744073709551616",
        "9999999999999999999",
        "99999999999999999999",
        "true",
        "\"\"",
        "\"x\"",
        "[]",
        "{}",
        "[\"a\"]",
        "{\"a\":1}",
        "\"\\u0061\"",
        "\"\\ud800\"",
        "\"succeeded\"",
        "{\"succeeded\":null}",
    ];
    let documents =
        [serde_json::to_value(started(1)), serde_json::to_value(Statement::new(result(1)))];
    for document in documents.map(Result::unwrap) {
        assert_the_same_in_all_ways(&serde_json::to_vec(&document).unwrap());
        assert_the_same_in_all_ways(&serde_json::to_vec_pretty(&document).unwrap());
        for pointer in pointers(&document) {
            for value in values {
                // Insert a unique marker, which is then replaced with raw JSON text.
                let mut marked = document.clone();
                *marked.pointer_mut(&pointer).unwrap() = json!("@@");
                let text = String::from_utf8(canonical::to_vec(&marked).unwrap()).unwrap();
                assert_the_same_in_all_ways(text.replace("\"@@\"", value).as_bytes());
            }
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let mut without = document.clone();
            if let Some(Value::Object(parent)) = without.pointer_mut(parent) {
                let value = parent.remove(name).unwrap();
                let rest = canonical::to_vec(&without).unwrap();
                assert_the_same_in_all_ways(&rest);
                let member = format!("\"{name}\":{value}");
                // Insert the member at the start and at the end of the top-level object, where it may be
                // a duplicate or unknown.
                for body in [rest, canonical::to_vec(&document).unwrap()] {
                    let text = String::from_utf8(body).unwrap();
                    let inner = members_of(&text);
                    assert_the_same_in_all_ways(format!("{{{member},{inner}}}").as_bytes());
                    assert_the_same_in_all_ways(format!("{{{inner},{member}}}").as_bytes());
                    let first = name.chars().next().unwrap();
                    let escape = format!("\"\\u{:04x}", u32::from(first));
                    let escaped = member.replacen(&format!("\"{first}"), &escape, 1);
                    assert_the_same_in_all_ways(format!("{{{inner},{escaped}}}").as_bytes());
                }
            }
        }
    }
}

/// Returns the text of an object without its braces.
fn members_of(text: &str) -> &str {
    text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap()
}

/// Returns a JSON Pointer to each nested value.
fn pointers(value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let below = |(name, value): (String, &Value)| {
        let deeper = pointers(value).into_iter().map(|pointer| format!("/{name}{pointer}"));
        std::iter::once(format!("/{name}")).chain(deeper.collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    children.into_iter().flat_map(below).collect()
}

#[test]
fn fast_and_slow_paths_agree_on_deeply_nested_entries() {
    let text = String::from_utf8(payload(1)).unwrap();
    let inner = members_of(&text);
    for depth in (0..40).chain([126, 127, 128, 129, 500]) {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert_the_same_in_all_ways(format!("{{{inner},\"z\":{deep}}}").as_bytes());
            let torn = format!("{}1", open.repeat(depth));
            assert_the_same_in_all_ways(format!("{{{inner},\"z\":{torn}}}").as_bytes());
        }
    }
}

#[test]
fn fast_and_slow_paths_agree_on_noncanonical_base64() {
    for character in 0..=0xff {
        for place in 0..4 {
            let mut body = envelope(b"{\"a\":1}");
            body[12 + place] = character;
            assert_the_same(EntryKind::EffectDone, &body);
        }
    }
    for length in 0..10 {
        let body = String::from_utf8(envelope(&vec![b' '; length])).unwrap();
        assert_the_same(EntryKind::EffectDone, body.as_bytes());
        for (from, to) in
            [("=", ""), ("=\"", "\""), ("g", "h"), ("A=", "B="), ("IC", "I\\nC"), ("I", "_")]
        {
            assert_the_same(EntryKind::EffectDone, body.replace(from, to).as_bytes());
        }
    }
}

proptest! {
    #[test]
    fn fast_and_slow_paths_agree_on_random_changes(
        number in 0u64..12,
        is_payload: bool,
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), 0usize..6, prop::sample::select(vec![
                "", "\"", "\\", "\\n", "\\u0041", "é", "\u{1}", "0", "9", "null", ",", ":", "{", "}", "[]", " ",
                "\"a\":1,", "a", "A", "-", ".5", "e1",
            ])),
            1..4,
        ),
    ) {
        let bodies = if is_payload { vec![payload(number)] } else {
            vec![canonical::to_vec(&started(number)).unwrap(), envelope(&payload(number))]
        };
        for mut body in bodies {
            for (at, removed, put) in &changes {
                let at = at.index(body.len());
                let end = (at + removed).min(body.len());
                body.splice(at..end, put.bytes());
            }
            assert_the_same_in_all_ways(&body);
        }
    }
}
