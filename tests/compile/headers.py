#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every header alone, and what those that users include cost them.

    headers.py [--gate] COMPILER INCLUDE_DIR HEADER...

Compiles each header as all that a program includes; one with which another begins stands alone there, and is not
compiled again. Of the doors, those that users name, it prints a table, and --gate holds two counts, which are the same
on every machine as seconds are not, against what each was allowed: how much text a compiler reads, and how many
templates clang instantiates. The measure is the floor, which is what the JSON parser and the standard library cost by
themselves, in the same run: it moves with their versions.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# How many times the text and the instantiations of the floor each door may have: three per cent, and a tenth, more
# than it had when somebody last looked. Whoever needs more says so here; whoever needs less, too.
ALLOWED = {
    "sublock/policies.hpp": (0.48, 0.44),
    "sublock/options.hpp": (0.66, 0.62),
    "sublock/basic_redis_lock.hpp": (1.20, 3.71),
    "sublock/basic_redis_getlock.hpp": (1.18, 2.34),
    "sublock/transport/in_memory.hpp": (1.14, 3.05),
    "sublock/redis_lock.hpp": (1.26, 4.93),
    "sublock/redis_getlock.hpp": (1.25, 3.60),
    "sublock/lock_all.hpp": (0.66, 0.69),
    "sublock/redis_majority_lock.hpp": (1.28, 5.19),
    "sublock/transport/openssl.hpp": (0.59, 0.51),
}

# The first lock of a program, which makes all that stays uninstantiated until somebody takes one.
TAKEN = "a RedisLock, taken"
TAKEN_TEXT = "#include <sublock/redis_lock.hpp>\nvoid take() { sublock::RedisLock lock(\"x\"); lock.acquire(); }\n"
ALLOWED[TAKEN] = (1.26, 5.27)

PARSER = "nlohmann/json.hpp"
FLOOR = [PARSER, *"atomic chrono functional map memory mutex optional span sstream stop_token string thread "
         "unordered_map utility variant vector".split()]


def include(headers):
    return "".join(f"#include <{header}>\n" for header in headers)


class Bench:
    def __init__(self, compiler, include_dir, folder):
        self.include_dir = pathlib.Path(include_dir)
        self.folder = pathlib.Path(folder)
        self.is_clang = b"clang" in subprocess.run([compiler, "--version"], stdout=subprocess.PIPE).stdout
        self.command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow",
                        "-Werror", f"-I{include_dir}"]
        if not self.is_clang:
            self.command.append("--param=ggc-min-heapsize=1000000")
        self.parser = []

    def precompile_parser(self):
        """Most headers include the parser by way of others; it need not be read anew for each of them."""
        header = self.folder / "parser.hpp"
        header.write_text(include([PARSER]))
        result = self.folder / ("parser.hpp.pch" if self.is_clang else "parser.hpp.gch")
        subprocess.run([*self.command, "-x", "c++-header", header, "-o", result], check=True)
        self.parser = ["-include-pch", result] if self.is_clang else ["-include", header]

    def closure(self, header, seen=None):
        seen = set() if seen is None else seen
        path = self.include_dir / header
        if header not in seen and path.exists():
            seen.add(header)
            for name in re.findall(r"#include <([^>]+)>", path.read_text()):
                self.closure(name, seen) if name.startswith("sublock/") else seen.add(name)
        return seen

    def uses_parser(self, header):
        return PARSER in self.closure(header)

    def begun_with(self, headers, doors):
        """Those with which another one begins, with nothing before them that they would not have themselves."""
        begun = set()
        for header in headers:
            first = re.search(r"#include <([^>]+)>", (self.include_dir / header).read_text())
            if first and first[1] in headers and (header in doors or self.uses_parser(header) == self.uses_parser(first[1])):
                begun.add(first[1])
        return begun

    def compile(self, name, text, *flags):
        """The source file and the seconds of CPU, or nothing where it is no C++."""
        source = self.folder / (re.sub(r"\W", "_", name) + ".cpp")
        source.write_text(text)
        process = subprocess.Popen([*self.command, *flags, "-c", source, "-o", source.with_suffix(".o")])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return None if process.returncode else (source, usage.ru_utime + usage.ru_stime)

    def alone(self, header):
        flags = self.parser if self.uses_parser(header) else []
        return self.compile(header, include([header]), "-fsyntax-only", *flags)

    def weighed(self, name, text):
        """Seconds of CPU, bytes read, templates instantiated; nothing where it is no C++."""
        flags = ["-ftime-trace", "-ftime-trace-granularity=0"] if self.is_clang else []
        compiled = self.compile(name, text, *flags)
        if compiled is None:
            return None
        source, seconds = compiled
        read = len(subprocess.run([*self.command, "-E", "-P", source], stdout=subprocess.PIPE, check=True).stdout)
        count = 0
        if self.is_clang:
            events = json.loads(source.with_suffix(".json").read_text())["traceEvents"]
            count = sum(event["ph"] == "X" and event["name"].startswith("Instantiate") for event in events)
        return seconds, read, count


def main(words):
    gate = words[0] == "--gate"
    compiler, include_dir, *headers = words[gate:]
    doors = [name for name in ALLOWED if name in headers or (name == TAKEN and "sublock/redis_lock.hpp" in headers)]
    failed = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        bench = Bench(compiler, include_dir, folder)
        bench.precompile_parser()
        floor = pool.submit(bench.weighed, "floor", include(FLOOR))
        weighed = {name: pool.submit(bench.weighed, name, TAKEN_TEXT if name == TAKEN else include([name]))
                   for name in doors}
        rest = set(headers) - set(doors) - bench.begun_with(headers, doors)
        alone = {name: pool.submit(bench.alone, name) for name in sorted(rest)}

        floor = floor.result()
        print(f"{'':32} {'CPU s':>6} {'x floor':>8}   {'text KB':>8} {'x floor':>8} {'allowed':>8}"
              f"   {'instantiations':>15} {'x floor':>8} {'allowed':>8}")
        print(f"{'the floor':32} {floor[0]:6.2f} {1:8.2f}   {floor[1] // 1024:8} {1:8.2f} {'':8}   {floor[2]:15} {1:8.2f}")
        for name, future in weighed.items():
            if future.result() is None:
                failed.append(f"{name} does not compile alone")
                continue
            seconds, read, count = future.result()
            times = (read / floor[1], count / floor[2] if floor[2] else 0)
            allowed = ALLOWED[name]
            print(f"{name:32} {seconds:6.2f} {seconds / floor[0]:8.2f}   {read // 1024:8} {times[0]:8.2f} {allowed[0]:8.2f}"
                  f"   {count:15} {times[1]:8.2f} {allowed[1]:8.2f}")
            for what, had, may in zip(("text", "instantiations"), times, allowed):
                if gate and had > may:
                    failed.append(f"{name} has {had:.2f} times the {what} of the floor, and may have {may}")
        failed += [f"{name} does not compile alone" for name, future in alone.items() if future.result() is None]
    print(f"{len(headers)} headers compiled alone" + ("" if bench.is_clang else "; only clang counts instantiations"))
    for line in failed:
        print("FAILED:", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
