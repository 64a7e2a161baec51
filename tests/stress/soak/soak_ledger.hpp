// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace zlink::test {

/// The accounts of a cell: each message that was sent, and each that arrived.
///
/// A stream is what one sender sends; its messages are numbered from 0. An ear is somebody, or a
/// group of receivers, to whom each message of the stream is due once. What must not happen throws
/// crowd_failure where it is noticed: a message that was not sent, one that comes twice, and an
/// order that as many connections as there have been cannot explain.
///
/// Thread safety: any thread.
class soak_ledger {
public:
    /// @param ears  how many there are from the beginning, with the names 0, 1, ...
    std::uint32_t open_stream(int ears);
    /// Another ear, for which the stream begins with what it gets first.
    void add_ear(std::uint32_t stream, int ear);
    /// Nothing is due to it any more.
    void drop_ear(std::uint32_t stream, int ear);

    /// To be called before a message is offered to a socket, and after it was accepted.
    void offer(std::uint32_t stream, std::uint64_t number);
    void accepted(std::uint32_t stream, std::uint64_t number);
    /// A whole and undamaged message has come.
    /// @param receiver  whose messages come over connections of their own, with their own order
    void arrived(std::uint32_t stream, std::uint64_t number, int ear, int receiver);

    /// Everything from this number on is due to the ears that there are, whatever happens.
    void all_is_due(std::uint32_t stream, std::uint64_t number);
    /// Whether all ears have had this message.
    bool have_all(std::uint32_t stream, std::uint64_t number) const;
    /// Whether every ear has had something.
    bool all_have_begun(std::uint32_t stream) const;
    /// How far the ear that is farthest behind is behind what was accepted.
    std::uint64_t in_flight(std::uint32_t stream) const;

    /// To be called before connections are ended in any way.
    void note_break() { ++breaks_; }
    std::uint64_t breaks() const { return breaks_; }
    /// Changes with everything that is noted.
    std::uint64_t steps() const { return steps_; }

    /// Whether nothing is missing of what is due. @param all  everything that was accepted is
    bool is_complete(bool all) const;
    /// What is missing, in words.
    std::string missing(bool all) const;

    struct totals {
        std::uint64_t sent = 0; ///< to each ear
        std::uint64_t arrived = 0;
        std::uint64_t lost = 0;
    };
    totals sum() const;

private:
    struct ear_account {
        std::vector<bool> seen;
        std::uint64_t begin = 0; ///< the first number that counts
        std::uint64_t end = 0;   ///< one more than the highest that came
        std::uint64_t count = 0;
        std::uint64_t due_from;
        bool has_begun = false;
        /// The last numbers of so many increasing sequences as explain what each receiver has got.
        std::map<int, std::vector<std::uint64_t>> last_of_run;
    };
    struct stream_account {
        std::uint64_t offered = 0;
        std::uint64_t accepted = 0;
        std::map<int, ear_account> ears;
    };

    void check_order(ear_account& ear, int receiver, std::uint64_t number, std::size_t most) const;
    static std::uint64_t missing_of(const stream_account& stream, const ear_account& ear, bool all,
                                    std::uint64_t& first);

    mutable std::mutex mutex_;
    std::map<std::uint32_t, stream_account> streams_;
    totals of_dropped_; ///< ears that are gone
    std::atomic<std::uint64_t> breaks_{0};
    std::atomic<std::uint64_t> steps_{0};
};

} // namespace zlink::test
