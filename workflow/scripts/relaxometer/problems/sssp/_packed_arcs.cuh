// Constants of the layout of arcs that needs the fewest dependent reads; see _packed_arcs.py.

#pragma once

#include "device/constants.cuh"

const u32 FIRST = 4;                // arcs of a vertex stored at an address that its number gives
const u32 NO_ARC = 0xffffffffu;     // replaces the target of a missing arc
const u32 MORE_ARCS = 0xfffffffeu;  // replaces the last target if the vertex has more arcs
