"""Checks a wheel: it must have the package of this tree and no other files, work with Python 3.11 and later, and be
small.

    python3 tests/python/wheel_check.py FOLDER MEGABYTES [LIBRARY...]

FOLDER has one wheel, of at most MEGABYTES (10^6 bytes), with each LIBRARY next to the package. Prints each difference;
exit status 1 if there is one.
"""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "python" / "rankwood"
INFO = r"rankwood-[0-9.]+\.dist-info/"
# auditwheel and delocate put less common libraries next to the package.
GRAFTED = r"rankwood\.libs/lib(jansson|expat)[^/]*|rankwood/\.dylibs/lib(jansson|expat)[^/]*"


def differences(wheel: Path, most: float, libraries: list[str]) -> list[str]:
    found = []
    if not re.fullmatch(r"rankwood-[0-9.]+-cp311-abi3-\w+\.whl", wheel.name.replace("manylinux_2_", "manylinux")):
        found.append(f"'{wheel.name}': expected one wheel for all Pythons, 'cp311-abi3'")
    if wheel.stat().st_size > most * 1e6:
        found.append(f"{wheel.stat().st_size / 1e6:.1f} MB, expected at most {most:g}")
    names = [name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")]
    sources = [path for path in sorted(SOURCES.rglob("*")) if path.is_file() and path.parent.name != "__pycache__"]
    wanted = [f"rankwood/{re.escape(path.relative_to(SOURCES).as_posix())}" for path in sources]
    wanted += [r"rankwood/_ffi\.abi3\.so"]
    wanted += [INFO + name for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")]
    for pattern in wanted + [rf"rankwood\.libs/lib{name}.*|rankwood/\.dylibs/lib{name}.*" for name in libraries]:
        if not any(re.fullmatch(pattern, name) for name in names):
            found.append(f"no file like '{pattern}'")
    allowed = "|".join([*wanted, GRAFTED, INFO + r"sboms/.*"])
    found += [f"'{name}' is not the package's" for name in names if not re.fullmatch(allowed, name)]
    return found


def main() -> int:
    wheels = list(Path(sys.argv[1]).glob("*.whl"))
    if len(wheels) != 1:
        print(f"'{sys.argv[1]}': {len(wheels)} wheels, expected one")
        return 1
    found = differences(wheels[0], float(sys.argv[2]), sys.argv[3:])
    print(*found or [f"{wheels[0].name}: {wheels[0].stat().st_size / 1e6:.2f} MB"], sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
