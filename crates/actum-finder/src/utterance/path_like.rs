//! Recognises the parts of an utterance that are values and not words, such as paths and run ids.

use actum_core::RunId;

use super::Given;

/// Well-known names of files without an extension.
const FILE_NAMES: &[&str] = &[
    "AUTHORS",
    "CHANGELOG",
    "CODEOWNERS",
    "Dockerfile",
    "Gemfile",
    "Jenkinsfile",
    "Justfile",
    "LICENSE",
    "Makefile",
    "NOTICE",
    "Procfile",
    "README",
    "Rakefile",
    "Vagrantfile",
];
/// Words that may be joined by slashes without forming a path, as in `and/or`.
const ALTERNATIVES: &[&str] = &["and", "e", "et", "o", "oder", "or", "ou", "u", "und", "y"];
/// Abbreviations with an inner dot, which are not file names.
const ABBREVIATIONS: &[&str] = &["p.ej", "p.ex", "p.es"];
/// Maximum length of a file extension, in characters.
const EXTENSION_CHARS_MAX: usize = 10;

/// Interprets a chunk of text without whitespace as a value. Returns `None` if the chunk consists of words.
pub(super) fn classify(chunk: &str) -> Option<Given> {
    let is_opening = |c: char| matches!(c, '(' | '[' | '{' | '<' | '¿' | '¡' | '\'' | '‘' | '’');
    let is_closing = |c: char| ".,;:!?…)]}>'‘’".contains(c);
    let text = chunk.trim_start_matches(is_opening).trim_end_matches(is_closing);
    if text.is_empty() {
        return None;
    }
    let spelled = || text.to_owned();
    if text.contains("://") || text.starts_with("www.") || text.chars().skip(1).any(|c| c == '@') {
        return Some(Given::Unclear(spelled()));
    }
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    if has_digit && RunId::from_text(text.as_bytes()).is_some() {
        return Some(Given::Run(spelled()));
    }
    if !is_path_like(text) {
        return None;
    }
    let is_unclear = |c: char| ",;:|<>'‘’\"*?[]{}()\\=&".contains(c);
    Some(match text.contains(is_unclear) {
        true => Given::Unclear(spelled()),
        false => Given::Path(spelled()),
    })
}

/// Returns true if the text looks like a path or a file name.
pub(crate) fn is_path_like(text: &str) -> bool {
    if text.contains(['/', '\\']) {
        let is_choice = |part: &str| ALTERNATIVES.contains(&&*part.to_lowercase());
        return text.len() > 1 && !text.split('/').all(is_choice);
    }
    if FILE_NAMES.contains(&text) || text.starts_with('~') || text.contains('*') {
        return text.len() > 1;
    }
    let Some((stem, extension)) = text.rsplit_once('.') else { return false };
    if stem.is_empty() {
        return extension.starts_with(char::is_alphabetic);
    }
    let is_extension = (1..=EXTENSION_CHARS_MAX).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && extension.contains(char::is_alphabetic);
    let is_abbreviation = text.split('.').all(|part| part.chars().count() <= 1)
        || ABBREVIATIONS.contains(&&*text.to_lowercase());
    is_extension && !is_abbreviation && stem.contains(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-1
    #[test]
    fn paths_are_distinguished_from_abbreviations() {
        for text in [
            "a.txt",
            "src/main",
            ".env",
            "Makefile",
            "Übersicht.md",
            "./a",
            "../x",
            "~/x",
            "a.b.c.d.tar.gz",
        ] {
            assert!(is_path_like(text), "{text}");
        }
        for text in ["z.B", "p.ex", "und/oder", "1.2.3", "file", "Hello", "a", "/", "…"] {
            assert!(!is_path_like(text), "{text}");
        }
    }
}
