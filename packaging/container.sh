#!/bin/sh
# The container file, for the CPU, where no registry can be reached: its base image is made by mmdebstrap, the image is
# built by buildah from the commit that is checked out, and what is in it trains and predicts. Needs root, mmdebstrap,
# buildah and a mirror. Prints a line a test: ok, not ok or skip.
#
#   sh packaging/container.sh FOLDER [SUITE]      FOLDER: images, and logs; SUITE: trixie
set -u
source=$(cd "$(dirname "$0")/.." && pwd) || exit 2
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
suite=${2:-trixie}
export LC_ALL=C STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
for tool in mmdebstrap buildah; do
    command -v $tool >/dev/null 2>&1 && [ "$(id -u)" = 0 ] || {
        echo "skip container: needs root, mmdebstrap and buildah"
        exit 0
    }
done
images() { # command...: buildah, with images in FOLDER
    buildah --root "$folder/images" --runroot "$folder/run" "$@"
}
trap 'images rm --all >/dev/null 2>&1' EXIT
fail() { # what, log
    tail -n 40 "$2" | sed 's/^/    /'
    echo "not ok container: $1"
    exit 1
}
rm -rf "$folder/tree"
mkdir "$folder/tree" && git -C "$source" archive HEAD | tar -x -C "$folder/tree" || exit 2
mmdebstrap --variant=minbase "$suite" "$folder/base.tar" >"$folder/base.log" 2>&1 || {
    tail -n 5 "$folder/base.log"
    echo "skip container: no root of $suite can be made here"
    exit 0
}
base=$(images from scratch) && images add "$base" "$folder/base.tar" / >"$folder/base.log" 2>&1 &&
    images commit "$base" "localhost/base:$suite" >>"$folder/base.log" 2>&1 || fail "no base image" "$folder/base.log"
images bud --build-arg "BUILD=localhost/base:$suite" --build-arg "RUN=localhost/base:$suite" --pull-never \
    -f "$folder/tree/packaging/Containerfile" -t rankwood "$folder/tree" >"$folder/build.log" 2>&1 || fail "does not build" "$folder/build.log"
echo "ok container: builds"
work=$(images from localhost/rankwood) && images run "$work" -- sh -c 'rankwood --version &&
    rankwood synth --shape letor --queries 60 --seed 1 -o train.txt && rankwood train train.txt --rounds 5 --quiet -o model.txt &&
    rankwood predict model.txt train.txt -o scores && python3 -c "import rankwood; assert rankwood.Model.load(\"model.txt\").n_trees == 5"' \
    >"$folder/use.log" 2>&1 || fail "what is in it does not train" "$folder/use.log"
echo "ok container: the program trains and predicts, the Python package reads its model"
