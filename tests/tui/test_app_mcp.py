"""An Agent with MCP servers in the app: its tools are asked about, switched off and on, and told when they are gone."""

from __future__ import annotations

from pathlib import Path

from fireside import MCPServer
from fireside.testing import FakeModel, tool_call

from tests.core.agents import results
from tests.core.mcp_servers import bad, is_there
from tests.tui.app_support import opened


async def test_a_call_is_asked_about_and_always_means_that_tool(tmp_path: Path) -> None:
    model = FakeModel([tool_call("bad__pid"), tool_call("bad__pid"), "done"])
    async with opened(tmp_path, model, mcp_servers=[bad()]) as it:
        await it.send("go", answered=False)
        await it.until(lambda: it.current.approval is not None and it.main.chat.approval_bar.has_focus)
        assert it.current.approval is not None
        assert it.current.approval.call.name == "bad__pid"
        assert "bad__pid" in it.current.agent.tools
        await it.press("a")
        await it.until(lambda: not it.current.running)
        one, two = results(it.current.state)
        assert one == two
        assert not is_there(int(one))


async def test_tools_off_switches_the_servers_off_and_on_brings_them_back(tmp_path: Path) -> None:
    model = FakeModel(["one", "two"])
    async with opened(tmp_path, model, mcp_servers=[bad()]) as it:
        await it.command("/tools")
        await it.until(lambda: it.said[-1:] == ["Tools are off."])
        await it.send("go")
        await it.command("/tools")
        await it.until(lambda: it.said[-1:] == ["Tools are on: bad__…."])
        await it.send("again")
        assert [len(request.tools) for request in model.requests] == [0, 8]


async def test_a_tool_can_be_allowed_before_there_is_a_connection(tmp_path: Path) -> None:
    model = FakeModel([tool_call("bad__pid"), "done"])
    async with opened(tmp_path, model, mcp_servers=[bad()]) as it:
        await it.command("/allow nothing")
        await it.until(lambda: it.said[-1:] == ["There is no tool nothing; there are bad__…."])
        await it.command("/allow")
        await it.until(lambda: it.said[-1:] == ["Name one of these: /allow bad__…"])
        await it.command("/allow bad__pid")
        await it.until(lambda: it.said[-1:] == ["bad__pid runs without asking, in this conversation."])
        await it.send("go")
        assert results(it.current.state)[0].isdigit()


async def test_one_that_can_not_be_reached_is_told_in_a_line_and_one_can_go_on_without_it(tmp_path: Path) -> None:
    server = MCPServer("x", command=["there-is-no-such-program"])
    async with opened(tmp_path, FakeModel(["hello"]), mcp_servers=[server]) as it:
        await it.send("go")
        assert "The MCP server 'x' can't be started: No such file" in it.status
        await it.command("/tools off")
        await it.press("ctrl+r")
        await it.until(lambda: it.current.state.answer == "hello")


async def test_that_a_conversation_had_servers_which_are_not_here_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeModel(["one"]), mcp_servers=[bad()]) as it:
        await it.send("go")
        id = it.current.id
    async with opened(tmp_path, FakeModel(["two"])) as it:
        await it.main.open(id)
        await it.send("on", answered=False)
        await it.until(lambda: it.current.trouble is not None)
        assert it.current.trouble is not None
        assert it.current.trouble.text == "Tools that this conversation had before are not here: bad__…."
        await it.until(lambda: not it.current.running)
