// Shared by the solvers for batches and for one graph: codes, memory, launches and checks.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include <cuda_runtime.h>

#include "device/atomics.cuh"
#include "reldom.h"

namespace reldom_host {

// A code on its way out of the library.
struct Failure {
    int code;
};

inline void check(cudaError_t error)
{
    if (error != cudaSuccess) throw Failure{RELDOM_CUDA + static_cast<int>(error)};
}

inline void require(bool holds, int code)
{
    if (!holds) throw Failure{code};
}

template <class T>
using Memory = std::unique_ptr<T[], cudaError_t (*)(void*)>;

template <class T>
Memory<T> on_device(size_t count)
{
    void* memory = nullptr;
    check(cudaMalloc(&memory, std::max<size_t>(count, 1) * sizeof(T)));
    return {static_cast<T*>(memory), cudaFree};
}

// Memory that the device reads and writes, too, under the same address.
template <class T>
Memory<T> page_locked(size_t count)
{
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, std::max<size_t>(count, 1) * sizeof(T), cudaHostAllocDefault));
    return {static_cast<T*>(memory), cudaFreeHost};
}

// A stream of its own: solvers of several threads do not wait for each other.
class Stream {
public:
    Stream()
    {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }

    ~Stream()
    {
        cudaStreamDestroy(stream_);
    }

    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    template <class T>
    void copy(T* target, const T* source, size_t count)
    {
        if (count != 0) check(cudaMemcpyAsync(target, source, count * sizeof(T), cudaMemcpyDefault, stream_));
    }

    template <class T>
    void fill(T* target, int byte, size_t count)
    {
        check(cudaMemsetAsync(target, byte, count * sizeof(T), stream_));
    }

    void wait()
    {
        check(cudaStreamSynchronize(stream_));
    }

    template <class T>
    struct AsIs {
        typedef T Type;
    };

    template <class... Parameters>
    void launch(void (*kernel)(Parameters...), u32 blocks, u32 threads, size_t shared_bytes,
                typename AsIs<Parameters>::Type... values)
    {
        void* arguments[] = {&values...};
        check(cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, shared_bytes, stream_));
    }

    // All blocks run at the same time and may wait for each other.
    template <class... Parameters>
    void launch_together(void (*kernel)(Parameters...), u32 blocks, u32 threads,
                         typename AsIs<Parameters>::Type... values)
    {
        void* arguments[] = {&values...};
        check(cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, stream_));
    }

private:
    cudaStream_t stream_;
};

// Sets the highest bit if a number is negative or smaller than its predecessor, which is not negative.
// Branch-free, so that the compiler vectorizes it.
inline uint64_t sign_of_fall(int64_t before, int64_t number)
{
    uint64_t here = static_cast<uint64_t>(number);
    return here | (here - static_cast<uint64_t>(before));
}

// Returns whether the numbers begin with 0 and never fall.
inline bool ascend_from_0(const int64_t* numbers, size_t count)
{
    uint64_t falls = 0;
    for (size_t i = 1; i < count; ++i) falls |= sign_of_fall(numbers[i - 1], numbers[i]);
    return numbers[0] == 0 && falls >> 63 == 0;
}

// Calls a function; returns the code of what it threw.
template <class Function>
int code_of(Function function)
{
    try {
        function();
    } catch (const Failure& failure) {
        return failure.code;
    } catch (...) {  // of the standard library, for want of memory
        return RELDOM_OUT_OF_MEMORY;
    }
    return RELDOM_OK;
}

}  // namespace reldom_host
