//! Writes a change as a diff in the format of git, which git, patch(1) and actum can apply.

use actum_core::text::is_text;
use actum_core::{FileMode, RelPath};

use crate::edit::BlobId;
use crate::{LineHunk, line_diff};

/// File on the old or new side of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side<'a> {
    /// Path of the file on this side.
    pub path: &'a RelPath,
    /// Permission bits of the file. A git diff contains only whether the owner may execute it.
    pub mode: FileMode,
    /// Content of the file.
    pub content: &'a [u8],
}

/// Kind of a piece of diff text, which determines how to display the piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Header lines of a section, such as the file names and modes.
    Header,
    /// Hunk header, which contains the line numbers.
    HunkHeader,
    /// Line that exists on both sides.
    Context,
    /// Line that is removed.
    Removed,
    /// Line that is added.
    Added,
    /// Binary patch, which is not readable by humans.
    Binary,
}

/// Writes the section for one file. A side is `None` if the file does not exist there, and nothing is written if both sides
/// are equal. Each piece passed to `out` ends with a newline.
pub fn section(old: Option<Side<'_>>, new: Option<Side<'_>>, mut out: impl FnMut(Part, &[u8])) {
    let is_link = |side: Option<Side<'_>>| side.is_some_and(|side| side.mode.is_link());
    if old.is_some() && new.is_some() && is_link(old) != is_link(new) {
        // Like git, write a deletion and a creation if a file becomes a symbolic link, or the reverse.
        of_one_kind(old, None, &mut out);
        return of_one_kind(None, new, &mut out);
    }
    of_one_kind(old, new, &mut out);
}

/// Writes the section for a path whose existing sides are either all symbolic links or all regular files.
fn of_one_kind(old: Option<Side<'_>>, new: Option<Side<'_>>, out: &mut impl FnMut(Part, &[u8])) {
    let Some(any) = old.or(new) else { return };
    let (old_path, new_path) = (old.unwrap_or(any).path, new.or(old).unwrap_or(any).path);
    let (old_name, new_name) = (name("a/", old_path), name("b/", new_path));
    let mut header = format!("diff --git {old_name} {new_name}\n");
    let same_content = contents(old) == contents(new);
    match (old, new) {
        (None, Some(new)) => line(&mut header, "new file mode", mode(new.mode)),
        (Some(old), None) => line(&mut header, "deleted file mode", mode(old.mode)),
        (Some(old), Some(new)) => {
            let same_mode = mode(old.mode) == mode(new.mode);
            if same_content && same_mode && old.path == new.path {
                return;
            }
            if !same_mode {
                line(&mut header, "old mode", mode(old.mode));
                line(&mut header, "new mode", mode(new.mode));
            }
            if old.path != new.path {
                line(&mut header, "rename from", &name("", old.path));
                line(&mut header, "rename to", &name("", new.path));
            }
        }
        (None, None) => return,
    }
    // The target of a link is written as a line of text, even if it contains binary data.
    let is_text = is_text(contents(old)) && is_text(contents(new));
    let is_binary = !(is_text || any.mode.is_link());
    // Only the mode in the `index` line shows that both sides are links.
    let is_retargeted = old.is_some() && new.is_some() && any.mode.is_link();
    if (is_binary || is_retargeted) && !same_content {
        let id = |side: Option<Side<'_>>| match side {
            Some(side) => BlobId::NONE.of_same_kind(side.content),
            None => BlobId::NONE,
        };
        let mode = if is_retargeted { " 120000" } else { "" };
        header.push_str(&format!("index {}..{}{mode}\n", id(old), id(new)));
    }
    out(Part::Header, header.as_bytes());
    if same_content {
        return;
    }
    if is_binary {
        return out(Part::Binary, &super::binary::write(contents(old), contents(new)));
    }
    let old_name = old.map_or("/dev/null".to_owned(), |_| old_name);
    let new_name = new.map_or("/dev/null".to_owned(), |_| new_name);
    out(Part::Header, format!("--- {}\n+++ {}\n", tabbed(old_name), tabbed(new_name)).as_bytes());
    hunks(contents(old), contents(new), out);
}

/// Writes the hunks that turn `old` into `new`, treating both as text even if they are binary.
pub fn hunks(old: &[u8], new: &[u8], mut out: impl FnMut(Part, &[u8])) {
    for hunk in line_diff::hunks(old, new, line_diff::CONTEXT_LINES) {
        self::hunk(&hunk, &mut out);
    }
}

/// Excerpt of a changed file, for a file whose complete content is no longer available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Bytes before the change.
    pub old: &'a [u8],
    /// Bytes after the change.
    pub new: &'a [u8],
    /// Number of the first line before and after the change, if known.
    pub lines: Option<(u64, u64)>,
}

/// Writes the section for a file from excerpts, with the file modes before and after the change. If the line numbers of an
/// excerpt are unknown, its hunk header is deliberately invalid, so that every parser rejects the diff.
pub fn pieces(
    path: &RelPath,
    modes: (FileMode, FileMode),
    pieces: &[Piece<'_>],
    mut out: impl FnMut(Part, &[u8]),
) {
    let (old_name, new_name) = (name("a/", path), name("b/", path));
    let mut header = format!("diff --git {old_name} {new_name}\n");
    let (old, new) = (mode(modes.0), mode(modes.1));
    if old != new {
        line(&mut header, "old mode", old);
        line(&mut header, "new mode", new);
    }
    header.push_str(&format!("--- {}\n+++ {}\n", tabbed(old_name), tabbed(new_name)));
    out(Part::Header, header.as_bytes());
    for Piece { old, new, lines } in pieces {
        let shift = |start: u32, first: u64| {
            u32::try_from(u64::from(start).saturating_add(first).saturating_sub(1)).unwrap_or(start)
        };
        for mut hunk in line_diff::hunks(old, new, line_diff::CONTEXT_LINES) {
            match lines {
                Some((old, new)) => {
                    hunk.old_start = shift(hunk.old_start, *old);
                    hunk.new_start = shift(hunk.new_start, *new);
                    self::hunk(&hunk, &mut out);
                }
                None => {
                    out(Part::HunkHeader, refused("the line numbers are unknown").as_bytes());
                    body(&hunk, &mut out);
                }
            }
        }
    }
}

/// Writes the section for a file whose change is unavailable, with the reason `why`. The hunk header is deliberately invalid,
/// so that every parser rejects the whole diff instead of applying half of it.
pub fn unknown(from: &RelPath, path: &RelPath, why: &str, mut out: impl FnMut(Part, &[u8])) {
    let (old_name, new_name) = (name("a/", from), name("b/", path));
    let mut header = format!("diff --git {old_name} {new_name}\n");
    if from != path {
        line(&mut header, "rename from", &name("", from));
        line(&mut header, "rename to", &name("", path));
    }
    header.push_str(&format!("--- {}\n+++ {}\n", tabbed(old_name), tabbed(new_name)));
    out(Part::Header, header.as_bytes());
    out(Part::HunkHeader, refused(why).as_bytes());
}

/// Returns an invalid hunk: a hunk header, and a comment with the reason instead of the lines that the header requires.
fn refused(why: &str) -> String {
    format!("@@ -1 +1 @@\n# {why}\n")
}

/// Writes a hunk with its header.
pub fn hunk(hunk: &LineHunk, out: &mut impl FnMut(Part, &[u8])) {
    let range = |start: u32, lines: u32| match lines {
        1 => start.to_string(),
        _ => format!("{start},{lines}"),
    };
    let old = range(hunk.old_start, hunk.old_lines);
    let new = range(hunk.new_start, hunk.new_lines);
    out(Part::HunkHeader, format!("@@ -{old} +{new} @@\n").as_bytes());
    body(hunk, out);
}

fn body(hunk: &LineHunk, out: &mut impl FnMut(Part, &[u8])) {
    let mut part = Part::Context;
    for line in hunk.body.split_inclusive(|&b| b == b'\n') {
        part = match line.first() {
            Some(b'-') => Part::Removed,
            Some(b'+') => Part::Added,
            Some(b'\\') => part, // `\ No newline at end of file` belongs to the previous line
            Some(_) | None => Part::Context,
        };
        out(part, line);
    }
}

fn contents(side: Option<Side<'_>>) -> &[u8] {
    side.map_or(b"", |side| side.content)
}

fn line(header: &mut String, keyword: &str, value: &str) {
    header.push_str(&format!("{keyword} {value}\n"));
}

fn mode(mode: FileMode) -> &'static str {
    match mode {
        FileMode::LINK => "120000",
        mode if mode.bits() & 0o100 == 0 => "100644",
        _ => "100755",
    }
}

/// Formats a file name like git. A name with special characters is quoted and escaped (`quote.c` in the source of git).
fn name(prefix: &str, path: &RelPath) -> String {
    let bytes = path.as_bytes();
    let is_plain = |byte: &u8| (0x20..0x7f).contains(byte) && !b"\"\\".contains(byte);
    if let (true, Ok(text)) = (bytes.iter().all(is_plain), std::str::from_utf8(bytes)) {
        return format!("{prefix}{text}");
    }
    let mut quoted = format!("\"{prefix}");
    for &byte in bytes {
        match byte {
            b'\t' => quoted.push_str("\\t"),
            b'\n' => quoted.push_str("\\n"),
            b'\r' => quoted.push_str("\\r"),
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            byte if is_plain(&byte) => quoted.push(char::from(byte)),
            byte => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

/// Formats a name for a `---` or `+++` line. If the name contains a space, a tab marks its end for patch(1).
fn tabbed(name: String) -> String {
    if name.contains(' ') && !name.starts_with('"') { name + "\t" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EmptyParents, ModeChange, Operation, format};
    use proptest::prelude::*;

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    fn written(old: Option<Side<'_>>, new: Option<Side<'_>>) -> String {
        let mut text = Vec::new();
        section(old, new, |_, piece| text.extend_from_slice(piece));
        String::from_utf8(text).unwrap()
    }

    fn side<'a>(path: &'a RelPath, mode: FileMode, content: &'a str) -> Option<Side<'a>> {
        Some(Side { path, mode, content: content.as_bytes() })
    }

    /// FO-10
    #[test]
    fn changes_are_written_in_git_diff_format() {
        let (a, b) = (path("a b"), path("d\u{e9}"));
        let old = side(&a, FileMode::REGULAR, "one\ntwo\n");
        assert_eq!(
            written(old, side(&a, FileMode::EXECUTABLE, "one\n2")),
            "diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n--- a/a b\t\n+++ b/a b\t\n\
             @@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n"
        );
        assert_eq!(
            written(old, side(&b, FileMode::REGULAR, "one\ntwo\n")),
            "diff --git a/a b \"b/d\\303\\251\"\nrename from a b\nrename to \"d\\303\\251\"\n"
        );
        assert_eq!(
            written(None, side(&b, FileMode::REGULAR, "")),
            "diff --git \"a/d\\303\\251\" \"b/d\\303\\251\"\nnew file mode 100644\n"
        );
        let binary = written(side(&b, FileMode::REGULAR, "x\0"), None);
        let header = "diff --git \"a/d\\303\\251\" \"b/d\\303\\251\"\ndeleted file mode 100644\n\
             index 7a002a81f265a581625acf3db7b14ceb6c40b808..0000000000000000000000000000000000000000\n\
             GIT binary patch\nliteral 0\n";
        assert!(binary.starts_with(header), "{binary}");
        assert_eq!(written(old, old), "");
    }

    /// FO-10
    #[test]
    fn diff_with_an_unknown_part_is_rejected_entirely() {
        let (a, b) = (path("a"), path("b"));
        let sound = written(None, side(&a, FileMode::REGULAR, "one\n"));
        let modes = (FileMode::REGULAR, FileMode::EXECUTABLE);
        let piece = |lines| Piece { old: b"x\n1\n", new: b"x\n2\n", lines };
        type Out<'a> = &'a mut dyn FnMut(Part, &[u8]);
        let text = |write: &dyn Fn(Out<'_>)| {
            let mut text = sound.clone().into_bytes();
            write(&mut |_, piece| text.extend_from_slice(piece));
            text
        };
        let unknown = text(&|out| unknown(&a, &b, "it is gone", out));
        let unplaced = text(&|out| pieces(&b, modes, &[piece(Some((4, 5))), piece(None)], out));
        for text in [unknown, unplaced] {
            assert!(format::git_diff::parse(&text).is_err(), "{}", String::from_utf8_lossy(&text));
        }
        let placed = text(&|out| pieces(&b, modes, &[piece(Some((4, 5)))], out));
        let operations = format::git_diff::parse(&placed).unwrap();
        assert_eq!(operations.len(), 3, "the new file, the mode and the lines");
        assert!(String::from_utf8(placed).unwrap().contains("@@ -4,2 +5,2 @@\n"));
    }

    proptest! {
        /// FO-10
        #[test]
        fn written_diffs_parse_to_the_same_change(
            old in "[ab\r\n]{0,12}", new in "[ab\r\n]{0,12}", name in "[a-z\"\\\\ \u{e9}\t]{1,5}",
            executable in any::<bool>(),
        ) {
            let path = path(&name);
            let mode = if executable { FileMode::EXECUTABLE } else { FileMode::REGULAR };
            let text = written(side(&path, FileMode::REGULAR, &old), side(&path, mode, &new));
            if text.is_empty() {
                prop_assert_eq!((old, executable), (new, false));
                return Ok(());
            }
            let operations = format::git_diff::parse(text.as_bytes()).unwrap();
            let mut content = old.clone().into_bytes();
            let mut bit = false;
            for operation in operations {
                if let Operation::Patch { hunks, .. } = operation {
                    let mut patched = Vec::new();
                    let mut patcher = crate::hunk::Patcher::new(&hunks).unwrap();
                    patcher.feed(&content, |b| patched.extend_from_slice(b)).unwrap();
                    patcher.finish(|b| patched.extend_from_slice(b)).unwrap();
                    content = patched;
                } else {
                    let mode = ModeChange::Executable(true);
                    prop_assert_eq!(operation, Operation::Chmod { path: path.clone(), mode });
                    bit = true;
                }
            }
            prop_assert_eq!((content, bit), (new.into_bytes(), executable));
        }

        /// FO-10
        #[test]
        fn whole_files_round_trip_as_creations_and_deletions(content in "[ab\n]{0,8}") {
            let path = path("d/f");
            let file = side(&path, FileMode::REGULAR, &content);
            let made = format::git_diff::parse(written(None, file).as_bytes()).unwrap();
            let bytes = content.clone().into_bytes();
            let create = Operation::Create { path: path.clone(), content: bytes, mode: None };
            prop_assert_eq!(made, vec![create]);
            let gone = format::git_diff::parse(written(file, None).as_bytes()).unwrap();
            let expected = Some(actum_core::Digest::of(content.as_bytes()));
            let parents = EmptyParents::Remove;
            prop_assert_eq!(gone, vec![Operation::Delete { path, expected, parents }]);
        }
    }
}
