// The neighbours that a vertex probes first, packed so that most bottom-up searches read nothing else.
//
// Vertices are ranked by falling number of incoming arcs; the first ones are hubs. Of the first arcs of each
// row the five neighbours of lowest rank are packed, the best one in an array of its own, the others in a
// vector. A hub is named by its rank: its bit is in a bitmap so small that every block keeps it in shared
// memory. Another neighbour is named by its id. A packed entry without a neighbour names the vertex itself,
// which is not visited while anyone asks.

#pragma once

#include "device/constants.cuh"

const u32 IS_RANK = 1u << 31;  // the entry holds the rank of a hub, not an id

// In the entry of the best neighbour:
const u32 HAS_OTHERS = 1u << 30;        // the row has others
const u32 SELF_HUB = 1u << 29;          // the vertex is a hub itself
const u32 MAY_HAVE_FURTHER = 1u << 28;  // the row may have more than those packed

const u32 PACKED_ID = MAY_HAVE_FURTHER - 1;

const u32 OTHERS = 4;  // neighbours packed in addition to the best one
