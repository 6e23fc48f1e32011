//! Folds spellings of a name that some file system treats as equal.
//!
//! Linux compares names byte by byte, but a workspace may be on a file system that does not, or may be copied
//! to one. A protected name is therefore protected in all of its spellings.

use std::borrow::Cow;

use actum_core::path::is_ignorable;
use unicase::UniCase;
use unicode_normalization::UnicodeNormalization;

/// Folds a name for comparison (Unicode `NFKC_Casefold`): case is ignored, compatible characters are unified
/// (NFKC), and invisible characters are removed. Bytes that are not UTF-8 remain unchanged.
pub(crate) fn folded(name: &[u8]) -> Cow<'_, [u8]> {
    if name.is_ascii() {
        return match name.iter().any(u8::is_ascii_uppercase) {
            true => Cow::Owned(name.to_ascii_lowercase()),
            false => Cow::Borrowed(name),
        };
    }
    let mut folded = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        folded.extend(folded_text(chunk.valid()).into_bytes());
        folded.extend(chunk.invalid());
    }
    Cow::Owned(folded)
}

fn folded_text(text: &str) -> String {
    let without_case = |text: String| UniCase::unicode(text).to_folded_case();
    let once = without_case(text.nfkc().collect());
    let seen: String = once.chars().filter(|character| !is_ignorable(*character)).collect();
    // After removing invisible characters, the rest may fold and compose once more.
    without_case(seen).nfkc().collect()
}

/// Returns the part of `name` that Windows uses to open the file, without a stream name and without trailing
/// dots and spaces.
pub(crate) fn as_windows_opens(name: &[u8]) -> &[u8] {
    let name = name.split(|&byte| byte == b':').next().unwrap_or_default();
    let end = name.iter().rposition(|&byte| byte != b'.' && byte != b' ');
    name.get(..end.map_or(0, |end| end + 1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-5
    #[test]
    fn spellings_of_one_name_fold_to_one_form() {
        for name in [".env", ".ENV", ".Env", ".\u{200b}env", ".e\u{200d}nv", ".ｅｎｖ", "．env"]
        {
            assert_eq!(&*folded(name.as_bytes()), b".env", "{name}");
        }
        // A precomposed letter, and its base letter with a combining accent.
        assert_eq!(folded("É".as_bytes()), folded("e\u{301}".as_bytes()));
        assert_eq!(&*folded("STRASSE".as_bytes()), &*folded("straße".as_bytes()));
        assert_eq!(&*folded(b"A\xffB"), b"a\xffB".to_ascii_lowercase());
    }

    /// D-5
    #[test]
    fn name_parts_ignored_by_windows_are_removed() {
        for name in [".env", ".env.", ".env ", ".env. .", ".env::$DATA", ".env:x"] {
            assert_eq!(as_windows_opens(name.as_bytes()), b".env", "{name}");
        }
        assert_eq!(as_windows_opens(b"..."), b"");
        assert_eq!(as_windows_opens(b":x"), b"");
    }
}
