/// The greeting.
pub fn greeting() -> &'static str {
    "good day"
}
