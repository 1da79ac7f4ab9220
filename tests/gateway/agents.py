#!/usr/bin/env python3
"""Real agents through the gateway, offline: each does a task of five turns against a scripted model with another dialect.

    agent (its own API) -> `interlingua with` (translates) -> recorder -> `interlingua serve --mock` (the script)

The task has thoughts, a file created and edited with the agent's own tools, a call that fails, two commands at once, and a closing
text. Judged are the file on disk, the output of the agent, the requests that reached the backend, and the user's files.

    python3 tests/gateway/agents.py                       # every cell
    python3 tests/gateway/agents.py --only claude,codex   # these agents
    python3 tests/gateway/agents.py --self-check          # also breaks what was seen; every break must be found

The agents come from npm into `--tools` and stay there (3 GB; Claude Code and Codex alone 0.8 GB).
"""

import argparse
import contextlib
import copy
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave the tree as it was
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "agents"), str(HERE.parent / "logs"), str(HERE)]

from breaks_of_runs import BREAKS  # noqa: E402
from cells import AGENTS, CELLS, script  # noqa: E402
from verdict import Evidence, faults_of, has_text, is_changed  # noqa: E402
from programs import PROGRAMS, folder_of, install  # noqa: E402
from recorder import Recorder  # noqa: E402

PATIENCE = 120  # seconds for one run; most take five
GREETING = 60  # seconds for a greeting; an agent that repeats a request beside it takes longer

# Changes of a settings file that must be found, and are not.
CHANGES = [('{"a": 1}', '{"a": 2}'), ('{"a": {"b": 1}}', '{"a": {}}'), ('{"a": 1}', '{"a": 1, "b": "interlingua"}'), ("a = 1", "a = 1\n")]
UNSEEN_CHANGES = [change for change in CHANGES if not is_changed(*change)]


def main():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=target / "release/interlingua")
    parser.add_argument("--tools", type=pathlib.Path, default=target / "tools/agents", help="where the agents are installed")
    parser.add_argument("--only", default="", help="names of agents, with commas: " + ", ".join(AGENTS))
    parser.add_argument("--keep", type=pathlib.Path, help="leave scripts, outputs and requests in this folder")
    parser.add_argument("--self-check", action="store_true", help="also break what was seen of each run; every break must be found")
    options = parser.parse_args()
    if not options.bin.is_file():
        sys.exit(f"{options.bin}: not found; `cargo build --release --package interlingua-cli` makes it")
    only = [name for name in options.only.split(",") if name]
    if unknown := [name for name in only if name not in AGENTS]:
        sys.exit(f"no such agent: {', '.join(unknown)}; there are {', '.join(AGENTS)}")
    cells = [cell for cell in CELLS if not only or cell.agent in only]
    programs = {program.dialect: program for program in PROGRAMS}
    for name in dict.fromkeys(AGENTS[cell.agent].program for cell in cells):
        install(programs[name], options.tools)
    bad = 0
    if options.self_check:
        for before, after in UNSEEN_CHANGES:
            bad += 1
            print(f"self-check: nobody found the change of {before} to {after}")
    for cell in cells:
        agent, began = AGENTS[cell.agent], time.monotonic()
        turns, evidence = run(cell, agent, programs[agent.program], options)
        faults = faults_of(cell, agent, turns, evidence)
        if options.self_check and not faults:
            faults = unseen_breaks(cell, agent, turns, evidence)
        bad += bool(faults)
        seconds = time.monotonic() - began
        print(f"{cell.agent:15} -> {cell.dialect:16} {'FAILED' if faults else 'ok':6} {len(evidence.exchanges)} requests, {seconds:.1f} s", flush=True)
        for fault in faults:
            print(f"    {fault[:600]}", flush=True)
    greeted = {AGENTS[cell.agent].program: AGENTS[cell.agent] for cell in reversed(cells)}
    for agent in greeted.values():
        began = time.monotonic()
        fault = greeting_fault(agent, programs[agent.program], options)
        bad += bool(fault)
        print(f"{agent.program:15} with --mock          {'FAILED' if fault else 'ok':6} {time.monotonic() - began:.1f} s", flush=True)
        if fault:
            print(f"    {fault[:600]}", flush=True)
    print(f"{len(cells)} cells and a greeting of {len(greeted)} agents: {bad or 'none'} failed")
    sys.exit(1 if bad else 0)


@contextlib.contextmanager
def scripted_model(binary, path):
    """The port of a gateway that answers from a script."""
    server = subprocess.Popen([binary, "serve", f"--mock={path}", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        line = server.stderr.readline()
        port = re.search(r":(\d+)\s*$", line)
        if not port:
            sys.exit(f"`interlingua serve` did not start: {line}{server.stderr.read()}")
        yield int(port.group(1))
    finally:
        server.kill()
        server.wait()


def run(cell, agent, program, options):
    """One task. Returns the turns of the script and the evidence."""
    with tempfile.TemporaryDirectory(prefix="gateway-agents-") as folder:
        root = pathlib.Path(folder).resolve()
        home, work, temporary = root / "home", root / "work", root / "temporary"
        for each in (home, work, temporary):
            each.mkdir()
        for name, text in agent.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        texts = tuple(f"{side}-{secrets.token_hex(8)}" for side in ("left", "right"))
        for side, text in zip(("left", "right"), texts):
            (work / f"{side}.txt").write_text(text + "\n")
        turns = agent.turns(work)
        (root / "script.toml").write_text(script(turns))
        with scripted_model(options.bin, root / "script.toml") as port, Recorder(port) as recorder:
            flags = ["--backend", f"http://127.0.0.1:{recorder.port}", "--dialect", cell.dialect]
            flags += ["--model", agent.model] if agent.model else []
            code, output, errors = start(agent, program, options, flags, home, work, temporary, recorder.port)
            exchanges = list(recorder.exchanges)
        notes = (work / "notes.txt").read_text() if (work / "notes.txt").is_file() else None
        changed = [name for name, text in agent.files.items() if is_changed(text, (home / name).read_text())]
        left = [entry.name for entry in temporary.iterdir() if entry.name.startswith("interlingua-")]
        if options.keep:
            keep(options.keep / f"{cell.agent}-{cell.dialect}", root, output, errors, exchanges)
        return turns, Evidence(code, output, errors, notes, exchanges, texts, changed, left)


def greeting_fault(agent, program, options):
    """What is wrong with `interlingua with --mock -- AGENT`, the one line without a key. None if it works."""
    with tempfile.TemporaryDirectory(prefix="gateway-agents-") as folder, Recorder(9) as refuses:
        root = pathlib.Path(folder).resolve()
        for name in ("home", "work", "temporary"):
            (root / name).mkdir()
        code, output, errors = start(
            agent, program, options, ["--mock"], root / "home", root / "work", root / "temporary", refuses.port, GREETING)
        if code != 0 or not has_text(output, "This is the scripted model of Interlingua."):
            return f"exit code {code}; {output[-300:]!r}; stderr {errors[-300:]!r}"
    return None


def start(agent, program, options, flags, home, work, temporary, proxy, patience=PATIENCE):
    """Runs an agent with the gateway around it; ends it, and all it started, in time. Returns the exit code and the outputs."""
    commands = folder_of(program, options.tools) / "node_modules/.bin"
    env = {
        "PATH": f"{commands}:{os.environ['PATH']}", "HOME": str(home), "TMPDIR": str(temporary), "TERM": "dumb", "LANG": "C.UTF-8",
        "HTTPS_PROXY": f"http://127.0.0.1:{proxy}", "HTTP_PROXY": f"http://127.0.0.1:{proxy}", "NO_PROXY": "127.0.0.1,localhost", **agent.env}
    child = subprocess.Popen(
        [options.bin.resolve(), "with", *flags, "--", program.command, *agent.arguments], cwd=work, env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        output, errors = child.communicate(timeout=patience)
        code = child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # the group is the child's own
        (output, errors), code = child.communicate(), None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    return code, output.decode(errors="replace"), errors.decode(errors="replace")


def keep(folder, root, output, errors, exchanges):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(root / "script.toml", folder)
    (folder / "stdout").write_text(output)
    (folder / "stderr").write_text(errors)
    for number, exchange in enumerate(exchanges):
        (folder / f"{number}.request.json").write_text(json.dumps(exchange.body, indent=1))
        (folder / f"{number}.answer").write_bytes(exchange.answer)


def unseen_breaks(cell, agent, turns, evidence):
    """Breaks of the evidence that the judge does not find."""
    unseen = []
    for name, change in BREAKS.items():
        broken = copy.deepcopy(evidence)
        if change(cell, agent, turns, broken) and not faults_of(cell, agent, turns, broken):
            unseen.append(f"self-check: nobody found the break {name!r}")
    return unseen


if __name__ == "__main__":
    main()
