"""timeline.py on a timeline that was made: overlaps, gaps, the trees that are left out."""

import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "timeline", "timeline.py")
TREE = (  # begin, end, name
    (0, 1000, "_Z15quantise_kernel17rw_cuda_quantise"),
    (1500, 3500, "_Z12lanes_kernelI5shapeILi8ELi4ELi256ELb0EELi2EEv4plan"),
    (3000, 4000, "_ZN12_GLOBAL__N_113finish_kernelILb1EiEEv4plan8finishedj"),
    (3200, 3400, "memset"),
    (6000, 7000, "memcpy"),
)
EXPECTED = """2 trees; us: 10.0, busy 4.5, idle 5.5

kernel                                        us a tree   times  us each
lanes_kernel                                        2.0     1.0      2.0
memcpy                                              1.0     1.0      1.0
quantise_kernel                                     1.0     1.0      1.0
finish_kernel                                       0.5     1.0      0.5
memset                                              0.0     1.0      0.0

idle between                                  us a tree   times  us each
memcpy and quantise_kernel                          3.0     1.0      3.0
memset and memcpy                                   2.0     1.0      2.0
quantise_kernel and lanes_kernel                    0.5     1.0      0.5
"""


def run(text: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        return subprocess.run([sys.executable, SCRIPT, file.name, *arguments], capture_output=True, text=True)


def main() -> None:
    lines = [f"{10000 * k + a} {10000 * k + b} {name} 1 2 3" for k in range(5) for a, b, name in TREE]
    made = "\n".join(reversed(lines)) + "\n"
    got = run(made, "--skip", "2")
    assert got.returncode == 0 and got.stdout == EXPECTED, got.stdout + got.stderr
    assert "no whole tree" in run(made).stderr
    negative = run(made, "--skip", "-1")
    assert negative.returncode == 2 and "expected 0 or more" in negative.stderr, negative.stderr
    bad = run(made + "12 x memset 0 0 0\n")
    assert bad.returncode == 1 and "line 26: expected" in bad.stderr, bad.stderr
    print("ok timeline")


if __name__ == "__main__":
    main()
