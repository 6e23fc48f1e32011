//! Appends a member to the end of an object.

use super::outline::Level;
use super::sketch::Spot;
use super::{File, JsonValueError, Piece, gap::Gap};
use crate::edit::json_patch::layout::Layout;
use crate::edit::json_patch::parcel::{Parcel, Room};
use crate::edit::json_patch::tree::Brackets;

/// Member to add, before its indentation is known.
struct Member<'t> {
    name: String,
    parcel: Parcel<'t>,
    layout: Layout,
}

/// Returns the pieces that add the member `key`. It is inserted after any comments on the line of the last member. If the last
/// member has a trailing comma, the new member gets one as well.
pub(super) fn pieces(
    file: File<'_>,
    object: &Level,
    spot: &Spot<'_, '_>,
    key: &str,
    parcel: Parcel<'_>,
    room: &mut Room,
) -> Result<Vec<Piece>, JsonValueError> {
    let name = serde_json::Value::from(key).to_string();
    let layout = spot.layout_of(&parcel.node, None);
    let member = Member { name, parcel, layout };
    let close = object.span.end.saturating_sub(1);
    let Some(last) = object.children.last() else {
        let inside = Gap::new(file.text, object.span.start + 1..close);
        return first(file, &inside, spot, member, room);
    };
    let gap = Gap::new(file.text, last.value.end..close);
    let own_comma = gap.comma;
    let from = own_comma.map_or(last.value.end, |comma| comma + 1);
    let (at, is_line) = gap.rest_of_line(file.text, from);
    let (own_line, gap_in_line) = separation(spot);
    let separator = if own_line || is_line {
        format!("{}{}", spot.style.newline, line_indent(spot))
    } else {
        gap_in_line
    };
    let mut new = separator + &member.text(spot, &line_indent(spot), room)?;
    if own_comma.is_some() {
        new.push(',');
        return Ok(vec![(at..at, new)]);
    }
    if at == last.value.end {
        return Ok(vec![(at..at, format!(",{new}"))]);
    }
    Ok(vec![(last.value.end..last.value.end, ",".to_owned()), (at..at, new)])
}

/// Returns the pieces that add a member to an object without members, which may contain comments.
fn first(
    file: File<'_>,
    inside: &Gap,
    spot: &Spot<'_, '_>,
    member: Member<'_>,
    room: &mut Room,
) -> Result<Vec<Piece>, JsonValueError> {
    let inner = format!("{}{}", spot.indent, spot.style.unit);
    let newline = spot.style.newline;
    let Some(comment) = inside.comments.last() else {
        let (text, before, after) = match spot.layout {
            Layout::Lines => {
                let text = member.text(spot, &inner, room)?;
                (text, format!("{newline}{inner}"), format!("{newline}{}", spot.indent))
            }
            Layout::OneLine => {
                let pad = spot.style.pad(Brackets::Object).text.into_owned();
                (member.text(spot, &spot.indent, room)?, pad.clone(), pad)
            }
        };
        return Ok(vec![(inside.range.clone(), format!("{before}{text}{after}"))]);
    };
    let at = comment.range.end;
    let whole = file.text.get(inside.range.clone()).unwrap_or_default();
    if !whole.contains('\n') {
        return Ok(vec![(at..at, format!(" {}", member.text(spot, &spot.indent, room)?))]);
    }
    let text = format!("{newline}{inner}{}", member.text(spot, &inner, room)?);
    let rest = at..inside.range.end;
    if file.text.get(rest.clone()).is_some_and(|rest| rest.contains('\n')) {
        return Ok(vec![(at..at, text)]);
    }
    // Move the closing bracket to a separate line.
    Ok(vec![(rest, format!("{text}{newline}{}", spot.indent))])
}

impl Member<'_> {
    /// Returns the text of the member for a line that is indented by `indent`.
    fn text(
        self,
        spot: &Spot<'_, '_>,
        indent: &str,
        room: &mut Room,
    ) -> Result<String, JsonValueError> {
        let value = self.parcel.open(self.layout, indent, &spot.style, room)?;
        room.take(self.name.len() + spot.style.colon.len() + 2 * indent.len() + 8)?;
        Ok(format!("{}{}{}", self.name, spot.style.colon, value.text()))
    }
}

/// Returns whether a new last member starts on a new line, and the text before the member if it does not.
fn separation(spot: &Spot<'_, '_>) -> (bool, String) {
    let gap = || spot.style.gap.clone();
    match spot.container.map(|container| container.items.as_slice()) {
        None | Some([]) => (false, gap()),
        Some([only]) => (only.before.has_newline(), gap()),
        Some([.., last]) if last.before.has_newline() => (true, gap()),
        Some([.., last]) if last.before.has_comment() => (false, gap()),
        Some([.., last]) => (false, last.before.text.to_string()),
    }
}

/// Returns the indentation of the line of the last member, or of the place itself if there is no container.
fn line_indent(spot: &Spot<'_, '_>) -> String {
    let Some(container) = spot.container else { return spot.indent.clone() };
    let last = container.items.len().saturating_sub(1);
    container.indent_at(last, &spot.indent).to_owned()
}
