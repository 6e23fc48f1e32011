//! Commands as lists of arguments, and a parser for commands that are written as one string (AA-7).

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use serde::{Deserialize, Serialize};

/// Maximum number of arguments of a command, including the program.
pub const COMMAND_ARGUMENTS_MAX: usize = 1024;

/// Maximum length of an argument, in bytes. It is the limit of Linux (`MAX_ARG_STRLEN`) without the terminating NUL.
pub const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// Maximum total length of the arguments of a command, and of the text that it is parsed from, in bytes.
pub const COMMAND_BYTES_MAX: usize = 1024 * 1024;

/// Maximum length of a command in a message, in bytes.
const SHOWN_BYTES_MAX: usize = 1000;

/// Characters that a shell would interpret outside quotes.
const METACHARACTERS: &str = ";&|<>$`(){}*?[]~#!";

/// Program and its arguments, which are never interpreted by a shell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct CommandLine {
    argv: Vec<String>,
}

/// Reason why a command is invalid. Positions count characters, starting at 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// The command is empty, or its program is an empty string.
    #[error("the command does not name a program")]
    NoProgram,
    /// An argument contains a NUL byte, which cannot be passed to a program.
    #[error("argument {number} of the command contains a NUL byte")]
    Nul {
        /// Index of the argument. The program has index 0.
        number: usize,
    },
    /// The command has more arguments than [`COMMAND_ARGUMENTS_MAX`].
    #[error("the command has {count} arguments, but the limit is {COMMAND_ARGUMENTS_MAX}")]
    Arguments {
        /// Number of arguments, including the program.
        count: usize,
    },
    /// An argument is longer than [`ARGUMENT_BYTES_MAX`].
    #[error(
        "argument {number} of the command has {bytes} bytes, but the limit is {ARGUMENT_BYTES_MAX}"
    )]
    Argument {
        /// Index of the argument. The program has index 0.
        number: usize,
        /// Length of the argument, in bytes.
        bytes: usize,
    },
    /// The command is longer than [`COMMAND_BYTES_MAX`].
    #[error("the command has {bytes} bytes, but the limit is {COMMAND_BYTES_MAX}")]
    Bytes {
        /// Length of the command, in bytes.
        bytes: usize,
    },
    /// The command contains an unquoted character that only a shell could interpret.
    #[error(
        "the command is run without a shell, but the {} at character {place} would need one; quote it \
         to pass it literally",
        name(*character)
    )]
    Metacharacter {
        /// Character that a shell would interpret.
        character: char,
        /// Position of the character in the command.
        place: usize,
    },
    /// The command begins with a variable assignment, which only a shell could carry out.
    #[error(
        "the command is run without a shell, but the `=` at character {place} would set a variable; put \
         `env` before it, or quote it if it is part of the program's name"
    )]
    Assignment {
        /// Position of the `=` in the command.
        place: usize,
    },
    /// A quote is not closed.
    #[error("the {} at character {place} of the command is never closed", name(*quote))]
    Unclosed {
        /// Character that opens the quote.
        quote: char,
        /// Position of the opening quote.
        place: usize,
    },
    /// The command ends with an unquoted backslash.
    #[error("the backslash at character {place} of the command is not followed by a character")]
    Backslash {
        /// Position of the backslash in the command.
        place: usize,
    },
}

impl CommandLineError {
    /// Returns the permanent reason code of the problem.
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

/// Returns a visible name for a character, even if it is a control character.
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
    /// Creates a command from its arguments, starting with the program.
    ///
    /// # Errors
    /// Returns [`CommandLineError`] if no program could be started with these arguments, or a limit is exceeded.
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

    /// Parses a command from a string (AA-7).
    ///
    /// The string is split into words and unquoted as POSIX.1-2024 specifies for shells (XCU 2.2). No other shell syntax is
    /// supported: text that a shell would expand, redirect, run or skip is rejected.
    ///
    /// # Errors
    /// Returns [`CommandLineError`] if the string uses shell syntax or is not a valid command.
    pub fn parse(text: &str) -> Result<Self, CommandLineError> {
        if text.len() > COMMAND_BYTES_MAX {
            return Err(CommandLineError::Bytes { bytes: text.len() });
        }
        Words { chars: text.chars().peekable(), place: 0, argv: Vec::new() }.read()
    }

    /// Returns the program, followed by its arguments.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// Returns the command as a string that [`CommandLine::parse`] accepts, unless the quotes make it longer than
    /// [`COMMAND_BYTES_MAX`].
    pub fn quoted(&self) -> String {
        let words = self.argv.iter().enumerate().map(|(number, word)| quoted(word, number == 0));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Checks that the argument at this index can be passed to a program, or can name the program if the index is 0.
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

/// Quotes a word if necessary. A program with an `=` must be quoted, because it would otherwise be read as an assignment.
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
    /// Formats the command as in a policy, for example `["cargo", "test"]`. Control characters are escaped, and a long
    /// command is truncated.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.argv).unwrap_or_else(|cut| cut))
    }
}

/// Formats arguments as an array that is valid in both TOML and JSON. If it is too long, returns a truncated array as
/// `Err`.
pub(crate) fn shown(argv: &[String]) -> Result<String, String> {
    array(argv.iter().map(|argument| escaped(argument)), "]")
}

/// Formats an array of formatted items, followed by `end`. If it is too long, returns a truncated array as `Err`.
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

/// Returns the number of leading items that fit into an array of the maximum length.
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

/// Formats an argument as a string that is valid in both TOML and JSON, or as `…` if it is too long.
pub(crate) fn shown_argument(argument: &str) -> String {
    let escaped = escaped(argument);
    if escaped.len() > SHOWN_BYTES_MAX { "…".to_owned() } else { escaped }
}

/// Formats text as a quoted string that is valid in both TOML and JSON.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 2);
    escaped.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => escaped.extend(['\\', char]),
            // Characters that change the text direction could make the command look like a different one.
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

/// Parser that splits a command into words, one character at a time.
///
/// No crate is used for this, because existing ones ignore metacharacters and do not report positions. Finding the
/// metacharacters in a second pass is not safe, because it could interpret quotes differently.
struct Words<'a> {
    chars: Peekable<Chars<'a>>,
    /// Position of the character that was read last, starting at 1.
    place: usize,
    argv: Vec<String>,
}

impl Words<'_> {
    fn read(mut self) -> Result<CommandLine, CommandLineError> {
        // `None` means that no word has begun. An empty word (`''`) is `Some("")`.
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

    /// Reads the character after an unquoted backslash. A newline is rejected, because a shell would join the two lines.
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
                // Inside double quotes, a backslash is literal unless one of these characters follows.
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
