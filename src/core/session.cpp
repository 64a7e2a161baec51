// SPDX-License-Identifier: Apache-2.0
#include "core/session.hpp"

#include "core/conflation.hpp"
#include "core/notices.hpp"
#include "engine/conflate.hpp"
#include "engine/socket_types.hpp"
#include "engine/traffic_commands.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <zmq.h>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;
namespace zmtp3 = engine::zmtp3;

constexpr std::size_t handshake_read_bytes = 512;
// So many reads before others on the I/O thread are served.
constexpr int reads_per_turn = 16;
// Writing at once is best for a message now and then. When several follow the end of the write
// before them faster than this, batching moves more of them. A request and its reply may look like
// that too, where one processor has run both ends; on_pause() tells.
constexpr std::chrono::nanoseconds quick_wake{3'000};
constexpr unsigned quick_wakes_until_batching = 3;
// A socket that could send to many connections and wakes one only so often in a row has only that
// one to send to.
constexpr unsigned wakes_until_single = 16;
// One whose connections were busy with several messages each has paused if none was woken for so
// long.
constexpr std::chrono::nanoseconds pause_of_stream{500'000};
// How long the end of such a batch may wait for the I/O thread, at first and after a long burst: a
// sending thread that goes on and on does not want to be disturbed often.
constexpr std::chrono::microseconds shortest_collect_interval{50};
constexpr std::chrono::microseconds longest_collect_interval{200};
// What is lent and not used for so long is taken back.
constexpr std::chrono::milliseconds lending_interval{10};
// A connection that had to be taken back for writing stays for so long.
constexpr std::chrono::milliseconds lending_pause{50};
// At the end: how often a peer that is still reading is looked at, and how long one that is not is
// waited for.
constexpr std::chrono::milliseconds delivery_interval{1};
constexpr std::chrono::seconds delivery_patience{2};

std::size_t total_bytes(const iovec* space, int count) noexcept
{
    std::size_t bytes = 0;
    for (int i = 0; i < count; ++i)
        bytes += space[i].iov_len;
    return bytes;
}

bool sends_subscriptions(int type) noexcept
{
    return type == types::sub || type == types::xsub || type == types::dish;
}

engine::kept_commands commands_for(int type) noexcept
{
    if (type == types::radio)
        return engine::kept_commands::groups;
    return takes_subscriptions(type) ? engine::kept_commands::subscriptions
                                     : engine::kept_commands::none;
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
      stream_(std::move(accepted)),
      was_accepted_(true),
      pace_(link_->pace)
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
      dialer_(std::make_shared<dialer>(io_, scheme, std::move(address), options_)),
      pace_(link_->pace)
{
    ++thread_.load();
}

session::~session() = default;

std::shared_ptr<pipe_end> session::make_pipe()
{
    channels_ = std::make_shared<channel_pair>();
    socket_end_ = std::make_shared<pipe_end>(channels_, true, link_->box);
    socket_end_->set_conflation(conflates_sending(*options_), conflates_receiving(*options_));
    if (is_raw())
        socket_end_->write_plain_bytes();
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
    dialer_->start(
        [self = shared_from_this()](std::unique_ptr<transport::stream> stream) {
            if (stream)
                self->begin_handshake(std::move(stream));
            else
                self->give_up();
        },
        [self = shared_from_this()](std::uint64_t event, int value) {
            self->report(event, value);
        });
}

// --- monitor -----------------------------------------------------------------------------------

// Events of a connection name both of its ends; later on a broken one cannot be asked any more.
void session::report(std::uint64_t event, int value)
{
    if (!link_ || !link_->events.active())
        return;
    using side = monitor_event::side;
    if (stream_ && far_end_.empty()) {
        near_end_ = stream_->local_endpoint();
        far_end_ = stream_->remote_endpoint();
    }
    const auto number = monitor_event::number(value);
    if (was_accepted_)
        link_->events.emit({event, number, side::bound, endpoint_, far_end_});
    else
        link_->events.emit({event, number, side::connected, near_end_, endpoint_});
}

// The stream failed before the handshake was done.
void session::handshake_lost(int error)
{
    if (!closing_)
        report(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, error);
    lost(loss::connection);
}

// --- handshake ---------------------------------------------------------------------------------

void session::begin_handshake(std::unique_ptr<transport::stream> stream)
{
    stream_ = std::move(stream);
    report(was_accepted_ ? ZMQ_EVENT_ACCEPTED : ZMQ_EVENT_CONNECTED, stream_->descriptor());
    ++connection_count_;
    waiting_to_read_ = waiting_to_write_ = in_traffic_ = false;
    if (is_raw())
        return begin_traffic({}, {}, {});
    engine::local_peer local;
    local.socket_type = options_->type;
    local.routing_id = options_->routing_id;
    local.max_message_bytes = options_->max_message_bytes;
    local.properties = options_->metadata;
    local.must_authenticate = !options_->zap_domain.empty();
    handshake_.emplace(std::move(local));
    handshake_->start();
    if (options_->handshake_interval_ms > 0 && !closing_) {
        timer_.emplace(io_);
        timer_->expires_after(std::chrono::milliseconds(options_->handshake_interval_ms));
        timer_->async_wait([self = shared_from_this(),
                            connection = connection_count_](const transport::error_code& error) {
            if (!error && self->connection_count_ == connection && self->handshake_)
                self->handshake_lost(EAGAIN);
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
            handshake_lost(result.error);
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
            return handshake_lost(result.error ? result.error : EPIPE);
        const std::span<const std::byte> bytes(buffer, result.bytes);
        const std::size_t taken = handshake_->feed(bytes);
        if (handshake_->failed())
            return handshake_refused();
        if (handshake_->done())
            return end_handshake(bytes.subspan(taken));
    }
}

void session::handshake_refused()
{
    const auto code = engine::protocol_error_code(handshake_->error());
    if (code != 0 && !closing_)
        report(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, static_cast<int>(code));
    const auto output = handshake_->output();
    const iovec bytes{const_cast<std::byte*>(output.data()), output.size()};
    if (bytes.iov_len != 0)
        stream_->write_some(&bytes, 1); // the peer may be told why
    lost(loss::protocol);
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
    const engine::remote_peer remote = handshake_->remote();
    if (remote.major >= 3) // older protocols have no handshake to speak of
        report(ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 0);
    const std::vector<std::byte> unsent(handshake_->output().begin(), handshake_->output().end());
    handshake_.reset();
    begin_traffic(remote, unsent, rest);
}

std::unique_ptr<engine::decoder> session::make_decoder(const engine::remote_peer& remote)
{
    if (conflates_receiving(*options_) && !unconflated_)
        unconflated_ = std::make_unique<base::channel>();
    base::channel& incoming = unconflated_ ? *unconflated_ : channels_->b_to_a;
    if (is_raw())
        return std::make_unique<engine::raw_inbound>(
            incoming, static_cast<std::size_t>(options_->receive_batch_bytes));
    auto in = std::make_unique<engine::inbound>(incoming, options_->max_message_bytes,
                                                commands_for(options_->type), *this);
    in->expect(engine::framing_for(remote));
    if (options_->type == types::req)
        in->require_envelope();
    else if (options_->type == types::dish)
        in->require_group();
    return in;
}

// The connection is there, and the peer is known as far as it will be. `unsent` goes out first,
// `rest` has come in already.
void session::begin_traffic(const engine::remote_peer& remote, std::span<const std::byte> unsent,
                            std::span<const std::byte> rest)
{
    const bool is_new = !channels_;
    if (is_new)
        make_pipe();
    socket_end_->set_peer(describe(remote));
    in_traffic_ = true;
    in_ = make_decoder(remote);
    bool announced = true;
    attach_outbound(unsent, remote, [&] {
        announced = socket_end_->notify(is_new ? pipe_end::attached | pipe_end::identified
                                               : pipe_end::identified);
    });
    if (is_new && !announced)
        return finish(); // the socket was closed meanwhile; an older pipe is closed by a call
    if (notifies_connect(*options_))
        tell_socket({}); // not before it can know whom it comes from
    start_heartbeat(remote);
    drain();
    if (!stream_)
        return;
    // A subscriber of this age chooses by itself.
    if (remote.unversioned && takes_subscriptions(options_->type) &&
        !feed_rest(engine::subscription_to_all_of_zmtp1))
        return;
    if (feed_rest(rest) && !closing_)
        read();
}

void session::attach_outbound(std::span<const std::byte> first, const engine::remote_peer& remote,
                              const std::function<void()>& announce)
{
    const engine::framing framing = engine::framing_for(remote);
    engine::write_batch opening;
    opening.append(first);
    if (const auto hello = hello_message(*options_); !hello.empty() && !is_raw())
        engine::append_frame(opening, framing, {0, std::as_bytes(std::span(hello)), nullptr, 0});
    if (!sends_subscriptions(options_->type) || !link_->subscriptions) {
        out_->attach(*stream_, opening.copies(),
                     is_raw()                            ? engine::raw_encoding()
                     : framing == engine::framing::zmtp1 ? engine::zmtp1_encoding()
                                                         : engine::encoding{});
        announce();
        return;
    }
    std::vector<std::byte> frames;
    // Groups are told by commands in every version.
    translation_ = {0, (remote.major < 3 || remote.minor == 0) && options_->type != types::dish,
                    framing};
    // A verbose publisher sees every single subscription, but none again after a reconnection.
    link_->subscriptions->snapshot(frames, !std::exchange(was_linked_, true), [&] {
        translation_.stale_before = channels_->a_to_b.queue.published_position();
        socket_end_->linked = true;
        announce();
    });
    std::span<const std::byte> left(frames);
    zmtp3::frame_header header;
    while (zmtp3::decode_header(left.data(), left.size(), header)) {
        translate(opening,
                  {header.flags, left.subspan(header.header_bytes, header.body_bytes), nullptr,
                   translation_.stale_before},
                  &translation_);
        left = left.subspan(header.header_bytes + header.body_bytes);
    }
    out_->attach(*stream_, opening.copies(),
                 {.translate = &session::translate, .context = &translation_, .batches = false});
}

void session::translate(engine::write_batch& out, const engine::queued_frame& frame,
                        const void* context)
{
    const auto& how = *static_cast<const translation*>(context);
    if ((frame.flags & zmtp3::flag_command) == 0)
        return engine::append_frame(out, how.frames, frame);
    if (frame.position < how.stale_before)
        return; // said again when the connection was made
    if (!how.as_messages)
        return engine::append_command(out, frame);
    const auto command = engine::parse_traffic_command(frame.body);
    engine::append_subscription(
        out, how.frames, command.kind == engine::traffic_command_kind::subscribe, command.argument);
}

// Bytes that came along with the end of the handshake.
bool session::feed_rest(std::span<const std::byte> rest)
{
    while (!rest.empty()) {
        iovec space[engine::decoder::most_entries];
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

// A message that no peer has sent, for the application; not while the socket's thread reads.
void session::tell_socket(std::string_view notice)
{
    const frame message = notice_frame(options_->type, notice);
    if (in_->append(message.flags, message.bytes()))
        pass_on_received();
}

void session::tell_of_loss(bool made_again)
{
    if (notifies_disconnect(*options_))
        tell_socket({});
    if (const auto notice = disconnect_message(*options_); !notice.empty())
        tell_socket(notice);
    if (const auto notice = hiccup_message(*options_); made_again && !notice.empty())
        tell_socket(notice);
}

// --- traffic -----------------------------------------------------------------------------------

// While messages follow each other quickly the sending thread itself writes them in batches, and
// the I/O thread looks now and then for a batch that was begun and not finished.
pipe_peer::wake_result session::on_readable() noexcept
{
    const auto now = base::steady_clock::now();
    const way how = pace_ ? choose_way(now) : way::as_usual;
    if (how == way::hand_over) {
        pace_->last_wake = now;
        thread_.hand_over(*this, shared_from_this());
        return {.handed_over = true};
    }
    if (how == way::direct)
        return write_directly();
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
    return write_directly();
}

pipe_peer::wake_result session::write_directly() noexcept
{
    const wake_result result = after_direct(writer().drain_directly());
    last_wake_ = base::steady_clock::now();
    if (pace_)
        pace_->last_wake = last_wake_;
    return result;
}

// A message to many: after a pause the first few connections are written to at once. While messages
// follow each other quickly, or if there are more connections than that, the I/O threads write: to
// each of them all that has come since the last time.
session::way session::choose_way(base::steady_clock::time_point now) noexcept
{
    fan_out_pace& pace = *pace_;
    const std::uint64_t committed = writer().committed_messages();
    const bool in_stream = committed - std::exchange(committed_at_wake_, committed) > 1;
    const auto gap = now - pace.last_wake;
    pace.in_a_row = std::exchange(pace.last_woken, this) == this ? pace.in_a_row + 1 : 0;
    if (gap >= (in_stream ? pause_of_stream : quick_wake) || pace.in_a_row >= wakes_until_single)
        pace.direct_left = fan_out_pace::direct_writes;
    if (pace.direct_left == fan_out_pace::direct_writes && pace.in_a_row != 0)
        return way::as_usual; // there is only this one, it seems
    if (pace.direct_left == 0)
        return way::hand_over;
    --pace.direct_left;
    return way::direct;
}

pipe_peer::wake_result session::on_flush() noexcept
{
    last_wake_ = base::steady_clock::now();
    return after_direct(writer().drain_directly());
}

pipe_peer::wake_result session::on_pause() noexcept
{
    quick_wakes_ = 0; // it was no stream
    return after_direct(writer().drain_and_end_duty());
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
    case status::pending:
        result.handed_over = pace_ != nullptr;
        [[fallthrough]];
    case status::blocked:
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
    collect_interval_ = shortest_collect_interval;
    schedule_collecting();
}

void session::schedule_collecting()
{
    if (!collect_timer_)
        collect_timer_.emplace(io_);
    collect_timer_->expires_after(collect_interval_);
    collect_timer_->async_wait([self = shared_from_this()](const transport::error_code& error) {
        if (!error && self->collecting_)
            self->collect_deferred();
    });
}

void session::collect_deferred()
{
    if (!in_traffic_) {
        collecting_ = false;
        return;
    }
    const auto outcome = out_->collect();
    collecting_ = outcome.state == engine::outbound::status::written;
    if (collecting_) {
        collect_interval_ = std::min(collect_interval_ * 2, longest_collect_interval);
        schedule_collecting();
    }
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
        if (reader_ != reader::io_thread) {
            const read_end end = read_directly();
            in_->consumer_was_asleep(); // it is this thread
            if (end == read_end::full || (end == read_end::dry && reader_ == reader::lent))
                return;
        }
        reader_ = reader::io_thread;
    }
    post(&session::read);
}

// The socket's thread, with reading_mutex_.
session::read_end session::read_directly() noexcept
{
    reading_directly_ = true;
    read_end end = read_end::needs_io_thread;
    while (direct_commands_.empty()) {
        if (!in_->has_room()) {
            end = read_end::full;
            break;
        }
        iovec space[engine::decoder::most_entries];
        const int count = in_->prepare(space);
        if (count == 0)
            break; // the I/O thread will find the same
        const std::size_t offered = total_bytes(space, count);
        const auto result = stream_->read_some(space, count);
        if (result.would_block())
            end = read_end::dry;
        if (result.error || result.bytes == 0)
            break;
        ++lent_reads_;
        try {
            direct_error_ = in_->received(result.bytes);
        } catch (...) {
            direct_error_ = engine::inbound_error::out_of_memory;
        }
        if (direct_error_ != engine::inbound_error::none)
            break;
        if (result.bytes < offered && direct_commands_.empty()) {
            end = read_end::dry;
            break;
        }
    }
    reading_directly_ = false;
    return end;
}

void session::offer_reading()
{
    if (heartbeat_ || unconflated_)
        return; // these want to see what comes
    std::lock_guard lock(reading_mutex_);
    reader_ = reader::offered;
}

void session::take_back_reading()
{
    {
        std::lock_guard lock(reading_mutex_);
        reader_ = reader::io_thread;
    }
    if (std::exchange(stream_lent_, false)) {
        lending_timer_->cancel();
        stream_->reclaim(); // if that fails, the next operation on the stream will
    }
}

// --- lending: the socket's thread waits for input by itself

void session::ask_for_reading() noexcept
{
    if (!lending_asked_.exchange(true))
        post(&session::lend_reading);
}

void session::lend_reading()
{
    lending_asked_ = false;
    // Heartbeats and conflation want to see what comes; a blocked connection is waited for anyway.
    if (!in_traffic_ || closing_ || !waiting_to_read_ || waiting_to_write_ || heartbeat_ ||
        unconflated_ || base::steady_clock::now() < lend_again_)
        return;
    if (stream_->lend() < 0)
        return;
    stream_lent_ = true;
    waiting_to_read_ = false;
    ++wait_count_;
    {
        std::lock_guard lock(reading_mutex_);
        reader_ = reader::lent;
        lent_reads_ = 0;
    }
    watch_lending();
    socket_end_->notify(pipe_end::lent); // it looks at once for what has come meanwhile
}

// Takes back what is not made use of.
void session::watch_lending()
{
    if (!lending_timer_)
        lending_timer_.emplace(io_);
    lending_timer_->expires_after(lending_interval);
    lending_timer_->async_wait([self = shared_from_this()](const transport::error_code& error) {
        if (error || !self->stream_lent_)
            return;
        bool in_use = false;
        {
            std::lock_guard lock(self->reading_mutex_);
            in_use = self->reader_ == reader::lent && self->lent_reads_ != 0;
            self->lent_reads_ = 0;
        }
        if (in_use)
            self->watch_lending();
        else
            self->read();
    });
}

pipe_peer::lent_read session::read_lent() noexcept
{
    std::lock_guard lock(reading_mutex_);
    if (reader_ != reader::lent)
        return {};
    const read_end end = read_directly();
    lent_read result{true, in_->consumer_was_asleep(), stream_->descriptor()};
    if (end == read_end::needs_io_thread) {
        result.lent = false;
        reader_ = reader::io_thread;
        post(&session::read);
    }
    return result;
}

void session::return_reading() noexcept
{
    {
        std::lock_guard lock(reading_mutex_);
        if (reader_ != reader::lent)
            return;
        reader_ = reader::io_thread;
    }
    post(&session::read);
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
        iovec space[engine::decoder::most_entries];
        const int count = in_->prepare(space);
        if (count == 0)
            return lost(loss::protocol);
        const std::size_t offered = total_bytes(space, count);
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
    if (stream_lent_) {
        take_back_reading();
        lend_again_ = base::steady_clock::now() + lending_pause;
        post(&session::read);
    }
    stream_->async_wait(which, [self = shared_from_this(), which, connection = connection_count_,
                                count = wait_count_](const transport::error_code& error) {
        if (self->connection_count_ != connection || self->wait_count_ != count || !self->stream_)
            return;
        (which == transport::direction::read ? self->waiting_to_read_ : self->waiting_to_write_) =
            false;
        if (error)
            return self->handshake_ ? self->handshake_lost(error.value())
                                    : self->lost(loss::connection);
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
    if (!closing_)
        report(ZMQ_EVENT_DISCONNECTED, stream_->descriptor());
    near_end_.clear();
    far_end_.clear();
    stream_->close();
    stream_.reset();
    const bool shook_hands = !handshake_;
    handshake_.reset();
    heartbeat_.reset();
    heartbeat_timer_.reset();
    ++connection_count_;
    if (in_)
        in_->reset();
    const bool had_traffic = std::exchange(in_traffic_, false);
    if (socket_end_)
        socket_end_->linked = false;
    const bool again = dialer_ && why == loss::connection && may_reconnect_ &&
                       (shook_hands ? dialer_->retry() : dialer_->retry_after_handshake());
    if (had_traffic && !closing_)
        tell_of_loss(again);
    if (!closing_)
        timer_.reset();
    if (!dialer_ || ended_here_ || (closing_ && !channels_)) {
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
    if (!again)
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

void session::stop_reconnecting()
{
    boost::asio::post(io_, [self = shared_from_this()] {
        self->may_reconnect_ = false;
        if (self->finished_ || self->stream_)
            return;
        self->dialer_->stop();
        self->give_up();
    });
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
    if (finished_ || (closing_ && !ended_here_))
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

// The socket keeps the pipe until it is told that all is done; if it closes before that, its linger
// time counts.
void session::close_after_output()
{
    if (closing_)
        return;
    ended_here_ = true;
    begin_close(-1);
}

void session::finish_if_drained()
{
    if (closing_ && !finished_ && !delivery_timer_ && (!out_ || out_->drained()))
        finish_once_delivered();
}

// The end of a connection must not overtake what was written. Nothing tells when the peer has read,
// so it is asked for; one that reads nothing at all is not waited for longer than that.
void session::finish_once_delivered()
{
    const std::size_t left = in_traffic_ ? stream_->undelivered_bytes() : 0;
    if (left == 0)
        return finish();
    const auto now = base::steady_clock::now();
    if (!delivery_timer_ || left != undelivered_bytes_)
        delivery_progress_ = now;
    else if (now - delivery_progress_ >= delivery_patience)
        return finish();
    undelivered_bytes_ = left;
    if (!delivery_timer_)
        delivery_timer_.emplace(io_);
    delivery_timer_->expires_after(delivery_interval);
    delivery_timer_->async_wait([self = shared_from_this()](const transport::error_code& error) {
        if (!error && !self->finished_)
            self->finish_once_delivered();
    });
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
    delivery_timer_.reset();
    lending_timer_.reset();
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
    if (ended_here_ && socket_end_)
        socket_end_->notify(pipe_end::closed);
    socket_end_.reset();
    link_.reset();
}

} // namespace zlink::core
