/* One document's path down one tree, compiled for the host and for the device: the comparison of a
 * value with a threshold by which every faster method is checked. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"

/* 16 bytes, so that a node is one load. */
struct rw_walk_node {
    float cut;
    uint32_t slot;       /* 2 * slot of the feature + (missing goes left) */
    int32_t left, right; /* >= 0: node of the same tree; < 0: ~leaf */
} __attribute__((aligned(16)));

/* The leaf. root: 0, or ~0 in a tree of one leaf, whose nodes are not looked at. The value of slot
 * s is value[s * stride]; NaN is missing, nothing is absent. */
RW_HD int32_t rw_walk(const struct rw_walk_node *nodes, int32_t root, const float *value,
                      uint32_t stride)
{
    int32_t at = root;
    while (at >= 0) {
        const struct rw_walk_node node = nodes[at];
        const float v = value[(size_t)(node.slot >> 1) * stride];
        const int go_left = v != v ? (int)(node.slot & 1) : v <= node.cut;
        at = go_left ? node.left : node.right;
    }
    return ~at;
}
