"""MCP servers: what they are told with, how their tools and results come to the model, when there is a connection."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, MCPError, MCPServer, ResumeWarning, State, Tool, loop, tool
from fireside.mcp_content import names_of
from fireside.messages import Image, Text
from fireside.run import fingerprint
from fireside.testing import FakeModel, tool_call

from tests.core.agents import add, results
from tests.core.mcp_servers import bad, good, heard, is_there, over_http


def an_agent(server: MCPServer, *replies: Any, **settings: Any) -> Agent:
    return Agent(FakeModel([*replies, "done"]), mcp_servers=[server], **settings)


def offered(agent: Agent, request: int = 0) -> list[str]:
    return [spec.name for spec in agent.model.requests[request].tools]  # type: ignore[attr-defined]


class TestSettings:
    @pytest.mark.parametrize(
        "settings",
        [
            {},
            {"command": ["x"], "url": "http://x"},
            {"command": []},
            {"command": ["x"], "headers": {}},
            {"url": "http://x", "env": {}},
            {"url": "http://x", "cwd": "."},
            {"url": "ftp://x"},
            {"url": "http://"},
            {"url": "http://x", "headers": {"a": "b\r\nc: d"}},
            {"url": "http://x", "headers": {"a b": "c"}},
            {"url": "http://x", "headers": {"a": "c "}},
            {"command": ["x"], "connect_timeout": 0},
            {"command": ["x"], "call_timeout": float("nan")},
        ],
    )
    def test_what_can_not_be_is_refused(self, settings: dict[str, Any]) -> None:
        with pytest.raises(ValueError):
            MCPServer("a", **settings)

    @pytest.mark.parametrize(
        "settings",
        [
            {"command": "x --y"},
            {"command": [5]},
            {"command": ["x"], "env": {"A": 1}},
            {"command": ["x"], "env": ["A"]},
            {"command": ["x"], "cwd": 5},
            {"url": 5},
            {"url": "http://x", "headers": {"a": None}},
            {"command": ["x"], "tools": "read"},
            {"command": ["x"], "call_timeout": "5"},
        ],
    )
    def test_what_is_of_another_type_is_refused(self, settings: dict[str, Any]) -> None:
        with pytest.raises(TypeError):
            MCPServer("a", **settings)

    @pytest.mark.parametrize("name", ["", "a b", "ä", "a__b", "a_", "a" * 65, "a.b"])
    def test_a_name_with_other_characters_is_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match="name has letters"):
            MCPServer(name, url="http://x")

    def test_they_do_not_change(self) -> None:
        with pytest.raises(AttributeError, match="make another"):
            good().url = "http://x"
        with pytest.raises(TypeError):
            good(env={"A": "b"}).env["A"] = "c"  # type: ignore[index]

    def test_no_key_is_ever_shown(self) -> None:
        servers = [
            MCPServer("a", command=["run", "--key=secret"], env={"KEY": "secret"}),
            MCPServer("a", url="https://u:secret@host:8/secret?key=secret", headers={"Authorization": "secret"}),
        ]
        assert [repr(server) for server in servers] == [
            "MCPServer('a', command='run')",
            "MCPServer('a', url='https://host:8')",
        ]
        assert "secret" not in repr(Agent("demo", mcp_servers=servers[:1]))
        with pytest.raises(ValueError, match="KEY") as raised:
            MCPServer("a", url="http://x", headers={"KEY": "secret\n"})
        assert "secret" not in str(raised.value)

    def test_an_agent_keeps_its_servers_and_has_each_once(self) -> None:
        server = good()
        agent = Agent("demo", mcp_servers=[server])
        assert agent.copy(system="x").mcp_servers == (server,)
        assert agent.copy(mcp_servers=[]).mcp_servers == ()
        with pytest.raises(ValueError, match="two MCP servers have the name 'real'"):
            Agent("demo", mcp_servers=[server, good()])
        with pytest.raises(TypeError, match="mcp_servers"):
            Agent("demo", mcp_servers=["real"])  # type: ignore[list-item]


class TestNames:
    def test_a_long_or_strange_name_becomes_one_that_the_api_takes(self) -> None:
        names = names_of("s", ["a.b", "a b", "a_b", "c/d", "x" * 200, "x" * 201, "ä\ud83d"])
        assert (names["a_b"], names["c/d"]) == ("s__a_b", "s__c_d")
        assert len(set(names.values())) == 7
        assert all(len(name) <= 128 and name.isascii() and " " not in name for name in names.values())

    def test_it_does_not_depend_on_the_order(self) -> None:
        tools = ["b", "a.b", "a b", "a"]
        assert names_of("s", tools) == names_of("s", reversed(tools))
        assert list(names_of("s", tools)) == list(names_of("s", reversed(tools)))


class TestTools:
    def test_they_come_with_what_the_server_says_of_them(self) -> None:
        asked: list[Tool] = []

        def approve(state: State, call: Any, tool: Tool) -> bool:
            asked.append(tool)
            return True

        state = State("go")
        agent = an_agent(good(), [tool_call("real__add", a=1, b=2), tool_call("real__echo", text="ä\ud83d")],
                         approve=approve, tools=[add])  # fmt: skip
        assert list(agent.tools) == ["add"]
        assert agent.run(state) == "done"
        assert results(state) == ["3", "ä�"]
        assert offered(agent)[:2] == ["add", "real__add"]
        spec = agent.model.requests[0].tools[1]  # type: ignore[attr-defined]
        assert spec.description == "Adds two numbers."
        assert spec.schema["required"] == ["a", "b"]
        hints = [(it.read_only, it.destructive, it.idempotent, it.open_world, it.safe_to_repeat) for it in asked]
        assert hints == [(True, None, None, False, True), (None, None, None, None, False)]
        assert list(agent.tools) == ["add"]

    def test_a_call_that_is_not_safe_to_repeat_is_on_disk_before_it_runs(self, tmp_path: Path) -> None:
        store, at = FileStore(tmp_path / "store"), tmp_path / "pipe"
        os.mkfifo(at)
        agent = an_agent(bad(), tool_call("bad__wait", at=str(at)), store=store, save_every=100)

        async def main() -> None:
            task = asyncio.create_task(agent.arun(State("go", id="s")))
            pid = await asyncio.to_thread(heard, at)
            assert (await store.aread("s")).entries[-1]["kind"] == "reply"  # type: ignore[union-attr]
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not is_there(pid)

        asyncio.run(main())
        assert results(store.load("s")) == ["(interrupted by user)"]

    def test_all_pages_are_read_and_the_order_is_always_the_same(self) -> None:
        paged, mixed = an_agent(bad("pages")), an_agent(bad())
        paged.run("go")
        mixed.run("go")
        assert offered(paged) == offered(mixed) == sorted(offered(paged))
        assert len(offered(paged)) == 8
        assert [spec.schema["$comment"] for spec in paged.model.requests[0].tools][-1] == "wait"  # type: ignore[attr-defined]

    def test_some_of_them_can_be_taken_and_one_that_is_not_there_is_named(self) -> None:
        agent = an_agent(bad(tools=["pid", "bad.name"]))
        agent.run("go")
        assert len(offered(agent)) == 2
        with pytest.raises(MCPError, match=r"'bad' has no tool 'pod'; its tools are: bad name, bad\.name, contents"):
            an_agent(bad(tools=["pod"])).run("go")

    def test_an_own_tool_goes_before_one_of_a_server(self) -> None:
        @tool
        def bad__pid() -> str:
            """Mine."""
            return "own"

        state = State("go")
        agent = an_agent(bad(), tool_call("bad__pid"), tools=[bad__pid])
        agent.run(state)
        assert results(state) == ["own"]
        assert offered(agent).count("bad__pid") == 1

    def test_a_list_that_changes_is_read_again_before_the_next_request(self) -> None:
        agent, state = an_agent(bad(), tool_call("bad__grow")), State("go")
        agent.run(state)
        assert results(state) == ['{"grown": true}']
        assert set(offered(agent, 1)) - set(offered(agent, 0)) == {"bad__grown"}


class TestResults:
    def test_words_and_pictures_come_as_they_are(self) -> None:
        agent = an_agent(good(), [tool_call("real__look"), tool_call("real__fail"), tool_call("real__add", a="x")])
        state = State("go")
        agent.run(state)
        look, fail, wrong = agent.model.requests[1].messages[-1].content  # type: ignore[attr-defined]
        assert [type(part) for part in look.content] == [Text, Image]
        assert (fail.content, fail.is_error) == ((Text("no such file"),), True)
        assert wrong.is_error
        assert "valid integer" in wrong.content[0].text  # in the server's words

    def test_what_no_model_can_see_is_told_in_words(self) -> None:
        state = State("go")
        an_agent(bad(), tool_call("bad__contents")).run(state)
        said = [part["text"] for entry in state.history if entry.kind == "tool_result" for part in entry.content]
        assert said == [
            "(a picture, image/bmp, 3 bytes, which can't be shown)",
            "(a sound, audio/wav, 3 bytes, which can't be shown)",
            "(a link: a <file:///a> the first)",
            "file:///b:\nwords",
            "(the file file:///c, application/zip, 3 bytes, which can't be shown)",
        ]

    def test_half_a_character_does_not_lose_the_answer_nor_does_its_size(self) -> None:
        state = State("go")
        an_agent(bad(), [tool_call("bad__half"), tool_call("bad__large")]).run(state)
        assert results(state) == ["half �", "ä" * 3_000_000]


class TestFailures:
    @pytest.mark.parametrize(
        ("command", "told"),
        [
            (["there-is-no-such-program"], "'x' can't be started: No such file or directory: there-is-no-such-program"),
            (
                [sys.executable, "-c", "import sys; print('usage: …'); sys.exit('\033[31mno key')"],
                "'x' ended before it could be used \\(exit code 1\\); the last that it said:\n(  usage: …\n)?  no key",
            ),
            ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "could be used \\(SIGKILL\\)$"),
        ],
    )
    def test_one_that_can_not_be_reached_is_named_before_a_request_leaves(
        self, command: list[str], told: str, tmp_path: Path
    ) -> None:
        agent, state = an_agent(MCPServer("x", command=command), store=FileStore(tmp_path)), State("go")
        with pytest.raises(MCPError, match=told):
            agent.run(state)
        assert agent.model.requests == []  # type: ignore[attr-defined]
        assert [entry.kind for entry in state.history] == ["user", "run_start", "stop"]
        assert agent.store is not None
        assert agent.store.load(state.id).status == "failed"
        with pytest.raises(MCPError):
            agent.think(state)
        assert state.history[-1].kind == "stop"

    def test_one_that_never_answers_does_not_hold_the_others_up_for_ever(self) -> None:
        with pytest.raises(MCPError, match=r"'bad' did not answer within 0\.5 seconds$"):
            Agent(FakeModel([]), mcp_servers=[bad("hang", connect_timeout=0.5), bad(name="b")]).run("go")

    def test_a_call_that_takes_too_long_may_have_run(self, tmp_path: Path) -> None:
        state = State("go")
        call = tool_call("bad__wait", at=str(tmp_path / "here"))
        an_agent(bad("stays", call_timeout=0.5), call, call).run(state)
        assert [text.startswith("(unknown: the MCP server 'bad' did not answer in time, so") for text in results(state)]

    def test_the_model_is_told_of_one_that_dies_and_the_next_step_has_it_again(self) -> None:
        state = State("go")
        agent = an_agent(good(), tool_call("real__die"), tool_call("real__echo", text="hi"))
        assert agent.run(state) == "done"
        assert results(state) == [
            "(unknown: the connection to the MCP server 'real' was lost before it answered, so the tool may or may not "
            "have run. Check whether it took effect before relying on it or running it again)",
            "hi",
        ]
        assert next(entry for entry in state.history if entry.kind == "tool_result").is_error

    def test_what_it_prints_beside_the_protocol_reaches_no_terminal(self, capfd: pytest.CaptureFixture[str]) -> None:
        state = State("go")
        an_agent(bad("rubbish", "noisy"), tool_call("bad__half")).run(state)
        assert results(state) == ["half �"]
        assert capfd.readouterr() == ("", "")

    def test_without_the_extra_it_says_what_to_install(self) -> None:
        code = (
            "import sys; sys.modules['mcp'] = None\n"
            "from fireside import *; from fireside.testing import FakeModel\n"
            "agent = Agent(FakeModel(['x']), mcp_servers=[MCPServer('a', command=['x'])])\n"
            "try: agent.run('go')\n"
            "except MCPError as error: print(error)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.stdout == "an MCPServer needs the mcp package: pip install 'fireside[mcp]'\n", done.stderr


class TestHttp:
    def test_tools_are_called_with_the_headers(self) -> None:
        state = State("go")
        with over_http() as (url, _):
            server = MCPServer("web", url=url, headers={"Authorization": "Bearer abc"})
            an_agent(server, [tool_call("web__header"), tool_call("web__add", a=1, b=2)]).run(state)
        assert sorted(results(state)) == ["3", "Bearer abc"]

    def test_one_that_dies_in_a_call_ends_the_run_with_its_reason_when_it_stays_away(self) -> None:
        state = State("go")
        with over_http() as (url, _), pytest.raises(MCPError, match="'web' can't be reached: ConnectError"):
            an_agent(MCPServer("web", url=url), tool_call("web__die")).run(state)
        assert results(state)[0].startswith("(unknown: ")

    def test_a_refusal_is_told_with_its_status(self) -> None:
        with over_http() as (url, _), pytest.raises(MCPError, match=r"'web' can't be used: .* \(HTTP 404 Not Found\)"):
            an_agent(MCPServer("web", url=url + "/not")).run("go")


class TestConnections:
    async def test_runs_at_once_share_one(self) -> None:
        server = bad()
        states = [State("one"), State("two")]
        agent = Agent(FakeModel([tool_call("bad__pid"), tool_call("bad__pid"), "done", "done"]), mcp_servers=[server])
        await asyncio.gather(*map(agent.arun, states))
        assert results(states[0]) == results(states[1])
        assert not is_there(int(results(states[0])[0]))

    async def test_one_that_is_held_serves_several_runs(self) -> None:
        states = [State("one"), State("two")]
        async with bad() as server:
            agent = Agent(
                FakeModel([tool_call("bad__pid"), "done", tool_call("bad__pid"), "done"]), mcp_servers=[server]
            )
            assert "bad__pid" in agent.tools
            for state in states:
                await agent.arun(state)
            assert is_there(int(results(states[0])[0]))
        assert results(states[0]) == results(states[1])
        assert not is_there(int(results(states[0])[0]))
        assert list(agent.tools) == []

    def test_steps_from_a_sync_loop_and_from_a_sync_tool_share_that_of_the_run(self) -> None:
        inner = State("inner")

        @tool
        def delegate() -> str:
            helper = agent.copy(model=FakeModel([tool_call("bad__pid"), "done"]))
            helper.run(inner)
            return ", ".join(helper.tools)

        @loop(until=State.is_answered)
        def steps(agent: Agent, state: State) -> None:
            agent.think(state)
            agent.use_tools(state)

        server, state = bad(tools=["pid"]), State("go")
        agent = an_agent(server, [tool_call("bad__pid"), tool_call("delegate")], tools=[delegate], loop=steps)
        agent.run(state)
        pid, tools = results(state)
        assert results(inner) == [pid]
        assert tools == "delegate, bad__pid"

    async def test_loops_in_two_threads_have_one_each(self) -> None:
        server = bad()

        def run() -> str:
            state = State("go")
            an_agent(server, tool_call("bad__pid")).run(state)
            return results(state)[0]

        one, two = await asyncio.gather(asyncio.to_thread(run), asyncio.to_thread(run))
        assert one != two
        assert not any(map(is_there, map(int, (one, two))))

    def test_each_action_alone_has_one(self) -> None:
        agent, state = an_agent(bad(), tool_call("bad__pid"), "a summary", "an answer"), State("go")
        agent.think(state)
        agent.use_tools(state)
        assert not is_there(int(results(state)[0]))
        agent.compact(state)
        assert agent.ask(state, "what?") == "an answer"
        assert [len(request.tools) for request in agent.model.requests] == [8, 8, 8]  # type: ignore[attr-defined]

    def test_actions_that_are_refused_start_nothing(self) -> None:
        agent = an_agent(MCPServer("x", command=["there-is-no-such-program"]))
        with pytest.raises(ValueError, match="no message"):
            agent.think(State())
        agent.use_tools(State("x"))


class TestResume:
    def saved(self, tmp_path: Path, **settings: Any) -> FileStore:
        store = FileStore(tmp_path)
        Agent(FakeModel(["one"]), store=store, **settings).run(State("go", id="s"))
        return store

    def test_other_servers_are_told(self, tmp_path: Path) -> None:
        store = self.saved(tmp_path, mcp_servers=[bad()])
        state = store.load("s")
        state.add_user_message("on")
        with pytest.warns(ResumeWarning) as warned:
            an_agent(bad(name="other"), store=store).run(state)
        assert warned[0].message.changes == {"mcp_servers": (["bad"], ["other"])}  # type: ignore[union-attr]

    def test_the_same_ones_are_not(self, tmp_path: Path) -> None:
        store = self.saved(tmp_path, mcp_servers=[bad()])
        state = store.load("s")
        state.add_user_message("on")
        assert an_agent(bad(), store=store).run(state) == "done"

    def test_a_conversation_of_an_older_version_had_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def older(agent: Agent) -> dict[str, Any]:
            return {key: value for key, value in fingerprint(agent).items() if key != "mcp_servers"}

        with monkeypatch.context() as patched:
            patched.setattr("fireside.run.fingerprint", older)
            store = self.saved(tmp_path)
        state = store.load("s")
        assert "mcp_servers" not in next(e for e in state.history if e.kind == "run_start").content["agent"]
        state.add_user_message("on")
        assert Agent(FakeModel(["two", "three"]), store=store).run(state) == "two"
        state = store.load("s")
        state.add_user_message("on")
        with pytest.warns(ResumeWarning, match=r"mcp_servers: \[\] when saved, \['bad'\] now"):
            an_agent(bad(), store=store).run(state)
