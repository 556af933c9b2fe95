#!/usr/bin/env python3
"""Compares the #includes of src/ with the DEPS that each folder's CMakeLists.txt declares.

A folder may include its own headers and those of its DEPS, directly named. Also finds folders that
the source tree has and src/CMakeLists.txt does not build, and cycles. The headers of include/weir/ are
what outside programs get: at most 8, which include each other and the standard library, and which
only src/library/ implements. Exit 1 with one line a breach.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"


def declared_deps(folder):
    """The DEPS of `folder`, from its weir_library() call."""
    text = (SRC / folder / "CMakeLists.txt").read_text()
    call = re.search(r"weir_library\(\s*(\w+)(.*?)\)", text, re.S)
    if not call or call[1] != folder:
        return None
    deps = re.search(r"\bDEPS\b((?:\s+(?!LIBS\b)[\w]+)*)", call[2])
    return set(deps[1].split()) if deps else set()


def api_breaches():
    """Headers of include/weir/ that lean on more than the standard library, and their users in src/."""
    headers = sorted((ROOT / "include").rglob("*.h"))
    breaches = [] if len(headers) <= 8 else [f"include/weir: {len(headers)} headers, at most 8"]
    for path in headers:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s+(\S+)', line)
            if include and not re.fullmatch(r'<[a-z_]+>|"weir/\w+\.h"', include[1]):
                breaches.append(f"{path.relative_to(ROOT)}:{number}: includes {include[1]}")
    for path in sorted(SRC.rglob("*")):
        if path.suffix in (".h", ".cc") and path.parent != SRC / "library" and '"weir/' in path.read_text():
            breaches.append(f"{path.relative_to(ROOT)}: includes a header of include/weir")
    return breaches


def main():
    breaches = api_breaches()
    folders = sorted(p.name for p in SRC.iterdir() if p.is_dir())
    deps = {}
    for folder in folders:
        found = declared_deps(folder)
        if found is None:
            breaches.append(f"src/{folder}/CMakeLists.txt: no weir_library({folder} ...) call")
        deps[folder] = found or set()

    for folder in folders:
        for path in sorted((SRC / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                include = re.match(r'\s*#\s*include\s+"([^"/]+)/', line)
                if not include or include[1] == folder or include[1] not in folders:
                    continue
                if include[1] not in deps[folder]:
                    breaches.append(
                        f"{path.relative_to(ROOT)}:{number}: {folder} includes {include[1]}, which is not in its DEPS"
                    )

    def reaches(start, goal, seen):
        return any(d == goal or (d not in seen and not seen.add(d) and reaches(d, goal, seen)) for d in deps.get(start, ()))

    breaches += [f"src/{f}: depends on itself through {sorted(deps[f])}" for f in folders if reaches(f, f, set())]
    print("\n".join(breaches) or f"layers: {len(folders)} folders keep their DEPS")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
