//! The cases: the model's replies, the command lines, and the outputs to keep.

use super::SESSION;

/// One recording: the model's replies, the command lines, and the outputs to keep.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) agent: Agent,
    pub(super) script: &'static [Reply],
    pub(super) runs: &'static [Run],
    pub(super) keep: &'static [(FixtureSource, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    Claude,
    Codex,
    Copilot,
}

/// One start of the program. `{thread}` in `args` and `{repo}` in `say` are filled in; `say` is written to stdin, and
/// if it is empty the prompt is among the arguments.
pub(super) struct Run {
    pub(super) args: &'static [&'static str],
    pub(super) say: &'static [Step],
}

pub(super) enum Step {
    /// Writes a line. `{=a.b}` is the raw value at that path of the last awaited line.
    Send(&'static str),
    /// Waits for a stdout line that contains this text.
    Await(&'static str),
}

pub(super) enum FixtureSource {
    /// stdout of the n-th run.
    Stdout(usize),
    /// stdin and stdout of the n-th run, in order.
    Transcript(usize),
    /// The session log: for Codex the first thread.
    Log,
    /// The log of a subagent.
    ChildLog,
    /// The small file that Claude Code puts next to a subagent's log.
    ChildMeta,
    /// The log of a Codex fork.
    ForkLog,
}

/// A reply of the scripted model to the first request that contains `when`.
pub(super) struct Reply {
    pub(super) when: &'static str,
    pub(super) act: Act,
}

pub(super) enum Act {
    Say(&'static [ScriptedBlock]),
    /// Sends the blocks, never closes the last block, and waits for the client to hang up.
    Stall(&'static [ScriptedBlock]),
    Refuse(&'static str, &'static str),
}

pub(super) enum ScriptedBlock {
    /// Parts of a reasoning summary; Anthropic gets them joined.
    Thinking(&'static [&'static str]),
    Redacted(&'static str),
    Text(&'static str),
    Call {
        id: &'static str,
        namespace: &'static str,
        name: &'static str,
        input: &'static str,
    },
    /// A free-text tool call (Codex code mode writes JavaScript).
    Freeform {
        id: &'static str,
        name: &'static str,
        input: &'static str,
    },
    WebSearch(&'static str),
}

pub(super) const fn say(blocks: &'static [ScriptedBlock]) -> Reply {
    Reply { when: "", act: Act::Say(blocks) }
}

pub(super) const fn call(id: &'static str, name: &'static str, input: &'static str) -> ScriptedBlock {
    ScriptedBlock::Call { id, namespace: "", name, input }
}

pub(super) const fn exec(id: &'static str, input: &'static str) -> ScriptedBlock {
    ScriptedBlock::Freeform { id, name: "exec", input }
}

pub(super) const CLAUDE: &[&str] =
    &["-p", "--session-id", SESSION, "--output-format", "stream-json", "--verbose"];
pub(super) const CODEX: &[&str] =
    &["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--disable", "plugins"];
pub(super) const COPILOT: &[&str] = &["--output-format", "json"];

/// Longer than the cut, with every kind of escape: shows that our own text is never cut.
pub(super) const LONG_TEXT: &str = "I look at the notes and at the state of the repository at once.\n\n\
    | file | why |\n|---|---|\n| `notes.txt` | it support \"hello\" \\ «grüß dich» \u{1f980} |\n| `src/` | \
    may not exist; a tab\there and a slash / there |\n\nThen I try one command that must fail.";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "claude-tools",
        agent: Agent::Claude,
        script: &[
            say(&[
                ScriptedBlock::Thinking(&["The user wants a look around. ", "Two calls can run together."]),
                ScriptedBlock::Redacted("cmVkYWN0ZWQtYnktdGhlLWZpeHR1cmUtc2VydmVy"),
                ScriptedBlock::Text(LONG_TEXT),
                call(
                    "toolu_demo01",
                    "Bash",
                    r#"{"command":"cat notes.txt; echo oops >&2; exit 3","description":"Fail"}"#,
                ),
                call("toolu_demo02", "Read", r#"{"file_path":"{repo}/notes.txt"}"#),
            ]),
            say(&[ScriptedBlock::Text("Done: read the notes, saw one failure.")]),
        ],
        runs: &[Run { args: &["look around, then fail once"], say: &[] }],
        keep: &[
            (FixtureSource::Log, "anthropic/claude_code/tools"),
            (FixtureSource::Stdout(0), "anthropic/claude_stream/plain"),
        ],
    },
    Case {
        name: "claude-compacted",
        agent: Agent::Claude,
        script: &[
            say(&[ScriptedBlock::Text("The word is heron.")]),
            say(&[ScriptedBlock::Text(
                "<summary>The user asked for a word; the answer was heron.</summary>",
            )]),
            say(&[ScriptedBlock::Text("You asked for a word, and it was heron.")]),
        ],
        runs: &[Run {
            args: &[],
            say: &[
                Step::Send(r#"{"type":"user","message":{"role":"user","content":"give me a word"}}"#),
                Step::Await(r#""terminal_reason""#),
                Step::Send(r#"{"type":"user","message":{"role":"user","content":"/compact"}}"#),
                Step::Await(r#""type":"result""#),
                Step::Send(r#"{"type":"user","message":{"role":"user","content":"what was it?"}}"#),
                Step::Await(r#""terminal_reason""#),
            ],
        }],
        keep: &[
            (FixtureSource::Log, "anthropic/claude_code/compacted"),
            (FixtureSource::Stdout(0), "anthropic/claude_stream/compacted"),
        ],
    },
    Case {
        name: "claude-subagent",
        agent: Agent::Claude,
        script: &[
            say(&[
                ScriptedBlock::Text("I hand this to a helper."),
                call(
                    "toolu_demo10",
                    "Agent",
                    r#"{"description":"Count lines","prompt":"count the lines of notes.txt","subagent_type":"general-purpose","run_in_background":false}"#,
                ),
            ]),
            say(&[
                ScriptedBlock::Thinking(&["wc does it."]),
                call("toolu_demo11", "Bash", r#"{"command":"wc -l < notes.txt","description":"Count"}"#),
            ]),
            say(&[ScriptedBlock::Text("Two lines.")]),
            say(&[ScriptedBlock::Text("The helper counted two lines.")]),
        ],
        runs: &[Run { args: &["how many lines, ask a helper"], say: &[] }],
        keep: &[
            (FixtureSource::Log, "anthropic/claude_code/subagent"),
            (FixtureSource::ChildLog, "anthropic/claude_code/subagent-child"),
            (FixtureSource::ChildMeta, "anthropic/claude_code/subagent-child.meta.json"),
            (FixtureSource::Stdout(0), "anthropic/claude_stream/subagent"),
        ],
    },
    Case {
        name: "claude-interrupted",
        agent: Agent::Claude,
        script: &[Reply {
            when: "",
            act: Act::Stall(&[
                ScriptedBlock::Thinking(&["A long story, then."]),
                ScriptedBlock::Text("Once upon a time there was a"),
            ]),
        }],
        runs: &[Run {
            args: &["--include-partial-messages"],
            say: &[
                Step::Send(r#"{"type":"user","message":{"role":"user","content":"tell me a story"}}"#),
                Step::Await("there was a"),
                Step::Send(
                    r#"{"type":"control_request","request_id":"demo-1","request":{"subtype":"interrupt"}}"#,
                ),
                Step::Await(r#""subtype":"error_during_execution""#),
            ],
        }],
        keep: &[
            (FixtureSource::Log, "anthropic/claude_code/interrupted"),
            (FixtureSource::Stdout(0), "anthropic/claude_stream/interrupted"),
        ],
    },
    Case {
        name: "claude-partial",
        agent: Agent::Claude,
        script: &[
            say(&[
                ScriptedBlock::Thinking(&["One call is enough."]),
                ScriptedBlock::Text("I read \"notes\" first. \u{1f980}"),
                call("toolu_demo20", "Read", r#"{"file_path":"{repo}/notes.txt"}"#),
            ]),
            say(&[ScriptedBlock::Text("It says hello.")]),
        ],
        runs: &[Run { args: &["--include-partial-messages", "read the notes"], say: &[] }],
        keep: &[(FixtureSource::Stdout(0), "anthropic/claude_stream/partial")],
    },
    Case {
        name: "claude-api-error",
        agent: Agent::Claude,
        script: &[
            Reply {
                when: "",
                act: Act::Refuse(
                    "529 Overloaded",
                    r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded (demo)"},"request_id":"req_demo529"}"#,
                ),
            },
            Reply {
                when: "",
                act: Act::Refuse(
                    "403 Forbidden",
                    r#"{"type":"error","error":{"type":"permission_error","message":"demo: this request is refused"},"request_id":"req_demo403"}"#,
                ),
            },
        ],
        runs: &[Run { args: &["say hello"], say: &[] }],
        keep: &[
            (FixtureSource::Stdout(0), "anthropic/claude_stream/api-error"),
            (FixtureSource::Log, "anthropic/claude_code/api-error"),
        ],
    },
    Case {
        name: "claude-max-turns",
        agent: Agent::Claude,
        script: &[say(&[call("toolu_demo30", "Bash", r#"{"command":"echo one","description":"Echo"}"#)])],
        runs: &[Run { args: &["--max-turns", "1", "run echo"], say: &[] }],
        keep: &[(FixtureSource::Stdout(0), "anthropic/claude_stream/max-turns")],
    },
    Case {
        name: "claude-control",
        agent: Agent::Claude,
        script: &[
            say(&[call("toolu_demo40", "Write", r#"{"file_path":"{repo}/allowed.txt","content":"yes\n"}"#)]),
            say(&[call("toolu_demo41", "Bash", r#"{"command":"touch denied.txt","description":"Touch"}"#)]),
            say(&[ScriptedBlock::Text("One was allowed, one was not.")]),
        ],
        runs: &[Run {
            args: &["--permission-prompt-tool", "stdio"],
            say: &[
                Step::Send(
                    r#"{"type":"control_request","request_id":"demo-1","request":{"subtype":"initialize","hooks":{}}}"#,
                ),
                Step::Await("control_response"),
                Step::Send(
                    r#"{"type":"user","message":{"role":"user","content":"write one file, touch another"}}"#,
                ),
                Step::Await("can_use_tool"),
                Step::Send(
                    r#"{"type":"control_response","response":{"subtype":"success","request_id":{=request_id},"response":{"behavior":"allow","updatedInput":{=request.input}}}}"#,
                ),
                Step::Await("can_use_tool"),
                Step::Send(
                    r#"{"type":"control_response","response":{"subtype":"success","request_id":{=request_id},"response":{"behavior":"deny","message":"not this one"}}}"#,
                ),
                Step::Await(r#""terminal_reason""#),
            ],
        }],
        keep: &[
            (FixtureSource::Stdout(0), "anthropic/claude_stream/control"),
            (FixtureSource::Log, "anthropic/claude_code/denied"),
        ],
    },
    Case {
        name: "copilot-tools",
        agent: Agent::Copilot,
        script: &[
            say(&[
                ScriptedBlock::Thinking(&["Look first, then change."]),
                ScriptedBlock::Text(LONG_TEXT),
                call("call_demo01", "view", r#"{"path":"/tmp/demo/repo/notes.txt"}"#),
                call("call_demo02", "bash", r#"{"command":"echo oops >&2; exit 3","description":"Fail"}"#),
            ]),
            say(&[
                call(
                    "call_demo03",
                    "edit",
                    r#"{"path":"/tmp/demo/repo/notes.txt","old_str":"hello","new_str":"hello there"}"#,
                ),
                call("call_demo04", "create", r#"{"path":"/tmp/demo/repo/new.txt","file_text":"one\n"}"#),
                call("call_demo05", "view", r#"{"path":"/tmp/demo/repo/nowhere.txt"}"#),
            ]),
            say(&[ScriptedBlock::Text("Done: changed one file, made one, saw two failures.")]),
            say(&[ScriptedBlock::Text("It says hello there.")]),
        ],
        runs: &[
            Run { args: &["--allow-all", "--session-id", SESSION, "-p", "read, change, fail"], say: &[] },
            Run {
                args: &[
                    "--allow-all",
                    "--resume=11111111-2222-4333-8444-555555555555",
                    "-p",
                    "what does it say?",
                ],
                say: &[],
            },
        ],
        keep: &[
            (FixtureSource::Log, "agents/copilot_cli/tools"),
            (FixtureSource::Stdout(1), "agents/copilot_stream/printed"),
        ],
    },
    Case {
        name: "copilot-pieces",
        agent: Agent::Copilot,
        script: &[
            say(&[
                ScriptedBlock::Thinking(&["First think."]),
                ScriptedBlock::Text("First I say this."),
                ScriptedBlock::Thinking(&["Then think again."]),
                ScriptedBlock::Text("Then I look."),
                call("call_demo30", "bash", r#"{"command":"cat notes.txt","description":"Look"}"#),
            ]),
            say(&[ScriptedBlock::Thinking(&["It is short."]), ScriptedBlock::Text("It says hello.")]),
        ],
        runs: &[Run {
            args: &["--allow-all", "--session-id", SESSION, "-p", "look, and think on the way"],
            say: &[],
        }],
        keep: &[(FixtureSource::Log, "agents/copilot_cli/pieces")],
    },
    Case {
        name: "copilot-subagent",
        agent: Agent::Copilot,
        script: &[
            say(&[
                ScriptedBlock::Text("I hand this to a helper."),
                call(
                    "call_demo10",
                    "task",
                    r#"{"name":"counter","description":"Count lines","prompt":"count the lines of notes.txt","agent_type":"general-purpose","mode":"sync"}"#,
                ),
            ]),
            say(&[call("call_demo11", "bash", r#"{"command":"wc -l < notes.txt","description":"Count"}"#)]),
            say(&[ScriptedBlock::Text("Two lines.")]),
            say(&[ScriptedBlock::Text("The helper counted two lines.")]),
        ],
        runs: &[Run {
            args: &["--allow-all", "--session-id", SESSION, "-p", "how many lines, ask a helper"],
            say: &[],
        }],
        keep: &[(FixtureSource::Log, "agents/copilot_cli/subagent")],
    },
    Case {
        name: "copilot-denied",
        agent: Agent::Copilot,
        script: &[
            say(&[call("call_demo20", "bash", r#"{"command":"touch denied.txt","description":"Touch"}"#)]),
            Reply {
                when: "",
                act: Act::Refuse(
                    "400 Bad Request",
                    r#"{"error":{"type":"invalid_request_error","message":"demo: this request is refused","code":"demo"}}"#,
                ),
            },
        ],
        runs: &[Run { args: &["--session-id", SESSION, "-p", "touch a file"], say: &[] }],
        keep: &[
            (FixtureSource::Log, "agents/copilot_cli/denied"),
            (FixtureSource::Stdout(0), "agents/copilot_stream/denied"),
        ],
    },
];
