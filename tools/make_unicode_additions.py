#!/usr/bin/env python3
"""Writes src/text/unicode_additions.h: characters that PCRE2 10.42 (Unicode 14) does not know yet.

Truth: the regular expressions of Hugging Face `tokenizers` (Unicode 16 in 0.23.3). Python 3.11's
unicodedata is Unicode 14 as well, so it stands for PCRE2's tables. Fails if a character changed its
category in between, which additions could not express.

Usage: make_unicode_additions.py > src/text/unicode_additions.h   (then clang-format)
"""
import unicodedata

from tokenizers import Regex, normalizers

CLASSES = ["Lu", "Ll", "Lt", "Lm", "Lo", "M", "N", "P", "S"]
CODE_POINTS = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]


def categories_of_tokenizers():
    """By code point: the one class of CLASSES that the reference's engine has it in."""
    text = "".join(map(chr, CODE_POINTS))
    found = {}
    for name in CLASSES:
        marked = normalizers.Replace(Regex(r"\p{%s}" % name), "\0").normalize_str(text)
        assert len(marked) == len(text)
        for code_point, character in zip(CODE_POINTS, marked):
            if character == "\0":
                assert code_point not in found
                found[code_point] = name
    return found


def old_class(code_point):
    category = unicodedata.category(chr(code_point))
    return category if category in CLASSES else category[0] if category[0] in CLASSES else None


def ranges_of(code_points):
    ranges = []
    for code_point in code_points:
        if ranges and ranges[-1][1] == code_point - 1:
            ranges[-1][1] = code_point
        else:
            ranges.append([code_point, code_point])
    return ranges


def main():
    assert unicodedata.unidata_version == "14.0.0", unicodedata.unidata_version
    new = categories_of_tokenizers()
    added = {name: [] for name in CLASSES}
    for code_point in CODE_POINTS:
        if new.get(code_point) == old_class(code_point):
            continue
        assert unicodedata.category(chr(code_point)) == "Cn", hex(code_point)
        added[new[code_point]].append(code_point)
    print("// Characters of Unicode 15 and 16, by class, as ranges for a PCRE2 bracket: the distribution's")
    print("// PCRE2 10.42 knows Unicode 14. Made by tools/make_unicode_additions.py; do not edit.")
    print("#pragma once\n\n#include <string_view>\n\nnamespace weir {\n")
    print("struct UnicodeAddition {\n  std::string_view property;  // as in a pattern\n"
          "  std::string_view ranges;\n};\n")
    print("inline constexpr UnicodeAddition kUnicodeAdditions[] = {")
    for name, code_points in added.items():
        if not code_points:
            continue
        print(f'    {{"\\\\p{{{name}}}",')
        for first, last in ranges_of(code_points):
            text = f"\\\\x{{{first:X}}}" + (f"-\\\\x{{{last:X}}}" if last > first else "")
            print(f'     "{text}"')
        print("    },")
    print("};\n\n}  // namespace weir")


if __name__ == "__main__":
    main()
