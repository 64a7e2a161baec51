// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// Only malloc of glibc can be replaced like this, and sanitizers have one of their own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ZLINK_MEMORY_CAN_BE_SCARCE
#endif

namespace zlink::test {

/// While it lives, this thread gets no memory, or none of `from_bytes` bytes and more.
class no_memory {
public:
    explicit no_memory(std::size_t from_bytes = 0) noexcept;
    ~no_memory();
    no_memory(const no_memory&) = delete;
    no_memory& operator=(const no_memory&) = delete;
};

/// While it lives, this thread gets memory so many times.
class memory_for {
public:
    explicit memory_for(long allocations) noexcept;
    ~memory_for();
    memory_for(const memory_for&) = delete;
    memory_for& operator=(const memory_for&) = delete;
};

/// While it lives, the I/O threads of the library get memory so many times, then once not, and then
/// again.
class io_memory_but_once {
public:
    explicit io_memory_but_once(long allocations_before) noexcept;
    ~io_memory_but_once();
    io_memory_but_once(const io_memory_but_once&) = delete;
    io_memory_but_once& operator=(const io_memory_but_once&) = delete;
    /// Has one been refused?
    bool was_refused() const noexcept;
};

/// Base of those that follow.
class interrupted_memory {
public:
    interrupted_memory(const interrupted_memory&) = delete;
    interrupted_memory& operator=(const interrupted_memory&) = delete;
    /// Has it been refused?
    bool was_refused() const noexcept;

protected:
    interrupted_memory(long allocations_before, long allocations_after) noexcept;
    ~interrupted_memory();
};

/// While it lives, this thread gets memory so many times, then once not, and then again.
class memory_but_once : public interrupted_memory {
public:
    explicit memory_but_once(long allocations_before) noexcept;
};

/// While it lives, this thread gets memory so many times, then once not, and from then on two times
/// of three.
class memory_but_each_third : public interrupted_memory {
public:
    explicit memory_but_each_third(long allocations_before) noexcept;
};

/// How many more blocks of memory this thread has got than it has given back, at any time.
long blocks_in_use() noexcept;

/// While it lives, this thread gets all the memory it wants: what a test needs for itself in the
/// middle of what it tries without memory.
class memory_of_test {
public:
    memory_of_test() noexcept;
    ~memory_of_test();
    memory_of_test(const memory_of_test&) = delete;
    memory_of_test& operator=(const memory_of_test&) = delete;
};

} // namespace zlink::test
