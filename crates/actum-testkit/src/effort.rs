//! Effort of a test that can do more than it does in each run.

/// Returns the number that the environment variable `variable` sets, or `default` without it.
///
/// # Panics
/// The variable is not a number from 1.
pub fn effort(variable: &str, default: usize) -> usize {
    let Some(value) = std::env::var_os(variable) else { return default };
    let number = value.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
    number.unwrap_or_else(|| panic!("{variable} is {value:?}, which is not a number from 1"))
}
