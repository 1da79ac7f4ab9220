//! The common tools of coding agents, as data: the name of each tool in each agent, and the places of its arguments.
//!
//! A row is used in both directions: to find out the meaning of a call, and to spell a call for another agent. An argument that
//! no row lists has no counterpart, so its call keeps its name.

use crate::json::{JsonBuffer, Raw};
use crate::tape::{Kind, Val};

/// The purpose of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolPurpose {
    /// Runs a command in a shell.
    Shell,
    /// Reads a whole file.
    Read,
    /// Replaces a text in a file.
    Edit,
    /// Writes a whole file.
    Write,
    /// Searches a pattern in files.
    Search,
    /// Applies a patch of several files.
    Patch,
}

/// The meaning of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolArgument {
    /// The command line.
    Command,
    /// The path of the file.
    Path,
    /// The text that is replaced.
    Old,
    /// The text that replaces it.
    New,
    /// The content of the file.
    Content,
    /// The pattern.
    Pattern,
    /// The patch.
    Patch,
    /// A sentence about the call for the user. A target without it does the same without the sentence.
    Remark,
    /// A value that means the default: another value has no counterpart.
    Fixed(&'static str),
    /// A limit of the agent for its own output. The limit does not change the work of the tool.
    OutputLimit,
}

/// A tool of an agent.
#[derive(Debug)]
pub(crate) struct NativeTool {
    pub(crate) dialect: &'static str,
    pub(crate) purpose: ToolPurpose,
    pub(crate) name: &'static str,
    /// The paths of the arguments; `[]` is the only element of a list. Without a path, the argument is the whole text.
    arguments: &'static [(&'static [&'static str], ToolArgument)],
    /// Older name of the tool, which is read and never written.
    is_read_only: bool,
}

use ToolArgument::{Command, Content, Fixed, New, Old, OutputLimit, Path, Pattern, Remark};
use ToolPurpose::{Edit, Patch, Read, Search, Shell, Write};

const fn tool(
    dialect: &'static str,
    purpose: ToolPurpose,
    name: &'static str,
    arguments: &'static [(&'static [&'static str], ToolArgument)],
) -> NativeTool {
    NativeTool { dialect, purpose, name, arguments, is_read_only: false }
}

/// A tool with an older name, which is read and never written.
const fn older(
    dialect: &'static str,
    purpose: ToolPurpose,
    name: &'static str,
    arguments: &'static [(&'static [&'static str], ToolArgument)],
) -> NativeTool {
    NativeTool { dialect, purpose, name, arguments, is_read_only: true }
}

/// The common tools of all agents.
#[rustfmt::skip]
pub(crate) const NATIVE_TOOLS: &[NativeTool] = &[
    tool("claude-code", Shell, "Bash", &[(&["command"], Command), (&["description"], Remark)]),
    tool("claude-code", Read, "Read", &[(&["file_path"], Path)]),
    tool("claude-code", Edit, "Edit", &[(&["file_path"], Path), (&["old_string"], Old), (&["new_string"], New), (&["replace_all"], Fixed("false"))]),
    tool("claude-code", Write, "Write", &[(&["file_path"], Path), (&["content"], Content)]),
    tool("claude-code", Search, "Grep", &[(&["pattern"], Pattern)]),
    tool("codex", Shell, "exec_command", &[(&["cmd"], Command), (&["yield_time_ms"], OutputLimit), (&["max_output_tokens"], OutputLimit)]),
    tool("codex", Patch, "apply_patch", &[(&[], ToolArgument::Patch)]),
    tool("gemini-cli", Shell, "run_shell_command", &[(&["command"], Command), (&["description"], Remark)]),
    tool("gemini-cli", Read, "read_file", &[(&["file_path"], Path)]),
    tool("gemini-cli", Edit, "replace", &[(&["file_path"], Path), (&["instruction"], Remark), (&["old_string"], Old), (&["new_string"], New)]),
    tool("gemini-cli", Write, "write_file", &[(&["file_path"], Path), (&["content"], Content)]),
    tool("gemini-cli", Search, "grep_search", &[(&["pattern"], Pattern)]),
    older("gemini-cli", Search, "search_file_content", &[(&["pattern"], Pattern)]),
    tool("qwen-code", Shell, "run_shell_command", &[(&["command"], Command), (&["description"], Remark), (&["is_background"], Fixed("false"))]),
    tool("qwen-code", Read, "read_file", &[(&["file_path"], Path)]),
    tool("qwen-code", Edit, "edit", &[(&["file_path"], Path), (&["old_string"], Old), (&["new_string"], New)]),
    tool("qwen-code", Write, "write_file", &[(&["file_path"], Path), (&["content"], Content)]),
    tool("qwen-code", Search, "grep_search", &[(&["pattern"], Pattern)]),
    tool("opencode", Shell, "bash", &[(&["command"], Command), (&["description"], Remark)]),
    tool("opencode", Read, "read", &[(&["filePath"], Path)]),
    tool("opencode", Edit, "edit", &[(&["filePath"], Path), (&["oldString"], Old), (&["newString"], New)]),
    tool("opencode", Write, "write", &[(&["filePath"], Path), (&["content"], Content)]),
    tool("opencode", Search, "grep", &[(&["pattern"], Pattern)]),
    tool("copilot-cli", Shell, "bash", &[(&["command"], Command), (&["description"], Remark)]),
    tool("copilot-cli", Read, "view", &[(&["path"], Path)]),
    tool("copilot-cli", Edit, "edit", &[(&["path"], Path), (&["old_str"], Old), (&["new_str"], New)]),
    tool("copilot-cli", Write, "create", &[(&["path"], Path), (&["file_text"], Content)]),
    tool("copilot-cli", Search, "grep", &[(&["pattern"], Pattern)]),
    tool("copilot-cli", Patch, "apply_patch", &[(&[], ToolArgument::Patch)]),
    tool("kimi-cli", Shell, "Shell", &[(&["command"], Command)]),
    tool("kimi-cli", Read, "ReadFile", &[(&["path"], Path)]),
    tool("kimi-cli", Edit, "StrReplaceFile", &[(&["path"], Path), (&["edit", "old"], Old), (&["edit", "new"], New)]),
    tool("kimi-cli", Write, "WriteFile", &[(&["path"], Path), (&["content"], Content)]),
    tool("kimi-cli", Search, "Grep", &[(&["pattern"], Pattern)]),
    tool("kimi-code", Shell, "Bash", &[(&["command"], Command), (&["description"], Remark)]),
    tool("kimi-code", Read, "Read", &[(&["path"], Path)]),
    tool("kimi-code", Edit, "Edit", &[(&["path"], Path), (&["old_string"], Old), (&["new_string"], New)]),
    tool("kimi-code", Write, "Write", &[(&["path"], Path), (&["content"], Content)]),
    tool("kimi-code", Search, "Grep", &[(&["pattern"], Pattern)]),
    tool("pi", Shell, "bash", &[(&["command"], Command)]),
    tool("pi", Read, "read", &[(&["path"], Path)]),
    tool("pi", Edit, "edit", &[(&["path"], Path), (&["edits", "[]", "oldText"], Old), (&["edits", "[]", "newText"], New)]),
    tool("pi", Write, "write", &[(&["path"], Path), (&["content"], Content)]),
];

/// The meaning of a call: its purpose, and the arguments as JSON in the source's own spelling.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolMeaning<'a> {
    pub(crate) purpose: ToolPurpose,
    arguments: Vec<(ToolArgument, &'a str)>,
}

/// A call in the words of another agent.
#[derive(Debug, PartialEq)]
pub(crate) struct SpelledCall {
    pub(crate) name: &'static str,
    /// The arguments as an object; `None` if they are the text of [`SpelledCall::text`].
    pub(crate) arguments: Option<Raw<'static>>,
    /// The whole argument of a tool with plain text, as a JSON string.
    pub(crate) text: Option<String>,
    /// A sentence about the call, or a limit of its output, was left out.
    pub(crate) has_less: bool,
}

/// The tool of a dialect for a purpose.
pub(crate) fn tool_for(dialect: &str, purpose: ToolPurpose) -> Option<&'static NativeTool> {
    NATIVE_TOOLS.iter().find(|tool| tool.dialect == dialect && tool.purpose == purpose && !tool.is_read_only)
}

/// Whether any agent has a common tool with this name.
pub(crate) fn is_common(name: &str) -> bool {
    NATIVE_TOOLS.iter().any(|tool| tool.name == name)
}

/// The meaning of a call with these arguments, by the tools of the source first and then by those of all agents: a session may
/// come from a third agent. `None` if no tool of that name has exactly these arguments.
pub(crate) fn meaning<'a>(source: &str, name: &str, arguments: Val<'a>) -> Option<ToolMeaning<'a>> {
    let named = || NATIVE_TOOLS.iter().filter(|tool| tool.name == name);
    let own = named().filter(|tool| tool.dialect == source);
    own.chain(named().filter(|tool| tool.dialect != source)).find_map(|tool| tool.read(arguments))
}

impl NativeTool {
    fn read<'a>(&self, arguments: Val<'a>) -> Option<ToolMeaning<'a>> {
        let mut found = Vec::new();
        let mut path = Vec::new();
        self.read_value(arguments, &mut path, &mut found)?;
        let has = |wanted: ToolArgument| found.iter().any(|(argument, _)| *argument == wanted);
        let is_optional = |argument| matches!(argument, Remark | Fixed(_) | OutputLimit);
        let is_whole = self.arguments.iter().all(|(_, argument)| is_optional(*argument) || has(*argument));
        is_whole.then_some(ToolMeaning { purpose: self.purpose, arguments: found })
    }

    /// Reads a value at a path; `None` if the tool has no argument there.
    fn read_value<'a>(
        &self,
        value: Val<'a>,
        path: &mut Vec<String>,
        found: &mut Vec<(ToolArgument, &'a str)>,
    ) -> Option<()> {
        let is_here = |known: &&[&str]| known.len() == path.len() && known.iter().eq(path.iter());
        if let Some((_, argument)) = self.arguments.iter().find(|(known, _)| is_here(known)) {
            let is_fit = match argument {
                Fixed(text) => value.text() == *text,
                OutputLimit => true,
                _ => value.kind() == Kind::String,
            };
            if is_fit && !matches!(argument, Fixed(_)) {
                found.push((*argument, value.text()));
            }
            return is_fit.then_some(());
        }
        match value.kind() {
            Kind::Object => value.members().try_for_each(|(name, member)| {
                path.push(name.decode().into_owned());
                let read = self.read_value(member, path, found);
                path.pop();
                read
            }),
            Kind::Array if value.elements().count() == 1 => value.elements().try_for_each(|element| {
                path.push("[]".to_owned());
                let read = self.read_value(element, path, found);
                path.pop();
                read
            }),
            _ => None,
        }
    }

    /// Spells a call for this tool; `None` if an argument has no place.
    pub(crate) fn spell(&self, meaning: &ToolMeaning<'_>) -> Option<SpelledCall> {
        let value = |wanted: ToolArgument| {
            meaning.arguments.iter().find(|(argument, _)| *argument == wanted).map(|(_, value)| *value)
        };
        let has_place = |wanted: ToolArgument| self.arguments.iter().any(|(_, argument)| *argument == wanted);
        let mut has_less = false;
        for (argument, _) in &meaning.arguments {
            match argument {
                argument if has_place(*argument) && *argument != OutputLimit => {}
                Remark | OutputLimit => has_less = true,
                _ => return None,
            }
        }
        if let [([], argument)] = self.arguments {
            let text = Some(value(*argument)?.to_owned());
            return Some(SpelledCall { name: self.name, arguments: None, text, has_less });
        }
        let mut json = JsonBuffer::default();
        let mut out = json.hold();
        out.object();
        let mut group: &[&str] = &[];
        for (path, argument) in self.arguments {
            let text = match argument {
                Fixed(text) => Some(*text),
                OutputLimit => None,
                argument => value(*argument),
            };
            let Some(text) = text else { continue };
            let (last, around) = path.split_last()?;
            if around != group {
                // The rows list the arguments of one group together, at the end.
                for name in around {
                    if *name == "[]" {
                        out.array()
                    } else {
                        out.key(name)
                    };
                }
                out.object();
                group = around;
            }
            out.key(last).raw(&Raw::owned(text.to_owned()));
        }
        if !group.is_empty() {
            out.end_object();
        }
        if group.contains(&"[]") {
            out.end_array();
        }
        out.end_object();
        let arguments = Some(Raw::owned(json.held().to_owned()));
        Some(SpelledCall { name: self.name, arguments, text: None, has_less })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::{Limits, TapeBuf};

    const PURPOSES: [ToolPurpose; 6] = [Shell, Read, Edit, Write, Search, Patch];

    /// The arguments of a call of a tool, with every optional one.
    fn example(tool: &NativeTool) -> String {
        let texts = [
            (Command, r#""ls -la \"x\"""#),
            (Path, r#""src/main.rs""#),
            (Old, r#""a\nb""#),
            (New, r#""c\u00e9""#),
            (Content, r#""fn main() {}""#),
            (Pattern, r#""fn .*""#),
            (ToolArgument::Patch, r#""*** Begin Patch\n*** End Patch""#),
            (Remark, r#""look around""#),
        ];
        let is_known = |argument: &ToolArgument| tool.arguments.iter().any(|(_, known)| known == argument);
        let arguments = texts.into_iter().filter(|(argument, _)| is_known(argument)).collect();
        let call = tool.spell(&ToolMeaning { purpose: tool.purpose, arguments }).expect("a call");
        call.arguments.map_or_else(|| call.text.expect("a text"), |arguments| arguments.as_str().to_owned())
    }

    /// A call of one agent in the words of another.
    fn translated(source: &str, name: &str, arguments: &str, target: &str) -> Option<SpelledCall> {
        let mut tape = TapeBuf::default();
        let tape = tape.parse(arguments, &Limits::default()).expect("JSON");
        let meaning = meaning(source, name, tape.root())?;
        tool_for(target, meaning.purpose)?.spell(&meaning)
    }

    #[test]
    fn every_tool_becomes_the_tool_of_every_agent_and_comes_back() {
        let mut agents: Vec<&str> = NATIVE_TOOLS.iter().map(|tool| tool.dialect).collect();
        agents.dedup();
        assert_eq!(agents.len(), 9);
        let mut pairs = 0;
        for tool in NATIVE_TOOLS {
            let arguments = example(tool);
            for target in &agents {
                let Some(other) = tool_for(target, tool.purpose) else { continue };
                let there = translated(tool.dialect, tool.name, &arguments, target).expect("a call");
                assert_eq!(there.name, other.name, "{} {} to {target}", tool.dialect, tool.name);
                let written = there.arguments.as_ref().map(|json| json.as_str().to_owned()).or(there.text);
                let written = written.expect("arguments");
                let back = translated(target, there.name, &written, tool.dialect).expect("the way back");
                let again = back.arguments.map(|json| json.as_str().to_owned()).or(back.text);
                // A sentence about the call may be left out on the way, and nothing else.
                if !there.has_less && !tool.is_read_only {
                    assert_eq!(
                        again.as_deref(),
                        Some(&*arguments),
                        "{} {} by {target}",
                        tool.dialect,
                        tool.name
                    );
                }
                pairs += 1;
            }
        }
        assert!(pairs > 300, "{pairs}");
        assert!(PURPOSES.iter().all(|purpose| NATIVE_TOOLS.iter().any(|tool| tool.purpose == *purpose)));
    }

    #[test]
    fn nested_arguments_are_spelled_as_their_agents_do() {
        let claude = r#"{"file_path":"a.rs","old_string":"x","new_string":"y"}"#;
        let spelled = |target| translated("claude-code", "Edit", claude, target)?.arguments;
        let text = |target| spelled(target).map(|json| json.as_str().to_owned());
        assert_eq!(text("pi").as_deref(), Some(r#"{"path":"a.rs","edits":[{"oldText":"x","newText":"y"}]}"#));
        assert_eq!(text("kimi-cli").as_deref(), Some(r#"{"path":"a.rs","edit":{"old":"x","new":"y"}}"#));
        assert_eq!(text("codex"), None, "Codex has no tool for one replacement");
    }

    #[test]
    fn calls_with_other_arguments_keep_their_names() {
        for (source, name, arguments) in [
            ("claude-code", "Read", r#"{"file_path":"a","offset":10}"#),
            (
                "claude-code",
                "Edit",
                r#"{"file_path":"a","old_string":"x","new_string":"y","replace_all":true}"#,
            ),
            ("claude-code", "Bash", r#"{"command":5}"#),
            ("claude-code", "Bash", "{}"),
            (
                "pi",
                "edit",
                r#"{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"v","newText":"w"}]}"#,
            ),
            ("qwen-code", "run_shell_command", r#"{"command":"x","is_background":true}"#),
            ("claude-code", "WebSearch", r#"{"query":"x"}"#),
        ] {
            assert_eq!(translated(source, name, arguments, "opencode"), None, "{name} {arguments}");
        }
    }

    #[test]
    fn limits_and_remarks_that_the_target_lacks_are_counted() {
        let codex = r#"{"cmd":"ls","yield_time_ms":1000}"#;
        let call = translated("codex", "exec_command", codex, "claude-code").expect("a call");
        assert_eq!(
            call.arguments.map(|json| json.as_str().to_owned()).as_deref(),
            Some(r#"{"command":"ls"}"#)
        );
        assert!(call.has_less);
        let call = translated("claude-code", "Bash", r#"{"command":"ls"}"#, "codex").expect("a call");
        assert!(!call.has_less);
    }
}
