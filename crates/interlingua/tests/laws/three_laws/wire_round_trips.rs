//! The second law for model APIs: a round trip over another API changes only the values that a report lists, and the
//! values in the tables below.

use crate::support::books::{Excuse, judge};
use crate::support::there_and_back::there_and_back_law;
use crate::support::{Case, can_read, can_write, fixtures, other_law_targets};
use interlingua::dialects::Plane;

#[test]
fn wire_there_and_back_differs_only_by_what_was_lost() {
    let cases: Vec<Case> = fixtures().into_iter().filter(|case| case.way.0.plane == Plane::Wire).collect();
    let mut breaches = Vec::new();
    for case in cases.iter().filter(|case| can_write(case.way)) {
        let others = other_law_targets(case);
        for to in others.into_iter().filter(|to| to.0.plane == Plane::Wire && can_read(*to)) {
            breaches.extend(there_and_back_law(case, to));
        }
    }
    let mut excuses = NOT_THE_SAME.to_vec();
    for over in [C, "kimi", "copilot"] {
        excuses.extend(OVER_CHAT.iter().map(|(place, why)| (A, over, *place, *why)));
    }
    for over in ["kimi", "copilot"] {
        excuses.extend(OVER_FLAVOURS.iter().map(|(place, why)| (C, over, *place, *why)));
    }
    judge(cases.len(), breaches, &excuses);
}

/// Differences from Anthropic's document after a round trip over the chat dialect or one of its flavours: fixture and
/// path, reason.
const OVER_CHAT: &[(&str, &str)] = &[
    // Chat Completions has no place for a picture in a tool result.
    ("request/full.json +/messages[]/*", "it stands in a user message after the results"),
    ("request/full.json -/messages[]/content[]/content[]/*", "it stands in a user message after the results"),
    ("request/full.json ~/messages[]/*", "it stands in a user message after the results"),
    ("request/full.json -/messages[]/content[]/type", "the tag of thinking, which is lost on the way back"),
    ("request/orphans.json +/messages[]/content[]/is_error", "a call without a result gets one that says so"),
    ("request/orphans.json ~/messages[]/content[]/type", "the result that was made stands before the others"),
    ("-/usage/cache_creation/ephemeral_5m_input_tokens", "the rest of a sum whose other part is lost"),
];

/// Differences from OpenAI's document after a round trip over a flavour of another vendor.
const OVER_FLAVOURS: &[(&str, &str)] = &[
    ("request/media.json +/messages[]/tool_calls[]/*", "a plain text stands as a function's only member"),
    ("request/media.json -/messages[]/tool_calls[]/*", "a plain text stands as a function's only member"),
    ("request/media.json +/tools[]/*", "a plain text stands as a function's only member"),
    ("request/media.json -/tools[]/*", "a plain text stands as a function's only member"),
    ("request/replay.json -/messages[]/content[]/text", "an empty text is left out"),
    ("request/replay.json -/messages[]/content[]/type", "an empty text is left out"),
    ("response/refusal.json +/choices[]/message/content[]/*", "refusals are plain text there"),
    ("response/refusal.json -/choices[]/message/refusal", "refusals are plain text there"),
    (
        "response/tools.json +/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (
        "response/tools.json -/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
];

/// Differences after a round trip without a loss: from, over, fixture and path (`+`: new, `-`: gone, `~`: in another
/// order), reason.
const NOT_THE_SAME: &[Excuse] = &[
    ("copilot", "*", "response/opaque.json +/object", "an answer says what it is"),
    ("copilot", C, "request/full.json +/reasoning_effort", "a budget is written as an effort"),
    ("kimi", "*", "response/tools.json +/usage/prompt_tokens_details/cached_tokens", "OpenAI's place for it"),
    ("kimi", "*", "response/tools.json -/usage/cached_tokens", "OpenAI's place for it"),
    ("kimi", A, "+/choices[]/message/tool_calls[]/id", "an id must be of certain letters"),
    ("kimi", A, "-/choices[]/message/tool_calls[]/id", "an id must be of certain letters"),
    // Members that Anthropic requires.
    (C, A, "+/max_completion_tokens", "a request must have a limit"),
    (C, A, "request/full.json +/tools[]/function/parameters/*", "a tool must have a schema"),
    (C, A, "stream/loose.sse +/usage/*", "an answer must have numbers, and zeros come back"),
    (C, A, "request/replay.json -/messages[]/content[]/text", "an empty text is refused"),
    (C, A, "request/replay.json -/messages[]/content[]/type", "an empty text is refused"),
    (C, A, "response/oddids.json +/choices[]/message/tool_calls[]/id", "an id must be of certain letters"),
    (C, A, "response/oddids.json -/choices[]/message/tool_calls[]/id", "an id must be of certain letters"),
    // A tool with a plain text argument becomes a function with one text member.
    (
        C,
        A,
        "request/media.json +/messages[]/tool_calls[]/*",
        "a plain text stands as a function's only member",
    ),
    (
        C,
        A,
        "request/media.json -/messages[]/tool_calls[]/*",
        "a plain text stands as a function's only member",
    ),
    (C, A, "request/media.json +/tools[]/*", "a plain text stands as a function's only member"),
    (C, A, "request/media.json -/tools[]/*", "a plain text stands as a function's only member"),
    // Values with another spelling.
    (C, A, "response/error-context.json +/error/message", "clients look for `prompt is too long`"),
    (C, A, "response/error-context.json -/error/message", "clients look for `prompt is too long`"),
    (C, A, "response/refusal.json +/choices[]/message/content[]/*", "Anthropic declines in plain text"),
    (C, A, "response/refusal.json -/choices[]/message/refusal", "Anthropic declines in plain text"),
    (
        C,
        A,
        "response/tools.json +/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (
        C,
        A,
        "response/tools.json -/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (C, A, "stream/cut.sse -/error/code", "the code is ours: nobody said that the stream was cut"),
    // Members that the Responses API requires, or whose defaults differ.
    (A, R, "+/tools[]/strict", "a tool is strict there unless it is said not to be"),
    ("*", R, "+/tools[]/function/strict", "a tool is strict there unless it is said not to be"),
    (C, R, "+/store", "an answer is kept there unless it is said not to be"),
    ("*", R, "+/messages[]/content[]/image_url/detail", "a picture must say how closely to look at it"),
    (C, R, "request/full.json +/tools[]/function/parameters/*", "a tool must have a schema"),
    (A, R, "+/usage/cache_creation_input_tokens", "an answer must have numbers, and zeros come back"),
    (A, R, "+/usage/cache_read_input_tokens", "an answer must have numbers, and zeros come back"),
    (
        A,
        R,
        "+/usage/output_tokens_details/thinking_tokens",
        "an answer must have numbers, and zeros come back",
    ),
    (
        "*",
        R,
        "+/usage/completion_tokens_details/reasoning_tokens",
        "an answer must have numbers, and zeros come back",
    ),
    (
        "*",
        R,
        "+/usage/prompt_tokens_details/cache_write_tokens",
        "an answer must have numbers, and zeros come back",
    ),
    (
        "*",
        R,
        "+/usage/prompt_tokens_details/cached_tokens",
        "an answer must have numbers, and zeros come back",
    ),
    (A, R, "request/full.json -/messages[]/content[]/type", "the tag of thinking, which is lost"),
    (
        A,
        R,
        "request/orphans.json +/messages[]/content[]/is_error",
        "a call without a result gets one that says so",
    ),
    (
        A,
        R,
        "request/orphans.json ~/messages[]/content[]/type",
        "the result that was made stands before the others",
    ),
    (C, R, "request/replay.json -/messages[]/content[]/text", "an empty text of the assistant is left out"),
    (C, R, "request/replay.json -/messages[]/content[]/type", "an empty text of the assistant is left out"),
    (
        C,
        R,
        "response/tools.json +/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (
        C,
        R,
        "response/tools.json -/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    // The same request in the form of the writer: a list of items, tools before them, the newer of two names.
    (R, "*", "request/choice.json +/input*", "a text becomes a message"),
    (R, "*", "request/choice.json -/input", "a text becomes a message"),
    (R, "*", "request/choice.json +/safety_identifier", "the newer name of `user`"),
    (R, "*", "request/choice.json -/user", "the newer name of `user`"),
    (R, "*", "+/store", "the other API keeps no answers"),
    (R, A, "+/max_output_tokens", "a request must have a limit"),
    (R, "*", "+/tools[]/strict", "the other API's tools are not strict"),
    (R, "*", "+/input[]/type", "messages need not say that they are some"),
    (R, "*", "request/codex.json +/tools[]/*", "tools that came as an item stand among the others"),
    (R, "*", "request/codex.json -/input[]/tools[]/*", "tools that came as an item stand among the others"),
    (R, "*", "request/codex.json -/input[]/type", "tools that came as an item stand among the others"),
    (R, C, "request/codex.json -/input[]/role", "tools that came as an item stand among the others"),
    (R, "*", "request/codex.json +/input[]/content[]/*", "one text is a string, two are a list"),
    (R, "*", "request/codex.json -/input[]/content[]/*", "one text is a string, two are a list"),
    (R, A, "-/instructions", "what the system and developers say first is one list"),
    (R, A, "request/choice.json -/text/format/type", "JSON is asked for in words"),
    // Tool groups and tools with plain text arguments; an exchange restores them.
    (R, "*", "/namespace", "the group stands before the name"),
    (R, "*", "[]/name", "the group stands before the name"),
    (R, "*", "request/full.json +/tools[]/*", "the group stands before the name"),
    (R, "*", "request/full.json -/tools[]/tools[]/*", "the group stands before the name"),
    (R, "*", "[]/arguments", "a plain text stands as a function's only member"),
    (R, "*", "[]/input", "a plain text stands as a function's only member"),
    (R, "*", "-/output[]/type", "a plain text stands as a function's only member"),
    (R, "*", "+/output[]/type", "a plain text stands as a function's only member"),
    (R, A, "request/full.json -/tool_choice*", "the other tools are not offered"),
    (R, A, "request/full.json +/tool_choice", "a call cannot be demanded while the model thinks"),
    // Reasoning: a single text with separate state.
    (R, "*", "-/input[]/type", "the tag of reasoning, which is lost"),
    (R, "*", "~/input[]/type", "reasoning is lost, and messages say what they are"),
    (R, "*", "[]/summary[]/text", "a summary is a thought like any other"),
    (R, "*", "[]/summary[]/type", "a summary is a thought like any other"),
    (R, "*", "response/reasoning.json +/output[]/content[]/*", "a summary is a thought like any other"),
    (R, "*", "response/reasoning.json -/output[]/content[]/*", "a summary is a thought like any other"),
    (R, "*", "response/tools.json +/output[]/content[]/*", "a summary is a thought like any other"),
    (R, "*", "stream/tools.sse +/output[]/content[]/*", "a summary is a thought like any other"),
    (R, "*", "stream/tools.sse -/output[]/content[]/*", "a summary is a thought like any other"),
    // The vendor's own tools become functions.
    (
        R,
        "*",
        "request/hosted.json -/input[]/operation*",
        "the vendor's own tool is a function like any other",
    ),
    (R, "*", "request/hosted.json -/input[]/status", "a result that failed begins with a mark"),
    (R, "*", "request/hosted.json +/input[]/call_id", "an older result has the id of its call as its own"),
    // Chat Completions has no place for a picture in a tool result.
    (R, C, "request/hosted.json +/input[]/*", "it stands in a user message after the results"),
    (R, C, "request/media.json +/input[]/*", "it stands in a user message after the results"),
    (R, C, "request/media.json -/input[]/output[]/*", "it stands in a user message after the results"),
    // Values with another spelling.
    (R, "*", "response/failed.json +/error/type", "an answer that failed becomes an error"),
    (R, A, "response/refusal.json +/output[]/*", "Anthropic declines in plain text"),
    (R, A, "response/refusal.json -/output[]/*", "Anthropic declines in plain text"),
    (R, A, "stream/refusal.sse +/output[]/*", "Anthropic declines in plain text"),
    (R, A, "stream/refusal.sse -/output[]/*", "Anthropic declines in plain text"),
    (R, "*", "stream/cut.sse -/error/code", "the code is ours: nobody said that the stream was cut"),
    (C, R, "stream/cut.sse -/error/code", "the code is ours: nobody said that the stream was cut"),
    ("copilot", R, "request/full.json +/reasoning_effort", "a budget is written as an effort"),
    (R, "kimi", "/tool_choice/tools[]/type", "a plain text stands as a function's only member"),
    (R, "kimi", "request/hosted.json +/input[]/*", "a picture stands in a user message after the results"),
    (R, "kimi", "request/media.json +/input[]/*", "a picture stands in a user message after the results"),
    (
        R,
        "kimi",
        "request/media.json -/input[]/output[]/*",
        "a picture stands in a user message after the results",
    ),
    (R, "kimi", "response/refusal.json +/output[]/*", "it declines in plain text"),
    (R, "kimi", "response/refusal.json -/output[]/*", "it declines in plain text"),
    (R, "kimi", "stream/refusal.sse +/output[]/*", "it declines in plain text"),
    (R, "kimi", "stream/refusal.sse -/output[]/*", "it declines in plain text"),
    (R, "kimi", "response/refusal.json +/incomplete_details/reason", "it declines in plain text"),
    (R, "copilot", "/tool_choice/tools[]/type", "a plain text stands as a function's only member"),
    (R, "copilot", "request/hosted.json +/input[]/*", "a picture stands in a user message after the results"),
    (R, "copilot", "request/media.json +/input[]/*", "a picture stands in a user message after the results"),
    (
        R,
        "copilot",
        "request/media.json -/input[]/output[]/*",
        "a picture stands in a user message after the results",
    ),
    (R, "copilot", "response/refusal.json +/output[]/*", "it declines in plain text"),
    (R, "copilot", "response/refusal.json -/output[]/*", "it declines in plain text"),
    (R, "copilot", "stream/refusal.sse +/output[]/*", "it declines in plain text"),
    (R, "copilot", "stream/refusal.sse -/output[]/*", "it declines in plain text"),
    (R, "copilot", "response/refusal.json +/incomplete_details/reason", "it declines in plain text"),
    (
        A,
        R,
        "request/server-tools.json +/tool_choice/type",
        "what cannot be chosen by name is demanded, or left to the model",
    ),
    (
        A,
        R,
        "request/server-tools.json -/tool_choice/type",
        "what cannot be chosen by name is demanded, or left to the model",
    ),
    // Gemini has other forms for the same values.
    (G, "*", "request/snake.json *", "members are written in the API's own spelling"),
    (
        G,
        "*",
        "response/number.json *",
        "members are written in the API's own spelling, and the reason as a word",
    ),
    (
        G,
        "*",
        "request/full.json +/tools[]/functionDeclarations[]/parametersJsonSchema/*",
        "schemas come back as JSON Schema",
    ),
    (
        G,
        "*",
        "request/full.json -/tools[]/functionDeclarations[]/parameters/*",
        "schemas come back as JSON Schema",
    ),
    (
        G,
        "*",
        "request/choice.json +/tools[]/functionDeclarations[]/parametersJsonSchema/*",
        "schemas come back as JSON Schema",
    ),
    (
        G,
        "*",
        "request/choice.json -/tools[]/functionDeclarations[]/parameters/*",
        "schemas come back as JSON Schema",
    ),
    (
        G,
        "*",
        "request/server.json +/generationConfig/responseJsonSchema/*",
        "schemas come back as JSON Schema",
    ),
    (G, "*", "request/server.json -/generationConfig/responseSchema/*", "schemas come back as JSON Schema"),
    (G, "*", "request/full.json +/contents[]/parts[]/functionCall/args", "`{}` is how no arguments are said"),
    (
        G,
        "*",
        "request/full.json +/contents[]/parts[]/functionResponse/response/output",
        "an object is a text elsewhere",
    ),
    (
        G,
        "*",
        "request/full.json -/contents[]/parts[]/functionResponse/response/*",
        "an object is a text elsewhere",
    ),
    (G, "*", "request/server.json +/contents[]/role", "results had a role of their own once"),
    (G, "*", "request/server.json -/contents[]/role", "results had a role of their own once"),
    (G, "*", "request/server.json ~/contents[]/role", "results had a role of their own once"),
    (G, "*", "request/server.json -/contents[]/parts[]/text", "an empty text held the place of state"),
    (G, "*", "response/blocked.json *", "a prompt that was refused comes back as an answer that was stopped"),
    (
        G,
        "*",
        "response/error-key.json *",
        "the error need not stand in a list, and a bad key has a status of its own",
    ),
    (
        G,
        "*",
        "response/grounded.json +/candidates[]/groundingMetadata/*",
        "all citations come back as one sort",
    ),
    (
        G,
        "*",
        "response/grounded.json -/candidates[]/citationMetadata/*",
        "all citations come back as one sort",
    ),
    (G, "*", "response/malformed.json *", "a call that could not be read comes back as an error"),
    (
        G,
        "*",
        "response/tools.json +/usageMetadata/promptTokenCount",
        "what tools added is counted with the prompt",
    ),
    (
        G,
        "*",
        "response/tools.json -/usageMetadata/promptTokenCount",
        "what tools added is counted with the prompt",
    ),
    (
        G,
        "*",
        "response/tools.json -/usageMetadata/toolUsePromptTokenCount",
        "what tools added is counted with the prompt",
    ),
    (G, A, "+/generationConfig/maxOutputTokens", "a request must have a limit"),
    (
        G,
        A,
        "request/full.json +/generationConfig/responseJsonSchema/additionalProperties",
        "an answer's objects are closed",
    ),
    (G, A, "-/toolConfig/functionCallingConfig/allowedFunctionNames[]", "the other tools are not offered"),
    (G, A, "response/error-context.json +/error/message", "clients look for `prompt is too long`"),
    (G, A, "response/error-context.json -/error/message", "clients look for `prompt is too long`"),
    (
        G,
        "*",
        "request/full.json +/contents[]/parts[]/inlineData/*",
        "it stands in a user message after the results",
    ),
    (G, "*", "request/full.json +/contents[]/parts[]/text", "it stands in a user message after the results"),
    (
        G,
        "*",
        "request/full.json -/contents[]/parts[]/functionResponse/parts[]/*",
        "it stands in a user message after the results",
    ),
    (
        G,
        "kimi",
        "request/server.json +/generationConfig/thinkingConfig/includeThoughts",
        "Kimi shows its thoughts unasked",
    ),
    (G, R, "+/store", "an answer is kept there unless it is said not to be"),
    (G, R, "+/usageMetadata/cachedContentTokenCount", "an answer must have numbers, and zeros come back"),
    (G, R, "+/usageMetadata/thoughtsTokenCount", "an answer must have numbers, and zeros come back"),
    (G, R, "stream/malformed.sse +/error/status", "a code that Responses does not know has no class there"),
    (G, R, "stream/malformed.sse -/error/status", "a code that Responses does not know has no class there"),
    (R, G, "-/instructions", "they come back as the first message of the system"),
    (R, G, "request/full.json +/input[]/output", "texts of one result are joined"),
    (R, G, "request/full.json -/input[]/output[]/*", "texts of one result are joined"),
    (R, G, "request/full.json +/tool_choice/tools[]/type", "a plain text stands as a function's only member"),
    (R, G, "request/full.json -/tool_choice/tools[]/type", "a plain text stands as a function's only member"),
    (R, G, "response/incomplete.json +/output[]/status", "a call that was cut off shows in its arguments"),
    (R, G, "response/incomplete.json -/output[]/status", "a call that was cut off shows in its arguments"),
    (R, G, "response/refusal.json *", "Gemini declines in plain text, and says that a filter stopped it"),
    (R, G, "stream/refusal.sse *", "Gemini declines in plain text, and says that a filter stopped it"),
    // Values that Gemini has no place for.
    (A, G, "request/full.json +/messages[]/content[]/*", "a system message between others is marked text"),
    (
        A,
        G,
        "request/full.json -/messages[]/content[]/type",
        "the tag of thinking, which is lost on the way back",
    ),
    (A, G, "request/full.json ~/messages[]/content[]/type", "a system message between others is marked text"),
    (
        A,
        G,
        "request/orphans.json +/messages[]/content[]/is_error",
        "a call without a result gets one that says so",
    ),
    (
        A,
        G,
        "request/orphans.json ~/messages[]/content[]/type",
        "the result that was made stands before the others",
    ),
    (A, G, "response/error-context.json +/error/message", "clients look for words about tokens"),
    (A, G, "response/error-context.json -/error/message", "clients look for words about tokens"),
    (A, G, "/usage/input_tokens", "what was written to the cache is counted as input"),
    (A, G, "/usage/cache_creation_input_tokens", "what was written to the cache is counted as input"),
    (C, G, "request/full.json +/messages[]/content[]/*", "a system message between others is marked text"),
    (C, G, "request/full.json ~/messages[]/content[]/type", "a system message between others is marked text"),
    (
        C,
        G,
        "request/media.json +/messages[]/tool_calls[]/*",
        "a plain text stands as a function's only member",
    ),
    (
        C,
        G,
        "request/media.json -/messages[]/tool_calls[]/*",
        "a plain text stands as a function's only member",
    ),
    (C, G, "request/media.json +/tools[]/*", "a plain text stands as a function's only member"),
    (C, G, "request/media.json -/tools[]/*", "a plain text stands as a function's only member"),
    (C, G, "request/replay.json -/messages[]/content[]/*", "an empty text is left out"),
    (C, G, "response/error-context.json +/error/message", "clients look for words about tokens"),
    (C, G, "response/error-context.json -/error/message", "clients look for words about tokens"),
    (C, G, "response/error-quota.json +/error/type", "a lack of money has no word of its own"),
    (C, G, "response/error-quota.json -/error/type", "a lack of money has no word of its own"),
    (C, G, "response/refusal.json +/choices[]/message/content[]/*", "Gemini declines in plain text"),
    (C, G, "response/refusal.json -/choices[]/message/refusal", "Gemini declines in plain text"),
    (
        C,
        G,
        "response/tools.json +/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (
        C,
        G,
        "response/tools.json -/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (C, G, "stream/cut.sse -/error/code", "the code is ours: nobody said that the stream was cut"),
    (G, A, "stream/empty.sse +/usageMetadata/*", "Anthropic insists on counts, and the 0 is noted"),
    (C, A, "stream/empty.sse +/usage/*", "Anthropic insists on counts, and the 0 is noted"),
    (R, A, "stream/empty.sse +/usage/*", "Anthropic insists on counts, and the 0 is noted"),
];

const A: &str = "anthropic";
const C: &str = "openai-chat";
const G: &str = "gemini";
const R: &str = "openai-responses";
