// SPDX-License-Identifier: Apache-2.0
//
// A thread that connects many times and sends a message over each connection, and one that accepts
// and receives them.
#include "bare/sockets.hpp"
#include "floor/crowd.hpp"
#include "floor/records.hpp"
#include "worker/timed_part.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>

namespace zlink::bench {

namespace {

class acceptor {
public:
    acceptor(const bare::meeting_place& where, const record_format& format, std::size_t count)
        : where_(where), format_(format), reader_(format.bytes()), has_come_(count)
    {
        ready_.add(where.handle(), listener);
    }

    /// Until a message has arrived over each connection.
    void run()
    {
        while (received_ < has_come_.size()) {
            for (const bare::watcher::event& each : ready_.wait()) {
                if (each.index == listener) {
                    accept_all();
                } else {
                    read(each.index);
                }
            }
        }
    }

private:
    static constexpr std::size_t listener = ~std::size_t{0};

    struct accepted {
        std::unique_ptr<bare::channel> end;
        record_reader::rest begun{};
        bool is_done = false;
    };

    void accept_all()
    {
        for (;;) {
            bare::descriptor next = where_.try_accept();
            if (next.get() < 0) {
                return;
            }
            const std::size_t index = accepted_.size();
            accepted_.push_back({bare::make_channel(std::move(next))});
            // Its message may have arrived with it.
            read(index);
            if (!accepted_[index].is_done) {
                ready_.add(accepted_[index].end->handle(), index);
            }
        }
    }

    void read(std::size_t index)
    {
        accepted& from = accepted_[index];
        reader_.read_ready(*from.end, from.begun, [&](const char* first, std::size_t records) {
            const worker::message_number number = format_.number_of(first);
            if (records != 1 || from.is_done || number.party >= has_come_.size() ||
                has_come_[number.party]) {
                throw std::runtime_error("a message arrived that was not expected");
            }
            has_come_[number.party] = true;
            from.is_done = true;
            ++received_;
        });
    }

    const bare::meeting_place& where_;
    const record_format& format_;
    record_reader reader_;
    std::vector<bool> has_come_; ///< the message of each party
    std::size_t received_ = 0;
    bare::watcher ready_;
    std::vector<accepted> accepted_;
};

} // namespace

worker::crowd_report measure_bare_connects(const crowd_run& wanted)
{
    const auto count = static_cast<std::size_t>(party_count(wanted.what));
    const record_format format(wanted.what.size_bytes);
    const bare::meeting_place where(wanted.carrier == transport::ipc
                                        ? bare::meeting_place::kind::local
                                        : bare::meeting_place::kind::tcp);
    acceptor receiving(where, format, count);
    worker::timed_part timed(1);
    std::thread receiver = start_guarded([&] {
        timed.warmed_up();
        receiving.run();
        timed.finished();
    });
    std::vector<std::unique_ptr<bare::channel>> connected;
    connected.reserve(count);
    std::thread sender = start_guarded([&] {
        timed.wait_for_start();
        std::vector<char> message;
        for (std::uint32_t i = 0; i < count; ++i) {
            connected.push_back(bare::make_channel(where.connect()));
            message.clear();
            format.append(message, {i, 0}, 0);
            connected.back()->write_all(message.data(), message.size());
        }
    });
    timed.begin();
    sender.join();
    receiver.join();
    return timed.report(count);
}

} // namespace zlink::bench
