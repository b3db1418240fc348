"""Jobs over small workloads, for the tests of the loop."""

from tuner.frontends.text import parse
from tuner.space.build import space_of
from tuner.target import target
from tuner.tune.job import TuneJob
from tuner.tune.loop import tune
from tuner.workload.catalogue import program_text
from tuner.workload.workload import admit

AVX512 = target("cpu-avx512-1t")


def workload(op, **sizes):
    return admit(parse(program_text(op, sizes)), op, sizes)


MATMUL = workload("matmul", m=48, n=48, k=48)
SOFTMAX = workload("softmax", rows=4, cols=256)
#: too many points for an exhaustive search
LARGE = workload("matmul", m=192, n=192, k=192)
SMALL = workload("softmax", rows=2, cols=32)
#: few
SMALL_POINTS = space_of(SMALL.program, AVX512).size
#: one point
COPY = admit(
    parse("def copy(x: f32[3], y: f32[3]):\n    for i in range(3):\n        y[i] = x[i]\n")
)


def job(*workloads, trials=36, seconds=1e6, strategy="random", **changes):
    return TuneJob(
        id="job", workloads=workloads, target=AVX512, trials=trials, seconds=seconds,
        strategy=strategy, **changes,
    )  # fmt: skip


class Silence:
    """A Progress that nobody listens to."""

    def event(self, kind, data):
        pass


def run(bench, *workloads, progress=None, **changes):
    wanted = job(*workloads, **changes)
    return tune(wanted, bench.log, bench, progress or Silence(), bench.clock)
