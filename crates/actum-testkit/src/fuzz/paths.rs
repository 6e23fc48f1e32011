//! Fuzz target that compares path validation with a simple oracle. Paths that could escape the workspace or reach
//! `.git` or `.actum` must be rejected.

use actum_core::RelPath;

pub(super) fn run(input: &[u8]) {
    let found = RelPath::new(input);
    assert_eq!(found.is_ok(), may_be_used(input), "{input:?}");
    match found {
        Err(error) => assert!(!error.to_string().chars().any(char::is_control)),
        Ok(path) => {
            assert_eq!(path.as_bytes(), input);
            let parts: Vec<_> = path.components().collect();
            assert_eq!(parts.join(&b'/'), input);
            assert_eq!(parts.last().copied(), Some(path.name()));
            if let Some(parent) = path.parent() {
                assert!(path.starts_with(&parent) && !parent.starts_with(&path));
                assert_eq!([parent.as_bytes(), path.name()].join(&b'/'), input);
            }
        }
    }
}

fn may_be_used(path: &[u8]) -> bool {
    let reserved = [".git", ".actum"];
    let part_is_fine = |part: &[u8]| {
        let lower = part.to_ascii_lowercase();
        (1..=255).contains(&part.len())
            && part != b"."
            && part != b".."
            && !reserved.iter().any(|name| name.as_bytes() == lower)
    };
    path.len() <= 4095 && !path.contains(&0) && path.split(|byte| *byte == b'/').all(part_is_fine)
}
