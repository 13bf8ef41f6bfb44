"""Tests which programs limit.py ends.

    python3 tests/limit_check.py"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = Path(__file__).with_name("limit.py")
WORK = "x = 0\nfor i in range(20000): x += i\n"
CASES = [  # case, program, exit status and message of limit.py
    ("an exit status", "raise SystemExit(77)", 77, ""),
    ("a signal", "import os; os.kill(os.getpid(), 15)", -15, ""),
    ("works slowly, for three times its limit",
     f"import time\nfor _ in range(60):\n time.sleep(.05)\n {WORK.replace(chr(10), chr(10) + ' ')}", 0, ""),
    ("hangs", "import time; time.sleep(600)", 124, "used no processor for 1 s"),
    ("hangs in a child", "import subprocess; subprocess.run(['sleep', '600'])", 124, "used no processor for 1 s"),
    ("works for ever", "while True: pass", 124, "s of processors"),
    ("waits in a loop", "import time\nwhile True: time.sleep(.001)", 124, "took more than 8 s"),
]
LIMITS = [1] * (len(CASES) - 1) + [0.4]  # the last is ended after 20 times as long
failed = 0
os.environ.pop("RANKWOOD_TEST_PATIENCE", None)  # it would multiply the limits
with tempfile.TemporaryDirectory() as folder:
    commands = [[sys.executable, "-c", program] for _, program, _, _ in CASES]
    (Path(folder) / "meson-info").mkdir()
    (Path(folder) / "meson-info/intro-tests.json").write_text(
        json.dumps([{"cmd": command, "timeout": limit} for command, limit in zip(commands, LIMITS, strict=True)]))
    running = [subprocess.Popen([sys.executable, LIMIT, folder, *command], stderr=subprocess.PIPE, text=True,
                                start_new_session=True) for command in commands]
    for (name, _, status, text), process in zip(CASES, running, strict=True):
        said = process.communicate()[1]
        if process.returncode != status or text not in said or (said and not text):
            print(f"{name}: status {process.returncode}, expected {status}; said {said!r}")
            failed = 1
sys.exit(failed)
