//! A command as its arguments, and how a command that is one text becomes that (AA-7).

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use serde::{Deserialize, Serialize};

/// How many arguments a command may have, the program among them.
pub const COMMAND_ARGUMENTS_MAX: usize = 1024;

/// How long one argument may be; Linux takes none that is longer (`MAX_ARG_STRLEN`, less its end).
pub const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// How long all arguments of a command may be together, and the text that it is read from.
pub const COMMAND_BYTES_MAX: usize = 1024 * 1024;

/// How much of a command a sentence shows.
const SHOWN_BYTES_MAX: usize = 1000;

/// What a shell would not take as it stands, outside quotes.
const METACHARACTERS: &str = ";&|<>$`(){}*?[]~#!";

/// A program and its arguments, which no shell ever reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct CommandLine {
    argv: Vec<String>,
}

/// Why something is no command. Places are characters, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// There is no program.
    #[error("the command names no program")]
    NoProgram,
    /// No program can be given such an argument.
    #[error("argument {number} of the command holds a NUL")]
    Nul {
        /// Which argument; the program is 0.
        number: usize,
    },
    /// More than [`COMMAND_ARGUMENTS_MAX`].
    #[error("the command has more than {COMMAND_ARGUMENTS_MAX} arguments: {count}")]
    Arguments {
        /// How many it has.
        count: usize,
    },
    /// More than [`ARGUMENT_BYTES_MAX`].
    #[error("argument {number} of the command has more than {ARGUMENT_BYTES_MAX} bytes: {bytes}")]
    Argument {
        /// Which argument; the program is 0.
        number: usize,
        /// How long it is.
        bytes: usize,
    },
    /// More than [`COMMAND_BYTES_MAX`].
    #[error("the command has more than {COMMAND_BYTES_MAX} bytes: {bytes}")]
    Bytes {
        /// How long it is.
        bytes: usize,
    },
    /// A shell would do something with it, and there is no shell.
    #[error(
        "the command is run without a shell, and the {} at character {place} would need one; quote \
         it where it is meant as it stands",
        name(*character)
    )]
    Metacharacter {
        /// What stands there.
        character: char,
        /// Where.
        place: usize,
    },
    /// A variable would be set before the command.
    #[error(
        "the command is run without a shell, and the `=` at character {place} would set a variable; \
         put `env` before it, or quote it where it belongs to the name of the program"
    )]
    Assignment {
        /// Where.
        place: usize,
    },
    /// A quote has no end.
    #[error("the {} at character {place} of the command is never closed", name(*quote))]
    Unclosed {
        /// Which quote.
        quote: char,
        /// Where it opens.
        place: usize,
    },
    /// A backslash has nothing behind it.
    #[error("the backslash at character {place} of the command has nothing behind it")]
    Backslash {
        /// Where.
        place: usize,
    },
}

impl CommandLineError {
    /// The permanent name of the problem.
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

/// What a reader sees of a character, also where it cannot be seen.
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
    /// A command of these arguments, the program first.
    ///
    /// # Errors
    /// [`CommandLineError`] where no program could be started with them, or a limit is passed.
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

    /// Reads a command that is one text (AA-7): its words are split and unquoted as POSIX.1-2024
    /// has it for a shell (XCU 2.2), and nothing else of a shell happens. What a shell would
    /// expand, redirect, run or skip is refused where it stands.
    ///
    /// # Errors
    /// [`CommandLineError`] naming the character and its place.
    pub fn parse(text: &str) -> Result<Self, CommandLineError> {
        if text.len() > COMMAND_BYTES_MAX {
            return Err(CommandLineError::Bytes { bytes: text.len() });
        }
        Words { chars: text.chars().peekable(), place: 0, argv: Vec::new() }.read()
    }

    /// The program and its arguments; there is at least the program.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// The command as one text, which [`CommandLine::parse`] reads back (where the quotes do not
    /// make it longer than [`COMMAND_BYTES_MAX`]).
    pub fn quoted(&self) -> String {
        let words = self.argv.iter().enumerate().map(|(number, word)| quoted(word, number == 0));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Whether a program can be given this as the argument of that number.
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

/// What needs no quotes; in the first word an `=` would set a variable.
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
    /// As a policy has it, `["cargo", "test"]`, without control characters, and cut where it is long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.argv).unwrap_or_else(|cut| cut))
    }
}

/// The arguments as an array in TOML and JSON; `Err` with its beginning where it is too long.
pub(crate) fn shown(argv: &[String]) -> Result<String, String> {
    array(argv.iter().map(|argument| escaped(argument)), "]")
}

/// An array of these items, up to its `end`; `Err` with its beginning where it is too long.
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

/// How many of these items an array shows, from the first on.
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

/// An argument as TOML and JSON both read it, cut where it is long.
pub(crate) fn shown_argument(argument: &str) -> String {
    let escaped = escaped(argument);
    if escaped.len() > SHOWN_BYTES_MAX { "…".to_owned() } else { escaped }
}

/// A string as TOML and JSON both read it.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 2);
    escaped.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => escaped.extend(['\\', char]),
            // Marks that turn the direction of what is shown would show another command.
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

/// Reads words, one character after another.
///
/// Crates that split words pass over metacharacters and do not say where a word began, so these
/// would have to be looked for in a second reading, which could see other quotes than the first.
struct Words<'a> {
    chars: Peekable<Chars<'a>>,
    /// Of the character that was read last, counted from 1.
    place: usize,
    argv: Vec<String>,
}

impl Words<'_> {
    fn read(mut self) -> Result<CommandLine, CommandLineError> {
        // `None` between words; `''` is a word, too.
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

    /// Behind a backslash outside quotes; a newline there would join two lines.
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
                // Before any other character a backslash stands for itself.
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
