#!/bin/sh
# The pages as a site, by mkdocs, which pip fetches; a link that leads nowhere is an error.
#
#   sh docs/site.sh FOLDER      FOLDER/site: the site; FOLDER/venv: mkdocs
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 2
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 NO_MKDOCS_2_WARNING=1
if ! [ -x "$folder/venv/bin/mkdocs" ] && { ! python3 -m venv "$folder/venv" || ! "$folder/venv/bin/pip" install -q 'mkdocs >= 1.6, < 2'; }; then
    echo "skip site: pip cannot fetch mkdocs here"
    exit 0
fi
cd "$root" || exit 2
if "$folder/venv/bin/mkdocs" build --strict --clean -d "$folder/site" >"$folder/site.log" 2>&1 && ! grep "excluded from" "$folder/site.log"; then
    echo "ok site: $(find "$folder/site" -name '*.html' | wc -l) pages, every link leads somewhere"
else
    sed 's/^/    /' "$folder/site.log"
    echo "not ok site: mkdocs build --strict"
    exit 1
fi
