// The CUDA execution model on a CPU: what relaxometer.device.host puts in front of a .cu file.
//
//   language.h            qualifiers, vector types, dim3
//   intrinsics.h          what one thread can do alone: bits, casts, cached loads, arithmetic
//   atomics.h             atomicAdd and its kin
//   collectives.h         what threads do together: barriers, votes, shuffles, reductions
//   cooperative_groups.h  the part of NVIDIA's header that kernels need; found by #include <...>
//   launch.h              how a kernel is called for each thread, shared memory
//   scheduler.h, .cpp     blocks, warps, threads, and who runs when
//   fiber.h               stacks and switching between them
//   faults.h              illegal accesses and divisions by zero as kernel errors
//   sanitizers.h          what AddressSanitizer and ThreadSanitizer are told
//   undefined.cpp         UndefinedBehaviorSanitizer's findings as kernel errors
//
// Only what CUDA offers is declared, so that a kernel that compiles here also compiles for a GPU: atomicAdd
// has no long long, __activemask and inline PTX do not exist.

#pragma once

#include "language.h"
#include "scheduler.h"
#include "intrinsics.h"
#include "atomics.h"
#include "collectives.h"
#include "launch.h"
