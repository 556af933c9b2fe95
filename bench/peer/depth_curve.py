"""How the cost of a token grows with depth: a straight line through the medians, beside arithmetic.

    seconds a token = a + b * depth          least squares over the depths past every window

What arithmetic says of the same line: decode reads the weights and the window layers' KV whatever
the depth, and the full layers' KV in proportion to it; prefill multiplies by the matrices whatever
the depth, and attends to keys in proportion. Work / cost is the rate at which each part runs.
"""

import collections
import statistics

DEPTHS = [0, 1024, 2048, 4096, 8192, 16384, 31744]
TESTS = ",".join(f"{test}@d{depth}" for depth in DEPTHS for test in ("pp512", "tg64"))
LEAST_DEPTH = 1024  # below it window layers grow too


def least_squares(points):
    """(a, b) of y = a + b x."""
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    b = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return mean_y - b * mean_x, b


def split(test):
    name, _, depth = test.partition("@d")
    return name.strip(), int(depth or 0)


def curves(rows):
    """{(model, threads, test): [(depth, row)]} of what can be fitted."""
    groups = collections.defaultdict(list)
    for row in rows:
        name, depth = split(row["test"])
        if depth >= LEAST_DEPTH:
            groups[row["model"], row["threads"], name].append((depth, row))
    return {key: points for key, points in groups.items() if len(points) >= 3}


def work_of(row):
    """(fixed and growing work of a token together, unit): bytes of decode, operations of prefill."""
    roofline = row["roofline"]
    if "read_bytes" in roofline:
        return roofline["read_bytes"]["per_token"], "B"
    return roofline["int8_ops"]["per_token"] + roofline["attention_ops_per_token"], "op"


def fit_line(key, points, program):
    costs = [(depth, 1 / statistics.median(row[program])) for depth, row in points]
    a, b = least_squares(costs)
    worst = max(abs(a + b * depth - cost) / cost for depth, cost in costs)
    fixed, growth = least_squares([(depth, work_of(row)[0]) for depth, row in points])
    unit = work_of(points[0][1])[1]
    rates = [f"{work / cost * 1e-9:.1f} G{unit}/s" if cost > 0 else "none" for work, cost in ((fixed, a), (growth, b))]
    name = "llama.cpp" if program == "peer" else program
    return (f"| {key[0]} | {key[1]} | {key[2]} | {name} | {a * 1e6:.1f} | {b * 1e6 * 1024:.2f} | {worst:.1%} | "
            f"{fixed * 1e-6:.1f} M{unit} | {growth * 1024e-6:.2f} M{unit} | {rates[0]} | {rates[1]} |")


def table(rows):
    lines = ["| model | threads | test | program | a, us | b, us per 1K | worst miss | work at 0 | work per 1K | rate of a | "
             "rate of b |", "|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for key, points in curves(rows).items():
        for program in ("weir", "peer"):
            if points[0][1][program]:
                lines.append(fit_line(key, points, program))
    return "\n".join(lines)
