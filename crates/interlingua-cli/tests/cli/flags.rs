//! Flags are accepted where they have an effect, and an unknown name gets a suggestion only if it is similar to a known
//! one.

use crate::support::Dir;

#[test]
fn quiet_and_verbose_stand_where_they_mean_something() {
    let dir = Dir::new("flags_help");
    for (command, quiet, verbose) in [
        ("convert", true, true),
        ("check", true, true),
        ("stats", true, true),
        ("show", true, false),
        ("translate", true, false),
        ("receipt diff", true, false),
        ("receipt verify", false, false),
        ("receipt", false, false),
        ("dialects", false, false),
        ("matrix", false, false),
        ("completions", false, false),
        ("man", false, false),
    ] {
        let help = dir.run(&format!("{command} --help"));
        assert_eq!(help.code, Some(0));
        assert_eq!(help.stdout().contains("--quiet"), quiet, "{command}");
        assert_eq!(help.stdout().contains("--verbose"), verbose, "{command}");
    }
    for (args, flag) in [
        ("dialects -q", "-q"),
        ("matrix --verbose", "--verbose"),
        ("completions bash -v", "-v"),
        ("man -q", "-q"),
        ("show x -v", "-v"),
        ("receipt verify x --quiet", "--quiet"),
        ("-q convert x --to record", "-q"),
    ] {
        let ran = dir.run(args);
        assert_eq!(ran.code, Some(2), "{args}");
        assert!(
            ran.stderr.contains(&format!("unexpected argument `{flag}` found")),
            "{args}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains("hint: "), "{args}: {}", ran.stderr);
    }
}

#[test]
fn help_does_not_repeat_the_list_of_dialects_and_completions_have_it() {
    let dir = Dir::new("flags_dialects");
    for command in ["convert", "check", "show", "stats", "matrix"] {
        let help = dir.run(&format!("{command} --help"));
        assert!(!help.stdout().contains("kimi-code"), "{command}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(dir.run(&format!("completions {shell}")).stdout().contains("kimi-code"), "{shell}");
    }
}

#[test]
fn names_are_offered_if_they_are_near() {
    let dir = Dir::new("flags_near");
    dir.write("x", "");
    for (args, name, near) in [
        ("convert x --to codx", "codx", "did you mean `codex`? "),
        ("convert x --to record --from codx", "codx", "did you mean `codex`? "),
        ("convert x --to gemni", "gemni", "did you mean `gemini`? "),
        ("convert x --to Codex", "Codex", "did you mean `codex`? "),
        ("convert x --to claude", "claude", "did you mean `claude-stream` or `claude-code`? "),
        ("convert x --to openai", "openai", "did you mean `openai-chat` or `openai-responses`? "),
        ("convert x --to chat", "chat", "did you mean `openai-chat` or `copilot-chat`? "),
        ("convert x --to codex-cli", "codex-cli", "did you mean `codex`? "),
        ("matrix openai", "openai", "did you mean `openai-chat` or `openai-responses`? "),
        ("matrix anthropic gemni", "gemni", "did you mean `gemini`? "),
        ("convert x --to gpt", "gpt", ""),
        ("convert x --to x", "x", ""),
        ("convert x --to c", "c", ""),
        ("convert x --to ppt", "ppt", ""),
        ("convert x --to markdown", "markdown", ""),
        ("convert x --to json", "json", ""),
    ] {
        dir.run(args).expect(
            2,
            &format!(
                "error: there is no dialect `{name}`\nhint: {near}`interlingua dialects` lists them all\n"
            ),
        );
    }
}
