//! Writes a change as git writes it, so that git, patch(1) and actum can read it.

use actum_core::text::is_text;
use actum_core::{FileMode, RelPath};

use crate::edit::BlobId;
use crate::{LineHunk, line_diff};

/// A file on one side of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side<'a> {
    /// Path of the file.
    pub path: &'a RelPath,
    /// Its permission bits, of which git knows whether the owner may execute it.
    pub mode: FileMode,
    /// Its bytes.
    pub content: &'a [u8],
}

/// Part of a diff that a piece of text belongs to, so that it can be shown as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Lines about the file as a whole.
    Header,
    /// Line with the place of a hunk.
    HunkHeader,
    /// A line on both sides.
    Context,
    /// A line that goes.
    Removed,
    /// A line that comes.
    Added,
    /// Binary contents, as only programs read them.
    Binary,
}

/// Writes the section of one file, piece by piece; each piece ends with a newline. Nothing is written
/// where both sides are the same. `None` stands for a side without file.
pub fn section(old: Option<Side<'_>>, new: Option<Side<'_>>, mut out: impl FnMut(Part, &[u8])) {
    let is_link = |side: Option<Side<'_>>| side.is_some_and(|side| side.mode.is_link());
    if old.is_some() && new.is_some() && is_link(old) != is_link(new) {
        // As in git, for which a link is another kind of file.
        of_one_kind(old, None, &mut out);
        return of_one_kind(None, new, &mut out);
    }
    of_one_kind(old, new, &mut out);
}

/// Writes the section of a file that is a link on both sides, or on neither.
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
    // A target is always written as a line.
    let is_text = is_text(contents(old)) && is_text(contents(new));
    let is_binary = !(is_text || any.mode.is_link());
    // Only this line shows that both sides are links.
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

/// Writes the hunks between two contents, taken as lines whatever their bytes are.
pub fn hunks(old: &[u8], new: &[u8], mut out: impl FnMut(Part, &[u8])) {
    for hunk in line_diff::hunks(old, new, line_diff::CONTEXT_LINES) {
        self::hunk(&hunk, &mut out);
    }
}

/// A piece of a file on both sides, to be shown where the rest is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The bytes before.
    pub old: &'a [u8],
    /// The bytes after.
    pub new: &'a [u8],
    /// The numbers of its first line before and after, if they are known.
    pub lines: Option<(u64, u64)>,
}

/// Writes the section of one file of which only pieces are known, and its modes before and after. Where
/// a line number is not known either, the section is one for which every reader refuses the diff.
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
                    out(Part::HunkHeader, refused("the lines are not known any more").as_bytes());
                    body(&hunk, &mut out);
                }
            }
        }
    }
}

/// Writes the section of a file that cannot be shown, and `why`. Every reader refuses the diff for it,
/// so that none does half of it.
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

/// Writes the head of an invalid hunk, with the reason: it promises lines, and what follows is no
/// line.
fn refused(why: &str) -> String {
    format!("@@ -1 +1 @@\n# {why}\n")
}

/// Writes one hunk.
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
            Some(b'\\') => part, // the mark belongs to the line before it
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

/// A name as git writes it: in quotes with escapes where it holds what a reader could take for
/// something else (quote.c in git's source).
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

/// A name in a `---` or `+++` line: a tab ends one that holds a space, for patch(1).
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
    fn a_change_is_written_as_git_writes_it() {
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
    fn a_diff_with_a_part_that_is_not_known_is_refused_whole() {
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
        fn what_is_written_is_read_as_the_same_change(
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
        fn whole_files_are_written_as_made_and_removed(content in "[ab\n]{0,8}") {
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
