//! Errors of a diff that is refused.

use std::fmt;

use actum_core::RelPath;
use actum_core::place::Excerpt;

use super::binary::BinaryProblem;

/// Problem of a diff.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffProblem {
    /// The input changes no file.
    #[error(
        "the input is no diff: it has neither a `diff --git` line nor a `--- ` line followed by \
         a `+++ ` line"
    )]
    NoSection,
    /// The input is the diff of a merge.
    #[error(
        "a combined diff cannot be applied, since it describes a merge; make the diff against \
         one parent"
    )]
    Combined,
    /// The diff leaves out a file in conflict, or a submodule.
    #[error("`{found}` stands for a change that the diff leaves out; make the diff without it")]
    LeftOut {
        /// Line that stands for it.
        found: Excerpt,
    },
    /// The input has another change beside the diff.
    #[error(
        "`{found}` is a change in another format, beside a diff; make each an input of its own"
    )]
    Mixed {
        /// The line.
        found: Excerpt,
    },
    /// The diff is part of a mail whose text is encoded.
    #[error("the mail is encoded by `{found}`, so its lines are not those of the diff; decode it")]
    Encoded {
        /// Header line with the encoding.
        found: Excerpt,
    },
    /// The diff changes a binary file without its content.
    #[error(
        "the content of a binary file is left out: `{found}`; make the diff with `git diff \
         --binary`"
    )]
    Binary {
        /// Line that stands for it.
        found: Excerpt,
    },
    /// A binary patch is not sound.
    #[error(transparent)]
    BinaryPatch(BinaryProblem),
    /// A file becomes a symbolic link in one section.
    #[error(
        "mode `{mode}` is a symbolic link, which git makes of a file in two sections: one that deletes, one that creates"
    )]
    LinkMode {
        /// The mode.
        mode: Excerpt,
    },
    /// The diff has only a part of the target of a symbolic link.
    #[error(
        "`{path}` is a symbolic link, of which the targets before and after have to be whole and without a newline"
    )]
    LinkInPart {
        /// The link.
        path: RelPath,
    },
    /// The diff changes a submodule.
    #[error(
        "mode `{mode}` is a submodule, and only regular files and symbolic links can be changed"
    )]
    Submodule {
        /// The mode.
        mode: Excerpt,
    },
    /// A mode is not one that git gives to files.
    #[error("`{mode}` is no mode of a file; git knows 100644, 100755 and 120000")]
    UnknownMode {
        /// The mode.
        mode: Excerpt,
    },
    /// The last line has no newline though it counts.
    #[error("the input ends inside `{found}`; give the whole diff, with a newline at its end")]
    CutOff {
        /// The line.
        found: Excerpt,
    },
    /// A header line ends in CRLF.
    #[error(
        "the line ends with CRLF, so the line ends of the diff were converted after it was made; \
         give it as it was made"
    )]
    CarriageReturn,
    /// A name in quotes does not end.
    #[error("the quoted name `{name}` has no closing quote")]
    Unclosed {
        /// The name.
        name: Excerpt,
    },
    /// A name in quotes has an escape that git does not write.
    #[error("the quoted name `{name}` has an escape that is none of git's")]
    Escape {
        /// The name.
        name: Excerpt,
    },
    /// Something follows a name.
    #[error("`{found}` follows the name")]
    AfterName {
        /// Text behind it.
        found: Excerpt,
    },
    /// The `diff --git` line does not name one file twice, and it is no rename or copy.
    #[error(
        "it is unclear which file is changed: the line does not name one file twice, as \
         `a/PATH b/PATH`, and the section says neither `rename from` nor `copy from`"
    )]
    NotOneFile,
    /// The two names of a plain section differ.
    #[error(
        "it is unclear which file is changed: the names are `{old}` and `{new}`; write them as \
         `a/PATH` and `b/PATH`"
    )]
    NamesDiffer {
        /// The name before.
        old: Excerpt,
        /// The name after.
        new: Excerpt,
    },
    /// Two lines of a section name different files.
    #[error("the line names `{found}`, but the lines before it make it `{expected}`")]
    WrongName {
        /// The name that follows from the other lines.
        expected: Excerpt,
        /// The name in this line.
        found: Excerpt,
    },
    /// The `diff --git` line names other files than its section.
    #[error("the line names other files than `{from}` and `{to}`, which the section speaks of")]
    WrongHeader {
        /// The file before.
        from: RelPath,
        /// The file after.
        to: RelPath,
    },
    /// Both names are `/dev/null`.
    #[error("both names are `/dev/null`, so no file is changed")]
    NoName,
    /// A header line is there twice.
    #[error("a second `{field}` line in one section")]
    Repeated {
        /// Beginning of the line.
        field: &'static str,
    },
    /// A header line promises another that is missing.
    #[error("the section has `{has}` but no `{lacks}`")]
    Lacks {
        /// Line that exists.
        has: &'static str,
        /// Line that is missing.
        lacks: &'static str,
    },
    /// Two header lines exclude each other.
    #[error("the section has both `{first}` and `{second}`")]
    Contradiction {
        /// One line.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A section changes nothing.
    #[error("the section of `{path}` changes nothing; complete it or leave it out")]
    ChangesNothing {
        /// The file.
        path: RelPath,
    },
    /// A rename or copy leads to where it starts.
    #[error("`{path}` is renamed or copied to itself")]
    ToItself {
        /// The file.
        path: RelPath,
    },
    /// The header says that the content changes, but there are no hunks.
    #[error(
        "the header says that the content of `{path}` changes, but the section has no hunks; \
         give the whole diff"
    )]
    ContentMissing {
        /// The file.
        path: RelPath,
    },
    /// The lines that name a file are followed by no hunk.
    #[error("no hunk follows the names of the section: found {found}")]
    NoHunks {
        /// Next line.
        found: Found,
    },
    /// A section that makes or removes a file is not one hunk of the right kind.
    #[error("the section of `{path}` must be exactly one hunk `{form}`")]
    WholeFile {
        /// The file.
        path: RelPath,
        /// The only form of hunk header there may be.
        form: &'static str,
    },
    /// A hunk is in no section.
    #[error("the hunk `{found}` belongs to no file; put `--- ` and `+++ ` lines before it")]
    HunkWithoutFile {
        /// Its header.
        found: Excerpt,
    },
    /// A hunk header is malformed.
    #[error("the hunk header `{found}` is not of the form `@@ -START[,COUNT] +START[,COUNT] @@`")]
    HunkHeader {
        /// The header.
        found: Excerpt,
    },
    /// A number in a hunk header is too large.
    #[error("the hunk header `{found}` has a number over 4294967295")]
    HunkNumber {
        /// The header.
        found: Excerpt,
    },
    /// A hunk covers no lines.
    #[error("the hunk `{found}` covers no lines")]
    HunkEmpty {
        /// Its header.
        found: Excerpt,
    },
    /// A hunk has fewer lines than its header says.
    #[error("the hunk ends before its {old} old and {new} new lines are there: found {found}")]
    HunkEndsEarly {
        /// Old lines by its header.
        old: u32,
        /// New lines by its header.
        new: u32,
        /// Line in its place.
        found: Found,
    },
    /// A hunk has more lines than its header says.
    #[error("the hunk goes on after its {old} old and {new} new lines: found `{found}`")]
    HunkGoesOn {
        /// Old lines by its header.
        old: u32,
        /// New lines by its header.
        new: u32,
        /// The first line too many.
        found: Excerpt,
    },
    /// A line is not one of a hunk.
    #[error("a line of a hunk starts with neither ` `, `-`, `+` nor `\\`: found `{found}`")]
    HunkGarbage {
        /// The line.
        found: Excerpt,
    },
    /// The mark for a missing newline follows something else than the last line of its side.
    #[error("`{found}` must follow the last old or the last new line of the hunk")]
    StrayMark {
        /// The mark.
        found: Excerpt,
    },
    /// A path is changed by two sections.
    #[error("`{path}` is changed by two sections, here and at line {first}; merge them")]
    SamePath {
        /// The path.
        path: RelPath,
        /// Line at which the other section starts.
        first: u64,
    },
    /// One file would have to be a directory of another.
    #[error("`{inner}` cannot be a file below `{outer}`, which is a file by line {first}")]
    Nested {
        /// The path that would have to be a directory.
        outer: RelPath,
        /// The path below it.
        inner: RelPath,
        /// Line at which the section of `outer` starts.
        first: u64,
    },
    /// Renames wait for each other.
    #[error(
        "these moves cannot be ordered, since each needs another to be made before it: {moves}; \
         first move one of the files out of the way, in a change of its own"
    )]
    Circular {
        /// The moves.
        moves: Moves,
    },
}

/// Line in place of the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A line.
    Line(Excerpt),
    /// Nothing: the input ends.
    End,
}

/// Renames and copies, each from a path to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moves(pub Vec<(RelPath, RelPath)>);

/// Moves that an error shows at most.
const MOVES_SHOWN_MAX: usize = 8;

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "`{line}`"),
            Self::End => f.write_str("the end of the input"),
        }
    }
}

impl fmt::Display for Moves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (from, to)) in self.0.iter().take(MOVES_SHOWN_MAX).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}`{from}` to `{to}`")?;
        }
        if self.0.len() > MOVES_SHOWN_MAX { f.write_str(", …") } else { Ok(()) }
    }
}
