//! Finds the splices between a file and a tree that was made of it.

use actum_core::count;

use super::tree::Part;
use crate::Splice;

/// Takes the text of a tree part by part, and holds it against the file.
pub(super) struct Emitter<'t> {
    file: &'t str,
    /// Number of bytes of the file that are kept, replaced or removed so far.
    reached: usize,
    /// New text that replaces the following bytes.
    new: String,
    splices: Vec<Splice>,
}

impl<'t> Emitter<'t> {
    pub(super) fn new(file: &'t str) -> Self {
        Self { file, reached: 0, new: String::new(), splices: Vec::new() }
    }

    /// Adds the next part. Whatever its kind, the splices give the text of the tree; the more exact
    /// the kind is, the smaller they are.
    pub(super) fn part(&mut self, text: &str, part: Part) {
        match part {
            Part::Piece(Some(place)) if place >= self.reached => {
                self.close(place);
                self.reached = place + text.len();
            }
            Part::Mark if self.new.is_empty() && self.rest().starts_with(text) => {
                self.reached += text.len();
            }
            Part::Piece(_) | Part::Mark => self.new.push_str(text),
        }
    }

    /// The splices, when all parts have been given.
    pub(super) fn finish(mut self) -> Vec<Splice> {
        self.close(self.file.len());
        self.splices
    }

    fn rest(&self) -> &'t str {
        self.file.get(self.reached..).unwrap_or_default()
    }

    /// Ends what is replaced at `place`.
    fn close(&mut self, place: usize) {
        let old = self.file.get(self.reached..place).unwrap_or_default();
        let smallest = Splice::between(old.as_bytes(), self.new.as_bytes());
        let start = count(self.reached);
        self.splices.extend(
            smallest
                .into_iter()
                .map(|splice| Splice { offset: start.saturating_add(splice.offset), ..splice }),
        );
        self.new.clear();
        self.reached = place;
    }
}
