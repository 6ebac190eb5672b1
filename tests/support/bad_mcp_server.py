"""An MCP server made of nothing but the standard library, that does what its arguments say and a good one does not.

It speaks the protocol of 2025. `hang`: never answers; `rubbish`: prints what is no message; `stays`: does not end with its
input, nor on SIGTERM; `pages`: lists one tool a page, in another order each time; `noisy`: fills stderr; `refuses`: each call
gets an error under a number that the SDK has for its own; `leaves`: dies in a call, and a child of it holds its pipes.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

FLAGS = set(sys.argv[1:])
TOOLS = ["pid", "wait", "half", "contents", "grow", "bad.name", "bad name", "large"]
CONTENTS = [
    {"type": "image", "data": "AAAA", "mimeType": "image/bmp"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "file:///a", "name": "a", "description": "the first"},
    {"type": "resource", "resource": {"uri": "file:///b", "text": "words"}},
    {"type": "resource", "resource": {"uri": "file:///c", "blob": "AAAA", "mimeType": "application/zip"}},
]


def say(**message: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def listed(cursor: str | None) -> dict[str, object]:
    tools = [{"name": name, "inputSchema": {"type": "object", "$comment": name}} for name in TOOLS]
    if "pages" not in FLAGS:
        return {"tools": random.sample(tools, len(tools))}
    at = int(cursor or 0)
    return {"tools": tools[at : at + 1], **({"nextCursor": str(at + 1)} if at + 1 < len(tools) else {})}


def called(name: str, args: dict[str, str]) -> dict[str, object]:
    match name:
        case "wait":
            Path(args["at"]).write_text(str(os.getpid()))  # a named pipe: the test reads it when the call is here
            time.sleep(60)
        case "half":
            return {"content": [{"type": "text", "text": "half \ud83d"}]}
        case "contents":
            return {"content": CONTENTS}
        case "large":
            return {"content": [{"type": "text", "text": "ä" * 3_000_000}]}
        case "grow":
            TOOLS.append("grown")
            say(method="notifications/tools/list_changed")
            return {"content": [], "structuredContent": {"grown": True}}
    return {"content": [{"type": "text", "text": str(os.getpid())}]}


def answer(message: dict[str, object]) -> None:
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            told = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "bad", "version": "1"}}
            say(id=message["id"], result={**told, "capabilities": {"tools": {"listChanged": True}}})
        case "tools/list":
            say(id=message["id"], result=listed(params.get("cursor")))
        case "tools/call" if "refuses" in FLAGS:
            say(id=message["id"], error={"code": -32000 - (params["name"] == "half"), "message": "try tomorrow"})
        case "tools/call" if "leaves" in FLAGS:
            if child := os.fork():
                Path(params["arguments"]["at"]).write_text(str(child))
                os._exit(3)
            time.sleep(60)
        case "tools/call":
            say(id=message["id"], result=called(params["name"], params.get("arguments") or {}))
        case _ if "id" in message:
            say(id=message["id"], error={"code": -32601, "message": "there is no such method"})


def main() -> None:
    if "stays" in FLAGS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "rubbish" in FLAGS:
        print("Welcome!\n{\n\n[]\x1b[31m", flush=True)
    if "noisy" in FLAGS:
        sys.stderr.write("\x1b[31mnoise\n" * 100_000)
    for line in sys.stdin:
        if "hang" not in FLAGS:
            answer(json.loads(line))
    if "stays" in FLAGS:
        time.sleep(60)


if __name__ == "__main__":
    main()
