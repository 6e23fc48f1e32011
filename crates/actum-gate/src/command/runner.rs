//! Programs that run code given in their arguments, such as shells, interpreters and launchers.
//!
//! A rule that allows such a program with any arguments would allow everything. Therefore, an `allow` rule must list the
//! entire command, or enough of it that further arguments can only reach code that the rule names.
//!
//! The list is not complete, because a program with an unknown name may also run its arguments. The author of a rule is
//! responsible for knowing how a script treats its arguments. Code in the workspace itself, such as tests and build
//! scripts, must be confined by a sandbox.

use actum_core::path::Cut;

use super::rule::{CommandRule, Extent, RuleArgument, RuleDecision, file_name};

/// Maximum length of a program's name in a message, in bytes.
const PROGRAM_SHOWN_MAX: usize = 200;

/// Arguments that an `allow` rule must list for a program that runs code from its arguments.
#[derive(Clone, Copy)]
enum Form {
    /// All arguments, because any further argument could run code.
    Exact,
    /// A script, optionally preceded by options that run no code.
    Script {
        /// Options that may precede the script.
        options: &'static [&'static str],
    },
    /// A script, or `-m` and a module.
    Python,
    /// One of these subcommands as the first argument.
    Words(&'static [&'static str]),
    /// A first argument that is not an option, such as a subcommand.
    AnyWord,
    /// These words, followed by a file.
    File(&'static [&'static str]),
    /// `test` or `run` with the name of a script, followed by `--`, after which npm reads no options.
    NpmScript,
    /// Another command, preceded by certain words and a number of other arguments.
    Command {
        /// Words that must come first.
        words: &'static [&'static str],
        /// Number of arguments between these words and the command.
        skipped: usize,
    },
    /// Another command, optionally preceded by variable assignments.
    Env,
}

struct Runner {
    names: &'static [&'static str],
    form: Form,
    /// Options that can name a program to run. A prefix rule excludes them at every position.
    barred: &'static [&'static str],
    /// Hint that explains how to fix a rejected rule.
    instead: &'static str,
}

const EXACT: &str = "list all its arguments and set `exact = true`";
const SCRIPT: &str = "name a script, with a `/` or an extension, directly after it, or list all its \
                      arguments and set `exact = true`";
const INNER: &str = "directly after it, name the program that it starts, in a form that a separate rule \
                     could allow, or list all its arguments and set `exact = true`";

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
                  after it, or list all its arguments and set `exact = true`",
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
        instead: "name `-jar` and a file, or list all its arguments and set `exact = true`",
    },
    Runner {
        names: &["deno"],
        form: Form::File(&["run"]),
        barred: &[],
        instead: "name `run` and a file, or list all its arguments and set `exact = true`",
    },
    Runner {
        names: &["npm"],
        form: Form::NpmScript,
        barred: &[],
        instead: "name `test`, or `run` and a script, followed by `--`, because npm would read `--script-shell` \
                  before it; or list all its arguments and set `exact = true`",
    },
    Runner {
        names: &["cargo"],
        form: Form::AnyWord,
        barred: &["--config", "--manifest-path", "-Z", "-C"],
        instead: "name a subcommand directly after it",
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
                  after it, or list all its arguments and set `exact = true`",
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
        // `--output` can write any file, and `--ext-diff` runs programs from the git configuration.
        barred: &["--output", "--ext-diff"],
        instead: "directly after it, name a subcommand that does not run its arguments, such as `status`, \
                  `diff`, `log`, `show`, `add` or `commit`, or list all its arguments and set \
                  `exact = true`",
    },
    Runner {
        names: &["docker", "podman", "nerdctl"],
        form: Form::Words(&["ps", "images", "logs", "info", "version"]),
        barred: &[],
        instead: "name `ps`, `images`, `logs`, `info` or `version` directly after it, or list all \
                  its arguments and set `exact = true`",
    },
    Runner {
        names: &["pip", "pipx"],
        form: Form::Words(&["list", "show", "freeze", "check"]),
        barred: &["--python"],
        instead: "name `list`, `show`, `freeze` or `check` directly after it, or list all its \
                  arguments and set `exact = true`, because installing a package can run its code",
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
        instead: "name a duration and the program that it starts, in a form that a separate rule \
                  could allow, or list all its arguments and set `exact = true`",
    },
    Runner {
        names: &["uv", "poetry", "pipenv"],
        form: Form::Command { words: &["run"], skipped: 0 },
        barred: &[],
        instead: "name `run` and the program that it starts, in a form that a separate rule could \
                  allow, or list all its arguments and set `exact = true`",
    },
    Runner {
        names: &["bundle"],
        form: Form::Command { words: &["exec"], skipped: 0 },
        barred: &[],
        instead: "name `exec` and the program that it starts, in a form that a separate rule could \
                  allow, or list all its arguments and set `exact = true`",
    },
    Runner {
        names: &["env"],
        form: Form::Env,
        barred: &[],
        instead: "name the variables and the program that it starts, in a form that a separate rule \
                  could allow, or list all its arguments and set `exact = true`",
    },
    Runner { names: EXACT_ONLY, form: Form::Exact, barred: &[], instead: EXACT },
];

/// Programs that can run code from an argument at any position.
#[rustfmt::skip]
const EXACT_ONLY: &[&str] = &[
    // Shells without a fixed position for the script, and multi-call programs.
    "busybox", "toybox", "csh", "tcsh", "nu", "elvish", "xonsh", "pwsh", "powershell", "cmd",
    // Interpreters with too many options that accept code or run files.
    "awk", "gawk", "mawk", "nawk", "sed", "gsed", "bun", "tsx", "ts-node", "jshell", "groovy",
    "scala", "kotlin", "clojure", "clj", "elixir", "iex", "erl", "escript", "ghci", "runghc",
    "runhaskell", "ocaml", "racket", "sbcl", "swipl", "octave", "r", "wish", "expect", "osascript",
    "ipython", "jupyter", "irb", "pry", "wasmtime", "wasmer", "sqlite", "psql", "mysql", "duckdb",
    // Launchers, remote shells, debuggers and package managers, which start other programs.
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

/// Python modules that run code from their arguments or start an interpreter.
#[rustfmt::skip]
const MODULES_THAT_RUN: &[&str] = &[
    "asyncio", "bdb", "cProfile", "code", "coverage", "debugpy", "idlelib", "IPython", "ipykernel",
    "jupyter", "nox", "pdb", "pip", "pipx", "poetry", "profile", "runpy", "timeit", "tox", "trace",
    "uv",
];

/// Python options that run no code.
const PYTHON_OPTIONS: &[&str] = &["-B", "-E", "-I", "-O", "-P", "-b", "-bb", "-q", "-s", "-u"];

/// Error for a rule that would allow code that it does not name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` can run code from its arguments, and the rule allows any further arguments; {instead}", Cut(.program.as_bytes(), PROGRAM_SHOWN_MAX))]
pub struct OpenRunner {
    /// Program that runs code from its arguments.
    pub program: String,
    /// Hint that explains how to fix the rule.
    pub instead: &'static str,
}

/// Returns the options that the rule must exclude from further arguments. Returns an error if the rule would allow code
/// that it does not name.
pub(super) fn barred_behind(rule: &CommandRule) -> Result<Vec<&'static str>, OpenRunner> {
    match (rule.decision, rule.extent) {
        (RuleDecision::Allow, Extent::Prefix) => barred(&rule.argv),
        // An exact rule names the code, and with `ask` the approver sees the entire command.
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

/// Returns the entry for a program, ignoring its directory, version suffix and case.
fn runner(program: &str) -> Option<&'static Runner> {
    let name = file_name(program).to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let is_same = |known: &str| {
        name.strip_prefix(known).is_some_and(|version| {
            let version = version.strip_prefix(['-', '.']).unwrap_or(version);
            version.is_empty() || version.starts_with(|char: char| char.is_ascii_digit())
        })
    };
    // The dynamic loader starts a program that is given as an argument.
    let is_loader = name.starts_with("ld-") && name.contains(".so") || name == "ld.so";
    let name_is_known = |runner: &&Runner| runner.names.iter().any(|known| is_same(known));
    let is_exact_only = |runner: &&Runner| is_loader && matches!(runner.form, Form::Exact);
    RUNNERS.iter().find(|runner| name_is_known(runner) || is_exact_only(runner))
}

impl Form {
    /// Returns additional options to exclude, or `None` if the arguments do not determine the code that runs.
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

/// Returns true if there is an argument and the predicate is true for all its alternatives.
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

/// Returns true if the first argument is a script. A name with a `/` or an extension is assumed to be a file instead of a
/// subcommand. Paths such as `/dev/stdin` are not scripts, because their content cannot be reviewed.
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

/// Returns true if the arguments begin with `run NAME --` or `test --`.
fn is_npm_script(arguments: &[RuleArgument]) -> bool {
    let is = |place: &RuleArgument, word: &str| all(Some(place), |argument| argument == word);
    match arguments {
        [run, script, end, ..] if is(run, "run") => all(Some(script), is_word) && is(end, "--"),
        [test, end, ..] => is(test, "test") && is(end, "--"),
        [] | [_] => false,
    }
}

/// Returns true if an argument may be one of these options, with or without its value.
pub(super) fn is_barred(argument: &str, barred: &[String]) -> bool {
    barred.iter().any(|option| may_be(argument, option))
}

fn may_be(argument: &str, option: &str) -> bool {
    let name = argument.split('=').next().unwrap_or_default();
    match option.strip_prefix('-') {
        // Many programs accept an unambiguous prefix of a long option.
        Some(long) if long.starts_with('-') => name.len() > "--".len() && option.starts_with(name),
        // Short options can be combined after a single `-`, and the last one may be followed by its value.
        Some(letter) if letter.len() == 1 => {
            argument.strip_prefix('-').is_some_and(|it| !it.starts_with('-') && it.contains(letter))
        }
        Some(_) | None => name == option,
    }
}
