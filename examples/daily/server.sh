#!/bin/sh
# Plays a server of models in the folder SERVED: a file per model, and the link 'current' to the one in service.
# daily.sh calls these four commands. Write a script with the same four for your server; each exits with 0 only if it
# did what it says.
#
#   server.sh current              prints the name of the model in service, or nothing if there is none
#   server.sh upload FILE NAME     stores a file under this name; it is not in service yet
#   server.sh fetch NAME           prints the stored file
#   server.sh switch NAME          puts this model in service
set -eu
cd "${SERVED:-served}"
case $1 in
current) [ ! -L current ] || readlink current ;;
upload) cp "$2" "$3.new" && mv -f "$3.new" "$3" ;;
fetch) cat "$2" ;;
switch) [ -f "$2" ] && ln -sf "$2" current.new && mv -f current.new current ;; # renaming is atomic
*) exit 2 ;;
esac
