//! Sets one value in a YAML file and leaves every other byte unchanged.
//!
//! Run it with `cargo run -p actum-edit --example set_version`.

use std::error::Error;

use actum_edit::edit::json_patch::JsonText;
use actum_edit::edit::{JsonPath, YamlUpdate};
use actum_edit::{Edit, Splice};

const FILE: &str = "\
# Pinned: 1.4 breaks the exporter.
image:   {name: exporter, tag: '1.3'}   # one line, as it was typed
";

fn main() -> Result<(), Box<dyn Error>> {
    let edit = Edit::Yaml(YamlUpdate {
        path: JsonPath::new("$.image.tag")?,
        document: None,
        value: JsonText::new("\"1.5\"")?,
    });
    let splices = edit.splices(FILE.as_bytes())?;
    let edited = Splice::apply(&splices, FILE.as_bytes())?;
    assert_eq!(String::from_utf8(edited.clone())?, FILE.replace("1.3", "1.5"));
    // Inverting the splices restores the original file byte for byte.
    let undone = Splice::apply(&Splice::invert(&splices), &edited)?;
    assert_eq!(undone, FILE.as_bytes());
    Ok(())
}
