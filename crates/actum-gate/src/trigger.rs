//! Files that other programs act on automatically, recognised by name and content (D-5).
//!
//! A name alone is not enough: `head/index.js` is a page header, but `HEAD` with a reference in it is a git
//! repository.

use std::collections::BTreeSet;

use actum_core::{RelPath, canonical};
use actum_record::keyring::{KEYRING_FILE, KEYS_DIRECTORY, Keyring};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fold::{as_windows_opens, folded};

/// Program that acts on a file automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// git treats the directory as a repository, and starts programs named in its configuration
    /// (gitrepository-layout(5)).
    GitRepository,
    /// Configuration of a git repository, which names programs (git-config(1)).
    GitConfiguration,
    /// Hook, which git starts if `core.hooksPath` names its directory (githooks(5)).
    GitHook,
    /// Changed lifecycle scripts in a `package.json`, which an installation runs (npm-scripts(7)), or other
    /// changed members that start programs.
    LifecycleScript,
    /// Keyring at `keys/keyring.json`, by which actum recognises a home of ledgers and keys, which is closed
    /// to changes.
    LedgerHome,
}

/// Hooks that git starts (githooks(5)).
pub const GIT_HOOKS: [&str; 28] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Hook whose name many other files have; only a push to the repository starts it.
const GENERIC: &str = "update";

/// Scripts that an installation runs, for this package or for a dependency from git.
const LIFECYCLE: [&str; 12] = [
    "dependencies",
    "install",
    "pnpm:devpreinstall",
    "postinstall",
    "postpack",
    "postprepare",
    "preinstall",
    "prepack",
    "prepare",
    "preprepare",
    "prepublish",
    "preuninstall",
];

/// Other members of a `package.json` that start programs at a commit or an installation, as JSON Pointers
/// (RFC 6901). They are those of husky 4, yorkie, lint-staged and simple-git-hooks, and the dependencies
/// whose scripts pnpm and Bun run.
const MEMBERS: [&str; 15] = [
    "/allowScripts",
    "/config/ghooks",
    "/gitHooks",
    "/husky/hooks",
    "/lint-staged",
    "/nano-staged",
    "/pnpm/allowBuilds",
    "/pnpm/dangerouslyAllowAllBuilds",
    "/pnpm/neverBuiltDependencies",
    "/pnpm/onlyBuiltDependencies",
    "/pnpm/onlyBuiltDependenciesFile",
    "/pre-commit",
    "/pre-push",
    "/simple-git-hooks",
    "/trustedDependencies",
];

/// Members with dependencies. Yarn builds a dependency with the protocol `exec:` by a script of the project.
const DEPENDENCIES: [&str; 5] =
    ["dependencies", "devDependencies", "optionalDependencies", "overrides", "resolutions"];

/// Member that names the package manager, which Corepack loads from a URL.
const MANAGER: &str = "/packageManager";

/// Sections of a git configuration that can name a program, or a file that does.
const SECTIONS: [&str; 29] = [
    "alias",
    "browser",
    "core",
    "credential",
    "diff",
    "difftool",
    "filter",
    "gpg",
    "guitool",
    "hook",
    "imap",
    "include",
    "includeif",
    "init",
    "instaweb",
    "interactive",
    "man",
    "merge",
    "mergetool",
    "pager",
    "protocol",
    "remote",
    "sendemail",
    "sequence",
    "submodule",
    "trailer",
    "uploadpack",
    "url",
    "web",
];

/// Numbers of digits of an object id, for SHA-1 and SHA-256.
const ID_DIGITS: [usize; 2] = [40, 64];

impl Trigger {
    /// Returns true if a file of this name can be a trigger, so that its content must be checked.
    pub fn may_be(name: &[u8]) -> bool {
        let name = plain(name);
        matches!(&*name, b"head" | b"config" | b"config.worktree" | b"package.json")
            || is_hook(&name)
    }

    /// Returns the trigger of a file with that name and the content `after`. Its content was `before`, if it existed.
    pub fn detect(name: &[u8], before: Option<&[u8]>, after: &[u8]) -> Option<Self> {
        let name = plain(name);
        match &*name {
            b"head" => is_head(after).then_some(Self::GitRepository),
            b"config" | b"config.worktree" => {
                has_program_section(after).then_some(Self::GitConfiguration)
            }
            b"package.json" => {
                adds_lifecycle_script(before, after).then_some(Self::LifecycleScript)
            }
            name => is_hook(name).then_some(Self::GitHook),
        }
    }

    /// Returns the trigger of a file by its name and at least the first 256 bytes of its content.
    pub fn of_beginning(name: &[u8], beginning: &[u8]) -> Option<Self> {
        let name = plain(name);
        match &*name {
            // git reads 256 bytes of the file.
            b"head" => is_head(beginning).then_some(Self::GitRepository),
            b"config" | b"config.worktree" => Some(Self::GitConfiguration),
            b"package.json" => Some(Self::LifecycleScript),
            name => is_hook(name).then_some(Self::GitHook),
        }
    }

    /// Returns true if git starts a file of that name if it is executable, whatever its content. Changing its
    /// mode or removing it therefore changes which programs run.
    pub(crate) fn is_hook(name: &[u8]) -> bool {
        is_hook(&plain(name))
    }

    /// Returns the trigger of a symbolic link of that name. Any content counts, since it is that of another file.
    pub fn of_link(name: &[u8]) -> Option<Self> {
        Self::by_content(name).or_else(|| is_hook(&plain(name)).then_some(Self::GitHook))
    }

    /// Returns the trigger that a file of this name can be, depending on its content.
    pub fn by_content(name: &[u8]) -> Option<Self> {
        match &*plain(name) {
            b"head" => Some(Self::GitRepository),
            b"config" | b"config.worktree" => Some(Self::GitConfiguration),
            b"package.json" => Some(Self::LifecycleScript),
            _ => None,
        }
    }

    /// Returns true if a file at a path below `root` can mark a home of ledgers and keys, so that its content
    /// must be checked. The root itself may be a directory of keys.
    pub fn may_mark_home(root: &str, path: &RelPath) -> bool {
        let parent = path.parent();
        let root_name = || root.rsplit('/').find(|name| !name.is_empty()).unwrap_or_default();
        let directory = parent.as_ref().map_or_else(|| root_name().as_bytes(), RelPath::name);
        plain(path.name()) == KEYRING_FILE.as_bytes()
            && plain(directory) == KEYS_DIRECTORY.as_bytes()
    }

    /// Returns the trigger of a file that [may mark a home](Self::may_mark_home); `None` as content means
    /// that it is unknown.
    pub fn of_mark(content: Option<&[u8]>) -> Option<Self> {
        content.is_none_or(Keyring::is_named_in).then_some(Self::LedgerHome)
    }

    /// Returns true if no policy allows a change to make it.
    pub fn is_denied(self) -> bool {
        match self {
            Self::GitRepository | Self::LedgerHome => true,
            Self::GitConfiguration | Self::GitHook | Self::LifecycleScript => false,
        }
    }

    /// Describes its effect, as the end of a sentence about the file.
    pub fn effect(self) -> &'static str {
        match self {
            Self::GitRepository => {
                "makes its directory a git repository, whose configuration starts programs"
            }
            Self::GitConfiguration => "configures git, which starts the programs that it names",
            Self::GitHook => {
                "is a hook, which git starts where `core.hooksPath` names its directory"
            }
            Self::LifecycleScript => {
                "may have other lifecycle scripts or hooks, which an installation or a commit runs"
            }
            Self::LedgerHome => {
                "is a keyring of actum, and would close its directory to changes as a home of ledgers and keys"
            }
        }
    }
}

/// Folds the name as file systems that ignore case compare names.
fn plain(name: &[u8]) -> Vec<u8> {
    as_windows_opens(&folded(name)).to_vec()
}

fn is_hook(name: &[u8]) -> bool {
    name != GENERIC.as_bytes() && GIT_HOOKS.iter().any(|hook| hook.as_bytes() == name)
}

/// Returns true if git accepts the content as the `HEAD` of a repository: a reference, or the id of a commit.
fn is_head(content: &[u8]) -> bool {
    if let Some(reference) = content.strip_prefix(b"ref:") {
        return reference.trim_ascii_start().starts_with(b"refs/");
    }
    let digits = content.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    ID_DIGITS.iter().any(|id| digits >= *id)
}

/// Returns true if a line opens one of [`SECTIONS`].
fn has_program_section(content: &[u8]) -> bool {
    let sections = content.split(|&byte| byte == b'[').skip(1);
    sections.into_iter().any(|section| {
        let name = section.trim_ascii_start();
        let end = name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
        let (name, _) = name.split_at(end.unwrap_or(name.len()));
        SECTIONS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
    })
}

fn adds_lifecycle_script(before: Option<&[u8]>, after: &[u8]) -> bool {
    let Some(after) = package(after) else { return may_name_lifecycle_script(after) };
    let before = before.and_then(package).unwrap_or_default();
    let is_lifecycle = |name: &str| LIFECYCLE.iter().any(|known| known.eq_ignore_ascii_case(name));
    let scripts = after.get("scripts").and_then(Value::as_object).into_iter().flatten();
    let script_before = |name: &str| before.get("scripts")?.as_object()?.get(name);
    let mut scripts = scripts.filter(|(name, _)| is_lifecycle(name));
    // A version has no colon, but a URL has one in every spelling (WHATWG URL).
    let is_loaded = |manager: &Value| manager.as_str().is_some_and(|it| it.contains(':'));
    let differs = |member: &str| after.pointer(member) != before.pointer(member);
    scripts.any(|(name, script)| script_before(name) != Some(script))
        || MEMBERS.iter().any(|member| after.pointer(member).is_some() && differs(member))
        || after.pointer(MANAGER).is_some_and(is_loaded) && differs(MANAGER)
        || !executed(&after).is_subset(&executed(&before))
        || !built(&after).is_subset(&built(&before))
}

/// Returns true if a dependency has the protocol `exec:`, even inside another one, where the colon is encoded.
fn is_executed(dependency: &str) -> bool {
    let dependency = dependency.to_ascii_lowercase();
    dependency.contains("exec:") || dependency.contains("exec%3a")
}

/// Returns the dependencies that Yarn builds by a script, as written.
fn executed(package: &Value) -> BTreeSet<&str> {
    fn collect<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
        match value {
            Value::String(text) if is_executed(text) => {
                found.insert(text);
            }
            Value::Object(members) => members.values().for_each(|value| collect(value, found)),
            Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut found = BTreeSet::new();
    for value in DEPENDENCIES.iter().filter_map(|name| package.get(name)) {
        collect(value, &mut found);
    }
    found
}

/// Returns the dependencies whose scripts Yarn runs, which is not its default.
fn built(package: &Value) -> BTreeSet<&str> {
    let members = package.get("dependenciesMeta").and_then(Value::as_object);
    let is_built = |meta: &Value| meta.get("built").is_some_and(|it| *it != Value::Bool(false));
    let members = members.into_iter().flatten().filter(|(_, meta)| is_built(meta));
    members.map(|(name, _)| name.as_str()).collect()
}

/// Parses a `package.json`. Returns `None` if a name occurs twice in an object, since readers differ in which
/// value they use. Skips a byte order mark, as npm does.
fn package(content: &[u8]) -> Option<Value> {
    canonical::read(content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content)).ok()
}

/// Returns true if a `package.json` that strict readers reject may name a lifecycle script. An installer may
/// read it nevertheless; an escape (`\u0070`) can stand for any letter of a name.
fn may_name_lifecycle_script(content: &[u8]) -> bool {
    let content = content.to_ascii_lowercase();
    let holds = |name: &[u8]| content.windows(name.len()).any(|bytes| bytes == name);
    let members = MEMBERS.iter().chain([&MANAGER]).filter_map(|member| member.rsplit('/').next());
    let members = members.map(str::to_ascii_lowercase);
    holds(b"\\u")
        || LIFECYCLE.iter().any(|name| holds(name.as_bytes()))
        || members.into_iter().any(|name| holds(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, after: &str) -> Option<Trigger> {
        assert!(
            Trigger::detect(name.as_bytes(), None, after.as_bytes()).is_none()
                || Trigger::may_be(name.as_bytes())
        );
        Trigger::detect(name.as_bytes(), None, after.as_bytes())
    }

    /// D-5
    #[test]
    fn a_head_of_a_repository_is_known_by_its_content() {
        let id = "0123456789abcdef".repeat(4);
        let (short, too_short) = ("01234567".repeat(5), "0123456789abc".repeat(3));
        for content in ["ref: refs/heads/main\n", "ref:refs/x", "ref: \trefs/x", &id, &short] {
            assert_eq!(of("HEAD", content), Some(Trigger::GitRepository), "{content}");
        }
        assert_eq!(of("Head ", "ref: refs/heads/main\n"), Some(Trigger::GitRepository));
        for content in ["", "ref: heads/main", "export default Head;\n", &too_short] {
            assert_eq!(of("head", content), None, "{content}");
        }
        assert_eq!(of("head.ts", &id), None);
        let beginning = |content: &str| Trigger::of_beginning(b"HEAD", content.as_bytes());
        assert_eq!(beginning(&short), Some(Trigger::GitRepository));
        assert_eq!(beginning("export default Head;\n"), None);
    }

    /// D-5
    #[test]
    fn a_configuration_of_git_is_known_by_a_section_that_names_programs() {
        for content in
            ["[core]\n\tfsmonitor = x\n", "a = 1\n [ALIAS]", "[filter \"x\"]", "[Include]path=x"]
        {
            assert_eq!(of("config", content), Some(Trigger::GitConfiguration), "{content}");
        }
        for content in ["[default]\nregion = x\n", "core = 1", "Host x\n", "[corel]"] {
            assert_eq!(of("config", content), None, "{content}");
        }
        assert_eq!(of("config.toml", "[core]"), None);
    }

    /// D-5
    #[test]
    fn hooks_are_known_by_their_names() {
        assert!(Trigger::is_hook(b"Pre-Commit") && !Trigger::is_hook(b"update"));
        for name in ["pre-commit", "Post-Checkout", "commit-msg"] {
            assert_eq!(of(name, "exit 0"), Some(Trigger::GitHook), "{name}");
        }
        assert_eq!(of("pre-commit.md", ""), None);
        assert_eq!(of("update", ""), None);
    }

    /// D-5
    #[test]
    fn lifecycle_scripts_count_where_they_are_added_or_changed() {
        let package = |scripts: &str| format!("{{\"name\":\"x\",\"scripts\":{scripts}}}");
        let changes = |before: &str, after: &str| {
            let (before, after) = (package(before), package(after));
            Trigger::detect(b"package.json", Some(before.as_bytes()), after.as_bytes())
        };
        let lifecycle = Some(Trigger::LifecycleScript);
        assert_eq!(changes("{}", r#"{"postinstall":"x"}"#), lifecycle);
        assert_eq!(changes(r#"{"prepare":"x"}"#, r#"{"prepare":"y"}"#), lifecycle);
        assert_eq!(changes(r#"{"prepare":"x"}"#, r#"{"prepare":"x","test":"y"}"#), None);
        assert_eq!(changes(r#"{"prepare":"x"}"#, "{}"), None);
        assert_eq!(changes("{}", r#"{"build":"x","version":"y"}"#), None);
        assert_eq!(of("package.json", &package(r#"{"install":"x"}"#)), lifecycle);
        assert_eq!(
            of("package.json", &format!("\u{feff}{}", package(r#"{"install":"x"}"#))),
            lifecycle
        );
        for broken in ["", "{", "[]", "null", r#"{"scripts":1}"#] {
            assert_eq!(of("package.json", broken), None, "{broken}");
        }
        assert_eq!(Trigger::of_beginning(b"package.json", b"{}"), lifecycle);
    }

    /// D-5
    #[test]
    fn members_of_a_package_that_start_programs_count_where_they_are_added_or_changed() {
        let lifecycle = Some(Trigger::LifecycleScript);
        for member in [
            r#"{"gitHooks":{"pre-commit":"x"}}"#,
            r#"{"husky":{"hooks":{"pre-commit":"x"}}}"#,
            r#"{"lint-staged":{"*":"x"}}"#,
            r#"{"simple-git-hooks":{"pre-commit":"x"}}"#,
            r#"{"trustedDependencies":["x"]}"#,
            r#"{"pnpm":{"onlyBuiltDependencies":["x"]}}"#,
            r#"{"packageManager":"yarn@https://example.org/yarn.js"}"#,
        ] {
            assert_eq!(of("package.json", member), lifecycle, "{member}");
            let found =
                Trigger::detect(b"package.json", Some(member.as_bytes()), member.as_bytes());
            assert_eq!(found, None, "{member}");
            assert_eq!(Trigger::detect(b"package.json", Some(member.as_bytes()), b"{}"), None);
            assert_eq!(of("package.json", &format!("{member},")), lifecycle, "{member}");
        }
        for member in [r#"{"packageManager":"yarn@4.5.0"}"#, r#"{"pnpm":{"overrides":{}}}"#] {
            assert_eq!(of("package.json", member), None, "{member}");
        }
    }

    /// D-5
    #[test]
    fn a_package_that_only_a_lenient_reader_takes_counts_by_its_bytes() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let with = |value: &str| format!(r#"{{"a":{value},"scripts":{{"PostInstall":"x"}}}}"#);
        for value in [r#""\ud800""#, "1e999", &deep, "1,", "/* */ 1"] {
            assert_eq!(of("package.json", &with(value)), Some(Trigger::LifecycleScript), "{value}");
        }
        let mut no_text = b"{\"a\":\"\xff\",".to_vec();
        no_text.extend(br#""scripts":{"prepare":"x"}}"#);
        let found = Trigger::detect(b"package.json", Some(b"{}"), &no_text);
        assert_eq!(found, Some(Trigger::LifecycleScript));
        let escaped = r#"{"a":1e999,"scripts":{"\u0070repare":"x"}}"#;
        assert_eq!(of("package.json", escaped), Some(Trigger::LifecycleScript));
        // An unreadable earlier content proves nothing about its scripts.
        let (before, after) = (with("1e999"), with("1"));
        let found = Trigger::detect(b"package.json", Some(before.as_bytes()), after.as_bytes());
        assert_eq!(found, Some(Trigger::LifecycleScript));
        assert_eq!(of("package.json", r#"{"a":1e999,"scripts":{"build":"x"}}"#), None);
    }
}
