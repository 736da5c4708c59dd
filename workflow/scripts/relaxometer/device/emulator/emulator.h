// The CUDA execution model on a CPU; relaxometer.device.host_build includes this before a .cu file.
//
//   language.h            qualifiers, vector types, dim3
//   intrinsics.h          functions of one thread: bits, casts, cached loads, arithmetic
//   atomics.h             atomicAdd and the like
//   collectives.h         collective operations: barriers, votes, shuffles, reductions
//   cooperative_groups.h  the part of NVIDIA's header that kernels need; found by #include <...>
//   launch.h              calls of a kernel for each thread, shared memory
//   scheduler.h, .cpp     blocks, warps, threads, and their schedule
//   fiber.h               stacks and switching between them
//   faults.h              illegal accesses and divisions by zero as kernel errors
//   sanitizers.h          annotations for AddressSanitizer and ThreadSanitizer
//   undefined.cpp         UndefinedBehaviorSanitizer's findings as kernel errors
//
// Declares only what CUDA offers, so that a kernel that compiles here also compiles for a GPU: there is no
// atomicAdd of long long. __activemask and inline PTX are not supported.

#pragma once

#include "language.h"
#include "scheduler.h"
#include "intrinsics.h"
#include "atomics.h"
#include "collectives.h"
#include "launch.h"
