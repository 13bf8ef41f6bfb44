# A folder and a file that may not be written.
[ "$(id -u)" -ne 0 ] || { echo "permissions do not bind root" >&2; exit 77; }
small_model
mkdir shut
echo old >kept
echo old >shut/old
mkdir free
echo old >free/old
ln -s shut/old to_shut
ln -s ../free/old shut/to_free
chmod a-w shut kept
try train train.txt -o shut/m
try train train.txt -o kept
try predict model.txt train.txt -o shut/s
cat kept
# The permissions of the folder of a link's target decide.
try train train.txt -o to_shut
try train train.txt --rounds 1 --quiet -o shut/to_free
"$RANKWOOD" info free/old >/dev/null && echo a model
