# A folder and a file that may not be written.
[ "$(id -u)" -ne 0 ] || { echo "permissions do not bind root" >&2; exit 77; }
small_model
mkdir shut
echo old >kept
chmod a-w shut kept
try train train.txt -o shut/m
try train train.txt -o kept
try predict model.txt train.txt -o shut/s
cat kept
