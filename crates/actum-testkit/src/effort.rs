//! Environment variables that increase the effort of a test beyond its default.

/// Returns the number in the environment variable `variable`, or `default` if the variable is not set.
///
/// # Panics
/// Panics if the variable is not a positive number.
pub fn effort(variable: &str, default: usize) -> usize {
    let Some(value) = std::env::var_os(variable) else { return default };
    let number = value.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
    number.unwrap_or_else(|| panic!("{variable} must be a positive number, found {value:?}"))
}
