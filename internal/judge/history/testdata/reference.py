"""Reference values for the statistics of history, written independently of the Go code, with numpy and scipy.

    python3 -m venv venv && venv/bin/pip install numpy scipy
    venv/bin/python reference.py > reference.json

The statistic is computed by its definition, with two means for each split, and the p-values by all orders
of a short series, where Go draws some.
"""
import itertools
import json
import math

import numpy as np
from scipy import stats

BESIDE, CAP = 3, 3


def scores(values):
    values = np.array(values, float)
    center = np.median(values)
    scale = stats.median_abs_deviation(values) * 1.4826
    if scale == 0:
        scale = math.sqrt(math.pi / 2) * np.mean(np.abs(values - center))
    return np.clip((values - center) / scale, -CAP, CAP)


def intervals(n):
    """All points, then halves, quarters and so on, overlapping by half."""
    out, length = [], n
    while length >= 2 * BESIDE:
        step = max(1, length // 2)
        start = 0
        while True:
            start = min(start, n - length)
            out.append((start, start + length))
            if start == n - length:
                break
            start += step
        if length == 2 * BESIDE:
            break
        length = (length + 1) // 2
    return out


def statistic(points):
    """The largest √(ab/(a+b))·|difference of means|, in deviations as differences of neighbours show them."""
    sd = math.sqrt(np.sum(np.diff(points) ** 2) / 2 / (len(points) - 1))
    best, at = 0, 0
    for lo, hi in intervals(len(points)):
        for k in range(lo + BESIDE, hi - BESIDE + 1):
            a, b = points[lo:k], points[k:hi]
            d = math.sqrt(len(a) * len(b) / (len(a) + len(b))) * abs(a.mean() - b.mean())
            if d > best + 1e-12:
                best, at = d, k
    return best / sd, at


def exact(points):
    """Share of all orders whose statistic is at least as large."""
    own, _ = statistic(points)
    n = above = 0
    for order in itertools.permutations(points):
        n += 1
        if statistic(np.array(order))[0] >= own * (1 - 1e-9):
            above += 1
    return above / n


def correlation(values):
    """Of normal scores, by differences: 1 − γ(1) ÷ mean of γ(3 … 8), and a standard error."""
    n = len(values)
    z = stats.norm.ppf(stats.rankdata(values, method="ordinal") / (n + 1))
    gamma = lambda lag: np.mean((z[lag:] - z[:-lag]) ** 2) / 2
    far = np.mean([gamma(lag) for lag in range(3, 9) if lag < n / 2 and lag < n // 2])
    return min(max(1 - gamma(1) / far + 1 / math.sqrt(n), 0), 0.8)


def main():
    rng = np.random.default_rng(7)
    out = {"scan": [], "exact": [], "correlation": []}
    for n, change in ((12, 7), (21, 15), (40, 10), (57, 30)):
        x = rng.normal(size=n)
        x[change:] += 1.5
        s = scores(x)
        d, at = statistic(s)
        out["scan"].append({"values": list(x), "scores": list(s), "distance": d, "at": at, "intervals": intervals(n)})
    for x in ([1.0, 1.3, 0.9, 2.1, 2.4, 1.9, 2.2], [1.0, 2.0, 1.5, 1.2, 1.8, 1.1, 1.6]):
        s = scores(x)
        out["exact"].append({"values": x, "p": exact(s)})
    for n, rho in ((12, 0), (30, 0.5), (80, 0.3)):
        x = [rng.normal()]
        for _ in range(n - 1):
            x.append(rho * x[-1] + math.sqrt(1 - rho * rho) * rng.normal())
        out["correlation"].append({"values": x, "rho": correlation(x)})
    print(json.dumps(out, indent=1, default=float))


main()
