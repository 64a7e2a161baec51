// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "crowd_stage.hpp"

namespace zlink::test {

/// Which reply it is of those of one worker: goes ahead of what is echoed.
struct reply_stamp {
    std::uint32_t worker = 0;
    std::uint64_t number = 0;
};
void send_stamp(void* socket, reply_stamp stamp);
/// Throws unless the part is one.
reply_stamp parse_stamp(const arrived_part& part);

/// Sees to it that the messages of each stream come in rising order.
class rising_order {
public:
    /// Throws if they do not.
    void note(std::uint32_t stream, std::uint64_t number);

private:
    std::map<std::uint32_t, std::uint64_t> next_;
};

/// What workers have to know.
class worker_place {
public:
    virtual ~worker_place() = default;
    /// Where to connect; empty: bind, and offer the address.
    virtual std::string address() const = 0;
    crowd_offers& offers() { return offers_; }
    bool closing() const { return closing_; }
    /// All workers may end.
    void close() { closing_ = true; }
    /// A worker has closed, and nobody takes its place.
    void left() { ++left_; }
    int count_left() const { return left_; }

private:
    crowd_offers offers_;
    std::atomic<bool> closing_{false};
    std::atomic<int> left_{0};
};

/// Answers each request with what was in it: REP, ROUTER or, behind a ROUTER, DEALER. Ends when it
/// is told, after it has answered all.
class crowd_worker : public crowd_peer {
public:
    crowd_worker(crowd_stage& stage, worker_place& place, int type);

    void begin() override;
    bool take(int flags) override;
    bool done() const override { return *told_ || place_.closing(); }
    std::unique_ptr<crowd_peer> successor() override;

private:
    crowd_worker(crowd_stage& stage, worker_place& place, int type, std::uint32_t stream);

    worker_place& place_;
    const int type_;
    const std::uint32_t stream_;
    std::uint64_t replies_ = 0;
    rising_order order_;
    const std::shared_ptr<std::atomic<bool>> told_ = std::make_shared<std::atomic<bool>>(false);
};

} // namespace zlink::test
