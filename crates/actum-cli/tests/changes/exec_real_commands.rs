//! Runs real commands through `actum exec` and compares the resulting tree with a plain run on a copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Ended, actum, operator_of, workspace};
use crate::trees::{Tree, plain_run, tree};
use serde_json::Value;

fn exec(root: &Path, options: &[&str], script: &str) -> Ended {
    actum(root, &[&["exec"], options, &["--", "sh", "-c", script]].concat())
}

/// Writes the operator policy.
fn write_policy(root: &Path, policy: &str) {
    let directory = operator_of(root).join("actum");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("actum.toml"), format!("version = 1\n{policy}")).unwrap();
}

/// AA-6: the tree after `actum exec` equals that of a plain run on a copy.
#[test]
fn real_commands_leave_the_same_tree_as_without_actum() {
    let (_directory, root) = workspace();
    for number in 0..1000 {
        let text = format!("line {number}\nold text\n");
        fs::create_dir_all(root.join(format!("many/{}", number % 10))).unwrap();
        fs::write(root.join(format!("many/{}/{number}.txt", number % 10)), text).unwrap();
    }
    let scripts = [
        "sed -i s/old/new/ many/*/*.txt",
        "tar -cf all.tar many && mkdir unpacked && tar -xf all.tar -C unpacked && rm all.tar",
        "rm -rf many/3 many/4",
        "mv many/5 many/5.moved && cp -r many/6 copy",
        "rm -r sub && echo now a file > sub",
        "rm a.txt && mkdir a.txt && echo in > a.txt/in",
        "chmod 600 sub; truncate -s 100000 sub",
    ];
    for script in scripts {
        let (before, after) = (tree(&root), plain_run(&root, script));
        let ended = exec(&root, &[], script);
        assert_eq!(ended.code, 0, "{script}: {ended:?}");
        assert_eq!(tree(&root), after, "{script}");
        assert_eq!(actum(&root, &["undo"]).code, 0, "{script}");
        assert_eq!(tree(&root), before, "the undo of {script}");
        assert_eq!(actum(&root, &["redo"]).code, 0, "{script}");
        assert_eq!(tree(&root), after, "the redo of {script}");
    }
}

/// Writes a small crate. Returns the directory of the toolchain and the script that builds the crate.
fn build(root: &Path) -> (PathBuf, String) {
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join("src/main.rs"), "fn main() {\n    println!(\"built\");\n}\n").unwrap();
    let manifest = "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    fs::write(root.join("Cargo.toml"), manifest).unwrap();
    let cargo = Path::new(env!("CARGO")).canonicalize().unwrap();
    let rustc = cargo.with_file_name("rustc");
    let script = format!(
        "CARGO_INCREMENTAL=0 RUSTC={} {} build --offline --quiet",
        rustc.display(),
        cargo.display()
    );
    (cargo.ancestors().nth(2).unwrap().to_owned(), script)
}

/// Removes and returns cargo's cache of facts about the compiler, whose order is random.
fn known_of_the_compiler(tree: &mut Tree) -> Value {
    let (_, text) = tree.remove(Path::new("target/.rustc_info.json")).unwrap();
    serde_json::from_slice(&text.unwrap()).unwrap()
}

/// AA-6: kept build output is as fresh as in a plain run, so the next build does nothing.
#[test]
fn build_leaves_the_same_output_as_without_actum_and_is_not_repeated() {
    let (_directory, root) = workspace();
    let (toolchain, script) = build(&root);
    let (before, mut plain) = (tree(&root), plain_run(&root, &script));
    write_policy(&root, &format!("[sandbox]\nexec = [{toolchain:?}]\n"));
    let ended = exec(&root, &["--exec", toolchain.to_str().unwrap()], &script);
    assert_eq!(ended.code, 0, "{ended:?}");
    let mut after = tree(&root);
    assert_eq!(known_of_the_compiler(&mut after), known_of_the_compiler(&mut plain));
    let names = |tree: &Tree| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(&plain));
    assert!(after == plain, "the names are the same, and some content or mode is not");
    let built = Command::new(root.join("target/debug/tiny")).output().unwrap();
    assert_eq!(String::from_utf8(built.stdout).unwrap(), "built\n");
    let again = script.replace("--quiet", "2>&1");
    let ended = exec(&root, &["--exec", toolchain.to_str().unwrap()], &again);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(!ended.stdout.contains("Compiling"), "{ended:?}");
    assert!(ended.stderr.contains("changed nothing"), "{ended:?}");
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(tree(&root), before);
}

/// AA-6: `npm install` works without a network, from a package inside the workspace.
#[test]
fn npm_install_leaves_the_same_tree_as_without_actum() {
    let (_directory, root) = workspace();
    let package = root.parent().unwrap().join("package");
    fs::create_dir_all(package.join("bin")).unwrap();
    let put = |name: &str, text: &str| fs::write(package.join(name), text).unwrap();
    put("package.json", r#"{"name":"left","version":"1.0.0","bin":{"left":"bin/left.js"}}"#);
    put("index.js", "module.exports = 1;\n");
    put("bin/left.js", "#!/usr/bin/env node\nconsole.log('left');\n");
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(root.join("left-1.0.0.tgz")).arg("-C").arg(root.parent().unwrap());
    assert!(tar.arg("package").status().unwrap().success());
    fs::write(root.join("package.json"), "{\"name\":\"app\",\"version\":\"1.0.0\"}\n").unwrap();
    let script = "npm install --offline --no-audit --no-fund --no-update-notifier ./left-1.0.0.tgz";
    let (before, after) = (tree(&root), plain_run(&root, script));
    assert!(after.contains_key(Path::new("node_modules/.bin/left")));
    let ended = exec(&root, &[], script);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(tree(&root), after);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(tree(&root), before);
    write_policy(&root, "[sandbox]\ncaches = [\"node_modules\"]\n");
    fs::create_dir(root.join("node_modules")).unwrap();
    let after = plain_run(&root, script);
    let ended = exec(&root, &[], script);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(fs::symlink_metadata(root.join("node_modules/.bin/left")).unwrap().is_symlink());
    assert_eq!(tree(&root), after);
}

/// AA-6, AA-7
#[test]
fn policy_cannot_allow_a_git_commit_but_can_deny_it_before_it_starts() {
    let (_directory, root) = workspace();
    let first = "git init -q && git config user.name a && git config user.email a@example.invalid \
                 && git add a.txt && git commit -qm first";
    let made = Command::new("sh").args(["-c", first]).current_dir(&root).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    fs::write(root.join("a.txt"), "changed\n").unwrap();
    let before = tree(&root);
    let commit = ["exec", "--", "git", "commit", "-qam", "second"];
    let log = |root: &Path| {
        let mut git = Command::new("git");
        let output = git.args(["log", "--format=%s"]).current_dir(root).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let rule = |decision: &str| {
        format!(
            "[[command]]\nargv = [\"git\", \"commit\"]\ndecision = \"{decision}\"\nreason = \"a person commits\"\n\
             match = [\"git commit -qam second\"]\n"
        )
    };
    for (policy, expected) in [
        (String::new(), "`.git/"),
        (rule("allow"), "`.git/"),
        (rule("ask"), "`.git/"),
        (rule("deny"), "a person commits"),
        ("[sandbox]\ncaches = [\".git\"]\n".to_owned(), "`.git`"),
    ] {
        write_policy(&root, &policy);
        let refused = actum(&root, &commit);
        assert_eq!(refused.code, 111, "{policy}: {refused:?}");
        assert!(refused.stderr.contains(expected), "{policy}: {refused:?}");
        assert!(refused.stderr.contains("nothing was"), "{policy}: {refused:?}");
        assert_eq!((tree(&root), log(&root).as_str()), (before.clone(), "first\n"), "{policy}");
    }
    // The user can commit the changes of a run without actum.
    write_policy(&root, "");
    assert_eq!(exec(&root, &[], "sed -i s/changed/kept/ a.txt").code, 0);
    let made =
        Command::new("git").args(["commit", "-qam", "second"]).current_dir(&root).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    assert_eq!(log(&root), "second\nfirst\n");
}
