// The calls of a kernel for every thread of a launch, and the exports of its shared library.

#pragma once

#include <type_traits>
#include <utility>

#include "guards.h"
#include "scheduler.h"

namespace emulator {

#pragma GCC visibility push(hidden)

// The arguments of a launch; relaxometer.device.host mirrors it.
struct Configuration {
    uint32_t grid[3];
    uint32_t block[3];
    uint64_t shared_bytes;
    uint32_t cooperative;
    uint32_t order_seed;  // 0: threads and blocks start in ascending order
    char* message;        // receives the text of an error
    uint64_t message_bytes;
    const Guards* guards;  // null: no red zones
};

// Results of a launch.
enum Outcome : int {
    DONE,
    FAILED,   // the message says why
    DAMAGED,  // guard bytes changed; small arrays have their contents from before the launch
};

typedef void (*Body)();

// Runs all threads of a launch: `body` is `run_threads` for the kernel and starts as many threads as it can.
// `sizes` are those of the arguments.
Outcome run_launch(Body body, const Configuration* configuration, void** arguments, const size_t* sizes,
                   size_t count);

#pragma GCC visibility pop

// Runs threads, one call after another, until none may start. When a thread waits, its call stays on this
// fiber's stack and another fiber runs this function; when the thread resumes and ends, this loop continues.
template <auto kernel, class... Parameters>
void run_threads_with(Parameters... arguments)
{
    while (start_thread()) {
        kernel(arguments...);
        finish_thread();
    }
}

template <auto kernel, class... Parameters, size_t... I>
void run_threads(void (*)(Parameters...), std::index_sequence<I...>)
{
    void** arguments = launch.arguments;
    (void)arguments;
    run_threads_with<kernel, Parameters...>(*(std::remove_cv_t<Parameters>*)arguments[I]...);
}

template <auto kernel, class... Parameters>
void run_threads_of(void (*type)(Parameters...))
{
    run_threads<kernel>(type, std::index_sequence_for<Parameters...>{});
}

// Python compares these with the parameter list that it reads from the source.
template <class... Parameters>
constexpr size_t parameter_bytes(void (*)(Parameters...))
{
    return (size_t(0) + ... + sizeof(Parameters));
}

template <class... Parameters>
constexpr size_t parameter_count(void (*)(Parameters...))
{
    return sizeof...(Parameters);
}

template <class... Parameters>
int launch_kernel(void (*)(Parameters...), Body body, const Configuration* configuration, void** arguments)
{
    const size_t sizes[] = {sizeof(Parameters)..., 0};
    return run_launch(body, configuration, arguments, sizes, sizeof...(Parameters));
}

// Shared variables. The closure type of the lambda at the declaration is a distinct tag for each declaration
// and each instantiation of a surrounding template.
template <class T, class Tag>
inline T& shared_variable(Tag, const char* name)
{
    static const uint32_t declaration = new_shared_declaration();
    return *(T*)shared_memory_of(declaration, name, sizeof(T), alignof(T));
}

template <class T>
inline T* dynamic_shared()
{
    return (T*)current->block->dynamic_shared;
}

}  // namespace emulator

// Exports the kernel, whose name may be a template's instantiation, as number NUMBER. It has COUNT parameters
// of BYTES altogether, or -1 where Python does not know.
#define EMULATOR_EXPORT(NUMBER, COUNT, BYTES, ...)                                                    \
    static_assert(emulator::parameter_count(&__VA_ARGS__) == COUNT &&                                 \
                      (BYTES == -1 || emulator::parameter_bytes(&__VA_ARGS__) == size_t(BYTES)),      \
                  "the parameter list of this kernel was misread; see relaxometer.device.signature"); \
    extern "C" __attribute__((visibility("default"))) int emulator_launch_##NUMBER(                   \
        const emulator::Configuration* configuration, void** arguments)                               \
    {                                                                                                 \
        emulator::Body body = [] { emulator::run_threads_of<&__VA_ARGS__>(&__VA_ARGS__); };           \
        return emulator::launch_kernel(&__VA_ARGS__, body, configuration, arguments);                 \
    }
