//! Detects words that mix scripts (Unicode Technical Standard 39, section 5.1).

use alloc::vec::Vec;

use icu_properties::props::Script;
use icu_properties::script::{ScriptWithExtensions, ScriptWithExtensionsBorrowed};

/// Bits for the writing systems that combine several scripts: Japanese, Korean, and Han with Bopomofo.
const JAPANESE: u8 = 1;
const KOREAN: u8 = 2;
const BOPOMOFO: u8 = 4;

/// Writing systems that a text can belong to.
struct Candidates {
    scripts: Vec<Script>,
    combined: u8,
}

/// Checks whether a word mixes scripts, so that no single writing system contains all of its characters. Characters
/// that all scripts share are ignored.
pub(super) fn is_mixed(word: &str) -> bool {
    let data = ScriptWithExtensions::new();
    let mut of_word: Option<Candidates> = None;
    for character in word.chars() {
        let Some(of_character) = candidates(data, character) else { continue };
        let both = match of_word {
            Some(before) => before.intersect(&of_character),
            None => of_character,
        };
        if both.scripts.is_empty() && both.combined == 0 {
            return true;
        }
        of_word = Some(both);
    }
    false
}

/// Returns the writing systems that contain a character, or `None` for a character that all scripts share.
fn candidates(data: ScriptWithExtensionsBorrowed<'_>, character: char) -> Option<Candidates> {
    let scripts: Vec<Script> = data.get_script_extensions_val(character).iter().collect();
    if scripts.contains(&Script::Common) || scripts.contains(&Script::Inherited) {
        return None;
    }
    let combined = scripts.iter().fold(0, |combined, script| combined | combined_with(*script));
    Some(Candidates { scripts, combined })
}

fn combined_with(script: Script) -> u8 {
    const TABLE: [(Script, u8); 5] = [
        (Script::Han, JAPANESE | KOREAN | BOPOMOFO),
        (Script::Hiragana, JAPANESE),
        (Script::Katakana, JAPANESE),
        (Script::Hangul, KOREAN),
        (Script::Bopomofo, BOPOMOFO),
    ];
    TABLE.iter().find(|(of, _)| *of == script).map_or(0, |(_, combined)| *combined)
}

impl Candidates {
    fn intersect(mut self, other: &Self) -> Self {
        self.scripts.retain(|script| other.scripts.contains(script));
        self.combined &= other.combined;
        self
    }
}
