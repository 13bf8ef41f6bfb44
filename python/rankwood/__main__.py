"""The program: ``python -m rankwood train train.txt -o model.txt``, and the command ``rankwood`` that pip installs.

It is the program's C code, which the module of the package contains, and needs no numpy.
"""

import os
import signal
import sys

from rankwood._ffi import ffi, lib


def main() -> int:
    """Run the program with the arguments of the process, and return its exit status."""
    # The program handles signals itself, as one that a shell started does.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    words = [ffi.new("char[]", os.fsencode(word)) for word in sys.argv]
    return int(lib.rw_program(len(words), ffi.new("char *[]", [*words, ffi.NULL])))


if __name__ == "__main__":
    sys.exit(main())
