//! Measures the change of one value in a JSON file of 10 MB.

use std::hint::black_box;

use actum_edit::Edit;
use serde_json::{Value, json};

use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, race, time};

const PARSE: &str = "`serde_json`, to a value";
const REWRITE: &str = "`serde_json`, to a value and back";
const EDIT: &str = "the edit";
const COMMENTS: &str = "the edit, with comments";
const BYTES: usize = 10_000_000;

pub(super) fn contest(rounds: usize) -> Result<Contest, Failure> {
    let strict = document("");
    let commented = document(" // one more");
    let edit: Edit = serde_json::from_value(json!({
        "json_value": { "update_value": { "path": "$.records[40000].price", "value": "17" } }
    }))?;
    let (edit, strict, commented) = (&edit, &strict, &commented);
    let change = |document: &str| -> Result<(), Failure> {
        match edit.splices(document.as_bytes())?.as_slice() {
            [_] => Ok(()),
            several => Err(format!("{} splices", several.len()).into()),
        }
    };
    let finishes = race(
        vec![
            Contestant::new(PARSE, || {
                time(|| {
                    black_box(serde_json::from_str::<Value>(strict)?);
                    Ok(())
                })
            }),
            Contestant::new(REWRITE, || {
                time(|| {
                    let mut value: Value = serde_json::from_str(strict)?;
                    if let Some(price) = value.pointer_mut("/records/40000/price") {
                        *price = json!(17);
                    }
                    black_box(serde_json::to_vec_pretty(&value)?);
                    Ok(())
                })
            }),
            Contestant::new(EDIT, || time(|| change(strict))),
            Contestant::new(COMMENTS, || time(|| change(commented))),
        ],
        rounds,
    );
    Ok(Contest {
        title: format!("One value of a JSON file of {} MB, in memory", strict.len() / 1_000_000),
        finishes,
        bars: [EDIT, COMMENTS].map(|who| Bar { who, limit: Limit::InAll(150.0) }).into(),
    })
}

/// Returns a document of records. Each record is on a line that ends with `end`.
fn document(end: &str) -> String {
    let mut text = "{\n  \"records\": [\n".to_owned();
    let mut number = 0;
    while text.len() < BYTES {
        if number > 0 {
            text += &format!(",{end}\n");
        }
        text += &format!(
            "    {{ \"id\": {number}, \"name\": \"record {number}\", \"price\": {}.5, \"tags\": [\"one\", \"two\"], \
             \"stock\": {{ \"here\": {}, \"there\": null, \"sold\": true }} }}",
            number % 977,
            number % 31
        );
        number += 1;
    }
    text + "\n  ]\n}\n"
}
