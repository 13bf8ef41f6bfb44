"""Floats, for oracle.py."""

import struct

FLT_MAX = struct.unpack('<f', b'\xff\xff\x7f\x7f')[0]


def to_float(x):
    return struct.unpack('<f', struct.pack('<f', x))[0]


def key(x):
    """Floats as integers, in order; -0 is 0."""
    bits = struct.unpack('<i', struct.pack('<f', x))[0]
    return bits if bits >= 0 else -(bits & 0x7fffffff)


def of_key(k):
    return struct.unpack('<f', struct.pack('<i', k))[0] if k >= 0 else -of_key(-k)


def cut_between(a, b):
    """The float strictly between that is nearest the middle."""
    if key(b) - key(a) < 2:
        return None
    middle = to_float((a + b) / 2)
    return min(max(middle, of_key(key(a) + 1)), of_key(key(b) - 1)) + 0.0
