//! Rules for each kind of file, from `.vale.ini` and the styles it refers to.

use std::fs::{read_dir, read_to_string};
use std::io;
use std::path::Path;

use super::rule::{Rule, RuleError};

/// Rules of each kind of file.
#[derive(Debug)]
pub(super) struct Styles {
    pub(super) markdown: Vec<Rule>,
    pub(super) rust: Vec<Rule>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum StyleError {
    #[error("reading `{path}`: {source}")]
    Unreadable { path: String, source: io::Error },
    #[error("`{CONFIGURATION}`, line {line}: {problem}")]
    Configuration { line: usize, problem: &'static str },
    #[error("`{path}`: {source}")]
    Rule { path: String, source: RuleError },
}

const CONFIGURATION: &str = ".vale.ini";

/// Section of the configuration, such as `[*.md]`.
#[derive(Debug, PartialEq, Eq)]
struct Section {
    glob: String,
    styles: Vec<String>,
    /// Rules of the styles that are disabled in this section.
    off: Vec<String>,
}

impl Styles {
    pub(super) fn read(root: &Path) -> Result<Self, StyleError> {
        let text = read(root, CONFIGURATION)?;
        let (styles_path, sections) = sections(&text)
            .map_err(|(line, problem)| StyleError::Configuration { line, problem })?;
        let rules = |glob: &str| {
            let mut rules = Vec::new();
            for section in sections.iter().filter(|section| section.glob == glob) {
                for style in &section.styles {
                    rules.extend(style_rules(root, &format!("{styles_path}/{style}"), style)?);
                }
                rules.retain(|rule| !section.off.contains(&rule.name));
            }
            Ok(rules)
        };
        Ok(Self { markdown: rules("*.md")?, rust: rules("*.rs")? })
    }
}

fn read(root: &Path, path: &str) -> Result<String, StyleError> {
    let unreadable = |source| StyleError::Unreadable { path: path.to_owned(), source };
    read_to_string(root.join(path)).map_err(unreadable)
}

fn style_rules(root: &Path, directory: &str, style: &str) -> Result<Vec<Rule>, StyleError> {
    let unreadable = |source| StyleError::Unreadable { path: directory.to_owned(), source };
    let mut names = Vec::new();
    for entry in read_dir(root.join(directory)).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".yml").map(str::to_owned));
    }
    names.sort();
    let rule = |name: &String| {
        let path = format!("{directory}/{name}.yml");
        Rule::read(&format!("{style}.{name}"), &read(root, &path)?)
            .map_err(|source| StyleError::Rule { path, source })
    };
    names.iter().map(rule).collect()
}

/// Returns the path of the styles and the sections, or the number of an invalid line with its error.
fn sections(text: &str) -> Result<(String, Vec<Section>), (usize, &'static str)> {
    let (mut path, mut sections) = (None, Vec::new());
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(glob) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            if !["formats", "*.md", "*.rs"].contains(&glob) {
                return Err((number, "a section is `[formats]`, `[*.md]` or `[*.rs]`"));
            }
            sections.push(Section { glob: glob.to_owned(), styles: Vec::new(), off: Vec::new() });
            continue;
        }
        let (key, value) = line.split_once('=').ok_or((number, "write `key = value`"))?;
        match (key.trim(), value.trim(), sections.last_mut()) {
            ("rs", "md", Some(section)) if section.glob == "formats" => {}
            ("StylesPath", value, None) => path = Some(value.to_owned()),
            ("MinAlertLevel", "error", None) => {}
            ("BasedOnStyles", value, Some(section)) => {
                section.styles = value.split(',').map(|style| style.trim().to_owned()).collect();
            }
            (rule, "NO", Some(section)) => section.off.push(rule.to_owned()),
            _ => return Err((number, "this setting is not known here")),
        }
    }
    Ok((path.ok_or((1, "`StylesPath` is missing"))?, sections))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::testing::write_tree;

    #[test]
    fn rule_applies_with_its_style_unless_disabled() {
        let rule =
            "extends: existence\nmessage: m\nlevel: error\nignorecase: true\ntokens:\n  - t\n";
        let text =
            "StylesPath = s\n[*.md]\nBasedOnStyles = A, B\nA.D = NO\n[*.rs]\nBasedOnStyles = A\n";
        let root = write_tree(&[
            (CONFIGURATION, text),
            ("s/A/C.yml", rule),
            ("s/A/D.yml", rule),
            ("s/B/E.yml", rule),
            ("s/B/no-rule.md", ""),
        ]);
        let styles = Styles::read(root.path()).unwrap();
        let names = |rules: &[Rule]| rules.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&styles.markdown), ["A.C", "B.E"]);
        assert_eq!(names(&styles.rust), ["A.C", "A.D"]);
    }

    #[test]
    fn configuration_lists_styles_and_disabled_rules_per_section() {
        let text = "# Note\nStylesPath = a/b\nMinAlertLevel = error\n\n[formats]\nrs = md\n[*.md]\nBasedOnStyles = C, D\nC.E = NO\n[*.rs]\nBasedOnStyles = C\n";
        let section = |glob: &str, styles: &[&str], off: &[&str]| Section {
            glob: glob.into(),
            styles: styles.iter().map(|&it| it.into()).collect(),
            off: off.iter().map(|&it| it.into()).collect(),
        };
        let expected = vec![
            section("formats", &[], &[]),
            section("*.md", &["C", "D"], &["C.E"]),
            section("*.rs", &["C"], &[]),
        ];
        assert_eq!(sections(text), Ok(("a/b".to_owned(), expected)));
    }

    #[test]
    fn setting_that_only_vale_supports_is_rejected() {
        let cases = [
            ("StylesPath = a\n[*.txt]", (2, "a section is `[formats]`, `[*.md]` or `[*.rs]`")),
            ("StylesPath = a\n[formats]\nrs = adoc", (3, "this setting is not known here")),
            ("StylesPath = a\n[*.rs]\nrs = md", (3, "this setting is not known here")),
            ("StylesPath = a\nVocab = b", (2, "this setting is not known here")),
            ("StylesPath = a\n[*.md]\nC.E = warning", (3, "this setting is not known here")),
            ("StylesPath", (1, "write `key = value`")),
            ("[*.md]", (1, "`StylesPath` is missing")),
        ];
        for (text, problem) in cases {
            assert_eq!(sections(text), Err(problem));
        }
    }
}
