//! Debian source packages: their patches as commits, and histories from a package of test data.

use std::fs::{File, create_dir_all, remove_dir_all, rename};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::catalogue::{PACKS, PACKS_PACKAGE, Pack};
use super::history::History;
use super::{Failure, Kind};
use crate::realworld::child::run;
use crate::realworld::download::fresh;
use crate::realworld::git::{TIME_MAX, git, initialise};

/// Time limit of a download.
const DOWNLOAD_TIME_MAX: Duration = Duration::from_secs(600);
/// Number of hexadecimal digits in a commit id.
const ID_DIGITS: usize = 40;

/// Downloads, and a separate state of apt next to the system's.
pub(super) struct Debian {
    directory: PathBuf,
}

impl Debian {
    /// Makes apt read the source lists of the releases that the system's packages come from. Updates are excluded, because their
    /// older files disappear.
    pub(super) fn open(directory: &Path) -> Result<Self, Failure> {
        let debian = Self { directory: directory.join("debian") };
        let list = debian.directory.join("sources.list");
        if !list.exists() {
            fresh(&debian.directory)?;
            for made in ["lists/partial", "cache/archives/partial", "parts"] {
                create_dir_all(debian.directory.join(made))?;
            }
            let format = "$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)";
            let mut command = Command::new("apt-get");
            command.args(["indextargets", "--format", format, "Created-By: Packages"]);
            let targets = run(command.stdin(Stdio::null()), TIME_MAX)?;
            std::fs::write(&list, sources(&String::from_utf8(targets)?))?;
            let updated = run(debian.apt_get().arg("update"), DOWNLOAD_TIME_MAX);
            if let Err(failure) = updated {
                std::fs::remove_file(&list)?;
                return Err(failure.into());
            }
        }
        Ok(debian)
    }

    fn apt_get(&self) -> Command {
        let mut command = Command::new("apt-get");
        let set = |key: &str, name: &str| format!("{key}={}", self.directory.join(name).display());
        for option in [
            set("Dir::Etc::SourceList", "sources.list"),
            set("Dir::Etc::SourceParts", "parts"),
            set("Dir::State::Lists", "lists"),
            set("Dir::Cache", "cache"),
        ] {
            command.args(["-o", &option]);
        }
        command.arg("--quiet").stdin(Stdio::null());
        command
    }

    /// Returns those patches of a source package that were commits. Previously unpacked files are reused.
    pub(super) fn patches(&self, name: &str) -> Result<History, Failure> {
        let place = self.directory.join("patches").join(name);
        let (repository, commits) = (place.join("repository"), place.join("commits"));
        if !commits.exists() {
            eprintln!("downloading and patching {name}");
            let tree = self.unpacked(name, &place)?;
            let made = patched(&tree)?;
            rename(tree.join(".git"), &repository)?;
            remove_dir_all(place.join("source"))?;
            if made.failed > 0 {
                eprintln!("{name}: git could not apply {} of its commits", made.failed);
            }
            std::fs::write(&commits, made.commits.join("\n") + "\n")?;
        }
        Ok(History::new(name, Kind::Patches, &repository, commits))
    }

    /// Returns the histories contained in [`PACKS_PACKAGE`].
    pub(super) fn packed(&self) -> Result<Vec<History>, Failure> {
        let place = self.directory.join("packs");
        if !place.join("done").exists() {
            eprintln!("downloading {PACKS_PACKAGE}");
            let tree = self.unpacked(PACKS_PACKAGE, &place)?;
            for Pack { name, pack } in PACKS {
                let repository = place.join(name);
                create_dir_all(&repository)?;
                initialise(&repository)?;
                let pack = tree.join("data").join(format!("pack-{pack}.pack"));
                let mut index = git(&repository, &["index-pack", "--stdin"]);
                run(index.stdin(File::open(pack)?), TIME_MAX)?;
                let list = ["cat-file", "--batch-all-objects", "--batch-check"];
                let objects = run(&mut git(&repository, &list), TIME_MAX)?;
                let ids = String::from_utf8(objects)?;
                let ids = ids.lines().filter_map(|line| line.split_once(" commit "));
                let ids: Vec<&str> = ids.map(|(id, _)| id).collect();
                // A pack has no branches, so merges are recognised by their parents.
                let listed = place.join("ids");
                std::fs::write(&listed, ids.join("\n") + "\n")?;
                let list = ["rev-list", "--no-walk=unsorted", "--no-merges", "--stdin"];
                let ids = run(git(&repository, &list).stdin(File::open(&listed)?), TIME_MAX)?;
                std::fs::write(place.join(format!("{name}.commits")), ids)?;
            }
            remove_dir_all(place.join("source"))?;
            File::create(place.join("done"))?;
        }
        let history = |Pack { name, .. }: &Pack| {
            let commits = place.join(format!("{name}.commits"));
            History::new(name, Kind::Whole, &place.join(name), commits)
        };
        Ok(PACKS.iter().map(history).collect())
    }

    /// Returns the tree of a source package before its patches are applied.
    fn unpacked(&self, name: &str, place: &Path) -> Result<PathBuf, Failure> {
        let source = place.join("source");
        fresh(place)?;
        create_dir_all(&source)?;
        let arguments = ["source", "--download-only", "--only-source", name];
        run(self.apt_get().args(arguments).current_dir(&source), DOWNLOAD_TIME_MAX)?;
        let description = std::fs::read_dir(&source)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|extension| extension == "dsc"))
            .ok_or("apt-get brought no `*.dsc`")?;
        let mut command = Command::new("dpkg-source");
        command.args(["--skip-patches", "--extract"]).arg(description).arg("tree");
        run(command.current_dir(&source).stdin(Stdio::null()), TIME_MAX)?;
        Ok(source.join("tree"))
    }
}

/// Returns the lines of a `sources.list` for the releases in `targets`. Each line of `targets` contains an origin, an address, a
/// release and a component.
fn sources(targets: &str) -> String {
    let mut list = String::new();
    for target in targets.lines() {
        if let ["Debian", address, release, component] = *target.split(' ').collect::<Vec<_>>()
            && !release.contains('-')
        {
            list += &format!("deb-src {address} {release} {component}\n");
        }
    }
    list
}

/// Commits created from patches.
struct Patched {
    /// Ids of the patches that were originally commits.
    commits: Vec<String>,
    /// Number of patches that git could not apply.
    failed: usize,
}

/// Creates a repository from an unpacked source package, with one commit for each of its patches.
fn patched(tree: &Path) -> Result<Patched, Failure> {
    initialise(tree)?;
    run(&mut git(tree, &["add", "--all", "--force", "."]), TIME_MAX)?;
    commit(tree, "source")?;
    let patches = tree.join("debian").join("patches");
    let series = String::from_utf8_lossy(&std::fs::read(patches.join("series"))?).into_owned();
    let (mut commits, mut failed) = (Vec::new(), 0);
    // The name of a patch may be followed by options.
    for name in series.lines().filter_map(|line| line.split_whitespace().next()) {
        if name.starts_with('#') {
            continue;
        }
        let path = patches.join(name);
        let patch = std::fs::read(&path)?;
        let mut apply = git(tree, &["apply", "--index", "--whitespace=nowarn"]);
        if run(apply.stdin(File::open(&path)?), TIME_MAX).is_err() {
            failed += usize::from(is_commit(&patch));
            continue;
        }
        let id = commit(tree, name)?;
        if is_commit(&patch) {
            commits.push(id);
        }
    }
    Ok(Patched { commits, failed })
}

fn commit(tree: &Path, message: &str) -> Result<String, Failure> {
    let mut command = git(tree, &["commit", "--quiet", "--allow-empty", "--message", message]);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "actum").env(format!("GIT_{role}_EMAIL"), "actum");
    }
    run(&mut command, TIME_MAX)?;
    let id = run(&mut git(tree, &["rev-parse", "HEAD"]), TIME_MAX)?;
    Ok(String::from_utf8(id)?.trim().to_owned())
}

/// Whether a patch was originally a commit. Either git wrote it (git-format-patch(1)), or its header (DEP-3) marks it as taken from
/// upstream or cherry-picked from a commit.
fn is_commit(patch: &[u8]) -> bool {
    let text = String::from_utf8_lossy(patch);
    let header =
        text.lines().take_while(|line| !line.starts_with("--- ") && !line.starts_with("diff "));
    let is_id = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_hexdigit).count();
        digits == ID_DIGITS && word.len() == ID_DIGITS && word.bytes().any(|digit| digit != b'0')
    };
    header.into_iter().any(|line| {
        let line = line.trim().to_ascii_lowercase();
        let origin = line.strip_prefix("origin:").map(str::trim_start);
        origin.is_some_and(|it| it.starts_with("upstream") || it.starts_with("backport"))
            || line.contains("cherry picked from commit")
            || line.strip_prefix("from ").and_then(|it| it.split(' ').next()).is_some_and(is_id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_and_git_patches_are_commits() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        for header in [
            &format!("From {id} Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\n"),
            "Description: x\nOrigin: backport, https://x/y\n",
            "Subject: x\n\n(cherry picked from commit 1234)\n",
        ] {
            assert!(is_commit(format!("{header}---\n a | 2 +-\n--- a/a\n+++ b/a\n").as_bytes()));
        }
        let zeros = "0".repeat(ID_DIGITS);
        for header in [&format!("From {zeros} Mon Sep 17\n"), "Origin: vendor\n", "From: A <a@b>\n"]
        {
            assert!(!is_commit(format!("{header}--- a/a\n+++ b/a\nOrigin: upstream\n").as_bytes()));
        }
    }

    #[test]
    fn only_release_sources_are_listed() {
        let targets = "Debian http://x/debian/ stable main\nDebian http://x/debian/ stable-updates main\n\
                       Other http://y/ stable main\n";
        assert_eq!(sources(targets), "deb-src http://x/debian/ stable main\n");
    }

    #[test]
    fn a_source_package_becomes_a_history_of_its_patches() {
        let place = tempfile::tempdir().unwrap();
        let patches = place.path().join("debian").join("patches");
        create_dir_all(&patches).unwrap();
        let write = |path: PathBuf, text: &str| std::fs::write(path, text).unwrap();
        let patch =
            |from: &str, to: &str| format!("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-{from}\n+{to}\n");
        write(place.path().join("f"), "1\n");
        write(patches.join("series"), "own # not upstream's\nupstream -p1\n# x\nupstream-stale\n");
        write(patches.join("own"), &patch("1", "2"));
        write(patches.join("upstream"), &("Origin: upstream\n".to_owned() + &patch("2", "3")));
        write(
            patches.join("upstream-stale"),
            &("Origin: upstream\n".to_owned() + &patch("1", "4")),
        );
        let Patched { commits, failed } = patched(place.path()).unwrap();
        assert_eq!((commits.len(), failed), (1, 1));
        let subject = ["log", "--format=%s", "-1", commits.first().unwrap()];
        assert_eq!(run(&mut git(place.path(), &subject), TIME_MAX).unwrap(), b"upstream\n");
    }
}
