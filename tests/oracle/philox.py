"""Random numbers keyed by their purpose: Philox4x32-10, for oracle.py."""


def philox(counter, key0, key1):
    c = list(counter)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key0, b & 0xffffffff, (a >> 32) ^ c[3] ^ key1, a & 0xffffffff]
        key0, key1 = (key0 + 0x9E3779B9) & 0xffffffff, (key1 + 0xBB67AE85) & 0xffffffff
    return c


def draw4(seed, item, tree, stream):
    return philox([item & 0xffffffff, item >> 32, tree, stream], seed & 0xffffffff, seed >> 32)


def draw(seed, item, tree, stream, word=0):
    return draw4(seed, item, tree, stream)[word]
