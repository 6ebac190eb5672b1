"""However an action ends, its MCP servers end with it: no program is left behind, and none holds the end back."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fireside import Agent, FileStore, Reporter, State, tool
from fireside.testing import FakeModel, tool_call

from tests.core.agents import results
from tests.core.mcp_servers import bad, ends, good, heard, is_there

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from fireside import Agent, State, tool
from fireside.testing import FakeModel, tool_call
from tests.core.mcp_servers import bad, good, heard

@tool
def ends() -> None:
    raise SystemExit(7)

state = State("go")
def model(*replies): return FakeModel([tool_call("bad__pid"), *replies])
def tell(): print(*[entry.text for entry in state.history if entry.kind == "tool_result"], flush=True)
{code}
"""


def program(code: str) -> subprocess.Popen[str]:
    text = PROGRAM.format(root=str(Path(__file__).parents[2]), code=code)
    return subprocess.Popen([sys.executable, "-X", "dev", "-c", text], stdin=-1, stdout=-1, stderr=-1, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[list[str], str]:
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return out.split("\n"), err


async def running(server_flag: str, at: Path) -> tuple[asyncio.Task[object], int, State]:
    """A run in the middle of a call, with the process of its server."""
    os.mkfifo(at)
    state = State("go")
    agent = Agent(FakeModel([tool_call("bad__wait", at=str(at))]), mcp_servers=[bad(server_flag)])
    task = asyncio.create_task(agent.arun(state))
    return task, await asyncio.to_thread(heard, at), state


@pytest.mark.parametrize("flag", ["", "stays"])
async def test_a_cancelled_run_ends_even_a_server_that_does_not_want_to(flag: str, tmp_path: Path) -> None:
    task, pid, state = await running(flag, tmp_path / "pipe")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_there(pid)
    assert results(state) == ["(interrupted by user)"]


async def test_one_cancelled_twice_does_so_too(tmp_path: Path) -> None:
    task, pid, _ = await running("stays", tmp_path / "pipe")
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_there(pid)


async def test_one_cancelled_while_it_connects_leaves_nothing(tmp_path: Path) -> None:
    state = State("go")
    task = asyncio.create_task(Agent(FakeModel([]), mcp_servers=[bad("hang", "stays"), good()]).arun(state))
    steps = 0
    while not (programs := children()):
        await asyncio.sleep(0)
        steps += 1
        assert steps < 1_000_000
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [pid for pid in programs if is_there(pid)] == []
    assert [entry.kind for entry in state.history] == ["user", "run_start", "stop"]


async def test_a_run_that_waits_for_the_connection_of_another_does_not_take_it_along(tmp_path: Path) -> None:
    server, state = good(), State("go")
    agent = Agent(FakeModel([tool_call("real__pid"), "done"]), mcp_servers=[server])
    first, second = asyncio.create_task(agent.arun("x")), asyncio.create_task(agent.arun(state))
    for _ in range(100):
        await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await second == "done"


def children() -> list[int]:
    told = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in told.split()]


@pytest.mark.parametrize("flag", ["", "stays"])
def test_ctrl_c_ends_it(flag: str, tmp_path: Path) -> None:
    at = tmp_path / "pipe"
    os.mkfifo(at)
    code = (
        f"agent = Agent(model(tool_call('bad__wait', at={str(at)!r})), mcp_servers=[bad({flag!r})])\n"
        "try: agent.run(state)\n"
        "except KeyboardInterrupt: tell()"
    )
    with program(code) as process:
        pid = heard(at)
        process.send_signal(signal.SIGINT)
        out, err = ended(process)
    assert (out[0], err) == (f"{pid} (interrupted by user)", "")
    assert not is_there(pid)


@pytest.mark.parametrize("run", ["agent.run(state)", "asyncio.run(agent.arun(state))"])
def test_system_exit_in_a_tool_ends_it(run: str) -> None:
    code = (
        "agent = Agent(model([tool_call('bad__pid'), tool_call('ends')]), tools=[ends], mcp_servers=[bad()])\n"
        f"try: {run}\n"
        "finally: tell()"
    )
    with program(code) as process:
        out, err = ended(process)
    assert process.returncode == 7, err
    assert not is_there(int(out[0].split()[0]))
    assert "ResourceWarning" not in err


@pytest.mark.parametrize("servers", ["bad('stays')", "bad('stays'), good()"])
def test_the_end_of_a_users_loop_ends_it(servers: str, tmp_path: Path) -> None:
    """It cancels all tasks that there are at once, the connection's own one, too."""
    at = tmp_path / "pipe"
    os.mkfifo(at)
    code = (
        f"agent = Agent(model(tool_call('bad__wait', at={str(at)!r})), mcp_servers=[{servers}])\n"
        "async def main():\n"
        "    task = asyncio.create_task(agent.arun(state))\n"
        f"    print(await asyncio.to_thread(heard, Path({str(at)!r})), flush=True)\n"
        "    sys.exit(5)\n"
        "asyncio.run(main())"
    )
    with program(code) as process:
        out, err = ended(process)
    assert process.returncode == 5, err
    assert not is_there(int(out[0]))
    assert "ResourceWarning" not in err
    assert "never retrieved" not in err


@pytest.mark.parametrize("server", ["bad()", "good(name='bad')"])
def test_kill_9_ends_it_since_its_input_ends(server: str) -> None:
    code = f"agent = Agent(model(lambda _: (tell(), sys.stdin.read())), mcp_servers=[{server}])\nagent.run(state)"
    with program(code) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert is_there(pid)
        process.kill()
        assert ends(pid)


def test_a_run_that_fails_ends_it() -> None:
    @tool
    def breaks() -> None:
        raise OSError("no luck")

    state = State("go")
    agent = Agent(FakeModel([tool_call("bad__pid"), tool_call("breaks")]), tools=[breaks], mcp_servers=[bad("stays")])
    with pytest.raises(OSError, match="no luck"):
        agent.run(state)
    assert not is_there(int(results(state)[0]))


async def test_it_ends_when_the_run_is_told_and_saved(tmp_path: Path) -> None:
    there = []

    class Hears(Reporter):
        def on_run_end(self, state: State, error: BaseException | None) -> None:
            there.append((is_there(int(results(state)[0])), store.load(state.id).status))

    store = FileStore(tmp_path)
    agent = Agent(FakeModel([tool_call("bad__pid"), "done"]), mcp_servers=[bad()], store=store, reporter=Hears())
    await agent.arun(State("go"))
    assert there == [(True, "waiting")]


async def test_one_that_died_is_noticed_though_a_child_of_it_lives_on_and_that_ends_too(tmp_path: Path) -> None:
    at = tmp_path / "at"
    os.mkfifo(at)
    server = bad("leaves", call_timeout=None)
    state = State("t")
    reading = asyncio.create_task(asyncio.to_thread(heard, at))
    model = FakeModel([tool_call("bad__wait", at=str(at)), "I see."])
    assert await Agent(model, mcp_servers=[server]).arun(state) == "I see."
    (told,) = [entry.text for entry in state.history if entry.kind == "tool_result"]
    assert told.startswith("(unknown: the connection to the MCP server 'bad' was lost before it answered")
    assert ends(await reading)


async def test_a_servers_own_error_is_none_of_the_connection() -> None:
    state = State("t")
    model = FakeModel([tool_call("bad__pid"), tool_call("bad__half"), "I see."])
    await Agent(model, mcp_servers=[bad("refuses")]).arun(state)
    assert [entry.text for entry in state.history if entry.kind == "tool_result"] == ["try tomorrow"] * 2
