//! Paths where actum refuses to write result files: protected paths, and files that make other programs act.

use std::sync::OnceLock;

use actum_core::RelPath;

use crate::gate_name::{GateName, PathRules};
use crate::policy::{BUILT_IN, PROTECTED_GROUPS, Profile};
use crate::spelling::{Above, GuardKind, Guards, Spellings};
use crate::trigger::Trigger;

/// Content of a result file, if it is known before writing.
#[derive(Debug, Clone, Copy)]
pub enum OutputContent<'a> {
    /// All bytes of the file are known.
    Whole(&'a [u8]),
    /// The content is written piece by piece, so it is not known in advance.
    Streamed,
}

/// Returns the reason why a result file with this content must not be written. `names` are the components of
/// its absolute path. In addition to [`refuses_output`], content that makes other programs act on the file is
/// rejected.
pub fn refuses_result(names: &[&[u8]], content: OutputContent<'_>) -> Option<String> {
    refuses_output(names).or_else(|| {
        let trigger = trigger(names, content)?;
        Some(format!("it {}", trigger.effect()))
    })
}

fn trigger(names: &[&[u8]], content: OutputContent<'_>) -> Option<Trigger> {
    let bytes = match content {
        OutputContent::Whole(bytes) => Some(bytes),
        OutputContent::Streamed => None,
    };
    let (last, above) = names.split_last()?;
    let nearest = [above.last().copied().unwrap_or_default(), last].join(&b'/');
    if RelPath::new(nearest).is_ok_and(|path| Trigger::may_mark_home("", &path)) {
        return Trigger::of_mark(bytes);
    }
    match bytes {
        Some(bytes) => Trigger::detect(last, None, bytes),
        // Streamed content is always a ledger export, which never starts like a file of a git repository.
        None => Trigger::of_beginning(last, b""),
    }
}

/// Returns the reason why no result file may be written at the absolute path with the components `names`, or
/// `None` if it may be written.
///
/// A result file is not part of a run, so no gate judges it. It is rejected wherever a change would be denied,
/// or would need an approval because of its path. Components above any workspace are checked, too.
pub fn refuses_output(names: &[&[u8]]) -> Option<String> {
    let (last, above) = names.split_last()?;
    let Ok(last) = RelPath::new(*last) else {
        return Some("its name is invalid or reserved".to_owned());
    };
    let above = Above::new(above.to_vec(), Vec::new());
    let path = Spellings::below(&above, &last);
    let (guard, why) = guards().covering(&path).next()?;
    Some(format!("it is protected by `{}`: {why}", guard.rule()))
}

/// Returns true if a workspace at `root` would evade built-in rules. `around` are the components of an
/// enclosing workspace or repository, and `root` are the components below it. A file there would be denied or
/// need an approval, but rules about files do not consider the names above a workspace root.
pub fn refuses_root(around: &[&[u8]], root: &[&[u8]]) -> bool {
    let above = Above::new(around.to_vec(), Vec::new());
    let file = [root, &[b"file".as_slice()]].concat().join(&b'/');
    let Ok(file) = RelPath::new(file) else { return true };
    guards().covering(&Spellings::below(&above, &file)).next().is_some()
}

fn guards() -> &'static Guards<&'static str> {
    static GUARDS: OnceLock<Guards<&str>> = OnceLock::new();
    GUARDS.get_or_init(|| {
        let rules = GateName::ALL.iter().filter_map(|gate| gate.path_rules());
        Guards::built_in(rules.flat_map(each_rule))
    })
}

/// Returns the built-in path rules, each with its reason.
fn each_rule(rules: PathRules) -> Vec<(&'static str, GuardKind, &'static str)> {
    match rules {
        PathRules::Protected => {
            let groups = PROTECTED_GROUPS.iter().filter(|group| {
                group.profiles.contains(&Profile::Critical)
                    || group.profiles.contains(&Profile::Interactive)
            });
            let rules = groups
                .flat_map(|group| group.paths.rules().map(|(rule, kind)| (rule, kind, group.name)));
            rules.collect()
        }
        PathRules::Tier => {
            let risky = BUILT_IN.iter().filter(|rule| rule.tier.needs_approval());
            let rules = risky
                .flat_map(|rule| rule.paths.rules().map(|(path, kind)| (path, kind, rule.why)));
            rules.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str) -> bool {
        let names: Vec<&[u8]> =
            path.split('/').filter(|name| !name.is_empty()).map(str::as_bytes).collect();
        refuses_output(&names).is_some()
    }

    /// D-5, AA-5
    #[test]
    fn result_files_are_rejected_at_protected_or_risky_paths() {
        let protected = [
            "/w/.git",
            "/w/.git/hooks/post-commit",
            "/w/sub/.GIT/config",
            "/w/.actum/journal",
            "/w/.env",
            "/w/sub/.env.local",
            "/w/actum.toml",
            "/w/.github/workflows/ci.yml",
            "/w/.claude/settings.json",
            "/w/x.service",
        ];
        for path in protected {
            assert!(refused(path), "{path}");
        }
        for path in ["/w/receipt.json", "/w/README.md", "/w/agent/ledger.jsonl", "/receipt"] {
            assert!(!refused(path), "{path}");
        }
    }

    /// D-5: rules about files do not see the names above a root, so no root may be inside a directory that they
    /// match.
    #[test]
    fn root_inside_a_protected_or_risky_directory_is_rejected() {
        let refused = |path: &str| {
            let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
            refuses_root(&[b"home", b"src", b"jenkinsfile-runner"], &names)
        };
        for path in [
            ".lefthook/pre-commit",
            ".clinerules",
            "secrets.d",
            ".husky",
            ".claude/rules",
            ".claude/rules/.claude/worktrees/x",
            "sub/.github/workflows",
        ] {
            assert!(refused(path), "{path}");
        }
        for path in ["agent", "packages/a", ".claude/worktrees/x", ".github", "vendor/lib"] {
            assert!(!refused(path), "{path}");
        }
    }

    /// D-5, issue 22: writing a keyring as a result file is refused, because it would turn its directory into a
    /// ledger home.
    #[test]
    fn result_files_are_rejected_if_programs_would_interpret_them() {
        let refused = |path: &str, content: OutputContent<'_>| {
            let names: Vec<&[u8]> = path.split('/').skip(1).map(str::as_bytes).collect();
            refuses_result(&names, content).is_some()
        };
        let keyring = OutputContent::Whole(b"{\"format\":\"actum.keyring/1\",\"keys\":[]}\n");
        for path in ["/w/keys/keyring.json", "/keys/keyring.json", "/w/Keys/KEYRING.json"] {
            assert!(refused(path, keyring) && refused(path, OutputContent::Streamed), "{path}");
            assert!(!refused(path, OutputContent::Whole(b"{}\n")), "{path}");
        }
        for path in ["/w/keyring.json", "/keyring.json", "/w/keys/x/keyring.json", "/w/keys/a.json"]
        {
            assert!(!refused(path, keyring) && !refused(path, OutputContent::Streamed), "{path}");
        }
        let head = OutputContent::Whole(b"ref: refs/heads/main\n");
        assert!(refused("/w/HEAD", head) && !refused("/w/HEAD", keyring));
        assert!(refused("/w/pre-commit", keyring) && refused("/w/config", OutputContent::Streamed));
    }
}
