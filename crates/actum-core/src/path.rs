//! Workspace paths that are validated once, when they are created.

use std::fmt;

/// Path relative to the root of a workspace, which consists of one or more components joined by `/`.
///
/// No component is `.`, `..` or empty, contains a NUL byte, or names the state directory of actum or git. The bytes
/// need not be UTF-8. A value of this type proves that the path was validated. Only the kernel can determine whether a
/// component is a symbolic link, when the path is used (FO-7).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelPath(Box<[u8]>);

/// Maximum length of a path in bytes: Linux's `PATH_MAX` without the terminating NUL.
pub const PATH_BYTES_MAX: usize = 4095;
/// Maximum length of a path component in bytes: Linux's `NAME_MAX`.
pub const NAME_BYTES_MAX: usize = 255;

/// Reason why a path was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// The path is empty.
    #[error("it is empty")]
    Empty,
    /// The path starts with `/`.
    #[error("it is absolute; make it relative to the workspace root")]
    Absolute,
    /// The path has a `..` component.
    #[error("it contains `..`")]
    Parent,
    /// The path has a `.` component, two consecutive slashes, or a trailing slash.
    #[error("it contains a `.` component, `//` or a trailing `/`, which are not allowed")]
    NotPlain,
    /// The path contains a NUL byte.
    #[error("it contains a NUL byte")]
    Nul,
    /// The path is longer than [`PATH_BYTES_MAX`], or one of its components is longer than [`NAME_BYTES_MAX`].
    #[error("it is longer than the file system allows (255 bytes per name, 4095 in total)")]
    TooLong,
    /// The path contains `.git` or `.actum` as a component, in upper or lower case and at any depth (D-5).
    #[error("it is part of `.git` or `.actum`, which must not be changed")]
    Reserved,
}

/// Maximum number of bytes of an invalid path that an error message quotes.
const SHOWN_BYTES_MAX: usize = 200;

/// Error for a path that cannot be used in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the path `{}` cannot be used: {problem}", Cut(given, SHOWN_BYTES_MAX))]
pub struct PathError {
    /// Path that was rejected.
    pub given: Vec<u8>,
    /// Reason why the path was rejected.
    pub problem: PathProblem,
}

impl RelPath {
    /// Validates a path.
    ///
    /// # Errors
    /// The first [`PathProblem`] found.
    pub fn new(path: impl AsRef<[u8]>) -> Result<Self, PathError> {
        let path = path.as_ref();
        match check(path) {
            Some(problem) => Err(PathError { given: path.to_vec(), problem }),
            None => Ok(Self(path.into())),
        }
    }

    /// Returns the bytes of the path, in the form that system calls accept.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the path of the parent directory, or `None` if the parent is the workspace root.
    pub fn parent(&self) -> Option<Self> {
        let slash = self.0.iter().rposition(|&b| b == b'/')?;
        self.0.get(..slash).map(|parent| Self(parent.into()))
    }

    /// Returns the last component of the path.
    pub fn name(&self) -> &[u8] {
        self.0.rsplit(|&b| b == b'/').next().unwrap_or_default()
    }

    /// Iterates over the components of the path, starting at the workspace root.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|&b| b == b'/')
    }

    /// Reports whether the path contains invisible characters ([`is_not_shown`]), which can make it look like a
    /// different path.
    pub fn unseen(&self) -> Unseen {
        self.0.utf8_chunks().map(|chunk| unseen_in(chunk.valid())).max().unwrap_or(Unseen::Nothing)
    }

    /// Returns the number of components.
    pub fn depth(&self) -> usize {
        self.components().count()
    }

    /// Returns whether the path is equal to `ancestor` or below it. Paths are compared by whole components.
    pub fn starts_with(&self, ancestor: &Self) -> bool {
        match self.0.strip_prefix(ancestor.as_bytes()) {
            Some(rest) => rest.is_empty() || rest.starts_with(b"/"),
            None => false,
        }
    }
}

/// Invisible characters in a path. The variants are ordered by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unseen {
    /// The path has no invisible characters.
    Nothing,
    /// All invisible characters belong to an emoji: U+FE0F after an emoji, or U+200D between two of them.
    InEmoji,
    /// The path has invisible characters that do not belong to an emoji, so it may look like a different path.
    Deceptive,
}

/// Zero-width joiner, which combines two emoji into one. [`EMOJI_SELECTOR`] after a character requests its emoji form.
const JOINER: char = '\u{200d}';
const EMOJI_SELECTOR: char = '\u{fe0f}';

fn unseen_in(text: &str) -> Unseen {
    let mut unseen = Unseen::Nothing;
    let (mut before, mut is_emoji) = (None, false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        // An emoji may be followed by one variation selector, and then by a joiner and another emoji.
        let belongs = match c {
            EMOJI_SELECTOR => is_emoji && before != Some(EMOJI_SELECTOR),
            JOINER => is_emoji && characters.peek().copied().is_some_and(may_be_emoji),
            _ => false,
        };
        if is_not_shown(c) {
            unseen = unseen.max(if belongs { Unseen::InEmoji } else { Unseen::Deceptive });
        }
        is_emoji = may_be_emoji(c) || (c == EMOJI_SELECTOR && belongs);
        before = Some(c);
    }
    unseen
}

/// Returns whether a character is in a Unicode block that contains emoji. Some characters of these blocks are not
/// emoji.
fn may_be_emoji(c: char) -> bool {
    matches!(
        c,
        '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
            | '\u{2190}'..='\u{21ff}'
            | '\u{2300}'..='\u{23ff}'
            | '\u{25a0}'..='\u{27bf}'
            | '\u{2900}'..='\u{297f}'
            | '\u{2b00}'..='\u{2bff}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

fn check(path: &[u8]) -> Option<PathProblem> {
    if path.is_empty() {
        return Some(PathProblem::Empty);
    }
    if path.contains(&0) {
        return Some(PathProblem::Nul);
    }
    if path.starts_with(b"/") {
        return Some(PathProblem::Absolute);
    }
    if path.len() > PATH_BYTES_MAX {
        return Some(PathProblem::TooLong);
    }
    path.split(|&b| b == b'/').find_map(|component| match component {
        b".." => Some(PathProblem::Parent),
        b"" | b"." => Some(PathProblem::NotPlain),
        name if name.len() > NAME_BYTES_MAX => Some(PathProblem::TooLong),
        name if [&b".git"[..], b".actum"].iter().any(|r| name.eq_ignore_ascii_case(r)) => {
            Some(PathProblem::Reserved)
        }
        _ => None,
    })
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Quoted(&self.0), f)
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Displays bytes as text on a single line that can be copied from a terminal.
///
/// Tabs, newlines and carriage returns are shown as `\t`, `\n` and `\r`, and a backslash is doubled. Other control
/// characters, invisible characters, and bytes that are not valid UTF-8 are shown as `\ooo` octal escapes, as in git.
/// Consecutive spaces after the first one are escaped as well, so that padding cannot move text to the next line of a
/// terminal unnoticed. Two different inputs are never displayed as the same text.
pub struct Quoted<'a>(pub &'a [u8]);

/// Displays bytes for use between backticks. In addition to the escapes of [`Quoted`], every backtick is preceded by a
/// backslash.
pub struct InBackticks<'a>(pub &'a [u8]);

/// Displays untrusted bytes like [`Quoted`], truncated with `…` after the given number of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Cut<'a>(pub &'a [u8], pub usize);

impl fmt::Display for Cut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get(..self.1) {
            Some(start) if start.len() < self.0.len() => write!(f, "{}…", Quoted(start)),
            Some(_) | None => Quoted(self.0).fmt(f),
        }
    }
}

/// Displays file content like [`Cut`], except that up to 24 consecutive spaces are not escaped, so that indentation
/// stays readable.
#[derive(Debug, Clone, Copy)]
pub struct CutContent<'a>(pub &'a [u8], pub usize);

impl fmt::Display for CutContent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BLANKS_MAX: usize = 24;
        let start = self.0.get(..self.1).unwrap_or(self.0);
        write_quoted(f, start, BLANKS_MAX)?;
        if start.len() < self.0.len() { f.write_str("…") } else { Ok(()) }
    }
}

impl fmt::Display for InBackticks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, between) in self.0.split(|&byte| byte == b'`').enumerate() {
            if index > 0 {
                f.write_str("\\`")?;
            }
            Quoted(between).fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, self.0, 1)
    }
}

/// Writes bytes in the format of [`Quoted`], but escapes spaces only after `blanks_max` consecutive ones.
fn write_quoted(f: &mut fmt::Formatter<'_>, bytes: &[u8], blanks_max: usize) -> fmt::Result {
    let mut blanks = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\t' => f.write_str("\\t")?,
                '\\' => f.write_str("\\\\")?,
                ' ' if blanks >= blanks_max => write_octal(f, b" ")?,
                c => write_harmless(f, c)?,
            }
            blanks = if c == ' ' { blanks + 1 } else { 0 }; // all other whitespace is escaped
        }
        if !chunk.invalid().is_empty() {
            blanks = 0;
        }
        write_octal(f, chunk.invalid())?;
    }
    Ok(())
}

/// Displays a line of text without any characters that a terminal could interpret.
///
/// Control and invisible characters, unusual whitespace and invalid UTF-8 are shown as the escapes of [`Quoted`] in
/// angle brackets, such as `<\r>` and `<\033>`. All other characters, including tabs, are left unchanged.
///
/// INVARIANT: two different lines are never displayed as the same text. A `<` before a backslash is written as
/// `<\074>`, so `<\` always starts an escape.
pub struct Harmless<'a>(pub &'a [u8]);

impl fmt::Display for Harmless<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            let (text, mut written) = (chunk.valid(), 0);
            for (at, c) in text.char_indices() {
                let begins_escape = || text.as_bytes().get(at + 1) == Some(&b'\\');
                let is_escaped = match c {
                    '<' => begins_escape(),
                    '\t' => false,
                    c => needs_escape(c),
                };
                if is_escaped {
                    f.write_str(text.get(written..at).unwrap_or_default())?;
                    f.write_str("<")?;
                    match c {
                        '<' => f.write_str("\\074")?,
                        c => write_harmless(f, c)?,
                    }
                    f.write_str(">")?;
                    written = at + c.len_utf8();
                }
            }
            f.write_str(text.get(written..).unwrap_or_default())?;
            if !chunk.invalid().is_empty() {
                f.write_str("<")?;
                write_octal(f, chunk.invalid())?;
                f.write_str(">")?;
            }
        }
        Ok(())
    }
}

fn write_harmless(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        c if needs_escape(c) => write_octal(f, c.encode_utf8(&mut [0; 4]).as_bytes()),
        c => write!(f, "{c}"),
    }
}

pub(crate) fn write_octal(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "\\{byte:03o}"))
}

/// Returns whether a character does not appear as visible text in a terminal.
///
/// These are the control characters (C0, DEL, C1) and all invisible characters, which can make one text look like
/// another. The latter are ignorable characters, the blank Braille pattern, line and paragraph separators, interlinear
/// annotations, format controls of some scripts, and noncharacters. The command line uses some of these characters
/// internally to mark colors.
#[inline]
pub fn is_not_shown(c: char) -> bool {
    // Check for ASCII first, because almost all text is ASCII.
    !matches!(c, ' '..='~')
        && (c.is_control()
            || is_ignorable(c)
            || matches!(
                c,
                '\u{2028}'..='\u{2029}'
                    | '\u{2800}'
                    | '\u{fdd0}'..='\u{fdef}'
                    | '\u{fff9}'..='\u{fffb}'
                    | '\u{13430}'..='\u{1343f}'
                    | '\u{16fe4}'
                    | '\u{1d159}'
            )
            || u32::from(c) & 0xfffe == 0xfffe)
}

/// Returns whether a character is displayed as an escape.
///
/// Besides invisible characters, this includes characters that look like a space but are not treated as one by programs
/// (Unicode general category `Zs`). For example, a `#` after one of them does not start a comment in a shell. They are
/// allowed in file names.
#[inline]
pub fn needs_escape(c: char) -> bool {
    is_not_shown(c)
        || matches!(
            c,
            '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
        )
}

/// Returns whether a character is ignorable (Unicode property `Default_Ignorable_Code_Point`).
///
/// Such characters have no width or change the direction of the text. Some file systems ignore them when they compare
/// names.
pub fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(path: &[u8]) -> Option<PathProblem> {
        RelPath::new(path).err().map(|e| e.problem)
    }

    /// FO-7
    #[test]
    fn path_that_could_escape_the_workspace_is_refused() {
        assert_eq!(problem(b"../x"), Some(PathProblem::Parent));
        assert_eq!(problem(b"a/../../x"), Some(PathProblem::Parent));
        assert_eq!(problem(b"/etc/passwd"), Some(PathProblem::Absolute));
        assert_eq!(problem(b""), Some(PathProblem::Empty));
        assert_eq!(problem(b"a\0b"), Some(PathProblem::Nul));
        assert_eq!(problem(b"a//b"), Some(PathProblem::NotPlain));
        assert_eq!(problem(b"./a"), Some(PathProblem::NotPlain));
        assert_eq!(problem(b"a/"), Some(PathProblem::NotPlain));
    }

    /// D-5
    #[test]
    fn git_and_actum_state_is_refused_at_any_depth_and_letter_case() {
        for path in [".git", ".git/config", "a/.GIT/hooks/x", ".Actum/journal", "b/.actum"] {
            assert_eq!(problem(path.as_bytes()), Some(PathProblem::Reserved), "{path}");
        }
        for path in [".gitignore", ".github/workflows/ci.yml", "git", "a.git"] {
            assert_eq!(problem(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn lengths_are_limited_on_both_sides() {
        assert_eq!(problem("n".repeat(NAME_BYTES_MAX).as_bytes()), None);
        assert_eq!(problem("n".repeat(NAME_BYTES_MAX + 1).as_bytes()), Some(PathProblem::TooLong));
        let longest = "ab/".repeat(PATH_BYTES_MAX / 3 - 1) + "abc";
        assert_eq!(problem(longest.as_bytes()), None);
        let over = "a/".repeat(PATH_BYTES_MAX / 2) + "bc";
        assert_eq!(over.len(), PATH_BYTES_MAX + 1);
        assert_eq!(problem(over.as_bytes()), Some(PathProblem::TooLong));
    }

    #[test]
    fn starts_with_compares_whole_components() {
        let path = |p: &str| RelPath::new(p).unwrap();
        assert!(path("src/a").starts_with(&path("src")));
        assert!(path("src").starts_with(&path("src")));
        assert!(!path("src-evil/a").starts_with(&path("src")));
        assert_eq!(path("a/b/c").parent(), Some(path("a/b")));
        assert_eq!(path("a").parent(), None);
        assert_eq!(path("a/b/c").name(), b"c");
        assert_eq!(path("a/b/c").depth(), 3);
    }

    #[test]
    fn non_text_names_are_shown_escaped() {
        assert_eq!(RelPath::new(b"a\xff\n\\b\x1b").unwrap().to_string(), "a\\377\\n\\\\b\\033");
        assert_eq!(Harmless(b"a\t\\b\x1b[1m\r\xff").to_string(), "a\t\\b<\\033>[1m<\\r><\\377>");
    }

    #[test]
    fn line_endings_are_shown_as_letter_escapes() {
        assert_eq!(Quoted(b"a\r\n\tb").to_string(), "a\\r\\n\\tb");
        assert_eq!(Harmless(b"a\r\n\tb").to_string(), "a<\\r><\\n>\tb");
    }

    /// D-4
    #[test]
    fn text_that_looks_like_an_escape_is_escaped() {
        let shown = |text: &[u8]| Harmless(text).to_string();
        assert_eq!(shown(b"<\\r>"), "<\\074>\\r>");
        assert_eq!(shown(b"\r<\\r>"), "<\\r><\\074>\\r>");
        assert_eq!(
            shown(b"ab\x1b\xc3\xa9<\\033><x\xff<\\n>"),
            "ab<\\033>\u{e9}<\\074>\\033><x<\\377><\\074>\\n>"
        );
    }

    /// D-4
    #[test]
    fn single_line_text_cannot_forge_the_output_layout() {
        assert_eq!(Quoted(b"ok   evil  x").to_string(), "ok \\040\\040evil \\040x");
        for blank in ["\u{a0}", "\u{2003}", "\u{3000}"] {
            let octal: String = blank.bytes().map(|byte| format!("\\{byte:03o}")).collect();
            let shown = Quoted(format!("a {blank}{blank}b").as_bytes()).to_string();
            assert_eq!(shown, format!("a {octal}{octal}b"));
        }
        assert_eq!(InBackticks(b"`root` approves").to_string(), "\\`root\\` approves");
    }

    /// D-4
    #[test]
    fn different_texts_are_never_shown_alike() {
        let parts: [&[u8]; 12] = [
            b"<",
            b"\\",
            b">",
            b"r",
            b"\r",
            b"\n",
            b"0",
            b"7",
            b"4",
            b"\x1b",
            b"\xff",
            b"\xc3\xa9",
        ];
        let mut texts = vec![Vec::new()];
        for _ in 0..4 {
            let longer = |text: &Vec<u8>| parts.map(|part| [text.as_slice(), part].concat());
            texts = texts.iter().flat_map(longer).collect();
        }
        texts.push(b"<\\r>".to_vec());
        texts.push(b"<\\074>\\r>".to_vec());
        let count = |shown: fn(&[u8]) -> String| {
            let shown: std::collections::BTreeSet<_> = texts.iter().map(|it| shown(it)).collect();
            shown.len()
        };
        let distinct = texts.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(count(|text| Harmless(text).to_string()), distinct);
        assert_eq!(count(|text| Quoted(text).to_string()), distinct);
    }

    /// D-4
    #[test]
    fn name_with_invisible_characters_is_deceptive() {
        let is_deceptive = |name: &str| RelPath::new(name).unwrap().unseen() == Unseen::Deceptive;
        for unseen in ["\n", "\t", "\x7f", "\u{9b}", "\u{ad}", "\u{61c}", "\u{200d}", "\u{e0041}"] {
            assert!(is_deceptive(&format!("a/b{unseen}c")), "{unseen:?}");
        }
        assert!(!is_deceptive("a\\b é 日本 \u{a0}🦀"));
        let digits = RelPath::new(b"a\xff\x9b").unwrap();
        assert_eq!(digits.unseen(), Unseen::Nothing, "shown by its octal digits");
    }

    /// D-4
    #[test]
    fn joiners_and_selectors_are_accepted_only_within_an_emoji() {
        let unseen = |name: &str| RelPath::new(name).unwrap().unseen();
        for name in [
            "\u{2764}\u{fe0f}.md",
            "a/\u{1f469}\u{200d}\u{1f4bb}",
            "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}",
            "\u{1f469}\u{1f3fd}\u{200d}\u{2764}\u{fe0f}\u{200d}\u{1f468}",
        ] {
            assert_eq!(unseen(name), Unseen::InEmoji, "{name:?}");
        }
        for name in [
            ".e\u{200d}nv",
            "a\u{fe0f}",
            "\u{1f469}\u{200d}a",
            "\u{1f469}\u{200d}",
            "\u{200d}\u{1f469}",
            "\u{1f469}\u{200d}\u{200d}\u{1f4bb}",
            "\u{2764}\u{fe0f}\u{fe0f}",
            "\u{2764}\u{fe0e}",
            "1\u{fe0f}\u{20e3}",
            "\u{2764}\u{fe0f}\u{202e}",
        ] {
            assert_eq!(unseen(name), Unseen::Deceptive, "{name:?}");
        }
        assert_eq!(unseen("\u{2764}\u{1f469}"), Unseen::Nothing);
    }

    #[test]
    fn invisible_characters_are_shown_escaped() {
        for unseen in [
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{200b}',
            '\u{200f}',
            '\u{feff}',
            '\u{3164}',
            '\u{e0101}',
            '\u{2028}',
            '\u{1d159}',
            '\u{10ffff}',
            // Characters that look like a space but are not treated as one by programs.
            '\u{a0}',
            '\u{2009}',
            '\u{3000}',
        ] {
            let text = format!("a{unseen}b");
            let escaped: String =
                unseen.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect();
            let expected = format!("a{escaped}b");
            assert_eq!(Quoted(text.as_bytes()).to_string(), expected);
            let expected = format!("a<{escaped}>b");
            assert_eq!(Harmless(text.as_bytes()).to_string(), expected);
        }
        let seen = "é 日本 x\u{2010}\u{2070}🦀";
        assert_eq!(Quoted(seen.as_bytes()).to_string(), seen);
        // Such spaces are allowed in names, because screenshot tools use them.
        let name = RelPath::new("Screenshot 10.15\u{202f}PM").unwrap();
        assert_eq!(name.unseen(), Unseen::Nothing);
    }
}
