//! Maps file names to the languages whose syntax is checked.

use actum_core::RelPath;
use actum_edit::edit::Language;

/// Languages by the ending of the file name.
const ENDINGS: [(&str, Language); 11] = [
    (".json", Language::Json),
    (".geojson", Language::Json),
    (".ipynb", Language::Json),
    (".jsonld", Language::Json),
    (".webmanifest", Language::Json),
    (".code-workspace", Language::JsonWithComments),
    (".jsonc", Language::JsonWithComments),
    (".jsonl", Language::JsonLines),
    (".ndjson", Language::JsonLines),
    (".yaml", Language::Yaml),
    (".yml", Language::Yaml),
];

/// Prefixes of the names of JSON files in which their tools accept comments.
const WITH_COMMENTS: [&str; 4] = ["tsconfig.", "jsconfig.", "devcontainer.", ".eslintrc."];

/// Returns the language that a file name implies, ignoring case. JSON5 is a different language and is not checked.
pub(super) fn from_path(path: &RelPath) -> Option<Language> {
    let name = path.name().to_ascii_lowercase();
    let ends = |ending: &str| name.len() > ending.len() && name.ends_with(ending.as_bytes());
    let (_, language) = ENDINGS.iter().find(|(ending, _)| ends(ending))?;
    let has_comments = WITH_COMMENTS.iter().any(|start| name.starts_with(start.as_bytes()))
        || path.components().any(|component| component.eq_ignore_ascii_case(b".vscode"));
    Some(match language {
        Language::Json if has_comments => Language::JsonWithComments,
        Language::Json | Language::JsonWithComments | Language::JsonLines | Language::Yaml => {
            *language
        }
    })
}

/// Returns the languages that a file whose name implies `language` may be written in, starting with the strictest.
pub(super) fn at_most(language: Language) -> &'static [Language] {
    match language {
        Language::Json => &[Language::Json, Language::JsonWithComments],
        Language::JsonWithComments => &[Language::JsonWithComments],
        Language::JsonLines => &[Language::JsonLines],
        Language::Yaml => &[Language::Yaml],
    }
}
