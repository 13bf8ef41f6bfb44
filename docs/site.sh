#!/bin/sh
# The pages as a site, by mkdocs, which pip fetches. A link that leads nowhere is an error; so is a page that the
# navigation lacks, and a list or table that stays text.
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
# Lines of lists and tables outside of <pre>, as their source has them.
left_as_text() {
    awk '/<pre/ { code = 1 } !code && /^(<p>)?(- |\| |[0-9]+\. |```)/ { print FILENAME ": " substr($0, 1, 100) } /<\/pre>/ { code = 0 }' \
        "$folder/site/"*.html | grep .
}
if "$folder/venv/bin/mkdocs" build --strict --clean -d "$folder/site" >"$folder/site.log" 2>&1 &&
    ! grep -A 20 "excluded from\|not included in the \"nav\"" "$folder/site.log" && ! left_as_text; then
    echo "ok site: $(find "$folder/site" -name '*.html' | wc -l) pages, every link leads somewhere"
else
    sed 's/^/    /' "$folder/site.log"
    echo "not ok site: mkdocs build --strict"
    exit 1
fi
