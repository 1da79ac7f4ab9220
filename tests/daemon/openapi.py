#!/usr/bin/env python3
"""Drives sessions of the mock agent with a client that a generator made from the daemon's OpenAPI document alone.

    python3 tests/daemon/openapi.py [--bin PATH]

The script installs the generator (openapi-python-client) into target/tools/openapi, starts `interlingua serve --agents`
on a free port, generates a client from `GET /openapi.json`, and calls the operations of the client. Exit code 0 if every
check holds.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = "openapi-python-client==0.29.1"
TOOLS = ROOT / "target" / "tools" / "openapi"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=str(ROOT / "target" / "debug" / "interlingua"))
    parser.add_argument("--drive", metavar="URL", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.drive:
        return drive(args.drive)
    python = install()
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [pathlib.Path(args.bin).resolve(), "serve", "--agents", "--store", "s.db", "--listen", "127.0.0.1:0"],
            cwd=folder, stderr=subprocess.PIPE, text=True,
        )
        try:
            line = server.stderr.readline()
            url = line.strip().removeprefix("listening on ")
            if not url.startswith("http://"):
                sys.exit(f"the server did not start: {line}")
            generate(python, url, folder)
            run = subprocess.run([python, __file__, "--drive", url], env={**os.environ, "PYTHONPATH": folder})
            return run.returncode
        finally:
            server.terminate()
            server.wait(timeout=10)


def install():
    """Installs the generator once, and returns the path of its Python."""
    python = TOOLS / "bin" / "python"
    stamp = TOOLS / GENERATOR
    if not stamp.exists():
        venv.create(TOOLS, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", GENERATOR], check=True)
        stamp.touch()
    return str(python)


def generate(python, url, folder):
    """Generates the package `agents_client` in the folder. A warning of the generator other than that on streams fails."""
    document = pathlib.Path(folder) / "openapi.json"
    document.write_bytes(urllib.request.urlopen(f"{url}/openapi.json").read())
    config = pathlib.Path(folder) / "config.yml"
    config.write_text("package_name_override: agents_client\npost_hooks: []\n")
    made = subprocess.run(
        [python, "-m", "openapi_python_client", "generate", "--path", document, "--config", config,
         "--meta", "none", "--output-path", pathlib.Path(folder) / "agents_client"],
        capture_output=True, text=True,
    )
    said = made.stdout + made.stderr
    print(said.strip())
    if made.returncode != 0:
        sys.exit("the generator failed")


def drive(url):
    """Calls the operations of the generated client."""
    from agents_client import Client
    from agents_client import models
    from agents_client.api.default import (
        create_session, delete_session, get_record, get_session, health, install_agent, interrupt_session, list_agents,
        list_events, list_modes, list_pending, list_sessions, reply_permission, reply_question, send_message,
        terminate_session,
    )

    client = Client(base_url=url)
    checks = 0

    def check(holds, about):
        nonlocal checks
        checks += 1
        if not holds:
            sys.exit(f"failed: {about}")

    def status(response, expected):
        code = int(response.status_code)
        check(code == expected, f"status {code} instead of {expected}: {response.content!r}")
        return response.parsed

    def events(kind, count):
        """Waits for events of a type, and returns them."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            page = status(list_events.sync_detailed("demo", client=client), 200)
            check(isinstance(page, models.EventPage), "a page of events")
            found = [event for event in page.events if event.type_.value == kind]
            if len(found) >= count:
                check([event.sequence for event in page.events] == list(range(1, len(page.events) + 1)), "no gap")
                return found
            time.sleep(0.02)
        sys.exit(f"no {kind}")

    check(status(health.sync_detailed(client=client), 200).status == "ok", "health")
    agents = status(list_agents.sync_detailed(client=client), 200).agents
    mock = next(agent for agent in agents if agent.id == "mock")
    check(mock.installed and mock.capabilities["permissions"], "the mock agent asks for permissions")
    check(len(status(list_modes.sync_detailed("mock", client=client), 200).modes) == 2, "two modes")
    status(install_agent.sync_detailed("mock", client=client), 204)

    settings = models.SessionSettings(agent="mock", title="From the document")
    check(status(create_session.sync_detailed("demo", client=client, body=settings), 200).healthy, "created")
    refused = status(create_session.sync_detailed("demo", client=client, body=settings), 409)
    check(isinstance(refused, models.ProblemBody) and refused.type_.endswith("session_already_exists"), "a problem")

    def say(text):
        return send_message.sync_detailed("demo", client=client, body=models.MessageBody(message=text))

    status(say("demo"), 204)
    events("turn.ended", 1)
    status(say("permission file"), 204)
    request = events("permission.requested", 1)[0]
    pending = status(list_pending.sync_detailed("demo", client=client), 200).events
    check([event.event_id for event in pending] == [request.event_id], "one request waits")
    reply = models.PermissionReply(reply=models.Reply.ONCE)
    status(reply_permission.sync_detailed("demo", request.data["permission_id"], client=client, body=reply), 204)
    events("turn.ended", 2)
    again = reply_permission.sync_detailed("demo", request.data["permission_id"], client=client, body=reply)
    check(status(again, 409).type_.endswith("already_resolved"), "answered once")
    status(say("questions"), 204)
    request = events("question.requested", 1)[0]
    answers = models.QuestionReply(answers=[["Blue"], ["Green"]])
    status(reply_question.sync_detailed("demo", request.data["question_id"], client=client, body=answers), 204)
    events("turn.ended", 3)
    status(say("slow 60000"), 204)
    status(interrupt_session.sync_detailed("demo", client=client), 204)
    check(events("turn.ended", 4)[3].data["metadata"]["stop"]["class"] == "cancelled", "interrupted")

    page = status(list_events.sync_detailed("demo", client=client, offset=2, limit=3, include_raw=True), 200)
    check([event.sequence for event in page.events] == [3, 4, 5] and page.has_more, "a page")
    check(status(list_events.sync_detailed("none", client=client), 404).status == 404, "no such session")
    session = status(get_session.sync_detailed("demo", client=client), 200)
    check(session.title == "From the document" and session.native_session_id == "mock-session", "the description")
    check(len(status(list_sessions.sync_detailed(client=client), 200).sessions) == 1, "one session")
    record = get_record.sync_detailed("demo", client=client)
    check(json.loads(record.content)["session"]["entries"], "a record with entries")
    status(terminate_session.sync_detailed("demo", client=client), 204)
    events("session.ended", 1)
    status(delete_session.sync_detailed("demo", client=client), 204)
    check(status(list_sessions.sync_detailed(client=client), 200).sessions == [], "no session is left")
    print(f"{checks} checks hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
