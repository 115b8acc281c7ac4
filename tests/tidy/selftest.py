#!/usr/bin/env python3
"""Each rule of tidy.py is broken in a small tree of its own, and must be seen."""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy  # noqa: E402

MAP = '<!-- map -->\n```\nsrc/base:\nsrc/graph: src/base\nsim: src/base src/graph\n```\n<!-- /map -->\n'
CLEAN = {
    'README.md': MAP,
    'src/base/a.h': 'int a(void);\n',
    'src/base/a.c': '#include "src/base/a.h"\n\n#include <stdio.h>\n',
    'src/graph/g.h': '#include "src/base/a.h"\n',
    'src/graph/sub/s.c': '#include "src/graph/g.h"\n',
    'sim/s.c': '#include "src/graph/g.h"\n',
    'tests/t.c': '#include "sim/s.c"\n',
}
# What is laid over the clean tree, and the start of the one fault it must give (None: clean).
ROWS = [
    ({}, None),
    ({'src/base/a.c': '#include "src/graph/g.h"\n'}, 'src/base/a.c:1: src/base may not use src/graph'),
    ({'src/base/a.c': '# include "sim/s.c"\n'}, 'src/base/a.c:1: src/base may not use sim'),
    ({'src/graph/sub/s.c': '\n#include "sim/s.c"\n'}, 'src/graph/sub/s.c:2: src/graph may not use sim'),
    ({'src/graph/sub/s.c': '#include "tests/t.c"\n'}, 'src/graph/sub/s.c:1: src/graph may not use tests'),
    ({'src/base/a.c': '#include "a.h"\n'}, 'src/base/a.c:1: "a.h" is no path from the root'),
    ({'sim/s.c': '#include "../src/base/a.h"\n'}, 'sim/s.c:1: "../src/base/a.h" is no path'),
    ({'sim/s.c': '#include "src/base/none.h"\n'}, 'sim/s.c:1: "src/base/none.h" is no path'),
    ({'tests/t.c': '#include "s.c"\n'}, 'tests/t.c:1: "s.c" is no path'),
    ({'traces/t.c': '#include "src/base/a.h"\n'}, 'traces/t.c: its folder is not in the map'),
    ({'README.md': MAP.replace('src/base:', 'src/base: sim')}, 'README.md: the map lets src/base use sim'),
    ({'src/base/a.c': 'int x;\n' * 500}, None),
    ({'src/base/a.c': 'int x;\n' * 501}, 'src/base/a.c: has 501 lines'),
    ({'src/base/a.c': 'f(void)\n{\n' + 'x;\n' * 58 + '}\n'}, None),
    ({'src/base/a.c': 'f(void)\n{\n' + 'x;\n' * 59 + '}\n'}, 'src/base/a.c:2: a function of 61 lines'),
    ({'src/base/a.c': '#if defined(QH_WITH_CUDA)\n#endif\n'}, 'src/base/a.c:1: an optional part'),
    ({'sim/s.c': '#ifdef HAVE_MPI\n#endif\n'}, 'sim/s.c:1: an optional part'),
    ({'src/graph/graph.c': '#ifdef QH_WITH_MPI\n#endif\n'}, None),
    ({'src/base/a.c': '#ifndef QH_GUARD_H\n#endif\n'}, None),
    ({'src/base/a.c': '/* TO' + 'DO: later */\n'}, 'src/base/a.c:1: a TO' + 'DO'),
    ({'src/base/a.c': '/* TO' + 'DO #12: later */\n'}, None),
]


def faults_of(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as f:
                f.write(text)
        return tidy.check(root)


def main():
    bad = 0
    for overlay, wanted in ROWS:
        faults, has_map = faults_of({**CLEAN, **overlay})
        right = has_map and (faults == [] if wanted is None else
                             len(faults) == 1 and faults[0].startswith(wanted))
        if not right:
            print(f'{overlay}\n  wanted {wanted!r}\n  got {faults}')
            bad += 1
    without = {path: text for path, text in CLEAN.items() if path != 'README.md'}
    if faults_of(without) != ([], False):
        print('a tree without a map is not told apart')
        bad += 1
    print(f'{len(ROWS) + 1} rows, {bad} wrong')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
