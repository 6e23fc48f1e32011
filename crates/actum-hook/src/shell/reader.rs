//! Splits a shell text into words and commands (Shell Command Language, POSIX.1-2024 XCU chapter 2). Only
//! results that are certain are reported.

use super::{ShellCommand, collect, is_assignment};

/// Maximum nesting depth of quotes and substitutions.
const NESTING_MAX: usize = 64;

/// Role of a word in a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Role {
    /// The program or one of its arguments.
    #[default]
    Word,
    /// File to which output is redirected.
    Output,
    /// File or string that is the source of input.
    Input,
    /// Delimiter of a here-document. The flag is true for `<<-`, which ignores tabs at the start of lines.
    EndOfText(bool),
}

/// Parser of a shell text, with the state of the current command.
#[derive(Default)]
pub(super) struct Reader {
    found: Vec<ShellCommand>,
    command: ShellCommand,
    word: Option<Word>,
    role: Role,
    shells: Vec<usize>,
    /// Number of subshells that have been started so far.
    begun: usize,
    /// Number of further levels of nested shell texts to analyze.
    depth: usize,
    /// Delimiters of the here-documents that start on the next line, each with its `<<-` flag.
    texts: Vec<(String, bool)>,
}

/// Word that is being read, with the text known so far.
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

    /// Starts a subshell and returns its number.
    fn begin_shell(&mut self) -> usize {
        self.begun += 1;
        self.begun
    }

    pub(super) fn read(mut self, text: &str) -> Vec<ShellCommand> {
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            match self.step(next, rest) {
                Some(after) => rest = after,
                // The rest of the text cannot be interpreted with certainty, and neither can the current command.
                None => return self.found,
            }
        }
        self.end_command();
        self.found
    }

    /// Consumes one or more characters, and returns the remaining text. Returns `None` if the text cannot be
    /// interpreted any further.
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
            // Arithmetic evaluation `((…))`.
            '(' if self.word.is_none() && after.starts_with('(') => {
                Some(substituted(after, ')', NESTING_MAX)?.1)
            }
            // Array assignment `name=(…)`.
            '(' if self.word.as_ref().is_some_and(|word| word.text.ends_with('=')) => {
                self.word().is_unknown = true;
                Some(substituted(after, ')', NESTING_MAX)?.1)
            }
            // Stop at a function definition, because it is unknown whether the function is called.
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

    /// Returns true if the current position is inside `[[ … ]]`.
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

    /// Reads a command substitution, whose output becomes part of the current word.
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

    /// Starts an output redirection. A number directly before it is a file descriptor, not a word.
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
        // An assignment is known even if its value is not, and a single bracket is a program, not a pattern.
        let end = text.clone();
        let is_known = !is_unknown || is_assignment(&text) || matches!(text.as_str(), "[" | "[[");
        let known = is_known.then_some(text);
        match std::mem::take(&mut self.role) {
            Role::Word => self.command.words.push(known),
            Role::Output if is_stream && !is_quoted => {}
            Role::Output => self.command.outputs.push(known.filter(|_| !is_unknown)),
            Role::Input => {}
            // A delimiter of unknown value is never found, so reading stops there.
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

    /// Skips the here-documents that start on this line.
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

/// Skips a text in `$'…'`, and returns the text after it.
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

/// Splits a text at the end of a substitution into the inner text and the remaining text. Returns `None` if
/// the substitution is not closed.
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

/// Returns the length in bytes of a text in double quotes, including the closing quote.
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
