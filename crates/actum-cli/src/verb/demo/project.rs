//! Project of the demo: its files before and after the change, and their comparison.
#![expect(clippy::disallowed_methods, reason = "the demo also acts as the user, who writes files")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use actum_workspace::STATE_DIRECTORY;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::home::Tenant;
use crate::new_home;
use crate::output_file::OutputFile;

/// Prefix of the name of the demo directory.
const NAME: &str = "actum-demo-";
const README: &str = "# Greeter\n\nIt greets whoever runs it.\n";
const GREET: &str = "#!/bin/sh\necho \"hello\"\n";
const NOTES: &str = "logo: ask Ada\nship: on Friday";
const IDEA: &str = "greet in Latin\ngreet in Greek\n";
const LOGO: &[u8] = b"\x89LOGO\r\n\x1a\n\0\0\0\x0d\xff\xfe\0";

/// Change that edits three files, creates one and removes one together with their directories, and renames a binary
/// file.
pub(super) const CHANGE: &str = r#"diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -1,3 +1,5 @@
 # Greeter
 
 It greets whoever runs it.
+
+The words are in `words/latin.txt`.
diff --git a/drafts/idea.txt b/drafts/idea.txt
deleted file mode 100644
--- a/drafts/idea.txt
+++ /dev/null
@@ -1,2 +0,0 @@
-greet in Latin
-greet in Greek
diff --git a/greet.sh b/greet.sh
--- a/greet.sh
+++ b/greet.sh
@@ -1,2 +1,2 @@
 #!/bin/sh
-echo "hello"
+cat words/latin.txt
diff --git a/logo.bin b/images/logo.bin
similarity index 100%
rename from logo.bin
rename to images/logo.bin
diff --git a/notes.txt b/notes.txt
--- a/notes.txt
+++ b/notes.txt
@@ -1,2 +1,2 @@
 logo: ask Ada
-ship: on Friday
\ No newline at end of file
+ship: today
\ No newline at end of file
diff --git a/words/latin.txt b/words/latin.txt
new file mode 100644
--- /dev/null
+++ b/words/latin.txt
@@ -0,0 +1 @@
+salve
"#;

/// Change whose first patch applies, but whose second patch expects a line that does not exist.
pub(super) const HALF_FITTING: &str = r#"diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -1 +1 @@
-# Greeter
+# The best greeter
diff --git a/notes.txt b/notes.txt
--- a/notes.txt
+++ b/notes.txt
@@ -1 +1 @@
-logo: ask Bob
+logo: done
"#;

/// Project in a temporary directory, which is removed when this value is dropped.
pub(super) struct Project {
    directory: TempDir,
    /// Root of the project, inside the temporary directory.
    root: PathBuf,
    fresh: Fresh,
}

/// Permissions of new files and directories under the umask of this process.
#[derive(Debug, Clone, Copy)]
struct Fresh {
    file: u32,
    directory: u32,
}

impl Project {
    /// Creates the directory and its files, at a path where a home of ledgers and keys is allowed, and result files as
    /// well.
    pub(super) fn make(tenant: &Tenant) -> Result<Self, Failure> {
        // The path has to be checked, because the caller of the program chooses `TMPDIR`.
        let place = actum::real_path(&std::env::temp_dir());
        new_home::check(&place.join(NAME))?;
        OutputFile::check(&place.join(NAME), tenant)?;
        let directory = tempfile::Builder::new().prefix(NAME).tempdir_in(place);
        let directory = directory.map_err(failed("make a directory"))?;
        // Resolve links, because the temporary directory may be one, and a workspace cannot be opened through a link.
        let root = actum::real_path(directory.path()).join("project");
        fs::create_dir(&root).map_err(failed("make a directory"))?;
        let fresh = Fresh::find(&root).map_err(failed("make a file"))?;
        for (path, node) in at_the_start().0 {
            write(&root.join(path), &node).map_err(failed("write its files"))?;
        }
        Ok(Self { directory, root, fresh })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the home of the project's ledger and keys.
    pub(super) fn records(&self) -> PathBuf {
        self.directory.path().join("records")
    }

    /// Returns the expected tree after [`CHANGE`] is applied.
    pub(super) fn changed(&self) -> Tree {
        let Fresh { file, directory } = self.fresh;
        let readme = format!("{README}\nThe words are in `words/latin.txt`.\n");
        let greet = GREET.replace("echo \"hello\"", "cat words/latin.txt");
        let notes = NOTES.replace("on Friday", "today");
        Tree::new(
            [("images", directory), ("words", directory)],
            [
                ("README.md", readme.as_bytes(), 0o644),
                ("greet.sh", greet.as_bytes(), 0o755),
                ("images/logo.bin", LOGO, 0o640),
                ("notes.txt", notes.as_bytes(), 0o644),
                ("words/latin.txt", b"salve\n", file),
            ],
        )
    }

    /// Keeps the temporary directory after this value is dropped.
    pub(super) fn keep(self) {
        drop(self.directory.keep());
    }
}

impl Fresh {
    fn find(root: &Path) -> io::Result<Self> {
        let (file, directory) = (root.join("file"), root.join("directory"));
        fs::write(&file, "")?;
        fs::create_dir(&directory)?;
        let found = Self { file: mode(&file)?, directory: mode(&directory)? };
        fs::remove_file(file)?;
        fs::remove_dir(directory)?;
        Ok(found)
    }
}

fn mode(path: &Path) -> io::Result<u32> {
    Ok(path.symlink_metadata()?.permissions().mode() & 0o7777)
}

/// Files and directories of a project, except `.actum`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<PathBuf, Node>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    mode: u32,
    /// Content of a file, or `None` for a directory.
    content: Option<Vec<u8>>,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self, Failure> {
        let mut nodes = BTreeMap::new();
        collect(root, Path::new(""), &mut nodes).map_err(failed("read its files"))?;
        Ok(Self(nodes))
    }

    pub(super) fn files(&self) -> usize {
        self.0.values().filter(|node| node.content.is_some()).count()
    }

    fn new<const D: usize, const F: usize>(
        directories: [(&str, u32); D],
        files: [(&str, &[u8], u32); F],
    ) -> Self {
        let directories =
            directories.map(|(path, mode)| (path.into(), Node { mode, content: None }));
        let files = files.map(|(path, content, mode)| {
            (path.into(), Node { mode, content: Some(content.to_vec()) })
        });
        Self(directories.into_iter().chain(files).collect())
    }
}

fn at_the_start() -> Tree {
    Tree::new(
        [("drafts", 0o750)],
        [
            ("README.md", README.as_bytes(), 0o644),
            ("drafts/idea.txt", IDEA.as_bytes(), 0o600),
            ("greet.sh", GREET.as_bytes(), 0o755),
            ("logo.bin", LOGO, 0o640),
            ("notes.txt", NOTES.as_bytes(), 0o644),
        ],
    )
}

/// Creates a file or directory. The order of the paths ensures that a directory is created before its content.
fn write(path: &Path, Node { mode, content }: &Node) -> io::Result<()> {
    match content {
        None => fs::create_dir(path)?,
        Some(content) => fs::write(path, content)?,
    }
    fs::set_permissions(path, fs::Permissions::from_mode(*mode))
}

fn collect(root: &Path, below: &Path, nodes: &mut BTreeMap<PathBuf, Node>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if path == Path::new(STATE_DIRECTORY) {
            continue;
        }
        let mut content = None;
        if entry.file_type()?.is_dir() {
            collect(root, &path, nodes)?;
        } else {
            content = Some(fs::read(entry.path())?);
        }
        nodes.insert(path, Node { mode: mode(&entry.path())?, content });
    }
    Ok(())
}

fn failed(action: &'static str) -> impl FnOnce(io::Error) -> Failure {
    move |source| Failure::Demo { action, source }
}
