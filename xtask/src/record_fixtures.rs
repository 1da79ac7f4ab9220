//! `cargo xtask record-fixtures`: runs the real agent programs against a scripted model on loopback
//! and keeps what they wrote as fixtures.
//!
//! Each [`Case`] is a short script of model replies, the command lines to run, and which outputs to
//! keep. The program gets an empty HOME and a fresh git repository, so nothing of the machine leaks
//! in. What it wrote is then edited *in the text* ([`Tidy`]): long strings that are not ours and
//! long vendor lists are cut, paths and versions of this machine become neutral. Every other byte
//! (key order, number spelling, spacing, escapes) stays what the program wrote, because readers are
//! tested against those bytes. Hashes and byte offsets inside the logs therefore no longer match
//! the text around them.
//!
//! This never talks to a real model and installs nothing; before it, run
//! `npm i --prefix /tmp/agents @anthropic-ai/claude-code@latest @openai/codex@latest`.
//! To be sure that the programs stay offline, run it where only loopback is up:
//! `unshare -n sh -c 'ip link set lo up; cargo xtask record-fixtures'`.

use std::collections::VecDeque;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Records all cases, or only those named in `args`.
///
/// Options: `--agents DIR` (npm prefix holding the programs), `--scratch DIR` (made and removed),
/// `--out DIR` (the dialects folder).
pub(crate) fn run(args: &[String]) -> Result<(), Box<dyn Error>> {
    let mut agents = PathBuf::from("/tmp/agents");
    let mut scratch = PathBuf::from(NEUTRAL);
    let mut out = PathBuf::from("crates/interlingua/src/dialects");
    let mut wanted = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("`{arg}` needs a folder"));
        match arg.as_str() {
            "--agents" => agents = value()?.into(),
            "--scratch" => scratch = value()?.into(),
            "--out" => out = value()?.into(),
            name if CASES.iter().any(|case| case.name == name) => wanted.push(name),
            other => return Err(format!("`{other}` is neither an option nor a case").into()),
        }
    }
    if !out.is_dir() {
        return Err(
            format!("no folder `{}`\nhint: run from the repository root", out.display()).into()
        );
    }
    let mut talk = std::io::stderr();
    let mut failed = 0;
    for case in CASES.iter().filter(|case| wanted.is_empty() || wanted.contains(&case.name)) {
        let bench = Bench::set_up(&scratch, &agents, case)?;
        match bench.record(&out) {
            Ok(files) => {
                for (path, size) in files {
                    writeln!(talk, "{size:>7}  {}", path.display())?;
                }
            }
            Err(error) => {
                failed += 1;
                writeln!(talk, "case `{}` failed: {error}", case.name)?;
            }
        }
        fs::remove_dir_all(&scratch)?;
    }
    if failed > 0 { Err(format!("{failed} cases failed").into()) } else { Ok(()) }
}

// --- the cases ---

/// One recording: what the model says, what we run, what we keep.
struct Case {
    name: &'static str,
    agent: Agent,
    script: &'static [Reply],
    runs: &'static [Run],
    keep: &'static [(Source, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Agent {
    Claude,
    Codex,
}

/// One start of the program. `{thread}` in `args` and `{repo}` in `say` are filled in;
/// `say` drives stdin, and when it is empty the prompt is among the arguments.
struct Run {
    args: &'static [&'static str],
    say: &'static [Step],
}

enum Step {
    /// Writes a line. `{=a.b}` is the raw value at that path of the line awaited last.
    Send(&'static str),
    /// Waits for a stdout line that contains this text.
    Await(&'static str),
}

enum Source {
    /// stdout of the n-th run.
    Stdout(usize),
    /// The session log: for Codex the first thread.
    Log,
    /// The log of a subagent.
    ChildLog,
    /// The small file Claude Code puts beside a subagent's log.
    ChildMeta,
    /// The log of a Codex fork.
    ForkLog,
}

/// An answer of the scripted model, given to the first request that contains `when`.
struct Reply {
    when: &'static str,
    act: Act,
}

enum Act {
    Say(&'static [Block]),
    /// Says the blocks, never closes the last one, and waits for the client to hang up.
    Stall(&'static [Block]),
    Refuse(&'static str, &'static str),
}

enum Block {
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

const fn say(blocks: &'static [Block]) -> Reply {
    Reply { when: "", act: Act::Say(blocks) }
}

const fn call(id: &'static str, name: &'static str, input: &'static str) -> Block {
    Block::Call { id, namespace: "", name, input }
}

const fn exec(id: &'static str, input: &'static str) -> Block {
    Block::Freeform { id, name: "exec", input }
}

const CLAUDE: &[&str] =
    &["-p", "--session-id", SESSION, "--output-format", "stream-json", "--verbose"];
const CODEX: &[&str] =
    &["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--disable", "plugins"];

/// Longer than the cut, with every kind of escape: proves that our own text survives whole.
const LONG_TEXT: &str = "I look at the notes and at the state of the repository at once.\n\n\
    | file | why |\n|---|---|\n| `notes.txt` | it says \"hello\" \\ «grüß dich» \u{1f980} |\n| `src/` | \
    may not exist; a tab\there and a slash / there |\n\nThen I try one command that must fail.";

const CASES: &[Case] = &[
    Case {
        name: "claude-tools",
        agent: Agent::Claude,
        script: &[
            say(&[
                Block::Thinking(&["The user wants a look around. ", "Two calls can run together."]),
                Block::Redacted("cmVkYWN0ZWQtYnktdGhlLWZpeHR1cmUtc2VydmVy"),
                Block::Text(LONG_TEXT),
                call(
                    "toolu_demo01",
                    "Bash",
                    r#"{"command":"cat notes.txt; echo oops >&2; exit 3","description":"Fail"}"#,
                ),
                call("toolu_demo02", "Read", r#"{"file_path":"{repo}/notes.txt"}"#),
            ]),
            say(&[Block::Text("Done: read the notes, saw one failure.")]),
        ],
        runs: &[Run { args: &["look around, then fail once"], say: &[] }],
        keep: &[(Source::Log, "claude_code/tools"), (Source::Stdout(0), "claude_stream/plain")],
    },
    Case {
        name: "claude-compacted",
        agent: Agent::Claude,
        script: &[
            say(&[Block::Text("The word is heron.")]),
            say(&[Block::Text(
                "<summary>The user asked for a word; the answer was heron.</summary>",
            )]),
            say(&[Block::Text("You asked for a word, and it was heron.")]),
        ],
        runs: &[Run {
            args: &[],
            say: &[
                Step::Send(
                    r#"{"type":"user","message":{"role":"user","content":"give me a word"}}"#,
                ),
                Step::Await(r#""terminal_reason""#),
                Step::Send(r#"{"type":"user","message":{"role":"user","content":"/compact"}}"#),
                Step::Await(r#""type":"result""#),
                Step::Send(r#"{"type":"user","message":{"role":"user","content":"what was it?"}}"#),
                Step::Await(r#""terminal_reason""#),
            ],
        }],
        keep: &[
            (Source::Log, "claude_code/compacted"),
            (Source::Stdout(0), "claude_stream/compacted"),
        ],
    },
    Case {
        name: "claude-subagent",
        agent: Agent::Claude,
        script: &[
            say(&[
                Block::Text("I hand this to a helper."),
                call(
                    "toolu_demo10",
                    "Agent",
                    r#"{"description":"Count lines","prompt":"count the lines of notes.txt","subagent_type":"general-purpose","run_in_background":false}"#,
                ),
            ]),
            say(&[
                Block::Thinking(&["wc does it."]),
                call(
                    "toolu_demo11",
                    "Bash",
                    r#"{"command":"wc -l < notes.txt","description":"Count"}"#,
                ),
            ]),
            say(&[Block::Text("Two lines.")]),
            say(&[Block::Text("The helper counted two lines.")]),
        ],
        runs: &[Run { args: &["how many lines, ask a helper"], say: &[] }],
        keep: &[
            (Source::Log, "claude_code/subagent"),
            (Source::ChildLog, "claude_code/subagent-child"),
            (Source::ChildMeta, "claude_code/subagent-child.meta.json"),
            (Source::Stdout(0), "claude_stream/subagent"),
        ],
    },
    Case {
        name: "claude-interrupted",
        agent: Agent::Claude,
        script: &[Reply {
            when: "",
            act: Act::Stall(&[
                Block::Thinking(&["A long story, then."]),
                Block::Text("Once upon a time there was a"),
            ]),
        }],
        runs: &[Run {
            args: &["--include-partial-messages"],
            say: &[
                Step::Send(
                    r#"{"type":"user","message":{"role":"user","content":"tell me a story"}}"#,
                ),
                Step::Await("there was a"),
                Step::Send(
                    r#"{"type":"control_request","request_id":"demo-1","request":{"subtype":"interrupt"}}"#,
                ),
                Step::Await(r#""subtype":"error_during_execution""#),
            ],
        }],
        keep: &[
            (Source::Log, "claude_code/interrupted"),
            (Source::Stdout(0), "claude_stream/interrupted"),
        ],
    },
    Case {
        name: "claude-partial",
        agent: Agent::Claude,
        script: &[
            say(&[
                Block::Thinking(&["One call is enough."]),
                Block::Text("I read \"notes\" first. \u{1f980}"),
                call("toolu_demo20", "Read", r#"{"file_path":"{repo}/notes.txt"}"#),
            ]),
            say(&[Block::Text("It says hello.")]),
        ],
        runs: &[Run { args: &["--include-partial-messages", "read the notes"], say: &[] }],
        keep: &[(Source::Stdout(0), "claude_stream/partial")],
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
            (Source::Stdout(0), "claude_stream/api-error"),
            (Source::Log, "claude_code/api-error"),
        ],
    },
    Case {
        name: "claude-max-turns",
        agent: Agent::Claude,
        script: &[say(&[call(
            "toolu_demo30",
            "Bash",
            r#"{"command":"echo one","description":"Echo"}"#,
        )])],
        runs: &[Run { args: &["--max-turns", "1", "run echo"], say: &[] }],
        keep: &[(Source::Stdout(0), "claude_stream/max-turns")],
    },
    Case {
        name: "claude-control",
        agent: Agent::Claude,
        script: &[
            say(&[call(
                "toolu_demo40",
                "Write",
                r#"{"file_path":"{repo}/allowed.txt","content":"yes\n"}"#,
            )]),
            say(&[call(
                "toolu_demo41",
                "Bash",
                r#"{"command":"touch denied.txt","description":"Touch"}"#,
            )]),
            say(&[Block::Text("One was allowed, one was not.")]),
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
        keep: &[(Source::Stdout(0), "claude_stream/control"), (Source::Log, "claude_code/denied")],
    },
    Case {
        name: "codex-code-mode",
        agent: Agent::Codex,
        script: &[
            say(&[
                Block::Thinking(&[
                    "**Looking around**\n\nTwo commands at once.",
                    "**Planning**\n\nThen a patch.",
                ]),
                Block::Text("I read the notes first."),
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
            say(&[Block::Text("Done: patched `notes.txt`, saw two failures.")]),
        ],
        runs: &[Run { args: &["read, patch, fail"], say: &[] }],
        keep: &[(Source::Log, "codex/code-mode")],
    },
    Case {
        name: "codex-functions",
        agent: Agent::Codex,
        script: &[
            say(&[
                Block::Thinking(&["**Reading**\n\nBoth calls are independent."]),
                Block::Text("I run two commands."),
                call("call_demo10", "exec_command", r#"{"cmd":"cat notes.txt"}"#),
                call("call_demo11", "exec_command", r#"{"cmd":"echo oops >&2; exit 3"}"#),
            ]),
            say(&[
                Block::WebSearch("heron"),
                call(
                    "call_demo12",
                    "exec_command",
                    r#"{"cmd":"apply_patch <<'EOP'\n*** Begin Patch\n*** Add File: new.txt\n+one\n*** End Patch\nEOP"}"#,
                ),
                call("call_demo13", "no_such_tool", r#"{"x":1}"#),
            ]),
            say(&[Block::Text("Done.")]),
        ],
        runs: &[Run { args: &["-m", "demo-model", "read and fail"], say: &[] }],
        keep: &[(Source::Log, "codex/functions")],
    },
    Case {
        name: "codex-resumed",
        agent: Agent::Codex,
        script: &[
            say(&[Block::Text("The word is heron.")]),
            say(&[Block::Text("It was heron.")]),
            say(&[Block::Text("In this branch it is egret.")]),
        ],
        runs: &[
            Run { args: &["-m", "demo-model", "give me a word"], say: &[] },
            Run { args: &["-m", "demo-model", "resume", "{thread}", "what was it?"], say: &[] },
            Run { args: &["-m", "demo-model", "fork", "{thread}", "another one"], say: &[] },
        ],
        keep: &[(Source::Log, "codex/resumed"), (Source::ForkLog, "codex/forked")],
    },
    Case {
        name: "codex-subagent",
        agent: Agent::Codex,
        script: &[
            say(&[Block::Call {
                id: "call_demo20",
                namespace: "collaboration",
                name: "spawn_agent",
                input: r#"{"task_name":"counter","message":"count the lines of notes.txt","fork_turns":"none"}"#,
            }]),
            Reply { when: "collab_spawn", act: Act::Say(&[Block::Text("Two lines.")]) },
            Reply {
                when: "call_demo20",
                act: Act::Say(&[Block::Call {
                    id: "call_demo21",
                    namespace: "collaboration",
                    name: "wait_agent",
                    input: r#"{"timeout_ms":10000}"#,
                }]),
            },
            Reply {
                when: "call_demo21",
                act: Act::Say(&[Block::Text("The helper counted two lines.")]),
            },
        ],
        runs: &[Run { args: &["how many lines, ask a helper"], say: &[] }],
        keep: &[(Source::Log, "codex/subagent"), (Source::ChildLog, "codex/subagent-child")],
    },
    Case {
        name: "codex-interrupted",
        agent: Agent::Codex,
        script: &[Reply {
            when: "",
            act: Act::Stall(&[Block::Text("Once upon a time there was a")]),
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
        keep: &[(Source::Log, "codex/interrupted")],
    },
    Case {
        name: "codex-compacted",
        agent: Agent::Codex,
        script: &[
            say(&[Block::Text("The word is heron.")]),
            say(&[Block::Text("The user asked for a word; the answer was heron.")]),
            say(&[Block::Text("It was heron.")]),
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
        keep: &[(Source::Log, "codex/compacted")],
    },
];

const INITIALIZE: &str = r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"demo","title":"demo","version":"0.0.0"},"capabilities":{"experimentalApi":true}}}"#;
const START_THREAD: &str = r#"{"id":2,"method":"thread/start","params":{"cwd":"{repo}","approvalPolicy":"never","sandbox":"danger-full-access","model":"demo-model"}}"#;

// --- running programs ---

/// A scratch HOME, a scratch repository and a scripted model, for one case.
struct Bench<'a> {
    case: &'static Case,
    scratch: &'a Path,
    program: PathBuf,
    model: Model,
}

impl<'a> Bench<'a> {
    fn set_up(scratch: &'a Path, agents: &Path, case: &'static Case) -> Outcome<Self> {
        let marker = scratch.join(".record-fixtures");
        if scratch.exists() {
            if !marker.exists() {
                return Err(format!("`{}` exists and is not ours", scratch.display()).into());
            }
            fs::remove_dir_all(scratch)?;
        }
        let (home, repo) = (scratch.join("user"), scratch.join("repo"));
        fs::create_dir_all(home.join(".codex"))?;
        fs::create_dir_all(&repo)?;
        fs::write(marker, "")?;
        fs::write(repo.join("notes.txt"), "hello\nworld\n")?;

        let modules = agents.join("node_modules");
        let program = match case.agent {
            Agent::Claude => modules.join("@anthropic-ai/claude-code/bin/claude.exe"),
            // The launcher beside it would leave its child behind when stopped.
            Agent::Codex => find(&modules.join("@openai"), &|path| path.ends_with("bin/codex"))?
                .pop()
                .ok_or("no `codex` program\nhint: see the npm line in record_fixtures.rs")?,
        };
        let repo_text = repo.display().to_string();
        let model = Model::start(case.script, &repo_text)?;
        fs::write(
            home.join(".codex/config.toml"),
            format!(
                "model_provider = \"demo\"\ncheck_for_update_on_startup = false\n\
                 [model_providers.demo]\nname = \"demo\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
                 env_key = \"DEMO_KEY\"\nwire_api = \"responses\"\n[analytics]\nenabled = false\n\
                 [projects.\"{repo_text}\"]\ntrust_level = \"trusted\"\n",
                model.port
            ),
        )?;
        let bench = Self { case, scratch, program, model };
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "notes.txt"],
            &["commit", "--quiet", "--message=start"],
        ] {
            if !bench.command("git".as_ref()).args(args).status()?.success() {
                return Err("git failed".into());
            }
        }
        Ok(bench)
    }

    /// Runs the case and writes its fixtures; returns each file with its size.
    fn record(self, out: &Path) -> Outcome<Vec<(PathBuf, usize)>> {
        let mut printed = Vec::new();
        for run in self.case.runs {
            printed.push(self.converse(run)?);
        }
        self.model.finished()?;

        let tidy = Tidy::new(self.scratch, self.case)?;
        let mut files = Vec::new();
        for (source, target) in self.case.keep {
            let text = match source {
                Source::Stdout(run) => {
                    printed.get(*run).ok_or("a case keeps the output of a run it has not")?.clone()
                }
                other => fs::read_to_string(self.log(other)?)?,
            };
            let (dialect, name) = target.split_once('/').ok_or("a target is `dialect/name`")?;
            let name = if name.contains('.') { name.to_owned() } else { format!("{name}.jsonl") };
            let path = out.join(dialect).join("fixtures").join(SET).join(name);
            let mut kept = String::with_capacity(text.len());
            for line in text.split_inclusive('\n') {
                tidy.line(line, &mut kept)?;
            }
            no_machine_words(&kept).map_err(|word| format!("{target}: `{word}` is left"))?;
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&path, &kept)?;
            files.push((path, kept.len()));
        }
        Ok(files)
    }

    /// A command in the scratch repository that sees nothing of this machine's environment.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .current_dir(self.scratch.join("repo"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.scratch.join("user"))
            .envs([
                ("USER", "demo"),
                ("LANG", "C.UTF-8"),
                ("TERM", "dumb"),
                ("TZ", "UTC"),
                ("SHELL", "/bin/bash"),
            ])
            .envs([("GIT_AUTHOR_NAME", "demo"), ("GIT_AUTHOR_EMAIL", "demo@example.org")])
            .envs([("GIT_COMMITTER_NAME", "demo"), ("GIT_COMMITTER_EMAIL", "demo@example.org")])
            .envs([("GIT_AUTHOR_DATE", GIT_DATE), ("GIT_COMMITTER_DATE", GIT_DATE)])
            .envs([("ANTHROPIC_API_KEY", "demo-key"), ("DEMO_KEY", "demo-key")])
            .env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", self.model.port))
            .envs([("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")])
            // Claude Code refuses to skip permissions as root unless told it is boxed in.
            .env("IS_SANDBOX", "1");
        command
    }

    /// Starts the program, plays `run.say` on its stdin, and returns all it printed.
    fn converse(&self, run: &Run) -> Outcome<String> {
        let (common, more): (&[_], &[_]) = match (self.case.agent, run.say.is_empty()) {
            (Agent::Claude, true) => (CLAUDE, &["--dangerously-skip-permissions"]),
            (Agent::Claude, false) => (CLAUDE, &["--input-format", "stream-json"]),
            (Agent::Codex, true) => (CODEX, &[]),
            (Agent::Codex, false) => (&[], &[]),
        };
        let mut args = Vec::new();
        for arg in common.iter().chain(more).chain(run.args) {
            let mut arg = (*arg).to_owned();
            if arg.contains("{thread}") {
                let log = fs::read_to_string(self.log(&Source::Log)?)?;
                let id = at_path(&log, "payload.id").ok_or("a rollout without an id")?;
                arg = arg.replace("{thread}", id.trim_matches('"'));
            }
            args.push(arg);
        }
        let mut program = Running::start(self.command(&self.program).args(args))?;
        let mut awaited = String::new();
        for step in run.say {
            match step {
                Step::Send(template) => {
                    let line = template
                        .replace("{repo}", &self.scratch.join("repo").display().to_string());
                    program.send(&fill(&line, &awaited)?)?;
                }
                Step::Await(text) => awaited = program.line_with(text)?,
            }
        }
        program.end()
    }

    /// Where the program left what `source` names.
    fn log(&self, source: &Source) -> Outcome<PathBuf> {
        let home = self.scratch.join("user");
        let has = |path: &Path, extension: &str| path.extension().is_some_and(|is| is == extension);
        let found = match (self.case.agent, source) {
            (Agent::Claude, Source::ChildLog) => {
                find(&home, &|path| path.iter().any(|p| p == "subagents") && has(path, "jsonl"))?
            }
            (Agent::Claude, Source::ChildMeta) => {
                find(&home, &|path| path.iter().any(|p| p == "subagents") && has(path, "json"))?
            }
            (Agent::Claude, _) => find(&home, &|path| path.ends_with(format!("{SESSION}.jsonl")))?,
            (Agent::Codex, source) => find(&home.join(".codex/sessions"), &|path| {
                let text = fs::read_to_string(path).unwrap_or_default();
                let meta = at_path(&text, "payload").unwrap_or_default();
                let is = (at_path(meta, "parent_thread_id"), at_path(meta, "forked_from_id"));
                match source {
                    Source::ChildLog => is.0.is_some(),
                    Source::ForkLog => is.1.is_some(),
                    Source::Log | Source::ChildMeta | Source::Stdout(_) => is == (None, None),
                }
            })?,
        };
        match <[PathBuf; 1]>::try_from(found) {
            Ok([path]) => Ok(path),
            Err(found) => Err(format!("expected one log, found {found:?}").into()),
        }
    }
}

/// A started program, ended by its own exit or by `Drop`.
struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: String,
    deadline: Instant,
}

impl Running {
    fn start(command: &mut Command) -> Outcome<Self> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            while matches!(stdout.read_line(&mut line), Ok(1..)) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines, seen: String::new(), deadline: Instant::now() + PATIENCE })
    }

    fn send(&mut self, line: &str) -> Outcome<()> {
        let stdin = self.child.stdin.as_mut().ok_or("stdin is closed")?;
        writeln!(stdin, "{line}")?;
        Ok(stdin.flush()?)
    }

    fn line_with(&mut self, text: &str) -> Outcome<String> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).map_err(|_| {
                format!(
                    "never printed `{text}`; last: {}",
                    self.seen.lines().last().unwrap_or("nothing")
                )
            })?;
            self.seen.push_str(&line);
            if line.contains(text) {
                return Ok(line);
            }
        }
    }

    fn end(mut self) -> Outcome<String> {
        drop(self.child.stdin.take());
        loop {
            match self.lines.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.push_str(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => return Err("did not end in time".into()),
            }
        }
        // Failing runs are fixtures too, so the exit code does not matter here.
        self.child.wait()?;
        Ok(std::mem::take(&mut self.seen))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail when the program has ended already, which is the usual case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Replaces each `{=path}` by the raw value at that path of `line`.
fn fill(template: &str, line: &str) -> Outcome<String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{=") {
        let (path, after) = after.split_once('}').ok_or("an open `{=`")?;
        filled.push_str(before);
        filled.push_str(at_path(line, path).ok_or_else(|| format!("no `{path}` in {line}"))?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn find(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            found.extend(find(&path, wanted)?);
        } else if wanted(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

// --- scripted model ---

/// A model on loopback that says what its script says: `POST /v1/messages` as Anthropic,
/// `POST /v1/responses` as OpenAI, anything else is not found.
struct Model {
    port: u16,
    stage: Arc<Mutex<Stage>>,
}

struct Stage {
    left: VecDeque<&'static Reply>,
    repo: String,
    served: usize,
    /// Requests the script had no answer for.
    surprises: Vec<String>,
}

impl Model {
    fn start(script: &'static [Reply], repo: &str) -> Outcome<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let stage = Stage {
            left: script.iter().collect(),
            repo: repo.to_owned(),
            served: 0,
            surprises: Vec::new(),
        };
        let stage = Arc::new(Mutex::new(stage));
        let shared = Arc::clone(&stage);
        let open = Arc::new(AtomicUsize::new(0));
        // The thread lives as long as xtask: a case costs one idle listener, and xtask ends soon.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if open.load(Ordering::SeqCst) >= MAX_CONNECTIONS {
                    continue;
                }
                open.fetch_add(1, Ordering::SeqCst);
                let (stage, open) = (Arc::clone(&shared), Arc::clone(&open));
                thread::spawn(move || {
                    // A client that hangs up early is part of some cases.
                    let _ = serve(stream, &stage);
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Ok(Self { port, stage })
    }

    /// Fails when the program asked more or less than the script expected.
    fn finished(&self) -> Outcome<()> {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if stage.left.is_empty() && stage.surprises.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{} replies unused, unexpected requests: {:?}",
            stage.left.len(),
            stage.surprises
        )
        .into())
    }
}

fn serve(mut stream: TcpStream, stage: &Mutex<Stage>) -> Outcome<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = Vec::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        (&mut reader).take(MAX_LINE).read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() || head.len() == MAX_HEADERS {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
        head.push(line.to_owned());
    }
    let mut body = String::new();
    reader.take(MAX_BODY.min(length)).read_to_string(&mut body)?;

    let request = head.first().map_or("", String::as_str);
    let anthropic = request.starts_with("POST /v1/messages");
    if !anthropic && !request.starts_with("POST /v1/responses") {
        return answer(&mut stream, "404 Not Found", "application/json", "{}");
    }
    let (reply, voice) = {
        let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = stage.left.iter().position(|reply| body.contains(reply.when)) else {
            let tail = body.chars().rev().take(300).collect::<Vec<_>>().into_iter().rev();
            stage.surprises.push(format!("{request} … {}", tail.collect::<String>()));
            let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"not in the script"}}"#;
            return answer(&mut stream, "400 Bad Request", "application/json", refusal);
        };
        let reply = stage.left.remove(at).ok_or("the reply was just seen")?;
        stage.served += 1;
        let model = at_path(&body, "model").unwrap_or("\"demo-model\"").to_owned();
        (
            reply,
            Voice {
                n: stage.served,
                model,
                repo: stage.repo.clone(),
                out: String::new(),
                events: 0,
            },
        )
    };
    match &reply.act {
        Act::Refuse(status, body) => answer(&mut stream, status, "application/json", body),
        Act::Say(blocks) => {
            let text = if anthropic {
                voice.messages(blocks, false)
            } else {
                voice.responses(blocks, false)
            };
            answer(&mut stream, "200 OK", "text/event-stream", &text)
        }
        Act::Stall(blocks) => {
            let text = if anthropic {
                voice.messages(blocks, true)
            } else {
                voice.responses(blocks, true)
            };
            answer(&mut stream, "200 OK", "text/event-stream", &text)?;
            // Nothing more comes from the client but its hanging up.
            while stream.read(&mut [0])? > 0 {}
            Ok(())
        }
    }
}

/// Writes a response without a length: the body ends when the connection does.
fn answer(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> Outcome<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nrequest-id: req_demo\r\nconnection: close\r\n\r\n{body}"
    )?;
    Ok(stream.flush()?)
}

/// Speaks one reply as server-sent events.
struct Voice {
    n: usize,
    model: String,
    repo: String,
    out: String,
    events: usize,
}

impl Voice {
    fn messages(mut self, blocks: &[Block], cut: bool) -> String {
        let (n, model) = (self.n, self.model.clone());
        let usage = |output: usize| {
            format!(
                r#"{{"input_tokens":{},"cache_creation_input_tokens":20,"cache_read_input_tokens":{},"cache_creation":{{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":0}},"output_tokens":{output},"service_tier":"standard"}}"#,
                100 + n,
                1000 * (n - 1)
            )
        };
        self.emit("message_start", &format!(
            r#""message":{{"id":"msg_demo{n:02}","type":"message","role":"assistant","model":{model},"content":[],"stop_reason":null,"stop_sequence":null,"usage":{}}}"#,
            usage(1)
        ));
        let mut stop = "end_turn";
        for (index, block) in blocks.iter().enumerate() {
            let (start, deltas) = match block {
                Block::Thinking(parts) => {
                    let mut deltas = parts
                        .iter()
                        .map(|part| {
                            format!(r#"{{"type":"thinking_delta","thinking":{}}}"#, quote(part))
                        })
                        .collect::<Vec<_>>();
                    deltas
                        .push(format!(r#"{{"type":"signature_delta","signature":"{SIGNATURE}"}}"#));
                    (r#"{"type":"thinking","thinking":"","signature":""}"#.to_owned(), deltas)
                }
                Block::Redacted(data) => {
                    (format!(r#"{{"type":"redacted_thinking","data":"{data}"}}"#), Vec::new())
                }
                Block::Call { id, name, input, .. } => {
                    stop = "tool_use";
                    let input = input.replace("{repo}", &self.repo);
                    let deltas = halves(&input)
                        .map(|half| {
                            format!(
                                r#"{{"type":"input_json_delta","partial_json":{}}}"#,
                                quote(half)
                            )
                        })
                        .to_vec();
                    (
                        format!(
                            r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#
                        ),
                        deltas,
                    )
                }
                Block::Text(text) => {
                    let deltas = halves(text)
                        .map(|half| format!(r#"{{"type":"text_delta","text":{}}}"#, quote(half)))
                        .to_vec();
                    (r#"{"type":"text","text":""}"#.to_owned(), deltas)
                }
                Block::Freeform { .. } | Block::WebSearch(_) => continue,
            };
            self.emit(
                "content_block_start",
                &format!(r#""index":{index},"content_block":{start}"#),
            );
            for delta in deltas {
                self.emit("content_block_delta", &format!(r#""index":{index},"delta":{delta}"#));
            }
            if cut && index + 1 == blocks.len() {
                return self.out;
            }
            self.emit("content_block_stop", &format!(r#""index":{index}"#));
        }
        self.emit(
            "message_delta",
            &format!(
                r#""delta":{{"stop_reason":"{stop}","stop_sequence":null}},"usage":{}"#,
                usage(30 + n)
            ),
        );
        self.emit("message_stop", "");
        self.out
    }

    fn responses(mut self, blocks: &[Block], cut: bool) -> String {
        let (n, model) = (self.n, self.model.clone());
        let response = |status: &str, rest: &str| {
            format!(
                r#""response":{{"id":"resp_demo{n:02}","object":"response","created_at":1790000000,"model":{model},"status":"{status}"{rest}}}"#
            )
        };
        self.emit("response.created", &response("in_progress", r#","output":[]"#));
        let mut output = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            let id = format!("demo{n:02}{index}");
            let at = format!(r#""output_index":{index},"item_id":"{id}""#);
            let mut deltas = Vec::new();
            let (open, done) = match block {
                Block::Thinking(parts) => {
                    let mut summary = Vec::new();
                    for (part_index, part) in parts.iter().enumerate() {
                        let (at, text) =
                            (format!(r#"{at},"summary_index":{part_index}"#), quote(part));
                        deltas.push((
                            "response.reasoning_summary_part.added",
                            format!(r#"{at},"part":{{"type":"summary_text","text":""}}"#),
                        ));
                        deltas.push((
                            "response.reasoning_summary_text.delta",
                            format!(r#"{at},"delta":{text}"#),
                        ));
                        deltas.push((
                            "response.reasoning_summary_text.done",
                            format!(r#"{at},"text":{text}"#),
                        ));
                        summary.push(format!(r#"{{"type":"summary_text","text":{text}}}"#));
                    }
                    let item = |summary: &str| {
                        format!(
                            r#"{{"type":"reasoning","id":"{id}","summary":[{summary}],"encrypted_content":"{SIGNATURE}"}}"#
                        )
                    };
                    (item(""), item(&summary.join(",")))
                }
                Block::Text(text) => {
                    for half in halves(text) {
                        deltas.push((
                            "response.output_text.delta",
                            format!(r#"{at},"content_index":0,"delta":{}"#, quote(half)),
                        ));
                    }
                    let item = |content: &str| {
                        format!(
                            r#"{{"type":"message","id":"{id}","role":"assistant","status":"completed","content":[{content}]}}"#
                        )
                    };
                    (
                        item(""),
                        item(&format!(
                            r#"{{"type":"output_text","text":{},"annotations":[]}}"#,
                            quote(text)
                        )),
                    )
                }
                Block::Call { id: call_id, namespace, name, input } => {
                    let namespace = match *namespace {
                        "" => String::new(),
                        name => format!(r#","namespace":"{name}""#),
                    };
                    for half in halves(input) {
                        deltas.push((
                            "response.function_call_arguments.delta",
                            format!(r#"{at},"delta":{}"#, quote(half)),
                        ));
                    }
                    let item = |input: &str| {
                        format!(
                            r#"{{"type":"function_call","id":"{id}","call_id":"{call_id}","name":"{name}"{namespace},"arguments":{},"status":"completed"}}"#,
                            quote(input)
                        )
                    };
                    (item(""), item(input))
                }
                Block::Freeform { id: call_id, name, input } => {
                    let item = |input: &str| {
                        format!(
                            r#"{{"type":"custom_tool_call","id":"{id}","call_id":"{call_id}","name":"{name}","input":{},"status":"completed"}}"#,
                            quote(input)
                        )
                    };
                    (item(""), item(input))
                }
                Block::WebSearch(query) => {
                    let item = format!(
                        r#"{{"type":"web_search_call","id":"{id}","status":"completed","action":{{"type":"search","query":"{query}"}}}}"#
                    );
                    (item.clone(), item)
                }
                Block::Redacted(_) => continue,
            };
            self.emit(
                "response.output_item.added",
                &format!(r#""output_index":{index},"item":{open}"#),
            );
            for (name, delta) in deltas {
                self.emit(name, &delta);
            }
            if cut && index + 1 == blocks.len() {
                return self.out;
            }
            self.emit(
                "response.output_item.done",
                &format!(r#""output_index":{index},"item":{done}"#),
            );
            output.push(done);
        }
        let (input, cached, written) = (1000 + n, 100 * (n - 1), 50 + n);
        let usage = format!(
            r#","output":[{}],"usage":{{"input_tokens":{input},"input_tokens_details":{{"cached_tokens":{cached}}},"output_tokens":{written},"output_tokens_details":{{"reasoning_tokens":7}},"total_tokens":{}}}"#,
            output.join(","),
            input + written
        );
        self.emit("response.completed", &response("completed", &usage));
        self.out
    }

    fn emit(&mut self, name: &str, members: &str) {
        let comma = if members.is_empty() { "" } else { "," };
        let number = if name.starts_with("response.") {
            format!(r#","sequence_number":{}"#, self.events)
        } else {
            String::new()
        };
        self.events += 1;
        let data = format!(r#"{{"type":"{name}"{number}{comma}{members}}}"#);
        self.out.extend(["event: ", name, "\ndata: ", &data, "\n\n"]);
    }
}

fn halves(text: &str) -> [&str; 2] {
    let mut at = text.len() / 2;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let (first, second) = text.split_at(at);
    [first, second]
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c < ' ' => quoted.extend(["\\u", &format!("{:04x}", u32::from(c))]),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

// --- tidying ---

/// Edits the text of a JSON line without parsing it into values, so that all it does not touch stays
/// as written.
struct Tidy {
    /// What of this machine is replaced by what, in this order. (No program writes the host name.)
    swaps: Vec<(String, String)>,
    /// Texts of the script, as JSON strings: never cut.
    ours: Vec<String>,
}

impl Tidy {
    fn new(scratch: &Path, case: &Case) -> Outcome<Self> {
        let scratch = scratch.display().to_string();
        let slug = |path: &str| path.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let mut swaps = vec![(slug(&scratch), slug(NEUTRAL)), (scratch, NEUTRAL.to_owned())];
        let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        swaps.push((release.trim().to_owned(), "6.1.0".to_owned()));
        let mut ours = Vec::new();
        for reply in case.script {
            let (Act::Say(blocks) | Act::Stall(blocks)) = reply.act else { continue };
            for block in blocks {
                match block {
                    Block::Thinking(parts) => {
                        ours.extend(parts.iter().map(|part| quote(part)));
                        ours.push(quote(&parts.concat()));
                    }
                    Block::Text(text) | Block::Redacted(text) => ours.push(quote(text)),
                    Block::Call { input, .. } | Block::Freeform { input, .. } => {
                        ours.push(quote(input));
                    }
                    Block::WebSearch(_) => {}
                }
            }
        }
        Ok(Self { swaps, ours })
    }

    /// Appends the edited line. A line that is no JSON object only has names replaced.
    fn line(&self, line: &str, out: &mut String) -> Outcome<()> {
        if line.trim_start().starts_with('{') {
            self.value(line, Place::Open, out)
        } else {
            out.push_str(&self.swap(line));
            Ok(())
        }
    }

    /// Appends one value with the spaces around it.
    fn value(&self, text: &str, place: Place, out: &mut String) -> Outcome<()> {
        let inner = text.trim();
        let lead = text.len() - text.trim_start().len();
        let (before, after) = (&text[..lead], &text[lead + inner.len()..]);
        out.push_str(before);
        match inner.as_bytes().first() {
            Some(b'{' | b'[') if parts(inner)?.is_empty() => out.push_str(inner),
            Some(b'"') => out.push_str(&self.string(inner, place)),
            Some(b'{') => {
                out.push('{');
                let members = parts(inner)?;
                let few = if place == Place::Schema { 1 } else { usize::MAX };
                for (i, member) in members.into_iter().take(few).enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    let (key, value) = member.split_at(key_end(member));
                    out.push_str(&self.swap(key));
                    self.value(
                        value,
                        place.inside(key.trim_end_matches([':', ' ']).trim().trim_matches('"')),
                        out,
                    )?;
                }
                out.push('}');
            }
            Some(b'[') => {
                out.push('[');
                let few = match place {
                    Place::Open => usize::MAX,
                    Place::Vendor => LIST,
                    Place::Schema => 1,
                };
                for (i, element) in parts(inner)?.into_iter().take(few).enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    self.value(element, place, out)?;
                }
                out.push(']');
            }
            _ => out.push_str(inner),
        }
        out.push_str(after);
        Ok(())
    }

    fn string(&self, quoted: &str, place: Place) -> String {
        let limit = if place == Place::Open { 160 } else { 60 };
        let swapped = self.swap(quoted);
        let raw = &swapped[1..swapped.len() - 1];
        let (mut chars, mut head) = (0, 0);
        let mut rest = raw;
        while !rest.is_empty() {
            if chars == HEAD {
                head = raw.len() - rest.len();
            }
            rest = &rest[char_len(rest)..];
            chars += 1;
        }
        if chars <= limit || self.ours.iter().any(|text| text == quoted) {
            return swapped;
        }
        format!("\"{}…[cut {} chars]\"", &raw[..head], chars - HEAD)
    }

    fn swap(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.swaps {
            if text.contains(from.as_str()) {
                text = text.replace(from, to);
            }
        }
        // Process and user numbers in path names.
        for prefix in ["/tmp/cc-socks/", "/tmp/claude-"] {
            if let Some((before, after)) = text.split_once(prefix) {
                text = format!(
                    "{before}{prefix}1{}",
                    after.trim_start_matches(|c: char| c.is_ascii_digit())
                );
            }
        }
        text
    }
}

/// Where in a line we are: in what the session said, or in lists and texts the vendor ships.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Open,
    Vendor,
    Schema,
}

impl Place {
    fn inside(self, key: &str) -> Self {
        match key {
            "properties" | "parameters" | "input_schema" if self != Self::Open => Self::Schema,
            _ if self != Self::Open => self,
            key if VENDOR_KEYS.contains(&key) => Self::Vendor,
            _ => Self::Open,
        }
    }
}

/// The comma-separated parts of an object or array, with their spaces, without the brackets.
fn parts(container: &str) -> Outcome<Vec<&str>> {
    let bytes = container.as_bytes();
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let (mut found, mut start) = (Vec::new(), 1);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b',' if depth == 1 => {
                found.push(&container[start..at]);
                start = at + 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1).ok_or("a bracket too many")?;
                if depth == 0 {
                    let last = &container[start..at];
                    if !(found.is_empty() && last.trim().is_empty()) {
                        found.push(last);
                    }
                    return if at + 1 == bytes.len() {
                        Ok(found)
                    } else {
                        Err("text after the end".into())
                    };
                }
            }
            _ => {}
        }
    }
    Err("an open bracket at the end of the line".into())
}

/// Where the value of an object member begins: after the key and its colon.
fn key_end(member: &str) -> usize {
    let lead = member.len() - member.trim_start().len();
    let key = string_len(&member[lead..]);
    let colon = member[lead + key..].find(':').map_or(0, |colon| colon + 1);
    lead + key + colon
}

/// Length of the JSON string, with its quotes, that `text` starts with.
fn string_len(text: &str) -> usize {
    let mut at = 1;
    while at < text.len() && !text[at..].starts_with('"') {
        at += char_len(&text[at..]);
    }
    (at + 1).min(text.len())
}

/// Length of the first character of a raw JSON string: an escape, a pair of surrogate escapes, or a
/// plain character.
fn char_len(raw: &str) -> usize {
    let unicode = |text: &str| {
        text.starts_with("\\u").then(|| text.get(2..6)).flatten().map(str::to_ascii_lowercase)
    };
    let len = match unicode(raw) {
        Some(hex)
            if hex.starts_with(['d'])
                && hex[1..].starts_with(['8', '9', 'a', 'b'])
                && unicode(&raw[6..]).is_some() =>
        {
            12
        }
        Some(_) => 6,
        None if raw.starts_with('\\') => 2,
        None => raw.chars().next().map_or(0, char::len_utf8),
    };
    len.min(raw.len())
}

/// The raw text of the value at `a.b.c` of the first JSON object in `text`.
fn at_path<'a>(text: &'a str, path: &str) -> Option<&'a str> {
    let mut value = text.lines().next()?.trim();
    for key in path.split('.') {
        value = parts(value).ok()?.into_iter().find_map(|member| {
            let (name, value) = member.split_at(key_end(member));
            (name.trim_end_matches([':', ' ']).trim().trim_matches('"') == key)
                .then(|| value.trim())
        })?;
    }
    Some(value)
}

/// Fails with the word when `text` still names a folder of a real machine.
fn no_machine_words(text: &str) -> Result<(), &'static str> {
    // Codex calls its first agent `/root` and a helper `/root/<task>`; neither is a folder.
    let agents = ["/root/counter", "`/root`", "\"/root\"", ": /root\\n"];
    let text = agents.iter().fold(text.to_owned(), |text, agent| text.replace(agent, ""));
    match ["/root", "/work", "/home"].into_iter().find(|word| text.contains(word)) {
        Some(word) => Err(word),
        None => Ok(()),
    }
}

/// The folder the fixtures go to: the month the programs were current.
const SET: &str = "2026-11";
/// The scratch folder as fixtures show it.
const NEUTRAL: &str = "/tmp/demo";
const SESSION: &str = "11111111-2222-4333-8444-555555555555";
const GIT_DATE: &str = "2026-11-01T00:00:00Z";
/// "made by the fixture recorder"
const SIGNATURE: &str = "bWFkZSBieSB0aGUgZml4dHVyZSByZWNvcmRlcg==";
const PATIENCE: Duration = Duration::from_secs(60);
const MAX_CONNECTIONS: usize = 16;
const MAX_HEADERS: usize = 100;
const MAX_LINE: u64 = 64 << 10;
const MAX_BODY: u64 = 16 << 20;
/// How much of a cut string and of a cut list is kept.
const HEAD: usize = 40;
const LIST: usize = 3;
/// Members that hold the vendor's own lists and texts.
const VENDOR_KEYS: &[&str] = &[
    "agents",
    "attachment",
    "base_instructions",
    "betas",
    "capabilities",
    "commands",
    "memory_paths",
    "models",
    "plugins",
    "rendered",
    "shape",
    "skills",
    "slash_commands",
    "terminal_slash_commands",
    "tools",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn tidied(line: &str) -> String {
        let tidy = Tidy {
            swaps: vec![("/scratch/x".to_owned(), NEUTRAL.to_owned())],
            ours: vec![quote(LONG_TEXT)],
        };
        let mut out = String::new();
        assert!(tidy.line(line, &mut out).is_ok());
        out
    }

    #[test]
    fn what_is_not_cut_keeps_its_bytes() {
        let line =
            "{ \"b\" : 1.50e+3 ,\"a\":[ ] , \"\\u00e9\":\"\\/ \\\"x\\\" {,}\" , \"z\":{ } }\r\n";
        assert_eq!(tidied(line), line);
    }

    #[test]
    fn a_long_string_is_cut_between_characters() {
        let pair = "\\ud83e\\udd80";
        let line = format!("{{\"text\":\"{}\"}}\n", pair.repeat(161));
        assert_eq!(
            tidied(&line),
            format!("{{\"text\":\"{}…[cut 121 chars]\"}}\n", pair.repeat(40))
        );
    }

    #[test]
    fn our_own_long_text_is_never_cut() {
        let line = format!("{{\"text\":{}}}\n", quote(LONG_TEXT));
        assert!(LONG_TEXT.chars().count() > 160);
        assert_eq!(tidied(&line), line);
    }

    #[test]
    fn only_vendor_lists_are_cut() {
        assert_eq!(
            tidied(r#"{"tools":["a", "b","c" ,"d"],"content":[1,2,3,4]}"#),
            r#"{"tools":["a", "b","c" ],"content":[1,2,3,4]}"#
        );
    }

    #[test]
    fn scratch_paths_become_neutral_in_keys_and_values() {
        assert_eq!(
            tidied(r#"{"/scratch/x/a":"in /scratch/x/b","s":"/tmp/cc-socks/77.sock"}"#),
            r#"{"/tmp/demo/a":"in /tmp/demo/b","s":"/tmp/cc-socks/1.sock"}"#
        );
    }

    #[test]
    fn a_template_takes_raw_values_of_the_awaited_line() {
        let line = r#"{"request_id":"r1","request":{"input":{"a": [1,"}"]}}}"#;
        assert_eq!(
            fill(r#"{"id":{=request_id},"in":{=request.input}}"#, line).ok().as_deref(),
            Some(r#"{"id":"r1","in":{"a": [1,"}"]}}"#)
        );
    }
}
