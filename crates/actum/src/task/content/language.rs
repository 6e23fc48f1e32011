//! Language of a file by its name.

use actum_core::RelPath;
use actum_edit::edit::Language;

/// File name endings.
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

/// Beginnings of names of JSON files that their own tools read with comments.
const WITH_COMMENTS: [&str; 4] = ["tsconfig.", "jsconfig.", "devcontainer.", ".eslintrc."];

/// Returns the language of a name, ignoring case. JSON5 is another language, and not checked.
pub(super) fn of(path: &RelPath) -> Option<Language> {
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

/// Returns the languages that a file with the name of `language` may have, the strictest first.
pub(super) fn at_most(language: Language) -> &'static [Language] {
    match language {
        Language::Json => &[Language::Json, Language::JsonWithComments],
        Language::JsonWithComments => &[Language::JsonWithComments],
        Language::JsonLines => &[Language::JsonLines],
        Language::Yaml => &[Language::Yaml],
    }
}
