//! Tree of a JSON document that contains every byte of its text.

use std::borrow::Cow;

use actum_core::json::{Content, Kind, Value};

/// Piece of text, with its offset in the original file if it has not been moved or changed.
#[derive(Debug, Clone)]
pub(in crate::edit) struct Piece<'t> {
    pub(in crate::edit) text: Cow<'t, str>,
    pub(in crate::edit) place: Option<usize>,
}

/// JSON value in the tree.
#[derive(Debug, Clone)]
pub(in crate::edit) enum Node<'t> {
    Scalar(Kind, Piece<'t>),
    Container(Container<'t>),
}

/// Array or object in the tree.
#[derive(Debug, Clone)]
pub(in crate::edit) struct Container<'t> {
    pub(in crate::edit) brackets: Brackets,
    pub(in crate::edit) items: Vec<Item<'t>>,
    /// Blanks between the brackets if the container is empty.
    pub(in crate::edit) blank: Piece<'t>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::edit) enum Brackets {
    Array,
    Object,
}

/// Array element or object member.
#[derive(Debug, Clone)]
pub(in crate::edit) struct Item<'t> {
    /// Blanks before the item.
    pub(in crate::edit) before: Piece<'t>,
    /// Name of the member. `None` for an array element.
    pub(in crate::edit) name: Option<Name<'t>>,
    pub(in crate::edit) value: Node<'t>,
    /// Blanks between the value and the following comma or closing bracket.
    pub(in crate::edit) after: Piece<'t>,
}

#[derive(Debug, Clone)]
pub(in crate::edit) struct Name<'t> {
    pub(in crate::edit) decoded: Cow<'t, str>,
    /// Name as written in the file, including its quotes.
    pub(in crate::edit) spelled: Piece<'t>,
    /// Text between the name and the value: the colon and the blanks around it.
    pub(in crate::edit) colon: Piece<'t>,
}

/// Source of the text of a tree. Only pieces of the file have an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::edit) enum Origin {
    File,
    Patch,
}

impl<'t> Piece<'t> {
    pub(in crate::edit) fn new(text: impl Into<Cow<'t, str>>) -> Self {
        Self { text: text.into(), place: None }
    }

    /// Returns a copy of the piece without its offset in the file.
    pub(in crate::edit) fn again(&self) -> Self {
        Self { text: self.text.clone(), place: None }
    }

    pub(in crate::edit) fn has_newline(&self) -> bool {
        self.text.contains('\n')
    }

    /// Whether a piece between values contains a comment. Both kinds of comments begin with a slash, which cannot occur there
    /// otherwise.
    pub(in crate::edit) fn has_comment(&self) -> bool {
        self.text.contains('/')
    }

    /// Returns the blanks after the last line break, up to a comment. Returns `None` if there is no line break.
    pub(in crate::edit) fn indent(&self) -> Option<&str> {
        let (_, line) = self.text.rsplit_once('\n')?;
        let blanks = line.find(|c: char| !matches!(c, ' ' | '\t' | '\r'));
        line.get(..blanks.unwrap_or(line.len()))
    }

    /// Returns the indentation after the last line break, or the entire text if there is no line break.
    pub(in crate::edit) fn last_line(&self) -> &str {
        self.indent().unwrap_or(&self.text)
    }
}

impl<'t> Node<'t> {
    /// Creates the tree of a value that was parsed from `text`.
    pub(in crate::edit) fn from_value(value: &Value<'t>, text: &'t str, origin: Origin) -> Self {
        Self::beside(value, text, text, origin)
    }

    /// Creates the tree of a value that was parsed from `strict`, but takes its pieces from `text`. The two texts have the same
    /// length, but `strict` has blanks in place of comments and trailing commas.
    pub(in crate::edit) fn beside(
        value: &Value<'t>,
        strict: &'t str,
        text: &'t str,
        origin: Origin,
    ) -> Self {
        let piece = |from: usize, to: usize| Piece {
            text: text.get(from..to).unwrap_or_default().into(),
            place: (origin == Origin::File).then_some(from),
        };
        // Each child is a tuple of its start, its member if it has a name, and its value.
        let (brackets, children): (_, Vec<_>) = match &value.content {
            Content::Null | Content::Boolean(_) | Content::Number(_) | Content::String(_) => {
                return Self::Scalar(value.kind(), piece(value.span.start, value.span.end));
            }
            Content::Array(elements) => (
                Brackets::Array,
                elements.iter().map(|element| (element.span.start, None, element)).collect(),
            ),
            Content::Object(members) => (
                Brackets::Object,
                members
                    .iter()
                    .map(|member| (member.name_span.start, Some(member), &member.value))
                    .collect(),
            ),
        };
        let end = value.span.end - 1;
        let mut reached = value.span.start + 1;
        let blank = piece(reached, end);
        let starts = children.iter().map(|(start, ..)| *start).skip(1).chain([end]);
        let items = children.iter().zip(starts).map(|((start, member, child), next)| {
            let name = member.map(|member| Name {
                decoded: member.name.clone(),
                spelled: piece(member.name_span.start, member.name_span.end),
                colon: piece(member.name_span.end, child.span.start),
            });
            let gap = strict.get(child.span.end..next).unwrap_or_default();
            let comma = child.span.end + gap.find(',').unwrap_or(gap.len());
            let before = piece(reached, *start);
            reached = comma + 1;
            let value = Self::beside(child, strict, text, origin);
            Item { before, name, value, after: piece(child.span.end, comma) }
        });
        Self::Container(Container { brackets, items: items.collect(), blank })
    }

    /// Returns the nesting depth of the node. A scalar has depth 0.
    pub(in crate::edit) fn depth(&self) -> usize {
        match self {
            Self::Scalar(..) => 0,
            Self::Container(container) => {
                1 + container.items.iter().map(|item| item.value.depth()).max().unwrap_or(0)
            }
        }
    }

    /// Calls `visit` with each piece in order. Brackets and commas are not pieces, so they are skipped.
    pub(in crate::edit) fn each_piece(&mut self, visit: &mut impl FnMut(&mut Piece<'t>)) {
        match self {
            Self::Scalar(_, piece) => visit(piece),
            Self::Container(container) if container.items.is_empty() => visit(&mut container.blank),
            Self::Container(container) => container.items.iter_mut().for_each(|item| {
                visit(&mut item.before);
                if let Some(name) = &mut item.name {
                    visit(&mut name.spelled);
                    visit(&mut name.colon);
                }
                item.value.each_piece(visit);
                visit(&mut item.after);
            }),
        }
    }

    /// Returns the text of the node.
    pub(in crate::edit) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut |part, _| text.push_str(part));
        text
    }

    /// Returns the length of the text in bytes.
    pub(in crate::edit) fn bytes(&self) -> usize {
        let mut bytes = 0usize;
        self.write(&mut |part, _| bytes += part.len());
        bytes
    }

    /// Calls `out` with each part of the text in order.
    pub(in crate::edit) fn write(&self, out: &mut impl FnMut(&str, Part)) {
        let container = match self {
            Self::Scalar(_, piece) => return out(&piece.text, Part::Piece(piece.place)),
            Self::Container(container) => container,
        };
        let (open, close) = match container.brackets {
            Brackets::Array => ("[", "]"),
            Brackets::Object => ("{", "}"),
        };
        out(open, Part::Mark);
        if container.items.is_empty() {
            out(&container.blank.text, Part::Piece(container.blank.place));
        }
        for (index, item) in container.items.iter().enumerate() {
            if index > 0 {
                out(",", Part::Mark);
            }
            out(&item.before.text, Part::Piece(item.before.place));
            if let Some(Name { spelled, colon, .. }) = &item.name {
                out(&spelled.text, Part::Piece(spelled.place));
                out(&colon.text, Part::Piece(colon.place));
            }
            item.value.write(out);
            out(&item.after.text, Part::Piece(item.after.place));
        }
        out(close, Part::Mark);
    }
}

/// Kind of a part that [`Node::write`] emits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::edit) enum Part {
    /// A piece, with its offset in the file if it is unchanged.
    Piece(Option<usize>),
    /// A bracket or a comma.
    Mark,
}
