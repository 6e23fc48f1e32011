//! Programs that run code given in their arguments: shells, interpreters, launchers, and tools with such an option.
//!
//! A rule that allows one of them with any arguments would allow everything. So such a rule must give the
//! whole command, or enough of it that further arguments only reach code that the rule names.
//!
//! The list is not complete: a program of another name that runs its arguments is not recognised. The author
//! of a rule knows how a script treats its own arguments. A sandbox protects against code in the workspace
//! itself (tests, build scripts).

use actum_core::path::Cut;

use super::rule::{CommandRule, Extent, RuleArgument, RuleDecision, file_name};

/// Maximum length of a program in a message, in bytes.
const PROGRAM_SHOWN_MAX: usize = 200;

/// Required beginning of a rule for a program that runs its arguments.
#[derive(Clone, Copy)]
enum Form {
    /// Nothing suffices: further arguments may run anything.
    Exact,
    /// Script, after options that run nothing by themselves.
    Script {
        /// Options that may precede it.
        options: &'static [&'static str],
    },
    /// Script, or `-m` and a module.
    Python,
    /// One of these subcommands.
    Words(&'static [&'static str]),
    /// Word that is not an option, such as a subcommand.
    AnyWord,
    /// These words, then a file.
    File(&'static [&'static str]),
    /// `run`, the name of a script, and `--`, after which no argument is an option.
    NpmScript,
    /// Another command, after these words and this number of arguments.
    Command {
        /// Words that come first.
        words: &'static [&'static str],
        /// Number of its own arguments that follow.
        skipped: usize,
    },
    /// Another command, after variables.
    Env,
}

struct Runner {
    names: &'static [&'static str],
    form: Form,
    /// Options that name a program to run, at any position; a prefix rule excludes them.
    barred: &'static [&'static str],
    /// Suggested replacement for a rejected rule.
    instead: &'static str,
}

const EXACT: &str = "write all its arguments and `exact = true`";
const SCRIPT: &str = "name a script, with a `/` or an ending, directly behind it, or write all its \
                      arguments and `exact = true`";
const INNER: &str = "name the program that it starts directly behind it, in a form that could \
                     stand alone, or write all its arguments and `exact = true`";

const RUNNERS: &[Runner] = &[
    Runner {
        names: &["sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "yash", "fish"],
        form: Form::Script { options: &["-e", "-u", "-x", "-eu", "-ex", "-eux"] },
        barred: &[],
        instead: SCRIPT,
    },
    Runner {
        names: &["python", "pypy", "pythonw"],
        form: Form::Python,
        barred: &[],
        instead: "name a script, or `-m` and a module that does not run its arguments, directly \
                  behind it, or write all its arguments and `exact = true`",
    },
    Runner {
        names: &["node", "nodejs"],
        form: Form::Script { options: &["--check", "--no-warnings"] },
        barred: &[],
        instead: SCRIPT,
    },
    Runner {
        names: &["perl", "ruby", "php", "lua", "luajit", "tclsh", "rscript", "guile", "julia"],
        form: Form::Script { options: &["-w"] },
        barred: &[],
        instead: SCRIPT,
    },
    Runner {
        names: &["java"],
        form: Form::File(&["-jar"]),
        barred: &[],
        instead: "name `-jar` and a file, or write all its arguments and `exact = true`",
    },
    Runner {
        names: &["deno"],
        form: Form::File(&["run"]),
        barred: &[],
        instead: "name `run` and a file, or write all its arguments and `exact = true`",
    },
    Runner {
        names: &["npm"],
        form: Form::NpmScript,
        barred: &[],
        instead: "write `test` or `run` and the name of a script, then `--`, or all its arguments and \
                  `exact = true`: before `--`, npm reads `--script-shell` and runs it",
    },
    Runner {
        names: &["cargo"],
        form: Form::AnyWord,
        barred: &["--config", "--manifest-path", "-Z", "-C"],
        instead: "name a sub-command directly behind it",
    },
    Runner {
        names: &["go"],
        form: Form::Words(&["build", "test", "vet", "fmt", "list", "version", "doc"]),
        barred: &[
            "-exec",
            "--exec",
            "-toolexec",
            "--toolexec",
            "-vettool",
            "--vettool",
            "-ldflags",
            "--ldflags",
            "-overlay",
            "--overlay",
        ],
        instead: "name `build`, `test`, `vet`, `fmt`, `list`, `doc` or `version` directly \
                  behind it, or write all its arguments and `exact = true`",
    },
    Runner {
        names: &["git"],
        form: Form::Words(&[
            "add",
            "blame",
            "branch",
            "commit",
            "describe",
            "diff",
            "log",
            "ls-files",
            "ls-tree",
            "merge-base",
            "rev-list",
            "rev-parse",
            "show",
            "show-ref",
            "status",
        ]),
        // The first writes any file, the second runs programs from the configuration.
        barred: &["--output", "--ext-diff"],
        instead: "name a sub-command that starts nothing by its arguments (such as `status`, \
                  `diff`, `log`, `show`, `add` or `commit`) directly behind it, or write all its \
                  arguments and `exact = true`",
    },
    Runner {
        names: &["docker", "podman", "nerdctl"],
        form: Form::Words(&["ps", "images", "logs", "info", "version"]),
        barred: &[],
        instead: "name `ps`, `images`, `logs`, `info` or `version` directly behind it, or write \
                  all its arguments and `exact = true`",
    },
    Runner {
        names: &["pip", "pipx"],
        form: Form::Words(&["list", "show", "freeze", "check"]),
        barred: &["--python"],
        instead: "name `list`, `show`, `freeze` or `check` directly behind it, or write all its \
                  arguments and `exact = true`: what is installed runs",
    },
    Runner {
        names: &["nohup", "setsid", "time", "nice"],
        form: Form::Command { words: &[], skipped: 0 },
        barred: &[],
        instead: INNER,
    },
    Runner {
        names: &["timeout"],
        form: Form::Command { words: &[], skipped: 1 },
        barred: &[],
        instead: "name a duration and the program that it starts, in a form that could stand \
                  alone, or write all its arguments and `exact = true`",
    },
    Runner {
        names: &["uv", "poetry", "pipenv"],
        form: Form::Command { words: &["run"], skipped: 0 },
        barred: &[],
        instead: "name `run` and the program that it starts, in a form that could stand alone, or \
                  write all its arguments and `exact = true`",
    },
    Runner {
        names: &["bundle"],
        form: Form::Command { words: &["exec"], skipped: 0 },
        barred: &[],
        instead: "name `exec` and the program that it starts, in a form that could stand alone, or \
                  write all its arguments and `exact = true`",
    },
    Runner {
        names: &["env"],
        form: Form::Env,
        barred: &[],
        instead: "name the variables and the program that it starts, in a form that could stand \
                  alone, or write all its arguments and `exact = true`",
    },
    Runner { names: EXACT_ONLY, form: Form::Exact, barred: &[], instead: EXACT },
];

/// Programs that run their arguments, or some of them, in any order.
#[rustfmt::skip]
const EXACT_ONLY: &[&str] = &[
    // Shells whose first argument may be anything, and multi-call programs.
    "busybox", "toybox", "csh", "tcsh", "nu", "elvish", "xonsh", "pwsh", "powershell", "cmd",
    // Languages that take code, or run files, by too many of their options.
    "awk", "gawk", "mawk", "nawk", "sed", "gsed", "bun", "tsx", "ts-node", "jshell", "groovy",
    "scala", "kotlin", "clojure", "clj", "elixir", "iex", "erl", "escript", "ghci", "runghc",
    "runhaskell", "ocaml", "racket", "sbcl", "swipl", "octave", "r", "wish", "expect", "osascript",
    "ipython", "jupyter", "irb", "pry", "wasmtime", "wasmer", "sqlite", "psql", "mysql", "duckdb",
    // Launchers.
    "sudo", "doas", "su", "runuser", "pkexec", "xargs", "stdbuf", "unbuffer", "script", "ssh",
    "scp", "sftp", "rsync", "watch", "entr", "parallel", "strace", "ltrace", "perf", "valgrind",
    "gdb", "lldb", "rr", "ionice", "chrt", "taskset", "numactl", "prlimit", "setpriv", "setarch",
    "linux32", "linux64", "unshare", "nsenter", "chroot", "bwrap", "firejail", "proot", "fakeroot",
    "faketime", "flock", "systemd-run", "dbus-run-session", "xvfb-run", "flatpak", "tmux", "screen",
    "at", "batch", "crontab", "command", "exec", "eval", "source", ".", "builtin", "hyperfine",
    "kubectl", "socat", "nc", "ncat", "run-parts", "start-stop-daemon", "catchsegv", "direnv",
    "mise", "asdf", "pyenv", "rbenv", "nvm", "rustup", "conda", "mamba", "nix", "nix-shell",
    "nix-build", "guix", "hatch", "pdm", "tox", "nox", "uvx", "npx", "pnpx", "bunx", "yarn", "pnpm",
    "gem", "composer", "lerna", "turbo", "nx",
    // Tools with an option that names a program to run.
    "find", "fd", "fdfind", "rg", "tar", "bsdtar", "zip", "sort", "split", "make", "gmake",
    "bmake", "ninja", "just", "task", "rake", "cmake", "ctest", "meson", "bazel", "gradle", "mvn",
    "ant", "sbt", "vi", "vim", "nvim", "ex", "emacs", "ed", "nano", "less", "more", "man",
    "tcpdump", "openssl", "gcc", "cc", "clang", "rustc",
];

/// Python modules that run their arguments, or start an interpreter.
#[rustfmt::skip]
const MODULES_THAT_RUN: &[&str] = &[
    "asyncio", "bdb", "cProfile", "code", "coverage", "debugpy", "idlelib", "IPython", "ipykernel",
    "jupyter", "nox", "pdb", "pip", "pipx", "poetry", "profile", "runpy", "timeit", "tox", "trace",
    "uv",
];

/// Python options that run nothing by themselves.
const PYTHON_OPTIONS: &[&str] = &["-B", "-E", "-I", "-O", "-P", "-b", "-bb", "-q", "-s", "-u"];

/// Rule that would allow code that it does not name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` runs what its arguments say, and the rule leaves them open; {instead}", Cut(.program.as_bytes(), PROGRAM_SHOWN_MAX))]
pub struct OpenRunner {
    /// Program.
    pub program: String,
    /// Suggested replacement.
    pub instead: &'static str,
}

/// Returns the options that must not follow the arguments of the rule, if it allows no code that it does not name.
pub(super) fn barred_behind(rule: &CommandRule) -> Result<Vec<&'static str>, OpenRunner> {
    match (rule.decision, rule.extent) {
        (RuleDecision::Allow, Extent::Prefix) => barred(&rule.argv),
        // The approver sees the command.
        (RuleDecision::Allow, Extent::Exact) | (RuleDecision::Ask | RuleDecision::Deny, _) => {
            Ok(Vec::new())
        }
    }
}

fn barred(argv: &[RuleArgument]) -> Result<Vec<&'static str>, OpenRunner> {
    let Some((program, arguments)) = argv.split_first() else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for program in program.alternatives() {
        let Some(runner) = runner(program) else { continue };
        let open = || OpenRunner { program: program.clone(), instead: runner.instead };
        all.extend(runner.form.barred(arguments).ok_or_else(open)??);
        all.extend(runner.barred);
    }
    Ok(all)
}

/// Returns the entry of a program, regardless of directory, version and case.
fn runner(program: &str) -> Option<&'static Runner> {
    let name = file_name(program).to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let is_same = |known: &str| {
        name.strip_prefix(known).is_some_and(|version| {
            let version = version.strip_prefix(['-', '.']).unwrap_or(version);
            version.is_empty() || version.starts_with(|char: char| char.is_ascii_digit())
        })
    };
    // The dynamic loader starts the program in its arguments.
    let is_loader = name.starts_with("ld-") && name.contains(".so") || name == "ld.so";
    let name_is_known = |runner: &&Runner| runner.names.iter().any(|known| is_same(known));
    let is_exact_only = |runner: &&Runner| is_loader && matches!(runner.form, Form::Exact);
    RUNNERS.iter().find(|runner| name_is_known(runner) || is_exact_only(runner))
}

impl Form {
    /// Returns the further options to exclude; `None` if the arguments do not determine the code to run.
    fn barred(self, arguments: &[RuleArgument]) -> Option<Result<Vec<&'static str>, OpenRunner>> {
        let fixed = |is_fixed: bool| is_fixed.then(|| Ok(Vec::new()));
        match self {
            Self::Exact => None,
            Self::Script { options } => fixed(is_script(behind(options, arguments))),
            Self::Python => fixed(is_python(behind(PYTHON_OPTIONS, arguments))),
            Self::Words(known) => fixed(all(arguments.first(), |word| known.contains(&word))),
            Self::AnyWord => fixed(all(arguments.first(), is_word)),
            Self::File(words) => fixed(strip(words, arguments).is_some_and(is_script)),
            Self::NpmScript => fixed(is_npm_script(arguments)),
            Self::Command { words, skipped } => {
                let inner = strip(words, arguments)?;
                let own = inner.get(..skipped)?;
                let inner = inner.get(skipped..)?;
                let are_plain = own.iter().all(|place| all(Some(place), is_word));
                (are_plain && all(inner.first(), is_word)).then(|| barred(inner))
            }
            Self::Env => {
                let is_variable = |argument: &str| is_word(argument) && argument.contains('=');
                let variables =
                    arguments.iter().take_while(|place| all(Some(place), is_variable)).count();
                let inner = arguments.get(variables..)?;
                let is_program = |argument: &str| is_word(argument) && !argument.contains('=');
                all(inner.first(), is_program).then(|| barred(inner))
            }
        }
    }
}

/// Returns true if the predicate holds for all alternatives of the position.
fn all(place: Option<&RuleArgument>, is_so: impl Fn(&str) -> bool) -> bool {
    place.is_some_and(|place| place.alternatives().iter().all(|argument| is_so(argument)))
}

/// Returns true if the argument is neither empty nor an option.
fn is_word(argument: &str) -> bool {
    !argument.is_empty() && !argument.starts_with(['-', '+'])
}

fn behind<'a>(options: &[&str], arguments: &'a [RuleArgument]) -> &'a [RuleArgument] {
    let is_option = |argument: &str| options.contains(&argument);
    let count = arguments.iter().take_while(|place| all(Some(place), is_option)).count();
    arguments.get(count..).unwrap_or_default()
}

fn strip<'a>(words: &[&str], arguments: &'a [RuleArgument]) -> Option<&'a [RuleArgument]> {
    let mut places = arguments.iter();
    let are_there = words.iter().all(|word| all(places.next(), |argument| argument == *word));
    are_there.then_some(places.as_slice())
}

/// Returns true if the first argument is a script. A name with a `/` or an extension is a file and not a
/// subcommand. Standard input is not a file with reviewed content.
fn is_script(arguments: &[RuleArgument]) -> bool {
    all(arguments.first(), |argument| {
        is_word(argument)
            && argument.contains(['/', '.'])
            && !argument.contains("://")
            && !argument.starts_with("/dev/")
            && !argument.starts_with("/proc/")
    })
}

fn is_python(arguments: &[RuleArgument]) -> bool {
    match arguments {
        [option, module, ..] if all(Some(option), |option| option == "-m") => {
            let is_known = |argument: &str| {
                let top = argument.split('.').next().unwrap_or(argument);
                !is_word(argument) || MODULES_THAT_RUN.contains(&top)
            };
            all(Some(module), |argument| !is_known(argument))
        }
        _ => is_script(arguments),
    }
}

/// Returns true for `npm run NAME --` and `npm test --`.
fn is_npm_script(arguments: &[RuleArgument]) -> bool {
    let is = |place: &RuleArgument, word: &str| all(Some(place), |argument| argument == word);
    match arguments {
        [run, script, end, ..] if is(run, "run") => all(Some(script), is_word) && is(end, "--"),
        [test, end, ..] => is(test, "test") && is(end, "--"),
        [] | [_] => false,
    }
}

/// Returns true if an argument is, or may be, one of these options, with or without its value.
pub(super) fn is_barred(argument: &str, barred: &[String]) -> bool {
    barred.iter().any(|option| may_be(argument, option))
}

fn may_be(argument: &str, option: &str) -> bool {
    let name = argument.split('=').next().unwrap_or_default();
    match option.strip_prefix('-') {
        // Many programs accept a prefix of a long option.
        Some(long) if long.starts_with('-') => name.len() > "--".len() && option.starts_with(name),
        // Short options can be combined after one `-`, followed by the value of the last one.
        Some(letter) if letter.len() == 1 => {
            argument.strip_prefix('-').is_some_and(|it| !it.starts_with('-') && it.contains(letter))
        }
        Some(_) | None => name == option,
    }
}
