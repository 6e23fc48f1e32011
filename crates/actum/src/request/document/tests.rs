//! Tests for writing, reading and rejecting request documents.

use actum_action::PlanEnvelope;
use actum_core::{Budget, Digest, FileMode, PathRule, RelPath, RunId, Scope};
use actum_edit::edit::json_patch::{JsonText, PatchOperation, Pointer};
use actum_edit::edit::{Chunk, ChunkLine, JsonPatch, Occurrences, Replacement};
use actum_edit::hunk::Side;
use actum_edit::{Edit, EmptyParents, LineHunk, ModeChange, Operation};
use actum_gate::CommandLine;
use actum_workspace::{ExistingFiles, HardLinks, HunkPlaces, LaterEdits};

use super::*;
use crate::request::{Phase, RequestedAction, Which, limits_digest};

fn path(text: impl AsRef<[u8]>) -> RelPath {
    RelPath::new(text).unwrap()
}

fn operations() -> Vec<Operation> {
    let hunk = LineHunk {
        old_start: 1,
        old_lines: 1,
        new_start: 1,
        new_lines: 1,
        body: b"-a\n+\xff\n".to_vec(),
        at_end: true,
    };
    let chunk = Chunk {
        anchors: vec![b"fn a()".to_vec()],
        lines: vec![ChunkLine { side: Side::Old, bytes: b"b".to_vec() }],
        at_end: false,
    };
    let (old, new) = (b"a".to_vec(), b"b".to_vec());
    let replacement = Replacement { old, new, occurrences: Occurrences::All };
    let value = JsonText::new("{\"b\": 1.0}").unwrap();
    let add = PatchOperation::Add { path: Pointer::new("/a").unwrap(), value };
    let edit = |edit| Operation::Edit { path: path("e"), edit, expected: None };
    let (content, expected) = (b"\0\xff".to_vec(), Some(Digest::of(b"")));
    let mode = Some(ModeChange::Exact(FileMode::PRIVATE));
    vec![
        Operation::Patch { path: path(b"p\xff"), hunks: vec![hunk], expected },
        edit(Edit::Replace(replacement)),
        edit(Edit::Chunks(vec![chunk])),
        edit(Edit::Json(JsonPatch { operations: vec![add] })),
        Operation::Create { path: path("c"), content, mode },
        Operation::Delete { path: path("d"), expected: None, parents: EmptyParents::Remove },
        Operation::Chmod { path: path("m"), mode: ModeChange::Executable(true) },
        Operation::ChmodDirectory {
            path: path("q"),
            mode: FileMode::PRIVATE_DIRECTORY,
            expected: FileMode::EXECUTABLE,
        },
        Operation::MakeDirectory { path: path("n"), mode: Some(FileMode::PRIVATE_DIRECTORY) },
        Operation::RemoveDirectory { path: path("r") },
    ]
}

/// Returns a request in which every field has a value.
fn full() -> Request {
    let limits = Limits {
        scope: Scope {
            allow: Some(vec![PathRule::new("src/").unwrap()]),
            deny: vec![PathRule::new(b"x\xff").unwrap()],
        },
        budget: Budget { max_files: Some(7), max_loc: None },
        hard_links: HardLinks::Refuse,
        existing_files: ExistingFiles::Replace,
        hunk_places: HunkPlaces::Searched,
        later_edits: LaterEdits::Keep,
    };
    let actor = Actor { user: "ann".to_owned(), uid: 1000, agent: Some("robot".to_owned()) };
    let request = Request::apply(operations()).within(limits).labelled("tidy up\n");
    let request = request.asked_by(actor).keyed("T-17".parse().unwrap());
    let action = Some(Box::new(action()));
    Request {
        declared: Some(RiskTier::R3),
        entry_point: EntryPoint::CommandLine,
        action,
        ..request
    }
}

/// Returns an action in which every field has a value.
fn action() -> RequestedAction {
    let plan = br#"{"actionId":"a:1","actionType":"run_command","riskTier":"R3","confidence":0.5,
        "input":{"command":"true"},"verification":{"required":true,"commands":["true"]},
        "scope":{"allowedDirs":["src"]}}"#;
    RequestedAction {
        plan: PlanEnvelope::read(plan).unwrap(),
        phase: Phase::HasRun,
        commands: vec![CommandLine::parse("true").unwrap()],
        package: Some(Digest::of(b"a package")),
        output: Some(serde_json::json!({ "n": 1 })),
        agreed: Some(RunId::from_random(1)),
    }
}

fn document(request: &Request) -> String {
    String::from_utf8(request.to_document().unwrap()).unwrap()
}

fn problem(text: &str) -> String {
    Request::read_document(text.as_bytes()).unwrap_err().to_string()
}

/// AA-5
#[test]
fn request_document_round_trips() {
    let run = Which::Run("0123456789ab".parse().unwrap());
    for request in [
        full(),
        Request::apply(Vec::new()),
        Request::undo(Which::Newest),
        Request::redo(Which::Newest),
        Request::undo(run),
        Request::redo(run),
    ] {
        let bytes = request.to_document().unwrap();
        let read = Request::read_document(&bytes).unwrap();
        assert_eq!(read, request);
        assert_eq!(read.work.digest(), request.work.digest());
        assert_eq!(limits_digest(&read.limits), limits_digest(&request.limits));
        assert_eq!(read.to_document().unwrap(), bytes);
    }
}

#[test]
fn wait_flag_is_not_part_of_the_request_document() {
    let waiting = Request { wait: true, ..full() };
    assert_eq!(waiting.to_document().unwrap(), full().to_document().unwrap());
}

#[test]
fn request_is_written_as_canonical_json() {
    assert_eq!(
        document(&Request::undo(Which::Newest)),
        "{\"actor\":{\"agent\":null,\"uid\":65534,\"user\":\"unknown\"},\"declared\":null,\
         \"door\":\"library\",\"format\":\"actum.request/2\",\"key\":null,\"label\":null,\
         \"limits\":{\"budget\":{\"max_files\":null,\"max_loc\":null},\"existing_files\":\"keep\",\
         \"hard_links\":\"break\",\"hunk_places\":\"stated\",\"later_edits\":\"refuse\",\
         \"scope\":{\"allow\":null,\"deny\":[]}},\"work\":{\"undo\":\"newest\"}}"
    );
    let create = Operation::Create { path: path("a"), content: b"\xff".to_vec(), mode: None };
    let text =
        r#""work":{"apply":[{"create":{"content":{"base64":"/w=="},"mode":null,"path":"a"}}]}}"#;
    let written = document(&Request::apply(vec![create]));
    assert!(written.ends_with(text), "{written}");
}

/// AA-5: a queued plan that was altered, even by one bit, no longer matches its approval.
#[test]
fn document_with_a_flipped_bit_is_rejected_or_a_different_request() {
    let request = full();
    let mut bytes = request.to_document().unwrap();
    let mut read = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            if let Ok(other) = Request::read_document(&bytes) {
                assert_ne!(other, request, "{}", String::from_utf8_lossy(&bytes));
                assert_eq!(other.to_document().unwrap(), bytes);
                read += 1;
            }
            bytes[at] ^= 1 << bit;
        }
        assert!(Request::read_document(&bytes[..at]).is_err());
    }
    assert!(read > 0);
}

/// D-4
#[test]
fn invalid_request_document_is_rejected_with_the_reason() {
    let text = document(&Request::undo(Which::Newest));
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        problem(&text.replace(from, to))
    };
    assert_eq!(
        with("request/2", "request/3"),
        "the request has the format `actum.request/3`, but this program only supports `actum.request/2`"
    );
    assert_eq!(
        problem("{}"),
        "the request has the format ``, but this program only supports `actum.request/2`"
    );
    assert_eq!(
        with("\"key\":null", "\"key\":null,\"keys\":null"),
        "the request cannot be read: unknown field `keys`, expected one of `format`, `work`, \
         `limits`, `label`, `actor`, `door`, `key`, `declared`, `commands`, `action`, `task`, `lease`, \
         `file_task`, `umask`, `sql_rows`"
    );
    assert_eq!(with("\"key\":null,", ""), "the request cannot be read: missing field `key`");
    for (from, to) in [
        (",\"key\"", ", \"key\""),
        ("\"agent\":null,", ""),
        ("\"agent\":null,", "\"agent\":null,\"host\":1,"),
        ("newest", "newes\\u0074"),
        ("\"newest\"", "{\"newest\":null}"),
    ] {
        assert_eq!(with(from, to), "the request is not in canonical form", "{to}");
    }
    assert_eq!(
        with("65534", "65534.0"),
        "the request cannot be read: invalid type: floating point `65534.0`, expected u32"
    );
    assert_eq!(
        with("\"door\":\"library\"", "\"door\":\"library\",\"door\":\"cli\""),
        "the request cannot be read: duplicate name `door` in an object"
    );
    assert_eq!(
        with("\"max_loc\":null", "\"max_loc\":9007199254740992"),
        "the request cannot be read: the number `9007199254740992` is outside ±(2^53 − 1), so \
         parsers may round it; write it as a string"
    );
    let deep = with("\"newest\"", &format!("{}1{}", "[".repeat(200), "]".repeat(200)));
    assert!(deep.ends_with("arrays and objects are nested more than 127 levels deep"), "{deep}");
}

#[test]
fn limits_are_written_up_to_the_largest_readable_number() {
    let with = |max_loc| {
        let budget = Budget { max_files: None, max_loc: Some(max_loc) };
        let request = Request::undo(Which::Newest).within(Limits { budget, ..Limits::default() });
        let bytes = request.to_document()?;
        assert_eq!(Request::read_document(&bytes).unwrap(), request);
        Ok(())
    };
    assert_eq!(with(canonical::COUNT_MAX), Ok(()));
    for beyond in [canonical::COUNT_MAX + 1, u64::MAX] {
        assert_eq!(with(beyond), Err(CanonicalError::Number { number: beyond.to_string() }));
    }
}

/// A request that could be written but not read back would stay pending forever.
#[test]
fn request_with_more_values_than_can_be_read_is_not_written() {
    let with = |lines: usize| {
        let line = ChunkLine { side: Side::New, bytes: Vec::new() };
        let chunk = Chunk { anchors: Vec::new(), lines: vec![line; lines], at_end: true };
        let edit = Edit::Chunks(vec![chunk]);
        Request::apply(vec![Operation::Edit { path: path("a"), edit, expected: None }])
    };
    // Each line of the chunk is one value. In the rest of the document, each `[`, `{` and `,` starts a value.
    let around = document(&with(1)).matches(['[', '{', ',']).count();
    let most = with(json::VALUES_MAX - around);
    assert_eq!(Request::read_document(&most.to_document().unwrap()).unwrap(), most);
    let error = with(json::VALUES_MAX - around + 1).to_document().unwrap_err().to_string();
    assert!(error.ends_with("the text has more than 2000000 values"), "{error}");
}
