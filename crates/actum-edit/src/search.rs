//! Search for a text in a content, overlapping occurrences included.

/// Limit for the bytes that are compared with overlapping occurrences; long before that there are
/// several of them.
const OVERLAPPING_BYTES_MAX: usize = 1 << 28;

/// Finds the offsets at which `text` starts in `content`, also where occurrences overlap: `aa` is in `aaa` twice, so it is
/// ambiguous there. Of very many occurrences, finds the first ones only.
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
