"""Names that a module imports on first use, so that programs start quickly."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy(
    module: dict[str, Any], prefix: str, names: Mapping[str, str], modules: str = "", hint: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` of the module with these globals.

    names: public names by the module that defines them. modules: further names, each of a module. prefix: begins the
    full name of all these modules. hint: ends the error about an unknown name.
    """
    home = {name: of for of, some in names.items() for name in some.split()}

    def get(name: str) -> Any:
        if name not in home and name not in modules.split():
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}{hint}")
        value = importlib.import_module(prefix + home.get(name, name))
        module[name] = getattr(value, name) if name in home else value
        return module[name]

    return get, lambda: sorted({*module, *module["__all__"]})
