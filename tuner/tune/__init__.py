"""The tuning loop: the one place where search, model, log and machines meet."""

from tuner.tune.bench import Bench
from tuner.tune.job import Progress, State, Tuned, TuneJob
from tuner.tune.loop import tune

__all__ = ["Bench", "Progress", "State", "TuneJob", "Tuned", "tune"]
