//! Command as a list of arguments, and the parser for a command in one string (AA-7).

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use serde::{Deserialize, Serialize};

/// Maximum number of arguments of a command, including the program.
pub const COMMAND_ARGUMENTS_MAX: usize = 1024;

/// Maximum length of an argument, in bytes: the limit of Linux (`MAX_ARG_STRLEN`, less its NUL).
pub const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// Maximum length of all arguments of a command together, and of the text that it is parsed from.
pub const COMMAND_BYTES_MAX: usize = 1024 * 1024;

/// Maximum length of a command in a message.
const SHOWN_BYTES_MAX: usize = 1000;

/// Characters outside quotes that a shell would interpret.
const METACHARACTERS: &str = ";&|<>$`(){}*?[]~#!";

/// Program and its arguments, never interpreted by a shell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct CommandLine {
    argv: Vec<String>,
}

/// Reason why a command is invalid. Positions are in characters, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// No program.
    #[error("the command names no program")]
    NoProgram,
    /// NUL byte in an argument, which no program can receive.
    #[error("argument {number} of the command holds a NUL")]
    Nul {
        /// Number of the argument; the program is 0.
        number: usize,
    },
    /// More arguments than [`COMMAND_ARGUMENTS_MAX`].
    #[error("the command has more than {COMMAND_ARGUMENTS_MAX} arguments: {count}")]
    Arguments {
        /// Number of arguments.
        count: usize,
    },
    /// Argument longer than [`ARGUMENT_BYTES_MAX`].
    #[error("argument {number} of the command has more than {ARGUMENT_BYTES_MAX} bytes: {bytes}")]
    Argument {
        /// Number of the argument; the program is 0.
        number: usize,
        /// Length in bytes.
        bytes: usize,
    },
    /// Longer than [`COMMAND_BYTES_MAX`].
    #[error("the command has more than {COMMAND_BYTES_MAX} bytes: {bytes}")]
    Bytes {
        /// Length in bytes.
        bytes: usize,
    },
    /// Character that only a shell would interpret.
    #[error(
        "the command is run without a shell, and the {} at character {place} would need one; quote \
         it where it is meant as it stands",
        name(*character)
    )]
    Metacharacter {
        /// Character.
        character: char,
        /// Position of the character.
        place: usize,
    },
    /// Assignment of a variable before the command.
    #[error(
        "the command is run without a shell, and the `=` at character {place} would set a variable; \
         put `env` before it, or quote it where it belongs to the name of the program"
    )]
    Assignment {
        /// Position of the `=`.
        place: usize,
    },
    /// Quote without an end.
    #[error("the {} at character {place} of the command is never closed", name(*quote))]
    Unclosed {
        /// Quote character.
        quote: char,
        /// Position of the opening quote.
        place: usize,
    },
    /// Backslash at the end.
    #[error("the backslash at character {place} of the command has nothing behind it")]
    Backslash {
        /// Position of the backslash.
        place: usize,
    },
}

impl CommandLineError {
    /// Returns the permanent name of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoProgram | Self::Nul { .. } => "COMMAND_MALFORMED",
            Self::Arguments { .. } | Self::Argument { .. } | Self::Bytes { .. } => {
                "COMMAND_TOO_LARGE"
            }
            Self::Metacharacter { .. } | Self::Assignment { .. } => "COMMAND_NEEDS_A_SHELL",
            Self::Unclosed { .. } | Self::Backslash { .. } => "COMMAND_MALFORMED",
        }
    }
}

/// Returns a visible name of a character, even of a control character.
fn name(character: char) -> String {
    match character {
        '\n' => "newline".to_owned(),
        '`' => "backtick".to_owned(),
        '\'' => "single quote".to_owned(),
        '"' => "double quote".to_owned(),
        _ if character.is_control() => {
            format!("control character U+{:04X}", u32::from(character))
        }
        _ => format!("`{character}`"),
    }
}

impl CommandLine {
    /// Builds a command from these arguments, the program first.
    ///
    /// # Errors
    /// [`CommandLineError`] if no program can be started with them, or a limit is exceeded.
    pub fn new(argv: Vec<String>) -> Result<Self, CommandLineError> {
        if argv.is_empty() {
            return Err(CommandLineError::NoProgram);
        }
        if argv.len() > COMMAND_ARGUMENTS_MAX {
            return Err(CommandLineError::Arguments { count: argv.len() });
        }
        for (number, argument) in argv.iter().enumerate() {
            check_argument(number, argument)?;
        }
        let bytes = argv.iter().map(String::len).sum();
        if bytes > COMMAND_BYTES_MAX {
            return Err(CommandLineError::Bytes { bytes });
        }
        Ok(Self { argv })
    }

    /// Parses a command in one string (AA-7). It splits and unquotes words as POSIX.1-2024 specifies for a
    /// shell (XCU 2.2), and does nothing else of a shell. Any text that a shell would expand, redirect, run
    /// or skip is rejected.
    ///
    /// # Errors
    /// [`CommandLineError`] with the character and its position.
    pub fn parse(text: &str) -> Result<Self, CommandLineError> {
        if text.len() > COMMAND_BYTES_MAX {
            return Err(CommandLineError::Bytes { bytes: text.len() });
        }
        Words { chars: text.chars().peekable(), place: 0, argv: Vec::new() }.read()
    }

    /// Returns the program and its arguments; at least the program.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// Returns the command as one string, which [`CommandLine::parse`] accepts, unless the quotes make it
    /// longer than [`COMMAND_BYTES_MAX`].
    pub fn quoted(&self) -> String {
        let words = self.argv.iter().enumerate().map(|(number, word)| quoted(word, number == 0));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Checks that a program can receive this argument at that position.
pub(crate) fn check_argument(number: usize, argument: &str) -> Result<(), CommandLineError> {
    let bytes = argument.len();
    if number == 0 && argument.is_empty() {
        Err(CommandLineError::NoProgram)
    } else if argument.contains('\0') {
        Err(CommandLineError::Nul { number })
    } else if bytes > ARGUMENT_BYTES_MAX {
        Err(CommandLineError::Argument { number, bytes })
    } else {
        Ok(())
    }
}

/// Quotes a word if needed; in the program an `=` would set a variable.
fn quoted(word: &str, is_program: bool) -> String {
    let is_plain = |char: char| {
        char.is_ascii_alphanumeric() || "-_./,:@%+".contains(char) || char == '=' && !is_program
    };
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl TryFrom<Vec<String>> for CommandLine {
    type Error = CommandLineError;

    fn try_from(argv: Vec<String>) -> Result<Self, Self::Error> {
        Self::new(argv)
    }
}

impl From<CommandLine> for Vec<String> {
    fn from(line: CommandLine) -> Self {
        line.argv
    }
}

impl fmt::Display for CommandLine {
    /// Formats the command as in a policy, `["cargo", "test"]`, without control characters, and truncated if
    /// it is long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.argv).unwrap_or_else(|cut| cut))
    }
}

/// Formats the arguments as an array in TOML and JSON; `Err` with its beginning if it is too long.
pub(crate) fn shown(argv: &[String]) -> Result<String, String> {
    array(argv.iter().map(|argument| escaped(argument)), "]")
}

/// Formats an array of these items, followed by `end`; `Err` with its beginning if it is too long.
pub(crate) fn array(items: impl Iterator<Item = String>, end: &str) -> Result<String, String> {
    let mut text = "[".to_owned();
    for (number, item) in items.enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        if text.len() + item.len() > SHOWN_BYTES_MAX {
            return Err(format!("{text}{comma}…]"));
        }
        text = text + comma + &item;
    }
    Ok(text + end)
}

/// Returns the number of leading items that fit into an array.
pub(crate) fn shown_count(items: impl Iterator<Item = String>) -> usize {
    let mut bytes = 1;
    let mut shown = 0;
    for item in items {
        if bytes + item.len() > SHOWN_BYTES_MAX {
            break;
        }
        bytes += item.len() + if shown == 0 { 0 } else { 2 };
        shown += 1;
    }
    shown
}

/// Formats an argument as a string in TOML and JSON, or `…` if it is too long.
pub(crate) fn shown_argument(argument: &str) -> String {
    let escaped = escaped(argument);
    if escaped.len() > SHOWN_BYTES_MAX { "…".to_owned() } else { escaped }
}

/// Formats a string for both TOML and JSON.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 2);
    escaped.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => escaped.extend(['\\', char]),
            // Marks that reverse the text direction would make it look like another command.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                escaped += &format!("\\u{:04x}", u32::from(char));
            }
            _ if char.is_control() => escaped += &format!("\\u{:04x}", u32::from(char)),
            _ => escaped.push(char),
        }
    }
    escaped.push('"');
    escaped
}

/// Word reader, one character at a time.
///
/// Crates that split words ignore metacharacters and do not report where a word began. Finding them would
/// need a second pass, which could interpret the quotes differently from the first.
struct Words<'a> {
    chars: Peekable<Chars<'a>>,
    /// Position of the last read character, counted from 1.
    place: usize,
    argv: Vec<String>,
}

impl Words<'_> {
    fn read(mut self) -> Result<CommandLine, CommandLineError> {
        // `None` between words; `''` is also a word.
        let mut word: Option<String> = None;
        while let Some(char) = self.next() {
            match char {
                ' ' | '\t' => self.argv.extend(word.take()),
                '\'' => self.single(word.get_or_insert_default())?,
                '"' => self.double(word.get_or_insert_default())?,
                '\\' => {
                    let escaped = self.escaped()?;
                    word.get_or_insert_default().push(escaped);
                }
                '=' if self.argv.is_empty() => {
                    return Err(CommandLineError::Assignment { place: self.place });
                }
                _ if char.is_control() || METACHARACTERS.contains(char) => {
                    return Err(self.metacharacter(char));
                }
                _ => word.get_or_insert_default().push(char),
            }
        }
        self.argv.extend(word);
        CommandLine::new(self.argv)
    }

    fn next(&mut self) -> Option<char> {
        let next = self.chars.next();
        self.place += usize::from(next.is_some());
        next
    }

    fn metacharacter(&self, character: char) -> CommandLineError {
        CommandLineError::Metacharacter { character, place: self.place }
    }

    /// Reads the character after a backslash outside quotes; a newline there would join two lines.
    fn escaped(&mut self) -> Result<char, CommandLineError> {
        let place = self.place;
        match self.next() {
            None => Err(CommandLineError::Backslash { place }),
            Some('\n') => Err(self.metacharacter('\n')),
            Some(char) => Ok(char),
        }
    }

    fn single(&mut self, word: &mut String) -> Result<(), CommandLineError> {
        let place = self.place;
        loop {
            match self.next() {
                None => return Err(CommandLineError::Unclosed { quote: '\'', place }),
                Some('\'') => return Ok(()),
                Some(char) => word.push(char),
            }
        }
    }

    fn double(&mut self, word: &mut String) -> Result<(), CommandLineError> {
        let place = self.place;
        loop {
            match self.next() {
                None => return Err(CommandLineError::Unclosed { quote: '"', place }),
                Some('"') => return Ok(()),
                Some(char @ ('$' | '`')) => return Err(self.metacharacter(char)),
                // Before any other character a backslash is literal.
                Some('\\') => match self.chars.peek() {
                    Some('$' | '`' | '"' | '\\') => word.extend(self.next()),
                    Some('\n') => {
                        self.next();
                        return Err(self.metacharacter('\n'));
                    }
                    Some(_) | None => word.push('\\'),
                },
                Some(char) => word.push(char),
            }
        }
    }
}
