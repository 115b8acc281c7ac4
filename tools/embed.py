#!/usr/bin/env python3
"""Turns YAML descriptions into a C table, so that the program carries its presets with it.

embed.py HEADER SYMBOL OUTPUT.c FILE.yaml...

HEADER declares the table, `const qh_preset SYMBOL[]` with `const int64_t SYMBOL_count`; rows are in
the order of the names; a preset is called as its file. The text goes in as numbers, because a string
literal of more than 4095 characters is not portable C. Each file has a one-line `about:`, which
lists show.
"""
import os
import re
import sys


def c_bytes(data):
    rows = [data[i:i + 24] for i in range(0, len(data), 24)]
    return ",\n    ".join(",".join(str(b) for b in row) for row in rows)


def about_of(path, text):
    match = re.search(r'^about: +"([^"\\]+)"\s*$', text, re.MULTILINE)
    if not match:
        sys.exit(f"{path}: no one-line about; write about: \"text\"")
    return match.group(1)


def main():
    header, symbol, output, *paths = sys.argv[1:]
    presets = []
    for path in paths:
        with open(path, encoding="ascii") as file:
            text = file.read()
        name = os.path.splitext(os.path.basename(path))[0]
        presets.append((name, about_of(path, text), text))
    presets.sort()
    lines = [f"#include \"{header}\"", ""]
    for i, (_, about, text) in enumerate(presets):
        for part, value in (("about", about), ("text", text)):
            lines.append(f"static const char {part}_{i}[] = {{\n"
                         f"    {c_bytes(value.encode() + bytes(1))}}};")
    lines += ["", f"const qh_preset {symbol}[] = {{"]
    lines += [f'    {{"{name}", about_{i}, text_{i}}},' for i, (name, _, _) in enumerate(presets)]
    lines += ["};", f"const int64_t {symbol}_count = {len(presets)};", ""]
    with open(output, "w", encoding="ascii") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
