//! `actum sandbox detect`: finds toolchains in the home directory and prints a policy that lets commands use them.

use std::path::{Path, PathBuf};

use toml::Value;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{home, operators_policy};

/// Find toolchains, and print a policy that lets commands use them
///
/// Commands in the sandbox can use the programs of the system. They can use toolchains in a home directory, such as those
/// of rustup, pyenv or nvm, only if the operator lists them. This command finds such toolchains and prints a `[sandbox]`
/// section for the operator's policy. It changes nothing.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

/// Toolchain that is installed in a single directory.
struct Toolchain {
    name: &'static str,
    /// Environment variable that contains the path of the toolchain.
    variable: &'static str,
    /// Default path relative to the home directory, or an empty string if the toolchain has no default path.
    usual: &'static str,
    /// Subdirectory that must exist, so that the directory is recognised as this toolchain.
    mark: &'static str,
}

const TOOLCHAINS: [Toolchain; 11] = [
    Toolchain::new("cargo", "CARGO_HOME", ".cargo", "bin"),
    Toolchain::new("rustup", "RUSTUP_HOME", ".rustup", "toolchains"),
    Toolchain::new("pyenv", "PYENV_ROOT", ".pyenv", "shims"),
    Toolchain::new("uv", "UV_PYTHON_INSTALL_DIR", ".local/share/uv/python", ""),
    Toolchain::new("nvm", "NVM_DIR", ".nvm", "versions"),
    Toolchain::new("volta", "VOLTA_HOME", ".volta", "bin"),
    Toolchain::new("bun", "BUN_INSTALL", ".bun", "bin"),
    Toolchain::new("deno", "DENO_INSTALL", ".deno", "bin"),
    Toolchain::new("go", "GOROOT", ".go", "bin"),
    Toolchain::new("go packages", "GOPATH", "go", "bin"),
    Toolchain::new("sdkman (java)", "SDKMAN_DIR", ".sdkman", "candidates"),
];

/// Java installation outside the system directories, which only `JAVA_HOME` can name.
const JAVA: Toolchain = Toolchain::new("java", "JAVA_HOME", "", "bin");

/// System directories, which every command can already use.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// Build files in a workspace root, each with the cache directory of its build tool.
const CACHES: [(&str, &str); 4] = [
    ("Cargo.toml", "target"),
    ("build.gradle", ".gradle"),
    ("build.gradle.kts", ".gradle"),
    ("tsconfig.json", "node_modules/.cache"),
];

impl Toolchain {
    const fn new(
        name: &'static str,
        variable: &'static str,
        usual: &'static str,
        mark: &'static str,
    ) -> Self {
        Self { name, variable, usual, mark }
    }

    /// Returns the canonical path of the toolchain, or `None` if it is missing or in a system directory.
    fn find(&self, user: &Path) -> Option<PathBuf> {
        let named = home::inherited_file(self.variable);
        let usual = (!self.usual.is_empty()).then(|| user.join(self.usual));
        let mut places = named.into_iter().chain(usual);
        let place = places.find(|place| place.is_absolute() && place.join(self.mark).is_dir())?;
        let place = place.canonicalize().ok()?;
        let is_of_system = SYSTEM.iter().any(|system| place.starts_with(system));
        (!is_of_system).then_some(place)
    }
}

pub(crate) fn run(_: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let user = home::user_home().unwrap_or_default();
    let toolchains = TOOLCHAINS.iter().chain([&JAVA]);
    // A path with a line break could inject lines into the policy.
    let is_plain = |place: &&str| !place.chars().any(char::is_control);
    let found = toolchains.filter_map(|it| {
        let place = it.find(&user)?;
        Some((it, place.to_str().filter(is_plain)?.to_owned()))
    });
    let found: Vec<_> = found.collect();
    let root = session.root();
    let mut caches: Vec<&str> = CACHES
        .iter()
        .filter(|(mark, _)| root.join(mark).is_file())
        .map(|(_, cache)| *cache)
        .collect();
    caches.dedup();
    let text = policy(&found, &caches);
    session.screen.hand_over(text.as_bytes())?;
    if found.is_empty() {
        session.screen.note(
            "no toolchain was found in your home directory; system toolchains need no policy",
        );
        return Ok(Exit::Success);
    }
    session.screen.note(format_args!(
        "add the lines that you want to {}; commands in every workspace can then use these toolchains",
        operators_policy::operators()
    ));
    Ok(Exit::Success)
}

/// Formats a policy that allows these toolchains and caches.
fn policy(found: &[(&Toolchain, String)], caches: &[&str]) -> String {
    let list = |items: Vec<String>| Value::from(items).to_string();
    let mut text = String::from("version = 1\n\n[sandbox]\n");
    for (toolchain, place) in found {
        text.push_str(&format!("# {}: {place}\n", toolchain.name));
    }
    let mut exec: Vec<String> = found.iter().map(|(_, place)| place.clone()).collect();
    exec.sort();
    exec.dedup();
    if !exec.is_empty() {
        text.push_str(&format!("exec = {}\n", list(exec)));
    }
    let variables = found.iter();
    let variables: Vec<_> =
        variables.map(|(toolchain, place)| format!("{}={place}", toolchain.variable)).collect();
    if !variables.is_empty() {
        text.push_str(&format!("env = {}\n", list(variables)));
    }
    if !caches.is_empty() {
        let caches = caches.iter().map(|cache| (*cache).to_owned()).collect();
        text.push_str(&format!("caches = {}\n", list(caches)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AA-10: the output is valid TOML, even if paths contain quotes and backslashes.
    #[test]
    fn detected_policy_is_valid_toml() {
        let [cargo, rustup, ..] = &TOOLCHAINS;
        let found = [(cargo, "/h/.cargo".to_owned()), (rustup, "/h/it's \"x\"\\y".to_owned())];
        let text = policy(&found, &["target"]);
        let read: toml::Table = text.parse().unwrap();
        let sandbox = read["sandbox"].as_table().unwrap();
        let list = |key: &str| {
            let items = sandbox[key].as_array().unwrap();
            items.iter().map(|it| it.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(list("exec"), ["/h/.cargo", "/h/it's \"x\"\\y"]);
        assert_eq!(list("env"), ["CARGO_HOME=/h/.cargo", "RUSTUP_HOME=/h/it's \"x\"\\y"]);
        assert_eq!(list("caches"), ["target"]);
        let none = policy(&[], &[]);
        assert_eq!(none, "version = 1\n\n[sandbox]\n");
    }
}
