// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz_check.hpp"
#include "transport/scheme.hpp"
#include "transport/stream.hpp"
#include "virtual_clock.hpp"

/// A transport within one thread: streams are queues of bytes, and chance decides how much each
/// operation moves. It sees every byte, and when a connection ends what was lost with it.
/// Thread safety: none; the I/O threads have to be stepped.
namespace zlink::fuzz {

class network;

/// One direction of a connection.
struct lane {
    /// Something in the bytes that the observer knows again, and where it ends.
    struct mark {
        std::uint64_t what = 0;
        std::uint64_t end = 0; ///< the position behind it
    };
    std::string bytes; ///< on their way
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    bool writer_closed = false;
    bool reader_closed = false; ///< what is written is thrown away
    std::vector<mark> marks;
    std::string scanned; ///< the end of what was written, that may be the beginning of a mark
    std::string newest;  ///< the last bytes written, as many as newest_bytes
    static constexpr std::size_t newest_bytes = 32;
};

/// A connection, for whom it is of interest: the ends are numbers that the program gives sockets.
struct connection {
    std::string name; ///< where the binder is bound
    int connector = -1;
    int binder = -1;
    int call = 0;                 ///< which call has made the endpoint that connects
    std::array<lane, 2> lanes;    ///< from the connector, and to it
    std::array<bool, 2> closed{}; ///< the streams of both
    bool cut = false;
    bool accepted = false;
    bool is_inproc = false; ///< there are no bytes: it is only known of
    bool may_end = false;   ///< for a reason that the program knows
    std::chrono::nanoseconds begun{};
    int descriptor = 0; ///< of the connector; that of the binder is the next

    bool is_over() const { return cut || closed[0] || closed[1]; }
    int end(int side) const { return side == 0 ? connector : binder; }
};

/// What is told of connections.
class network_observer {
public:
    /// Is there a mark that begins `at`, whose first 12 bytes are given? Its whole size from there,
    /// or 0.
    virtual std::uint64_t marked(const char* at, std::uint64_t& what) = 0;
    /// The mark has been written as a whole.
    virtual void written(std::uint64_t what) = 0;
    /// More is going to be read from lane `which`.
    virtual void reads(const connection& its, int which) = 0;
    /// What was on its way in lane `which` is lost, as is what comes from now on.
    virtual void dropped(connection& its, int which) = 0;
    /// One side ends the connection: by itself, unless it was cut.
    virtual void ends(connection& its, int side) = 0;

protected:
    ~network_observer() = default;
};

class memory_stream;
class memory_acceptor;

/// All there is, in one run of the program.
class network {
public:
    static constexpr std::size_t mark_bytes = 12;

    network(network_observer& observer, std::uint32_t seed, std::size_t room, std::size_t portion)
        : observer(observer), chance(seed), room(room), portion(portion)
    {
        current = this;
    }
    ~network() { current = nullptr; }
    network(const network&) = delete;
    network& operator=(const network&) = delete;

    static inline network* current = nullptr;

    network_observer& observer;
    std::minstd_rand chance;
    std::size_t room;     ///< of a lane, in bytes
    std::size_t portion;  ///< of one operation
    bool refuses = false; ///< connections are refused now and then
    int caller = -1;      ///< the socket that binds or connects
    int calls = 0;        ///< to connect, so far
    std::vector<std::shared_ptr<connection>> connections;
    std::map<std::string, memory_acceptor*, std::less<>> bound;
    std::vector<memory_stream*> streams;

    inline void cut(connection& which);
    std::size_t some_of(std::size_t most)
    {
        most = std::min(most, portion);
        return most == 0 || chance() % 3 == 0 ? most : 1 + chance() % most;
    }
};

inline transport::error_code aborted()
{
    return boost::asio::error::operation_aborted;
}

class memory_stream final : public transport::stream {
public:
    memory_stream(network& its, std::shared_ptr<connection> where, int side)
        : network_(its), where_(std::move(where)), side_(side)
    {
        network_.streams.push_back(this);
    }
    ~memory_stream() override
    {
        close();
        std::erase(network_.streams, this);
    }
    memory_stream(const memory_stream&) = delete;
    memory_stream& operator=(const memory_stream&) = delete;

    void live_in(boost::asio::io_context& io) noexcept { io_ = &io; }
    void accepted_in(boost::asio::io_context& io) noexcept
    {
        live_in(io);
        where_->accepted = true;
    }

    transport::io_result read_some(const iovec* buffers, int count) noexcept override
    {
        fuzz_check(!where_->closed[side_]);
        lane& from = in();
        if (where_->cut)
            return {0, ECONNRESET};
        if (from.bytes.empty())
            return from.writer_closed ? transport::io_result{} : transport::io_result{0, EAGAIN};
        network_.observer.reads(*where_, 1 - side_);
        const std::size_t most =
            network_.some_of(std::min(from.bytes.size(), transport::total_bytes(buffers, count)));
        std::size_t moved = 0;
        for (int i = 0; i < count && moved < most; ++i) {
            const std::size_t some = std::min(buffers[i].iov_len, most - moved);
            std::memcpy(buffers[i].iov_base, from.bytes.data() + moved, some);
            moved += some;
        }
        from.bytes.erase(0, moved);
        from.read += moved;
        wake_peer();
        return {moved, 0, !from.bytes.empty() && network_.chance() % 2 == 0};
    }

    transport::io_result write_some(const iovec* buffers, int count) noexcept override
    {
        fuzz_check(!where_->closed[side_]);
        lane& to = out();
        fuzz_check(!to.writer_closed);
        if (where_->cut)
            return {0, EPIPE};
        if (where_->closed[1 - side_])
            return {0, EPIPE};
        const std::size_t free = to.reader_closed ? network_.room : network_.room - to.bytes.size();
        const std::size_t most =
            network_.some_of(std::min(free, transport::total_bytes(buffers, count)));
        if (most == 0 || network_.chance() % 8 == 0)
            return {0, EAGAIN};
        std::string moved;
        for (int i = 0; i < count && moved.size() < most; ++i)
            moved.append(static_cast<const char*>(buffers[i].iov_base),
                         std::min(buffers[i].iov_len, most - moved.size()));
        if (network_.chance() % 4 == 0)
            stop_between_messages(moved);
        scan(to, moved);
        const std::uint64_t before = std::exchange(to.written, to.written + moved.size());
        for (const lane::mark& each : to.marks)
            if (each.end > before && each.end <= to.written)
                network_.observer.written(each.what);
        if (to.reader_closed) {
            network_.observer.dropped(*where_, side_);
        } else {
            to.bytes += moved;
            wake_peer();
        }
        return {moved.size(), 0};
    }

    void async_wait(transport::direction which, wait_handler handler) override
    {
        (which == transport::direction::read ? reader_ : writer_) = std::move(handler);
        look();
    }
    bool shutdown() noexcept override
    {
        abort_waits();
        end_input();
        if (!out().writer_closed) {
            network_.observer.ends(*where_, side_);
            out().writer_closed = true;
        }
        wake_peer();
        return !where_->cut && !where_->closed[1 - side_] && !in().writer_closed;
    }
    std::size_t undelivered_bytes() const noexcept override { return 0; }
    void close() noexcept override
    {
        if (where_->closed[side_])
            return;
        abort_waits();
        if (!out().writer_closed)
            network_.observer.ends(*where_, side_);
        end_input();
        out().writer_closed = true;
        where_->closed[side_] = true;
        wake_peer();
    }
    transport::stream_info info() const override
    {
        transport::stream_info known;
        known.descriptor = where_->descriptor + side_;
        return known;
    }

    /// Calls who waits, if that has become worth while.
    void look()
    {
        if (!io_)
            return;
        const lane& from = in();
        const bool over = where_->cut || where_->closed[1 - side_];
        if (reader_ && (over || !from.bytes.empty() || from.writer_closed))
            call(std::exchange(reader_, nullptr), {});
        if (writer_ && (over || out().reader_closed || out().bytes.size() < network_.room))
            call(std::exchange(writer_, nullptr), {});
    }
    const connection& its_connection() const { return *where_; }

private:
    lane& in() const { return where_->lanes[static_cast<std::size_t>(1 - side_)]; }
    lane& out() const { return where_->lanes[static_cast<std::size_t>(side_)]; }

    void call(wait_handler whom, const transport::error_code& error)
    {
        if (whom)
            boost::asio::post(*io_, [whom = std::move(whom), error] { whom(error); });
    }
    void abort_waits()
    {
        call(std::exchange(reader_, nullptr), aborted());
        call(std::exchange(writer_, nullptr), aborted());
    }
    void end_input()
    {
        lane& from = in();
        from.reader_closed = true;
        network_.observer.dropped(*where_, 1 - side_);
        from.read += from.bytes.size();
        from.bytes.clear();
    }
    void wake_peer()
    {
        for (memory_stream* each : network_.streams)
            if (each != this && each->where_ == where_)
                each->look();
    }
    // The end of a message is where one too many may be sent again, or one too few.
    void stop_between_messages(std::string& moved)
    {
        for (std::size_t at = 0; at + network::mark_bytes <= moved.size(); ++at) {
            std::uint64_t what = 0;
            const std::uint64_t size = network_.observer.marked(moved.data() + at, what);
            if (size != 0 && at + size <= moved.size() && network_.chance() % 2 == 0)
                return moved.resize(at + size);
        }
    }
    // Remembers what begins or goes on in these bytes.
    void scan(lane& to, const std::string& moved)
    {
        const std::uint64_t begin = to.written - to.scanned.size();
        to.scanned += moved;
        std::size_t at = 0;
        for (; at + network::mark_bytes <= to.scanned.size(); ++at) {
            std::uint64_t what = 0;
            if (const std::uint64_t size = network_.observer.marked(to.scanned.data() + at, what))
                to.marks.push_back({what, begin + at + size});
        }
        to.scanned.erase(0, at);
        to.newest += moved;
        to.newest.erase(0, to.newest.size() - std::min(to.newest.size(), lane::newest_bytes));
    }

    network& network_;
    const std::shared_ptr<connection> where_;
    const int side_; ///< 0: has connected
    boost::asio::io_context* io_ = nullptr;
    wait_handler reader_;
    wait_handler writer_;
};

// What has arrived is gone as well as what was on its way.
void network::cut(connection& which)
{
    if (which.is_over() || which.is_inproc)
        return;
    which.cut = true;
    for (int side = 0; side < 2; ++side) {
        lane& each = which.lanes[static_cast<std::size_t>(side)];
        each.reader_closed = true;
        observer.dropped(which, side);
        each.bytes.clear();
    }
    const std::vector<memory_stream*> all = streams;
    for (memory_stream* each : all)
        if (&each->its_connection() == &which)
            each->look();
}

class memory_acceptor final : public transport::acceptor {
public:
    memory_acceptor(network& its, std::string name, boost::asio::io_context& io)
        : network_(its), name_(std::move(name)), io_(io), socket_(its.caller)
    {
        network_.bound[name_] = this;
    }
    ~memory_acceptor() override { close(); }
    memory_acceptor(const memory_acceptor&) = delete;
    memory_acceptor& operator=(const memory_acceptor&) = delete;

    void async_wait(transport::stream::wait_handler handler) override
    {
        waiter_ = std::move(handler);
        look();
    }
    result accept(boost::asio::io_context& target) override
    {
        if (calling_.empty())
            return {boost::asio::error::would_block};
        auto next = std::move(calling_.front());
        calling_.pop_front();
        next->accepted_in(target);
        return {{}, std::move(next)};
    }
    void close() noexcept override
    {
        if (const auto at = network_.bound.find(name_);
            at != network_.bound.end() && at->second == this)
            network_.bound.erase(at);
        calling_.clear();
        if (const auto whom = std::exchange(waiter_, nullptr))
            boost::asio::post(io_, [whom] { whom(aborted()); });
    }
    std::string endpoint() const override { return "memory://" + name_; }
    int descriptor() const noexcept override { return 999; }

    int socket() const { return socket_; }
    void take(std::unique_ptr<memory_stream> caller)
    {
        calling_.push_back(std::move(caller));
        look();
    }

private:
    void look()
    {
        if (waiter_ && !calling_.empty())
            boost::asio::post(
                io_, [whom = std::exchange(waiter_, nullptr)] { whom(transport::error_code()); });
    }

    network& network_;
    const std::string name_;
    boost::asio::io_context& io_;
    const int socket_;
    std::deque<std::unique_ptr<memory_stream>> calling_;
    transport::stream::wait_handler waiter_;
};

class memory_connect_endpoint final : public transport::connect_endpoint {
public:
    memory_connect_endpoint(network& its, std::string_view name)
        : network_(its), name_(name), socket_(its.caller), call_(its.calls)
    {}
    std::shared_ptr<transport::connect_attempt> connect(boost::asio::io_context& io,
                                                        transport::connect_handler handler) override
    {
        auto made = std::make_shared<attempt>();
        boost::asio::post(io, [made, &io, &its = network_, name = name_, socket = socket_,
                               call = call_, handler = std::move(handler)] {
            if (made->cancelled)
                return handler(aborted(), nullptr);
            const auto at = its.bound.find(name);
            if (at == its.bound.end() || (its.refuses && its.chance() % 4 == 0))
                return handler(boost::asio::error::connection_refused, nullptr);
            auto fresh = std::make_shared<connection>();
            fresh->name = name;
            fresh->connector = socket;
            fresh->call = call;
            fresh->binder = at->second->socket();
            fresh->begun = virtual_time();
            fresh->descriptor = 1000 + static_cast<int>(its.connections.size()) * 2;
            its.connections.push_back(fresh);
            auto near = std::make_unique<memory_stream>(its, fresh, 0);
            near->live_in(io);
            at->second->take(std::make_unique<memory_stream>(its, fresh, 1));
            handler({}, std::move(near));
        });
        return made;
    }

private:
    struct attempt final : transport::connect_attempt {
        void cancel() noexcept override { cancelled = true; }
        bool cancelled = false;
    };
    network& network_;
    const std::string name_;
    const int socket_;
    const int call_;
};

class memory_bind_endpoint final : public transport::bind_endpoint {
public:
    memory_bind_endpoint(network& its, std::string_view name) : network_(its), name_(name) {}
    std::unique_ptr<transport::acceptor> listen(boost::asio::io_context& io,
                                                transport::error_code& error) override
    {
        if (network_.bound.contains(name_)) {
            error = boost::asio::error::address_in_use;
            return nullptr;
        }
        return std::make_unique<memory_acceptor>(network_, name_, io);
    }

private:
    network& network_;
    const std::string name_;
};

/// "memory://", in the network that is there.
inline constexpr transport::scheme memory_scheme{
    "memory",
    [](std::string_view name, std::shared_ptr<const transport::options>,
       transport::error_code&) -> std::shared_ptr<transport::connect_endpoint> {
        return std::make_shared<memory_connect_endpoint>(*network::current, name);
    },
    [](std::string_view name, std::shared_ptr<const transport::options>,
       transport::error_code&) -> std::shared_ptr<transport::bind_endpoint> {
        return std::make_shared<memory_bind_endpoint>(*network::current, name);
    },
    [](std::string_view, const transport::options&) { return std::string(); },
};

} // namespace zlink::fuzz
