"""The service: jobs, events, schedules and the workers' side over REST; the tuner beside it.

create_app(settings)    the ASGI application
run(settings)           serve it
"""

from __future__ import annotations

from server.app import create_app, run
from server.settings import Settings

__all__ = ["Settings", "create_app", "run"]
