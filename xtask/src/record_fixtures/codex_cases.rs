//! Runs of Codex: `exec`, and the app server.

use super::cases::{
    Act, Agent, Case, FixtureSource, LONG_TEXT, Reply, Run, ScriptedBlock, Step, call, exec, say,
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "codex-code-mode",
        agent: Agent::Codex,
        script: &[
            say(&[
                ScriptedBlock::Thinking(&[
                    "**Looking around**\n\nTwo commands at once.",
                    "**Planning**\n\nThen a patch.",
                ]),
                ScriptedBlock::Text("I read the notes first."),
                exec(
                    "call_demo01",
                    "const r = await Promise.all([tools.exec_command({cmd: \"cat notes.txt\"}), tools.exec_command({cmd: \"exit 3\"})]);\ntext(r.map(x => x.exit_code).join(\",\"));",
                ),
            ]),
            say(&[exec(
                "call_demo02",
                "text(await tools.apply_patch(\"*** Begin Patch\\n*** Update File: notes.txt\\n@@\\n-hello\\n+hello there\\n*** End Patch\"));",
            )]),
            say(&[exec("call_demo03", "throw new Error(\"demo failure\");")]),
            say(&[ScriptedBlock::Text("Done: patched `notes.txt`, saw two failures.")]),
        ],
        runs: &[Run { args: &["read, patch, fail"], say: &[] }],
        keep: &[
            (FixtureSource::Log, "openai/codex/code-mode"),
            (FixtureSource::Stdout(0), "openai/codex_exec/code-mode"),
        ],
    },
    Case {
        name: "codex-functions",
        agent: Agent::Codex,
        script: &[
            say(&[
                ScriptedBlock::Thinking(&["**Reading**\n\nBoth calls are independent."]),
                ScriptedBlock::Text("I run two commands."),
                call("call_demo10", "exec_command", r#"{"cmd":"cat notes.txt"}"#),
                call("call_demo11", "exec_command", r#"{"cmd":"echo oops >&2; exit 3"}"#),
            ]),
            say(&[
                ScriptedBlock::WebSearch("heron"),
                call(
                    "call_demo12",
                    "exec_command",
                    r#"{"cmd":"apply_patch <<'EOP'\n*** Begin Patch\n*** Add File: new.txt\n+one\n*** End Patch\nEOP"}"#,
                ),
                call("call_demo13", "no_such_tool", r#"{"x":1}"#),
            ]),
            say(&[ScriptedBlock::Text("Done.")]),
        ],
        runs: &[Run { args: &["-m", "demo-model", "read and fail"], say: &[] }],
        keep: &[
            (FixtureSource::Log, "openai/codex/functions"),
            (FixtureSource::Stdout(0), "openai/codex_exec/functions"),
        ],
    },
    Case {
        name: "codex-resumed",
        agent: Agent::Codex,
        script: &[
            say(&[ScriptedBlock::Text("The word is heron.")]),
            say(&[ScriptedBlock::Text("It was heron.")]),
            say(&[ScriptedBlock::Text("In this branch it is egret.")]),
        ],
        runs: &[
            Run { args: &["-m", "demo-model", "give me a word"], say: &[] },
            Run { args: &["-m", "demo-model", "resume", "{thread}", "what was it?"], say: &[] },
            Run { args: &["-m", "demo-model", "fork", "{thread}", "another one"], say: &[] },
        ],
        keep: &[
            (FixtureSource::Log, "openai/codex/resumed"),
            (FixtureSource::ForkLog, "openai/codex/forked"),
            (FixtureSource::Stdout(1), "openai/codex_exec/resumed"),
        ],
    },
    Case {
        name: "codex-subagent",
        agent: Agent::Codex,
        script: &[
            say(&[ScriptedBlock::Call {
                id: "call_demo20",
                namespace: "collaboration",
                name: "spawn_agent",
                input: r#"{"task_name":"counter","message":"count the lines of notes.txt","fork_turns":"none"}"#,
            }]),
            Reply { when: "collab_spawn", act: Act::Say(&[ScriptedBlock::Text("Two lines.")]) },
            Reply {
                when: "call_demo20",
                act: Act::Say(&[ScriptedBlock::Call {
                    id: "call_demo21",
                    namespace: "collaboration",
                    name: "wait_agent",
                    input: r#"{"timeout_ms":10000}"#,
                }]),
            },
            Reply {
                when: "call_demo21",
                act: Act::Say(&[ScriptedBlock::Text("The helper counted two lines.")]),
            },
        ],
        runs: &[Run { args: &["how many lines, ask a helper"], say: &[] }],
        keep: &[
            (FixtureSource::Log, "openai/codex/subagent"),
            (FixtureSource::ChildLog, "openai/codex/subagent-child"),
            (FixtureSource::Stdout(0), "openai/codex_exec/subagent"),
        ],
    },
    Case {
        name: "codex-interrupted",
        agent: Agent::Codex,
        script: &[Reply {
            when: "",
            act: Act::Stall(&[ScriptedBlock::Text("Once upon a time there was a")]),
        }],
        runs: &[Run {
            args: &["app-server"],
            say: &[
                Step::Send(INITIALIZE),
                Step::Await(r#""id":1"#),
                Step::Send(START_THREAD),
                Step::Await(r#""id":2"#),
                Step::Send(
                    r#"{"id":3,"method":"turn/start","params":{"threadId":{=result.thread.id},"input":[{"type":"text","text":"tell me a story"}]}}"#,
                ),
                Step::Await("turn/started"),
                Step::Await("item/agentMessage/delta"),
                Step::Send(
                    r#"{"id":4,"method":"turn/interrupt","params":{"threadId":{=params.threadId},"turnId":{=params.turnId}}}"#,
                ),
                Step::Await("turn/completed"),
            ],
        }],
        keep: &[
            (FixtureSource::Log, "openai/codex/interrupted"),
            (FixtureSource::Stdout(0), "openai/codex_app_server/interrupted"),
        ],
    },
    Case {
        name: "codex-compacted",
        agent: Agent::Codex,
        script: &[
            say(&[ScriptedBlock::Text("The word is heron.")]),
            say(&[ScriptedBlock::Text("The user asked for a word; the answer was heron.")]),
            say(&[ScriptedBlock::Text("It was heron.")]),
        ],
        runs: &[Run {
            args: &["app-server"],
            say: &[
                Step::Send(INITIALIZE),
                Step::Await(r#""id":1"#),
                Step::Send(START_THREAD),
                Step::Await(r#""id":2"#),
                Step::Send(
                    r#"{"id":3,"method":"turn/start","params":{"threadId":{=result.thread.id},"input":[{"type":"text","text":"give me a word"}]}}"#,
                ),
                Step::Await("turn/completed"),
                Step::Send(
                    r#"{"id":4,"method":"thread/compact/start","params":{"threadId":{=params.threadId}}}"#,
                ),
                Step::Await("turn/completed"),
                Step::Send(
                    r#"{"id":5,"method":"turn/start","params":{"threadId":{=params.threadId},"input":[{"type":"text","text":"what was it?"}]}}"#,
                ),
                Step::Await("turn/completed"),
            ],
        }],
        keep: &[
            (FixtureSource::Log, "openai/codex/compacted"),
            (FixtureSource::Transcript(0), "openai/codex_app_server/compacted"),
        ],
    },
    Case {
        name: "codex-exec-error",
        agent: Agent::Codex,
        script: &[
            // A stream that ends before the response is complete: Codex retries.
            Reply { when: "", act: Act::Refuse("200 OK", "") },
            Reply { when: "", act: Act::Refuse("400 Bad Request", BAD_REQUEST) },
        ],
        runs: &[Run { args: &["-m", "demo-model", "say hello"], say: &[] }],
        keep: &[(FixtureSource::Stdout(0), "openai/codex_exec/error")],
    },
    Case {
        name: "codex-app-tools",
        agent: Agent::Codex,
        script: &[
            say(&[
                ScriptedBlock::Thinking(&[
                    "**Reading**\n\nBoth calls are independent.",
                    "**Planning**\n\nThen a patch.",
                ]),
                ScriptedBlock::Text(LONG_TEXT),
                call("call_demo30", "exec_command", r#"{"cmd":"cat notes.txt"}"#),
                call("call_demo31", "exec_command", r#"{"cmd":"echo oops >&2; exit 3"}"#),
            ]),
            say(&[
                call(
                    "call_demo32",
                    "exec_command",
                    r#"{"cmd":"apply_patch <<'EOP'\n*** Begin Patch\n*** Add File: new.txt\n+one\n*** Update File: notes.txt\n@@\n-hello\n+hello there\n*** End Patch\nEOP"}"#,
                ),
                call(
                    "call_demo33",
                    "update_plan",
                    r#"{"plan":[{"step":"read","status":"completed"},{"step":"patch","status":"in_progress"}]}"#,
                ),
                ScriptedBlock::WebSearch("heron"),
            ]),
            say(&[ScriptedBlock::Text("Done: patched `notes.txt`, saw one failure.")]),
        ],
        runs: &[Run {
            args: &["app-server"],
            say: &[
                Step::Send(INITIALIZE),
                Step::Await(r#""id":1"#),
                Step::Send(START_THREAD),
                Step::Await(r#""id":2"#),
                Step::Send(
                    r#"{"id":3,"method":"turn/start","params":{"threadId":{=result.thread.id},"input":[{"type":"text","text":"read, fail, patch"}]}}"#,
                ),
                Step::Await("turn/completed"),
            ],
        }],
        keep: &[(FixtureSource::Stdout(0), "openai/codex_app_server/tools")],
    },
    Case {
        name: "codex-app-approvals",
        agent: Agent::Codex,
        script: &[
            say(&[call("call_demo40", "exec_command", r#"{"cmd":"touch allowed.txt"}"#)]),
            say(&[call("call_demo41", "exec_command", r#"{"cmd":"touch denied.txt"}"#)]),
            say(&[call(
                "call_demo42",
                "exec_command",
                r#"{"cmd":"apply_patch <<'EOP'\n*** Begin Patch\n*** Add File: new.txt\n+one\n*** End Patch\nEOP"}"#,
            )]),
            say(&[ScriptedBlock::Text("One was allowed, one was not, and the patch was.")]),
        ],
        runs: &[Run {
            args: &["app-server"],
            say: &[
                Step::Send(INITIALIZE),
                Step::Await(r#""id":1"#),
                Step::Send(
                    r#"{"id":2,"method":"thread/start","params":{"cwd":"{repo}","approvalPolicy":"untrusted","sandbox":"workspace-write","model":"demo-model"}}"#,
                ),
                Step::Await(r#""id":2"#),
                Step::Send(
                    r#"{"id":3,"method":"turn/start","params":{"threadId":{=result.thread.id},"input":[{"type":"text","text":"touch two files, patch a third"}]}}"#,
                ),
                Step::Await("requestApproval"),
                Step::Send(r#"{"id":{=id},"result":{"decision":"accept"}}"#),
                Step::Await("requestApproval"),
                Step::Send(r#"{"id":{=id},"result":{"decision":"decline"}}"#),
                Step::Await("requestApproval"),
                Step::Send(r#"{"id":{=id},"result":{"decision":"acceptForSession"}}"#),
                Step::Await("turn/completed"),
            ],
        }],
        keep: &[
            (FixtureSource::Transcript(0), "openai/codex_app_server/approvals"),
            (FixtureSource::Stdout(0), "openai/codex_app_server/approvals-output"),
        ],
    },
    Case {
        name: "codex-app-question",
        agent: Agent::Codex,
        script: &[
            say(&[call(
                "call_demo50",
                "request_user_input",
                r#"{"questions":[{"id":"bird","header":"Bird","question":"Which bird?","options":[{"label":"Heron (Recommended)","description":"It waits."},{"label":"Egret","description":"It is white."}]},{"id":"why","header":"Why","question":"Why this bird?","options":[{"label":"Colour","description":"The feathers."},{"label":"Size","description":"The legs."}]}]}"#,
            )]),
            say(&[ScriptedBlock::Text("An egret, for its size.")]),
        ],
        runs: &[Run {
            args: &["app-server", "--enable", "default_mode_request_user_input"],
            say: &[
                Step::Send(INITIALIZE),
                Step::Await(r#""id":1"#),
                Step::Send(START_THREAD),
                Step::Await(r#""id":2"#),
                Step::Send(
                    r#"{"id":3,"method":"turn/start","params":{"threadId":{=result.thread.id},"input":[{"type":"text","text":"ask me"}]}}"#,
                ),
                Step::Await("requestUserInput"),
                Step::Send(
                    r#"{"id":{=id},"result":{"answers":{"bird":{"answers":["Egret"]},"why":{"answers":["Size"]}}}}"#,
                ),
                Step::Await("turn/completed"),
            ],
        }],
        keep: &[(FixtureSource::Transcript(0), "openai/codex_app_server/question")],
    },
    Case {
        name: "codex-app-error",
        agent: Agent::Codex,
        script: &[
            Reply { when: "", act: Act::Refuse("200 OK", "") },
            Reply { when: "", act: Act::Refuse("400 Bad Request", BAD_REQUEST) },
        ],
        runs: &[Run {
            args: &["app-server"],
            say: &[
                Step::Send(INITIALIZE),
                Step::Await(r#""id":1"#),
                Step::Send(START_THREAD),
                Step::Await(r#""id":2"#),
                Step::Send(
                    r#"{"id":3,"method":"turn/start","params":{"threadId":{=result.thread.id},"input":[{"type":"text","text":"say hello"}]}}"#,
                ),
                Step::Await("turn/completed"),
                Step::Send(
                    r#"{"id":4,"method":"turn/start","params":{"threadId":"11111111-2222-4333-8444-555555555555","input":[]}}"#,
                ),
                Step::Await(r#""id":4"#),
            ],
        }],
        keep: &[(FixtureSource::Stdout(0), "openai/codex_app_server/error")],
    },
    Case {
        name: "codex-app-subagent",
        agent: Agent::Codex,
        script: &[
            say(&[ScriptedBlock::Call {
                id: "call_demo60",
                namespace: "collaboration",
                name: "spawn_agent",
                input: r#"{"task_name":"counter","message":"count the lines of notes.txt","fork_turns":"none"}"#,
            }]),
            Reply { when: "collab_spawn", act: Act::Say(&[ScriptedBlock::Text("Two lines.")]) },
            Reply {
                when: "call_demo60",
                act: Act::Say(&[ScriptedBlock::Call {
                    id: "call_demo61",
                    namespace: "collaboration",
                    name: "wait_agent",
                    input: r#"{"timeout_ms":10000}"#,
                }]),
            },
            Reply {
                when: "call_demo61",
                act: Act::Say(&[ScriptedBlock::Text("The helper counted two lines.")]),
            },
        ],
        runs: &[Run {
            args: &["app-server", "--disable", "plugins"],
            say: &[
                Step::Send(INITIALIZE),
                Step::Await(r#""id":1"#),
                Step::Send(
                    r#"{"id":2,"method":"thread/start","params":{"cwd":"{repo}","approvalPolicy":"never","sandbox":"danger-full-access"}}"#,
                ),
                Step::Await(r#""id":2"#),
                Step::Send(
                    r#"{"id":3,"method":"turn/start","params":{"threadId":{=result.thread.id},"input":[{"type":"text","text":"how many lines, ask a helper"}]}}"#,
                ),
                Step::Await("The helper counted"),
                Step::Await("turn/completed"),
            ],
        }],
        keep: &[(FixtureSource::Stdout(0), "openai/codex_app_server/subagent")],
    },
];

const INITIALIZE: &str = r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"demo","title":"demo","version":"0.0.0"},"capabilities":{"experimentalApi":true}}}"#;
const START_THREAD: &str = r#"{"id":2,"method":"thread/start","params":{"cwd":"{repo}","approvalPolicy":"never","sandbox":"danger-full-access","model":"demo-model"}}"#;
const BAD_REQUEST: &str =
    r#"{"error":{"type":"invalid_request_error","message":"demo: this request is refused","code":"demo"}}"#;
