// SPDX-License-Identifier: Apache-2.0
#include "core/connection/session.hpp"

#include "core/connection/zap_conversation.hpp"
#include "core/options/conflation.hpp"
#include "core/pipe/notices.hpp"
#include "transport/close_after_peer.hpp"

#include <cerrno>
#include <chrono>
#include <new>
#include <utility>
#include <vector>
#include <zmq.h>

namespace zlink::core {
namespace {

using action = connection_life::action;
using event = connection_life::event;
using phase = connection_life::phase;

} // namespace

session::session(runtime::io_thread& thread, std::shared_ptr<socket_link> link,
                 std::shared_ptr<const socket_options> options, shared_text endpoint,
                 const transport_row& transport, bool was_accepted)
    : thread_(thread),
      io_(thread.context()),
      link_(std::move(link)),
      options_(std::move(options)),
      endpoint_(std::move(endpoint)),
      in_(options_, *this),

      transport_(transport),
      was_accepted_(was_accepted),
      life_(!was_accepted),
      keepalive_(io_, options_->heartbeat, *this),
      delivery_(io_)
{
    ++thread_.load();
}

session::session(runtime::io_thread& thread, std::shared_ptr<socket_link> link,
                 std::shared_ptr<const socket_options> options, shared_text endpoint,
                 const transport_row& transport, transport::upgrades through,
                 transport::acceptor::result accepted)
    : session(thread, std::move(link), std::move(options), std::move(endpoint), transport, true)
{
    stream_ = std::move(accepted.connection);
    prepare_opening(std::move(through));
    if (accepted.passed)
        opening_->begin_with(std::move(accepted.passed->begun));
}

session::session(runtime::io_thread& thread, std::shared_ptr<socket_link> link,
                 std::shared_ptr<const socket_options> options, shared_text endpoint,
                 const transport_row& transport,
                 std::shared_ptr<transport::connect_endpoint> address)
    : session(thread, std::move(link), std::move(options), std::move(endpoint), transport, false)
{
    if (std::string hop = address->first_hop(); !hop.empty())
        told_endpoint_ = std::move(hop);
    if (told_endpoint_.empty())
        told_endpoint_ = endpoint_;
    dialer_ = std::make_shared<dialer>(io_, std::move(address), options_);
}

session::~session()
{
    if (life_.has_ended())
        return;
    if (pipe_link_)
        pipe_link_->set_owner(nullptr);
    --thread_.load();
}

std::shared_ptr<pipe_end> session::make_pipe()
{
    create_pipe();
    announced_ = true;
    return socket_end_;
}

void session::create_pipe()
{
    auto fresh = std::make_shared<link>(thread_, link_->fan_out, !options_->conflate);
    auto end = make_pipe_end(fresh->channels(), true, link_->box);
    end->set_connection(*fresh, *fresh);
    end->set_conflation(conflates_sending(*options_), conflates_receiving(*options_));
    if (exchanges_plain_bytes(*options_, transport_))
        end->write_plain_bytes();
    else if (!speaks_zmtp(*options_))
        end->write_chunks();
    end->set_limits(options_->send_hwm, options_->receive_hwm);
    end->set_other_end(shared_from_this());
    end->connected_side = dialer_ != nullptr;
    end->endpoint = endpoint_;
    fresh->set_owner(this);
    pipe_link_ = std::move(fresh);
    socket_end_ = std::move(end);
}

// If it knows the pipe.
void session::tell_socket(std::uint32_t events) noexcept
{
    if (socket_end_ && announced_)
        socket_end_->notify(events);
}

void session::ask(request what) noexcept
{
    thread_.ask(*this, static_cast<unsigned>(what), shared_from_this());
}

template <class Body>
void session::serve_or_recover(Body body)
{
    try {
        body();
    } catch (const std::bad_alloc&) {
        if (!stream_)
            throw; // it is asked for again
        recover();
    }
}

void session::do_request(unsigned number)
{
    serve_or_recover([&] { do_what_is_asked(static_cast<request>(number)); });
}

// Only from the I/O thread that this belongs to, and not after the link was let go.
void session::serve(link::request what)
{
    const auto self = shared_from_this();
    serve_or_recover([&] {
        switch (what) {
        case link::request::write_for_owner:
            if (has_traffic())
                handle(pipe_link_->out().write_for_owner());
            return;
        case link::request::grant_lease:
            return grant_lease();
        case link::request::watch_reading:
            return watch_reading();
        case link::request::read:
            return read();
        case link::request::tell_of_room:
            if (has_traffic())
                tell_socket(pipe_end::writable);
            return;
        case link::request::drain:
            return drain();
        }
    });
}

template <class Body>
void session::attempt(Body body) noexcept
{
    try {
        body();
    } catch (const std::bad_alloc&) {
        recover();
    }
}

// Memory has run out somewhere: that is the end of the connection, as if it were broken.
void session::recover() noexcept
{
    try {
        if (life_.at() == phase::reaching)
            return unreached(ENOMEM);
        if (life_.at() == phase::opening && life_.is_wanted())
            report(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, ENOMEM);
        lost(loss::connection);
    } catch (const std::bad_alloc&) {
        thread_.ask_later(*this, static_cast<unsigned>(request::recover), shared_from_this());
    }
}

void session::do_what_is_asked(request what)
{
    switch (what) {
    case request::recover:
        return recover();
    case request::begin:
        return begin();
    case request::go_on_dialing:
        if (dialer_)
            dialer_->go_on();
        return;
    case request::stop_reconnecting:
        return stop_reconnecting();
    case request::read_rest:
        return read_rest();
    case request::read_last:
        return read_last();
    case request::refuse:
        return refuse();
    case request::close_before_traffic:
        if (!announced_)
            finish();
        return;
    case request::close_after_output:
        // If the socket closes the pipe before all is done, its linger time counts.
        return end_by(event::end_output, what, -1);
    case request::close:
        return end_by(event::close, what, linger_ms_.load(std::memory_order_relaxed));
    }
}

void session::begin()
{
    switch (life_.resume(event::begin)) {
    case action::dial:
        return dialer_->start(shared_from_this());
    case action::open:
        return begin_opening();
    default:
        return;
    }
}

void session::connected(std::unique_ptr<transport::stream> stream) noexcept
{
    attempt([&] {
        const action next = life_.resume(stream ? event::connected : event::gave_up);
        if (next == action::give_up)
            return give_up();
        if (next != action::open)
            return;
        stream_ = std::move(stream);
        descriptor_ = -1;
        descriptor_ = facts().descriptor;
        prepare_opening(dialer_->endpoint().make_upgrades());
        begin_opening();
    });
}

void session::dialing(std::uint64_t event, int value) noexcept
{
    report(event, value);
}

void session::dialing_is_stuck() noexcept
{
    thread_.ask_later(*this, static_cast<unsigned>(request::go_on_dialing), shared_from_this());
}

// --- monitor -----------------------------------------------------------------------------------

// Events of a connection name both of its ends; later on a broken one cannot be asked any more.
void session::report(std::uint64_t event, int value) noexcept
{
    if (!link_ || !link_->events.wants(event))
        return;
    using side = monitor_event::side;
    const transport::stream_info nothing_known;
    const transport::stream_info* found = &nothing_known;
    try {
        if (stream_)
            found = &facts();
    } catch (const std::bad_alloc&) {
        // What has happened is told all the same.
    }
    const transport::stream_info& known = *found;
    const auto number = monitor_event::number(value);
    if (was_accepted_)
        link_->events.emit({event, number, side::bound, endpoint_, known.remote_endpoint});
    else
        link_->events.emit({event, number, side::connected, known.local_endpoint, told_endpoint_});
}

void session::report_failure(const engine::failure_event& what)
{
    const auto value = static_cast<int>(what.value);
    switch (what.what) {
    case engine::failure_event::kind::none:
        return;
    case engine::failure_event::kind::no_detail:
        return report(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, value);
    case engine::failure_event::kind::protocol:
        return report(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, value);
    case engine::failure_event::kind::denied:
        return report(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, value);
    }
}

const transport::stream_info& session::facts()
{
    if (!facts_)
        facts_ = std::make_unique<const transport::stream_info>(stream_->info());
    return *facts_;
}

// --- opening -----------------------------------------------------------------------------------

// Where the traffic begins at once, there is none.
void session::prepare_opening(transport::upgrades upgrades)
{
    auto stages = make_stages(*options_, transport_, std::move(upgrades), make_mechanism(),
                              dialer_ != nullptr);
    if (!stages.empty())
        opening_ = std::make_shared<opening>(io_, stream_, std::move(stages.upgrades),
                                             std::move(stages.handshake), std::move(stages.frame));
}

std::unique_ptr<engine::mechanism> session::make_mechanism() const
{
    if (!speaks_zmtp(*options_))
        return nullptr;
    // Compiled in, or the socket would not have made this session.
    return core::make_mechanism(link_->mechanisms, *options_, [this](authentication how) {
        return std::make_shared<zap_conversation>(thread_, link_, options_, how);
    });
}

void session::begin_opening()
{
    input_wait_.forget();
    room_wait_.forget();
    if (!opening_) {
        reached();
        return begin_traffic({.kind = opening::end_kind::succeeded});
    }
    opening_->start(life_.is_wanted() ? options_->handshake_interval_ms : 0,
                    {[self = shared_from_this()](const opening::ending& how) {
                         self->attempt([&] { self->end_opening(how); });
                     },
                     [this] { reached(); }},
                    was_accepted_ ? opening::first_look::read : opening::first_look::none);
}

// The connection leads to the peer.
void session::reached()
{
    life_.resume(event::reached);
    descriptor_ = facts().descriptor;
    report(was_accepted_ ? ZMQ_EVENT_ACCEPTED : ZMQ_EVENT_CONNECTED, descriptor_);
}

void session::end_opening(const opening::ending& how)
{
    switch (how.kind) {
    case opening::end_kind::unreached:
        return unreached(how.error);
    case opening::end_kind::broken:
        if (life_.is_wanted())
            report(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, how.error);
        return lost(loss::connection);
    case opening::end_kind::refused:
        if (life_.is_wanted())
            report_failure(engine::event_of(how.refusal, how.reason));
        return lost(engine::is_temporary(how.refusal) ? loss::connection : loss::protocol);
    case opening::end_kind::passed_on:
        return pass_on();
    case opening::end_kind::succeeded:
        break;
    }
    if (opening_->has_upgrades())
        facts_.reset(); // there is more to say of the connection now
    opening_.reset();
    begin_traffic(how);
}

// From now on it is a connection of another socket.
void session::pass_on()
{
    if (life_.is_wanted())
        report(ZMQ_EVENT_DISCONNECTED, descriptor_);
    try {
        opening_->pass_on();
    } catch (const std::bad_alloc&) { // it is closed: the peer may try again
    }
    finish();
}

// Returns the descriptor that was closed.
int session::drop_unreached()
{
    life_.resume(event::retry);
    stop_opening();
    stream_->close();
    stream_.reset();
    facts_.reset();
    return descriptor_;
}

// As if no connection had been made.
void session::unreached(int error)
{
    const int descriptor = drop_unreached();
    dialer_->unreached({error, boost::system::system_category()}, descriptor);
}

void session::stop_opening() noexcept
{
    if (opening_)
        std::exchange(opening_, nullptr)->stop();
}

// The connection is there, and the peer is known as far as it will be. What needs memory comes
// first: a pipe of which the socket was not told when there is none waits for the next connection.
void session::begin_traffic(const opening::ending& how)
{
    const engine::remote_peer& remote = how.remote;
    const transport::stream_info& known = facts();
    const bool is_new = !announced_;
    if (!pipe_link_)
        create_pipe();
    if (was_accepted_)
        socket_end_->far_end = known.remote_endpoint;
    auto peer = std::make_unique<peer_info>(describe_peer(remote, known));
    const engine::wire wire = make_wire(how, exchanges_plain_bytes(*options_, transport_));
    in_.begin(wire, socket_end_, pipe_link_->shared_lease());
    bool is_there = true;
    attach_writer(how, wire, known.packet_bytes, [&] {
        socket_end_->set_peer(std::move(peer));
        life_.resume(event::opened);
        is_there = socket_end_->notify(is_new ? pipe_end::attached | pipe_end::identified
                                              : pipe_end::identified);
        announced_ = true;
    });
    if (dialer_)
        dialer_->succeeded();
    if (is_new && !is_there)
        return finish(); // the socket was closed meanwhile; an older pipe is closed by a call
    // After the socket knows: who hears of it may send. Older protocols have no handshake to speak
    // of.
    if (remote.major >= 3)
        report(ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 0);
    if (!link_->events.active())
        facts_.reset(); // an idle connection keeps little
    if (notifies_connect(*options_))
        in_.incoming().tell({}); // not before it can know whom it comes from
    keepalive_.begin(carries_commands(how));
    drain();
    if (life_.has_traffic())
        begin_reading(how);
}

void session::begin_reading(const opening::ending& how)
{
    if (!life_.is_wanted()) { // what comes means nothing any more, see read()
        keepalive_.input_means_nothing();
        return read();
    }
    // A subscriber of this age chooses by itself.
    if (how.remote.unversioned && options_->traits->keeps == engine::kept_commands::subscriptions)
        in_.incoming().subscribe_to_all();
    if (feed(how.rest) && has_traffic()) // more may be there already, but rarely is
        wait(transport::direction::read);
}

void session::attach_writer(const opening::ending& how, engine::wire wire, std::size_t packet_bytes,
                            const std::function<void()>& announce)
{
    std::vector<std::byte> first = hello_frame(*options_); // and more
    const announced announces = options_->traits->announces;
    const bool subscribes = announces != announced::nothing && link_->subscriptions;
    if (subscribes) {
        if (!relay_)
            relay_ = std::make_unique<subscription_relay>();
        relay_->begin(first, *link_->subscriptions, announces, how.remote, *socket_end_, announce);
        wire.filter = relay_.get();
        wire.batches = false;
    }
    keepalive_.append_first_ping(first, carries_commands(how));
    pipe_link_->out().attach(*stream_, how.unsent, std::move(wire), first, packet_bytes);
    if (!subscribes)
        announce();
}

// Bytes that have come already. False if that was the end of the connection.
bool session::feed(std::span<const std::byte> bytes)
{
    if (const auto read = in_.feed(bytes); read != reader::status::dry)
        lost_by(read);
    return stream_ != nullptr;
}

// --- traffic -----------------------------------------------------------------------------------

void session::on_ended(pipe_ending how, int linger_ms) noexcept
{
    switch (how) {
    case pipe_ending::closed:
        return close(linger_ms);
    case pipe_ending::refused:
        return ask(request::refuse);
    case pipe_ending::left:
        return ask(request::read_last);
    case pipe_ending::output_ended:
        return ask(request::close_after_output);
    }
}

void session::grant_lease()
{
    pipe_link_->lease().begin_answer();
    if (!has_traffic() || !life_.is_wanted() || !input_wait_.pending ||
        !in_.grant_lease(*stream_, keepalive_.timer()))
        return;
    input_wait_.forget();
    watch_reading();
    socket_end_->notify(pipe_end::leased); // it looks at once for what has come meanwhile
}

void session::watch_reading()
{
    if (has_traffic())
        pipe_link_->lease().watch(
            [self = shared_from_this()] { self->attempt([&self] { self->read(); }); });
}

void session::on_command(std::span<const std::byte> body)
{
    if (pipe_link_->lease().keep_for_later(body))
        return;
    keepalive_.command_received(body);
}

void session::detach_writer() noexcept
{
    if (pipe_link_ && pipe_link_->out().detach())
        tell_socket(pipe_end::writable);
}

void session::drain()
{
    if (has_traffic())
        handle(pipe_link_->out().drain());
}

void session::handle(writer::outcome outcome)
{
    using status = writer::status;
    if (outcome.wake_producer)
        tell_socket(pipe_end::writable);
    switch (outcome.state) {
    case status::blocked:
        wait(transport::direction::write);
        break;
    case status::pending:
        pipe_link_->ask(link::request::drain);
        break;
    case status::failed:
        // What has come is read, but not from here: this may be in the middle of reading.
        detach_writer();
        if (life_.resume(event::output_failed) == action::read_rest)
            ask(request::read_rest);
        break;
    case status::idle:
    case status::written:
    case status::detached:
    case status::being_retried:
        break;
    }
    finish_if_drained();
}

void session::read()
{
    if (!has_traffic() || input_wait_.pending)
        return;
    if (life_.is_wanted())
        return follow(in_.read(*stream_, pulse()));
    // What comes while the rest is delivered means nothing any more, but that something comes shows
    // that the peer lives.
    if (keepalive_.listens_to_the_end())
        follow(reader::listen(*stream_, pulse()));
}

void session::follow(reader::status read)
{
    using status = reader::status;
    switch (read) {
    case status::dry:
        return wait(transport::direction::read);
    case status::full:
        return; // on_writable() goes on
    case status::limit_reached:
        return pipe_link_->ask(link::request::read);
    case status::lost:
    case status::violated:
    case status::damaged:
        return lost_by(read);
    }
}

// Nothing can be written any more, but the kernel may hold what the peer has sent before it left.
// The next connection need not wait until the application has received it.
void session::read_rest()
{
    if (life_.at() != phase::cut_off)
        return;
    if (!life_.is_wanted())
        return lost(loss::connection);
    lost_by(in_.read_all(*stream_));
}

// The socket wants no more of this connection, but what has come by now: the peer does not send it
// again.
void session::read_last()
{
    attempt([this] {
        if (life_.at() == phase::traffic && life_.is_wanted())
            if (const auto read = in_.read_all(*stream_); read != reader::status::dry)
                lost_by(read);
    });
    tell_socket(pipe_end::closed);
}

// What somebody on the way has damaged says nothing about the peer: it may be tried again.
void session::lost_by(reader::status read)
{
    if (read == reader::status::damaged && life_.is_wanted())
        report_failure(engine::event_of(in_.fault()));
    if (in_.farewell() && has_traffic())
        pipe_link_->out().say_farewell(*in_.farewell());
    lost(read == reader::status::violated ? loss::protocol : loss::connection);
}

void session::wait(transport::direction which)
{
    const bool for_input = which == transport::direction::read;
    pending_wait& wait = for_input ? input_wait_ : room_wait_;
    if (wait.pending)
        return;
    wait.pending = true;
    // Little to hold: this is what each idle connection has.
    stream_->async_wait(which, [self = shared_from_this(), number = wait.number,
                                for_input](const transport::error_code& error) {
        pending_wait& wait = for_input ? self->input_wait_ : self->room_wait_;
        if (wait.number != number || !self->stream_)
            return;
        wait.pending = false;
        self->attempt([&] {
            if (error)
                return self->lost(loss::connection);
            if (for_input)
                return self->read();
            self->drain();
        });
    });
}

// --- heartbeats --------------------------------------------------------------------------------

void session::send_command(const engine::traffic_command& command)
{
    handle(pipe_link_->out().send_command(command));
}

void session::end_connection() noexcept
{
    attempt([this] { lost(loss::connection); });
}

// --- ends --------------------------------------------------------------------------------------

void session::lost(loss why)
{
    if (!life_.has_connection())
        return;
    in_.stop_sharing();
    detach_writer(); // before the descriptor goes: the socket's thread may be writing
    in_.incoming().reset();
    const auto after =
        life_.lose({.breaks_protocol = why == loss::protocol,
                    .may_retry = dialer_ && dialer_->retries_after_loss(opening_ != nullptr),
                    .has_pipe = announced_,
                    .new_pipe_each = options_->immediate});
    tell_of_loss(after, why);
    drop_connection();
    if (!after.retries())
        return finish();
    if (after.ends_pipe())
        leave_pipe();
    life_.resume(event::retry);
    dialer_->retry();
    finish_if_drained();
}

// The socket is told before the application, by a notice or the monitor: who hears of the loss may
// send, and that must not go the same way.
void session::tell_of_loss(const connection_life::after_loss& after, loss why)
{
    if (socket_end_)
        socket_end_->takes_subscriptions = false;
    if (after.tells_application) {
        if (after.ends_pipe() && in_.incoming().tells_of_loss())
            tell_socket(pipe_end::leaving);
        in_.incoming().tell_of_loss(after.retries());
    }
    if (after.ends_pipe())
        tell_socket(pipe_end::closed);
    if (after.gives_up)
        leave_endpoint(why == loss::connection ? endpoint_state::lost : endpoint_state::unusable);
    if (after.tells_monitor)
        report(ZMQ_EVENT_DISCONNECTED, descriptor_);
}

void session::drop_connection() noexcept
{
    facts_.reset();
    stop_opening();
    transport::close_after_peer(io_, std::move(stream_));
    keepalive_.stop();
    input_wait_.forget();
    room_wait_.forget();
}

// The socket has closed the pipe, as it does not want the peer now. The next connection, if this
// side makes it, has a new one: what is left in this is of no use.
void session::refuse()
{
    if (!socket_end_ || !socket_end_->refused.load(std::memory_order_relaxed))
        return; // there is another pipe by now, or none
    switch (life_.resume(event::refuse)) {
    case action::finish:
        return finish();
    case action::refuse_peer:
        report(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EADDRINUSE);
        lost(loss::connection);
        break;
    default:
        break;
    }
    if (socket_end_)
        leave_pipe();
}

// The next connection has another one.
void session::leave_pipe() noexcept
{
    announced_ = false;
    socket_end_.reset();
    in_.incoming().leave();
    end_link();
    pipe_link_.reset();
}

// Nothing more comes from it; the pipe end and threads in the middle of a call may still hold it.
void session::end_link() noexcept
{
    if (!pipe_link_)
        return;
    pipe_link_->lease().stop();
    pipe_link_->set_owner(nullptr);
}

// There is no connection, and none will be made: the pipe ends as it does with a connection.
void session::give_up()
{
    tell_socket(pipe_end::closed);
    if (life_.is_wanted()) // else the socket knows: it has ended this
        leave_endpoint(endpoint_state::unusable);
    finish();
}

// Whether zmq_disconnect still finds the endpoint is as with libzmq. The socket has been told of
// the end of the pipe before: who sees this has that mail.
void session::leave_endpoint(endpoint_state how) noexcept
{
    endpoint_state_.store(how, std::memory_order_release);
    link_->endpoints_given_up.fetch_add(1, std::memory_order_release);
}

void session::stop_if_disconnected() noexcept
{
    if (options_->reconnect_stop & ZMQ_RECONNECT_STOP_AFTER_DISCONNECT)
        ask(request::stop_reconnecting);
}

void session::stop_reconnecting()
{
    if (life_.resume(event::stop_reconnecting) != action::give_up)
        return;
    if (life_.at() == phase::reaching)
        report(ZMQ_EVENT_CLOSED, drop_unreached());
    dialer_->stop();
    give_up();
}

void session::close(int linger_ms) noexcept
{
    linger_ms_.store(linger_ms, std::memory_order_relaxed);
    ask(request::close);
}

void session::end_by(connection_life::event why, request again, int linger_ms)
{
    const auto before = life_.wanted();
    if (life_.resume(why) != action::deliver)
        return;
    try {
        deliver_and_finish(linger_ms);
    } catch (const std::bad_alloc&) {
        // What is to be delivered is not given up: this is tried again.
        life_.restore(before);
        thread_.ask_later(*this, static_cast<unsigned>(again), shared_from_this());
    }
}

void session::deliver_and_finish(int linger_ms)
{
    keepalive_.input_means_nothing();
    // A SUB socket has nothing to deliver but subscriptions that nobody needs any more.
    if (!announced_ || linger_ms == 0 || !options_->traits->lingers)
        return finish();
    finish_if_drained();
    if (life_.has_ended())
        return;
    if (linger_ms > 0) {
        if (opening_)
            opening_->lift_time_limit();
        linger_timer_ =
            std::make_unique<boost::asio::steady_timer>(io_, std::chrono::milliseconds(linger_ms));
        linger_timer_->async_wait([self = shared_from_this()](const transport::error_code& error) {
            if (!error)
                self->finish();
        });
    }
    drain();
    read();
}

void session::finish_if_drained()
{
    if (life_.has_ended() || life_.is_wanted() || delivery_.running() ||
        (pipe_link_ && !pipe_link_->out().drained()))
        return;
    if (life_.resume(event::drained) == action::finish)
        return finish();
    const auto self = shared_from_this();
    try {
        delivery_.begin(
            [self] { return self->has_traffic() ? self->stream_->undelivered_bytes() : 0; },
            [self] { self->finish(); },
            keepalive_.judges() ? delivery_wait::limit::none : delivery_wait::limit::short_stall);
    } catch (const std::bad_alloc&) {
        pipe_link_->ask_later(link::request::drain); // comes here again
    }
}

void session::finish()
{
    const phase before = life_.at();
    const bool had_traffic = has_traffic();
    if (life_.resume(event::end) != action::finish)
        return;
    if (had_traffic)
        pipe_link_->out().say_farewell(engine::farewell::done);
    end_link();
    --thread_.load();
    if (dialer_)
        std::exchange(dialer_, nullptr)->stop();
    linger_timer_.reset();
    keepalive_.stop();
    delivery_.stop();
    if (pipe_link_)
        pipe_link_->out().detach();
    if (before == phase::reaching)
        report(ZMQ_EVENT_CLOSED, drop_unreached());
    stop_opening();
    if (had_traffic)
        transport::close_after_peer(io_, std::move(stream_));
    else if (stream_)
        stream_->close();
    stream_.reset();
    input_wait_.forget();
    room_wait_.forget();
    in_.incoming().reset();
    if (pipe_link_)
        pipe_link_->out().discard(); // the application has its memory back now, not some time later
    if (life_.ends_with_output())
        tell_socket(pipe_end::closed);
    socket_end_.reset();
    in_.incoming().leave();
    link_.reset();
}

} // namespace zlink::core
