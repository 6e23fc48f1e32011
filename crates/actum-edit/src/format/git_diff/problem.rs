//! Errors for invalid diffs.

use std::fmt;

use actum_core::RelPath;
use actum_core::place::Excerpt;

use super::binary::BinaryProblem;

/// Reason why a diff is invalid or cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffProblem {
    /// The input contains no section of a diff.
    #[error(
        "the input is not a diff: it has neither a `diff --git` line nor a `--- ` line followed by \
         a `+++ ` line"
    )]
    NoSection,
    /// The input is the combined diff of a merge commit.
    #[error(
        "a combined diff cannot be applied because it describes a merge; create the diff against \
         one parent"
    )]
    Combined,
    /// The diff only mentions a changed submodule or a file with a merge conflict, but does not contain the change.
    #[error(
        "`{found}` marks a change that the diff does not contain; create the diff without this change"
    )]
    LeftOut {
        /// Line that mentions the change.
        found: Excerpt,
    },
    /// The input contains a diff and a change in another format.
    #[error(
        "`{found}` belongs to a change in another format; pass it and the diff as separate inputs"
    )]
    Mixed {
        /// First line of the other change.
        found: Excerpt,
    },
    /// The diff is in an email whose body has a transfer encoding, such as base64.
    #[error("the email body is encoded (`{found}`); decode it and pass the decoded diff")]
    Encoded {
        /// Header line of the email that names the encoding.
        found: Excerpt,
    },
    /// A binary file changes, but the diff does not contain its content.
    #[error(
        "the diff does not contain the content of a binary file: `{found}`; create the diff with \
         `git diff --binary`"
    )]
    Binary {
        /// Line that the diff has instead of the content.
        found: Excerpt,
    },
    /// A binary patch in the diff is invalid.
    #[error(transparent)]
    BinaryPatch(BinaryProblem),
    /// A single section turns a file into a symbolic link, or a symbolic link into a file.
    #[error(
        "mode `{mode}` is a symbolic link; a section cannot change the type of a file, so delete it in \
         one section and create it in another"
    )]
    LinkMode {
        /// Mode of the symbolic link.
        mode: Excerpt,
    },
    /// The diff does not contain the complete old and new targets of a symbolic link.
    #[error(
        "`{path}` is a symbolic link, so its section must contain the complete old and new targets, \
         without a final newline"
    )]
    LinkInPart {
        /// Path of the symbolic link.
        path: RelPath,
    },
    /// The diff changes a submodule.
    #[error("mode `{mode}` is a submodule; only regular files and symbolic links can be changed")]
    Submodule {
        /// Mode of the submodule.
        mode: Excerpt,
    },
    /// A file mode is not one of those that git uses.
    #[error("invalid file mode `{mode}`; expected 100644, 100755 or 120000")]
    UnknownMode {
        /// Invalid mode.
        mode: Excerpt,
    },
    /// The last line of the input has no newline, although the line is part of the change.
    #[error("the input ends inside `{found}`; pass the complete diff, including its final newline")]
    CutOff {
        /// Last line of the input.
        found: Excerpt,
    },
    /// A header line ends with CRLF.
    #[error(
        "the line ends with CRLF, so the line endings of the diff were converted; pass the diff with \
         its original line endings"
    )]
    CarriageReturn,
    /// A quoted file name has no closing quote.
    #[error("the quoted name `{name}` has no closing quote")]
    Unclosed {
        /// Name with its opening quote.
        name: Excerpt,
    },
    /// A quoted file name contains an escape sequence that git does not write.
    #[error("the quoted name `{name}` contains an escape sequence that git does not use")]
    Escape {
        /// Name with its quotes.
        name: Excerpt,
    },
    /// There is more text after a quoted file name.
    #[error("unexpected `{found}` after the file name")]
    AfterName {
        /// Text after the name.
        found: Excerpt,
    },
    /// The `diff --git` line of a section that is no rename or copy does not name the same file twice.
    #[error(
        "it is unclear which file is changed: the line does not name the same file twice, as \
         `a/PATH b/PATH`, and the section has neither `rename from` nor `copy from`"
    )]
    NotOneFile,
    /// The `---` and `+++` lines of a plain section name different files.
    #[error(
        "it is unclear which file is changed: the names `{old}` and `{new}` differ; write them as \
         `a/PATH` and `b/PATH`"
    )]
    NamesDiffer {
        /// Name in the `---` line.
        old: Excerpt,
        /// Name in the `+++` line.
        new: Excerpt,
    },
    /// A `---` or `+++` line does not name the file of its section.
    #[error("the line names `{found}`, but the header of the section requires `{expected}`")]
    WrongName {
        /// Name that the header of the section requires.
        expected: Excerpt,
        /// Name in the line.
        found: Excerpt,
    },
    /// The `diff --git` line of a rename or copy names other files than the lines after it.
    #[error("the line must name `{from}` and `{to}`, like the other lines of the section")]
    WrongHeader {
        /// Path before the rename or copy.
        from: RelPath,
        /// Path after the rename or copy.
        to: RelPath,
    },
    /// Both names of a section are `/dev/null`.
    #[error("both names are `/dev/null`, so no file is changed")]
    NoName,
    /// A header line occurs twice in a section.
    #[error("duplicate `{field}` line in this section")]
    Repeated {
        /// Keyword of the header line.
        field: &'static str,
    },
    /// A header line requires another line, which is missing.
    #[error("the section has `{has}` but no `{lacks}`")]
    Lacks {
        /// Keyword of the line that exists.
        has: &'static str,
        /// Keyword of the line that is missing.
        lacks: &'static str,
    },
    /// Two header lines exclude each other.
    #[error("the section has both `{first}` and `{second}`")]
    Contradiction {
        /// Keyword of the first line.
        first: &'static str,
        /// Keyword of the second line.
        second: &'static str,
    },
    /// A section has no effect on its file.
    #[error("the section for `{path}` changes nothing; complete it or remove it")]
    ChangesNothing {
        /// File that the section names.
        path: RelPath,
    },
    /// The source and destination of a rename or copy are the same path.
    #[error("`{path}` is renamed or copied to itself")]
    ToItself {
        /// Source and destination.
        path: RelPath,
    },
    /// According to its header, a section changes the content of its file, but the section has no hunks.
    #[error(
        "the header says that the content of `{path}` changes, but the section has no hunks; \
         pass the complete diff"
    )]
    ContentMissing {
        /// File that the section names.
        path: RelPath,
    },
    /// The `---` and `+++` lines of a section are not followed by a hunk.
    #[error("expected a hunk after the file names of the section, found {found}")]
    NoHunks {
        /// Line after the file names.
        found: Found,
    },
    /// A section that creates or deletes a file does not consist of one hunk with all lines of the file.
    #[error("the section for `{path}` must have exactly one hunk, with the header `{form}`")]
    WholeFile {
        /// File that the section creates or deletes.
        path: RelPath,
        /// Required form of the hunk header.
        form: &'static str,
    },
    /// A hunk does not follow the header of a section.
    #[error("the hunk `{found}` does not belong to a file; add `--- ` and `+++ ` lines before it")]
    HunkWithoutFile {
        /// Header of the hunk.
        found: Excerpt,
    },
    /// A hunk header has a syntax error.
    #[error("invalid hunk header `{found}`; expected `@@ -START[,COUNT] +START[,COUNT] @@`")]
    HunkHeader {
        /// Invalid header.
        found: Excerpt,
    },
    /// A number in a hunk header exceeds 32 bits.
    #[error("a number in the hunk header `{found}` is larger than 4294967295")]
    HunkNumber {
        /// Header with the number.
        found: Excerpt,
    },
    /// According to its header, a hunk has no lines.
    #[error("the hunk `{found}` covers no lines")]
    HunkEmpty {
        /// Header of the hunk.
        found: Excerpt,
    },
    /// A hunk has fewer lines than its header says.
    #[error("the hunk has fewer lines than its header says ({old} old, {new} new): found {found}")]
    HunkEndsEarly {
        /// Number of old lines in the header.
        old: u32,
        /// Number of new lines in the header.
        new: u32,
        /// First line after the hunk.
        found: Found,
    },
    /// A hunk has more lines than its header says.
    #[error("the hunk has more lines than its header says ({old} old, {new} new): found `{found}`")]
    HunkGoesOn {
        /// Number of old lines in the header.
        old: u32,
        /// Number of new lines in the header.
        new: u32,
        /// First line that exceeds the header.
        found: Excerpt,
    },
    /// A line of a hunk has none of the allowed first characters.
    #[error(
        "expected a line of the hunk, which starts with ` `, `-`, `+` or `\\`, found `{found}`"
    )]
    HunkGarbage {
        /// Invalid line.
        found: Excerpt,
    },
    /// A `\ No newline at end of file` marker does not follow the last line of the old or new content.
    #[error("`{found}` must follow the last old line or the last new line of the hunk")]
    StrayMark {
        /// Marker line.
        found: Excerpt,
    },
    /// Two sections change the same path.
    #[error("`{path}` is changed by two sections, here and at line {first}; merge them")]
    SamePath {
        /// Path that both sections change.
        path: RelPath,
        /// Line at which the first section starts.
        first: u64,
    },
    /// A path would have to be a file and a directory at the same time.
    #[error(
        "`{inner}` requires `{outer}` to be a directory, but it is a file in the section at line {first}"
    )]
    Nested {
        /// Path that would have to be a directory.
        outer: RelPath,
        /// Path below `outer`.
        inner: RelPath,
        /// Line at which the section for `outer` starts.
        first: u64,
    },
    /// Renames and copies depend on each other in a cycle.
    #[error(
        "these moves form a cycle, so none of them can be made first: {moves}; move one of the files \
         to another path in a separate change first"
    )]
    Circular {
        /// Renames and copies of the cycle.
        moves: Moves,
    },
}

/// Line that was found instead of the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A line of the input.
    Line(Excerpt),
    /// The input ends here.
    End,
}

/// Renames and copies, each with its source and destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moves(pub Vec<(RelPath, RelPath)>);

/// Maximum number of renames and copies that an error message lists.
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
