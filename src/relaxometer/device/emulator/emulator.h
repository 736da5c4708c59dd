// The CUDA execution model on a CPU; relaxometer.device.host_build includes this before a .cu file.
//
//   language.h            qualifiers, vector types, dim3
//   intrinsics.h          functions of one thread: bits, casts, cached loads, arithmetic
//   atomics.h             atomicAdd and the like
//   collectives.h         collective operations: barriers, votes, shuffles, reductions
//   cooperative_groups.h  the barrier of the grid, as in NVIDIA's header; found by #include <...>
//   launch.h              calls of a kernel for each thread, shared memory
//   scheduler.h, .cpp     blocks, warps, threads, and their schedule
//   fiber.h               stacks and switching between them
//   faults.h              illegal accesses and divisions by zero as kernel errors
//   guards.h, .cpp        red zones around arrays
//   bounds.cpp            sanitize="address": checks every access
//   races.h, .cpp         sanitize="thread": orders every two accesses
//   undefined.cpp         sanitize="undefined": findings as kernel errors
//   messages.h            the text of errors
//
// Declares only what CUDA offers, so that a kernel that compiles here also compiles for a GPU: there is no
// atomicAdd of long long. __activemask, inline PTX and groups other than the grid are not supported.

#pragma once

#include "language.h"
#include "scheduler.h"
#include "intrinsics.h"
#include "atomics.h"
#include "collectives.h"
#include "launch.h"
