#!/usr/bin/env python3
"""Circles of imports, sizes and long files of crates: how much of a house has to be read at once.

    scripts/measure_architecture.py [CRATE ...]        default: sql query database

A circle is a set of files that import each other, directly or around a corner (a strongly connected component);
what a path names is the file of its longest prefix that is a module. Tests are left out: files called tests.rs, folders
called tests, and what stands behind a `#[cfg(test)]` at the beginning of a line. Lines are those that are neither
blank nor a comment.
"""

import re
import sys
from pathlib import Path

CRATES = Path(__file__).parents[1] / "crates"
PATH = re.compile(r"\b(crate|self|super)((?:::[a-z_][a-z0-9_]*)+)")
GROUP = re.compile(r"\b((?:crate|self|super)(?:::[a-z_][a-z0-9_]*)*)::\{")
LONG = 600


def sources(crate):
    """By module path, as a tuple: its file and its text without tests."""
    root = CRATES / crate / "src"
    found = {}
    for file in sorted(root.rglob("*.rs")):
        parts = file.relative_to(root).with_suffix("").parts
        if "tests" in parts or parts == ("main",):
            continue
        module = () if parts == ("lib",) else tuple(part for part in parts if part != "mod")
        text = re.split(r"^#\[cfg\(test\)\]", file.read_text(), maxsplit=1, flags=re.M)[0]
        found[module] = (file, re.sub(r"//[^\n]*", "", text))
    return found


def expanded(text):
    """Paths that a text names, those in `use a::{b, c}` one by one."""
    for match in PATH.finditer(text):
        yield match.group(0).split("::")
    for match in GROUP.finditer(text):
        depth, at = 1, match.end()
        while at < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        inside = re.sub(r"\{[^{}]*\}", "", text[match.end() : at - 1])
        for name in re.findall(r"\b([a-z_][a-z0-9_]*)", inside):
            yield match.group(1).split("::") + [name]


def imports(modules, module, text):
    """The modules that one names."""
    for first, *rest in expanded(text):
        base = {"crate": (), "self": module, "super": module[:-1]}[first]
        path = base + tuple(rest)
        while path and path not in modules:
            path = path[:-1]
        # What is only re-exported by the crate's root is not looked for behind it.
        if path and path != module:
            yield path


def circles(graph):
    """Strongly connected components, the largest first (Tarjan, without recursion)."""
    index, low, on, stack, found, counter = {}, {}, set(), [], [], 0
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = counter
        counter += 1
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = counter
                    counter += 1
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(graph[other])))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    one = []
                    while not one or one[-1] != node:
                        one.append(stack.pop())
                        on.discard(one[-1])
                    found.append(one)
    return sorted(found, key=len, reverse=True)


def main():
    print(f"{'crate':10} {'files':>5} {'lines':>7}  {'circle':>6} {'its lines':>9}  files over {LONG} lines")
    for crate in sys.argv[1:] or ["sql", "query", "database"]:
        modules = sources(crate)
        if not modules:
            sys.exit(f"no sources in {CRATES / crate}: name a folder of crates/, as in engines/dora")
        lines = {module: sum(bool(line.strip()) for line in text.split("\n")) for module, (_, text) in modules.items()}
        graph = {module: set(imports(modules, module, text)) for module, (_, text) in modules.items()}
        largest = max(circles(graph), key=len)
        long = [str(file.relative_to(CRATES)) for file, _ in modules.values() if file.read_text().count("\n") > LONG]
        within = sum(lines[module] for module in largest)
        print(f"{crate:10} {len(modules):5} {sum(lines.values()):7}  {len(largest):6} {within:9}  {' '.join(long) or '-'}")


if __name__ == "__main__":
    main()
