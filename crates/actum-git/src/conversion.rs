//! Determines whether git would convert the content of a file when storing it.
//!
//! The result follows from settings, attributes and the content, like in git's `convert.c`, and no filter is run. In
//! cases that would need a closer look, the file is treated as converted. Such a file is not committed, but nothing is
//! lost.

use std::path::Path;

use git2::{AttrCheckFlags, AttrValue, Repository as Raw};

use crate::problem::{GitProblem, ResultExt};
use crate::unfit::Conversion;

const DOING: &str = "reading the attributes of a file";

/// Conversion rules of git for the content of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentRules {
    always: Option<Conversion>,
    ident: bool,
    line_ends: LineEnds,
}

/// Treatment of CRLF line endings by git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    /// CRLF is kept.
    Kept,
    /// CRLF is converted to LF if git considers the content to be text.
    OfText(Conversion),
    /// CRLF is always converted to LF.
    Always,
}

impl ContentRules {
    pub(crate) fn new(raw: &Raw, path: &Path) -> Result<Self, GitProblem> {
        let filter = attribute(raw, path, "filter", |value| is_text(&value))?;
        let encoding = attribute(raw, path, "working-tree-encoding", |value| is_text(&value))?;
        let always = match (filter, encoding) {
            (true, _) => Some(Conversion::Filter),
            (false, true) => Some(Conversion::Encoding),
            (false, false) => None,
        };
        let ident = attribute(raw, path, "ident", |value| value == AttrValue::True)?;
        Ok(Self { always, ident, line_ends: LineEnds::new(raw, path)? })
    }

    /// Returns the conversion that git would apply to `bytes`, if any.
    pub(crate) fn converts(&self, bytes: &[u8]) -> Option<Conversion> {
        if self.always.is_some() {
            return self.always;
        }
        if self.ident && bytes.windows(4).any(|window| window == b"$Id:") {
            return Some(Conversion::Ident);
        }
        let has_crlf = || bytes.windows(2).any(|window| window == b"\r\n");
        match self.line_ends {
            LineEnds::Kept => None,
            LineEnds::Always => has_crlf().then_some(Conversion::LineEnds),
            // git treats content that contains a NUL byte as binary.
            LineEnds::OfText(why) => (!bytes.contains(&0) && has_crlf()).then_some(why),
        }
    }

    /// Returns the conversion that git would apply to any content of the path, if there is one.
    pub(crate) fn always(&self) -> Option<Conversion> {
        self.always
    }
}

impl LineEnds {
    fn new(raw: &Raw, path: &Path) -> Result<Self, GitProblem> {
        // `crlf` is the former name of `text`, and only applies if `text` is not specified.
        let mut found = attribute(raw, path, "text", Named::new)?;
        if found == Named::Nothing {
            found = attribute(raw, path, "crlf", Named::new)?;
        }
        let eol = attribute(raw, path, "eol", |value| is_text(&value))?;
        Ok(match found {
            Named::Off => Self::Kept,
            Named::Auto => Self::OfText(Conversion::LineEnds),
            Named::On => Self::Always,
            Named::Nothing if eol => Self::Always,
            Named::Nothing if is_automatic(raw)? => Self::OfText(Conversion::AutoCrlf),
            Named::Nothing => Self::Kept,
        })
    }
}

/// Value of the attribute `text` or `crlf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Nothing,
    Off,
    On,
    Auto,
}

impl Named {
    fn new(value: AttrValue<'_>) -> Self {
        match value {
            AttrValue::Unspecified => Self::Nothing,
            AttrValue::False => Self::Off,
            AttrValue::True => Self::On,
            AttrValue::String("auto") => Self::Auto,
            // This covers `crlf=input`. Unknown values are treated as the strictest one.
            AttrValue::String(_) | AttrValue::Bytes(_) => Self::On,
        }
    }
}

fn attribute<T>(
    raw: &Raw,
    path: &Path,
    name: &str,
    read: impl Fn(AttrValue<'_>) -> T,
) -> Result<T, GitProblem> {
    let value = raw.get_attr_bytes(path, name, AttrCheckFlags::FILE_THEN_INDEX).doing(DOING)?;
    Ok(read(AttrValue::from_bytes(value)))
}

fn is_text(value: &AttrValue<'_>) -> bool {
    match value {
        AttrValue::String(_) | AttrValue::Bytes(_) => true,
        AttrValue::True | AttrValue::False | AttrValue::Unspecified => false,
    }
}

/// Returns true if `core.autocrlf` is set to any value except false.
fn is_automatic(raw: &Raw) -> Result<bool, GitProblem> {
    let config = raw.config().doing(DOING)?;
    match config.get_entry("core.autocrlf") {
        Ok(entry) => {
            let is_off = git2::Config::parse_bool(entry.value_bytes()) == Ok(false);
            Ok(!(entry.has_value() && is_off))
        }
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(false),
        Err(source) => Err(GitProblem::Git { doing: DOING, source }),
    }
}
