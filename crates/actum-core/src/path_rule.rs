//! Path patterns, in the single syntax that scopes and policies use.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::path::{NAME_BYTES_MAX, PATH_BYTES_MAX, Quoted};
use crate::{RelPath, path_name};

/// Maximum number of components in a rule.
pub const RULE_COMPONENTS_MAX: usize = 63;

/// Pattern for paths below the root of a workspace.
///
/// - `src` and `src/main.rs` match that path and, if it is a directory, everything below it.
/// - `src/` matches everything below `src`, but not a file with the name `src`.
/// - `*` matches any number of bytes within a name, including none. `?` matches a single character.
/// - `**` matches any number of path components, including none: `**/*.rs`, `src/**/tests`.
/// - `\` matches the next character literally: `app/\[id\]/page.tsx`.
///
/// A rule is compared with whole path components, never with a prefix of the text, and the comparison is
/// case-sensitive. Characters that other pattern languages use for classes, alternatives or negation (`[`, `]`, `{`,
/// `}`, and a leading `!`) are rejected, because a rule that unexpectedly matches nothing also protects nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct PathRule {
    text: Box<[u8]>,
    names: Vec<NameRule>,
    /// Whether the rule ends with `/`, so that it matches everything below a directory, but not a file with its name.
    below_only: bool,
}

/// First or last byte of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameEnd {
    /// First byte of a name.
    First(u8),
    /// Last byte of a name.
    Last(u8),
}

/// Pattern for a single component of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NameRule {
    /// The pattern `**`, which matches any number of components.
    Any,
    /// A literal name without wildcards.
    Is(Vec<u8>),
    /// A name that contains wildcards.
    Like(Vec<Piece>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Byte(u8),
    /// The wildcard `?`, which matches one character.
    Character,
    /// The wildcard `*`, which matches any number of bytes.
    Bytes,
}

/// Reason why a text is not a valid path rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathRuleProblem {
    /// The rule is empty.
    #[error("it is empty; use `**` to match every path")]
    Empty,
    /// The rule starts with `/`.
    #[error("it is absolute; make it relative to the workspace root")]
    Absolute,
    /// The rule has a `..` component.
    #[error("it contains `..`")]
    Parent,
    /// The rule has a `.` component or two consecutive slashes.
    #[error("it contains a `.` component or `//`, which are not allowed")]
    NotPlain,
    /// The rule contains a NUL byte.
    #[error("it contains a NUL byte")]
    Nul,
    /// The rule is longer than any path, or has more than [`RULE_COMPONENTS_MAX`] components.
    #[error("it is longer than a path can be (255 bytes per name, 4095 in total, 63 names)")]
    TooLong,
    /// The rule contains a character that has a special meaning only in other pattern languages.
    #[error("{}", other_dialect(*.0))]
    OtherDialect(u8),
    /// The rule contains `**` as part of a longer name.
    #[error("`**` must be a whole path component; within a name, use `*`")]
    StarsInName,
    /// The rule ends with a single `\`.
    #[error("it ends with `\\`, which must be followed by another character")]
    LoneEscape,
}

fn other_dialect(sign: u8) -> String {
    let sign = char::from(sign);
    let instead = match sign {
        '!' => "a rule cannot be negated",
        '{' | '}' => "write one rule per alternative",
        _ => "use `?` for one character or `*` for any number",
    };
    format!("`{sign}` is not supported: {instead}; to match it literally, write `\\{sign}`")
}

/// Error for a text that is not a valid path rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{}` cannot be used: {problem}", crate::path::Cut(given, 200))]
pub struct PathRuleError {
    /// Text that was rejected.
    pub given: Vec<u8>,
    /// Reason why the text was rejected.
    pub problem: PathRuleProblem,
}

impl PathRule {
    /// Parses a rule.
    ///
    /// # Errors
    /// The first [`PathRuleProblem`] found.
    pub fn new(text: impl AsRef<[u8]>) -> Result<Self, PathRuleError> {
        let text = text.as_ref();
        read(text).map_err(|problem| PathRuleError { given: text.to_vec(), problem })
    }

    /// Returns the rule that matches exactly this path and everything below it. Returns `None` if the path has too many
    /// components for a rule.
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

    /// Returns the text of the rule.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// Returns whether a path could exist that both rules match.
    ///
    /// Only the literal names before the first wildcard are compared, so this can also return `true` for rules that
    /// never match the same path.
    pub fn may_meet(&self, other: &Self) -> bool {
        self.fixed_names().zip(other.fixed_names()).all(|(one, other)| one == other)
    }

    /// Iterates over the literal names before the first wildcard.
    fn fixed_names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map_while(|name| match name {
            NameRule::Is(name) => Some(name.as_slice()),
            NameRule::Any | NameRule::Like(_) => None,
        })
    }

    /// Returns whether the rule matches `path`.
    pub fn covers(&self, path: &RelPath) -> bool {
        self.covers_names(path.components())
    }

    /// Returns whether the rule matches a path, given as its components from first to last.
    ///
    /// A caller that does not compare names byte by byte, for example to ignore case, must pass the names in the same
    /// normalized form as the rule.
    pub fn covers_names<'p>(&self, path: impl Iterator<Item = &'p [u8]>) -> bool {
        self.covers_names_beyond(0, path)
    }

    /// Returns whether the rule matches a path beyond its first `least` components.
    ///
    /// A match that ends within the first `least` components is ignored, because these are directories above a
    /// workspace, and a rule about files does not apply to them.
    pub fn covers_names_beyond<'p>(
        &self,
        least: usize,
        path: impl Iterator<Item = &'p [u8]>,
    ) -> bool {
        // Fast path for the most common form of rules, `**/NAME`.
        if let ([NameRule::Any, rule], false) = (&*self.names, self.below_only) {
            return path.skip(least).any(|name| rule.is_met_by(name));
        }
        let end = 1u64 << self.names.len();
        // Bit set of the rule's components that may match the next name, with one additional bit for the end of the
        // rule.
        let mut next = self.passed(1);
        let mut path = path.enumerate().peekable();
        while let Some((index, name)) = path.next() {
            next = self.after_name(next, name);
            // A rule that matches a directory also matches everything below it.
            if next & end != 0 && index >= least && (!self.below_only || path.peek().is_some()) {
                return true;
            }
        }
        false
    }

    /// Returns whether a match that begins inside `path` could continue below it. A leading `**` does not begin a
    /// match, so `**/x` only begins to match at `x`.
    pub fn leads_below(&self, path: &RelPath) -> bool {
        self.leads_below_names(path.components())
    }

    /// Same as [`leads_below`](Self::leads_below), for a path given as its components.
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

    /// Advances the match by one name. Takes and returns the bit set of the rule's components that may match next, with
    /// one additional bit for the end of the rule.
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

    /// Returns a byte with which some component of every matching path must begin or end, if the rule determines one.
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

    /// Returns whether the rule begins with `**`, so that a match can start at any component of a path.
    pub fn begins_anywhere(&self) -> bool {
        self.names.first() == Some(&NameRule::Any)
    }

    /// Returns the longest literal name in the rule. Every path that the rule matches has a component with this name.
    pub fn name(&self) -> Option<&[u8]> {
        let names = self.names.iter().filter_map(|rule| match rule {
            NameRule::Is(name) => Some(&**name),
            NameRule::Any | NameRule::Like(_) => None,
        });
        names.max_by_key(|name| name.len())
    }

    /// Returns the rule with its literal names converted by `form`, for comparison with names in the same form.
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

    /// Returns whether the rule matches every path.
    pub fn covers_everything(&self) -> bool {
        let is_any = |rule: &NameRule| match rule {
            NameRule::Any => true,
            NameRule::Like(pieces) => pieces.iter().all(|piece| *piece == Piece::Bytes),
            NameRule::Is(_) => false,
        };
        let names = self.names.iter().filter(|rule| **rule != NameRule::Any).count();
        !self.below_only && names <= 1 && self.names.iter().all(is_any)
    }

    /// Adds the components that can be reached without another name, because `**` may match no names at all.
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

/// Converts each sequence of literal bytes between wildcards by `form`.
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

/// Returns whether a name matches a sequence of pieces.
///
/// On a mismatch, only the most recent `*` is extended by a byte. Extending an earlier one could not help, because the
/// most recent `*` can already match any bytes.
fn is_like(mut pieces: &[Piece], mut name: &[u8]) -> bool {
    // Compare the end first, because most names differ there. Only ASCII bytes are compared, because they are always
    // whole characters.
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

/// Returns the rest of a name after its first character. A byte that is not valid UTF-8 is treated as one character.
fn after_character(name: &[u8]) -> &[u8] {
    let valid = name.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    name.get(valid.map_or(1, char::len_utf8)..).unwrap_or_default()
}

impl Serialize for PathRule {
    /// Serializes the text of the rule as a string, or as an object with the member `hex` if it is not valid UTF-8.
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
