//! Patterns for paths: the one dialect that scopes and policies are written in.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::path::{NAME_BYTES_MAX, PATH_BYTES_MAX, Quoted};
use crate::{RelPath, path_name};

/// The most components of a rule.
pub const RULE_COMPONENTS_MAX: usize = 63;

/// A pattern for paths below the root of a workspace.
///
/// - `src` and `src/main.rs` match that path and, where it is a directory, all that is below it.
/// - `src/` matches all that is below `src`, and not a file of that very name.
/// - `*` stands for any bytes within a name, also for none; `?` for one character.
/// - `**` stands for any number of names, also for none: `**/*.rs`, `src/**/tests`.
/// - `\` takes the meaning from what follows it: `app/\[id\]/page.tsx`.
///
/// Names are compared one by one, never as the beginning of a text, and in the case that they have.
/// What other dialects take for a class, an alternative or a negation (`[`, `]`, `{`, `}`, a leading
/// `!`) is refused, since a rule that matches nothing protects nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct PathRule {
    text: Box<[u8]>,
    names: Vec<NameRule>,
    /// True for `dir/`, which matches all that is below, but not a file of that very name.
    below_only: bool,
}

/// A byte at one end of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameEnd {
    /// Its first.
    First(u8),
    /// Its last.
    Last(u8),
}

/// Pattern for one name in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NameRule {
    /// `**`
    Any,
    /// A literal name.
    Is(Vec<u8>),
    /// A name with wildcards in it.
    Like(Vec<Piece>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Byte(u8),
    /// `?`
    Character,
    /// `*`
    Bytes,
}

/// Reason why a text is no rule for paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathRuleProblem {
    /// Nothing was given.
    #[error("it is empty; `**` speaks of every path")]
    Empty,
    /// The rule starts at the root of the file system.
    #[error("it is absolute; give it relative to the workspace root")]
    Absolute,
    /// The rule has a `..` component.
    #[error("it contains `..`")]
    Parent,
    /// The rule has a `.` component or a doubled `/`.
    #[error("it contains `.` or `//`; write it plainly")]
    NotPlain,
    /// The rule contains a NUL byte.
    #[error("it contains a NUL byte")]
    Nul,
    /// The rule is longer than paths can be, or has more names than [`RULE_COMPONENTS_MAX`].
    #[error("it is longer than a path can be (255 bytes a name, 4095 in all, 63 names)")]
    TooLong,
    /// The rule uses what has a meaning in other dialects and none in this one.
    #[error("{}", other_dialect(*.0))]
    OtherDialect(u8),
    /// `**` is only a part of a name.
    #[error("`**` stands for whole names, so it stands between slashes; within a name write `*`")]
    StarsInName,
    /// The rule ends with a `\`.
    #[error("it ends with `\\`, which belongs before another character")]
    LoneEscape,
}

fn other_dialect(sign: u8) -> String {
    let sign = char::from(sign);
    let instead = match sign {
        '!' => "what is not meant is denied",
        '{' | '}' => "write several rules",
        _ => "`?` stands for one character, `*` for any",
    };
    format!("`{sign}` has no meaning here: {instead}; `\\{sign}` is a name that has it")
}

/// A text that is no rule for paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{}` cannot be used: {problem}", crate::path::Cut(given, 200))]
pub struct PathRuleError {
    /// The text as it was given.
    pub given: Vec<u8>,
    /// Problem of the rule.
    pub problem: PathRuleProblem,
}

impl PathRule {
    /// Reads a rule.
    ///
    /// # Errors
    /// The first [`PathRuleProblem`] found.
    pub fn new(text: impl AsRef<[u8]>) -> Result<Self, PathRuleError> {
        let text = text.as_ref();
        read(text).map_err(|problem| PathRuleError { given: text.to_vec(), problem })
    }

    /// Returns the rule that matches exactly this path and all below it, if a rule can have so many
    /// names.
    pub fn exactly(path: &RelPath) -> Option<Self> {
        let mut text = Vec::with_capacity(path.as_bytes().len());
        for &byte in path.as_bytes() {
            if br"\*?[]{}!".contains(&byte) {
                text.push(b'\\');
            }
            text.push(byte);
        }
        read(&text).ok()
    }

    /// The rule as it is written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// Tests whether there can be a path of which both rules speak: their names before the first wildcard do not part. Some rules
    /// that can never meet pass as well.
    pub fn may_meet(&self, other: &Self) -> bool {
        self.fixed_names().zip(other.fixed_names()).all(|(one, other)| one == other)
    }

    /// Names before the first with a wildcard.
    fn fixed_names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map_while(|name| match name {
            NameRule::Is(name) => Some(name.as_slice()),
            NameRule::Any | NameRule::Like(_) => None,
        })
    }

    /// Returns true if the rule matches `path`.
    pub fn covers(&self, path: &RelPath) -> bool {
        self.covers_names(path.components())
    }

    /// Matches a path by its names, first to last. A caller that compares in another form than byte by byte
    /// gives the names in the form in which the rule is written.
    pub fn covers_names<'p>(&self, path: impl Iterator<Item = &'p [u8]>) -> bool {
        self.covers_names_beyond(0, path)
    }

    /// Matches a path by its names where the match ends behind the first `least` of them: those are directories
    /// around a workspace, which a rule about files does not mean.
    pub fn covers_names_beyond<'p>(
        &self,
        least: usize,
        path: impl Iterator<Item = &'p [u8]>,
    ) -> bool {
        // The most common form needs no more than this.
        if let ([NameRule::Any, rule], false) = (&*self.names, self.below_only) {
            return path.skip(least).any(|name| rule.is_met_by(name));
        }
        let end = 1u64 << self.names.len();
        // Which names of the rule may come next: one bit for each, and one for its end.
        let mut next = self.passed(1);
        let mut path = path.enumerate().peekable();
        while let Some((index, name)) = path.next() {
            next = self.after_name(next, name);
            // A rule that matches a directory matches everything below it.
            if next & end != 0 && index >= least && (!self.below_only || path.peek().is_some()) {
                return true;
            }
        }
        false
    }

    /// Returns true if a match that begins at a name in `path` can continue below `path`. A leading `**` begins no match: `**/x`
    /// begins at `x`.
    pub fn leads_below(&self, path: &RelPath) -> bool {
        self.leads_below_names(path.components())
    }

    /// [`leads_below`](Self::leads_below) for the names of a path.
    pub fn leads_below_names<'p>(&self, path: impl Iterator<Item = &'p [u8]>) -> bool {
        let end = 1u64 << self.names.len();
        let mut next = self.passed(1);
        for name in path {
            next = self.after_name(next, name);
        }
        let anywhere = self.names.iter().take_while(|rule| **rule == NameRule::Any).count();
        let begun = (anywhere + 1..self.names.len()).any(|place| next & (1 << place) != 0);
        begun || self.below_only && next & end != 0
    }

    /// Returns the names of the rule that may follow `name`, if those in `next` may match it: one bit for each, and one for the end of
    /// the rule.
    fn after_name(&self, next: u64, name: &[u8]) -> u64 {
        let mut after = 0;
        for (place, rule) in self.names.iter().enumerate() {
            if next & (1 << place) != 0 {
                match rule {
                    NameRule::Any => after |= 1 << place,
                    rule if rule.is_met_by(name) => after |= 1 << (place + 1),
                    NameRule::Is(_) | NameRule::Like(_) => {}
                }
            }
        }
        self.passed(after)
    }

    /// A byte that a name begins or ends with, one of each path of which the rule speaks, where it says one.
    pub fn end_of_name(&self) -> Option<NameEnd> {
        let like = self.names.iter().find_map(|rule| match rule {
            NameRule::Like(pieces) => Some(pieces),
            NameRule::Any | NameRule::Is(_) => None,
        });
        match (like?.first(), like?.last()) {
            (Some(Piece::Byte(byte)), _) => Some(NameEnd::First(*byte)),
            (_, Some(Piece::Byte(byte))) => Some(NameEnd::Last(*byte)),
            (_, _) => None,
        }
    }

    /// Returns true for a rule that begins with `**`: it matches a path wherever that begins.
    pub fn begins_anywhere(&self) -> bool {
        self.names.first() == Some(&NameRule::Any)
    }

    /// Returns a name that each path has that the rule matches: the longest literal one.
    pub fn name(&self) -> Option<&[u8]> {
        let names = self.names.iter().filter_map(|rule| match rule {
            NameRule::Is(name) => Some(&**name),
            NameRule::Any | NameRule::Like(_) => None,
        });
        names.max_by_key(|name| name.len())
    }

    /// Returns the rule with its names in another form, for comparisons in that form.
    #[must_use]
    pub fn mapped(&self, form: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        let names = self.names.iter().map(|rule| match rule {
            NameRule::Any => NameRule::Any,
            NameRule::Is(name) => NameRule::Is(form(name)),
            NameRule::Like(pieces) => NameRule::Like(in_form(pieces, &form)),
        });
        let names = names.collect();
        Self { text: self.text.clone(), names, below_only: self.below_only }
    }

    /// Returns true if the rule matches every path.
    pub fn covers_everything(&self) -> bool {
        let is_any = |rule: &NameRule| match rule {
            NameRule::Any => true,
            NameRule::Like(pieces) => pieces.iter().all(|piece| *piece == Piece::Bytes),
            NameRule::Is(_) => false,
        };
        let names = self.names.iter().filter(|rule| **rule != NameRule::Any).count();
        !self.below_only && names <= 1 && self.names.iter().all(is_any)
    }

    /// Adds the places that are reached from these without a name: `**` may stand for none.
    fn passed(&self, mut places: u64) -> u64 {
        for (place, rule) in self.names.iter().enumerate() {
            if *rule == NameRule::Any && places & (1 << place) != 0 {
                places |= 1 << (place + 1);
            }
        }
        places
    }
}

fn read(text: &[u8]) -> Result<PathRule, PathRuleProblem> {
    if text.is_empty() {
        return Err(PathRuleProblem::Empty);
    }
    if text.contains(&0) {
        return Err(PathRuleProblem::Nul);
    }
    if text.starts_with(b"/") {
        return Err(PathRuleProblem::Absolute);
    }
    if text.starts_with(b"!") {
        return Err(PathRuleProblem::OtherDialect(b'!'));
    }
    let (plain, below_only) = match text.strip_suffix(b"/") {
        Some(plain) => (plain, true),
        None => (text, false),
    };
    let names = plain.split(|&byte| byte == b'/').map(name_rule).collect::<Result<Vec<_>, _>>()?;
    if text.len() > PATH_BYTES_MAX || names.len() > RULE_COMPONENTS_MAX {
        return Err(PathRuleProblem::TooLong);
    }
    Ok(PathRule { text: text.into(), names, below_only })
}

fn name_rule(text: &[u8]) -> Result<NameRule, PathRuleProblem> {
    match text {
        b"**" => return Ok(NameRule::Any),
        b".." => return Err(PathRuleProblem::Parent),
        b"" | b"." => return Err(PathRuleProblem::NotPlain),
        _ => {}
    }
    let mut pieces = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        pieces.push(match byte {
            b'\\' => Piece::Byte(*rest.next().ok_or(PathRuleProblem::LoneEscape)?),
            b'*' if pieces.last() == Some(&Piece::Bytes) => {
                return Err(PathRuleProblem::StarsInName);
            }
            b'*' => Piece::Bytes,
            b'?' => Piece::Character,
            b'[' | b']' | b'{' | b'}' => return Err(PathRuleProblem::OtherDialect(byte)),
            byte => Piece::Byte(byte),
        });
    }
    if pieces.len() > NAME_BYTES_MAX {
        return Err(PathRuleProblem::TooLong);
    }
    let bytes = pieces.iter().map(|piece| match piece {
        Piece::Byte(byte) => Some(*byte),
        Piece::Character | Piece::Bytes => None,
    });
    Ok(bytes.collect::<Option<Vec<u8>>>().map_or(NameRule::Like(pieces), NameRule::Is))
}

impl NameRule {
    fn is_met_by(&self, name: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Is(bytes) => bytes == name,
            Self::Like(pieces) => is_like(pieces, name),
        }
    }
}

/// The bytes between the wildcards, each run of them in another form.
fn in_form(pieces: &[Piece], form: impl Fn(&[u8]) -> Vec<u8>) -> Vec<Piece> {
    let mut mapped = Vec::with_capacity(pieces.len());
    let mut run = Vec::new();
    let end = |run: &mut Vec<u8>, mapped: &mut Vec<Piece>| {
        mapped.extend(form(run).into_iter().map(Piece::Byte));
        run.clear();
    };
    for piece in pieces {
        match piece {
            Piece::Byte(byte) => run.push(*byte),
            Piece::Character | Piece::Bytes => {
                end(&mut run, &mut mapped);
                mapped.push(*piece);
            }
        }
    }
    end(&mut run, &mut mapped);
    mapped
}

/// Returns true if a name matches the pieces. Where it does not, only the last `*` is tried with a byte
/// more: an earlier one could take no more than what lies between.
fn is_like(mut pieces: &[Piece], mut name: &[u8]) -> bool {
    // Most names differ at their end. A byte of ASCII there is a character of its own.
    while let Some((Piece::Byte(byte @ 0..=0x7f), before)) = pieces.split_last() {
        match name.split_last() {
            Some((end, left)) if end == byte => (pieces, name) = (before, left),
            Some(_) | None => return false,
        }
    }
    let mut last: Option<(&[Piece], &[u8])> = None;
    loop {
        match (pieces.split_first(), name.split_first()) {
            (Some((Piece::Bytes, rest)), _) => {
                last = Some((rest, name));
                pieces = rest;
                continue;
            }
            (Some((Piece::Byte(byte), rest)), Some((first, left))) if byte == first => {
                (pieces, name) = (rest, left);
                continue;
            }
            (Some((Piece::Character, rest)), Some(_)) => {
                (pieces, name) = (rest, after_character(name));
                continue;
            }
            (None, None) => return true,
            (Some((Piece::Byte(_) | Piece::Character, _)) | None, _) => {}
        }
        let Some((rest, from)) = last else { return false };
        let Some((_, from)) = from.split_first() else { return false };
        last = Some((rest, from));
        (pieces, name) = (rest, from);
    }
}

/// Returns the text behind the first character; each byte that is not UTF-8 counts as one.
fn after_character(name: &[u8]) -> &[u8] {
    let valid = name.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    name.get(valid.map_or(1, char::len_utf8)..).unwrap_or_default()
}

impl Serialize for PathRule {
    /// Writes the text that [`PathRule::new`] reads; an object with `hex` where that is not UTF-8.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        path_name::write(&self.text, serializer)
    }
}

impl<'de> Deserialize<'de> for PathRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(path_name::read(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl std::fmt::Display for PathRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Quoted(&self.text).fmt(f)
    }
}

impl std::fmt::Debug for PathRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for PathRule {
    type Err = PathRuleError;

    fn from_str(text: &str) -> Result<Self, PathRuleError> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests;
