#!/usr/bin/env python3
"""Exports against the code of the tools that read them: ATIF trajectories in Harbor's own models, and spans in the types of
OpenTelemetry's protocol.

Each fixture is exported to both formats. Harbor's models and the protobuf types must accept every document; calls and
results are counted and compared with the record of the same fixture. Each check is also tried on a document with a
planted mistake, which must be found. The script installs the packages into a virtual environment.
"""

import argparse
import base64
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "crates" / "interlingua" / "fixtures"
PACKAGES = ["pydantic==2.14.3", "opentelemetry-proto==1.45.2"]
# Only the models are used. The package as a whole needs a newer Python and a hundred further packages.
HARBOR = "harbor==0.25.0"


def in_environment(tools):
    """Restarts the script in an environment with the packages."""
    folder = tools / "exports-venv"
    python = folder / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == folder.resolve():
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    modules = "import harbor.models.trajectories, opentelemetry.proto.collector.trace.v1.trace_service_pb2"
    found = subprocess.run([python, "-c", modules], capture_output=True, check=False)
    if found.returncode:
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *PACKAGES], check=True)
        subprocess.run([*install, "--no-deps", "--ignore-requires-python", HARBOR], check=True)
    os.execv(python, [str(python), *sys.argv])


def documents(text):
    """The JSON documents of a text, one after the other."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        found.append(value)
    return found


def entries_of(record):
    """All entries of a record, with their children."""
    waiting = list(record["session"]["entries"])
    while waiting:
        entry = waiting.pop()
        yield entry
        waiting.extend(entry.get("children", []))


def counted_in_record(records):
    # A child with `part` is a later part of the entry around it.
    kinds = [entry["type"] for record in records for entry in entries_of(record) if "part" not in entry]
    return kinds.count("tool-call"), kinds.count("tool-result")


def counted_in_trajectories(trajectories):
    steps = [step for trajectory in trajectories for step in trajectory["steps"]]
    calls = sum(len(step.get("tool_calls", [])) for step in steps)
    return calls, sum(len(step.get("observation", {}).get("results", [])) for step in steps)


def faults_of_trajectories(trajectories, expected):
    """The mistakes of an export to ATIF."""
    from harbor.models.trajectories import Trajectory

    faults = []
    for trajectory in trajectories:
        try:
            Trajectory.model_validate(trajectory)
        except ValueError as error:
            faults.append(str(error).splitlines()[0] + " " + " ".join(str(error).splitlines()[1:3]))
        if trajectory["final_metrics"]["total_steps"] != len(trajectory["steps"]):
            faults.append("total_steps is not the number of steps")
    if expected is not None and counted_in_trajectories(trajectories) != expected:
        faults.append(f"calls and results: {counted_in_trajectories(trajectories)}, in the record {expected}")
    return faults


def attributes_of(thing):
    return {each["key"]: each["value"] for each in thing.get("attributes", [])}


def spans_of(export):
    return [span for each in export["resourceSpans"] for scope in each["scopeSpans"] for span in scope["spans"]]


def with_bytes(export):
    """The export with ids in base64: OTLP in JSON has hexadecimal ids, and other JSON of protobuf has base64."""
    export = copy.deepcopy(export)
    for span in spans_of(export):
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in span:
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return export


def messages_of(span, name):
    value = attributes_of(span).get(name)
    return json.loads(value["stringValue"]) if value else []


def counted_in_spans(export):
    spans = spans_of(export)
    parts = [part for span in spans for message in messages_of(span, "gen_ai.output.messages") for part in message["parts"]]
    calls = sum(part["type"] == "tool_call" for part in parts)
    return calls, sum("gen_ai.tool.call.result" in attributes_of(span) for span in spans)


def faults_of_spans(export, expected):
    """The mistakes of an export to OpenTelemetry."""
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    faults = []
    try:
        request = json_format.Parse(json.dumps(with_bytes(export)), ExportTraceServiceRequest())
    except (json_format.ParseError, ValueError) as error:
        return [str(error)]
    traces = {}
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                if len(span.trace_id) != 16 or len(span.span_id) != 8 or not any(span.span_id):
                    faults.append(f"{span.name}: an id of another length")
                if span.end_time_unix_nano < span.start_time_unix_nano:
                    faults.append(f"{span.name}: ends before it begins")
                trace = traces.setdefault(span.trace_id, {})
                if span.span_id in trace:
                    faults.append(f"{span.name}: an id twice")
                trace[span.span_id] = span.parent_span_id
    for trace in traces.values():
        roots = [span for span, parent in trace.items() if not parent]
        if len(roots) != 1:
            faults.append(f"{len(roots)} spans without a parent")
        if any(parent and parent not in trace for parent in trace.values()):
            faults.append("a parent that is no span")
    for span in spans_of(export):
        for name in ("gen_ai.input.messages", "gen_ai.output.messages"):
            if not all("role" in message and "parts" in message for message in messages_of(span, name)):
                faults.append(f"{span['name']}: a message without a role or parts")
        operation = attributes_of(span).get("gen_ai.operation.name", {}).get("stringValue")
        if operation not in (None, "chat", "execute_tool", "invoke_agent"):
            faults.append(f"{span['name']}: the operation {operation}")
    if expected is not None and counted_in_spans(export) != expected:
        faults.append(f"calls and results: {counted_in_spans(export)}, in the record {expected}")
    return faults


def self_check(trajectories, export, expected):
    """Plants mistakes. Returns the names of those that were not found."""

    def planted(document, plant):
        changed = copy.deepcopy(document)
        plant(changed)
        return changed

    def with_call(step):
        return next(each for each in step[0]["steps"] if each.get("observation"))

    in_trajectories = {
        "a step with another number": lambda it: it[0]["steps"][-1].update(step_id=99),
        "a result of an unknown call": lambda it: with_call(it)["observation"]["results"][0].update(source_call_id="x"),
        "an unknown member": lambda it: it[0]["steps"][0].update(colour="red"),
        "arguments as text": lambda it: with_call(it)["tool_calls"][0].update(arguments="{}"),
        "a missing result": lambda it: with_call(it)["observation"]["results"].pop(),
        "a time that is none": lambda it: it[0]["steps"][0].update(timestamp="noon"),
    }
    chat = next(at for at, span in enumerate(spans_of(export)) if span["name"].startswith("chat"))
    tool = next(at for at, span in enumerate(spans_of(export)) if span["name"].startswith("execute_tool"))
    in_spans = {
        "an unknown field": lambda it: spans_of(it)[chat].update(colour="red"),
        "a short id": lambda it: spans_of(it)[chat].update(spanId="00ff"),
        "an id twice": lambda it: spans_of(it)[chat].update(spanId=spans_of(it)[tool]["spanId"]),
        "a parent that is no span": lambda it: spans_of(it)[chat].update(parentSpanId="ffffffffffffffff"),
        "a time as text": lambda it: spans_of(it)[chat].update(startTimeUnixNano="noon"),
        "a missing tool span": lambda it: it["resourceSpans"][0]["scopeSpans"][0]["spans"].pop(tool),
    }
    missed = [name for name, plant in in_trajectories.items()
              if not faults_of_trajectories(planted(trajectories, plant), expected)]
    missed += [name for name, plant in in_spans.items() if not faults_of_spans(planted(export, plant), expected)]
    return missed, len(in_trajectories) + len(in_spans)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=REPOSITORY / "target" / "release" / "interlingua")
    parser.add_argument("--tools", type=pathlib.Path, default=REPOSITORY / "target" / "tools")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="other sources than the fixtures")
    args = parser.parse_args()
    args.tools.mkdir(parents=True, exist_ok=True)
    in_environment(args.tools)

    def convert(source, target):
        command = [args.bin, "convert", source, "--to", target, "--quiet"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    endings = (".json", ".jsonl", ".sse")
    files = args.files or sorted(path for path in FIXTURES.rglob("*") if path.suffix in endings)
    faults, counts = [], {"atif": 0, "otel": 0}
    for file in files:
        record = convert(file, "record")
        # A call of a model API is one of several calls of a session, and its record counts only its own entries.
        expected = counted_in_record(documents(record.stdout)) if record.returncode == 0 else None
        for target, check in (("atif", faults_of_trajectories), ("otel", faults_of_spans)):
            done = convert(file, target)
            if done.returncode:
                faults.append(f"{file.name} to {target}: exit code {done.returncode}: {done.stderr.strip()}")
                continue
            found = documents(done.stdout)
            counts[target] += len(found)
            found = found if target == "atif" else found[0]
            faults += [f"{file.name} to {target}: {fault}" for fault in check(found, expected)]
    for fault in faults:
        print("FAILED " + fault)
    example = REPOSITORY / "examples" / "claude-code.jsonl"
    trajectories = documents(convert(example, "atif").stdout)
    export = documents(convert(example, "otel").stdout)[0]
    expected = counted_in_record(documents(convert(example, "record").stdout))
    missed, planted = self_check(trajectories, export, expected)
    for name in missed:
        print("FAILED to find a planted mistake: " + name)
    print(f"{len(files)} sources: {counts['atif']} trajectories, {counts['otel']} documents of spans, {len(faults)} faults; "
          f"{planted - len(missed)} of {planted} planted mistakes found")
    if not args.files and min(counts.values()) < 200:
        raise SystemExit("too few exports: the fixtures were not found")
    sys.exit(1 if faults or missed else 0)


if __name__ == "__main__":
    main()
