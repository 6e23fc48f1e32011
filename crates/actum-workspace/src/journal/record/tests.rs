//! Encoded records are decoded unchanged, and malformed records are rejected.

use actum_edit::Splice;

use super::*;
use crate::journal::back::Splices;

fn sample() -> Intent {
    let attributes = Attributes {
        mode: FileMode::REGULAR,
        user: 7,
        group: 8,
        xattrs: vec![(b"user.a".to_vec(), b"\0\xff".to_vec())],
    };
    let file = |bytes: &[u8], body| {
        Image::File(FileImage {
            attributes: attributes.clone(),
            size: bytes.len() as u64,
            digest: Digest::of(bytes),
            inode: 42,
            body,
        })
    };
    let entry = |path: &str, pre, post, back| Entry {
        path: RelPath::new(path).unwrap(),
        pre,
        post,
        extent: Extent::Lines(Lines { added: 1, removed: 2 }),
        edited_from: None,
        back,
        directory_changed: (path != "d").then_some(Time(-7)),
    };
    let renamed = Entry {
        extent: Extent::Bytes { before: 4, after: 3 },
        edited_from: Some(2),
        ..entry("n", Image::Absent, file(b"new", Body::Unrecorded), None)
    };
    Intent {
        run: RunId::from_random(99),
        kind: RunKind::Undo(RunId::from_random(98)),
        time: Time(-5),
        epoch: Epoch([3; 16]),
        label: "a label".into(),
        entries: vec![
            entry("d", Image::Absent, Image::Directory(attributes.clone()), None),
            entry(
                "d/a",
                file(b"abc", Body::Back),
                file(b"abd", Body::Inline(Arc::new(b"abd".to_vec()))),
                Some(Back::Splices(Splices::raw(Splice::between(b"abd", b"abc")))),
            ),
            entry("k", file(b"kept", Body::Kept), Image::Absent, None),
            entry("m", Image::Absent, file(b"kept", Body::Moved(2)), None),
            renamed,
            entry("t", Image::Absent, file(b"kept", Body::Taken(RunId::from_random(9), 3)), None),
            entry("u", file(b"old", Body::Kept), file(b"new", Body::Kept), Some(Back::Blocks)),
        ],
    }
}

fn encode(intent: &Intent) -> Vec<u8> {
    let (encoded, bodies) = intent.encode();
    [Record::head(&encoded).to_vec(), encoded, bodies.concat()].concat()
}

#[test]
fn intent_record_round_trips() {
    let intent = sample();
    assert_eq!(Record::decode(&encode(&intent)).unwrap(), Record::Intent(intent));
}

#[test]
fn edited_rename_with_an_invalid_origin_is_rejected() {
    for origin in [0, 3, 4, 5] {
        let mut intent = sample();
        intent.entries[4].edited_from = Some(origin);
        assert!(Record::decode(&encode(&intent)).is_err(), "{origin}");
    }
    for entry in [0, 2, 3] {
        let mut intent = sample();
        intent.entries[entry].edited_from = Some(1);
        assert!(Record::decode(&encode(&intent)).is_err(), "{entry}");
    }
}

#[test]
fn truncated_or_extended_record_is_rejected() {
    let bytes = encode(&sample());
    for length in 0..bytes.len() {
        assert!(Record::decode(&bytes[..length]).is_err(), "{length} bytes");
    }
    assert!(Record::decode(&[bytes, vec![0]].concat()).is_err());
}
