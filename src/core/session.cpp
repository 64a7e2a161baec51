// SPDX-License-Identifier: Apache-2.0
#include "core/session.hpp"

#include "core/conflation.hpp"
#include "engine/conflate.hpp"
#include "engine/socket_types.hpp"
#include "engine/traffic_commands.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstring>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;
namespace zmtp3 = engine::zmtp3;

constexpr std::size_t handshake_read_bytes = 512;
// So many reads before others on the I/O thread are served.
constexpr int reads_per_turn = 16;
// Writing at once is best for a message now and then. When several follow the end of the write
// before them faster than this, batching moves more of them. A reply to a request never does.
constexpr std::chrono::nanoseconds quick_wake{3'000};
constexpr unsigned quick_wakes_until_batching = 3;
// How long the end of such a batch may wait for the I/O thread.
constexpr std::chrono::microseconds collect_interval{50};

bool sends_subscriptions(int type) noexcept
{
    return type == types::sub || type == types::xsub;
}

} // namespace

bool takes_subscriptions(int type) noexcept
{
    return type == types::pub || type == types::xpub;
}

session::session(runtime::io_thread& thread, std::shared_ptr<socket_link> link,
                 std::shared_ptr<const socket_options> options, std::string endpoint,
                 std::unique_ptr<transport::stream> accepted)
    : thread_(thread),
      io_(thread.context()),
      link_(std::move(link)),
      options_(std::move(options)),
      endpoint_(std::move(endpoint)),
      stream_(std::move(accepted))
{
    ++thread_.load();
}

session::session(runtime::io_thread& thread, std::shared_ptr<socket_link> link,
                 std::shared_ptr<const socket_options> options, std::string endpoint,
                 const transport::scheme& scheme, std::string address)
    : thread_(thread),
      io_(thread.context()),
      link_(std::move(link)),
      options_(std::move(options)),
      endpoint_(std::move(endpoint)),
      dialer_(std::make_shared<dialer>(io_, scheme, std::move(address), options_))
{
    ++thread_.load();
}

session::~session() = default;

std::shared_ptr<pipe_end> session::make_pipe()
{
    channels_ = std::make_shared<channel_pair>();
    socket_end_ = std::make_shared<pipe_end>(channels_, true, link_->box);
    socket_end_->set_conflation(conflates_sending(*options_), conflates_receiving(*options_));
    socket_end_->set_limits(options_->send_hwm, options_->receive_hwm);
    socket_end_->set_other_end(shared_from_this());
    socket_end_->connected_side = dialer_ != nullptr;
    socket_end_->endpoint = endpoint_;
    // The socket's thread may be in a call through the pipe before this one.
    retired_out_ = std::exchange(out_, std::make_unique<engine::outbound>(channels_->a_to_b));
    writer_.store(out_.get(), std::memory_order_release);
    return socket_end_;
}

void session::post(void (session::*action)())
{
    boost::asio::post(io_, [self = shared_from_this(), action] { ((*self).*action)(); });
}

void session::start()
{
    post(&session::begin);
}

void session::begin()
{
    if (finished_)
        return;
    if (!dialer_)
        return begin_handshake(std::move(stream_));
    dialer_->start([self = shared_from_this()](std::unique_ptr<transport::stream> stream) {
        if (stream)
            self->begin_handshake(std::move(stream));
        else
            self->give_up();
    });
}

// --- handshake ---------------------------------------------------------------------------------

void session::begin_handshake(std::unique_ptr<transport::stream> stream)
{
    stream_ = std::move(stream);
    ++connection_count_;
    waiting_to_read_ = waiting_to_write_ = in_traffic_ = false;
    engine::local_peer local;
    local.socket_type = options_->type;
    local.routing_id = options_->routing_id;
    local.max_message_bytes = options_->max_message_bytes;
    handshake_.emplace(std::move(local));
    handshake_->start();
    if (options_->handshake_interval_ms > 0 && !closing_) {
        timer_.emplace(io_);
        timer_->expires_after(std::chrono::milliseconds(options_->handshake_interval_ms));
        timer_->async_wait([self = shared_from_this(),
                            connection = connection_count_](const transport::error_code& error) {
            if (!error && self->connection_count_ == connection && self->handshake_)
                self->lost(loss::connection);
        });
    }
    pump_handshake();
}

// False if the connection is lost.
bool session::write_handshake()
{
    while (!handshake_->output().empty()) {
        const auto output = handshake_->output();
        const iovec bytes{const_cast<std::byte*>(output.data()), output.size()};
        const auto result = stream_->write_some(&bytes, 1);
        if (result.failed()) {
            lost(loss::connection);
            return false;
        }
        handshake_->consume_output(result.bytes);
        if (result.would_block()) {
            wait(transport::direction::write);
            break;
        }
    }
    return true;
}

void session::pump_handshake()
{
    std::byte buffer[handshake_read_bytes];
    for (;;) {
        if (!write_handshake())
            return;
        const iovec space{buffer, sizeof buffer};
        const auto result = stream_->read_some(&space, 1);
        if (result.would_block())
            return wait(transport::direction::read);
        if (result.failed() || result.bytes == 0)
            return lost(loss::connection);
        const std::span<const std::byte> bytes(buffer, result.bytes);
        const std::size_t taken = handshake_->feed(bytes);
        if (handshake_->failed()) {
            write_handshake();
            if (stream_)
                lost(loss::protocol);
            return;
        }
        if (handshake_->done())
            return end_handshake(bytes.subspan(taken));
    }
}

peer_info session::describe(const engine::remote_peer& remote) const
{
    peer_info info;
    info.routing_id = remote.routing_id;
    info.socket_type = remote.socket_type;
    std::vector<std::pair<std::string, std::string>> properties;
    for (const auto& property : remote.properties)
        properties.emplace_back(property.name, property.value);
    if (const std::string address = stream_->peer_address(); !address.empty())
        properties.emplace_back("Peer-Address", address);
    properties.emplace_back("__fd", std::to_string(stream_->descriptor()));
    // Documented under this name, sent under another.
    if (!remote.routing_id.empty())
        properties.emplace_back("Routing-Id", remote.routing_id);
    info.properties = metadata_ref(new metadata(std::move(properties), stream_->descriptor()));
    return info;
}

void session::end_handshake(std::span<const std::byte> rest)
{
    if (!closing_)
        timer_.reset();
    const bool is_new = !channels_;
    if (is_new)
        make_pipe();
    const engine::remote_peer remote = handshake_->remote();
    socket_end_->set_peer(describe(remote));
    const std::vector<std::byte> unsent(handshake_->output().begin(), handshake_->output().end());
    handshake_.reset();
    in_traffic_ = true;
    if (conflates_receiving(*options_) && !unconflated_)
        unconflated_ = std::make_unique<base::channel>();
    base::channel& incoming = unconflated_ ? *unconflated_ : channels_->b_to_a;
    in_ = std::make_unique<engine::inbound>(incoming, options_->max_message_bytes,
                                            takes_subscriptions(options_->type), *this);
    if (options_->type == types::req)
        in_->require_envelope();
    bool announced = true;
    attach_outbound(unsent, remote, [&] {
        announced = socket_end_->notify(is_new ? pipe_end::attached | pipe_end::identified
                                               : pipe_end::identified);
    });
    if (is_new && !announced)
        return finish(); // the socket was closed meanwhile; an older pipe is closed by a call
    start_heartbeat(remote);
    drain();
    if (stream_ && feed_rest(rest) && !closing_)
        read();
}

void session::attach_outbound(std::span<const std::byte> first, const engine::remote_peer& remote,
                              const std::function<void()>& announce)
{
    if (!sends_subscriptions(options_->type) || !link_->subscriptions) {
        out_->attach(*stream_, first);
        announce();
        return;
    }
    std::vector<std::byte> frames;
    translation_ = {0, remote.major == 3 && remote.minor == 0};
    // A verbose publisher sees every single subscription, but none again after a reconnection.
    link_->subscriptions->snapshot(frames, !std::exchange(was_linked_, true), [&] {
        translation_.stale_before = channels_->a_to_b.queue.published_position();
        socket_end_->linked = true;
        announce();
    });
    std::vector<std::byte> opening(first.begin(), first.end());
    std::span<const std::byte> left(frames);
    zmtp3::frame_header header;
    while (zmtp3::decode_header(left.data(), left.size(), header)) {
        translate(opening, header.flags, left.subspan(header.header_bytes, header.body_bytes),
                  translation_.stale_before, &translation_);
        left = left.subspan(header.header_bytes + header.body_bytes);
    }
    out_->attach(*stream_, opening, &session::translate, &translation_);
}

void session::translate(std::vector<std::byte>& out, std::uint8_t flags,
                        std::span<const std::byte> body, std::uint64_t position,
                        const void* context)
{
    const auto& how = *static_cast<const translation*>(context);
    if (flags & zmtp3::flag_command) {
        if (position < how.stale_before)
            return; // said again when the connection was made
        if (how.as_messages) {
            const auto command = engine::parse_traffic_command(body);
            engine::append_subscription_message(
                out, command.kind == engine::traffic_command_kind::subscribe, command.argument);
            return;
        }
    }
    std::byte header[zmtp3::max_header_bytes];
    const std::size_t bytes = zmtp3::encode_header(header, flags, body.size());
    out.insert(out.end(), header, header + bytes);
    out.insert(out.end(), body.begin(), body.end());
}

// Bytes that came along with the end of the handshake.
bool session::feed_rest(std::span<const std::byte> rest)
{
    while (!rest.empty()) {
        iovec space[2];
        const int count = in_->prepare(space);
        if (count == 0) {
            lost(loss::protocol);
            return false;
        }
        std::size_t moved = 0;
        for (int i = 0; i < count && !rest.empty(); ++i) {
            const std::size_t bytes = std::min(space[i].iov_len, rest.size());
            std::memcpy(space[i].iov_base, rest.data(), bytes);
            rest = rest.subspan(bytes);
            moved += bytes;
        }
        const auto error = in_->received(moved);
        pass_on_received(); // what came before an error counts
        if (error != engine::inbound_error::none)
            lost(loss::protocol);
        if (!stream_)
            return false;
    }
    return true;
}

void session::pass_on_received()
{
    bool wake = in_->consumer_was_asleep();
    if (unconflated_ && channels_) [[unlikely]] {
        auto newest = engine::take_newest(unconflated_->queue);
        if (newest.copy) {
            channels_->b_to_a.newest.put(std::move(newest.copy));
            wake = channels_->b_to_a.queue.wake();
        }
    }
    if (wake && socket_end_)
        socket_end_->notify(pipe_end::readable);
}

// --- traffic -----------------------------------------------------------------------------------

// While messages follow each other quickly the sending thread itself writes them in batches, and
// the I/O thread looks now and then for a batch that was begun and not finished.
pipe_peer::wake_result session::on_readable() noexcept
{
    const auto now = base::steady_clock::now();
    quick_wakes_ = now - last_wake_ < quick_wake ? quick_wakes_ + 1 : 0;
    if (quick_wakes_ >= quick_wakes_until_batching) {
        last_wake_ = now;
        if (!options_->conflate && writer().begin_duty()) {
            post(&session::begin_collecting);
            return {.deferred = true};
        }
        post(&session::drain);
        return wake_result{};
    }
    const wake_result result = after_direct(writer().drain_directly());
    last_wake_ = base::steady_clock::now();
    return result;
}

pipe_peer::wake_result session::on_flush() noexcept
{
    last_wake_ = base::steady_clock::now();
    return after_direct(writer().drain_directly());
}

pipe_peer::wake_result session::after_direct(engine::outbound::outcome outcome) noexcept
{
    using status = engine::outbound::status;
    wake_result result;
    switch (outcome.state) {
    case status::written:
        result.deferred = true;
        break;
    case status::idle:
    case status::detached:
        break;
    case status::blocked:
    case status::pending:
    case status::failed:
        post(&session::drain);
        break;
    }
    result.has_room = outcome.wake_producer;
    return result;
}

void session::begin_collecting()
{
    if (collecting_ || finished_)
        return;
    if (!in_traffic_)
        return; // the next connection will find what is queued
    collecting_ = true;
    if (!collect_timer_)
        collect_timer_.emplace(io_);
    collect_timer_->expires_after(collect_interval);
    collect_timer_->async_wait([self = shared_from_this()](const transport::error_code& error) {
        if (!error && self->collecting_)
            self->collect_deferred();
    });
}

void session::collect_deferred()
{
    collecting_ = false;
    if (!in_traffic_)
        return;
    const auto outcome = out_->collect();
    if (outcome.state == engine::outbound::status::written)
        begin_collecting();
    handle(outcome);
}

std::size_t session::write_through(const iovec (&frame)[2]) noexcept
{
    return writer().write_through(frame);
}

void session::on_writable() noexcept
{
    {
        std::lock_guard lock(reading_mutex_);
        if (reading_offered_ && read_directly())
            return;
        reading_offered_ = false;
    }
    post(&session::read);
}

// The socket's thread, with the lease. True while it can go on like this: the queue is full again.
bool session::read_directly() noexcept
{
    reading_directly_ = true;
    bool go_on = false;
    for (;;) {
        if (!in_->has_room()) {
            go_on = direct_commands_.empty();
            break;
        }
        if (!direct_commands_.empty())
            break; // they want an answer
        iovec space[2];
        const int count = in_->prepare(space);
        if (count == 0)
            break; // the I/O thread will find the same
        const std::size_t offered = space[0].iov_len + (count > 1 ? space[1].iov_len : 0);
        const auto result = stream_->read_some(space, count);
        if (result.error || result.bytes == 0)
            break;
        try {
            direct_error_ = in_->received(result.bytes);
        } catch (...) {
            direct_error_ = engine::inbound_error::out_of_memory;
        }
        in_->consumer_was_asleep(); // it is this thread
        if (direct_error_ != engine::inbound_error::none || result.bytes < offered)
            break;
    }
    reading_directly_ = false;
    return go_on;
}

void session::offer_reading()
{
    if (heartbeat_ || unconflated_)
        return; // these want to see what comes
    std::lock_guard lock(reading_mutex_);
    reading_offered_ = true;
}

void session::take_back_reading()
{
    std::lock_guard lock(reading_mutex_);
    reading_offered_ = false;
}

void session::on_command(std::span<const std::byte> body)
{
    if (reading_directly_) {
        direct_commands_.emplace_back(body.begin(), body.end());
        return;
    }
    const auto command = engine::parse_traffic_command(body);
    if (command.kind != engine::traffic_command_kind::ping)
        return;
    if (command.ttl_ms != 0)
        ping_received(std::chrono::milliseconds(command.ttl_ms));
    std::vector<std::byte> pong;
    engine::append_traffic_command(pong, {engine::traffic_command_kind::pong, command.argument, 0});
    handle(out_->send_control(pong));
}

void session::drain()
{
    if (in_traffic_)
        handle(out_->drain());
}

void session::handle(engine::outbound::outcome outcome)
{
    using status = engine::outbound::status;
    if (outcome.wake_producer)
        socket_end_->notify(pipe_end::writable);
    switch (outcome.state) {
    case status::blocked:
        wait(transport::direction::write);
        break;
    case status::pending:
        post(&session::drain);
        break;
    case status::failed:
        lost(loss::connection);
        break;
    case status::idle:
    case status::written:
    case status::detached:
        break;
    }
    finish_if_drained();
}

void session::read()
{
    if (!in_traffic_ || waiting_to_read_ || closing_)
        return;
    take_back_reading();
    for (const auto& body : std::exchange(direct_commands_, {}))
        if (in_traffic_)
            on_command(body);
    if (direct_error_ != engine::inbound_error::none)
        return lost(loss::protocol);
    if (!in_traffic_)
        return;
    for (int reads = 0; reads < reads_per_turn; ++reads) {
        if (!in_->has_room()) {
            if (heartbeat_)
                heartbeat_->pause();
            return offer_reading(); // on_writable() goes on
        }
        if (heartbeat_ && heartbeat_->paused())
            resume_heartbeat();
        iovec space[2];
        const int count = in_->prepare(space);
        if (count == 0)
            return lost(loss::protocol);
        const std::size_t offered = space[0].iov_len + (count > 1 ? space[1].iov_len : 0);
        const auto result = stream_->read_some(space, count);
        if (result.would_block())
            return wait(transport::direction::read);
        if (result.failed() || result.bytes == 0)
            return lost(loss::connection);
        if (heartbeat_)
            heartbeat_->received();
        const auto error = in_->received(result.bytes);
        pass_on_received();
        if (error != engine::inbound_error::none)
            return lost(loss::protocol);
        if (!in_traffic_)
            return; // answering a command found the connection broken
        if (result.bytes < offered)
            return wait(transport::direction::read);
    }
    post(&session::read);
}

void session::wait(transport::direction which)
{
    bool& waiting = which == transport::direction::read ? waiting_to_read_ : waiting_to_write_;
    if (waiting)
        return;
    waiting = true;
    stream_->async_wait(which, [self = shared_from_this(), which, connection = connection_count_](
                                   const transport::error_code& error) {
        if (self->connection_count_ != connection || !self->stream_)
            return;
        (which == transport::direction::read ? self->waiting_to_read_ : self->waiting_to_write_) =
            false;
        if (error)
            return self->lost(loss::connection);
        if (self->handshake_)
            return self->pump_handshake();
        if (which == transport::direction::read)
            return self->read();
        self->drain();
    });
}

// --- heartbeats --------------------------------------------------------------------------------

void session::start_heartbeat(const engine::remote_peer& remote)
{
    if (options_->heartbeat.interval_ms == 0 || remote.major < 3)
        return;
    heartbeat_.emplace(options_->heartbeat, engine::heartbeat::clock::now());
    if (closing_)
        heartbeat_->pause();
    schedule_heartbeat();
}

void session::ping_received(std::chrono::milliseconds ttl)
{
    if (closing_)
        return;
    const auto now = engine::heartbeat::clock::now();
    if (!heartbeat_)
        heartbeat_.emplace(engine::heartbeat_settings{}, now);
    heartbeat_->ping_received(ttl, now);
    schedule_heartbeat();
}

void session::resume_heartbeat()
{
    heartbeat_->resume(engine::heartbeat::clock::now());
    schedule_heartbeat();
}

// Traffic does not touch the timer: one that has become too early finds nothing due.
void session::schedule_heartbeat()
{
    const auto deadline = heartbeat_->deadline();
    if (!deadline || (heartbeat_timer_ && heartbeat_timer_->expiry() <= *deadline))
        return;
    heartbeat_timer_.emplace(io_, *deadline);
    heartbeat_timer_->async_wait(
        [self = shared_from_this(), connection = connection_count_](const auto& error) {
            if (!error && self->connection_count_ == connection)
                self->beat();
        });
}

void session::beat()
{
    heartbeat_timer_.reset();
    switch (heartbeat_->due(engine::heartbeat::clock::now())) {
    case engine::heartbeat::action::dead:
        return lost(loss::connection);
    case engine::heartbeat::action::ping:
        send_ping();
        break;
    case engine::heartbeat::action::none:
        break;
    }
    if (heartbeat_)
        schedule_heartbeat();
}

void session::send_ping()
{
    if (waiting_to_write_)
        return; // the peer has enough to read; a PING for each interval would only pile up
    std::vector<std::byte> ping;
    engine::append_traffic_command(ping, {engine::traffic_command_kind::ping,
                                          {},
                                          static_cast<std::uint32_t>(options_->heartbeat.ttl_ms)});
    const auto outcome = out_->send_control(ping);
    if (outcome.state == engine::outbound::status::idle)
        heartbeat_->ping_sent(engine::heartbeat::clock::now());
    handle(outcome);
}

// --- ends --------------------------------------------------------------------------------------

void session::lost(loss why)
{
    if (!stream_)
        return;
    take_back_reading();
    direct_error_ = engine::inbound_error::none;
    direct_commands_.clear();
    if (out_)
        out_->detach(); // before the descriptor goes: the socket's thread may be writing
    stream_->close();
    stream_.reset();
    handshake_.reset();
    heartbeat_.reset();
    heartbeat_timer_.reset();
    ++connection_count_;
    if (in_)
        in_->reset();
    in_traffic_ = false;
    if (socket_end_)
        socket_end_->linked = false;
    if (!closing_)
        timer_.reset();
    if (!dialer_ || (closing_ && !channels_)) {
        if (socket_end_)
            socket_end_->notify(pipe_end::closed);
        return finish();
    }
    if (options_->immediate && channels_) {
        // The pipe lives with the connection; the next one gets a new pipe.
        socket_end_->notify(pipe_end::closed);
        socket_end_.reset();
        retired_ = std::move(channels_);
        if (closing_)
            return finish();
    }
    if (why == loss::protocol) {
        // This endpoint will never do: what waits for it has nowhere to go.
        if (socket_end_)
            socket_end_->notify(pipe_end::closed);
        return finish();
    }
    if (!dialer_->retry())
        give_up();
    finish_if_drained();
}

// No connection will be made again. The pipe stays, as there is no error; closing does not wait.
void session::give_up()
{
    given_up_ = true;
    if (closing_)
        finish();
}

void session::close(int linger_ms)
{
    boost::asio::post(io_,
                      [self = shared_from_this(), linger_ms] { self->begin_close(linger_ms); });
}

void session::close_unless_linked()
{
    boost::asio::post(io_, [self = shared_from_this()] {
        if (!self->channels_)
            self->finish();
    });
}

void session::begin_close(int linger_ms)
{
    if (finished_ || closing_)
        return;
    closing_ = true;
    if (heartbeat_)
        heartbeat_->pause(); // nothing is read any more
    // A SUB socket has nothing to deliver but subscriptions that nobody needs any more.
    if (!channels_ || linger_ms == 0 || given_up_ || options_->type == types::sub)
        return finish();
    finish_if_drained();
    if (finished_)
        return;
    if (linger_ms > 0) {
        timer_.emplace(io_);
        timer_->expires_after(std::chrono::milliseconds(linger_ms));
        timer_->async_wait([self = shared_from_this()](const transport::error_code& error) {
            if (!error)
                self->finish();
        });
    }
    drain();
}

void session::finish_if_drained()
{
    if (closing_ && !finished_ && (!out_ || out_->drained()))
        finish();
}

void session::finish()
{
    if (finished_)
        return;
    finished_ = true;
    take_back_reading();
    --thread_.load();
    if (dialer_)
        std::exchange(dialer_, nullptr)->stop();
    timer_.reset();
    heartbeat_.reset();
    heartbeat_timer_.reset();
    if (out_)
        out_->detach();
    if (stream_) {
        if (in_traffic_)
            stream_->shutdown();
        stream_->close();
        stream_.reset();
    }
    handshake_.reset();
    collect_timer_.reset();
    collecting_ = false;
    ++connection_count_;
    in_traffic_ = false;
    if (in_)
        in_->reset();
    if (out_)
        out_->discard(); // memory of the application is given back now, not some time later
    socket_end_.reset();
    link_.reset();
}

} // namespace zlink::core
