//! Search for a text in a content, including overlapping occurrences.

/// Maximum number of bytes that are compared during a search for overlapping occurrences. The search always finds at least two
/// occurrences if they exist, so this limit never hides an ambiguity.
const OVERLAPPING_BYTES_MAX: usize = 1 << 28;

/// Finds the offsets at which `text` starts in `content`, including overlapping occurrences. For example, `aa` occurs twice in
/// `aaa`, so it is ambiguous there. If there are very many occurrences, only the first ones are returned.
pub(crate) fn find_overlapping<'a>(
    content: &'a [u8],
    text: &'a [u8],
) -> impl Iterator<Item = usize> + 'a {
    let finder = memchr::memmem::Finder::new(text);
    let mut from = 0;
    let places = std::iter::from_fn(move || {
        let place = from + finder.find(content.get(from..)?)?;
        from = place + 1;
        Some(place)
    });
    places.take((OVERLAPPING_BYTES_MAX / text.len().max(1)).max(2))
}
