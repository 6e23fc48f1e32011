//! Reads a section that starts with `diff --git`: its extended header lines, and what they
//! promise.

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

/// An extended header line.
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

/// All of them, with how they start.
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

/// Lines of which one promises the other.
const PAIRS: [(Field, Field); 3] = [
    (Field::OldMode, Field::NewMode),
    (Field::CopyFrom, Field::CopyTo),
    (Field::RenameFrom, Field::RenameTo),
];

/// Lines of which one excludes the other.
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

/// The `diff --git` line and the lines after it, up to `---` or the end of the header.
struct Header<'a> {
    place: Place,
    names: NamePair<'a>,
    fields: BTreeMap<Field, Text<'a>>,
    /// Root that absolute names may lie below.
    root: &'a RootPrefix,
}

/// Kind of a section by its header.
enum Kind {
    Modify(RelPath),
    Create(RelPath),
    Delete(RelPath),
    Rename(RelPath, RelPath),
    Copy(RelPath, RelPath),
}

impl Kind {
    /// Returns the file before and the file after; `None` where one is missing.
    fn sides(&self) -> (Option<&RelPath>, Option<&RelPath>) {
        match self {
            Self::Modify(path) => (Some(path), Some(path)),
            Self::Create(path) => (None, Some(path)),
            Self::Delete(path) => (Some(path), None),
            Self::Rename(from, to) | Self::Copy(from, to) => (Some(from), Some(to)),
        }
    }
}

/// Body behind the header of a section.
pub(super) enum Body<'a> {
    /// Hunks of lines, of which there may be none.
    Lines(Vec<Hunk<'a>>),
    /// A binary patch.
    Binary(BinaryPatch),
}

/// Reads the section that starts at the current line, and leaves `lines` behind it.
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

    /// Refuses lines that contradict each other, and modes of anything but regular files.
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
            // git writes the change of a file to a link as two sections.
            if let (Some(GitMode::Link), Some(text)) = (self.mode(field)?, text(field)) {
                let problem = DiffProblem::LinkMode { mode: Excerpt::new(text.bytes) };
                return Err(ParseError::diff(text.place, problem));
            }
        }
        // `index OLD..NEW MODE`, where the mode stands only if it does not change.
        if let Some(index) = text(Field::Index)
            && let Some(space) = memchr::memchr(b' ', index.bytes)
        {
            let (_, mode) = index.bytes.split_at(space + 1);
            git_mode(Text { bytes: mode, place: index.place.right(space + 1) })?;
        }
        Ok(())
    }

    /// The mode in a line.
    fn mode(&self, field: Field) -> Result<Option<GitMode>, ParseError> {
        self.fields.get(&field).copied().map(git_mode).transpose()
    }

    /// Returns true if the file is a symbolic link before and after, by the mode in its `index`
    /// line.
    fn is_link(&self) -> Result<bool, ParseError> {
        let Some(index) = self.fields.get(&Field::Index) else { return Ok(false) };
        let Some(space) = memchr::memchr(b' ', index.bytes) else { return Ok(false) };
        let (_, mode) = index.bytes.split_at(space + 1);
        let mode = git_mode(Text { bytes: mode, place: index.place.right(space + 1) })?;
        Ok(mode == GitMode::Link)
    }

    /// Returns the effect of the section on its files, and the prefixes of their names.
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

    /// The prefixes of the names in a rename or copy.
    fn prefixes(&self, from: &RelPath, to: &RelPath) -> Result<Prefixes, ParseError> {
        if from == to {
            return Err(ParseError::diff(self.place, DiffProblem::ToItself { path: to.clone() }));
        }
        self.names.prefixes(from, to).ok_or_else(|| {
            let problem = DiffProblem::WrongHeader { from: from.clone(), to: to.clone() };
            ParseError::diff(self.place, problem)
        })
    }

    /// The section as a whole, checked to change what its header promises.
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

    /// Content before, by the `index` line.
    fn before(&self) -> Before {
        match self.fields.get(&Field::Index).map(|index| ids(*index)) {
            Some((old, _)) if is_known_id(old) && !is_empty_id(old) => Before::Something,
            Some(_) | None => Before::Unknown,
        }
    }

    /// Refuses a section without hunks whose header says that the content changes.
    fn refuse_missing_content(&self, kind: &Kind) -> Result<(), ParseError> {
        let path = match kind {
            Kind::Create(path) | Kind::Delete(path) | Kind::Modify(path) => path,
            Kind::Rename(_, path) | Kind::Copy(_, path) => path,
        };
        // The target of a link is never empty.
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

/// The two ids in `OLD..NEW[ MODE]`.
fn ids(index: Text<'_>) -> (&[u8], &[u8]) {
    let ids = index.bytes.split(|&b| b == b' ').next().unwrap_or_default();
    let dots = memchr::memmem::find(ids, b"..").unwrap_or(ids.len());
    let (old, new) = ids.split_at(dots);
    (old, new.strip_prefix(b"..").unwrap_or_default())
}

/// Returns true if `id` names a content: git writes zeros for none.
fn is_known_id(id: &[u8]) -> bool {
    id.len() >= super::ID_DIGITS_MIN
        && id.iter().all(u8::is_ascii_hexdigit)
        && id.iter().any(|&digit| digit != b'0')
}

/// The ids git gives to an empty file, by SHA-1 and by SHA-256.
const EMPTY_IDS: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

fn is_empty_id(id: &[u8]) -> bool {
    !id.is_empty() && EMPTY_IDS.iter().any(|empty| empty.as_bytes().starts_with(id))
}

impl Field {
    /// Beginning of the line, as an error shows it.
    fn keyword(self) -> &'static str {
        let keyword = FIELDS.iter().find(|(field, _)| *field == self).map(|(_, keyword)| *keyword);
        keyword.unwrap_or_default().trim_end()
    }
}

/// Reads the current line as an extended header line, if it is one. The last line of a rename, a copy or
/// a change of the mode ends the section, so the input may end with it. A file that is made or removed
/// has more behind its mode.
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

/// A mode, as git writes modes (git-fast-import(1), `filemodify`).
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

/// Returns true if `---` and `+++` lines follow, which must be right; leaves `lines` behind them.
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

/// Refuses a `---` or `+++` line that does not name `expected`; `null` says which line is missing
/// if it names nothing. The prefix is the first one, or, as git writes it with `-R` when a file is
/// rewritten completely, the second.
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
