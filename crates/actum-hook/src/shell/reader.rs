//! Cuts a text of a shell into words and commands (Shell Command Language, POSIX.1-2024 XCU chapter
//! 2, as far as it is certain).

use super::{ShellCommand, collect, is_assignment};

/// Quotes and substitutions inside each other that are read at most.
const NESTING_MAX: usize = 64;

/// Role of a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Word,
    /// The file that output goes to.
    Output,
    /// The file or text that input comes from.
    Input,
    /// The end of a text that follows; whether tabs before it do not count.
    EndOfText(bool),
}

/// Reads a text of a shell.
#[derive(Default)]
pub(super) struct Reader {
    found: Vec<ShellCommand>,
    command: ShellCommand,
    word: Option<Word>,
    role: Role,
    shells: Vec<usize>,
    /// Subshells that were begun.
    begun: usize,
    /// Texts within texts that are still read.
    depth: usize,
    /// Ends of texts that begin on the next line.
    texts: Vec<(String, bool)>,
}

#[derive(Default)]
struct Word {
    text: String,
    is_unknown: bool,
    is_quoted: bool,
}

impl Reader {
    pub(super) fn new(shells: Vec<usize>, depth: usize) -> Self {
        Self { shells, depth, ..Self::default() }
    }

    /// The number of a subshell that is begun.
    fn begin_shell(&mut self) -> usize {
        self.begun += 1;
        self.begun
    }

    pub(super) fn read(mut self, text: &str) -> Vec<ShellCommand> {
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            match self.step(next, rest) {
                Some(after) => rest = after,
                // From here on nothing is certain, nor is the command that was begun.
                None => return self.found,
            }
        }
        self.end_command();
        self.found
    }

    /// Reads one character or more; returns the text after it. `None` if the text cannot be read
    /// further.
    fn step<'t>(&mut self, next: char, rest: &'t str) -> Option<&'t str> {
        let after = rest.get(next.len_utf8()..)?;
        match next {
            '$' if after.starts_with('\'') => {
                self.quoted().is_unknown = true;
                skip_ansi_quoted(after.get(1..)?)
            }
            '$' if after.starts_with("((") => {
                self.word().is_unknown = true;
                Some(substituted(after.get(1..)?, ')', NESTING_MAX)?.1)
            }
            '&' | '|' | '<' | '>' | '(' | ')' if self.is_in_test() => {
                self.end_word();
                Some(after)
            }
            // Arithmetic, or the values of an array.
            '(' if self.word.is_none() && after.starts_with('(') => {
                Some(substituted(after, ')', NESTING_MAX)?.1)
            }
            '(' if self.word.as_ref().is_some_and(|word| word.text.ends_with('=')) => {
                self.word().is_unknown = true;
                Some(substituted(after, ')', NESTING_MAX)?.1)
            }
            // A function: whether it is called is not known.
            '(' if self.word.is_some() && after.starts_with(')') => None,
            '\'' => {
                let (quoted, after) = after.split_once('\'')?;
                self.quoted().text.push_str(quoted);
                Some(after)
            }
            '"' => self.double_quoted(after),
            '\\' => {
                let escaped = after.chars().next()?;
                if escaped != '\n' {
                    self.quoted().text.push(escaped);
                }
                after.get(escaped.len_utf8()..)
            }
            '\n' => {
                self.end_command();
                self.skip_texts(after)
            }
            ' ' | '\t' => {
                self.end_word();
                Some(after)
            }
            '#' if self.word.is_none() => {
                Some(after.find('\n').and_then(|end| after.get(end..)).unwrap_or_default())
            }
            ';' | '|' => {
                self.end_command();
                Some(after)
            }
            '&' => match after.strip_prefix('>') {
                Some(after) => {
                    self.begin_output();
                    Some(after.strip_prefix('>').unwrap_or(after))
                }
                None => {
                    self.end_command();
                    Some(after)
                }
            },
            '>' => {
                self.begin_output();
                Some(after.strip_prefix(['>', '|', '&']).unwrap_or(after))
            }
            '<' => self.input(after),
            '(' => {
                self.end_command();
                let shell = self.begin_shell();
                self.shells.push(shell);
                Some(after)
            }
            ')' => {
                self.end_command();
                self.shells.pop();
                Some(after)
            }
            '$' if after.starts_with('(') => self.substitution(after.get(1..)?, ')'),
            '`' => self.substitution(after, '`'),
            '$' | '*' | '?' => {
                self.word().is_unknown = true;
                Some(after)
            }
            '[' => {
                let word = self.word();
                word.is_unknown = true;
                word.text.push('[');
                Some(after)
            }
            '{' if self.word.is_some() => {
                self.word().is_unknown = true;
                Some(after)
            }
            '~' if self.word.is_none()
                && !after.starts_with(['/', ' ', '\t', '\n', ';', '&', '|']) =>
            {
                self.word().is_unknown = !after.is_empty();
                self.word().text.push(next);
                Some(after)
            }
            _ => {
                self.word().text.push(next);
                Some(after)
            }
        }
    }

    /// Returns true if the words are those of a `[[ … ]]`.
    fn is_in_test(&self) -> bool {
        let words = self.command.words.iter().rev().flatten();
        words.map(String::as_str).find(|word| matches!(*word, "[[" | "]]")) == Some("[[")
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn quoted(&mut self) -> &mut Word {
        let word = self.word();
        word.is_quoted = true;
        word
    }

    /// Reads a text whose output becomes a part of the word.
    fn substitution<'t>(&mut self, text: &'t str, end: char) -> Option<&'t str> {
        let (inner, after) = substituted(text, end, NESTING_MAX)?;
        self.word().is_unknown = true;
        if self.depth > 0 {
            let shell = self.begin_shell();
            let shells = [self.shells.as_slice(), &[shell]].concat();
            collect(inner, (shells, self.depth - 1), &mut self.found);
        }
        Some(after)
    }

    fn double_quoted<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        self.quoted();
        let mut rest = text;
        loop {
            let char = rest.chars().next()?;
            let after = rest.get(char.len_utf8()..)?;
            rest = match char {
                '"' => return Some(after),
                '`' => self.substitution(after, '`')?,
                '$' if after.starts_with("((") => {
                    self.word().is_unknown = true;
                    substituted(after.get(1..)?, ')', NESTING_MAX)?.1
                }
                '$' if after.starts_with('(') => self.substitution(after.get(1..)?, ')')?,
                '$' => {
                    self.word().is_unknown = true;
                    after
                }
                '\\' => {
                    let escaped = after.chars().next()?;
                    match escaped {
                        '\n' => {}
                        '"' | '\\' | '$' | '`' => self.word().text.push(escaped),
                        other => self.word().text.extend(['\\', other]),
                    }
                    after.get(escaped.len_utf8()..)?
                }
                other => {
                    self.word().text.push(other);
                    after
                }
            };
        }
    }

    fn input<'t>(&mut self, after: &'t str) -> Option<&'t str> {
        self.end_word();
        let (role, after) = if let Some(after) = after.strip_prefix("<<") {
            (Role::Input, after)
        } else if let Some(after) = after.strip_prefix('<') {
            let without_tabs = after.strip_prefix('-');
            (Role::EndOfText(without_tabs.is_some()), without_tabs.unwrap_or(after))
        } else if let Some(after) = after.strip_prefix('>') {
            (Role::Output, after)
        } else {
            (Role::Input, after.strip_prefix('&').unwrap_or(after))
        };
        self.role = role;
        Some(after)
    }

    /// A number before it is that of the stream, and no word.
    fn begin_output(&mut self) {
        let is_number = self.word.as_ref().is_some_and(|word| {
            !word.is_quoted && !word.is_unknown && word.text.bytes().all(|it| it.is_ascii_digit())
        });
        if is_number {
            self.word = None;
        }
        self.end_word();
        self.role = Role::Output;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let Word { text, is_unknown, is_quoted } = word;
        let is_stream = text == "-" || text.bytes().all(|byte| byte.is_ascii_digit());
        // Only the name of an assignment matters, and a bracket alone is a program.
        let end = text.clone();
        let is_known = !is_unknown || is_assignment(&text) || matches!(text.as_str(), "[" | "[[");
        let known = is_known.then_some(text);
        match std::mem::take(&mut self.role) {
            Role::Word => self.command.words.push(known),
            Role::Output if is_stream && !is_quoted => {}
            Role::Output => self.command.outputs.push(known.filter(|_| !is_unknown)),
            Role::Input => {}
            // An unknown end is not found, and reading stops there.
            Role::EndOfText(without_tabs) => self.texts.push((end, without_tabs)),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.role = Role::Word;
        let mut command = std::mem::take(&mut self.command);
        command.shells = self.shells.clone();
        if !command.words.is_empty() || !command.outputs.is_empty() {
            self.found.push(command);
        }
    }

    /// Skips the texts that begin on this line.
    fn skip_texts<'t>(&mut self, mut rest: &'t str) -> Option<&'t str> {
        for (end, without_tabs) in std::mem::take(&mut self.texts) {
            loop {
                let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
                rest = after;
                let line = if without_tabs { line.trim_start_matches('\t') } else { line };
                if line == end {
                    break;
                }
                if rest.is_empty() {
                    return None;
                }
            }
        }
        Some(rest)
    }
}

/// The text after a text in `$'…'`.
fn skip_ansi_quoted(text: &str) -> Option<&str> {
    let mut chars = text.char_indices();
    loop {
        match chars.next()? {
            (at, '\'') => return text.get(at + 1..),
            (_, '\\') => drop(chars.next()?),
            _ => {}
        }
    }
}

/// Returns the text up to the end of a substitution, and the text after it; `None` if it does not
/// end.
fn substituted(text: &str, end: char, nesting: usize) -> Option<(&str, &str)> {
    let (mut open, mut at) = (0usize, 0usize);
    loop {
        let rest = text.get(at..)?;
        let char = rest.chars().next()?;
        let next = at + char.len_utf8();
        at = match char {
            _ if char == end && open == 0 => return Some((text.get(..at)?, text.get(next..)?)),
            '\\' => next + text.get(next..)?.chars().next()?.len_utf8(),
            '\'' if end == ')' => next + text.get(next..)?.find('\'')? + 1,
            '"' if end == ')' => next + quoted_length(text.get(next..)?, nesting.checked_sub(1)?)?,
            '(' => {
                open += 1;
                next
            }
            ')' => {
                open = open.checked_sub(1)?;
                next
            }
            _ => next,
        };
    }
}

/// Length of a text in double quotes in bytes, with its end.
fn quoted_length(text: &str, nesting: usize) -> Option<usize> {
    let mut at = 0usize;
    loop {
        let rest = text.get(at..)?;
        let char = rest.chars().next()?;
        let next = at + char.len_utf8();
        at = match char {
            '"' => return Some(next),
            '\\' => next + text.get(next..)?.chars().next()?.len_utf8(),
            '$' if text.get(next..)?.starts_with('(') => {
                let (inner, _) = substituted(text.get(next + 1..)?, ')', nesting.checked_sub(1)?)?;
                next + 1 + inner.len() + 1
            }
            _ => next,
        };
    }
}
