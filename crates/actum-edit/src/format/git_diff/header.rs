//! Parses a section that starts with `diff --git`, and checks that the section matches its extended header lines.

use std::collections::BTreeMap;

use actum_core::RelPath;
use actum_core::place::{Excerpt, Place};

use super::binary::{self, BinaryPatch, Room};
use super::hunks::{self, Hunk};
use super::lines::{Lines, Text, excerpt};
use super::names::{DEV_NULL, GIT_PREFIXES, Name, NamePair, Prefixes, common_prefixes};
use super::problem::DiffProblem;
use super::section::{self, Before, Change, Content, Edit, GitMode, Section};
use crate::format::{ParseError, RootPrefix};

/// Kind of an extended header line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    OldMode,
    NewMode,
    DeletedFileMode,
    NewFileMode,
    CopyFrom,
    CopyTo,
    RenameFrom,
    RenameTo,
    Similarity,
    Dissimilarity,
    Index,
}

/// All extended header lines, with the text that they start with.
const FIELDS: [(Field, &str); 11] = [
    (Field::Index, "index "),
    (Field::OldMode, "old mode "),
    (Field::NewMode, "new mode "),
    (Field::DeletedFileMode, "deleted file mode "),
    (Field::NewFileMode, "new file mode "),
    (Field::CopyFrom, "copy from "),
    (Field::CopyTo, "copy to "),
    (Field::RenameFrom, "rename from "),
    (Field::RenameTo, "rename to "),
    (Field::Similarity, "similarity index "),
    (Field::Dissimilarity, "dissimilarity index "),
];

/// Pairs of header lines that must occur together.
const PAIRS: [(Field, Field); 3] = [
    (Field::OldMode, Field::NewMode),
    (Field::CopyFrom, Field::CopyTo),
    (Field::RenameFrom, Field::RenameTo),
];

/// Pairs of header lines that must not occur together.
const EXCLUSIONS: [(Field, Field); 8] = [
    (Field::NewFileMode, Field::DeletedFileMode),
    (Field::NewFileMode, Field::RenameFrom),
    (Field::NewFileMode, Field::CopyFrom),
    (Field::NewFileMode, Field::OldMode),
    (Field::DeletedFileMode, Field::RenameFrom),
    (Field::DeletedFileMode, Field::CopyFrom),
    (Field::DeletedFileMode, Field::OldMode),
    (Field::CopyFrom, Field::RenameFrom),
];

/// Parsed header of a section: the `diff --git` line and the extended header lines after it.
struct Header<'a> {
    place: Place,
    names: NamePair<'a>,
    fields: BTreeMap<Field, Text<'a>>,
    /// Root directory that absolute names must be below.
    root: &'a RootPrefix,
}

/// Kind of change that a section makes, according to its header.
enum Kind {
    Modify(RelPath),
    Create(RelPath),
    Delete(RelPath),
    Rename(RelPath, RelPath),
    Copy(RelPath, RelPath),
}

impl Kind {
    /// Returns the paths of the old and the new file, each `None` if the file does not exist on that side.
    fn sides(&self) -> (Option<&RelPath>, Option<&RelPath>) {
        match self {
            Self::Modify(path) => (Some(path), Some(path)),
            Self::Create(path) => (None, Some(path)),
            Self::Delete(path) => (Some(path), None),
            Self::Rename(from, to) | Self::Copy(from, to) => (Some(from), Some(to)),
        }
    }
}

/// Body of a section, which follows its header.
pub(super) enum Body<'a> {
    /// Text hunks, possibly none.
    Lines(Vec<Hunk<'a>>),
    /// Binary patch.
    Binary(BinaryPatch),
}

/// Parses the section that starts at the current line, and moves `lines` to the line after it.
pub(super) fn section<'a>(
    lines: &mut Lines<'a>,
    room: &mut Room,
) -> Result<Section<'a>, ParseError> {
    let header = Header::read(lines)?;
    let (kind, prefixes) = header.kind()?;
    let index = header.fields.get(&Field::Index).copied();
    if let Some(patch) = binary::read(lines, room, index, kind.sides())? {
        return header.section(kind, Body::Binary(patch));
    }
    let edits_content = names_follow(lines, &kind, prefixes)?;
    let hunks = if edits_content { hunks::read(lines)? } else { Vec::new() };
    if edits_content && hunks.is_empty() {
        let problem = DiffProblem::NoHunks { found: lines.found() };
        return Err(ParseError::diff(lines.place(), problem));
    }
    header.section(kind, Body::Lines(hunks))
}

impl<'a> Header<'a> {
    fn read(lines: &mut Lines<'a>) -> Result<Self, ParseError> {
        let place = lines.place();
        let names = match lines.after("diff --git ")? {
            Some(text) => NamePair::new(text)?,
            None => return Err(ParseError::diff(place, DiffProblem::NoSection)),
        };
        lines.advance();
        let mut fields = BTreeMap::new();
        while let Some((field, text)) = field(lines)? {
            if fields.insert(field, text).is_some() {
                let problem = DiffProblem::Repeated { field: field.keyword() };
                return Err(ParseError::diff(lines.place(), problem));
            }
            lines.advance();
        }
        let header = Self { place, names, fields, root: lines.root };
        header.check()?;
        match lines.current().filter(|line| super::is_left_out_binary(line)) {
            Some(line) => {
                let problem = DiffProblem::Binary { found: excerpt(line) };
                Err(ParseError::diff(lines.place(), problem))
            }
            None => Ok(header),
        }
    }

    /// Returns an error if header lines contradict each other, or if a mode is not that of a regular file or a symbolic link.
    fn check(&self) -> Result<(), ParseError> {
        let text = |field: Field| self.fields.get(&field);
        for (from, to) in PAIRS {
            let (has, lacks, place) = match (text(from), text(to)) {
                (Some(text), None) => (from, to, text.place),
                (None, Some(text)) => (to, from, text.place),
                (Some(_), Some(_)) | (None, None) => continue,
            };
            let (has, lacks) = (has.keyword(), lacks.keyword());
            return Err(ParseError::diff(place, DiffProblem::Lacks { has, lacks }));
        }
        for (first, second) in EXCLUSIONS {
            if let (Some(_), Some(text)) = (text(first), text(second)) {
                let (first, second) = (first.keyword(), second.keyword());
                let problem = DiffProblem::Contradiction { first, second };
                return Err(ParseError::diff(text.place, problem));
            }
        }
        for field in [Field::DeletedFileMode, Field::NewFileMode] {
            self.mode(field)?;
        }
        for field in [Field::OldMode, Field::NewMode] {
            // If a file becomes a link, git writes two sections: one that deletes and one that creates.
            if let (Some(GitMode::Link), Some(text)) = (self.mode(field)?, text(field)) {
                let problem = DiffProblem::LinkMode { mode: Excerpt::new(text.bytes) };
                return Err(ParseError::diff(text.place, problem));
            }
        }
        // `index OLD..NEW MODE` has a mode only if the mode does not change.
        if let Some(index) = text(Field::Index)
            && let Some(space) = memchr::memchr(b' ', index.bytes)
        {
            let (_, mode) = index.bytes.split_at(space + 1);
            git_mode(Text { bytes: mode, place: index.place.right(space + 1) })?;
        }
        Ok(())
    }

    /// Returns the mode in a header line, if the header has this line.
    fn mode(&self, field: Field) -> Result<Option<GitMode>, ParseError> {
        self.fields.get(&field).copied().map(git_mode).transpose()
    }

    /// Checks whether the file is a symbolic link before and after the change, according to the mode in its `index` line.
    fn is_link(&self) -> Result<bool, ParseError> {
        let Some(index) = self.fields.get(&Field::Index) else { return Ok(false) };
        let Some(space) = memchr::memchr(b' ', index.bytes) else { return Ok(false) };
        let (_, mode) = index.bytes.split_at(space + 1);
        let mode = git_mode(Text { bytes: mode, place: index.place.right(space + 1) })?;
        Ok(mode == GitMode::Link)
    }

    /// Determines the kind of change from the header, and the prefixes of the file names.
    fn kind(&self) -> Result<(Kind, Prefixes), ParseError> {
        let path = |field: Field| match self.fields.get(&field) {
            Some(text) => Name::whole(*text)?.path("", self.root).map(Some),
            None => Ok(None),
        };
        if let (Some(from), Some(to)) = (path(Field::RenameFrom)?, path(Field::RenameTo)?) {
            let prefixes = self.prefixes(&from, &to)?;
            return Ok((Kind::Rename(from, to), prefixes));
        }
        if let (Some(from), Some(to)) = (path(Field::CopyFrom)?, path(Field::CopyTo)?) {
            let prefixes = self.prefixes(&from, &to)?;
            return Ok((Kind::Copy(from, to), prefixes));
        }
        let names = self.names.equal();
        let one = names.as_ref().and_then(|(old, new)| common_prefixes(old, new, GIT_PREFIXES));
        let (Some((old, _)), Some(prefixes)) = (names, one) else {
            return Err(ParseError::diff(self.place, DiffProblem::NotOneFile));
        };
        let path = old.path(prefixes.0, self.root)?;
        let kind = if self.fields.contains_key(&Field::NewFileMode) {
            Kind::Create(path)
        } else if self.fields.contains_key(&Field::DeletedFileMode) {
            Kind::Delete(path)
        } else {
            Kind::Modify(path)
        };
        Ok((kind, prefixes))
    }

    /// Returns the prefixes of the names in the `diff --git` line of a rename or copy.
    fn prefixes(&self, from: &RelPath, to: &RelPath) -> Result<Prefixes, ParseError> {
        if from == to {
            return Err(ParseError::diff(self.place, DiffProblem::ToItself { path: to.clone() }));
        }
        self.names.prefixes(from, to).ok_or_else(|| {
            let problem = DiffProblem::WrongHeader { from: from.clone(), to: to.clone() };
            ParseError::diff(self.place, problem)
        })
    }

    /// Builds the section, and checks that its body makes the change that the header declares.
    fn section(&self, kind: Kind, body: Body<'a>) -> Result<Section<'a>, ParseError> {
        let place = self.place;
        if matches!(&body, Body::Lines(hunks) if hunks.is_empty()) {
            self.refuse_missing_content(&kind)?;
        }
        let change = match kind {
            Kind::Create(path) => {
                let content = match body {
                    Body::Lines(hunks) => section::created(place, &path, &hunks)?,
                    Body::Binary(patch) => patch.created()?,
                };
                let mode = self.mode(Field::NewFileMode)?.unwrap_or(GitMode::File);
                Change::Create { path, content, mode }
            }
            Kind::Delete(path) => {
                let expected = match body {
                    Body::Lines(hunks) => section::deleted(place, &path, &hunks)?,
                    Body::Binary(patch) => patch.deleted(&path)?,
                };
                let is_link = self.mode(Field::DeletedFileMode)? == Some(GitMode::Link);
                Change::Delete { path, expected, is_link }
            }
            Kind::Rename(from, to) => {
                let edit = self.edit(&to, body)?;
                Change::Rename { from, to, edit }
            }
            Kind::Copy(from, to) => {
                let edit = self.edit(&to, body)?;
                Change::Copy { from, to, edit }
            }
            Kind::Modify(path) => {
                let edit = self.edit(&path, body)?;
                if edit.is_empty() {
                    return Err(ParseError::diff(place, DiffProblem::ChangesNothing { path }));
                }
                Change::Modify { path, edit }
            }
        };
        Ok(Section { line: place.line, change })
    }

    fn edit(&self, path: &RelPath, body: Body<'a>) -> Result<Edit<'a>, ParseError> {
        let content = match (body, self.is_link()?) {
            (Body::Lines(hunks), false) => Content::Lines(hunks),
            (Body::Binary(patch), false) => Content::Binary(patch.edit()),
            (body, true) => match section::targets(&body) {
                Some((old, new)) => Content::Target { old, new },
                None => {
                    let problem = DiffProblem::LinkInPart { path: path.clone() };
                    return Err(ParseError::diff(self.place, problem));
                }
            },
        };
        let executable = |field| Ok(self.mode(field)?.map(|mode| mode == GitMode::Executable));
        let (old, new) = (executable(Field::OldMode)?, executable(Field::NewMode)?);
        Ok(Edit { before: self.before(), content, executable: new.filter(|_| new != old) })
    }

    /// Checks the `index` line for whether the file had content before the change.
    fn before(&self) -> Before {
        match self.fields.get(&Field::Index).map(|index| ids(*index)) {
            Some((old, _)) if is_known_id(old) && !is_empty_id(old) => Before::Something,
            Some(_) | None => Before::Unknown,
        }
    }

    /// Returns an error for a section without hunks if its header says that the content changes.
    fn refuse_missing_content(&self, kind: &Kind) -> Result<(), ParseError> {
        let path = match kind {
            Kind::Create(path) | Kind::Delete(path) | Kind::Modify(path) => path,
            Kind::Rename(_, path) | Kind::Copy(_, path) => path,
        };
        // The target of a symbolic link is never empty.
        for field in [Field::NewFileMode, Field::DeletedFileMode] {
            if self.mode(field)? == Some(GitMode::Link) {
                let problem = DiffProblem::ContentMissing { path: path.clone() };
                return Err(ParseError::diff(self.place, problem));
            }
        }
        let index = self.fields.get(&Field::Index).filter(|index| {
            let (old, new) = ids(**index);
            match kind {
                Kind::Create(_) => !is_empty_id(new),
                Kind::Delete(_) => !is_empty_id(old),
                Kind::Modify(_) | Kind::Rename(..) | Kind::Copy(..) => old != new,
            }
        });
        let similarity = self.fields.get(&Field::Similarity).filter(|text| text.bytes != b"100%");
        match index.or(similarity) {
            Some(text) => {
                let problem = DiffProblem::ContentMissing { path: path.clone() };
                Err(ParseError::diff(text.place, problem))
            }
            None => Ok(()),
        }
    }
}

/// Splits `OLD..NEW[ MODE]` into its two object ids.
fn ids(index: Text<'_>) -> (&[u8], &[u8]) {
    let ids = index.bytes.split(|&b| b == b' ').next().unwrap_or_default();
    let dots = memchr::memmem::find(ids, b"..").unwrap_or(ids.len());
    let (old, new) = ids.split_at(dots);
    (old, new.strip_prefix(b"..").unwrap_or_default())
}

/// Checks whether `id` identifies existing content. Git writes only zeros for a missing file.
fn is_known_id(id: &[u8]) -> bool {
    id.len() >= super::ID_DIGITS_MIN
        && id.iter().all(u8::is_ascii_hexdigit)
        && id.iter().any(|&digit| digit != b'0')
}

/// Git object ids of an empty file, with SHA-1 and with SHA-256.
const EMPTY_IDS: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

fn is_empty_id(id: &[u8]) -> bool {
    !id.is_empty() && EMPTY_IDS.iter().any(|empty| empty.as_bytes().starts_with(id))
}

impl Field {
    /// Returns the keyword of the header line, for error messages.
    fn keyword(self) -> &'static str {
        let keyword = FIELDS.iter().find(|(field, _)| *field == self).map(|(_, keyword)| *keyword);
        keyword.unwrap_or_default().trim_end()
    }
}

/// Parses the current line as an extended header line, or returns `None` if it is another line.
///
/// A rename, copy or mode change can end with a header line, so this line may be the last of the input without a newline.
/// In contrast, the mode of a new or deleted file is always followed by further lines.
fn field<'a>(lines: &Lines<'a>) -> Result<Option<(Field, Text<'a>)>, ParseError> {
    for (field, keyword) in FIELDS {
        let is_followed = matches!(field, Field::NewFileMode | Field::DeletedFileMode);
        let text = if is_followed { lines.after(keyword) } else { lines.after_in_last(keyword) };
        if let Some(text) = text? {
            return Ok(Some((field, text)));
        }
    }
    Ok(None)
}

/// Parses a file mode in the notation of git (git-fast-import(1), `filemodify`).
fn git_mode(mode: Text<'_>) -> Result<GitMode, ParseError> {
    let shown = || Excerpt::new(mode.bytes);
    let problem = match mode.bytes {
        b"100644" => return Ok(GitMode::File),
        b"100755" => return Ok(GitMode::Executable),
        b"120000" => return Ok(GitMode::Link),
        b"160000" => DiffProblem::Submodule { mode: shown() },
        [..] => DiffProblem::UnknownMode { mode: shown() },
    };
    Err(ParseError::diff(mode.place, problem))
}

/// Checks the names in the `---` and `+++` lines and skips both lines. Returns `false` if they are absent.
fn names_follow(
    lines: &mut Lines<'_>,
    kind: &Kind,
    prefixes: Prefixes,
) -> Result<bool, ParseError> {
    let (old, new) = kind.sides();
    let Some(text) = lines.after("--- ")? else {
        return Ok(false);
    };
    check_name(text, old, prefixes, ("--- /dev/null", "new file mode"), lines.root)?;
    lines.advance();
    let Some(text) = lines.after("+++ ")? else {
        let problem = DiffProblem::Lacks { has: "---", lacks: "+++" };
        return Err(ParseError::diff(lines.place(), problem));
    };
    let swapped = (prefixes.1, prefixes.0);
    check_name(text, new, swapped, ("+++ /dev/null", "deleted file mode"), lines.root)?;
    lines.advance();
    Ok(true)
}

/// Checks that a `---` or `+++` line names the file `expected`.
///
/// If the line names `/dev/null` instead, the error contains `null`: the line found, and the header line that it needs. The
/// name usually has the first of `prefixes`. It has the second one if git wrote the diff of a rewritten file with `-R`.
fn check_name(
    text: Text<'_>,
    expected: Option<&RelPath>,
    prefixes: Prefixes,
    null: (&'static str, &'static str),
    root: &RootPrefix,
) -> Result<(), ParseError> {
    let (name, _) = Name::before_tab(text)?;
    let is = |prefix: &str| match expected {
        Some(path) => {
            let named = name.bytes.strip_prefix(prefix.as_bytes());
            named.map(|named| root.relative(named)) == Some(path.as_bytes())
        }
        None => name.is_dev_null(),
    };
    if is(prefixes.0) || is(prefixes.1) {
        return Ok(());
    }
    let problem = if name.is_dev_null() {
        DiffProblem::Lacks { has: null.0, lacks: null.1 }
    } else {
        let expected = match expected {
            Some(path) => [prefixes.0.as_bytes(), path.as_bytes()].concat(),
            None => DEV_NULL.to_vec(),
        };
        DiffProblem::WrongName { expected: Excerpt::new(&expected), found: name.excerpt() }
    };
    Err(ParseError::diff(text.place, problem))
}
