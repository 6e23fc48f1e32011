//! Well-known locations of credentials, which are recognised by their paths.

use actum_core::RelPath;

use super::spans;

/// Directories that contain credentials, in the home directory or in a project.
const DIRECTORIES: [&str; 9] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".terraform.d",
    ".mozilla",
];

/// Other files and directories in the home directory where programs store credentials.
const OTHER_PLACES: [&str; 26] = [
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".vault-token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".local/share/keyrings",
    ".config",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".qwen",
    ".cursor",
    ".copilot",
    ".continue",
    ".aider.conf.yml",
    ".local/share/opencode",
    ".local/share/crush",
];

/// Returns the locations where programs store the credentials of a user, relative to the home directory.
pub fn home_places() -> impl Iterator<Item = &'static str> {
    DIRECTORIES.into_iter().chain(OTHER_PLACES)
}

/// Prefixes of names of files that contain credentials, in any directory.
const FILE_NAMES: [&str; 6] =
    [".env", "credentials", "secrets.", "id_rsa", "id_ecdsa", "id_ed25519"];

/// Extensions of files that contain private keys.
const FILE_ENDS: [&str; 6] = [".pem", ".key", ".p12", ".pfx", ".ppk", ".kdbx"];

/// Returns true if a relative or absolute path is a well-known location of credentials, or is inside one. The locations
/// match in any directory, and not only in the home directory.
pub fn is_usual_place(path: &[u8]) -> bool {
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    let is_within = |place: &str| {
        let place: Vec<&[u8]> = place.split('/').map(str::as_bytes).collect();
        names.windows(place.len()).any(|window| window == place)
    };
    let last = names.last().copied().unwrap_or_default().to_ascii_lowercase();
    home_places().any(is_within)
        || FILE_NAMES.iter().any(|name| last.starts_with(name.as_bytes()))
        || FILE_ENDS.iter().any(|end| last.ends_with(end.as_bytes()))
}

/// Returns true if messages must not quote a file of the workspace at `root`. This is the case if the file is in a
/// well-known location of credentials, or if its content contains a suspected credential.
pub fn is_withheld(root: &[u8], path: &RelPath, content: &[u8]) -> bool {
    let is_directory = |name: &[u8]| DIRECTORIES.iter().any(|known| known.as_bytes() == name);
    root.split(|&byte| byte == b'/').any(is_directory)
        || is_usual_place(path.as_bytes())
        || !spans(content).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-20
    #[test]
    fn files_at_usual_secret_paths_or_with_credentials_are_withheld() {
        let withheld = |path: &str, content: &str| {
            is_withheld(b"/home/u/.config/p", &RelPath::new(path).unwrap(), content.as_bytes())
        };
        for path in [".env", "a/.env.local", ".ENV", "tls/server.pem", "x/.aws/config", ".npmrc"] {
            assert!(withheld(path, "plain\n"), "{path}");
        }
        for path in ["env", "src/keys.rs", "monkey", "a/config", "cargo/credential"] {
            assert!(!withheld(path, "plain\n"), "{path}");
        }
        assert!(is_withheld(b"/home/u/.aws", &RelPath::new("config").unwrap(), b"plain\n"));
        let key = ["AKIA", "Q3EGRZV7M5PLXW2T"].concat();
        assert!(withheld("conf.py", &format!("one\naws = \"{key}\"\n")));
    }
}
