//! Responses API of OpenAI, as used by Codex.

use serde_json::{Value, json};

use super::{
    Answer, Conversation, END, ToolResult, call_id, call_index, flatten, is_streamed, list,
    named_events, text,
};

pub(super) fn read(path: &str, body: &Value) -> Option<Conversation> {
    if !path.ends_with("/responses") {
        return None;
    }
    let items = list(body, "input");
    let kind = |item: &Value| text(item, "type").unwrap_or_default().to_owned();
    let is_call = |item: &&Value| matches!(&*kind(item), "function_call" | "custom_tool_call");
    let result = |item: &Value| {
        let result = ToolResult { is_error: None, text: flatten(item.get("output")) };
        Some((call_index(item, "call_id")?, result))
    };
    Some(Conversation {
        has_tools: !list(body, "tools").is_empty()
            || items.iter().any(|item| kind(item) == "additional_tools"),
        is_streamed: is_streamed(body),
        calls: items.iter().filter(is_call).count(),
        results: items
            .iter()
            .filter(|item| kind(item).ends_with("_call_output"))
            .filter_map(result)
            .collect(),
    })
}

pub(super) fn write(answer: &Answer<'_>) -> String {
    let Answer { index, call, model, is_streamed } = answer;
    let id = format!("item_actum_{index}");
    let call_id = call_id(*index);
    let item = match call {
        Some(call) => match call.input.as_str() {
            Some(input) => json!({
                "id": id, "status": "completed", "type": "custom_tool_call", "call_id": call_id,
                "name": call.tool, "input": input,
            }),
            None => json!({
                "id": id, "status": "completed", "type": "function_call", "call_id": call_id,
                "name": call.tool, "arguments": call.input.to_string(),
            }),
        },
        None => json!({
            "id": id, "status": "completed", "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": END, "annotations": [] }],
        }),
    };
    let response = |status: &str, output: Value| {
        json!({
            "id": format!("resp_actum_{index}"), "object": "response", "created_at": 0,
            "model": model, "status": status, "output": output,
            "usage": {
                "input_tokens": 1, "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": 1, "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": 2,
            },
        })
    };
    let completed = response("completed", json!([item]));
    if !is_streamed {
        return completed.to_string();
    }
    named_events(&[
        json!({ "type": "response.created", "response": response("in_progress", json!([])) }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": completed }),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, ask_stream, exchange, result};
    use super::super::{Call, Exchange, Wire};
    use super::*;

    /// Issue 27: each request is answered with the next call, and tool results are recorded.
    #[test]
    fn responses_return_the_next_call_and_record_results() {
        let exchange = exchange(Wire::Responses);
        let mut body = json!({ "tools": [{}], "input": [{ "type": "message", "role": "user" }] });
        let first = ask(&exchange, "/v1/responses", &body);
        assert_eq!(first["output"][0]["arguments"], "{\"number\":0}");
        let items = body["input"].as_array_mut().unwrap();
        items.push(first["output"][0].clone());
        items.push(json!({
            "type": "function_call_output", "call_id": "toolu_actum_0", "output": "refused",
        }));
        body["stream"] = json!(true);
        let second = ask_stream(&exchange, "/v1/responses", &body);
        assert_eq!(second[2]["item"]["call_id"], "toolu_actum_1");
        assert_eq!(second[3]["type"], "response.completed");
        let refused = ToolResult { is_error: None, text: "refused".to_owned() };
        assert_eq!((result(&exchange, 0), result(&exchange, 1)), (Some(refused), None));
    }

    /// Issue 27: a call whose input is a string is sent as a call of a free-form tool.
    #[test]
    fn responses_send_string_input_as_a_free_form_tool_call() {
        let input = json!("*** Begin Patch\n");
        let exchange = Exchange::new(Wire::Responses, vec![Call { tool: "apply_patch", input }]);
        let body = json!({ "input": [{ "type": "additional_tools" }] });
        let item = ask(&exchange, "/v1/responses", &body)["output"][0].clone();
        assert_eq!(item["type"], "custom_tool_call");
        assert_eq!(item["input"], "*** Begin Patch\n");
        let output = json!({
            "type": "custom_tool_call_output", "call_id": "toolu_actum_0",
            "output": [{ "type": "input_text", "text": "done it" }],
        });
        let end =
            ask(&exchange, "/v1/responses", &json!({ "tools": [{}], "input": [item, output] }));
        assert_eq!(end["output"][0]["content"][0]["text"], END);
        assert_eq!(result(&exchange, 0).unwrap().text, "done it");
    }

    /// Issue 27: a request without tools ends the conversation.
    #[test]
    fn responses_without_tools_end_the_conversation() {
        let exchange = exchange(Wire::Responses);
        let end = ask(&exchange, "/v1/responses", &json!({ "input": "title" }));
        assert_eq!(end["output"][0]["content"][0]["text"], END);
        assert!(exchange.answer("/v1/messages", &json!({})).is_none());
    }
}
