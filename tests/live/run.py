"""Installs the agents, builds the example, and runs the suites of this folder, one after the other.

    python3 tests/live/run.py [--tools FOLDER] [--only codex,opencode,acp]

The agents (2 GB) come into `--tools` and stay there; `tests/agents/resume.py` uses the same folder.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/agents"))

from programs import PROGRAMS, folder_of, install  # noqa: E402

SUITES = {
    "codex": ["codex"],
    "opencode": ["opencode"],
    "acp": ["gemini-cli", "opencode", "qwen-code", "copilot-cli", "kimi-code"],
}


def command(suite, tools):
    examples = ROOT / "target/debug/examples"
    bins = {program.dialect: folder_of(program, tools) / "node_modules/.bin" / program.command for program in PROGRAMS}
    script = [sys.executable, ROOT / f"tests/live/{suite}.py"]
    interlingua = ["--interlingua", ROOT / "target/debug/interlingua"]
    if suite == "codex":
        return [*script, "--codex", bins["codex"], "--examples", examples]
    if suite == "opencode":
        return [*script, "--opencode", bins["opencode"], *interlingua, "--agent-link", examples / "agent_link"]
    return [*script, "--tools", tools, "--examples", examples, *interlingua]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "target/tools/agents")
    parser.add_argument("--only", default=",".join(SUITES))
    options = parser.parse_args()
    chosen = options.only.split(",")
    for suite in chosen:
        for program in PROGRAMS:
            if program.dialect in SUITES[suite]:
                install(program, options.tools)
    subprocess.run(["cargo", "build", "-p", "interlingua", "--example", "agent_link"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", "-p", "interlingua-cli"], cwd=ROOT, check=True)
    failed = []
    for suite in chosen:
        print(f"\n## {suite}", flush=True)
        if subprocess.run([str(part) for part in command(suite, options.tools)], cwd=ROOT).returncode != 0:
            failed.append(suite)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


main()
