//! Inlines the definitions of a schema, so that documents can be generated from it.

use serde_json::{Value, json};

/// Inlines the definitions of a schema, and lists the kinds of tagged objects side by side. Each has its form
/// without `details`, into which some of its members are then moved.
pub(crate) fn written_out(schema: &Value) -> Value {
    let definitions = schema["$defs"].clone();
    let mut schema = schema.clone();
    write_out(&mut schema, &definitions);
    schema
}

fn write_out(schema: &mut Value, definitions: &Value) {
    let name = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    if let Some(name) = name.filter(|name| *name != "value") {
        *schema = definitions[name].clone();
    }
    if let Some(branches) = schema["allOf"].as_array() {
        let kinds: Vec<Value> = branches.iter().map(|it| it["then"].clone()).collect();
        if kinds.iter().all(Value::is_object) {
            *schema = json!({ "kinds": kinds });
        } else {
            let asked =
                branches.iter().filter_map(|it| it.pointer("/oneOf/0/required/0")?.as_str());
            let mut required: Vec<String> = asked.map(str::to_owned).collect();
            required.push("type".to_owned());
            schema["required"] = json!(required);
            schema["nests"] = json!(true);
            schema["properties"].as_object_mut().unwrap().remove("details");
        }
    }
    match schema {
        Value::Array(elements) => {
            elements.iter_mut().for_each(|element| write_out(element, definitions));
        }
        Value::Object(members) => {
            members.remove("allOf");
            members.remove("$defs");
            members.values_mut().for_each(|member| write_out(member, definitions));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
