#!/bin/sh
# The libraries that a wheel for Linux is built with, in an image of manylinux, as root.
#
# auditwheel puts jansson into the wheel, but not expat, which it takes to be on every Linux; slim
# containers of Python lack it. Under another name expat goes along, too.
#
#   sh python/wheel_libraries.sh [FOLDER]     FOLDER: where libraries are (/usr/lib64)
set -eu
lib=${1:-/usr/lib64}
if command -v dnf >/dev/null 2>&1; then
    dnf install -y zlib-devel jansson-devel expat-devel
fi
cp -L "$lib/libexpat.so.1" "$lib/libexpat_rankwood.so.1"
patchelf --set-soname libexpat_rankwood.so.1 "$lib/libexpat_rankwood.so.1"
ln -sf libexpat_rankwood.so.1 "$lib/libexpat.so"
ldconfig
