//! Commands of a shell, as far as their text says for certain what they run and which files they change.
//!
//! This is no shell: variables, patterns and what a command prints are not known, and a command with any of it is passed over. What
//! is found here is certain; what is not found may happen all the same.

use std::path::{Path, PathBuf};

/// One program that a text runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// The program and its arguments; `None` stands for a word that is not known from the text.
    pub words: Vec<Option<String>>,
    /// Files that its output is written to.
    outputs: Vec<Option<String>>,
    /// Whether words before these were lost, so that the first is not the program.
    is_rest: bool,
}

/// A path that a command changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// The path, absolute.
    pub path: PathBuf,
    /// Whether it is removed with all below it.
    pub with_all_below: bool,
}

/// Texts within texts that are read at most (`sh -c 'sh -c …'`).
const DEPTH_MAX: usize = 4;
/// Words that come before the program.
const BEFORE_PROGRAM: [&str; 16] = [
    "!", "{", "command", "do", "else", "env", "exec", "if", "nice", "nohup", "sudo", "then", "time",
    "until", "while", "}",
];
/// Programs that run the text after `-c`.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];
/// Programs that change all files that they are given.
const CHANGE_ALL: [&str; 11] = [
    "chgrp", "chmod", "chown", "mkfifo", "mv", "rm", "rmdir", "shred", "tee", "touch", "truncate",
];
/// Programs that change the last file that they are given.
const CHANGE_LAST: [&str; 4] = ["cp", "install", "ln", "rsync"];

/// The programs that a text runs, those of texts within it among them.
pub fn commands(text: &str) -> Vec<ShellCommand> {
    let mut found = Vec::new();
    collect(text, DEPTH_MAX, &mut found);
    found
}

fn collect(text: &str, depth: usize, found: &mut Vec<ShellCommand>) {
    for command in Reader::default().read(text) {
        let inner = command.text_of_shell().map(str::to_owned);
        found.push(command);
        if let Some(inner) = inner.filter(|_| depth > 0) {
            collect(&inner, depth - 1, found);
        }
    }
}

/// The paths that these commands change for certain, when they run in `directory`. Those after a change of the directory that is not
/// known are not found.
pub fn changed_paths(
    commands: &[ShellCommand],
    directory: &Path,
    home: Option<&Path>,
) -> Vec<ChangedPath> {
    let mut directory = directory.to_owned();
    let mut changed = Vec::new();
    for command in commands {
        let place = |word: &str| match (word.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            (Some(_), None) | (None, _) => directory.join(word),
        };
        let arguments = command.program_and_arguments();
        let (program, arguments) = match arguments.split_first() {
            Some((Some(program), arguments)) => (name_of(program), arguments),
            Some((None, _)) | None => ("", [].as_slice()),
        };
        let removes_all = program == "rm" && arguments.iter().flatten().any(|it| is_recursive(it));
        let add = |word: &str| ChangedPath { path: place(word), with_all_below: removes_all };
        changed.extend(command.outputs.iter().flatten().map(|word| add(word)));
        changed.extend(changed_words(program, arguments).into_iter().map(add));
        if matches!(program, "cd" | "pushd" | "popd") {
            match arguments {
                [Some(to)] if program != "popd" && to != "-" => directory = place(to),
                _ => break,
            }
        }
    }
    changed
}

/// The arguments that name a changed file.
fn changed_words<'w>(program: &str, arguments: &'w [Option<String>]) -> Vec<&'w str> {
    let is_option = |word: &&str| word.starts_with('-') && word.len() > 1;
    let end = arguments.iter().position(|word| word.as_deref() == Some("--"));
    let (before, after) = arguments.split_at(end.unwrap_or(arguments.len()));
    let named = before.iter().flatten().map(String::as_str).filter(|word| !is_option(word));
    let named = named.chain(after.iter().skip(1).flatten().map(String::as_str));
    let edits_in_place = || {
        let mut options = arguments.iter().flatten().filter(|word| word.starts_with('-'));
        options.any(|word| word.starts_with("--in-place") || short_option(word, 'i'))
    };
    if CHANGE_ALL.contains(&program) || matches!(program, "sed" | "perl") && edits_in_place() {
        return named.collect();
    }
    if CHANGE_LAST.contains(&program) {
        // A word that is not known could be the last.
        let is_known = arguments.last().is_some_and(Option::is_some);
        return named.last().filter(|_| is_known).into_iter().collect();
    }
    match program {
        "dd" => named.filter_map(|word| word.strip_prefix("of=")).collect(),
        _ => Vec::new(),
    }
}

fn short_option(word: &str, option: char) -> bool {
    !word.starts_with("--") && word.starts_with('-') && word.contains(option)
}

fn is_recursive(word: &str) -> bool {
    word == "--recursive" || short_option(word, 'r') || short_option(word, 'R')
}

/// Name of a program without its directory.
fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

impl ShellCommand {
    /// The words from the program on: without assignments, and without programs that run another.
    pub fn program_and_arguments(&self) -> &[Option<String>] {
        if self.is_rest {
            return &[];
        }
        let is_before = |word: &Option<String>| {
            word.as_deref().is_some_and(|word| {
                BEFORE_PROGRAM.contains(&name_of(word)) || is_assignment(word)
            })
        };
        let start = self.words.iter().position(|word| !is_before(word));
        start.and_then(|start| self.words.get(start..)).unwrap_or_default()
    }

    /// All words, where they are known.
    pub fn known_words(&self) -> Option<Vec<String>> {
        let words = self.program_and_arguments();
        words.iter().cloned().collect::<Option<Vec<_>>>().filter(|words| !words.is_empty())
    }

    /// The text that a shell is to run.
    fn text_of_shell(&self) -> Option<&str> {
        let (program, arguments) = self.program_and_arguments().split_first()?;
        if !SHELLS.contains(&name_of(program.as_deref()?)) {
            return None;
        }
        let option = |word: &Option<String>| {
            word.as_deref().is_some_and(|word| short_option(word, 'c'))
        };
        let at = arguments.iter().position(option)?;
        arguments.get(at + 1)?.as_deref()
    }
}

/// Whether a word sets a variable for the program after it.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// What a word is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Word,
    /// The file that output goes to.
    Output,
    /// The file or text that input comes from.
    Input,
    /// The end of a text that follows.
    EndOfText,
}

/// What ends at a closing parenthesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Commands,
    /// What it prints becomes a part of a word.
    Substitution,
}

/// Reads a text of a shell.
#[derive(Default)]
struct Reader {
    found: Vec<ShellCommand>,
    command: ShellCommand,
    word: Option<Word>,
    role: Role,
    groups: Vec<Group>,
    /// Ends of texts that begin on the next line.
    texts: Vec<String>,
}

#[derive(Default)]
struct Word {
    text: String,
    is_unknown: bool,
    is_quoted: bool,
}

impl Reader {
    fn read(mut self, text: &str) -> Vec<ShellCommand> {
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            match self.step(next, rest) {
                Some(after) => rest = after,
                // From here on nothing is certain, and the command that was begun is not either.
                None => return self.found,
            }
        }
        self.end_command();
        self.found
    }

    /// Reads one character or more; what is left after it. `None` where the text cannot be read further.
    fn step<'t>(&mut self, next: char, rest: &'t str) -> Option<&'t str> {
        let after = rest.get(next.len_utf8()..)?;
        match next {
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
                self.groups.push(Group::Commands);
                Some(after)
            }
            ')' => {
                self.end_command();
                self.command.is_rest = self.groups.pop() == Some(Group::Substitution);
                Some(after)
            }
            '$' if after.starts_with('(') => {
                self.word().is_unknown = true;
                self.end_command();
                self.groups.push(Group::Substitution);
                after.get(1..)
            }
            '`' => None,
            '$' | '*' | '?' | '[' => {
                self.word().is_unknown = true;
                Some(after)
            }
            '{' if self.word.is_some() => {
                self.word().is_unknown = true;
                Some(after)
            }
            '~' if self.word.is_none() && !after.starts_with('/') => {
                self.word().is_unknown = true;
                Some(after)
            }
            _ => {
                self.word().text.push(next);
                Some(after)
            }
        }
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn quoted(&mut self) -> &mut Word {
        let word = self.word();
        word.is_quoted = true;
        word
    }

    fn double_quoted<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        self.quoted();
        let mut chars = text.char_indices();
        while let Some((at, char)) = chars.next() {
            match char {
                '"' => return text.get(at + 1..),
                '`' => return None,
                '$' if text.get(at + 1..)?.starts_with('(') => return None,
                '$' => self.word().is_unknown = true,
                '\\' => match chars.next()?.1 {
                    '\n' => {}
                    escaped @ ('"' | '\\' | '$' | '`') => self.word().text.push(escaped),
                    other => {
                        self.word().text.push('\\');
                        self.word().text.push(other);
                    }
                },
                _ => self.word().text.push(char),
            }
        }
        None
    }

    fn input<'t>(&mut self, after: &'t str) -> Option<&'t str> {
        self.end_word();
        let (role, after) = if let Some(after) = after.strip_prefix("<<") {
            (Role::Input, after)
        } else if let Some(after) = after.strip_prefix('<') {
            (Role::EndOfText, after.strip_prefix('-').unwrap_or(after))
        } else {
            (Role::Input, after.strip_prefix(['>', '&']).unwrap_or(after))
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
        let known = (!is_unknown).then_some(text);
        match std::mem::take(&mut self.role) {
            Role::Word => self.command.words.push(known),
            Role::Output if is_stream && !is_quoted => {}
            Role::Output => self.command.outputs.push(known),
            Role::Input => {}
            Role::EndOfText => self.texts.extend(known),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.role = Role::Word;
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() || !command.outputs.is_empty() {
            self.found.push(command);
        }
    }

    /// Skips the texts that begin on this line.
    fn skip_texts<'t>(&mut self, mut rest: &'t str) -> Option<&'t str> {
        for end in std::mem::take(&mut self.texts) {
            loop {
                let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
                rest = after;
                if line.trim_start_matches('\t') == end {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changed(text: &str) -> Vec<String> {
        let found = changed_paths(&commands(text), Path::new("/w"), Some(Path::new("/home/ada")));
        found.into_iter().map(|it| it.path.to_str().unwrap().to_owned()).collect()
    }

    /// Issue 27: what a command changes for certain is found, however it is quoted and wherever it stands.
    #[test]
    fn paths_that_a_command_changes_are_found() {
        for text in [
            "echo x > .env",
            "echo x >> '.env'",
            "echo x >.env 2>&1",
            "echo x 2>/w/.env",
            "cat <<EOF > .env\nrm other\nEOF\n",
            "cat > \".env\" <<'EOF'\nKEY=$x\nEOF",
            "cd /w && rm -rf .env",
            "true; rm .env",
            "false || rm -- .env",
            "(rm .env)",
            "x=$(rm .env)",
            "echo $(date) > .env",
            "sudo env A=1 rm .env",
            "if true; then rm .env; fi",
            "bash -c 'rm .env'",
            "sh -ec \"sh -c 'rm .env'\"",
            "/bin/rm .env",
            "rm \\\n  .env",
            "echo a | tee .env",
            "sed -i s/a/b/ .env",
            "sed --in-place=.bak -e x .env",
            "cp a .env",
            "dd if=a of=.env",
            "mv .env .env",
            "make &> .env",
            "rm .e'n'v # rm other",
        ] {
            let found = changed(text);
            assert!(found.contains(&"/w/.env".to_owned()), "{text}: {found:?}");
            assert!(!found.iter().any(|path| path.contains("other")), "{text}: {found:?}");
        }
        assert_eq!(changed("cd sub\nrm a"), ["/w/sub/a"]);
        assert_eq!(changed("rm ~/a"), ["/home/ada/a"]);
        let removed = changed_paths(&commands("rm -fr ."), Path::new("/w"), None);
        assert_eq!(removed, [ChangedPath { path: "/w/.".into(), with_all_below: true }]);
    }

    /// Issue 27: what is only named, quoted, or not known is not taken for a change.
    #[test]
    fn what_is_not_certain_is_passed_over() {
        for text in [
            "cat .env",
            "grep -r x .env",
            "echo 'rm .env'",
            "echo \"rm .env\"",
            "echo rm .env",
            "# rm .env",
            "cat <<EOF\nrm .env\nEOF",
            "git commit -m 'rm .env'",
            "rm $x",
            "rm *.env",
            "rm .env$suffix",
            "echo x > $file",
            "cd $dir; rm .env",
            "echo $(x) rm .env",
            "cp .env a",
            "cp .env $to",
            "sed s/a/b/ .env",
            "find . -name .env -exec rm {} +",
            "echo x 2>&1",
            "echo \"$(rm .env)\"",
            "diff <(cat .env) b",
            "",
        ] {
            let found = changed(text);
            assert!(!found.contains(&"/w/.env".to_owned()), "{text}: {found:?}");
        }
    }

    /// Issue 27: a command is known by its words, to be compared with rules.
    #[test]
    fn a_command_is_known_by_its_words() {
        let words = |text: &str| -> Vec<_> {
            commands(text).iter().filter_map(ShellCommand::known_words).collect()
        };
        assert_eq!(words("git push --force"), [["git", "push", "--force"]]);
        assert_eq!(words("A=1 sudo git push;ls | wc -l"), [vec!["git", "push"], vec!["ls"], vec!["wc", "-l"]]);
        assert_eq!(words("git push $remote"), Vec::<Vec<String>>::new());
        assert_eq!(words("echo ''"), [["echo", ""]]);
    }

    proptest! {
        /// Issue 27
        #[test]
        fn no_text_makes_it_panic(text in "[ -~\n\t'\"\\\\$`(){}<>&|;#*~é]{0,80}") {
            let found = commands(&text);
            drop(changed_paths(&found, Path::new("/w"), None));
        }

        /// Issue 27: words in single quotes are read back.
        #[test]
        fn quoted_words_are_read_as_they_were(words in prop::collection::vec("[^'\0]{0,12}", 1..5)) {
            let text = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
            let found = commands(&format!("run {text}"));
            let read: Vec<_> = found[0].words.iter().skip(1).map(|word| word.clone().unwrap()).collect();
            prop_assert_eq!(read, words);
        }
    }
}
