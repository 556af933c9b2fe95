#!/usr/bin/env python3
"""Counts the instructions of each hot kernel under callgrind and compares them with counts.json.

    bench/kernels/counts.py            # compare: exit 0 equal, 1 different, 77 not possible here
    bench/kernels/counts.py --refresh  # write the counts of this build

Counts do not depend on the machine's speed or load: the same program gives the same numbers. They
do depend on the compiler, so the baseline is that of the release preset with Debian 12's g++.
valgrind emulates AVX2 at most: the avx512 path is not counted. See README.md.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BASELINE = HERE / "counts.json"
PROGRAM = HERE.parents[1] / "build/release/bench/kernels/counted_kernels"
PATHS = ["scalar", "avx2"]
TOLERANCE = 0.03
REFRESH = "scripts/build release counted_kernels && bench/kernels/counts.py --refresh"
NOT_POSSIBLE = 77


def not_possible(reason):
    print(f"kernel counts skipped: {reason}")
    sys.exit(NOT_POSSIBLE)


def count(program, isa):
    """{kernel: instructions} of one ISA path; a kernel is one dump of callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        dumps = pathlib.Path(folder)
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=WeirCountedCall", "--dump-after=WeirCountedCall",
                   f"--callgrind-out-file={dumps}/dump", str(program)]
        run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "WEIR_ISA": isa})
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)}\nexit {run.returncode}: {run.stderr[-2000:]}")
        if f"WEIR_ISA={isa}" in run.stderr:  # the program's line that the path cannot run here
            not_possible(f"this CPU cannot run the {isa} path")
        names = run.stdout.split()
        counts = {}
        for number, name in enumerate(names, start=1):
            text = (dumps / f"dump.{number}").read_text()
            counts[name] = int(re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)[1])
        return counts


def differences(expected, actual):
    """Lines for every kernel that is new, gone or beyond the tolerance."""
    lines = []
    for name in sorted(expected.keys() | actual.keys()):
        old, new = expected.get(name), actual.get(name)
        if old is None or new is None:
            lines.append(f"  {name:<32} {old or 'not in the baseline'} -> {new or 'no longer counted'}")
        elif abs(new - old) > TOLERANCE * old:
            lines.append(f"  {name:<32} {old:>12} -> {new:>12}  {100 * (new - old) / old:+.1f} %")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--refresh", action="store_true", help="write counts.json")
    parser.add_argument("--program", default=PROGRAM, type=pathlib.Path)
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        not_possible("valgrind is not installed (scripts/dependencies test)")
    actual = {isa: count(args.program, isa) for isa in PATHS}
    if args.refresh:
        BASELINE.write_text(json.dumps(actual, indent=1) + "\n")
        print(f"wrote {BASELINE}: {sum(map(len, actual.values()))} counts")
        return 0
    expected = json.loads(BASELINE.read_text())
    failed = False
    for isa in PATHS:
        lines = differences(expected.get(isa, {}), actual[isa])
        if lines:
            failed = True
            print(f"{isa}: instructions off the baseline by more than {TOLERANCE:.0%}:", *lines, sep="\n")
    if failed:
        print(f"If the change is meant, refresh the baseline and say why in the commit:\n  {REFRESH}")
        return 1
    print(f"{sum(map(len, actual.values()))} counts within {TOLERANCE:.0%} of the baseline")
    return 0


if __name__ == "__main__":
    sys.exit(main())
