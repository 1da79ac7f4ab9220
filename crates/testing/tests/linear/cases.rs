//! The hostile shapes with their targets, and the list of conversions that are known not to be linear.

use interlingua::dialects::Role;
use interlingua_testing::generate;
use interlingua_testing::generate::logs::LOGS as LOGS_OF_AGENTS;
use interlingua_testing::hostile::{
    HostileShape, agents, bodies, claude, codex, gemini, record, responses, streams, universal,
};

/// A dialect in one of its roles.
pub(super) type Side = (&'static str, Role);

pub(super) const ANTHROPIC: Side = ("anthropic", Role::Stream);
pub(super) const CHAT: Side = ("openai-chat", Role::Stream);
pub(super) const ANTHROPIC_REQUEST: Side = ("anthropic", Role::Request);
pub(super) const CHAT_REQUEST: Side = ("openai-chat", Role::Request);
pub(super) const ANTHROPIC_ANSWER: Side = ("anthropic", Role::Response);
pub(super) const CHAT_ANSWER: Side = ("openai-chat", Role::Response);
pub(super) const RESPONSES: Side = ("openai-responses", Role::Stream);
pub(super) const RESPONSES_REQUEST: Side = ("openai-responses", Role::Request);
pub(super) const RESPONSES_ANSWER: Side = ("openai-responses", Role::Response);
pub(super) const GEMINI: Side = ("gemini", Role::Stream);
pub(super) const GEMINI_REQUEST: Side = ("gemini", Role::Request);
pub(super) const GEMINI_ANSWER: Side = ("gemini", Role::Response);
pub(super) const CLAUDE: Side = ("claude-code", Role::Log);
pub(super) const LIVE: Side = ("claude-stream", Role::Live);
pub(super) const AGENT_INPUT: Side = ("claude-stream", Role::Input);
pub(super) const CODEX: Side = ("codex", Role::Log);
pub(super) const PI: Side = ("pi", Role::Log);
pub(super) const AMP: Side = ("amp", Role::Log);
pub(super) const COPILOT: Side = ("copilot-cli", Role::Log);
pub(super) const CURSOR: Side = ("cursor", Role::Log);
pub(super) const GEMINI_CLI: Side = ("gemini-cli", Role::Log);
pub(super) const QWEN: Side = ("qwen-code", Role::Log);
pub(super) const KIMI: Side = ("kimi-cli", Role::Log);
pub(super) const KIMI_CODE: Side = ("kimi-code", Role::Log);
pub(super) const OPENCODE: Side = ("opencode", Role::Log);
pub(super) const RECORD: Side = ("record", Role::Log);
pub(super) const UNIVERSAL: Side = ("universal", Role::Live);

/// A shape with its targets.
pub(super) struct Case {
    pub(super) shape: &'static str,
    pub(super) make: HostileShape,
    pub(super) from: Side,
    pub(super) to: &'static [Side],
    /// The maximum number of elements in the short input.
    pub(super) most: usize,
    pub(super) way: Way,
}

impl Case {
    /// The dialect and role that the pipe reads.
    pub(super) fn source(&self) -> Side {
        if self.way == Way::ThroughRecord { RECORD } else { self.from }
    }

    /// The title of a case for messages.
    pub(super) fn title(&self, to: Side) -> String {
        let (from, shape) = (self.from, self.shape);
        format!("{shape}, {} {} to {} {}", from.0, from.1.word(), to.0, to.1.word())
    }

    /// The growth factor recorded in `NOT_YET`, if the case is not linear yet.
    pub(super) fn not_yet(&self, to: Side) -> Option<f64> {
        let row = NOT_YET
            .iter()
            .find(|(shape, from, target, _)| (*shape, *from, *target) == (self.shape, self.from, to));
        row.map(|(.., growth)| *growth)
    }
}

/// How the input is passed to the pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Unchanged.
    Straight,
    /// As the record made of the input.
    ThroughRecord,
    /// Unchanged, sixteen bytes at a time.
    InPieces,
}

/// Input of many frames has no practical limit.
const MANY_FRAMES: usize = 1 << 20;
/// A single frame may have a million values, so the long input has at most 32,768 elements.
const ONE_FRAME: usize = 2_048;
/// A frame passed in pieces is measured in bytes and fits into a CPU cache: memory is slower, but not quadratically.
const BYTES: usize = 16 << 10;

/// Shapes whose input is damaged or exceeds a limit.
pub(super) const DAMAGED: &str = "many damaged lines";
pub(super) const DEEP: &str = "brackets in brackets";

fn claude_lines(count: usize) -> Vec<u8> {
    lines(count, generate::claude_line)
}

fn codex_lines(count: usize) -> Vec<u8> {
    lines(count, generate::codex_line)
}

fn lines(count: usize, line: fn(u64, &mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    (0..count as u64).for_each(|number| line(number, &mut out));
    out
}

const fn case(shape: &'static str, make: HostileShape, most: usize, from: Side, to: &'static [Side]) -> Case {
    Case { shape, make, from, to, most, way: Way::Straight }
}

const fn back(shape: &'static str, make: HostileShape, most: usize, from: Side, to: &'static [Side]) -> Case {
    Case { shape, make, from, to, most, way: Way::ThroughRecord }
}

const fn pieces(shape: &'static str, make: HostileShape, from: Side, to: &'static [Side]) -> Case {
    Case { shape, make, from, to, most: BYTES, way: Way::InPieces }
}

#[rustfmt::skip]
pub(super) const STREAMS: &[Case] = &[
    case("a text in many pieces", streams::chat_pieces, MANY_FRAMES, CHAT, &[RESPONSES, GEMINI, ANTHROPIC, UNIVERSAL]),
    case("many open calls", streams::chat_open_calls, MANY_FRAMES, CHAT, &[RESPONSES, GEMINI, ANTHROPIC, UNIVERSAL, RECORD, CODEX]),
    case("many calls in one chunk", streams::chat_calls_in_one_chunk, ONE_FRAME, CHAT, &[RESPONSES, GEMINI, ANTHROPIC, UNIVERSAL]),
    case("a text in many pieces", streams::anthropic_pieces, MANY_FRAMES, ANTHROPIC, &[RESPONSES, GEMINI, CHAT, UNIVERSAL, RECORD]),
    case("many open calls", streams::anthropic_open_calls, MANY_FRAMES, ANTHROPIC, &[RESPONSES, GEMINI, CHAT, UNIVERSAL, RECORD]),
    case("many open texts", streams::anthropic_open_texts, MANY_FRAMES, ANTHROPIC, &[RESPONSES, GEMINI, CHAT, UNIVERSAL, RECORD]),
    case("many open thoughts", streams::anthropic_open_thoughts, MANY_FRAMES, ANTHROPIC, &[RESPONSES, GEMINI, CHAT, UNIVERSAL]),
    case("many pings", streams::anthropic_pings, MANY_FRAMES, ANTHROPIC, &[CHAT]),
    case("many `data:` lines", streams::anthropic_data_lines, 8 * ONE_FRAME, ANTHROPIC, &[CHAT]),
    case("a text in many pieces", responses::pieces, MANY_FRAMES, RESPONSES, &[ANTHROPIC, CHAT, GEMINI, UNIVERSAL]),
    case("many texts in one message", responses::open_parts, MANY_FRAMES, RESPONSES, &[ANTHROPIC, CHAT, GEMINI]),
    case("many annotations", responses::open_annotations, MANY_FRAMES, RESPONSES, &[ANTHROPIC, CHAT, GEMINI, UNIVERSAL]),
    case("many open calls", responses::open_calls, MANY_FRAMES, RESPONSES, &[ANTHROPIC, CHAT, GEMINI, UNIVERSAL]),
    case("arguments in many pieces", responses::arguments, MANY_FRAMES, RESPONSES, &[ANTHROPIC, CHAT, GEMINI]),
    case("a text in many pieces", gemini::pieces, MANY_FRAMES, GEMINI, &[ANTHROPIC, CHAT, RESPONSES, UNIVERSAL]),
    case("many calls", gemini::calls, MANY_FRAMES, GEMINI, &[ANTHROPIC, CHAT, RESPONSES, UNIVERSAL]),
    case("many pieces with citations", gemini::cited_pieces, MANY_FRAMES, GEMINI, &[ANTHROPIC, CHAT, RESPONSES]),
    case("arguments in many pieces", gemini::arguments, MANY_FRAMES, GEMINI, &[ANTHROPIC, CHAT, RESPONSES]),
];

#[rustfmt::skip]
pub(super) const BODIES: &[Case] = &[
    case("many messages", bodies::anthropic_messages, ONE_FRAME, ANTHROPIC_REQUEST, &[RESPONSES_REQUEST, GEMINI_REQUEST, CHAT_REQUEST]),
    case("many tools", bodies::anthropic_tools, ONE_FRAME, ANTHROPIC_REQUEST, &[RESPONSES_REQUEST, GEMINI_REQUEST, CHAT_REQUEST]),
    case("many stop texts", bodies::anthropic_stops, 8 * ONE_FRAME, ANTHROPIC_REQUEST, &[CHAT_REQUEST]),
    case("many system blocks", bodies::anthropic_system, ONE_FRAME, ANTHROPIC_REQUEST, &[CHAT_REQUEST, RECORD]),
    case("results last first", bodies::anthropic_late_results, ONE_FRAME, ANTHROPIC_REQUEST, &[RESPONSES_REQUEST, GEMINI_REQUEST, CHAT_REQUEST, CLAUDE]),
    case("many calls", bodies::anthropic_answer, ONE_FRAME, ANTHROPIC_ANSWER, &[RESPONSES_ANSWER, GEMINI_ANSWER, CHAT_ANSWER]),
    case("many messages", bodies::chat_messages, ONE_FRAME, CHAT_REQUEST, &[RESPONSES_REQUEST, GEMINI_REQUEST, ANTHROPIC_REQUEST]),
    case("many system messages", bodies::chat_system_messages, ONE_FRAME, CHAT_REQUEST, &[RESPONSES_REQUEST, GEMINI_REQUEST, ANTHROPIC_REQUEST]),
    case("many tools", bodies::chat_tools, ONE_FRAME, CHAT_REQUEST, &[RESPONSES_REQUEST, GEMINI_REQUEST, ANTHROPIC_REQUEST]),
    case("many stop texts", bodies::chat_stops, 8 * ONE_FRAME, CHAT_REQUEST, &[ANTHROPIC_REQUEST]),
    case("results last first", bodies::chat_late_results, ONE_FRAME, CHAT_REQUEST, &[RESPONSES_REQUEST, GEMINI_REQUEST, ANTHROPIC_REQUEST, CODEX]),
    case("many calls", bodies::chat_answer, ONE_FRAME, CHAT_ANSWER, &[RESPONSES_ANSWER, GEMINI_ANSWER, ANTHROPIC_ANSWER]),
    case("many messages", responses::messages, ONE_FRAME, RESPONSES_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, GEMINI_REQUEST]),
    case("many parts", responses::parts, ONE_FRAME, RESPONSES_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, GEMINI_REQUEST]),
    case("many tools", responses::tools, ONE_FRAME, RESPONSES_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, GEMINI_REQUEST]),
    case("many allowed tools", responses::allowed_tools, ONE_FRAME, RESPONSES_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, GEMINI_REQUEST]),
    case("many tools of one name", responses::tools_of_one_name, ONE_FRAME, RESPONSES_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, GEMINI_REQUEST]),
    case("results last first", responses::late_results, ONE_FRAME, RESPONSES_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, GEMINI_REQUEST]),
    case("many calls of one id", responses::calls_of_one_id, ONE_FRAME, RESPONSES_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, GEMINI_REQUEST]),
    case("many thoughts", responses::thoughts, ONE_FRAME, RESPONSES_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, GEMINI_REQUEST]),
    case("many calls", responses::answer, ONE_FRAME, RESPONSES_ANSWER, &[ANTHROPIC_ANSWER, CHAT_ANSWER, GEMINI_ANSWER]),
    case("many annotations", responses::annotations, ONE_FRAME, RESPONSES_ANSWER, &[ANTHROPIC_ANSWER, CHAT_ANSWER, GEMINI_ANSWER]),
    case("many messages", gemini::contents, ONE_FRAME, GEMINI_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, RESPONSES_REQUEST]),
    case("many parts with state", gemini::parts, ONE_FRAME, GEMINI_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, RESPONSES_REQUEST]),
    case("many tools", gemini::tools, ONE_FRAME, GEMINI_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, RESPONSES_REQUEST]),
    case("results last first", gemini::late_results, ONE_FRAME, GEMINI_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, RESPONSES_REQUEST]),
    case("results last first, without ids", gemini::unnamed_results, ONE_FRAME, GEMINI_REQUEST, &[ANTHROPIC_REQUEST, CHAT_REQUEST, RESPONSES_REQUEST]),
    case("many calls", gemini::answer, ONE_FRAME, GEMINI_ANSWER, &[ANTHROPIC_ANSWER, CHAT_ANSWER, RESPONSES_ANSWER]),
    case("many citations", gemini::citations, ONE_FRAME, GEMINI_ANSWER, &[ANTHROPIC_ANSWER, CHAT_ANSWER, RESPONSES_ANSWER]),
    case("many citations of one text", gemini::citations_of_one_text, ONE_FRAME, GEMINI_ANSWER, &[ANTHROPIC_ANSWER, CHAT_ANSWER, RESPONSES_ANSWER]),
];

#[rustfmt::skip]
pub(super) const OPEN: &[Case] = &[
    case("many open messages", universal::open_messages, MANY_FRAMES, UNIVERSAL, &[CLAUDE, CODEX, RECORD, ANTHROPIC_REQUEST]),
    case("many open messages, the first ends last", universal::nested_messages, MANY_FRAMES, UNIVERSAL, &[CLAUDE, RECORD]),
    case("many open prompts", universal::open_prompts, MANY_FRAMES, UNIVERSAL, &[AGENT_INPUT, CLAUDE, ANTHROPIC_REQUEST]),
    case("many open calls", universal::open_calls, MANY_FRAMES, UNIVERSAL, &[CLAUDE, CODEX, RECORD, ANTHROPIC_REQUEST]),
    case("many subagents", claude::subagents, MANY_FRAMES, LIVE, &[UNIVERSAL, RECORD, CLAUDE]),
    case("many open blocks", claude::live_open_blocks, MANY_FRAMES, LIVE, &[UNIVERSAL, RECORD]),
    case("many open permissions", claude::live_permissions, MANY_FRAMES, LIVE, &[UNIVERSAL, RECORD]),
    case("many open permissions", universal::permissions, MANY_FRAMES, UNIVERSAL, &[RECORD, AGENT_INPUT]),
];

#[rustfmt::skip]
pub(super) const CHILDREN: &[Case] = &[
    case("many children", universal::children, MANY_FRAMES, UNIVERSAL, &[CLAUDE, CODEX, RECORD, ANTHROPIC_REQUEST]),
    case("many open children", universal::open_children, MANY_FRAMES, UNIVERSAL, &[CLAUDE, CODEX, RECORD]),
    case("children of two messages in turns", universal::interleaved_children, MANY_FRAMES, UNIVERSAL, &[CLAUDE, RECORD]),
    case("many parts", universal::parts, ONE_FRAME, UNIVERSAL, &[CLAUDE, CODEX, RECORD, ANTHROPIC]),
    case("many children", record::children, ONE_FRAME, RECORD, &[CLAUDE, CODEX, UNIVERSAL]),
    case("children and texts in turns", record::interleaved_children, ONE_FRAME, RECORD, &[CLAUDE, CODEX, UNIVERSAL]),
    case("many texts", record::texts, ONE_FRAME, RECORD, &[CLAUDE, CODEX, UNIVERSAL]),
    case("many kept lines with white space", record::kept_lines, ONE_FRAME, RECORD, &[CLAUDE, CODEX]),
    case("many kept lines", record::kept_lines_close, ONE_FRAME, RECORD, &[CLAUDE]),
];

#[rustfmt::skip]
pub(super) const LOGS: &[Case] = &[
    case("many ordinary lines", claude_lines, MANY_FRAMES, CLAUDE, &[RECORD, CODEX, UNIVERSAL]),
    back("many ordinary lines, and back", claude_lines, MANY_FRAMES, CLAUDE, &[CLAUDE]),
    case("many ordinary lines", codex_lines, MANY_FRAMES, CODEX, &[RECORD, CLAUDE]),
    back("many ordinary lines, and back", codex_lines, MANY_FRAMES, CODEX, &[CODEX]),
    case("many texts in a line", claude::texts, ONE_FRAME, CLAUDE, &[RECORD, CODEX, UNIVERSAL]),
    back("many texts in a line, and back", claude::texts, ONE_FRAME, CLAUDE, &[CLAUDE]),
    case("many calls in a line", claude::calls, ONE_FRAME, CLAUDE, &[RECORD, CODEX, UNIVERSAL]),
    back("many calls in a line, and back", claude::calls, ONE_FRAME, CLAUDE, &[CLAUDE]),
    case("results last first", claude::late_results, MANY_FRAMES, CLAUDE, &[CODEX, ANTHROPIC_REQUEST, UNIVERSAL]),
    case("many responses", claude::responses, MANY_FRAMES, CLAUDE, &[RECORD]),
    case("many unknown members", claude::unknown_members, 8 * ONE_FRAME, CLAUDE, &[RECORD, CODEX]),
    case(DAMAGED, claude::damaged_lines, MANY_FRAMES, CLAUDE, &[RECORD, CODEX]),
    case("many summaries", codex::summaries, ONE_FRAME, CODEX, &[CLAUDE, RECORD, UNIVERSAL]),
    back("many summaries, and back", codex::summaries, ONE_FRAME, CODEX, &[CODEX]),
    case("many texts in a line", codex::texts, ONE_FRAME, CODEX, &[CLAUDE, RECORD]),
    back("many texts in a line, and back", codex::texts, ONE_FRAME, CODEX, &[CODEX]),
    case("results last first", codex::late_results, MANY_FRAMES, CODEX, &[CLAUDE, ANTHROPIC_REQUEST]),
    case("many echoes", codex::echoes, MANY_FRAMES, CODEX, &[CLAUDE, RECORD]),
    back("many echoes, and back", codex::echoes, MANY_FRAMES, CODEX, &[CODEX]),
];

/// The generated log at an index of the list.
fn generated<const AT: usize>(count: usize) -> Vec<u8> {
    LOGS_OF_AGENTS[AT].log(count as u64)
}

/// The agents whose writers hold calls back until their results, and the other agents.
const TO_AGENTS: &[Side] = &[PI, AMP, COPILOT, CURSOR, GEMINI_CLI, QWEN, KIMI, KIMI_CODE, OPENCODE];

#[rustfmt::skip]
pub(super) const AGENTS: &[Case] = &[
    case("many ordinary pieces", generated::<2>, MANY_FRAMES, PI, &[RECORD, CLAUDE]),
    back("many ordinary pieces, and back", generated::<2>, MANY_FRAMES, PI, &[PI]),
    case("many ordinary pieces", generated::<3>, MANY_FRAMES, AMP, &[RECORD, CLAUDE]),
    back("many ordinary pieces, and back", generated::<3>, MANY_FRAMES, AMP, &[AMP]),
    case("many ordinary pieces", generated::<4>, MANY_FRAMES, COPILOT, &[RECORD, CLAUDE]),
    back("many ordinary pieces, and back", generated::<4>, MANY_FRAMES, COPILOT, &[COPILOT]),
    case("many ordinary pieces", generated::<5>, MANY_FRAMES, CURSOR, &[RECORD, CLAUDE]),
    back("many ordinary pieces, and back", generated::<5>, MANY_FRAMES, CURSOR, &[CURSOR]),
    case("many elements", generated::<6>, MANY_FRAMES, GEMINI_CLI, &[RECORD, CLAUDE]),
    back("many elements, and back", generated::<6>, MANY_FRAMES, GEMINI_CLI, &[GEMINI_CLI]),
    case("many ordinary lines", generated::<7>, MANY_FRAMES, GEMINI_CLI, &[RECORD, CLAUDE]),
    back("many ordinary lines, and back", generated::<7>, MANY_FRAMES, GEMINI_CLI, &[GEMINI_CLI]),
    case("many ordinary pieces", generated::<8>, MANY_FRAMES, QWEN, &[RECORD, CLAUDE]),
    back("many ordinary pieces, and back", generated::<8>, MANY_FRAMES, QWEN, &[QWEN]),
    case("many lines of the wire", generated::<9>, MANY_FRAMES, KIMI, &[RECORD, CLAUDE]),
    back("many lines of the wire, and back", generated::<9>, MANY_FRAMES, KIMI, &[KIMI]),
    case("many lines of the context", generated::<10>, MANY_FRAMES, KIMI, &[RECORD]),
    case("many ordinary pieces", generated::<11>, MANY_FRAMES, KIMI_CODE, &[RECORD, CLAUDE]),
    back("many ordinary pieces, and back", generated::<11>, MANY_FRAMES, KIMI_CODE, &[KIMI_CODE]),
    case("many documents", generated::<12>, MANY_FRAMES, OPENCODE, &[RECORD, CLAUDE]),
    back("many documents, and back", generated::<12>, MANY_FRAMES, OPENCODE, &[OPENCODE]),
    case("many messages of an export", generated::<13>, MANY_FRAMES, OPENCODE, &[RECORD, CLAUDE]),
    back("many messages of an export, and back", generated::<13>, MANY_FRAMES, OPENCODE, &[OPENCODE]),
    case("many printed lines", generated::<14>, MANY_FRAMES, OPENCODE, &[RECORD]),
];

#[rustfmt::skip]
pub(super) const AGENTS_HOSTILE: &[Case] = &[
    case("results last first", claude::late_results, MANY_FRAMES, CLAUDE, TO_AGENTS),
    case("many ordinary lines", claude_lines, MANY_FRAMES, CLAUDE, TO_AGENTS),
    case("results last first", agents::copilot_late_results, MANY_FRAMES, COPILOT, &[RECORD, CLAUDE]),
    case("many subagents", agents::copilot_subagents, MANY_FRAMES, COPILOT, &[RECORD, CLAUDE]),
    case("results last first", agents::qwen_late_results, MANY_FRAMES, QWEN, &[RECORD, CLAUDE]),
    case("results last first", agents::kimi_late_results, MANY_FRAMES, KIMI, &[RECORD, CLAUDE]),
    case("results last first", agents::kimi_code_late_results, MANY_FRAMES, KIMI_CODE, &[RECORD, CLAUDE]),
    case("many parts of a step", agents::kimi_code_parts, MANY_FRAMES, KIMI_CODE, &[RECORD, CLAUDE]),
    case("results last first", agents::pi_late_results, MANY_FRAMES, PI, &[RECORD, CLAUDE]),
    case("many calls without ids", agents::cursor_calls, ONE_FRAME, CURSOR, &[RECORD, CLAUDE]),
    case("many calls in one answer", agents::gemini_calls, ONE_FRAME, GEMINI_CLI, &[RECORD, CLAUDE]),
    case("many rewinds", agents::gemini_rewinds, MANY_FRAMES, GEMINI_CLI, &[RECORD, CLAUDE]),
    case("a history written anew", agents::gemini_history, ONE_FRAME, GEMINI_CLI, &[RECORD, CLAUDE]),
    case("many tiny elements", agents::amp_tiny_elements, MANY_FRAMES, AMP, &[RECORD]),
    case("results last first", agents::amp_late_results, ONE_FRAME, AMP, &[RECORD, CLAUDE]),
    case("many sessions", agents::opencode_sessions, MANY_FRAMES, OPENCODE, &[RECORD, CLAUDE]),
    back("many sessions, and back", agents::opencode_sessions, MANY_FRAMES, OPENCODE, &[OPENCODE]),
    case("messages last first", agents::opencode_late_messages, MANY_FRAMES, OPENCODE, &[RECORD]),
    case(DEEP, agents::opencode_deep, MANY_FRAMES, OPENCODE, &[RECORD]),
    pieces("a long text of an export", agents::opencode_long_text, OPENCODE, &[RECORD]),
];

#[rustfmt::skip]
pub(super) const PIECES: &[Case] = &[
    pieces("a long line", claude::long_text, CLAUDE, &[RECORD]),
    pieces("a long event", streams::anthropic_long_piece, ANTHROPIC, &[CHAT]),
    pieces("a long body", bodies::anthropic_long_text, ANTHROPIC_REQUEST, &[CHAT_REQUEST]),
    pieces("a long entry", record::long_text, RECORD, &[CLAUDE]),
];

pub(super) const TABLES: [&[Case]; 8] =
    [STREAMS, BODIES, OPEN, CHILDREN, LOGS, AGENTS, AGENTS_HOSTILE, PIECES];

/// Conversions that are not linear yet, with the growth of the cost per byte in an input that is sixteen times as long.
/// Remove a row when its conversion is linear; the test fails otherwise.
pub(super) const NOT_YET: &[(&str, Side, Side, f64)] = &[];
