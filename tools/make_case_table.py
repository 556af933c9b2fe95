#!/usr/bin/env python3
"""Writes src/jinja/case_table.inc: the case mappings of this Python's Unicode tables."""
import pathlib

POINTS = range(0x110000)


def runs(pairs):
    """(first, last, stride, delta) for code points with one mapping each."""
    rows, at = [], 0
    while at < len(pairs):
        best, best_stride = 1, 1
        for stride in (1, 2):
            end = at
            while (end + 1 < len(pairs) and pairs[end + 1][0] == pairs[end][0] + stride
                   and pairs[end + 1][1] == pairs[at][1]):
                end += 1
            if end - at + 1 > best:
                best, best_stride = end - at + 1, stride
        rows.append((pairs[at][0], pairs[at + best - 1][0], best_stride, pairs[at][1]))
        at += best
    return rows


def single(change):
    return [(c, ord(change(chr(c))) - c) for c in POINTS
            if len(change(chr(c))) == 1 and change(chr(c)) != chr(c)]


def table(kind, name, rows):
    cells = ["{" + ", ".join(map(str, row)) + "}" for row in rows]
    lines = ["    " + ", ".join(cells[i:i + 4]) + "," for i in range(0, len(cells), 4)]
    return f"constexpr {kind} {name}[] = {{\n" + "\n".join(lines) + "\n};\n"


def special(change):
    return [(hex(c), '"' + "".join(f"\\x{b:02x}" for b in change(chr(c)).encode()) + '"')
            for c in POINTS if len(change(chr(c))) > 1]


def main():
    out = "// Made by tools/make_case_table.py; do not edit. Rows: first, last, stride, delta.\n"
    out += table("CaseRun", "kUpperRuns", runs(single(str.upper)))
    out += table("CaseRun", "kLowerRuns", runs(single(str.lower)))
    out += table("CaseExpansion", "kUpperExpansions", special(str.upper))
    out += table("CaseExpansion", "kLowerExpansions", special(str.lower))
    path = pathlib.Path(__file__).resolve().parent.parent / "src/jinja/case_table.inc"
    path.write_text(out)


if __name__ == "__main__":
    main()
