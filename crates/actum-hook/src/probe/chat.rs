//! Chat Completions API of OpenAI, as used by Qwen Code.

use serde_json::{Value, json};

use super::{
    Answer, Conversation, END, ToolResult, call_id, call_index, flatten, is_streamed, list, text,
};

pub(super) fn read(path: &str, body: &Value) -> Option<Conversation> {
    if !path.ends_with("/chat/completions") {
        return None;
    }
    let messages = list(body, "messages");
    let result = |message: &Value| {
        let result = ToolResult { is_error: None, text: flatten(message.get("content")) };
        Some((call_index(message, "tool_call_id")?, result))
    };
    Some(Conversation {
        has_tools: !list(body, "tools").is_empty(),
        is_streamed: is_streamed(body),
        calls: messages.iter().map(|message| list(message, "tool_calls").len()).sum(),
        results: messages
            .iter()
            .filter(|message| text(message, "role") == Some("tool"))
            .filter_map(result)
            .collect(),
    })
}

pub(super) fn write(answer: &Answer<'_>) -> String {
    let Answer { index, call, model, is_streamed } = answer;
    let (message, finish) = match call {
        Some(call) => {
            let function = json!({ "name": call.tool, "arguments": call.input.to_string() });
            let call = json!({ "index": 0, "id": call_id(*index), "type": "function", "function": function });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
        None => (json!({ "role": "assistant", "content": END }), "stop"),
    };
    let document = |object: &str, choice: Value| {
        json!({
            "id": format!("chat_actum_{index}"), "object": object, "created": 0, "model": model,
            "choices": [choice],
            "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
        })
    };
    if !is_streamed {
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        return document("chat.completion", choice).to_string();
    }
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        document("chat.completion.chunk", choice)
    };
    let (first, last) = (chunk(message, None), chunk(json!({}), Some(finish)));
    format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::Wire;
    use super::super::tests::{ask, ask_stream, exchange, result};
    use super::*;

    /// Issue 27: each request is answered with the next call, and tool results are recorded.
    #[test]
    fn chat_completions_return_the_next_call_and_record_results() {
        let exchange = exchange(Wire::Chat);
        let path = "/v1/chat/completions";
        let mut body = json!({ "tools": [{}], "messages": [{ "role": "user", "content": "go" }] });
        let first = ask(&exchange, path, &body);
        assert_eq!(first["choices"][0]["finish_reason"], "tool_calls");
        let message = &first["choices"][0]["message"];
        assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"number\":0}");
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(message.clone());
        messages.push(json!({
            "role": "tool", "tool_call_id": "toolu_actum_0",
            "content": [{ "type": "text", "text": "refused" }],
        }));
        body["stream"] = json!(true);
        let second = ask_stream(&exchange, path, &body);
        assert_eq!(second[0]["choices"][0]["delta"]["tool_calls"][0]["id"], "toolu_actum_1");
        assert_eq!(second[1]["choices"][0]["finish_reason"], "tool_calls");
        let refused = ToolResult { is_error: None, text: "refused".to_owned() };
        assert_eq!((result(&exchange, 0), result(&exchange, 1)), (Some(refused), None));
    }

    /// Issue 27: a request without tools ends the conversation.
    #[test]
    fn chat_completions_without_tools_end_the_conversation() {
        let exchange = exchange(Wire::Chat);
        let end = ask(&exchange, "/chat/completions", &json!({ "messages": [] }));
        assert_eq!(end["choices"][0]["message"]["content"], END);
        assert_eq!(end["choices"][0]["finish_reason"], "stop");
        assert!(exchange.answer("/v1/responses", &json!({})).is_none());
    }
}
