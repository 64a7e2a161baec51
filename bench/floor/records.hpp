// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bare/channel.hpp"
#include "worker/numbering.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace zlink::bench {

/// Messages of one size as they are on the wire: ZMTP's header and a body, which begins with the
/// message's number and, if it is large enough, the time it counts from. All take as many bytes.
class record_format {
public:
    explicit record_format(std::size_t body_bytes);

    std::size_t bytes() const noexcept { return pattern_.size(); }

    /// Appends a message. `from_ns` is 0 if it is not timed.
    void append(std::vector<char>& to, worker::message_number number, std::int64_t from_ns) const
    {
        const std::size_t begin = to.size();
        to.insert(to.end(), pattern_.begin(), pattern_.end());
        const std::uint64_t bits = number.bits();
        char* const body = to.data() + begin + header_bytes_;
        std::memcpy(body, &bits, sizeof bits);
        if (has_time_) {
            std::memcpy(body + sizeof bits, &from_ns, sizeof from_ns);
        }
    }

    /// What a message says of itself. Throws std::runtime_error if it does not begin with the
    /// header.
    worker::message_number number_of(const char* record) const
    {
        if (std::memcmp(record, pattern_.data(), header_bytes_) != 0) {
            throw std::runtime_error("what arrived is not a message");
        }
        std::uint64_t bits = 0;
        std::memcpy(&bits, record + header_bytes_, sizeof bits);
        return worker::message_number::from(bits);
    }

    std::int64_t time_of(const char* record) const
    {
        std::int64_t from_ns = 0;
        if (has_time_) {
            std::memcpy(&from_ns, record + header_bytes_ + sizeof(std::uint64_t), sizeof from_ns);
        }
        return from_ns;
    }

private:
    std::vector<char> pattern_; ///< header, and a body without number and time
    std::size_t header_bytes_;
    bool has_time_;
};

/// Cuts what arrives at the connections of one thread into records of one size. All of them share
/// a buffer; what is incomplete is kept for each.
class record_reader {
public:
    /// What has arrived of a record that is not complete.
    using rest = std::vector<char>;

    explicit record_reader(std::size_t record_bytes);

    /// Reads all there is without waiting, and calls `on_records(first, count)` with records that
    /// stand one behind the other. stop_waiting() has to have been called.
    template <class OnRecords>
    void read_ready(bare::channel& from, rest& begun, OnRecords on_records)
    {
        for (bool more = true; more;) {
            const std::size_t kept = take_up(begun);
            const std::size_t room = buffer_.size() - kept;
            const std::size_t count = from.try_read(buffer_.data() + kept, room);
            more = count == room;
            hand_on(kept + count, begun, on_records);
        }
    }

    /// Waits for input, as channel::read_soon() does, reads what there is and does the same.
    template <class OnRecords>
    void read_waiting(bare::channel& from, rest& begun, std::chrono::nanoseconds tries_for,
                      OnRecords on_records)
    {
        const std::size_t kept = take_up(begun);
        const std::size_t count =
            from.read_soon(buffer_.data() + kept, buffer_.size() - kept, tries_for);
        hand_on(kept + count, begun, on_records);
    }

private:
    std::size_t take_up(const rest& begun)
    {
        std::memcpy(buffer_.data(), begun.data(), begun.size());
        return begun.size();
    }

    template <class OnRecords>
    void hand_on(std::size_t bytes, rest& begun, OnRecords& on_records)
    {
        const std::size_t records = bytes / record_bytes_;
        if (records != 0) {
            on_records(static_cast<const char*>(buffer_.data()), records);
        }
        begun.assign(buffer_.data() + records * record_bytes_, buffer_.data() + bytes);
    }

    std::size_t record_bytes_;
    std::vector<char> buffer_;
};

} // namespace zlink::bench
