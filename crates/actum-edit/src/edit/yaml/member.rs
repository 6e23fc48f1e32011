//! Adds a member to a YAML mapping, or removes one from it.

use actum_core::json::Value;
use actum_core::place::{Excerpt, Place};

use super::error::YamlError;
use super::find::{Followed, follow};
use super::place::{line_end, skip};
use super::replace::{self, Within, column, newline, unanchored, unit};
use super::spell::{self, Lines};
use super::tree::{Node, NodeKind, Notation, Stream, Style};
use super::{Piece, YamlUnproven};
use crate::edit::json_path::{NodePath, Step};

type Entry<'t> = (Node<'t>, Node<'t>);

/// Computes the replacements that append the member at `way` to the end of its mapping.
pub(super) fn added(
    text: &str,
    stream: &Stream<'_>,
    (document, way): (usize, &NodePath),
    value: &Value<'_>,
    place: &impl Fn(usize) -> Place,
) -> Result<Vec<Piece>, YamlError> {
    let root = stream.documents.get(document).ok_or(YamlUnproven::Beyond)?;
    let (name, above) = member(way)?;
    let nodes = nodes(root, &above, text, place)?;
    let parent = *nodes.last().ok_or(YamlUnproven::Beyond)?;
    unanchored(text, &nodes, Within::Skip, place)?;
    let NodeKind::Mapping(notation, entries) = &parent.shape else {
        return Err(YamlUnproven::Beyond.into());
    };
    // Some parsers treat a key that is not a string, such as a number, as a string of the same spelling.
    let is_alike = |key: &Node<'_>| matches!(&key.shape, NodeKind::Scalar(text, _) if text == name);
    if let Some((key, _)) = entries.iter().find(|(key, _)| is_alike(key)) {
        return Err(YamlError::Name { place: place(key.extent.start) });
    }
    let (start, last) = (parent.extent.start, entries.last().map(|(_, value)| value.extent.end));
    let name = spell::string(name, Style::Plain);
    if *notation == Notation::Flow {
        let entry = format!("{name}: {}", spell::inline(value, Style::Plain));
        return match last {
            _ if !has_braces(text, parent) => Err(YamlError::Unclear { place: place(start) }),
            Some(end) => Ok(vec![(end..end, format!(", {entry}"))]),
            None => Ok(vec![(start + 1..start + 1, entry)]),
        };
    }
    let lines = Lines { newline: newline(text), unit: unit(text, root) };
    let (column, end) = (column(text, start), last.ok_or(YamlUnproven::Beyond)?);
    let indent = |column: usize| format!("{}{}", lines.newline, " ".repeat(column));
    let mut entry = format!("{}{name}:", indent(column));
    if spell::is_block(value) {
        entry.push_str(&indent(column + lines.unit));
        lines.write(value, column + lines.unit, &mut entry);
    } else {
        entry.push_str(&format!(" {}", spell::inline(value, Style::Plain)));
    }
    let end = line_end(text, end);
    Ok(vec![(end..end, entry)])
}

/// Computes the replacements that remove the member at `way`, together with its comma or with its lines and their comments.
pub(super) fn removed(
    text: &str,
    stream: &Stream<'_>,
    (document, way): (usize, &NodePath),
    place: &impl Fn(usize) -> Place,
) -> Result<Vec<Piece>, YamlError> {
    let root = stream.documents.get(document).ok_or(YamlUnproven::Beyond)?;
    let (name, above) = member(way)?;
    let nodes = nodes(root, way, text, place)?;
    unanchored(text, &nodes, Within::Look, place)?;
    let [.., parent, _] = nodes.as_slice() else { return Err(YamlUnproven::Beyond.into()) };
    let NodeKind::Mapping(notation, entries) = &parent.shape else {
        return Err(YamlUnproven::Beyond.into());
    };
    let position = entries.iter().position(|(key, _)| key.as_string() == Some(name));
    let index = position.ok_or(YamlUnproven::Beyond)?;
    let (before, rest) = entries.split_at(index);
    let [entry, behind @ ..] = rest else { return Err(YamlUnproven::Beyond.into()) };
    let unclear = || YamlError::Unclear { place: place(entry.0.extent.start) };
    if [Some(entry), behind.first()].into_iter().flatten().any(|entry| is_explicit(text, entry)) {
        return Err(unclear());
    }
    if *notation == Notation::Flow {
        let has_braces = has_braces(text, parent);
        return has_braces.then(|| from_flow(text, before.last(), entry)).ok_or_else(unclear);
    }
    if entries.len() == 1 {
        let empty = Value::read(b"{}").map_err(|_| YamlError::Value)?;
        return replace::pieces(text, stream, document, &above, &empty, place);
    }
    from_block(text, entry, behind.first()).ok_or_else(unclear)
}

/// Splits the path of a member into its name and the path of its mapping.
fn member(way: &NodePath) -> Result<(&str, NodePath), YamlError> {
    match way.0.last() {
        Some(Step::Name(name)) => Ok((name, way.first(way.0.len() - 1))),
        Some(Step::Index(_)) | None => {
            Err(YamlError::NoMember { way: Excerpt::new(way.to_string().as_bytes()) })
        }
    }
}

fn nodes<'n, 't>(
    root: &'n Node<'t>,
    way: &NodePath,
    text: &str,
    place: &impl Fn(usize) -> Place,
) -> Result<Vec<&'n Node<'t>>, YamlError> {
    match follow(root, way, text, place)? {
        Followed::Node(nodes) => Ok(nodes),
        Followed::Stop { .. } => Err(YamlUnproven::Beyond.into()),
    }
}

/// Checks whether a flow mapping has braces. A single pair in a flow sequence has none.
fn has_braces(text: &str, mapping: &Node<'_>) -> bool {
    text.get(mapping.extent.start..).is_some_and(|rest| rest.starts_with('{'))
}

/// Checks whether the key of an entry is written with an explicit indicator, as in `? key`.
fn is_explicit(text: &str, (key, _): &Entry<'_>) -> bool {
    text.get(..key.extent.slot).is_some_and(|before| before.ends_with('?'))
}

/// Removes an entry from a flow mapping, with the comma after it or else the comma before it, and keeps nearby comments.
fn from_flow(text: &str, before: Option<&Entry<'_>>, (key, value): &Entry<'_>) -> Vec<Piece> {
    let piece = |range| (range, String::new());
    let (start, end) = (key.extent.slot, value.extent.end);
    let is_blank = |range: std::ops::Range<usize>, blanks: &[char]| {
        text.get(range).is_some_and(|between| between.trim_matches(blanks).is_empty())
    };
    let behind = skip(text, end);
    if text.get(behind..).is_some_and(|rest| rest.starts_with(',')) {
        if !is_blank(end..behind, &[' ', '\t']) {
            return vec![piece(start..end), piece(behind..behind + 1)];
        }
        let rest = text.get(behind + 1..).unwrap_or_default();
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        return vec![piece(start..behind + 1 + blanks)];
    }
    let Some((_, before)) = before else { return vec![piece(start..end)] };
    let comma = skip(text, before.extent.end);
    match is_blank(comma + 1..start, &[' ', '\t', '\n', '\r']) {
        true => vec![piece(comma..end)],
        false => vec![piece(comma..comma + 1), piece(start..end)],
    }
}

/// Removes an entry of a block mapping, together with its lines.
fn from_block(
    text: &str,
    (key, value): &Entry<'_>,
    behind: Option<&Entry<'_>>,
) -> Option<Vec<Piece>> {
    let (slot, stop) = (key.extent.slot, line_end(text, value.extent.end));
    let above = text.get(..slot)?;
    let line = above.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let end_of_line = |rest: &str| match rest {
        rest if rest.starts_with("\r\n") => 2,
        "" => 0,
        _ => 1,
    };
    let range = if above.get(line..)?.trim_matches(' ').is_empty() {
        match end_of_line(text.get(stop..)?) {
            // The file does not end with a newline. Remove the newline before the entry, so that this stays true.
            0 => {
                let before = text.get(..line)?;
                let before = before.strip_suffix('\n').unwrap_or(before);
                before.strip_suffix('\r').unwrap_or(before).len()..stop
            }
            length => line..stop + length,
        }
    } else {
        // The first entry follows an indicator such as `- ` on the same line, so the next entry takes its position.
        let next = behind?.0.extent.slot;
        match text.get(stop..next)?.trim().is_empty() {
            true => slot..next,
            false => slot..stop,
        }
    };
    Some(vec![(range, String::new())])
}
