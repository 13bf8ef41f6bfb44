"""Writes the C source of rankwood._ffi, a module of cffi in API mode, from rankwood.h and rankwood_score.h.

The declarations are read from the headers, without comments and macros for compilers. The compiler then checks every
signature against the headers, so there is no second list of functions.

    python make_ffi.py rankwood_score.h rankwood.h _ffi.c
"""

import re
import sys

import cffi

# The program, and callbacks of the library, which the modules of rankwood/ define.
CALLBACKS = """
static const char *const RW_VERSION;
int rw_program(int argc, char **argv);
extern "Python" {
    int _rw_on_poll(void *user, const struct rw_progress *progress);
    void _rw_on_log(void *user, enum rw_log_level level, const char *line);
    void _rw_on_start(void *user, struct rw_params *used);
    void _rw_on_resume(void *user, const struct rw_resumed *resumed);
    int _rw_on_round(void *user, const struct rw_round *round);
    int _rw_should_stop(void *user);
    void _rw_on_positions(void *user, const struct rw_positions *found);
    int _rw_gradients(void *user, const struct rw_dataset *train, const double *scores,
                      double *gradients, double *hessians);
    int _rw_on_select(void *user, int number, const struct rw_select_row *row);
    int _rw_on_fold(void *user, int fold, const struct rw_dataset *const *sets, struct rw_train_hooks *hooks);
    int _rw_on_tune(void *user, const struct rw_tune_trial *trial);
    int _rw_on_doctor(void *user, const struct rw_bench_row *row);
    int _rw_metric(void *user, const struct rw_dataset *dataset, const double *scores,
                   double *value);
    int _rw_rewind(void *user);
    int _rw_next(void *user, struct rw_array *column, uint32_t *n_docs);
    int _rw_all_reduce(void *user, void *buffer, size_t n, enum rw_comm_type type, enum rw_comm_op op,
                       void *stream);
    int _rw_reduce_scatter(void *user, const void *send, void *recv, size_t n_each,
                           enum rw_comm_type type, void *stream);
    int _rw_all_gather(void *user, const void *send, void *recv, size_t bytes, void *stream);
    int _rw_all_to_all(void *user, const void *send, const size_t *n_send, void *recv,
                       const size_t *n_recv);
    void _rw_abort(void *user);
    int _rw_has_failed(void *user);
}
"""


def declarations(header: str) -> str:
    """Returns the part of a C header that cffi can parse."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    text = text.replace("\\\n", " ")
    text = text[text.index('extern "C" {') + len('extern "C" {') :]
    lines = []
    for line in text.splitlines():
        number = re.match(r"#define (RW_[A-Z_]+)\s+(\d+)u?\s*$", line)
        if number:
            lines.append(f"#define {number[1]} {number[2]}")
        elif not line.startswith("#"):
            lines.append(line)
    text = "\n".join(lines).replace("RW_API ", "").rstrip()
    return text.removesuffix("}")  # of extern "C"


def main() -> None:
    *headers, out = sys.argv[1:]
    ffi = cffi.FFI()
    for header in headers:
        with open(header, encoding="utf-8") as file:
            ffi.cdef(declarations(file.read()))
    ffi.cdef(CALLBACKS)
    ffi.set_source("rankwood._ffi", '#include "rankwood.h"\nint rw_program(int argc, char **argv);\n')
    ffi.emit_c_code(out)
    # cffi's code calls memset and alloca; the limited interface of Python 3.13's headers does not declare them.
    with open(out, encoding="utf-8") as file:
        code = file.read()
    with open(out, "w", encoding="utf-8") as file:
        file.write("#include <stdlib.h>\n#include <string.h>\n" + code)


if __name__ == "__main__":
    main()
