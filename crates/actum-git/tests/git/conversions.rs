//! Files that git would not store byte for byte.

use actum_git::{Conversion, GitProblem, Unfit};

use crate::repo::Repo;

fn conversion(problem: GitProblem) -> Conversion {
    match problem {
        GitProblem::Unfit { unfit: Unfit::Converted(conversion), .. } => conversion,
        other => panic!("{other}"),
    }
}

const CRLF: &[u8] = b"a\r\nb\r\n";

/// EX-17: a file that git would convert is not committed, whether attributes or a setting cause the conversion.
#[test]
fn a_file_that_git_would_convert_is_not_committed() {
    let attributes =
        b"*.flt filter=x\n*.enc working-tree-encoding=UTF-16\n*.id ident\n*.txt text\n\
                       *.auto text=auto\n*.eol eol=lf\n*.old crlf\n*.raw -text\n*.bin binary\n";
    let repo = Repo::with(&[(".gitattributes", attributes)]);
    let always = [("a.flt", Conversion::Filter), ("d/a.enc", Conversion::Encoding)];
    for (path, expected) in always {
        assert_eq!(conversion(repo.check(&[path]).unwrap_err()), expected, "{path}");
    }
    for (path, bytes, expected) in [
        ("a.id", &b"$Id: 1 $\n"[..], Conversion::Ident),
        ("a.txt", CRLF, Conversion::LineEnds),
        ("a.auto", CRLF, Conversion::LineEnds),
        ("a.eol", CRLF, Conversion::LineEnds),
        ("a.old", CRLF, Conversion::LineEnds),
    ] {
        let checked = repo.check(&[path]).unwrap();
        let head = repo.head();
        let refused = repo.commit(&checked, &[(path, Some((bytes, false)))]).unwrap_err();
        assert_eq!(conversion(refused), expected, "{path}");
        assert_eq!(repo.head(), head);
        // Git itself would also convert this file.
        repo.write(path, bytes);
        let id = repo.git(&["hash-object", path]);
        assert_ne!(id, repo.git(&["hash-object", "--no-filters", path]), "{path}");
        std::fs::remove_file(repo.path(path)).unwrap();
    }
    for (path, bytes) in [
        ("b.txt", &b"a\nb\n"[..]),
        ("b.auto", b"\x89PNG\r\n\0"),
        ("b.raw", CRLF),
        ("b.bin", CRLF),
        ("b.id", b"$Id$\n"),
        ("b.none", CRLF),
    ] {
        repo.run(&[(path, Some((bytes, false)))]);
        assert_eq!(repo.status(), "", "{path}");
    }
}

/// EX-17: `core.autocrlf` applies to files without attributes, and the content of HEAD is checked as well.
#[test]
fn autocrlf_setting_is_respected() {
    let repo = Repo::with(&[("crlf", CRLF), ("lf", b"a\n")]);
    for value in ["true", "input", "yes"] {
        repo.git(&["config", "core.autocrlf", value]);
        let found = conversion(repo.check(&["crlf"]).unwrap_err());
        assert_eq!(found, Conversion::AutoCrlf, "{value}");
        let checked = repo.check(&["lf", "new"]).unwrap();
        let refused = repo.commit(&checked, &[("new", Some((CRLF, false)))]).unwrap_err();
        assert_eq!(conversion(refused), Conversion::AutoCrlf, "{value}");
    }
    repo.git(&["config", "core.autocrlf", "false"]);
    repo.check(&["crlf"]).map(drop).unwrap();
}

/// EX-17: the attributes that apply to a commit are those after the run.
#[test]
fn attributes_changed_by_the_run_apply_to_its_other_files() {
    let repo = Repo::with(&[("a.txt", b"1\n")]);
    let steps = [
        (".gitattributes", Some((&b"*.txt filter=x\n"[..], false))),
        ("a.txt", Some((&b"2\n"[..], false))),
    ];
    let checked = repo.check(&[".gitattributes", "a.txt"]).unwrap();
    repo.apply(&steps);
    let refused = repo.commit(&checked, &steps).unwrap_err();
    assert_eq!(conversion(refused), Conversion::Filter);
}

/// EX-17: a `.gitattributes` that is not a regular file is rejected without waiting for it.
#[test]
fn gitattributes_fifo_is_rejected() {
    let repo = Repo::with(&[("d/a", b"1\n")]);
    let made = std::process::Command::new("mkfifo").arg(repo.path("d/.gitattributes")).status();
    assert!(made.unwrap().success());
    let refused = repo.check(&["d/a"]).unwrap_err();
    assert!(matches!(refused, GitProblem::Unfit { unfit: Unfit::Rules { .. }, .. }), "{refused}");
}
