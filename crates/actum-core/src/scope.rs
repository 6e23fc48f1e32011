//! Scope of a run: the paths that it may change (FO-3).

use serde::{Deserialize, Serialize};

use crate::{PathRule, RelPath};

/// Paths that a run may change.
///
/// A path is in scope if an allow rule matches it and no deny rule does. Deny rules take precedence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// Rules for allowed paths. `None` allows every path, and an empty list allows none.
    #[serde(deserialize_with = "Option::deserialize")]
    pub allow: Option<Vec<PathRule>>,
    /// Rules for denied paths, which take precedence over `allow`.
    pub deny: Vec<PathRule>,
}

/// Error for a path outside the scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// A deny rule matches the path.
    #[error("the path `{path}` is denied by the scope rule `{rule}`")]
    Denied {
        /// Path that was denied.
        path: RelPath,
        /// Deny rule that matches the path.
        rule: PathRule,
    },
    /// None of the allow rules matches the path.
    #[error("the path `{path}` matches none of the allowed paths ({})", list(rules))]
    NotAllowed {
        /// Path that is not allowed.
        path: RelPath,
        /// All allow rules of the scope.
        rules: Vec<PathRule>,
    },
}

fn list(rules: &[PathRule]) -> String {
    if rules.is_empty() {
        return "the allow-list is empty".to_owned();
    }
    rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ")
}

impl Scope {
    /// Returns a scope that allows every path in the workspace.
    pub fn everything() -> Self {
        Self { allow: None, deny: Vec::new() }
    }

    /// Checks that `path` is in scope.
    ///
    /// # Errors
    /// [`ScopeError`] with the path, and with the rules that exclude it.
    pub fn check(&self, path: &RelPath) -> Result<(), ScopeError> {
        if let Some(rule) = self.deny.iter().find(|rule| rule.covers(path)) {
            return Err(ScopeError::Denied { path: path.clone(), rule: rule.clone() });
        }
        match &self.allow {
            Some(rules) if !rules.iter().any(|rule| rule.covers(path)) => {
                Err(ScopeError::NotAllowed { path: path.clone(), rules: rules.clone() })
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<PathRule> {
        texts.iter().map(|t| PathRule::new(t).unwrap()).collect()
    }

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    /// FO-3
    #[test]
    fn deny_overrides_allow_and_similar_names_do_not_match() {
        let scope = Scope {
            allow: Some(rules(&["src/", "Cargo.toml"])),
            deny: rules(&["src/secret", "src/lib.rs"]),
        };
        assert_eq!(scope.check(&path("src/main.rs")), Ok(()));
        assert_eq!(scope.check(&path("Cargo.toml")), Ok(()));
        for refused in ["src", "srcs/a", "src/secret/key", "src/lib.rs", "Cargo.toml.bak", "a"] {
            assert!(scope.check(&path(refused)).is_err(), "{refused}");
        }
        assert_eq!(
            scope.check(&path("src/secret/key")).unwrap_err().to_string(),
            "the path `src/secret/key` is denied by the scope rule `src/secret`"
        );
        assert_eq!(
            scope.check(&path("a")).unwrap_err().to_string(),
            "the path `a` matches none of the allowed paths (`src/`, `Cargo.toml`)"
        );
    }

    #[test]
    fn scope_round_trips_through_json() {
        let mut allow = rules(&["src/", "Cargo.toml"]);
        allow.push(PathRule::new(b"a\xff/").unwrap());
        let scope = Scope { allow: Some(allow), deny: rules(&["src/é"]) };
        let json = r#"{"allow":["src/","Cargo.toml",{"hex":"61ff2f"}],"deny":["src/é"]}"#;
        assert_eq!(serde_json::to_string(&scope).unwrap(), json);
        assert_eq!(serde_json::from_str::<Scope>(json).unwrap(), scope);
        let json = r#"{"allow":null,"deny":[]}"#;
        assert_eq!(serde_json::to_string(&Scope::everything()).unwrap(), json);
        assert_eq!(serde_json::from_str::<Scope>(json).unwrap(), Scope::everything());
    }

    /// D-4
    #[test]
    fn scope_with_a_missing_list_or_invalid_rule_is_refused() {
        for json in [
            r#"{"deny":[]}"#,
            r#"{"allow":null}"#,
            r#"{"allow":[],"deny":[],"more":1}"#,
            r#"{"allow":["../a"],"deny":[]}"#,
            r#"{"allow":["/"],"deny":[]}"#,
            r#"{"allow":["a[b]"],"deny":[]}"#,
        ] {
            assert!(serde_json::from_str::<Scope>(json).is_err(), "{json}");
        }
    }

    /// FO-3
    #[test]
    fn an_empty_allow_list_allows_nothing() {
        let scope = Scope { allow: Some(Vec::new()), deny: Vec::new() };
        assert!(scope.check(&path("a")).is_err());
        assert_eq!(Scope::everything().check(&path("a")), Ok(()));
    }
}
