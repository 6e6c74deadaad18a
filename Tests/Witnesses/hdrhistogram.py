#!/usr/bin/env python3
"""Writes hdrhistogram.tsv beside it: what another histogram says of the same samples. Wants PyPI's hdrhistogram 0.10.8.

    value <TAB> N <TAB> END                 the end of the bucket that N microseconds fall into
    set <TAB> SEED <TAB> COUNT <TAB> LOW <TAB> HIGH <TAB> PERCENT <TAB> VALUE
                                            a percentile of drawn samples of LOW to HIGH bits

That library rounds ranks to the nearest, so only percentiles with a whole rank are asked for; and it gives the end of the
bucket even where it lies behind the greatest sample.
"""
import os

from hdrh.histogram import HdrHistogram

LONGEST = 7_200_000_000


def samples(count, low, high, seed):
    state, drawn = seed, []

    def following():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        return state >> 16

    for _ in range(count):
        width = low + following() % (high - low + 1)
        drawn.append(1 << (width - 1) | following() & (1 << (width - 1)) - 1)
    return drawn


def end(value):
    histogram = HdrHistogram(1, LONGEST, 3)
    histogram.record_value(value)
    return histogram.get_value_at_percentile(100)


def main(path):
    values = {1, 2, 1000, LONGEST - 1, LONGEST}
    for bits in range(10, 33):
        values |= {(1 << bits) + n for n in (-2, -1, 0, 1, 2)} | {3 << bits - 1, (7 << bits - 2) + 5}
    lines = ["value\t%d\t%d" % (value, end(value)) for value in sorted(values) if value <= LONGEST]
    for seed, (count, low, high) in enumerate([(100, 8, 12), (1_000, 10, 13), (20_000, 1, 33)], 1):
        histogram = HdrHistogram(1, LONGEST, 3)
        for sample in samples(count, low, high, seed):
            histogram.record_value(min(sample, LONGEST))
        for percent in (1, 5, 25, 50, 75, 90, 95, 99, 100):
            value = histogram.get_value_at_percentile(percent)
            lines.append("set\t%d\t%d\t%d\t%d\t%d\t%d" % (seed, count, low, high, percent, value))
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


main(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hdrhistogram.tsv"))
