//! No silent loss between the wire dialects: documents with every documented member of the APIs are changed in one
//! place at a time, and each change must be visible in the output or in the report. The sum of the counts alone would
//! not detect a value that a reader takes and a writer omits.

#![expect(clippy::unwrap_used, reason = "a test reads what it wrote itself")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use serde_json::{Value, json};

const A: &str = "anthropic";
const C: &str = "openai-chat";
const G: &str = "gemini";

/// Leaves that may be omitted without a visible effect; a change of their value is still visible. Paths from the root,
/// or ends of paths.
const IMPLIED: &[&str] = &[
    // Type tags with only one possible value at their place.
    "/object",
    "/type",
    "/role",
    "/choices/*/message/role",
    "/choices/0/index",
    "/tools/0/type",
    "tool_calls/*/type",
    // Sums and their parts, and indexes in a list.
    "usage/total_tokens",
    "usage/cache_creation_input_tokens",
    "usage/cache_creation/ephemeral_5m_input_tokens",
    "reasoning_details/*/index",
    "/candidates/*/content/role",
    "/candidates/*/index",
    "citationMetadata/citations/*/startIndex",
    "usageMetadata/totalTokenCount",
    "groundingSupports/*/segment/text",
    "groundingSupports/*/segment/partIndex",
    "/systemInstruction/role",
    // The HTTP status is the same value.
    "/error/status",
    "/contents/*/role",
    // A document in base64 is a PDF, unless it has another type.
    "/messages/0/content/4/source/media_type",
    "/generationConfig/responseMimeType",
];

/// The same for the documents of a stream: each chunk repeats members of the first, and an event names its type twice.
const REPEATED: &[&str] = &[
    "*/object",
    "*/id",
    "*/model",
    "*/created",
    "choices/*/index",
    "delta/role",
    "tool_calls/*/id",
    "tool_calls/*/function/name",
    "tool_calls/*/index",
    "message/type",
    "message/role",
    "*/responseId",
    "*/modelVersion",
    "candidates/*/index",
    "candidates/*/content/role",
];

#[test]
fn anthropic_requests() {
    let mark = json!({"type": "ephemeral", "ttl": "5m"});
    check(
        A,
        C,
        Role::Request,
        &json!({
            "model": "m", "max_tokens": 100, "stop_sequences": ["s1", "s2"], "temperature": 0.5, "top_p": 0.9, "top_k": 5,
            "stream": true, "thinking": {"type": "enabled", "budget_tokens": 2000, "display": "omitted"},
            "output_config": {"effort": "high", "task_budget": {"type": "tokens", "total": 5},
                "format": {"type": "json_schema", "schema": {"type": "object", "properties": {}}}},
            "tools": [
                {"name": "t1", "description": "d", "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}},
                    "strict": true, "cache_control": mark, "defer_loading": true, "allowed_callers": ["direct"],
                    "eager_input_streaming": true, "input_examples": [{"a": "b"}], "type": "custom"},
                {"type": "bash_20250124", "name": "bash"},
                {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}],
            "tool_choice": {"type": "any", "disable_parallel_tool_use": false},
            "container": {"id": "c1", "skills": [{"type": "anthropic", "skill_id": "pdf"}]},
            "mcp_servers": [{"type": "url", "url": "http://m", "name": "m"}], "cache_control": mark,
            "diagnostics": {"previous_message_id": "p1"}, "metadata": {"user_id": "u1"}, "service_tier": "auto",
            "speed": "fast", "inference_geo": "eu", "context_management": {"edits": [{"type": "clear"}]},
            "thread": {"create": {"id": "x"}}, "fallbacks": ["m2"], "betas": ["b1"],
            "system": [{"type": "text", "text": "sys", "cache_control": mark, "citations": [{"type": "char_location"}]}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "hi", "cache_control": mark},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
                        "cache_control": mark, "transformations": {"oversized_image": "error"}},
                    {"type": "image", "source": {"type": "url", "url": "http://i"}},
                    {"type": "image", "source": {"type": "file", "file_id": "f1"}},
                    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
                        "title": "T", "context": "ctx", "citations": {"enabled": true}},
                    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}, "title": "T2"},
                    {"type": "document", "source": {"type": "url", "url": "http://pdf"}},
                    {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "cc"}]}},
                    {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "sr"}]},
                    {"type": "container_upload", "file_id": "f2"}]},
                {"role": "system", "content": "later", "output_config": {"effort": "low"}, "clear_at": "x"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "thk", "signature": "SIG"},
                    {"type": "redacted_thinking", "data": "RED"},
                    {"type": "text", "text": "ans", "citations": [{"type": "web_search_result_location", "url": "u",
                        "title": "t", "encrypted_index": "e", "cited_text": "ct"}]},
                    {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"q": "x"}, "caller": {"type": "direct"}},
                    {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": [
                        {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "ec", "page_age": "1d"}]},
                    {"type": "mcp_tool_use", "id": "mcp1", "name": "mt", "server_name": "ms", "input": {"z": 1}},
                    {"type": "mcp_tool_result", "tool_use_id": "mcp1", "is_error": true, "content": [{"type": "text", "text": "mr"}]},
                    {"type": "tool_use", "id": "tu1", "name": "t1", "input": {"a": "b", "n": 1}, "caller": {"type": "direct"},
                        "toolset_name": "ts", "cache_control": mark},
                    {"type": "tool_use", "id": "tu2", "name": "t1", "input": {"a": "c"}},
                    {"type": "compaction", "content": "cmp"}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "tu1", "is_error": false, "cache_control": mark, "toolset_name": "ts",
                        "content": [{"type": "text", "text": "r1", "cache_control": mark},
                            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aW0="}}]},
                    {"type": "tool_result", "tool_use_id": "tu2", "is_error": true,
                        "content": [{"type": "text", "text": "r2"}, {"type": "tool_reference", "tool_name": "tn"}]},
                    {"type": "tool_result", "tool_use_id": "orphan", "content": "orph", "is_error": true},
                    {"type": "text", "text": "beside"}]},
                {"role": "assistant", "content": "pre"}]
        }),
    );
}

#[test]
fn chat_requests() {
    let mark = json!({"mode": "explicit", "ttl": "30m"});
    check(
        C,
        A,
        Role::Request,
        &json!({
            "model": "m", "max_completion_tokens": 10, "max_tokens": 11, "stop": ["a", "b"], "n": 2, "temperature": 0.3,
            "top_p": 0.4, "frequency_penalty": 0.1, "presence_penalty": 0.2, "logit_bias": {"5": 1}, "seed": 3,
            "logprobs": true, "top_logprobs": 4, "reasoning_effort": "minimal", "verbosity": "low",
            "tools": [
                {"type": "function", "function": {"name": "f1", "description": "d", "parameters": {"type": "object"}, "strict": true}},
                {"type": "custom", "custom": {"name": "cu", "description": "cd",
                    "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "x"}}}},
                {"type": "builtin_function", "function": {"name": "$web_search"}}],
            "tool_choice": "auto", "parallel_tool_calls": true, "functions": [{"name": "lf", "parameters": {}}],
            "function_call": "auto", "response_format": {"type": "json_schema",
                "json_schema": {"name": "n", "description": "desc", "schema": {"type": "object"}, "strict": true}},
            "modalities": ["text", "audio"], "audio": {"voice": "v", "format": "wav"},
            "prediction": {"type": "content", "content": "p"}, "web_search_options": {"search_context_size": "low"},
            "prompt_cache_key": "k", "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
            "prompt_cache_retention": "24h", "moderation": {"model": "mm"}, "safety_identifier": "sid", "user": "usr",
            "metadata": {"a": "b"}, "store": true, "service_tier": "priority", "stream": true,
            "stream_options": {"include_usage": false, "include_obfuscation": false},
            "messages": [
                {"role": "developer", "content": "dev", "name": "dn"},
                {"role": "system", "content": [{"type": "text", "text": "s", "prompt_cache_breakpoint": mark}, {"type": "text", "text": "s2"}], "name": "sn"},
                {"role": "user", "name": "un", "content": [
                    {"type": "text", "text": "hi"},
                    {"type": "image_url", "image_url": {"url": "http://i", "detail": "low"}, "prompt_cache_breakpoint": mark},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "high"}},
                    {"type": "input_audio", "input_audio": {"data": "YXU=", "format": "wav"}},
                    {"type": "file", "file": {"file_data": "data:application/pdf;base64,cGRm", "filename": "f.pdf"}},
                    {"type": "file", "file": {"file_id": "fid", "filename": "g"}}]},
                {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}],
                    "refusal": "nope", "audio": {"id": "au"}, "name": "an", "reasoning_content": "rc",
                    "reasoning_details": [
                        {"type": "reasoning.text", "signature": "SG", "index": 0, "format": "anthropic-claude-v1", "id": "rd1"},
                        {"type": "reasoning.summary", "summary": "sm", "index": 1},
                        {"type": "reasoning.encrypted", "data": "EN", "index": 2, "format": "openai-responses-v1"}],
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "f1", "arguments": "{\"a\":1}"}},
                        {"id": "c2", "type": "custom", "custom": {"name": "cu", "input": "raw text"}},
                        {"id": "c3", "type": "function", "function": {"name": "f1", "arguments": "{bad"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "r1", "name": "f1"},
                {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]},
                {"role": "tool", "tool_call_id": "nope", "content": "orphan"},
                {"role": "assistant", "content": null, "function_call": {"name": "lf", "arguments": "{\"b\":2}"}},
                {"role": "function", "name": "lf", "content": "lr"},
                {"role": "user", "content": "go"}]
        }),
    );
}

#[test]
fn anthropic_responses() {
    check(
        A,
        C,
        Role::Response,
        &json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [
                {"type": "thinking", "thinking": "thk", "signature": "SIG"}, {"type": "redacted_thinking", "data": "RED"},
                {"type": "text", "text": "ans", "citations": [{"type": "char_location", "cited_text": "c", "document_index": 0}]},
                {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"q": "x"}, "caller": {"type": "direct"}},
                {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": [
                    {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "ec", "page_age": "1d"}]},
                {"type": "mcp_tool_use", "id": "mcp1", "name": "mt", "server_name": "ms", "input": {"z": 1}},
                {"type": "mcp_tool_result", "tool_use_id": "mcp1", "is_error": true, "content": [{"type": "text", "text": "mr"}]},
                {"type": "tool_use", "id": "tu1", "name": "t1", "input": {"a": "b", "n": 1}, "caller": {"type": "direct"}}],
            "stop_reason": "stop_sequence", "stop_sequence": "sq",
            "stop_details": {"type": "refusal", "category": "cyber", "explanation": "e"},
            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 5,
                "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}, "output_tokens": 20,
                "output_tokens_details": {"thinking_tokens": 6}, "service_tier": "standard", "speed": "fast",
                "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 2}, "inference_geo": "us"},
            "container": {"id": "c", "expires_at": "x"}, "diagnostics": {"cache_miss_reason": {"type": "x"}},
            "context_management": {"applied_edits": [{"type": "a"}]}
        }),
    );
}

#[test]
fn chat_responses() {
    check(
        C,
        A,
        Role::Response,
        &json!({
            "id": "cc1", "object": "chat.completion", "created": 1_700_000_000, "model": "m", "service_tier": "default",
            "system_fingerprint": "fp", "metadata": {"a": "b"}, "moderation": {"x": 1},
            "choices": [
                {"index": 0, "finish_reason": "stop",
                    "logprobs": {"content": [{"token": "a", "logprob": -1.5, "bytes": [97], "top_logprobs": []}], "refusal": null},
                    "message": {"role": "assistant", "content": "hello", "refusal": "rf",
                        "annotations": [{"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 3, "url": "u", "title": "t"}}],
                        "audio": {"id": "a", "data": "d", "expires_at": 5, "transcript": "tr"}, "reasoning_content": "rc",
                        "reasoning_details": [{"type": "reasoning.text", "signature": "SG", "index": 0},
                            {"type": "reasoning.summary", "summary": "sm"}, {"type": "reasoning.encrypted", "data": "EN"}],
                        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f1", "arguments": "{\"a\":1}"}},
                            {"id": "c2", "type": "custom", "custom": {"name": "cu", "input": "raw"}}],
                        "function_call": {"name": "lf", "arguments": "{\"b\":2}"}}},
                {"index": 1, "finish_reason": "length", "message": {"role": "assistant", "content": "second"}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 10, "audio_tokens": 1, "image_tokens": 2, "text_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 4, "audio_tokens": 5, "text_tokens": 6,
                    "accepted_prediction_tokens": 7, "rejected_prediction_tokens": 8}}
        }),
    );
}

#[test]
fn gemini_requests() {
    let request = json!({
        "model": "gemini-2.5-flash", "cachedContent": "cc", "serviceTier": "flex", "store": true, "labels": {"a": "b"},
        "continuationToken": "ct", "safetySettings": [{"category": "c", "threshold": "t", "method": "m"}], "modelArmorConfig": {"x": 1},
        "systemInstruction": {"role": "system", "parts": [{"text": "s1"}, {"text": "s2"}]},
        "generationConfig": {"temperature": 0.5, "topP": 0.6, "topK": 7, "candidateCount": 2, "maxOutputTokens": 100,
            "stopSequences": ["a", "b"], "responseLogprobs": true, "logprobs": 3, "presencePenalty": 0.1, "frequencyPenalty": 0.2, "seed": 5,
            "responseMimeType": "application/json", "responseSchema": {"type": "OBJECT", "properties": {"p": {"type": "STRING", "nullable": true}}},
            "responseModalities": ["TEXT", "IMAGE"], "mediaResolution": "MEDIA_RESOLUTION_LOW", "speechConfig": {"languageCode": "de"},
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 2000}, "imageConfig": {"aspectRatio": "1:1"}},
        "tools": [{"functionDeclarations": [
                {"name": "f1", "description": "d", "behavior": "BLOCKING", "response": {"type": "STRING"},
                    "parameters": {"type": "OBJECT", "properties": {"a": {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": "2"}}, "propertyOrdering": ["a"]}},
                {"name": "f2", "parametersJsonSchema": {"type": "object"}, "responseJsonSchema": {"type": "string"}}]},
            {"googleSearch": {"timeRangeFilter": {"startTime": "t"}}}, {"computerUse": {"environment": "E"}}, {"mcpServers": [{"name": "m"}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f1", "f2"]},
            "retrievalConfig": {"languageCode": "en"}, "includeServerSideToolInvocations": true},
        "contents": [
            {"role": "user", "parts": [{"text": "hi", "partMetadata": {"k": 1}},
                {"inlineData": {"mimeType": "image/png", "data": "aGk=", "displayName": "dn"}, "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH", "numTokens": 4}},
                {"fileData": {"fileUri": "https://e.org/x.pdf", "mimeType": "application/pdf", "displayName": "fn"}},
                {"fileData": {"fileUri": "gs://b/v.mp4", "mimeType": "video/mp4"}, "videoMetadata": {"fps": 2, "startOffset": "1s"}},
                {"inlineData": {"mimeType": "audio/wav", "data": "YXU="}}, {"novel": {"x": 1}}]},
            {"role": "model", "parts": [
                {"text": "thk", "thought": true}, {"text": "thk2", "thought": true, "thoughtSignature": "U0lH"}, {"text": "ans", "thoughtSignature": "VFhU"},
                {"executableCode": {"id": "x", "code": "c", "language": "PYTHON"}}, {"codeExecutionResult": {"id": "x", "outcome": "OUTCOME_FAILED", "output": "o"}},
                {"toolCall": {"id": "t", "toolType": "TT", "args": {"q": 1}}}, {"toolResponse": {"id": "t", "toolType": "TT", "response": {"r": 2}}},
                {"inlineData": {"mimeType": "image/png", "data": "b3V0"}},
                {"functionCall": {"id": "c1", "name": "f1", "args": {"a": [1]}}, "thoughtSignature": "Q0FM"}, {"functionCall": {"id": "c2", "name": "f2", "args": {"z": 1}}},
                {"text": "", "thoughtSignature": "RU5E"}]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "f1", "response": {"output": "r1"}, "willContinue": false, "scheduling": "SILENT",
                    "parts": [{"inlineData": {"mimeType": "image/png", "data": "cGlj"}}, {"fileData": {"fileUri": "https://e.org/y.png", "mimeType": "image/png"}}]}},
                {"functionResponse": {"id": "c2", "name": "f2", "response": {"error": "e", "code": 5}}},
                {"functionResponse": {"id": "nope", "name": "f2", "response": {"error": "orphan"}}}, {"text": "beside"}]},
            {"role": "elf", "parts": [{"text": "hm"}]}, {"role": "model", "parts": [{"text": "pre"}]}, {"parts": [{"text": "last"}]}]
    });
    for to in [A, C] {
        check(G, to, Role::Request, &request);
    }
    for (from, to) in [(A, G), (C, G)] {
        check(
            from,
            to,
            Role::Request,
            &json!({"model": "gemini-3-pro", "max_tokens": 9, "temperature": 0.5, "messages": [
            {"role": "user", "content": "u1"}, {"role": "user", "content": "u2"}, {"role": "assistant", "content": "a1"},
            {"role": "system", "content": "later"}, {"role": "user", "content": "u3"}]}),
        );
    }
}

#[test]
fn gemini_answers() {
    let whole = json!({
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "thk", "thought": true}, {"text": "ans 🦀.", "thoughtSignature": "VFhU"},
                {"executableCode": {"code": "c", "language": "PYTHON"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "o"}},
                {"functionCall": {"id": "c1", "name": "f1", "args": {"a": 1}}, "thoughtSignature": "Q0FM"}, {"inlineData": {"mimeType": "image/png", "data": "b3V0"}}]},
                "finishReason": "STOP", "finishMessage": "fm", "index": 0, "tokenCount": 3, "avgLogprobs": -0.5, "safetyRatings": [{"category": "c", "probability": "LOW"}],
                "citationMetadata": {"citations": [{"startIndex": 0, "endIndex": 3, "uri": "u3", "title": "t3", "license": "l"}]},
                "groundingMetadata": {"webSearchQueries": ["q"], "searchEntryPoint": {"renderedContent": "rc"},
                    "groundingChunks": [{"web": {"uri": "u1", "title": "t1", "domain": "d"}}, {"retrievedContext": {"uri": "u2", "title": "t2", "text": "quote"}}, {"web": {"uri": "unused"}}],
                    "groundingSupports": [{"segment": {"partIndex": 1, "startIndex": 4, "endIndex": 9, "text": "🦀."}, "groundingChunkIndices": [0, 1], "confidenceScores": [0.9]}]},
                "urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "ru"}]}, "logprobsResult": {"chosenCandidates": [{"token": "a"}]}},
            {"content": {"role": "model", "parts": [{"text": "second"}]}, "finishReason": "RECITATION", "index": 1}],
        "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 20, "candidatesTokenCount": 30, "thoughtsTokenCount": 40, "toolUsePromptTokenCount": 5,
            "totalTokenCount": 175, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 95}, {"modality": "AUDIO", "tokenCount": 5}], "trafficType": "ON_DEMAND"},
        "modelVersion": "mv", "responseId": "ri", "createTime": "2026-01-02T03:04:05Z", "modelStatus": {"stage": "s"}
    });
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "no", "safetyRatings": [{"category": "c"}]}, "modelVersion": "mv"});
    let failed = json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "fm"}],
        "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1}, "responseId": "ri"});
    let error = json!({"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}, {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "R", "domain": "d"},
        {"@type": "type.googleapis.com/google.rpc.RequestInfo", "requestId": "q", "servingData": "sd"}, {"@type": "other", "x": 1}]}});
    for to in [A, C] {
        for document in [&whole, &blocked, &failed, &error] {
            check(G, to, Role::Response, document);
        }
    }
}

#[test]
fn gemini_streams() {
    let chunk = |parts: Value| json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}], "modelVersion": "m", "responseId": "r"});
    let mut counted = chunk(json!([{"text": "thk", "thought": true}]));
    counted["usageMetadata"] = json!({"promptTokenCount": 9, "totalTokenCount": 9});
    let mut other = chunk(json!([{"text": " more", "thought": true, "thoughtSignature": "U0lH"}]));
    other["modelVersion"] = json!("another");
    let mut last = chunk(json!([{"text": "", "thoughtSignature": "RU5E"}]));
    last["candidates"][0]["finishReason"] = json!("MAX_TOKENS");
    last["usageMetadata"] = json!({"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 3, "totalTokenCount": 16});
    let mut late = chunk(json!([]));
    late["candidates"][0]["finishReason"] = json!("STOP");
    let second = json!({"candidates": [{"content": {"parts": [{"text": "second"}]}, "index": 1, "finishReason": "STOP"}]});
    let stream = json!([
        counted,
        other,
        chunk(json!([{"text": "a"}])),
        chunk(json!([{"text": "b", "thoughtSignature": "VFhU"}])),
        chunk(json!([{"functionCall": {"id": "c1", "name": "f", "args": {"x": 1}}}])),
        chunk(json!([{"functionCall": {"name": "g", "willContinue": true}}])),
        chunk(
            json!([{"functionCall": {"partialArgs": [{"jsonPath": "$.k", "stringValue": "v"}], "willContinue": true}}])
        ),
        chunk(
            json!([{"functionCall": {"partialArgs": [{"jsonPath": "$.k", "stringValue": "w"}, {"jsonPath": "$.n[0]", "numberValue": 2}, {"jsonPath": "odd", "boolValue": true}]}}])
        ),
        second,
        last,
        late
    ]);
    for to in [A, C] {
        check(G, to, Role::Stream, &stream);
    }
}

#[test]
fn errors() {
    for (from, to, error) in [
        (
            A,
            C,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "m", "details": {"error_code": "x"}}, "request_id": "r"}),
        ),
        (A, C, json!({"type": "error", "error": {"type": "novel_error", "message": "m"}, "request_id": "r"})),
        (C, A, json!({"error": {"message": "m", "type": "novel_error", "param": "p", "code": "odd_code"}})),
        (
            C,
            A,
            json!({"error": {"message": "m", "type": "novel_error", "param": "p", "code": "rate_limit_exceeded"}}),
        ),
        (C, A, json!({"error": {"message": "m", "code": 429, "metadata": {"a": 1}}})),
    ] {
        check(from, to, Role::Response, &error);
    }
}

#[test]
fn requests_at_the_edge_of_what_is_taken() {
    let long = "u".repeat(80);
    check(
        A,
        C,
        Role::Request,
        &json!({
            "model": "m", "max_tokens": 5, "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
            "stop_sequences": ["1", "2", "3", "4", "5"], "service_tier": "odd", "output_config": {"effort": "odd"},
            "metadata": {"user_id": long}, "system": "", "messages": [
                {"role": "user", "content": [{"type": "text", "text": ""},
                    {"type": "image", "source": {"type": "url", "url": "http://x", "media_type": "image/png"}, "title": "T"},
                    {"type": "document", "source": {"type": "url", "url": "http://y"}}]},
                {"role": "assistant", "content": [{"type": "text", "text": ""}, {"type": "thinking", "thinking": "t", "signature": ""},
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [], "is_error": false},
                    {"type": "tool_result", "tool_use_id": "t1", "content": "twice"}]},
                {"role": "assistant", "content": [{"type": "text", "text": "x"}]}, {"role": "assistant", "content": "y"}]
        }),
    );
    check(
        C,
        A,
        Role::Request,
        &json!({
            "model": "m", "stream": false, "stream_options": {"include_usage": true}, "parallel_tool_calls": true,
            "tool_choice": {"type": "function", "function": {"name": "nope"}}, "response_format": {"type": "text"},
            "service_tier": "odd", "user": "u", "reasoning_effort": "odd", "messages": [
                {"role": "developer", "content": "d"},
                {"role": "user", "content": [{"type": "text", "text": " "}, {"type": "text", "text": "x"},
                    {"type": "image_url", "image_url": {"url": "data:image/tiff;base64,aa"}}]},
                {"role": "assistant", "content": "one", "reasoning_content": "unsigned"},
                {"role": "assistant", "content": "two", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "r"}, {"role": "tool", "tool_call_id": "c1", "content": "twice"},
                {"role": "user", "content": "bye", "name": "bob"}, {"role": "elf", "content": "hm"}]
        }),
    );
}

#[test]
fn anthropic_streams() {
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let stream = json!([
        {"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant", "model": "mm", "content": [],
            "usage": {"input_tokens": 9, "cache_creation_input_tokens": 3, "output_tokens": 1,
                "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2}}}},
        {"type": "ping"},
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hmm"})),
        delta(0, json!({"type": "signature_delta", "signature": "S1"})),
        delta(0, json!({"type": "signature_delta", "signature": "S2"})),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "hi"})),
        delta(1, json!({"type": "citations_delta", "citation": {"type": "x", "n": 1}})),
        stop(1),
        start(2, json!({"type": "server_tool_use", "id": "s1", "name": "web", "input": {}})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "{\"q\":1}"})),
        stop(2),
        start(3, json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "r", "url": "u"}]})),
        stop(3),
        stop(9),
        {"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 10, "output_tokens": 7}},
        {"type": "message_stop"},
        {"type": "error", "error": {"type": "overloaded_error", "message": "late"}}]);
    check(A, C, Role::Stream, &stream);
}

#[test]
fn chat_streams() {
    let chunk = |choice: Value| json!({"id": "i", "object": "chat.completion.chunk", "created": 5, "model": "m", "choices": [choice]});
    let mut counted =
        chunk(json!({"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": ""}));
    counted["usage"] = json!({"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10});
    let mut other = chunk(json!({"index": 0, "delta": {"reasoning_details": [
        {"type": "reasoning.text", "text": "r1", "index": 0}]}}));
    other["model"] = json!("another");
    other["usage"] = json!({"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 12});
    let stream = json!([
        counted,
        other,
        chunk(json!({"index": 0, "delta": {"reasoning_details": [{"type": "reasoning.text", "signature": "S1", "index": 0}]}})),
        chunk(json!({"index": 0, "delta": {"reasoning_details": [{"type": "reasoning.text", "signature": "S2", "index": 0}]}})),
        chunk(json!({"index": 0, "delta": {"content": "hi", "tool_calls": [
            {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a"}},
            {"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": "{\"b"}}]}})),
        chunk(json!({"index": 1, "delta": {"content": "second"}})),
        chunk(json!({"index": 0, "finish_reason": "tool_calls", "delta": {"tool_calls": [
            {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "\":1}"}},
            {"index": 1, "function": {"name": "other", "arguments": "\":1}"}}]}})),
        chunk(json!({"index": 0, "delta": {"content": " more"}, "finish_reason": "stop"})),
        {"usage": {"prompt_tokens": 9, "completion_tokens": 30, "total_tokens": 39}}
    ]);
    check(C, A, Role::Stream, &stream);
}

/// A changed or removed leaf changes the output or the report, except the leaves in [`IMPLIED`] and [`REPEATED`].
fn check(from: &str, to: &str, role: Role, document: &Value) {
    let plain = convert(from, to, role, document);
    let mut silent = Vec::new();
    for path in leaves(document) {
        let (mut changed, mut without) = (document.clone(), document.clone());
        let leaf = changed.pointer_mut(&path).unwrap();
        // An empty text is equivalent to no text.
        let empty = leaf == "";
        *leaf = another(leaf);
        remove(&mut without, &path);
        let gone = |other: &Value| other != document && convert(from, to, role, other) == plain;
        let repeated: &[&str] = if role == Role::Stream { REPEATED } else { &[] };
        let implied = || empty || IMPLIED.iter().chain(repeated).any(|word| is_like(&path, word));
        if gone(&changed) || gone(&without) && !implied() {
            silent.push(path);
        }
    }
    assert_eq!(silent, [""; 0], "{from} to {to}: a change here shows nowhere\n{}", plain.0);
}

/// The output, and the report as text.
fn convert(from: &str, to: &str, role: Role, document: &Value) -> (String, String) {
    let mut out = Vec::new();
    let ends = (Dialect::named(from).unwrap(), Dialect::named(to).unwrap());
    let mut pipe = Pipe::new((ends.0, role), (ends.1, role), &Options::default()).unwrap();
    pipe.push(text(from, role, document).as_bytes(), &mut out);
    let report = pipe.finish(&mut out);
    assert!(report.adds_up(), "{report:?}");
    let Report { lost_paths, notes, problems, .. } = report;
    (String::from_utf8(out).unwrap(), format!("{lost_paths:?} {notes:?} {problems:?}"))
}

/// The document, or the list of documents as a stream.
fn text(dialect: &str, role: Role, document: &Value) -> String {
    if role != Role::Stream {
        return document.to_string();
    }
    let chunks = document.as_array().unwrap().iter().map(|chunk| format!("data: {chunk}\n\n"));
    let end = if dialect == C { "data: [DONE]\n\n" } else { "" };
    chunks.chain([end.to_owned()]).collect()
}

/// A value of the same type with a different length, so that the report differs.
fn another(leaf: &Value) -> Value {
    match leaf {
        Value::String(text) => json!(format!("{text}Z")),
        Value::Bool(word) => json!(!word),
        Value::Number(number) => json!(number.as_f64().unwrap().trunc() as i64 * 1000 + 12345),
        other => other.clone(),
    }
}

fn leaves(value: &Value) -> Vec<String> {
    let under = |name: String, value: &Value| {
        leaves(value).into_iter().map(|rest| format!("/{name}{rest}")).collect::<Vec<_>>()
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().flat_map(|(name, value)| under(name.clone(), value)).collect()
        }
        Value::Array(list) if !list.is_empty() => {
            list.iter().enumerate().flat_map(|(place, value)| under(place.to_string(), value)).collect()
        }
        // Empty values cannot be lost.
        Value::Null | Value::Array(_) | Value::Object(_) => Vec::new(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![String::new()],
    }
}

fn remove(document: &mut Value, path: &str) {
    let (parent, name) = path.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(name)),
        Value::Array(list) => drop(list.remove(name.parse().unwrap())),
        other => panic!("no container: {other}"),
    }
}

fn is_like(path: &str, pattern: &str) -> bool {
    let (names, words): (Vec<_>, Vec<_>) = (path.split('/').collect(), pattern.split('/').collect());
    let from_root = !pattern.starts_with('/') || names.len() == words.len();
    let ends = names.iter().rev().zip(words.iter().rev()).all(|(name, word)| *word == "*" || word == name);
    from_root && names.len() >= words.len() && ends
}
