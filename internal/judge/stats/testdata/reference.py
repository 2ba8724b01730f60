"""Reference values for the statistics of verify, from scipy and statsmodels.

    python3 -m venv venv && venv/bin/pip install scipy==1.17.1 statsmodels
    venv/bin/python reference.py > reference.json

The confidence intervals, which scipy does not have for these tests, are order statistics
of the Walsh averages or differences, with the null distribution counted out by itself:
every set of signs, every choice of a group.
"""
import itertools
import json
import math

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

EVERY = stats.PermutationMethod(n_resamples=np.inf)


def signed(name, d, theta, alpha=0.05):
    d = np.array(d)
    off = np.round(d - theta, 12)
    plain = len(set(np.abs(off))) == len(off) and 0 not in off
    method = "exact" if plain else EVERY
    p = {side: stats.wilcoxon(off, zero_method="pratt", correction=False, alternative=side, method=method).pvalue
         for side in ("greater", "less", "two-sided")}
    walsh = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(d, 2))
    out = {"name": name, "d": list(d), "theta": theta, "above": p["greater"], "below": p["less"],
           "two_sided": min(1, 2 * min(p["greater"], p["less"])), "estimate": np.median(walsh)}
    if len(set(walsh)) == len(walsh) and len(d) <= 16:
        sums = np.zeros(len(walsh) + 1)
        for signs in itertools.product((0, 1), repeat=len(d)):
            sums[sum(i + 1 for i, s in enumerate(signs) if s)] += 1
        out["alpha"], out["interval"] = alpha, ends(walsh, sums, alpha)
    return out


def ends(centres, counts, alpha):
    """The k-th centre from either end, k - 1 the largest value with a tail of alpha / 2 at most."""
    tail = np.cumsum(counts) / sum(counts)
    k = int(np.sum(tail <= alpha / 2))
    return [centres[k - 1], centres[-k]] if k else None


def ranksum(name, base, head, theta, alpha=0.05):
    x, y = np.array(base), np.round(np.array(head) - theta, 12)
    plain = len(set(x) | set(y)) == len(x) + len(y)
    method = "exact" if plain else EVERY
    p = {side: stats.mannwhitneyu(y, x, alternative=side, method=method).pvalue for side in ("greater", "less")}
    diffs = sorted(h - b for b in base for h in head)
    out = {"name": name, "base": base, "head": head, "theta": theta, "above": p["greater"], "below": p["less"],
           "two_sided": min(1, 2 * min(p.values())), "estimate": np.median(diffs)}
    if len(set(np.round(diffs, 12))) == len(diffs) and math.comb(len(x) + len(y), len(x)) < 1e6:
        counts = np.zeros(len(diffs) + 1)
        for group in itertools.combinations(range(len(x) + len(y)), len(y)):
            counts[sum(group) - len(y) * (len(y) - 1) // 2] += 1
        out["alpha"], out["interval"] = alpha, ends(diffs, counts, alpha)
    return out


def prediction(earlier, value, alpha):
    e = np.array(earlier)
    scale = e.std(ddof=1) * math.sqrt(1 + 1 / len(e))
    t = stats.t.ppf(1 - alpha, len(e) - 1)
    off = value - e.mean()
    return {"earlier": earlier, "value": value, "alpha": alpha, "estimate": off,
            "interval": [off - t * scale, off + t * scale], "above_zero": stats.t.sf(off / scale, len(e) - 1)}


rng = np.random.default_rng(1)
normal = lambda n, mean, sd: [round(float(v), 6) for v in rng.normal(mean, sd, n)]

print(json.dumps({
    "signed": [
        signed("8 pairs", normal(8, 0.1, 0.02), 0.048790164169432),
        signed("6 pairs, both sides", normal(6, 0.01, 0.05), 0, 0.1),
        signed("12 pairs", normal(12, 0.02, 0.03), 0.01),
        signed("16 pairs", normal(16, 0.05, 0.05), 0.03, 0.01),
        signed("5 pairs cannot give 95 %", normal(5, 0, 1), 0.1),
        signed("40 pairs", normal(40, 0.01, 0.05), 0.0),
        signed("60 pairs", normal(60, 0.01, 0.05), 0.0),
        signed("zeros", [0, 0, 0.3, -0.1, 0.2, 0.5, 0.4, 0], 0),
        signed("ties", [0.1, 0.1, -0.1, 0.2, 0.2, 0.3, -0.2, 0.4, 0.1], 0),
        signed("errors, all equal", [0.0] * 8, 0.1),
        signed("errors, one pair differs", [0, 0, 0, 0, 0, 0, 0, 0.2], 0.1),
        signed("zeros and ties at theta", [0.1, 0.1, 0, 0.2, 0.3, 0.3, -0.1, 0.5, 0.6, 0.1], 0.1),
    ],
    "ranksum": [
        ranksum("5 and 5", normal(5, 0, 0.02), normal(5, 0.1, 0.02), 0.05),
        ranksum("4 and 7", normal(4, 0, 1), normal(7, 1, 1), 0.2, 0.1),
        ranksum("7 and 4", normal(7, 0, 1), normal(4, 1, 1), 0.2, 0.1),
        ranksum("9 and 8", normal(9, 0, 1), normal(8, 0.5, 1), 0),
        ranksum("3 and 3 cannot give 95 %", normal(3, 0, 1), normal(3, 1, 1), 0),
        ranksum("20 and 25", normal(20, 0, 1), normal(25, 0.5, 1), 0),
        ranksum("ties", [0, 0, 0.1, 0.2, 0.2], [0.1, 0.2, 0.3, 0.3, 0.3, 0], 0),
        ranksum("ties at theta, 6 and 4", [0, 0.1, 0.1, 0.3, 0.4, 0], [0.1, 0.2, 0.2, 0.6], 0.1),
    ],
    "prediction": [
        prediction(normal(10, 3, 0.05), 3.2, 0.0125),
        prediction(normal(20, 3, 0.05), 3.01, 0.05),
        prediction(normal(2, 0, 1), 1.0, 0.05),
    ],
    "student": [{"p": p, "df": df, "quantile": stats.t.ppf(p, df)}
                for p in (0.5, 0.75, 0.95, 0.9875, 0.999, 0.999999, 0.01) for df in (1, 2, 9, 30, 400, 100000)],
    "holm": [{"p": p, "alpha": 0.05, "rejected": [bool(r) for r in multipletests(p, 0.05, "holm")[0]]}
             for p in ([0.01, 0.04, 0.03, 0.005], [0.0125, 0.0126, 0.0166, 0.05], [0.2, 0.001, 0.017, 0.016],
                       [0.0126, 0.0126, 0.0126, 0.0126], [0.0125, 0.0125, 0.02, 0.05], [0.05], [0.051])],
}, indent=1, default=float))
