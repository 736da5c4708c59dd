// The part of the CUDA runtime that libreldom uses, on the project's emulation of CUDA. A host compiler finds
// this file instead of NVIDIA's. Include headers of the standard library before it.
//
// Device memory is ordinary memory, a copy is done when its call returns, and streams do nothing. Launches of
// several threads wait for each other, since the emulation runs one at a time.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "emulator.h"

// Blocks run one after another in the thread that launches, so shared memory may be that thread's own. This
// does not hold for cooperative launches, whose kernels here have none.
#define __shared__ thread_local

// The dynamic shared memory of every kernel that declares `extern __shared__ u64 shared[]`.
inline thread_local unsigned long long shared[4096];

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorLaunchFailure = 719,
};

inline const char* cudaGetErrorString(cudaError_t error)
{
    switch (error) {
        case cudaSuccess:
            return "no error";
        case cudaErrorInvalidValue:
            return "invalid argument";
        case cudaErrorMemoryAllocation:
            return "out of memory";
        case cudaErrorLaunchFailure:
            return "unspecified launch failure";
    }
    return "unrecognized error code";
}

struct cudaDeviceProp {
    char name[256];
    int multiProcessorCount;
};

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int)
{
    snprintf(properties->name, sizeof properties->name, "emulation of CUDA on the host");
    properties->multiProcessorCount = 1;
    return cudaSuccess;
}

inline cudaError_t cudaGetDevice(int* device)
{
    *device = 0;
    return cudaSuccess;
}

inline cudaError_t cudaSetDevice(int)
{
    return cudaSuccess;
}

// Memory and streams.

typedef struct CUstream_st* cudaStream_t;
const unsigned cudaStreamNonBlocking = 1;
const unsigned cudaHostAllocDefault = 0;
enum cudaMemcpyKind { cudaMemcpyDefault = 4 };

inline cudaError_t cudaMalloc(void** memory, size_t bytes)
{
    *memory = malloc(bytes);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

inline cudaError_t cudaFree(void* memory)
{
    free(memory);
    return cudaSuccess;
}

inline cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned)
{
    return cudaMalloc(memory, bytes);
}

inline cudaError_t cudaFreeHost(void* memory)
{
    return cudaFree(memory);
}

inline cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind,
                                   cudaStream_t)
{
    memcpy(target, source, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t)
{
    memset(memory, value, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned)
{
    *stream = nullptr;
    return cudaSuccess;
}

inline cudaError_t cudaStreamDestroy(cudaStream_t)
{
    return cudaSuccess;
}

inline cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}

// Launches.

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int, size_t)
{
    *blocks = 8;
    return cudaSuccess;
}

namespace emulator {

// Runs the threads of a launch; see run_threads in launch.h, which needs a kernel known to the compiler.
template <class... Parameters>
struct Running {
    static inline void (*kernel)(Parameters...);

    static void run()
    {
        run_with(std::index_sequence_for<Parameters...>{});
    }

    template <size_t... I>
    static void run_with(std::index_sequence<I...>)
    {
        while (start_thread()) {
            kernel(*static_cast<Parameters*>(launch.arguments[I])...);
            finish_thread();
        }
    }
};

inline std::mutex one_launch;

}  // namespace emulator

template <class... Parameters>
cudaError_t launch_on_host(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                           size_t shared_bytes, bool cooperative)
{
    if (shared_bytes > sizeof shared) return cudaErrorInvalidValue;
    std::lock_guard<std::mutex> lock(emulator::one_launch);
    char message[1024] = "";
    emulator::Configuration configuration = {};
    const unsigned shape[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
    memcpy(configuration.grid, shape, 3 * sizeof *shape);
    memcpy(configuration.block, shape + 3, 3 * sizeof *shape);
    configuration.cooperative = cooperative;
    configuration.message = message;
    configuration.message_bytes = sizeof message;
    emulator::Running<Parameters...>::kernel = kernel;
    emulator::Body body = emulator::Running<Parameters...>::run;
    if (emulator::launch_kernel(kernel, body, &configuration, arguments) == emulator::DONE)
        return cudaSuccess;
    fprintf(stderr, "emulated kernel: %s\n", message);
    return cudaErrorLaunchFailure;
}

template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t)
{
    return launch_on_host(kernel, grid, block, arguments, shared_bytes, false);
}

template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                        void** arguments, size_t shared_bytes, cudaStream_t)
{
    return launch_on_host(kernel, grid, block, arguments, shared_bytes, true);
}
