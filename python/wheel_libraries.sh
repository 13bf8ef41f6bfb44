#!/bin/sh
# Builds the libraries for a Linux wheel, in a manylinux image, as root.
#
# auditwheel includes jansson in the wheel, but not expat, which it expects on every Linux system. Slim
# containers of Python lack expat, so the wheel includes it under another name.
#
#   sh python/wheel_libraries.sh [FOLDER]     FOLDER: the folder of libraries (/usr/lib64)
set -eu
lib=${1:-/usr/lib64}
if command -v dnf >/dev/null 2>&1; then
    dnf install -y zlib-devel jansson-devel expat-devel
fi
cp -L "$lib/libexpat.so.1" "$lib/libexpat_rankwood.so.1"
patchelf --set-soname libexpat_rankwood.so.1 "$lib/libexpat_rankwood.so.1"
ln -sf libexpat_rankwood.so.1 "$lib/libexpat.so"
ldconfig
