"""What can go wrong in a worker; what goes wrong in a candidate is an Outcome, never one of these.

TilewrightError
└── WorkerError            the worker itself cannot do its work
    ├── NoCompiler         this machine has no C compiler
    ├── BuilderDied        the process that generates and builds went down, or took too long
    ├── NoReference        a program whose right answers this worker cannot make
    ├── Stopped            the run was stopped from outside: a cancelled lease, or a drain
    └── ServiceError       the service's answer
        ├── Unreachable    no answer, or one that a later try may better
        ├── WrongVersion   the service was made with another code generator
        ├── Unauthorized   the token is not one, or not a worker's
        ├── StaleLease     the lease was given to somebody else
        └── UnknownWorker  the service does not know this worker (any more)
"""

from __future__ import annotations

from tuner.errors import TilewrightError


class WorkerError(TilewrightError):
    """The worker itself cannot do its work."""


class NoCompiler(WorkerError):
    """This machine has no C compiler."""


class BuilderDied(WorkerError):
    """The process that generates and builds went down, or took too long."""


class NoReference(WorkerError):
    """A program whose right answers this worker cannot make."""


class Stopped(WorkerError):
    """The run was stopped from outside."""


class ServiceError(WorkerError):
    """The service refused, for a reason that no retry betters."""


class Unreachable(ServiceError):
    """No answer, or one that says to try later."""


class WrongVersion(ServiceError):
    """The service was made with another code generator."""


class Unauthorized(ServiceError):
    """The token is not one, or has not the role of a worker."""


class StaleLease(ServiceError):
    """The lease is not this worker's any more."""


class UnknownWorker(ServiceError):
    """The service does not know this worker: it must enrol again."""
