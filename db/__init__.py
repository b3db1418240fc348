"""The database: the tuning log, the jobs and the queue, in one place and one transaction.

migrate(url)            make it, or bring its schema to this version's
open(url, role)         -> Database, held for one role until `close`
"""

from __future__ import annotations

from db.engine import Database
from db.locks import Role
from db.migrate import migrate
from db.opening import open

__all__ = ["Database", "Role", "migrate", "open"]
