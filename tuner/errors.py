"""The tree of errors. Each message says what, where, what was expected and what to do.

TilewrightError
├── ProgramError          a program text is refused (line and column are known)
│   ├── SyntaxRefused     not the language, or not its static shapes and affine subscripts
│   ├── BoundsRefused     an access that cannot be proven inside its buffer
│   └── LimitRefused      larger than a stated limit
├── WorkloadError         unknown operator, or sizes it cannot have
├── TargetError           unknown target
├── ScheduleError         a step that is illegal where it stands
├── StageError            a program that is not legal at this stage (a defect of ours)
├── CodegenError          something a dialect cannot say
├── EmptySpaceError       no legal point; names the constraint
├── SearchError           a strategy that cannot search this space
└── LogError              the tuning log refuses
    ├── NotFound
    ├── LineRefused       a line of an exported log that cannot be taken in
    └── Conflict          a stale lease, a repeated key with another body
"""


class TilewrightError(Exception):
    """Root of everything that Tilewright refuses on purpose."""


class ProgramError(TilewrightError):
    """A program text is refused. `line` and `column` count from 1; 0 where there is no place."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        self.message, self.line, self.column = message, line, column
        super().__init__(f"line {line}, column {column}: {message}" if line else message)


class SyntaxRefused(ProgramError):
    """The text is not in the language."""


class BoundsRefused(ProgramError):
    """An access cannot be proven inside its buffer."""


class LimitRefused(ProgramError):
    """The program is larger than a stated limit."""


class WorkloadError(TilewrightError):
    """Unknown operator, or sizes that it cannot have."""


class TargetError(TilewrightError):
    """Unknown target."""


class ScheduleError(TilewrightError):
    """A step is illegal: `step` is its text, `loops` the loop nest it was applied to."""

    def __init__(self, message: str, step: str = "", loops: str = "", position: int = -1) -> None:
        self.message, self.step, self.loops, self.position = message, step, loops, position
        where = f"step {position + 1}, {step}: " if position >= 0 else f"{step}: " if step else ""
        super().__init__(f"{where}{message}" + (f"\n{loops}" if loops else ""))


class StageError(TilewrightError):
    """A program is not legal at this stage of lowering."""


class CodegenError(TilewrightError):
    """A node that the dialect cannot express."""


class EmptySpaceError(TilewrightError):
    """A space without a legal point."""


class SearchError(TilewrightError):
    """A strategy that cannot search this space."""


class LogError(TilewrightError):
    """The tuning log refuses."""


class NotFound(LogError):
    """No such entry."""


class LineRefused(LogError):
    """A line of an exported log is not in its form, or tells what cannot be."""


class Conflict(LogError):
    """The entry is held by somebody else, or was given with another content."""
