//! Computes the splices that turn a file into the text of its modified tree.

use actum_core::count;

use super::tree::Part;
use crate::Splice;

/// Receives the text of a tree part by part, and compares it with the original file.
pub(super) struct Emitter<'t> {
    file: &'t str,
    /// Number of bytes of the file that have been kept, replaced or removed so far.
    reached: usize,
    /// New text that replaces the next bytes of the file.
    new: String,
    splices: Vec<Splice>,
}

impl<'t> Emitter<'t> {
    pub(super) fn new(file: &'t str) -> Self {
        Self { file, reached: 0, new: String::new(), splices: Vec::new() }
    }

    /// Adds the next part of the tree. The kind of the part only affects the size of the splices. Their result is always the text
    /// of the tree.
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

    /// Returns the splices after the last part has been added.
    pub(super) fn finish(mut self) -> Vec<Splice> {
        self.close(self.file.len());
        self.splices
    }

    fn rest(&self) -> &'t str {
        self.file.get(self.reached..).unwrap_or_default()
    }

    /// Records the splice for the bytes up to `place`, which the new text replaces.
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
