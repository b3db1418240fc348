"""`@program`: a plain loop function as a program. Its source text is read; its body never runs."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tilewright.clients import Client
from tilewright.function_text import function_text
from tilewright.kernels import Kernel
from tuner.errors import TilewrightError
from tuner.frontends.text import parse
from tuner.ir.nodes import Program as Definition


@dataclass(frozen=True, slots=True)
class Program:
    """A tensor program that was written as a Python function."""

    #: as the service takes it: numbers of the surrounding scope are put in as literals
    text: str
    #: what was read of it
    definition: Definition = field(repr=False)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.definition.name

    def tune(  # noqa: PLR0913 - the fields of a job
        self,
        *,
        client: Client | None = None,
        trials: int = 128,
        seconds: float | None = None,
        target: str | None = None,
        strategy: str = "evolutionary",
        seed: int = 0,
        timeout_s: float | None = None,
        more: bool = False,
    ) -> Kernel:
        """Submit the program, wait for the end of its job, load the best schedule's C.

        Without a client, one is made as `Client()` is. See `Client.tune`; of an AsyncClient,
        `await client.tune(program)` does the same.
        """
        with _own_or(client) as here:
            return here.tune(
                self, trials=trials, seconds=seconds, target=target, strategy=strategy, seed=seed,
                timeout_s=timeout_s, more=more,
            )  # fmt: skip

    def kernel(self, *, client: Client | None = None, target: str | None = None) -> Kernel:
        """Load the best schedule that is known already. See `Client.kernel`."""
        with _own_or(client) as here:
            return here.kernel(self, target)

    def __call__(self, *arguments: Any) -> NoReturn:
        raise TilewrightError(
            f"{self.name} is a program, and its body never runs; {self.name}.tune() gives what "
            "can be called"
        )


def program(function: Callable[..., Any]) -> Program:
    """Decorator: the program that the source text of `function` describes, read at once.

        @program
        def scale(x: f32[N], y: f32[N]):
            for i in range(N):
                y[i] = x[i] * 2.0

    Numbers of the surrounding scope (`N`) become literals, with the value that they have now.
    Raises ProgramError, with the line in the file, where the text is not in the language.
    """
    frame = inspect.currentframe()
    around = frame.f_back.f_locals if frame and frame.f_back else {}
    text = function_text(function, around)
    return Program(text, parse(text))


@contextlib.contextmanager
def _own_or(client: Client | None) -> Iterator[Client]:
    """The given client, which stays open, or one of our own."""
    if client is not None:
        yield client
        return
    with Client() as own:
        yield own
