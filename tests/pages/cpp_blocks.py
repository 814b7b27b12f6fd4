#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns the C++ blocks of a page into functions that a test can call: cpp_blocks.py PAGE OUTPUT.

A line with a cross in it must not compile, so it is left out here and tried by itself. The address of the server is
replaced by that of the test's.
"""
import json
import re
import sys

page, output = sys.argv[1:]
with open(page, encoding="utf-8") as source:
    text = source.read()
functions, table = [], []
for block in re.finditer(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
    line = text.count("\n", 0, block.start()) + 2
    heading = re.findall(r"^#+ (.*)$", text[: block.start()], re.MULTILINE)[-1]
    code = "\n".join("" if "❌" in row else row for row in block[1].split("\n"))
    code = code.replace('"redis://127.0.0.1:6379"', "here()").replace('"rediss://127.0.0.1:6380"', "tls_here()")
    code = code.replace('"redis+sentinel://127.0.0.1:26379/mymaster"', "watched_here()")
    code = code.replace('"redis+cluster://127.0.0.1:7000,127.0.0.1:7001"', "cluster_here()")
    functions.append(f"inline void block_{line}(const Connection& connection) {{\n  (void)connection;\n"
                     f'#line {line} "{page}"\n{code}}}\n')
    table.append(f"    {{{line}, {json.dumps(heading, ensure_ascii=False)}, block_{line}}},\n")
with open(output, "w", encoding="utf-8") as out:
    out.write("\n".join(functions))
    out.write("\nconst std::vector<CppBlock> cpp_blocks{\n" + "".join(table) + "};\n")
