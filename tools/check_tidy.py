#!/usr/bin/env python3
"""House rules that no compiler checks, for tracked files.

  line length   100 columns in C++ (raw string literals of tests and tables excepted by the formatter)
  file length   400 lines warn, 600 fail
  words         FIXME, XXX, HACK, and folders named utils, common, helpers, manager, misc
  format        clang-format-14 leaves every C++ file as it is
"""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BANNED_WORDS = ("FIXME", "XXX", "HACK")
BANNED_FOLDERS = {"utils", "util", "common", "helpers", "manager", "misc"}
WARN_LINES, FAIL_LINES = 400, 600


def main():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    files = [f for f in listed if f and (ROOT / f).is_file()]
    cpp = [f for f in files if f.endswith((".cc", ".h"))]
    breaches, warnings = [], []
    for name in files:
        if BANNED_FOLDERS & set(pathlib.PurePath(name).parts[:-1]):
            breaches.append(f"{name}: a folder that says nothing about what is in it")
    for name in cpp:
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        if len(lines) > FAIL_LINES:
            breaches.append(f"{name}: {len(lines)} lines, at most {FAIL_LINES}")
        elif len(lines) > WARN_LINES:
            warnings.append(f"{name}: {len(lines)} lines: two nouns in one file?")
        for number, line in enumerate(lines, 1):
            if any(word in line.replace('"', " ").split() or f"// {word}" in line for word in BANNED_WORDS):
                breaches.append(f"{name}:{number}: leftover {line.strip()[:60]}")
    formatter = shutil.which("clang-format-14")
    if formatter and cpp:
        run = subprocess.run([formatter, "--dry-run", "-Werror", *cpp], cwd=ROOT, capture_output=True, text=True)
        breaches += [line for line in run.stderr.splitlines() if "error:" in line]
    elif not formatter:
        breaches.append("clang-format-14 is not installed: scripts/dependencies test")
    for line in warnings:
        print("warning:", line)
    print("\n".join(breaches) or f"tidy: {len(files)} files, {len(cpp)} of them C++")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
