//! Checks that the top-level modules of a crate have no dependency cycles.
//!
//! A file `src/x.rs` and its directory `src/x/` form one module; `lib.rs` and `main.rs` are the root. A path in the code of one
//! module is a use of another module. Imports are followed to the module that defines the name. A `pub use` of items in the file's
//! own submodules is not a use. Code below `#[cfg(test)]` is ignored. Method calls, names from globs or macros, and the depth of
//! paths in inline modules are not detected.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::Finding;
use super::tree::{Source, Tree};

const ROOT: &str = "(root)";
/// Maximum number of re-exports that are followed in sequence.
const REEXPORTS_MAX: usize = 8;

/// Segments of a path from the root of the crate.
type Path<'a> = Vec<&'a str>;
/// Modules of a crate.
type Modules<'a> = HashSet<Path<'a>>;
/// Imports of each module, by their local names. `None` is an import from another crate.
type Imports<'a> = HashMap<(Path<'a>, &'a str), Option<Path<'a>>>;
/// Modules that each top-level module uses, with the first place of each use.
type Uses<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

struct File<'a> {
    /// Path relative to the root of the repository.
    path: &'a str,
    module: Path<'a>,
    tokens: Vec<Token<'a>>,
}

/// Path that occurs in the code of a module.
struct Reference<'a> {
    module: Path<'a>,
    target: Path<'a>,
    place: String,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<(&Source, &str)>> = BTreeMap::new();
    for source in &tree.sources {
        let parts = source.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        if let Some((name, file)) = parts.filter(|(name, _)| !name.contains('/')) {
            crates.entry(name).or_default().push((source, file));
        }
    }
    let mut findings = Vec::new();
    for (name, sources) in crates {
        let cycles = cycles(&uses(&sources));
        let path = format!("crates/{name}/src");
        findings.extend(cycles.iter().map(|cycle| {
            Finding::new(&path, None, format!("modules use each other in a cycle: {cycle}"))
        }));
    }
    findings
}

/// Returns which top-level modules use each other.
fn uses<'a>(sources: &[(&'a Source, &'a str)]) -> Uses<'a> {
    let files = files(sources);
    let modules: Modules<'_> = files.iter().map(|file| file.module.clone()).collect();
    let (mut imports, mut references) = (Imports::new(), Vec::new());
    for file in &files {
        read_paths(file, &modules, &mut imports, &mut references);
    }
    let mut uses = Uses::new();
    for Reference { module, target, place } in references {
        let from = module.first().copied().unwrap_or(ROOT);
        if let Some(to) = defining_module(target, &modules, &imports).filter(|to| *to != from) {
            uses.entry(from).or_default().entry(to).or_insert(place);
        }
    }
    uses
}

/// Returns the files of a crate, except those that are compiled only for tests.
fn files<'a>(sources: &[(&'a Source, &'a str)]) -> Vec<File<'a>> {
    let (mut files, mut test_modules) = (Vec::new(), HashSet::new());
    for (source, file) in sources {
        let module = module_of(file);
        let (tokens, tests) = without_tests(&tokens(&source.masked.code));
        test_modules.extend(tests.into_iter().map(|name| [module.clone(), vec![name]].concat()));
        files.push(File { path: &source.path, module, tokens });
    }
    let is_test = |module: &Path<'_>| {
        (1..=module.len()).any(|end| module.get(..end).is_some_and(|it| test_modules.contains(it)))
    };
    files.retain(|file| !is_test(&file.module));
    files
}

/// Adds the imports of a file, and its paths into its own crate.
fn read_paths<'a>(
    File { path: file, module, tokens }: &File<'a>,
    modules: &Modules<'a>,
    imports: &mut Imports<'a>,
    references: &mut Vec<Reference<'a>>,
) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let before = |count| {
            let token: Option<&Token<'_>> = at.checked_sub(count).and_then(|at| tokens.get(at));
            token.map_or("", |token| token.text)
        };
        let is_import = token.text == "use";
        let is_path = tokens.get(at + 1).is_some_and(|next| next.text == "::");
        // The path in `pub(in PATH)` is not a use.
        let is_inside = before(1) == "::" || (before(2), before(1)) == ("(", "in");
        if !is_import && (!is_path || is_inside) {
            at += 1;
            continue;
        }
        // A `pub` or `pub(crate)` import.
        let is_export = is_import && ["pub", ")"].contains(&before(1));
        let mut leaves = Vec::new();
        at = tree_of_paths(tokens, at + usize::from(is_import), &[], &mut leaves).max(at + 1);
        for (path, name) in leaves {
            let target = absolute(path, module, modules);
            if is_import {
                imports.insert((module.clone(), name), target.clone());
            }
            if let Some(target) = target.filter(|it| !(is_export && it.starts_with(module))) {
                let place = format!("{file}:{}", token.line);
                references.push(Reference { module: module.clone(), target, place });
            }
        }
    }
}

/// Returns the module defined by a file below `src/`.
fn module_of(file: &str) -> Path<'_> {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    if ["lib", "main"].contains(&stem) { Vec::new() } else { stem.split('/').collect() }
}

/// Splits code into words, `::` and single characters, without blanks.
fn tokens(code: &str) -> Vec<Token<'_>> {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let mut tokens = Vec::new();
    for (line, mut rest) in (1..).zip(code.lines()) {
        while let Some(first) = rest.trim_start().chars().next() {
            rest = rest.trim_start();
            let length = match first {
                ':' if rest.starts_with("::") => 2,
                _ if is_part(first) => rest.find(|char| !is_part(char)).unwrap_or(rest.len()),
                _ => first.len_utf8(),
            };
            let (text, behind) = rest.split_at(length);
            tokens.push(Token { text, line });
            rest = behind;
        }
    }
    tokens
}

/// Returns the tokens without test-only items, and the names of the test-only modules.
fn without_tests<'a>(tokens: &[Token<'a>]) -> (Vec<Token<'a>>, Vec<&'a str>) {
    let (mut kept, mut modules) = (Vec::with_capacity(tokens.len()), Vec::new());
    let mut rest = tokens;
    while let Some((first, behind)) = rest.split_first() {
        if first.text != "#" || !begins_test(rest) {
            kept.push(*first);
            rest = behind;
            continue;
        }
        let item = rest.get(..item_length(rest)).unwrap_or(rest);
        let is_module = |pair: &&[Token<'a>]| pair.first().is_some_and(|it| it.text == "mod");
        modules.extend(item.windows(2).find(is_module).and_then(|pair| Some(pair.get(1)?.text)));
        rest = rest.get(item.len()..).unwrap_or_default();
    }
    (kept, modules)
}

/// Whether the tokens begin with an attribute of a test-only item.
fn begins_test(tokens: &[Token<'_>]) -> bool {
    let start: String = tokens.iter().take(7).map(|token| token.text).collect();
    ["#[cfg(test", "#[cfg(all(test", "#[test]"].iter().any(|it| start.starts_with(it))
}

/// Returns the number of tokens of an item, including its attributes.
fn item_length(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    let mut is_attribute = false;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "#" if depth == 0 => is_attribute = true,
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" if depth == 0 => return at,
            "}" | ")" | "]" => depth -= 1,
            ";" | "," if depth == 0 => return at + 1,
            _ => {}
        }
        match (depth, token.text) {
            (0, "}") => return at + 1,
            (0, "]") if is_attribute => is_attribute = false,
            _ => {}
        }
    }
    tokens.len()
}

/// Parses a path, or a braced tree of paths, that begins at `at`. Adds each path with the name it is bound to, and returns the
/// index after the end.
fn tree_of_paths<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    prefix: &[&'a str],
    leaves: &mut Vec<(Path<'a>, &'a str)>,
) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut path = prefix.to_vec();
    loop {
        match text(at) {
            "{" => {
                at += 1;
                while !["}", ""].contains(&text(at)) {
                    let behind = tree_of_paths(tokens, at, &path, leaves);
                    at = behind.max(at + 1);
                    at += usize::from(text(at) == ",");
                }
                return at + 1;
            }
            word if word.starts_with(|char: char| char.is_alphabetic() || char == '_') => {
                path.push(word);
                at += 1;
            }
            _ => break,
        }
        if text(at) != "::" {
            break;
        }
        at += 1;
    }
    if path.last() == Some(&"self") && path.len() > 1 {
        path.pop();
    }
    let mut name = path.last().copied().unwrap_or_default();
    if text(at) == "as" {
        (name, at) = (text(at + 1), at + 2);
    }
    leaves.push((path, name));
    at
}

/// Returns the path from the crate root, or `None` if it leads to another crate or begins with a local name.
fn absolute<'a>(path: Path<'a>, module: &Path<'a>, modules: &Modules<'a>) -> Option<Path<'a>> {
    let supers = path.iter().take_while(|it| **it == "super").count();
    match path.first().copied()? {
        "crate" => Some(path.get(1..)?.to_vec()),
        "self" => Some([module, path.get(1..)?].concat()),
        "super" => {
            Some([module.get(..module.len().checked_sub(supers)?)?, path.get(supers..)?].concat())
        }
        first => {
            let child = [module.as_slice(), &[first]].concat();
            modules.contains(&child).then(|| [module.as_slice(), &path].concat())
        }
    }
}

/// Returns the top-level module that defines the target of a path, or `None` if another crate does.
fn defining_module<'a>(
    mut path: Path<'a>,
    modules: &Modules<'a>,
    imports: &Imports<'a>,
) -> Option<&'a str> {
    for _ in 0..REEXPORTS_MAX {
        let is_module = |end: &usize| path.get(..*end).is_some_and(|it| modules.contains(it));
        let end = (1..=path.len()).take_while(is_module).last().unwrap_or(0);
        let (module, names) = path.split_at(end);
        let imported = names.split_first().and_then(|(name, behind)| {
            Some((imports.get(&(module.to_vec(), *name))?.as_ref(), behind))
        });
        match imported {
            Some((target, behind)) => path = [target?, behind].concat(),
            None => return Some(module.first().copied().unwrap_or(ROOT)),
        }
    }
    None
}

/// Returns, as text, the shortest cycle through the first module of each group of modules that use each other.
fn cycles(uses: &Uses<'_>) -> Vec<String> {
    let (mut cycles, mut known) = (Vec::new(), BTreeSet::<&str>::new());
    for &start in uses.keys() {
        if known.contains(start) {
            continue;
        }
        let from_start = reached(uses, start);
        let Some(&last) = from_start.get(start) else { continue };
        known.extend(from_start.keys().filter(|it| reached(uses, it).contains_key(start)));
        let mut steps = Vec::new();
        let (mut user, mut used) = (last, start);
        loop {
            let place = uses.get(user).and_then(|it| it.get(used)).map_or("", String::as_str);
            steps.push(format!("`{user}` uses `{used}` ({place})"));
            if user == start {
                break;
            }
            (user, used) = (from_start.get(user).copied().unwrap_or(start), user);
        }
        steps.reverse();
        cycles.push(steps.join(", "));
    }
    cycles
}

/// Returns all modules that `start` uses directly or indirectly, each with its predecessor on the shortest path.
fn reached<'a>(uses: &Uses<'a>, start: &'a str) -> BTreeMap<&'a str, &'a str> {
    let (mut reached, mut open) = (BTreeMap::new(), VecDeque::from([start]));
    while let Some(user) = open.pop_front() {
        for &used in uses.get(user).into_iter().flat_map(BTreeMap::keys) {
            if !reached.contains_key(used) {
                reached.insert(used, user);
                open.push_back(used);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::testing::findings;

    #[test]
    fn cycle_is_reported_with_the_location_of_each_use() {
        let found = findings(
            check,
            &[
                ("crates/a/src/lib.rs", "mod x;\nmod y;\nmod z;\npub use z::Z;\n"),
                ("crates/a/src/x.rs", "use crate::{Z, y::{self, Y as Other}};\n"),
                ("crates/a/src/y.rs", "mod inner;\n"),
                ("crates/a/src/y/inner.rs", "fn f() -> super::super::z::Z {}\n"),
                ("crates/a/src/z.rs", "pub struct Z;\nimpl Z { fn f() { crate::x::f() } }\n"),
            ],
        );
        assert_eq!(
            found,
            [
                "crates/a/src: modules use each other in a cycle: `x` uses `z` (crates/a/src/x.rs:1), \
              `z` uses `x` (crates/a/src/z.rs:2)"
            ]
        );
    }

    #[test]
    fn reexported_name_is_attributed_to_its_defining_module() {
        let through = |export: &str| {
            findings(
                check,
                &[
                    ("crates/a/src/lib.rs", "mod x;\nmod y;\nmod z;\n"),
                    ("crates/a/src/x.rs", export),
                    ("crates/a/src/y.rs", "use crate::x::Z;\n"),
                    ("crates/a/src/z.rs", "use crate::y::Y;\npub struct Z;\n"),
                ],
            )
        };
        assert_eq!(through("pub struct Z;\n"), [""; 0]);
        assert_eq!(
            through("pub(crate) use super::z::Thing as Z;\n"),
            [
                "crates/a/src: modules use each other in a cycle: `y` uses `z` (crates/a/src/y.rs:1), \
              `z` uses `y` (crates/a/src/z.rs:1)"
            ]
        );
    }

    #[test]
    fn tests_comments_and_root_exports_are_not_uses() {
        let found = findings(
            check,
            &[
                (
                    "crates/a/src/lib.rs",
                    "mod x;\nmod y;\npub use x::{X, f};\npub const C: u8 = 1;\n",
                ),
                (
                    "crates/a/src/x.rs",
                    "// crate::y::Y\nconst D: u8 = crate::C;\n#[cfg(test)]\nuse crate::y::Y;\n\
                     #[cfg(test)]\n#[allow(unused)]\nmod tests;\n",
                ),
                ("crates/a/src/x/tests.rs", "use crate::y::Y;\n"),
                ("crates/a/src/y.rs", "use crate::x::X;\nuse std::x::Z;\n"),
            ],
        );
        assert_eq!(found, [""; 0]);
    }
}
