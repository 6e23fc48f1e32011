//! Limits the depth of policies, and tests that the validator can handle this depth.
//!
//! Cedar 4.14 recurses through the syntax tree of a policy. A few hundred nested brackets overflow the stack of its
//! parser, which aborts the process. If the validator runs out of stack instead, it reports no error, so a policy
//! passes although it was not checked.
//!
//! To prevent both, the depth of a text is measured before Cedar parses it, and the validator is tested with a policy
//! of the maximum depth.

use std::str::FromStr;

use cedar_policy::{PolicySet, ValidationMode, Validator};

use crate::limits::{POLICY_NESTING_MAX, POLICY_OPERATORS_MAX};
use crate::problem::AccessError;

/// Keywords that add a level to the syntax tree.
const WORD_OPERATORS: [&str; 5] = ["if", "in", "has", "like", "is"];

/// Returns an error if a policy in the text exceeds the limits on nesting or operators.
pub(crate) fn check(text: &str) -> Result<(), AccessError> {
    let mut scan = Scan { line: 1, nesting: 0, operators: 0 };
    let mut chars = text.chars().peekable();
    let mut word = String::new();
    while let Some(char) = chars.next() {
        // A keyword directly after a number, as in `1if`, still counts, because digits do not begin a word.
        let continues =
            char == '_' || char.is_alphabetic() || !word.is_empty() && char.is_numeric();
        if continues {
            word.push(char);
            continue;
        }
        scan.operators += usize::from(WORD_OPERATORS.contains(&&*word));
        word.clear();
        match char {
            '\n' => scan.line += 1,
            '"' => {
                // A string ends at the next quote that is not escaped with a backslash.
                while let Some(char) = chars.next() {
                    match char {
                        '"' => break,
                        '\\' => scan.line += usize::from(chars.next() == Some('\n')),
                        _ => scan.line += usize::from(char == '\n'),
                    }
                }
            }
            '/' if chars.peek() == Some(&'/') => {
                // Cedar ends a comment at a line feed or a carriage return, and parses the text after it.
                while chars.next_if(|char| !matches!(char, '\n' | '\r')).is_some() {}
            }
            '(' | '[' | '{' => scan.nesting += 1,
            ')' | ']' | '}' => scan.nesting = scan.nesting.saturating_sub(1),
            ';' if scan.nesting == 0 => scan.operators = 0,
            '.' | '+' | '-' | '*' | '/' | '%' | '!' | '=' | '<' | '>' | '&' | '|' => {
                scan.operators += 1;
                // Skip the second character of an operator, because it does not add another level.
                chars.next_if(|&next| next == '=' || next == char && "&|".contains(char));
            }
            _ => {}
        }
        scan.check()?;
    }
    Ok(())
}

struct Scan {
    line: usize,
    nesting: usize,
    operators: usize,
}

impl Scan {
    fn check(&self) -> Result<(), AccessError> {
        let line = self.line;
        if self.nesting > POLICY_NESTING_MAX {
            Err(AccessError::Nesting { line })
        } else if self.operators > POLICY_OPERATORS_MAX {
            Err(AccessError::Operators { line })
        } else {
            Ok(())
        }
    }
}

/// Validates a policy of the maximum depth whose only error is at the innermost level, and checks that the error is
/// found.
///
/// Some systems report a wrong stack size, and the validator would then accept every policy unchecked.
pub(crate) fn try_validator(validator: &Validator) -> Result<(), AccessError> {
    let levels = POLICY_OPERATORS_MAX / 2;
    let above = "if context.undo then true else ".repeat(levels);
    let text = format!("forbid (principal, action, resource) when {{ {above}context.unknown }};");
    let set = PolicySet::from_str(&text).map_err(AccessError::built_in)?;
    let result = validator.validate(&set, ValidationMode::Strict);
    if result.validation_passed() {
        return Err(AccessError::built_in(
            "the thread's stack is too small or of unknown size, so policies would not be validated",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        check(text).map_or_else(|error| error.to_string(), |()| String::new())
    }

    const TOO_DEEP: &str = "line 2 of the access policies nests brackets more than 20 levels deep";

    #[test]
    fn brackets_are_counted_outside_strings_and_comments() {
        for (open, close) in [("(", ")"), ("[", "]"), ("{", "}")] {
            let nested = |depth| format!("\n{}{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(found(&nested(POLICY_NESTING_MAX).repeat(3)), "");
            assert_eq!(found(&nested(POLICY_NESTING_MAX + 1)), TOO_DEEP);
        }
        let open = "(".repeat(100);
        assert_eq!(found(&format!("\"\n{open}\" // {open}\n")), "");
        assert_eq!(found(&format!("\"\\\"{open}\"")), "");
        assert_eq!(found(&format!("\"\\\\\"\n{open}")), TOO_DEEP);
        assert_eq!(found(&format!("// \"\n{open}")), TOO_DEEP);
        assert_eq!(found(&format!("\"//\"\n{open}")), TOO_DEEP);
        assert_eq!(found(&format!("\"a\nb\"{open}")), TOO_DEEP);
        assert_eq!(found(&format!("\n// a\r{open}")), TOO_DEEP);
    }

    #[test]
    fn operators_are_counted_for_each_policy() {
        for operator in [
            ".", "+", "-", "*", "/", "%", "!", "==", "!=", "<", "<=", ">", ">=", "&&", "||",
            " if ", " in ", " has ", " like ", " is ", " 1if ",
        ] {
            let chain = |count| format!("a{}", format!("{operator}a").repeat(count));
            let most = chain(POLICY_OPERATORS_MAX);
            assert_eq!(found(&format!("{most};{most};")), "", "{operator}");
            let over = chain(POLICY_OPERATORS_MAX + 1);
            assert_eq!(
                found(&format!("{over};")),
                "line 1 of the access policies is in a policy with more than 250 operators; split \
                 the policy, or write its alternatives as a set",
                "{operator}"
            );
            // The operator count restarts only at the end of a policy.
            assert_ne!(found(&format!("({most};{most};")), "", "{operator}");
        }
        assert_eq!(found(&"iffy inner \"a.b\", ".repeat(1000)), "");
    }
}
