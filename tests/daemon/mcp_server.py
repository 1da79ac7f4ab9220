#!/usr/bin/env python3
"""A server of the Model Context Protocol on stdin and stdout, with one tool. The methods that were asked go to the file `BIRD_LOG`."""

import json
import os
import sys

TOOL = {"name": "heron_count", "description": "Counts herons.", "inputSchema": {"type": "object", "properties": {}}}

for line in sys.stdin:
    request = json.loads(line)
    with open(os.environ["BIRD_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{request.get('method')}\n")
    if "id" not in request:
        continue
    results = {
        "initialize": {"protocolVersion": request.get("params", {}).get("protocolVersion"), "capabilities": {"tools": {}},
                       "serverInfo": {"name": "birds", "version": "1"}},
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "Seven herons."}]},
        "ping": {},
    }
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] in results:
        answer["result"] = results[request["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "unknown method"}
    print(json.dumps(answer), flush=True)
