//! Finds every test that is run, with its doc comment.

use super::tree::{Source, Tree};

/// Function with `#[test]`, in a module, an integration test or a `proptest!` block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) name: String,
    /// Doc comment of the test, without the slashes.
    docs: String,
}

impl Test {
    /// Whether the doc comment contains this requirement number; `FO-10` does not contain `FO-1`.
    pub(super) fn names(&self, requirement: &str) -> bool {
        self.docs
            .split(|char: char| !char.is_ascii_alphanumeric() && char != '-')
            .any(|word| word == requirement)
    }
}

/// Returns all tests except ignored ones, which prove nothing.
pub(super) fn tests(tree: &Tree) -> Vec<Test> {
    tree.sources.iter().flat_map(tests_of).collect()
}

fn tests_of(source: &Source) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut pending = Pending::default();
    for (code, docs) in source.masked.code.lines().zip(source.masked.docs.lines()) {
        if let Some(line) = docs.trim().strip_prefix("///") {
            pending.docs += line;
            pending.docs.push('\n');
        }
        tests.extend(pending.read(code.trim()));
    }
    tests
}

/// Doc comments and attributes that precede an item.
#[derive(Default)]
struct Pending {
    docs: String,
    /// Attributes of the item, the last of which may not be closed yet.
    attributes: String,
}

impl Pending {
    fn read(&mut self, mut code: &str) -> Option<Test> {
        while !code.is_empty() && (code.starts_with("#[") || self.is_open()) {
            let mut end = code.len();
            for (at, char) in code.char_indices() {
                self.attributes.push(char);
                if char == ']' && !self.is_open() {
                    end = at + 1;
                    break;
                }
            }
            code = code.get(end..).unwrap_or_default().trim_start();
        }
        if code.is_empty() {
            return None;
        }
        let Self { docs, attributes } = std::mem::take(self);
        let runs = attributes.contains("#[test]") && !attributes.contains("#[ignore");
        function_name(code).filter(|_| runs).map(|name| Test { name, docs })
    }

    fn is_open(&self) -> bool {
        self.attributes.matches('[').count() > self.attributes.matches(']').count()
    }
}

fn function_name(code: &str) -> Option<String> {
    let (_, behind) = code.split_once("fn ")?;
    Some(behind.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::testing::write_tree;

    #[test]
    fn tests_are_found_with_their_docs_in_any_position() {
        let text = r##"
            /// FO-9
            fn no_test() {}

            /// FO-1: one line.
            #[test]
            fn plain() { let text = "
                /// FO-8
                #[test]
                fn in_a_text() {}
            "; }

            #[test]
            #[expect(
                clippy::lint,
                reason = "a ] in a reason"
            )]
            /// FO-2, FO-3
            // A remark.

            pub fn after_attributes() -> Result<(), Error> {}

            /// FO-4
            #[test]
            #[ignore = "slow"]
            fn ignored() {}

            proptest! {
                #![proptest_config(config())]
                /// FO-5
                #[test]
                fn property(input in any::<u8>()) {}
                #[test] fn on_one_line() {}
            }
        "##;
        let root = write_tree(&[("tests/all.rs", text)]);
        let found = super::tests(&Tree::read(root.path()).unwrap());
        let test = |name: &str, docs: &str| Test { name: name.into(), docs: docs.into() };
        assert_eq!(
            found,
            [
                test("plain", " FO-1: one line.\n"),
                test("after_attributes", " FO-2, FO-3\n"),
                test("property", " FO-5\n"),
                test("on_one_line", ""),
            ]
        );
    }

    #[test]
    fn requirement_number_matches_only_as_a_whole() {
        let test = Test { name: String::new(), docs: " FO-10, (AA-2); D-1.\n".into() };
        let named =
            ["FO-10", "AA-2", "D-1", "FO-1", "A-2", "O-10"].map(|number| test.names(number));
        assert_eq!(named, [true, true, true, false, false, false]);
    }
}
