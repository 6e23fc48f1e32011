//! Detects files that other programs act on automatically, by their name and content (D-5).
//!
//! The name is not sufficient: `head/index.js` may be a page header, but a file `HEAD` that contains a
//! reference marks a git repository.

use std::collections::BTreeSet;

use actum_core::{RelPath, canonical};
use actum_record::keyring::{KEYRING_FILE, KEYS_DIRECTORY, Keyring};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fold::{as_windows_opens, folded};

/// Reason why another program acts on a file automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The file makes git treat its directory as a repository and start programs that the repository's
    /// configuration names (gitrepository-layout(5)).
    GitRepository,
    /// The file is the configuration of a git repository, which can name programs (git-config(1)).
    GitConfiguration,
    /// The file is a hook, which git starts if `core.hooksPath` names its directory (githooks(5)).
    GitHook,
    /// The change to a `package.json` adds or modifies lifecycle scripts, which run on installation
    /// (npm-scripts(7)), or other members that start programs.
    LifecycleScript,
    /// The file is a keyring at `keys/keyring.json`. actum treats the directory as a home of ledgers and keys,
    /// in which no change is allowed.
    LedgerHome,
}

/// Names of the hooks that git starts (githooks(5)).
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

/// Hook name that is ignored because many unrelated files have it. Only a push to the repository starts this
/// hook.
const GENERIC: &str = "update";

/// Lifecycle scripts that run on installation, either of this package or of a dependency from git.
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

/// Other members of a `package.json` that start programs on commit or installation, as JSON Pointers (RFC
/// 6901). They belong to husky 4, yorkie, lint-staged and simple-git-hooks, or list the dependencies whose
/// scripts pnpm and Bun run.
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

/// Members of a `package.json` that list dependencies. Yarn builds a dependency with the protocol `exec:` by
/// running a script of the project.
const DEPENDENCIES: [&str; 5] =
    ["dependencies", "devDependencies", "optionalDependencies", "overrides", "resolutions"];

/// Member of a `package.json` that names the package manager, which Corepack can load from a URL.
const MANAGER: &str = "/packageManager";

/// Sections of a git configuration that can name a program or include a file that does.
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

/// Lengths of object ids in hexadecimal digits, for SHA-1 and SHA-256.
const ID_DIGITS: [usize; 2] = [40, 64];

impl Trigger {
    /// Returns true if a file with this name may be a trigger, so that its content must be checked.
    pub fn may_be(name: &[u8]) -> bool {
        let name = plain(name);
        matches!(&*name, b"head" | b"config" | b"config.worktree" | b"package.json")
            || is_hook(&name)
    }

    /// Detects whether a file is a trigger after a change. `before` is the previous content, or `None` if the
    /// file is new.
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

    /// Detects whether a file is a trigger from at least the first 256 bytes of its content.
    pub fn of_beginning(name: &[u8], beginning: &[u8]) -> Option<Self> {
        let name = plain(name);
        match &*name {
            // git itself only reads 256 bytes of this file.
            b"head" => is_head(beginning).then_some(Self::GitRepository),
            b"config" | b"config.worktree" => Some(Self::GitConfiguration),
            b"package.json" => Some(Self::LifecycleScript),
            name => is_hook(name).then_some(Self::GitHook),
        }
    }

    /// Returns true if the name is that of a git hook. git starts an executable hook regardless of its content,
    /// so changing its mode or removing it affects which programs run.
    pub(crate) fn is_hook(name: &[u8]) -> bool {
        is_hook(&plain(name))
    }

    /// Detects whether a symbolic link is a trigger by its name. The content is not checked, because it belongs
    /// to the link's target.
    pub fn of_link(name: &[u8]) -> Option<Self> {
        Self::by_content(name).or_else(|| is_hook(&plain(name)).then_some(Self::GitHook))
    }

    /// Returns the trigger that a file with this name may be, depending on its content.
    pub fn by_content(name: &[u8]) -> Option<Self> {
        match &*plain(name) {
            b"head" => Some(Self::GitRepository),
            b"config" | b"config.worktree" => Some(Self::GitConfiguration),
            b"package.json" => Some(Self::LifecycleScript),
            _ => None,
        }
    }

    /// Returns true if a file at `path` below `root` may mark a home of ledgers and keys, so that its content
    /// must be checked. The root itself may be a directory of keys.
    pub fn may_mark_home(root: &str, path: &RelPath) -> bool {
        let parent = path.parent();
        let root_name = || root.rsplit('/').find(|name| !name.is_empty()).unwrap_or_default();
        let directory = parent.as_ref().map_or_else(|| root_name().as_bytes(), RelPath::name);
        plain(path.name()) == KEYRING_FILE.as_bytes()
            && plain(directory) == KEYS_DIRECTORY.as_bytes()
    }

    /// Returns the trigger of a file that [may mark a home](Self::may_mark_home). `None` stands for unknown
    /// content.
    pub fn of_mark(content: Option<&[u8]>) -> Option<Self> {
        content.is_none_or(Keyring::is_named_in).then_some(Self::LedgerHome)
    }

    /// Returns true if no policy can allow a change that creates the trigger.
    pub fn is_denied(self) -> bool {
        match self {
            Self::GitRepository | Self::LedgerHome => true,
            Self::GitConfiguration | Self::GitHook | Self::LifecycleScript => false,
        }
    }

    /// Describes the effect of the trigger, as the predicate of a sentence about the file.
    pub fn effect(self) -> &'static str {
        match self {
            Self::GitRepository => {
                "turns its directory into a git repository, whose configuration can start programs"
            }
            Self::GitConfiguration => {
                "configures git, which starts programs that the configuration names"
            }
            Self::GitHook => "is a hook that git starts if `core.hooksPath` names its directory",
            Self::LifecycleScript => {
                "may change lifecycle scripts or hooks, which run on installation or commit"
            }
            Self::LedgerHome => {
                "is an actum keyring, which would turn its directory into a home of ledgers and keys that no run may change"
            }
        }
    }
}

/// Folds a name in the same way as file systems that ignore case.
fn plain(name: &[u8]) -> Vec<u8> {
    as_windows_opens(&folded(name)).to_vec()
}

fn is_hook(name: &[u8]) -> bool {
    name != GENERIC.as_bytes() && GIT_HOOKS.iter().any(|hook| hook.as_bytes() == name)
}

/// Returns true if git accepts the content as the `HEAD` of a repository, which is a reference or a commit id.
fn is_head(content: &[u8]) -> bool {
    if let Some(reference) = content.strip_prefix(b"ref:") {
        return reference.trim_ascii_start().starts_with(b"refs/");
    }
    let digits = content.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    ID_DIGITS.iter().any(|id| digits >= *id)
}

/// Returns true if the configuration has one of the [`SECTIONS`].
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
    // A version never contains a colon, but every spelling of a URL does (WHATWG URL).
    let is_loaded = |manager: &Value| manager.as_str().is_some_and(|it| it.contains(':'));
    let differs = |member: &str| after.pointer(member) != before.pointer(member);
    scripts.any(|(name, script)| script_before(name) != Some(script))
        || MEMBERS.iter().any(|member| after.pointer(member).is_some() && differs(member))
        || after.pointer(MANAGER).is_some_and(is_loaded) && differs(MANAGER)
        || !executed(&after).is_subset(&executed(&before))
        || !built(&after).is_subset(&built(&before))
}

/// Returns true if a dependency uses the protocol `exec:`, also when nested in another protocol with an encoded
/// colon.
fn is_executed(dependency: &str) -> bool {
    let dependency = dependency.to_ascii_lowercase();
    dependency.contains("exec:") || dependency.contains("exec%3a")
}

/// Returns the dependencies that Yarn builds by running a script, as written.
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

/// Returns the dependencies whose scripts Yarn runs. Yarn does not run them by default.
fn built(package: &Value) -> BTreeSet<&str> {
    let members = package.get("dependenciesMeta").and_then(Value::as_object);
    let is_built = |meta: &Value| meta.get("built").is_some_and(|it| *it != Value::Bool(false));
    let members = members.into_iter().flatten().filter(|(_, meta)| is_built(meta));
    members.map(|(name, _)| name.as_str()).collect()
}

/// Parses a `package.json`. Returns `None` if a name occurs twice in an object, because parsers differ in which
/// value they use. Like npm, it skips a byte order mark.
fn package(content: &[u8]) -> Option<Value> {
    canonical::read(content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content)).ok()
}

/// Returns true if a `package.json` that strict parsers reject may define a lifecycle script. An installer may
/// still accept the file, and an escape (`\u0070`) may stand for any letter of a name.
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

    fn detect(name: &str, after: &str) -> Option<Trigger> {
        assert!(
            Trigger::detect(name.as_bytes(), None, after.as_bytes()).is_none()
                || Trigger::may_be(name.as_bytes())
        );
        Trigger::detect(name.as_bytes(), None, after.as_bytes())
    }

    /// D-5: a `HEAD` file is recognized as that of a repository by its content.
    #[test]
    fn repository_head_is_recognised_by_its_content() {
        let id = "0123456789abcdef".repeat(4);
        let (short, too_short) = ("01234567".repeat(5), "0123456789abc".repeat(3));
        for content in ["ref: refs/heads/main\n", "ref:refs/x", "ref: \trefs/x", &id, &short] {
            assert_eq!(detect("HEAD", content), Some(Trigger::GitRepository), "{content}");
        }
        assert_eq!(detect("Head ", "ref: refs/heads/main\n"), Some(Trigger::GitRepository));
        for content in ["", "ref: heads/main", "export default Head;\n", &too_short] {
            assert_eq!(detect("head", content), None, "{content}");
        }
        assert_eq!(detect("head.ts", &id), None);
        let beginning = |content: &str| Trigger::of_beginning(b"HEAD", content.as_bytes());
        assert_eq!(beginning(&short), Some(Trigger::GitRepository));
        assert_eq!(beginning("export default Head;\n"), None);
    }

    /// D-5: a git configuration is recognized by a section that can name programs.
    #[test]
    fn git_configuration_is_recognised_by_sections_that_name_programs() {
        for content in
            ["[core]\n\tfsmonitor = x\n", "a = 1\n [ALIAS]", "[filter \"x\"]", "[Include]path=x"]
        {
            assert_eq!(detect("config", content), Some(Trigger::GitConfiguration), "{content}");
        }
        for content in ["[default]\nregion = x\n", "core = 1", "Host x\n", "[corel]"] {
            assert_eq!(detect("config", content), None, "{content}");
        }
        assert_eq!(detect("config.toml", "[core]"), None);
    }

    /// D-5: git hooks are recognized by their names only.
    #[test]
    fn git_hooks_are_recognised_by_name() {
        assert!(Trigger::is_hook(b"Pre-Commit") && !Trigger::is_hook(b"update"));
        for name in ["pre-commit", "Post-Checkout", "commit-msg"] {
            assert_eq!(detect(name, "exit 0"), Some(Trigger::GitHook), "{name}");
        }
        assert_eq!(detect("pre-commit.md", ""), None);
        assert_eq!(detect("update", ""), None);
    }

    /// D-5: lifecycle scripts count only if the change adds or modifies them.
    #[test]
    fn added_or_changed_lifecycle_scripts_are_detected() {
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
        assert_eq!(detect("package.json", &package(r#"{"install":"x"}"#)), lifecycle);
        assert_eq!(
            detect("package.json", &format!("\u{feff}{}", package(r#"{"install":"x"}"#))),
            lifecycle
        );
        for broken in ["", "{", "[]", "null", r#"{"scripts":1}"#] {
            assert_eq!(detect("package.json", broken), None, "{broken}");
        }
        assert_eq!(Trigger::of_beginning(b"package.json", b"{}"), lifecycle);
    }

    /// D-5: other members that start programs count only if the change adds or modifies them.
    #[test]
    fn added_or_changed_package_members_that_run_programs_are_detected() {
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
            assert_eq!(detect("package.json", member), lifecycle, "{member}");
            let found =
                Trigger::detect(b"package.json", Some(member.as_bytes()), member.as_bytes());
            assert_eq!(found, None, "{member}");
            assert_eq!(Trigger::detect(b"package.json", Some(member.as_bytes()), b"{}"), None);
            assert_eq!(detect("package.json", &format!("{member},")), lifecycle, "{member}");
        }
        for member in [r#"{"packageManager":"yarn@4.5.0"}"#, r#"{"pnpm":{"overrides":{}}}"#] {
            assert_eq!(detect("package.json", member), None, "{member}");
        }
    }

    /// D-5: if only a lenient parser accepts a `package.json`, its bytes are searched for lifecycle scripts.
    #[test]
    fn package_json_only_lenient_parsers_accept_is_searched_as_bytes() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let with = |value: &str| format!(r#"{{"a":{value},"scripts":{{"PostInstall":"x"}}}}"#);
        for value in [r#""\ud800""#, "1e999", &deep, "1,", "/* */ 1"] {
            assert_eq!(
                detect("package.json", &with(value)),
                Some(Trigger::LifecycleScript),
                "{value}"
            );
        }
        let mut no_text = b"{\"a\":\"\xff\",".to_vec();
        no_text.extend(br#""scripts":{"prepare":"x"}}"#);
        let found = Trigger::detect(b"package.json", Some(b"{}"), &no_text);
        assert_eq!(found, Some(Trigger::LifecycleScript));
        let escaped = r#"{"a":1e999,"scripts":{"\u0070repare":"x"}}"#;
        assert_eq!(detect("package.json", escaped), Some(Trigger::LifecycleScript));
        // If the previous content is invalid, it does not show which scripts already existed.
        let (before, after) = (with("1e999"), with("1"));
        let found = Trigger::detect(b"package.json", Some(before.as_bytes()), after.as_bytes());
        assert_eq!(found, Some(Trigger::LifecycleScript));
        assert_eq!(detect("package.json", r#"{"a":1e999,"scripts":{"build":"x"}}"#), None);
    }
}
