/// The greeting.
pub fn greeting() -> &'static str {
    "hello"
}
