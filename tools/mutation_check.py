#!/usr/bin/env python3
"""Breaks prefix reuse in one place at a time and demands that the tests of kv/ or the property tests notice.

  tools/mutation_check.py [--jobs N] [--scratch DIR] [NAME...]

Each mutation is one replacement in a scratch copy of the tracked files, built and run with the
event count of CI, up to the first failure. Prints a table; fails if a mutation survives or no
longer applies. Takes half an hour or so: run by hand.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Mutation:
    name: str
    file: str
    old: str
    new: str


MUTATIONS = [
    Mutation(
        "window-safe rule: one tile less",
        "src/prefix/resume_position.cc",
        "if (needs_.window > 0 && !windows_.AllPresent(LiveWindowTiles(needs_.window, position))) {",
        "TileRange live = LiveWindowTiles(needs_.window, position);\n"
        "    if (live.count() > 0) ++live.first;\n"
        "    if (needs_.window > 0 && !windows_.AllPresent(live)) {",
    ),
    Mutation(
        "window-safe rule: one token less",
        "src/prefix/resume_position.cc",
        "windows_.AllPresent(LiveWindowTiles(needs_.window, position))",
        "windows_.AllPresent(LiveWindowTiles(needs_.window - 1, position))",
    ),
    Mutation(
        "tombstones ignored",
        "src/prefix/prefix_trie.cc",
        "return {.has_window = window && window->Has(node),",
        "return {.has_window = true,",
    ),
    Mutation(
        "a tombstone forgotten behind the next window",
        "src/prefix/resume_position.cc",
        "return above_gap_ <= range.first;",
        "return above_gap_ <= range.first || above_gap_ + 1 < range.end;",
    ),
    Mutation(
        "tail shared, not copied",
        "src/kv/sequence_state.cc",
        "if (pool == nullptr || !tile || tile.is_exclusive()) return true;",
        "return true;",
    ),
    Mutation(
        "tail's window shared, not copied",
        "src/kv/sequence_state.cc",
        "(!own(cache_.window_pool(), last.window) || !own(cache_.owed_pool(), last.owed))",
        "!own(cache_.owed_pool(), last.owed)",
    ),
    Mutation(
        "tail's owed rows shared, not copied",
        "src/kv/sequence_state.cc",
        "(!own(cache_.window_pool(), last.window) || !own(cache_.owed_pool(), last.owed))",
        "!own(cache_.window_pool(), last.window)",
    ),
    Mutation(
        "owed rows not required",
        "src/prefix/resume_position.cc",
        "if (needs_.owes_rows && !owed_",
        "if (false && needs_.owes_rows && !owed_",
    ),
    Mutation(
        "owed rows: one tile less",
        "src/prefix/resume_position.cc",
        "owed_.AllPresent(LiveOwedTiles(needs_.residual, position))",
        "owed_.AllPresent(LiveOwedTiles(needs_.residual - (needs_.residual > 0 ? 1 : 0), position))",
    ),
    Mutation(
        "replay one position too short",
        "src/kv/replay.cc",
        "span.begin = Begin(layers, layout, position, span.window_whole_from);",
        "span.begin = Begin(layers, layout, position, span.window_whole_from) + 1;",
    ),
    Mutation(
        "replay lends rows that are not whole",
        "src/kv/recent_tiles.cc",
        "if (tile * kTileTokens < whole_from_) return {};",
        "",
    ),
    Mutation(
        "replay writes full rows",
        "src/kv/sequence_state.cc",
        "is_full && !owed_ ? full_written_ : 0;",
        "0;",
    ),
    Mutation(
        "a window tile in use is written over",
        "src/kv/recent_tiles.cc",
        "(is_kept_[leaving] != 0 || !tiles_[leaving].is_exclusive())",
        "is_kept_[leaving] != 0",
    ),
    Mutation(
        "tokens not compared on a hash match",
        "src/prefix/trie_match.cc",
        "std::memcmp(own.data(), tokens.data(), own.size_bytes()) == 0",
        "true",
    ),
]


def copy_sources(to):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def build(scratch):
    log = scratch / "mutation_build.log"
    with open(log, "w", encoding="utf-8") as out:
        done = subprocess.run(
            [scratch / "scripts/build", "release", "kv_test", "property_test"], stdout=out, stderr=subprocess.STDOUT
        )
    if done.returncode != 0:
        sys.exit(f"the build failed:\n{log.read_text(encoding='utf-8')[-3000:]}")


def reason(output):
    if "has other logits" in output:
        return "other logits"
    crash = re.search(r"\*\*\*(Exception: \w+|Timeout)", output)
    if crash:
        check = re.search(r"check failed: .*", output)
        return check.group(0) if check else crash.group(1)
    failure = re.search(r": Failure\n(.+)", output)
    return failure.group(1) if failure else "failed"


def first_failure(scratch, jobs):
    """Name of the first failing test and why, or None."""
    done = subprocess.run(
        ["ctest", "--test-dir", scratch / "build/release", "-R", r"^(kv|property)\.", "-j", str(jobs),
         "--stop-on-failure", "--output-on-failure", "--timeout", "300"],
        capture_output=True,
        text=True,
    )
    failed = re.search(r"Test +#\d+: (\S+) .*\*\*\*", done.stdout)
    if done.returncode != 0 and failed is None:
        sys.exit(f"ctest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    return f"{failed.group(1)}: {reason(done.stdout)}" if failed else None


def apply(scratch, mutation):
    path = scratch / mutation.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        return False
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    return True


def check(scratch, mutation, jobs):
    """(verdict, whether it was caught)."""
    original = (scratch / mutation.file).read_text(encoding="utf-8")
    if not apply(scratch, mutation):
        return "does not apply any more", False
    try:
        build(scratch)
        failed = first_failure(scratch, jobs)
    finally:
        (scratch / mutation.file).write_text(original, encoding="utf-8")
    return (f"caught by {failed}", True) if failed else ("SURVIVED", False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only mutations with one of these words in their names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--scratch", type=pathlib.Path, help="keep the copy here, to build faster again")
    args = parser.parse_args()
    chosen = [m for m in MUTATIONS if not args.names or any(word in m.name for word in args.names)]

    with tempfile.TemporaryDirectory(prefix="mutation-") as temporary:
        scratch = args.scratch or pathlib.Path(temporary)
        copy_sources(scratch)
        build(scratch)
        failed = first_failure(scratch, args.jobs)
        if failed:
            sys.exit(f"{failed} fails without any mutation")
        print("| mutation | verdict | seconds |\n|---|---|---|", flush=True)
        all_caught = True
        for mutation in chosen:
            begin = time.monotonic()
            verdict, caught = check(scratch, mutation, args.jobs)
            all_caught &= caught
            print(f"| {mutation.name} | {verdict} | {time.monotonic() - begin:.0f} |", flush=True)
    return 0 if all_caught else 1


if __name__ == "__main__":
    sys.exit(main())
