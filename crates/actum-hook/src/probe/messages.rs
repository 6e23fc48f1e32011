//! Messages API of Anthropic, as used by Claude Code.

use serde_json::{Value, json};

use super::{
    Answer, Conversation, END, ToolResult, call_id, call_index, flatten, is_streamed, list,
    named_events, text,
};

pub(super) fn read(path: &str, body: &Value) -> Option<Conversation> {
    if !path.ends_with("/messages") {
        return None;
    }
    let blocks = || list(body, "messages").iter().flat_map(|message| list(message, "content"));
    let is_kind = |block: &Value, kind: &str| text(block, "type") == Some(kind);
    let result = |block: &Value| {
        let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        let text = flatten(block.get("content"));
        let result = ToolResult { is_error: Some(is_error), text };
        Some((call_index(block, "tool_use_id")?, result))
    };
    Some(Conversation {
        has_tools: !list(body, "tools").is_empty(),
        is_streamed: is_streamed(body),
        calls: blocks().filter(|block| is_kind(block, "tool_use")).count(),
        results: blocks()
            .filter(|block| is_kind(block, "tool_result"))
            .filter_map(result)
            .collect(),
    })
}

pub(super) fn write(answer: &Answer<'_>) -> String {
    let index = answer.index;
    // In a stream, a block starts empty, and a single delta contains its complete content.
    let (block, opened, delta, stop) = match answer.call {
        Some(call) => (
            json!({ "type": "tool_use", "id": call_id(index), "name": call.tool, "input": call.input }),
            json!({ "type": "tool_use", "id": call_id(index), "name": call.tool, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": call.input.to_string() }),
            "tool_use",
        ),
        None => (
            json!({ "type": "text", "text": END }),
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": END }),
            "end_turn",
        ),
    };
    let message = |content: Value, stop: Option<&str>| {
        json!({
            "id": format!("msg_actum_{index}"), "type": "message", "role": "assistant",
            "model": answer.model, "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": { "input_tokens": 1, "output_tokens": 1 },
        })
    };
    if !answer.is_streamed {
        return message(json!([block]), Some(stop)).to_string();
    }
    let end = json!({ "stop_reason": stop, "stop_sequence": null });
    named_events(&[
        json!({ "type": "message_start", "message": message(json!([]), None) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": opened }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 1 } }),
        json!({ "type": "message_stop" }),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::Wire;
    use super::super::tests::{ask, ask_stream, exchange, result};
    use super::*;

    /// Issue 27: each request is answered with the next call, and tool results are recorded.
    #[test]
    fn messages_return_the_next_call_and_record_results() {
        let exchange = exchange(Wire::Messages);
        let mut body = json!({ "tools": [{}], "messages": [{ "role": "user", "content": "go" }] });
        let first = ask(&exchange, "/v1/messages", &body);
        assert_eq!(first["content"][0]["id"], "toolu_actum_0");
        assert_eq!(first["stop_reason"], "tool_use");
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({ "role": "assistant", "content": first["content"] }));
        messages.push(json!({ "role": "user", "content": [{
            "type": "tool_result", "tool_use_id": "toolu_actum_0", "is_error": true,
            "content": [{ "type": "text", "text": "refused" }],
        }] }));
        body["stream"] = json!(true);
        let second = ask_stream(&exchange, "/v1/messages", &body);
        assert_eq!(second[1]["content_block"]["id"], "toolu_actum_1");
        assert_eq!(second[2]["delta"]["partial_json"], "{\"number\":1}");
        let refused = ToolResult { is_error: Some(true), text: "refused".to_owned() };
        assert_eq!((result(&exchange, 0), result(&exchange, 1)), (Some(refused), None));
    }

    /// Issue 27: a request without tools ends the conversation.
    #[test]
    fn messages_without_tools_end_the_conversation() {
        let exchange = exchange(Wire::Messages);
        let end = ask(&exchange, "/v1/messages", &json!({ "messages": [] }));
        assert_eq!(
            (&end["content"][0]["text"], &end["stop_reason"]),
            (&json!(END), &json!("end_turn"))
        );
        assert!(exchange.answer("/v1/responses", &json!({})).is_none());
    }
}
