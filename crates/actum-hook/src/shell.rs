//! Static analysis of shell commands, which determines the programs that a text runs and the files that it
//! changes.
//!
//! The analysis does not execute anything. The values of variables, patterns and command substitutions are
//! unknown, and words that contain them are ignored. Every reported result is certain, but the absence of a
//! result proves nothing.

mod plain;
mod reader;

pub use plain::plain_words;

use std::path::{Path, PathBuf};

use reader::Reader;

/// Program that a shell text runs, with its arguments and output redirections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// Words of the command, which are the program and its arguments. `None` stands for a word whose value is
    /// unknown.
    pub words: Vec<Option<String>>,
    /// Files to which the output is redirected. `None` stands for a path that is unknown.
    outputs: Vec<Option<String>>,
    /// Subshells that the command runs in, outermost first. A change of directory only lasts until the end of its
    /// subshell.
    shells: Vec<usize>,
}

/// Path that a shell command changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// Absolute path of the changed file or directory.
    pub path: PathBuf,
    /// Whether the command removes the path recursively.
    pub is_removed: bool,
    /// Whether the change also affects everything below the path.
    pub with_all_below: bool,
    /// Whether the command follows a symbolic link at the path and changes its target.
    pub follows_link: bool,
}

impl ChangedPath {
    /// Returns the change of writing to a file, which follows a symbolic link.
    pub fn written(path: PathBuf) -> Self {
        Self { path, is_removed: false, with_all_below: false, follows_link: true }
    }
}

/// Maximum depth of nested shell texts to analyze (`sh -c 'sh -c …'`).
const DEPTH_MAX: usize = 4;
/// Reserved words of the shell that can precede a program.
const KEYWORDS: [&str; 11] =
    ["!", "{", "}", "do", "elif", "else", "if", "then", "until", "while", "coproc"];
/// Programs that run another program, each with its short options that take a value and the number of operands before the
/// other program.
const RUNNERS: [(&str, &str, usize); 13] = [
    ("builtin", "", 0),
    ("command", "", 0),
    ("doas", "uC", 0),
    ("env", "uCS", 0),
    ("exec", "a", 0),
    ("ionice", "cnpP", 0),
    ("nice", "n", 0),
    ("nohup", "", 0),
    ("setsid", "", 0),
    ("stdbuf", "ioe", 0),
    ("sudo", "ugpCTRrth", 0),
    ("time", "fo", 0),
    ("timeout", "sk", 1),
];
/// Shells, which run the text after `-c`.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];
/// Programs that change all files in their arguments, each with its short options that take a value.
const CHANGE_ALL: [(&str, &str); 12] = [
    ("chgrp", ""),
    ("chmod", ""),
    ("chown", ""),
    ("mkfifo", "m"),
    ("mv", "St"),
    ("rm", ""),
    ("rmdir", ""),
    ("shred", "ns"),
    ("tee", ""),
    ("touch", "rdt"),
    ("truncate", "sr"),
    ("unlink", ""),
];
/// Programs that change only the last file in their arguments, each with its short options that take a value.
const CHANGE_LAST: [(&str, &str); 4] =
    [("cp", "St"), ("install", "mogSt"), ("ln", "St"), ("rsync", "eBMTf")];

/// Long options whose value is the next word.
const LONG_WITH_WORD: [&str; 5] = ["date", "reference", "size", "suffix", "target-directory"];

/// Returns the programs that a shell text runs, including those in nested texts such as `sh -c '…'`.
pub fn commands(text: &str) -> Vec<ShellCommand> {
    let mut found = Vec::new();
    collect(text, (Vec::new(), DEPTH_MAX), &mut found);
    found
}

fn collect(text: &str, (shells, depth): (Vec<usize>, usize), found: &mut Vec<ShellCommand>) {
    for command in Reader::new(shells, depth).read(text) {
        let inner = command.text_of_shell().map(str::to_owned);
        // Counting down from the maximum avoids the numbers that `Reader` assigns to subshells.
        let shells = [command.shells.as_slice(), &[usize::MAX - found.len()]].concat();
        found.push(command);
        if let Some(inner) = inner.filter(|_| depth > 0) {
            collect(&inner, (shells, depth - 1), found);
        }
    }
}

/// Returns the paths that the commands are certain to change if they are run in `directory`. After a change to
/// an unknown directory, only absolute paths are reported.
pub fn changed_paths(
    commands: &[ShellCommand],
    directory: &Path,
    home: Option<&Path>,
) -> Vec<ChangedPath> {
    let mut changed = Vec::new();
    // Current directory of the main shell and of each nested subshell.
    let mut directories = vec![(Vec::new(), Some(directory.to_owned()))];
    for command in commands {
        directories.retain(|(shells, _)| command.shells.starts_with(shells));
        let here = directories.last().and_then(|(_, here)| here.clone());
        let place = |word: &str| match (word, word.strip_prefix("~/")) {
            ("~", _) => home.map(Path::to_owned),
            (_, Some(below)) => home.map(|home| home.join(below)),
            (_, None) if word.starts_with('/') => Some(PathBuf::from(word)),
            (_, None) => here.as_ref().map(|here| here.join(word)),
        };
        let arguments = command.program_and_arguments();
        let (program, arguments) = match arguments.split_first() {
            Some((Some(program), arguments)) => (name_of(program), arguments),
            Some((None, _)) | None => ("", [].as_slice()),
        };
        let is_removed = program == "rm" && arguments.iter().flatten().any(|it| is_recursive(it));
        let words = changed_words(program, arguments);
        // `mv` affects everything below its sources, but not everything below its destination.
        let moved = if program == "mv" { words.len().saturating_sub(1) } else { 0 };
        let follows_link = !matches!(program, "rm" | "unlink" | "mv" | "ln");
        changed.extend(words.into_iter().enumerate().filter_map(|(index, word)| {
            let with_all_below = is_removed || index < moved;
            Some(ChangedPath { path: place(word)?, is_removed, with_all_below, follows_link })
        }));
        let outputs = command.outputs.iter().flatten();
        changed.extend(outputs.filter_map(|word| Some(ChangedPath::written(place(word)?))));
        if matches!(program, "cd" | "pushd" | "popd") {
            let named = arguments.iter().filter(|word| !is_option(word.as_deref()));
            let to = match (program, named.collect::<Vec<_>>().as_slice()) {
                ("cd", []) => home.map(Path::to_owned),
                ("cd" | "pushd", [Some(to)]) if !to.starts_with(['-', '+']) => place(to),
                _ => None,
            };
            directories.retain(|(shells, _)| shells.len() < command.shells.len());
            directories.push((command.shells.clone(), to));
        }
    }
    changed
}

/// Returns true if a word is an option. A single `-` and a word of unknown value are not options.
fn is_option(word: Option<&str>) -> bool {
    word.is_some_and(|word| word.starts_with('-') && word.len() > 1)
}

/// Returns the operands, which are the arguments that are neither options nor values of the short options in `with_word`.
fn operands<'w>(arguments: &'w [Option<String>], with_word: &str) -> Vec<Option<&'w str>> {
    let mut operands = Vec::new();
    let mut words = arguments.iter().map(Option::as_deref);
    while let Some(word) = words.next() {
        match word {
            Some("--") => {
                operands.extend(words);
                break;
            }
            Some(option) if is_option(word) => {
                let takes = |letter: char| with_word.contains(letter);
                let takes_word = match option.strip_prefix("--") {
                    Some(name) => LONG_WITH_WORD.contains(&name),
                    None => option.chars().next_back().is_some_and(takes),
                };
                if takes_word {
                    words.next();
                }
            }
            Some(_) | None => operands.push(word),
        }
    }
    operands
}

/// Returns the arguments that name a file that the program changes.
fn changed_words<'w>(program: &str, arguments: &'w [Option<String>]) -> Vec<&'w str> {
    let options = || arguments.iter().flatten().filter(|word| is_option(Some(word)));
    let has = |letter: char| options().any(|word| short_option(word, letter));
    let known = |words: Vec<Option<&'w str>>| words.into_iter().flatten().collect::<Vec<_>>();
    if let Some((_, with_word)) = CHANGE_ALL.iter().find(|(name, _)| *name == program) {
        let words = operands(arguments, with_word);
        let is_first_no_file = matches!(program, "chmod" | "chown" | "chgrp")
            && !options().any(|it| it.starts_with("--reference"));
        return known(words.into_iter().skip(usize::from(is_first_no_file)).collect());
    }
    if let Some((_, with_word)) = CHANGE_LAST.iter().find(|(name, _)| *name == program) {
        let into_directory = has('t') || options().any(|it| it.starts_with("--target-directory"));
        let mut words = operands(arguments, with_word);
        // A single operand is the source, not the destination. rsync can also write to a remote host.
        let last = words.pop().flatten().filter(|_| !words.is_empty() && !into_directory);
        let is_remote = |word: &str| {
            program == "rsync" && word.split('/').next().unwrap_or_default().contains(':')
        };
        return last.filter(|word| !is_remote(word)).into_iter().collect();
    }
    // In a group of short options of perl, these letters take the rest of the word as their value.
    let has_i = |word: &String| {
        let letters =
            word.chars().skip(1).take_while(|it| program == "sed" || !"CDEFIMVmx".contains(*it));
        !word.starts_with("--") && letters.into_iter().any(|it| it == 'i')
    };
    let in_place = || options().any(|it| has_i(it) || it.starts_with("--in-place"));
    match program {
        "sed" | "perl" if in_place() => {
            let has_script = options().any(|it| it.ends_with('e') || it.ends_with('f'));
            let words = operands(arguments, "ef");
            let script = usize::from(program == "sed" && !has_script);
            known(words.into_iter().skip(script).collect())
        }
        // `git clean -x` and `-X` remove ignored files, and therefore also `.actum`.
        "git" => {
            let is_clean = operands(arguments, "cC").first() == Some(&Some("clean"));
            let (removes, only_shows) =
                (has('x') || has('X'), has('n') || options().any(|it| it == "--dry-run"));
            if is_clean && removes && !only_shows { vec![".actum"] } else { Vec::new() }
        }
        "dd" => {
            let words = operands(arguments, "").into_iter().flatten();
            words.filter_map(|word| word.strip_prefix("of=")).collect()
        }
        _ => Vec::new(),
    }
}

fn short_option(word: &str, option: char) -> bool {
    !word.starts_with("--") && word.starts_with('-') && word.contains(option)
}

fn is_recursive(word: &str) -> bool {
    word == "--recursive" || short_option(word, 'r') || short_option(word, 'R')
}

/// Returns the file name of a program's path.
fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

impl ShellCommand {
    /// Returns the program and its arguments, without leading assignments and without wrappers such as `sudo` or `env`.
    pub fn program_and_arguments(&self) -> &[Option<String>] {
        let mut words = self.words.as_slice();
        while let Some((Some(word), rest)) = words.split_first() {
            let name = name_of(word);
            if KEYWORDS.contains(&name) || is_assignment(word) {
                words = rest;
                continue;
            }
            let Some((_, with_word, before)) = RUNNERS.iter().find(|(it, ..)| *it == name) else {
                return words;
            };
            words = rest;
            let mut before = *before;
            loop {
                match words.split_first() {
                    Some((Some(option), rest)) if is_option(Some(option)) => {
                        // With these options, the wrapper only looks up the program and does not run it.
                        let only_shows = match name {
                            "command" => option.to_ascii_lowercase().contains('v'),
                            "sudo" => option == "-l",
                            _ => false,
                        };
                        if only_shows {
                            return &[];
                        }
                        let takes =
                            option.chars().next_back().is_some_and(|it| with_word.contains(it));
                        let takes = takes && !option.starts_with("--");
                        words = if takes { rest.get(1..).unwrap_or_default() } else { rest };
                    }
                    Some((_, rest)) if before > 0 => {
                        before -= 1;
                        words = rest;
                    }
                    Some(_) | None => break,
                }
            }
        }
        words
    }

    /// Returns the program and its arguments, or `None` if any of them is unknown.
    pub fn known_words(&self) -> Option<Vec<String>> {
        let words = self.program_and_arguments();
        words.iter().cloned().collect::<Option<Vec<_>>>().filter(|words| !words.is_empty())
    }

    /// Returns the commands of the shell that an `actum exec` command starts, or an empty list for any other
    /// command. Their changes become a run, which evaluates the gates for them.
    pub fn commands_of_exec(&self) -> Vec<ShellCommand> {
        let words = self.program_and_arguments();
        let name = words.first().and_then(|word| word.as_deref()).map(name_of);
        let Some(end) = words.iter().position(|word| word.as_deref() == Some("--")) else {
            return Vec::new();
        };
        // Options, such as `-q`, can come before the verb.
        let is_exec = words.iter().take(end).skip(1).any(|word| word.as_deref() == Some("exec"));
        if name != Some("actum") || !is_exec {
            return Vec::new();
        }
        let inner = words.get(end + 1..).unwrap_or_default().to_vec();
        let started = Self { words: inner, ..Self::default() };
        started.text_of_shell().map(commands).unwrap_or_default()
    }

    /// Returns the text that follows `-c` if the program is a shell.
    fn text_of_shell(&self) -> Option<&str> {
        let (program, arguments) = self.program_and_arguments().split_first()?;
        if !SHELLS.contains(&name_of(program.as_deref()?)) {
            return None;
        }
        // The first operand is a script file, and all later words are arguments of that script.
        let mut at = 0;
        loop {
            let word = arguments.get(at)?.as_deref()?;
            if !is_option(Some(word)) {
                return None;
            }
            if short_option(word, 'c') {
                break;
            }
            at += if word.ends_with(['o', 'O']) { 2 } else { 1 };
        }
        let rest = arguments.get(at + 1..)?;
        rest.iter().find(|word| !is_option(word.as_deref()))?.as_deref()
    }
}

/// Returns true if a word assigns a variable (`NAME=value` or `NAME+=value`).
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changed(text: &str) -> Vec<String> {
        let found = changed_paths(&commands(text), Path::new("/w"), Some(Path::new("/home/ada")));
        found.into_iter().map(|it| it.path.to_str().unwrap().to_owned()).collect()
    }

    /// Issue 27: the changes of a command are found regardless of quoting and of the command's position in the text.
    #[test]
    fn finds_the_paths_a_command_changes() {
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
        let (path, is_removed, with_all_below) = ("/w/.".into(), true, true);
        assert_eq!(
            removed,
            [ChangedPath { path, is_removed, with_all_below, follows_link: false }]
        );
    }

    /// Issue 27: a path that is only mentioned, part of a quoted text, or not fully known is not reported as changed.
    #[test]
    fn paths_not_fully_known_are_not_reported_as_changed() {
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
            "echo \"$(cat <<EOF\ndon't rm .env\nEOF\n)\"; true",
            "cp .env a",
            "cp .env $to",
            "sed s/a/b/ .env",
            "find . -name .env -exec rm {} +",
            "echo x 2>&1",
            "diff <(cat .env) b",
            "echo $'a\\'b'; echo 'x; rm .env; y'",
            "if [[ a > .env ]]; then true; fi",
            "[[ -f x && a > .env ]]",
            "(( a > .env ))",
            "echo $(( a > .env ))",
            "a=(rm .env)",
            "f() { rm .env; }",
            "perl -MFile::Basename -e 1 .env",
            "touch --reference .env a",
            "chmod .env x",
            "ln -s .env",
            "rsync a .env:/x",
            "sudo -l rm .env",
            "bash build.sh -c 'rm .env'",
            "cd -; rm .env",
            "cat <<$E\nrm .env\nE\n",
            "(cd sub); (cd ..; rm .env)",
            "",
        ] {
            let found = changed(text);
            assert!(!found.contains(&"/w/.env".to_owned()), "{text}: {found:?}");
        }
    }

    /// Issue 27: `git clean -x` removes actum's state directory together with all other ignored files.
    #[test]
    fn git_clean_of_ignored_files_changes_the_state_directory() {
        for text in ["git clean -fdx", "git clean -fX", "git -C . clean -x -f"] {
            assert_eq!(changed(text), ["/w/.actum"], "{text}");
        }
        for text in ["git clean -fd", "git clean -ndx", "git clean --dry-run -x", "git checkout -x"]
        {
            assert_eq!(changed(text), Vec::<String>::new(), "{text}");
        }
    }

    /// Issue 27: the nesting of substitutions is limited, so that no text can overflow the stack.
    #[test]
    fn nested_substitutions_are_limited() {
        let nested =
            |count: usize| format!("{}x{}; rm .env", "\"$(".repeat(count), ")\"".repeat(count));
        assert_eq!(changed(&nested(8)), ["/w/.env"]);
        assert_eq!(changed(&nested(200_000)), Vec::<String>::new());
        assert_eq!(changed(&"\"$(".repeat(200_000)), Vec::<String>::new());
        assert_eq!(changed(&"(".repeat(200_000)), Vec::<String>::new());
    }

    /// Issue 27: the words of a command are available for comparison with command rules.
    #[test]
    fn command_words_are_available_to_command_rules() {
        let words = |text: &str| -> Vec<_> {
            commands(text).iter().filter_map(ShellCommand::known_words).collect()
        };
        assert_eq!(words("git push --force"), [["git", "push", "--force"]]);
        assert_eq!(
            words("A=1 sudo git push;ls | wc -l"),
            [vec!["git", "push"], vec!["ls"], vec!["wc", "-l"]]
        );
        assert_eq!(words("git push $remote"), Vec::<Vec<String>>::new());
        assert_eq!(words("echo ''"), [["echo", ""]]);
    }

    proptest! {
        /// Issue 27: no input makes the analysis panic.
        #[test]
        fn no_shell_text_causes_a_panic(text in "[ -~\n\t'\"\\\\$`(){}<>&|;#*~é]{0,80}") {
            let found = commands(&text);
            drop(changed_paths(&found, Path::new("/w"), None));
        }

        /// Issue 27: words in single quotes are read back unchanged.
        #[test]
        fn single_quoted_words_round_trip(words in prop::collection::vec("[^'\0]{0,12}", 1..5)) {
            let text = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
            let found = commands(&format!("run {text}"));
            let read: Vec<_> = found[0].words.iter().skip(1).map(|word| word.clone().unwrap()).collect();
            prop_assert_eq!(read, words);
        }
    }
}
