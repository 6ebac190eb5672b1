"""The sync names: one implementation, the async one, is driven from here. It knows signals alone.

Three situations. No event loop runs: one is made for the call. The call comes from a worker thread of a run (a sync tool,
a sync loop function): it goes to that run's loop. A loop runs in this very thread: `TypeError` that names the twin.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fireside.signals import Driver, end_by_signals, from_signal_handler

T = TypeVar("T")

_driver: contextvars.ContextVar[Driver | None] = contextvars.ContextVar("fireside_driver", default=None)


class Portal:
    """The way from a worker thread back to the loop of its run, open as long as somebody waits for that thread.

    What the thread asked for ends with it: a request under way must not go on in a run that is over.
    """

    __slots__ = ("loop", "open", "pid", "tasks")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.pid = os.getpid()
        self.open = True
        self.tasks: set[asyncio.Task[Any]] = set()

    def ask(self, work: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
        """Runs the coroutine that `work` makes in the loop, and waits for it here, in the thread."""
        late = RuntimeError(f"{name} came too late: the run that this thread works for has ended")

        async def asked() -> T:
            if not self.open:
                raise late
            task = asyncio.current_task()
            assert task is not None
            self.tasks.add(task)
            try:
                return await work()
            finally:
                self.tasks.discard(task)

        if not self.open or not self.loop.is_running():
            raise late
        return asyncio.run_coroutine_threadsafe(asked(), self.loop).result()

    async def close(self) -> None:
        """Nobody waits for the thread any more."""
        self.open = False
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks)


_portal: contextvars.ContextVar[Portal | None] = contextvars.ContextVar("fireside_portal", default=None)


def loop_here() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs in this thread, or that of the run which this thread works for."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        portal = _portal.get()
        return portal.loop if portal is not None else None


def inline() -> bool:
    """Whether blocking stores may be called in place: a sync name made the loop, and nobody else is waiting for it."""
    return _driver.get() is not None


def true_cause(error: BaseException) -> BaseException:
    """What ended a run: a signal handler's exception reaches the tasks of a loop as a cancellation.

    Where a user drives the loop, `asyncio.run` cancels them while that exception goes through it: it is then the context
    of the cancellation.
    """
    if not isinstance(error, asyncio.CancelledError):
        return error
    driver = _driver.get()
    if driver is not None and driver.cause is not None:
        return driver.cause
    return error.__context__ if isinstance(error.__context__, KeyboardInterrupt | SystemExit) else error


def drive(work: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
    """Runs the coroutine that `work` makes to its end. `name` is the sync name that was called."""
    if _in_loop():
        raise TypeError(f"{name} can't be called inside a running event loop; await a{name} there")
    if (portal := _portal.get()) is not None and portal.pid == os.getpid():  # a forked child has no way to that loop
        return portal.ask(work, name)
    loop = asyncio.new_event_loop()
    try:
        return _run(loop, work)
    finally:
        try:
            _finish(loop)
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run(loop: asyncio.AbstractEventLoop, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    driver = Driver()
    context = contextvars.copy_context()
    context.run(_driver.set, driver)
    task = loop.create_task(context.run(work), context=context)
    loop.set_exception_handler(lambda loop, told: _on_loop_error(loop, told, task, driver))
    with end_by_signals(loop, task, driver):
        try:
            result = loop.run_until_complete(task)
        except BaseException as error:
            if not task.done():  # raised in the loop by a signal handler: the run is told, ends as it should and saves
                driver.cause = error
                task.cancel()
                with contextlib.suppress(BaseException):
                    loop.run_until_complete(task)
                raise
            if isinstance(error, asyncio.CancelledError) and driver.cause is not None:
                cause = driver.cause
                for note in getattr(error, "__notes__", ()):
                    cause.add_note(note)
                raise cause from None
            if driver.cause is not None and driver.cause is not error:  # it came when nothing was waited for any more
                raise driver.cause from error
            raise
        if driver.cause is not None:
            raise driver.cause
        return result


def _on_loop_error(
    loop: asyncio.AbstractEventLoop, told: dict[str, Any], task: asyncio.Task[Any], driver: Driver
) -> None:
    """A signal handler may raise inside a callback of the loop, which asyncio would log and forget: it ends the run."""
    error = told.get("exception")
    if error is None or not from_signal_handler(error):
        loop.default_exception_handler(told)
    elif driver.cause is None and not task.done():
        driver.cause = error
        task.cancel()


def _finish(loop: asyncio.AbstractEventLoop) -> None:
    """Cancels what is left in the loop. Worker threads that still run are not waited for."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())


async def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a user's function, sync or async; a sync one on a thread of its own, so that it can block nobody."""
    unwrapped = inspect.unwrap(function)
    if inspect.iscoroutinefunction(unwrapped) or inspect.iscoroutinefunction(getattr(unwrapped, "__call__", None)):  # noqa: B004
        return await function(*args, **kwargs)
    value = await in_thread(function, *args, **kwargs)
    return await value if inspect.isawaitable(value) else value


async def in_thread(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Runs a function on a thread of its own that nobody waits for once this call is cancelled.

    The loop's executor is not used: its threads are joined at the end, and a sync tool would hold the end back.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()
    portal = Portal(loop)
    context.run(_portal.set, portal)

    def deliver(set_it: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_it(value)

    def work() -> None:
        try:
            result = context.run(function, *args, **kwargs)
        except BaseException as error:
            # a StopIteration can't be put into a future
            raised: BaseException = (
                RuntimeError(f"{type(error).__name__} came out of a tool")
                if isinstance(error, StopIteration)
                else error
            )
            told = (future.set_exception, raised)
        else:
            told = (future.set_result, result)  # type: ignore[assignment]
        with contextlib.suppress(RuntimeError):  # the loop is closed: the late result is dropped
            loop.call_soon_threadsafe(deliver, *told)

    threading.Thread(target=work, name=f"fireside {getattr(function, '__name__', 'tool')}", daemon=True).start()
    try:
        return await future
    finally:
        await portal.close()
