//! Limit on the depth of policies, and a test that the validator reaches that depth.
//!
//! Cedar 4.14 recurses through the syntax tree of a policy. Some hundred brackets overflow the stack of its parser,
//! which ends the program. If the stack runs short in the validator, the validator reports no error, and the policy
//! counts as valid although it was not checked.
//!
//! So the text is measured before Cedar reads it. The validator is tried on a policy of the largest allowed depth.

use std::str::FromStr;

use cedar_policy::{PolicySet, ValidationMode, Validator};

use crate::limits::{POLICY_NESTING_MAX, POLICY_OPERATORS_MAX};
use crate::problem::AccessError;

/// Words that add a level.
const WORD_OPERATORS: [&str; 5] = ["if", "in", "has", "like", "is"];

/// Rejects a text with a policy that is too deep.
pub(crate) fn check(text: &str) -> Result<(), AccessError> {
    let mut scan = Scan { line: 1, nesting: 0, operators: 0 };
    let mut chars = text.chars().peekable();
    let mut word = String::new();
    while let Some(char) = chars.next() {
        // A letter ends a number, so the number begins no word.
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
                // A string ends at the next quote without a backslash before it.
                while let Some(char) = chars.next() {
                    match char {
                        '"' => break,
                        '\\' => scan.line += usize::from(chars.next() == Some('\n')),
                        _ => scan.line += usize::from(char == '\n'),
                    }
                }
            }
            '/' if chars.peek() == Some(&'/') => {
                // Either character ends a comment, and the rest is read.
                while chars.next_if(|char| !matches!(char, '\n' | '\r')).is_some() {}
            }
            '(' | '[' | '{' => scan.nesting += 1,
            ')' | ']' | '}' => scan.nesting = scan.nesting.saturating_sub(1),
            ';' if scan.nesting == 0 => scan.operators = 0,
            '.' | '+' | '-' | '*' | '/' | '%' | '!' | '=' | '<' | '>' | '&' | '|' => {
                scan.operators += 1;
                // The second character of an operator adds no level.
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

/// Validates a policy of the largest allowed depth whose only error is at the bottom.
///
/// Some systems report a wrong size of the stack, and then nothing at all would be checked.
pub(crate) fn try_validator(validator: &Validator) -> Result<(), AccessError> {
    let levels = POLICY_OPERATORS_MAX / 2;
    let above = "if context.undo then true else ".repeat(levels);
    let text = format!("forbid (principal, action, resource) when {{ {above}context.unknown }};");
    let set = PolicySet::from_str(&text).map_err(AccessError::built_in)?;
    let result = validator.validate(&set, ValidationMode::Strict);
    if result.validation_passed() {
        return Err(AccessError::built_in(
            "the stack is too small, or its size is unknown, so that nothing would be checked",
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

    const TOO_DEEP: &str = "line 2 of the access policies has brackets that are nested more than \
                            20 deep";

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
                "line 1 of the access policies is in a policy with more than 250 operators; write \
                 it as several policies, or its alternatives as a set",
                "{operator}"
            );
            // The count restarts only at the end of a policy.
            assert_ne!(found(&format!("({most};{most};")), "", "{operator}");
        }
        assert_eq!(found(&"iffy inner \"a.b\", ".repeat(1000)), "");
    }
}
