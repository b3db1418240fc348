"""The ratios as a picture: a dot for each peer, to the right of the line where we are faster."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from benchmarks.peers.times import OURS, Row

#: pixels: of the names, of the axis, of a row, around
LABELS, WIDE, ROW, EDGE = 330, 560, 24, 20
#: the axis, in medians of peers over ours; what lies outside is drawn at its end
LEAST, MOST = 0.25, 8.0
TICKS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
COLOURS = ("#4269d0", "#efb118", "#ff725c", "#3ca951", "#a463f2", "#9c6b4e", "#97bbf5")


def svg(rows: Sequence[Row]) -> str:
    """A picture of rows that have a median of ours."""
    shown = [row for row in rows if OURS in row.times]
    peers = list(dict.fromkeys(p for row in shown for p in row.times if p != OURS))
    colour = {peer: COLOURS[i % len(COLOURS)] for i, peer in enumerate(peers)}
    bottom = EDGE + ROW * (len(shown) + 1)
    marks = [_tick(tick, bottom) for tick in TICKS]
    for i, peer in enumerate(peers):
        x = EDGE + 120 * i
        marks.append(_dot(x, EDGE, colour[peer], peer) + _text(x + 8, EDGE + 4, peer))
    for i, row in enumerate(shown, start=1):
        y = EDGE + ROW * i + ROW // 2
        marks.append(_text(EDGE, y + 4, f"{row.work.name} {row.work.title}, {row.threads}t"))
        for peer in (p for p in peers if p in row.times):
            ratio = row.times[peer].median_s / row.times[OURS].median_s
            marks.append(_dot(_x(ratio), y, colour[peer], f"{peer} {ratio:.2f}"))
    width = max(LABELS + WIDE + 2 * EDGE, EDGE + 120 * len(peers))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 2 * EDGE}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>'
        "\n" + "\n".join(marks) + "\n</svg>\n"
    )


def _x(ratio: float) -> float:
    """Where a ratio lies on the axis, which is logarithmic."""
    inside = min(max(ratio, LEAST), MOST)
    return EDGE + LABELS + WIDE * math.log(inside / LEAST) / math.log(MOST / LEAST)


def _tick(ratio: float, bottom: float) -> str:
    x, stroke = _x(ratio), "#000" if ratio == 1 else "#ddd"
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{EDGE + ROW}" y2="{bottom}" stroke="{stroke}"/>'
    return line + _text(x - 8, bottom + 16, f"{ratio:g}×")


def _dot(x: float, y: float, colour: str, title: str) -> str:
    name = html.escape(title)
    return f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{colour}"><title>{name}</title></circle>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y}">{html.escape(text)}</text>'
