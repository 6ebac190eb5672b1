"""What the commands do with a conversation, a message and the settings."""

from __future__ import annotations

from pathlib import Path

from fireside import FileStore, tool
from fireside.testing import FakeModel
from fireside_tui.screens.pick import Pick

from tests.tui.app_support import opened, talk


@tool
def poke(at: str) -> str:
    """Pokes."""
    return "poked"


async def test_edit_and_retry_fork_and_leave_the_old_branch(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one", "two")
    async with opened(tmp_path, ["other answer", "zwei answered"]) as it:
        await it.main.open(id)
        await it.press("ctrl+r")
        await it.until(lambda: it.current.id != id and it.current.state.answer == "other answer")
        await it.main.open(id)
        await it.command("/edit")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        it.app.screen.query_one("TextArea").text = "zwei"  # type: ignore[attr-defined]
        await it.press("ctrl+s")
        await it.until(lambda: it.current.state.answer == "zwei answered")
        assert len(FileStore(tmp_path / "store").list()) == 3
        assert [e.text for e in FileStore(tmp_path / "store").load(id).history if e.kind == "user"] == ["one", "two"]


async def test_checkpoint_rewind_and_compact(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one")
    async with opened(tmp_path, ["second answer", "the summary"]) as it:
        await it.main.open(id)
        await it.command("/checkpoint start")
        await it.until(lambda: it.current.state.checkpoints)
        await it.send("two")
        await it.command("/rewind start")
        await it.until(lambda: it.current.state.answer == "answer to one")
        assert "went back" in it.shown
        await it.command("/compact")
        await it.until(lambda: "the summary" in it.shown and not it.current.running)


async def test_one_can_go_back_to_before_a_message_and_write_another_one(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one", "two", "three")
    model = FakeModel(["another answer"])
    async with opened(tmp_path, model, resume=id) as it:
        await it.app.conversations.set_settings(it.current, effort="low")
        await it.command("/rewind")
        await it.until(lambda: isinstance(it.app.screen, Pick))
        pick = it.app.screen
        assert [choice.label for choice in pick._choices] == ["before: three", "before: two", "before: one"]
        await it.press("down", "enter")
        await it.until(lambda: it.box == "two")
        assert it.current.id == id
        assert it.current.state.answer == "answer to one"
        assert "went back to an earlier message" in it.shown
        assert "answer to three" in it.shown, "what came after can still be read"
        assert "has no answer yet" not in it.shown
        assert it.current.agent.effort == "low"
        await it.press(*" and more", "enter")
        await it.until(lambda: it.current.state.answer == "another answer" and not it.current.running)
        assert [message.text for message in model.requests[0].messages] == ["one", "answer to one", "two and more"]
    again = FileStore(tmp_path / "store").load(id)
    assert [message.text for message in again.context][-2:] == ["two and more", "another answer"]
    assert len(FileStore(tmp_path / "store").list()) == 1


async def test_before_the_first_message_nothing_waits_for_an_answer(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one")
    async with opened(tmp_path, ["again"], resume=id) as it:
        await it.command("/rewind")
        await it.until(lambda: isinstance(it.app.screen, Pick))
        await it.press("enter")
        await it.until(lambda: it.box == "one")
        assert "has no answer yet" not in it.shown
        await it.press("enter")
        await it.until(lambda: it.current.state.answer == "again" and not it.current.running)


async def test_copying_an_answer_its_code_and_the_id(tmp_path: Path) -> None:
    async with opened(tmp_path, ["See:\n\n```py\nprint(1)\n```\n"]) as it:
        await it.send("Hi")
        answer = "See:\n\n```py\nprint(1)\n```\n"
        for line, text in (
            ("/copy", answer),
            ("/copy-code", "print(1)\n"),
            ("/copy-id", it.current.id),
        ):
            await it.command(line)
            await it.until(lambda text=text: it.app.clipboard == text)


async def test_the_model_the_prompt_and_the_effort_belong_to_the_conversation(tmp_path: Path) -> None:
    async with opened(tmp_path, ["a"]) as it:
        await it.command("/effort high")
        await it.command("/system be brief")
        await it.send("Hi")
        await it.command("/model demo")
        await it.until(lambda: it.current.agent.model.name == "demo")
        id = it.current.id
        await it.command("/effort nonsense")
        await it.until(lambda: any("efforts are" in words for words in it.said))
    async with opened(tmp_path, []) as it:
        await it.main.open(id)
        agent = it.current.agent
        assert (agent.model.name, agent.system, agent.effort) == ("demo", "be brief", "high")
        await it.press("ctrl+n")
        await it.until(lambda: it.current.id != id)
        assert it.current.agent.model.name == "fake"


async def test_the_palette_and_the_keys_below_carry_commands_out(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one")
    async with opened(tmp_path) as it:
        await it.main.open(id)
        await it.press("ctrl+p")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        await it.press(*"pin or")
        await it.pilot.pause(0.3)
        await it.press("enter")
        await it.until(lambda: it.main.conversations.device.is_pinned(id))
        await it.pilot.click("#keys", offset=(3, 0))
        await it.until(lambda: it.current.id != id)


async def test_thinking_is_folded_and_shown(tmp_path: Path) -> None:
    from fireside import Text, Thinking

    async with opened(tmp_path, [[Thinking("deep thought", "sig"), Text("answer")]]) as it:
        await it.send("Hi")
        thought = next(item for item in it.main.chat.transcript.items if item.kind == "thinking")
        assert thought.folded
        await it.press("ctrl+t")
        await it.until(lambda: not thought.folded)
        assert "show_thinking = true" in (it.app.config.source).read_text()


async def test_the_keys_on_a_message(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one", "two")
    async with opened(tmp_path, ["other"]) as it:
        await it.main.open(id)
        it.main.chat.transcript.focus()
        await it.until(lambda: it.main.abilities_at_cursor())
        await it.press("c")
        await it.until(lambda: it.app.clipboard == "answer to two")
        await it.press("k", "k", "k", "f")
        await it.until(lambda: it.current.id != id)
        assert [entry.text for entry in it.current.state.history if entry.kind == "user"] == ["one"]
        await it.main.open(id)
        it.main.chat.transcript.focus()
        await it.until(lambda: it.main.abilities_at_cursor())
        await it.press("k", "e")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        await it.press("!", "ctrl+s")
        await it.until(lambda: it.current.state.answer == "other")


async def test_a_setting_with_a_wrong_word_is_told_and_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, ["done"], tools=[poke]) as it:
        await it.command("/tools maybe")
        assert list(it.app.conversations.agent.tools) == ["poke"]
        await it.command("/allow nothing")
        assert it.said == ["/tools on, or /tools off.", "There is no tool nothing; there are poke."]


async def test_tools_go_off_and_on_of_an_agent_that_may_ask_a_person_too(tmp_path: Path) -> None:
    async with opened(tmp_path, ["done"], tools=[poke], human=lambda question: "yes") as it:
        for names in ([], ["poke", "ask_human"]):
            await it.command("/tools")
            assert list(it.app.conversations.agent.tools) == names
