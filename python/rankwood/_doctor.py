"""What this machine has."""

from __future__ import annotations

from typing import Any

from rankwood._core import check, context, ffi, lib, text

_LISTS = ("gpu", "check", "auto")  # tables of any number of rows; the others have one


def doctor() -> dict[str, Any]:
    """What Rankwood finds on this machine, and whether all of it gives the same model; it takes a second or two.

    What ``rankwood doctor --json`` prints: threads and memory, and what limits them (affinity, control groups,
    Slurm), instruction sets, CUDA and its driver, GPUs or why there are none. Two small trees are trained on each
    instruction set and GPU.

    Returns
    -------
    dict
        Dictionaries ``"program"``, ``"cpu"``, ``"memory"``, ``"cuda"``, ``"libraries"``; lists of them ``"gpu"``,
        ``"check"`` (whose ``"result"`` is "ok" where the model's bytes are those of the reference) and ``"auto"``
        (what ``device="auto"`` takes for some sizes of data); and ``"wrong"``, how many checks differ or failed.
        What is not known, or does not apply, is None.

    Examples
    --------
    >>> found = rankwood.doctor()
    >>> found["wrong"]
    0
    >>> [row["result"] for row in found["check"] if row["instructions"] == "plain"]
    ['ok']
    """
    found: dict[str, Any] = {name: [] for name in _LISTS}
    handle, n_wrong = ffi.new_handle(found), ffi.new("int *")
    check(lib.rw_doctor(context(), lib._rw_on_doctor, handle, n_wrong))
    found["wrong"] = n_wrong[0]
    return found


def _value(field: Any) -> str | int | float | None:
    if field.kind == lib.RW_BENCH_TEXT:
        return text(field.text)
    if field.kind == lib.RW_BENCH_INTEGER:
        return int(field.number)
    return float(field.number) if field.kind == lib.RW_BENCH_REAL else None


@ffi.def_extern(error=1)
def _rw_on_doctor(user: Any, row: Any) -> int:
    found: dict[str, Any] = ffi.from_handle(user)
    fields = {text(row.field[i].name): _value(row.field[i]) for i in range(row.n_fields)}
    table = text(row.table)
    if table in _LISTS:
        found[table].append(fields)
    else:
        found[table] = fields
    return 0
