//! Gemini API, as used by Gemini CLI.

use serde_json::{Value, json};

use super::{Answer, Conversation, END, ToolResult, flatten, list};

pub(super) fn read(path: &str, body: &Value) -> Option<Conversation> {
    let is_streamed = path.ends_with(":streamGenerateContent");
    if !is_streamed && !path.ends_with(":generateContent") {
        return None;
    }
    let parts = || list(body, "contents").iter().flat_map(|content| list(content, "parts"));
    // The model assigns no ids to calls, so results are matched to calls by their order.
    let results = parts().filter_map(|part| part.get("functionResponse")?.get("response"));
    let result = |response: &Value| {
        let error = response.get("error");
        let text = flatten(error.or_else(|| response.get("output")));
        ToolResult { is_error: Some(error.is_some()), text }
    };
    Some(Conversation {
        has_tools: list(body, "tools")
            .iter()
            .any(|tool| !list(tool, "functionDeclarations").is_empty()),
        is_streamed,
        calls: parts().filter(|part| part.get("functionCall").is_some()).count(),
        results: results.map(result).enumerate().collect(),
    })
}

pub(super) fn write(answer: &Answer<'_>) -> String {
    let part = match answer.call {
        Some(call) => json!({ "functionCall": { "name": call.tool, "args": call.input } }),
        None => json!({ "text": END }),
    };
    let response = json!({
        "candidates": [{
            "index": 0, "content": { "role": "model", "parts": [part] }, "finishReason": "STOP",
        }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
        "modelVersion": "actum", "responseId": format!("gemini_actum_{}", answer.index),
    });
    match answer.is_streamed {
        true => format!("data: {response}\n\n"),
        false => response.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Wire;
    use super::super::tests::{ask, ask_stream, exchange, result};
    use super::*;

    /// Issue 27: each request is answered with the next call, and tool results are recorded.
    #[test]
    fn gemini_returns_the_next_call_and_records_results() {
        let exchange = exchange(Wire::Gemini);
        let mut body = json!({
            "tools": [{ "functionDeclarations": [{}] }],
            "contents": [{ "role": "user", "parts": [{ "text": "go" }] }],
        });
        let first = ask(&exchange, "/v1beta/models/m:generateContent", &body);
        let content = &first["candidates"][0]["content"];
        assert_eq!(content["parts"][0]["functionCall"]["args"]["number"], 0);
        let contents = body["contents"].as_array_mut().unwrap();
        contents.push(content.clone());
        let response = |response: Value| {
            json!({ "role": "user", "parts": [{
                "functionResponse": { "name": "write", "response": response },
            }] })
        };
        contents.push(response(json!({ "error": "refused" })));
        let streamed = "/v1beta/models/m:streamGenerateContent";
        let second = ask_stream(&exchange, streamed, &body);
        let content = &second[0]["candidates"][0]["content"];
        assert_eq!(content["parts"][0]["functionCall"]["args"]["number"], 1);
        let refused = ToolResult { is_error: Some(true), text: "refused".to_owned() };
        assert_eq!((result(&exchange, 0), result(&exchange, 1)), (Some(refused), None));
        let contents = body["contents"].as_array_mut().unwrap();
        contents.push(content.clone());
        contents.push(response(json!({ "output": "done it" })));
        let end = ask_stream(&exchange, streamed, &body);
        assert_eq!(end[0]["candidates"][0]["content"]["parts"][0]["text"], END);
        let done = ToolResult { is_error: Some(false), text: "done it".to_owned() };
        assert_eq!(result(&exchange, 1), Some(done));
    }

    /// Issue 27: a request without function declarations ends the conversation.
    #[test]
    fn gemini_without_tools_ends_the_conversation() {
        let exchange = exchange(Wire::Gemini);
        let body = json!({ "contents": [], "tools": [{ "googleSearch": {} }] });
        let end = ask(&exchange, "/v1beta/models/m:generateContent", &body);
        assert_eq!(end["candidates"][0]["content"]["parts"][0]["text"], END);
        assert!(exchange.answer("/v1beta/models/m:embedContent", &json!({})).is_none());
    }
}
