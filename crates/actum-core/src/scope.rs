//! Which paths a run may touch (FO-3).

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{PathError, RelPath, path_name};

/// One entry of an allow-list or deny-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeRule {
    path: RelPath,
    /// `dir/`: what lies below, but not a file of that very name.
    below_only: bool,
}

impl ScopeRule {
    /// Reads a rule: `src/` covers everything below the directory `src`; `src` and `a/b.rs` cover
    /// that path and whatever lies below it. Rules are compared component by component, never as
    /// the beginning of a string.
    ///
    /// # Errors
    /// [`PathError`] when it is no path inside a workspace.
    pub fn new(text: impl AsRef<[u8]>) -> Result<Self, PathError> {
        let text = text.as_ref();
        let (path, below_only) = match text.strip_suffix(b"/") {
            Some(path) => (path, true),
            None => (text, false),
        };
        Ok(Self { path: RelPath::new(path)?, below_only })
    }

    /// Whether the rule speaks of `path`.
    pub fn covers(&self, path: &RelPath) -> bool {
        path.starts_with(&self.path) && !(self.below_only && *path == self.path)
    }
}

impl Serialize for ScopeRule {
    /// As it is given to [`ScopeRule::new`]; as an object with `hex` where that is no UTF-8.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let end: &[u8] = if self.below_only { b"/" } else { b"" };
        path_name::write(&[self.path.as_bytes(), end].concat(), serializer)
    }
}

impl<'de> Deserialize<'de> for ScopeRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(path_name::read(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl std::fmt::Display for ScopeRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.path, if self.below_only { "/" } else { "" })
    }
}

/// Which paths a run may touch: those an allow rule covers and no deny rule does. Deny wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// `None` allows every path; an empty list allows none.
    #[serde(deserialize_with = "Option::deserialize")]
    pub allow: Option<Vec<ScopeRule>>,
    /// What is refused whatever `allow` says.
    pub deny: Vec<ScopeRule>,
}

/// A path that lies outside the scope, and the rule that says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// A deny rule covers it.
    #[error("the path `{path}` is denied by the scope rule `{rule}`")]
    Denied {
        /// The path.
        path: RelPath,
        /// The rule.
        rule: ScopeRule,
    },
    /// No allow rule covers it.
    #[error("the path `{path}` is in none of the allowed places ({})", list(rules))]
    NotAllowed {
        /// The path.
        path: RelPath,
        /// The allow-list.
        rules: Vec<ScopeRule>,
    },
}

fn list(rules: &[ScopeRule]) -> String {
    if rules.is_empty() {
        return "the allow-list is empty".to_owned();
    }
    rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ")
}

impl Scope {
    /// Every path of the workspace.
    pub fn everything() -> Self {
        Self { allow: None, deny: Vec::new() }
    }

    /// Whether `path` may be touched.
    ///
    /// # Errors
    /// [`ScopeError`] naming the path and the rule.
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

    fn rules(texts: &[&str]) -> Vec<ScopeRule> {
        texts.iter().map(|t| ScopeRule::new(t).unwrap()).collect()
    }

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    /// FO-3
    #[test]
    fn deny_wins_over_allow_and_a_similar_name_is_not_covered() {
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
            "the path `a` is in none of the allowed places (`src/`, `Cargo.toml`)"
        );
    }

    #[test]
    fn a_scope_survives_being_written_and_read() {
        let mut allow = rules(&["src/", "Cargo.toml"]);
        allow.push(ScopeRule::new(b"a\xff/").unwrap());
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
    fn a_scope_without_one_of_its_lists_is_refused() {
        for json in [
            r#"{"deny":[]}"#,
            r#"{"allow":null}"#,
            r#"{"allow":[],"deny":[],"more":1}"#,
            r#"{"allow":["../a"],"deny":[]}"#,
            r#"{"allow":["/"],"deny":[]}"#,
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
