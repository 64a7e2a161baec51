// SPDX-License-Identifier: Apache-2.0
#include "core/connection/session.hpp"

#include "core/connection/zap_conversation.hpp"
#include "core/options/conflation.hpp"
#include "transport/close_after_peer.hpp"

#include <cerrno>
#include <chrono>
#include <new>
#include <utility>
#include <zmq.h>

namespace zlink::core {
namespace {

using action = connection_life::action;
using event = connection_life::event;
using phase = connection_life::phase;

// In events: that of the proxy, if there is one.
shared_text told_endpoint(const transport::connect_endpoint& address, const shared_text& endpoint)
{
    std::string hop = address.first_hop();
    return hop.empty() ? endpoint : shared_text(std::move(hop));
}

} // namespace

session::session(runtime::io_thread& thread, std::shared_ptr<socket_side> side,
                 std::shared_ptr<const socket_options> options, shared_text endpoint,
                 shared_text told_endpoint, const transport_row& transport, bool was_accepted)
    : thread_(thread),
      io_(thread.context()),
      side_(std::move(side)),
      options_(std::move(options)),
      endpoint_(std::move(endpoint)),

      transport_(transport),
      life_(!was_accepted),
      report_(side_->events, stream_, was_accepted, std::move(told_endpoint)),
      traffic_(io_, options_, life_, report_, *this),
      delivery_(io_)
{
    ++thread_.load();
}

session::session(runtime::io_thread& thread, std::shared_ptr<socket_side> side,
                 std::shared_ptr<const socket_options> options, shared_text endpoint,
                 const transport_row& transport, transport::upgrades through,
                 transport::acceptor::result accepted)
    : session(thread, std::move(side), std::move(options), endpoint, endpoint, transport, true)
{
    stream_ = std::move(accepted.connection);
    prepare_opening(std::move(through));
    if (accepted.passed)
        opening_->begin_with(std::move(accepted.passed->begun));
}

session::session(runtime::io_thread& thread, std::shared_ptr<socket_side> side,
                 std::shared_ptr<const socket_options> options, shared_text endpoint,
                 const transport_row& transport,
                 std::shared_ptr<transport::connect_endpoint> address)
    : session(thread, std::move(side), std::move(options), endpoint,
              told_endpoint(*address, endpoint), transport, false)
{
    dialer_ = std::make_shared<dialer>(io_, std::move(address), options_);
}

session::~session()
{
    if (life_.has_ended())
        return;
    traffic_.abandon();
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
    auto fresh = std::make_shared<link>(thread_, side_->fan_out, !options_->conflate);
    auto end = make_pipe_end(fresh->channels(), true, side_->box);
    end->set_connection(*fresh, *fresh);
    end->set_conflation(conflates_sending(*options_), conflates_receiving(*options_));
    if (!speaks_zmtp(*options_))
        end->out.write_chunks(!exchanges_plain_bytes(*options_, transport_));
    end->set_limits(options_->send_hwm, options_->receive_hwm);
    end->set_other_end(shared_from_this());
    end->origin.connected_side = dialer_ != nullptr;
    end->origin.endpoint = endpoint_;
    traffic_.use(std::move(fresh));
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

void session::do_request(unsigned number)
{
    try {
        do_what_is_asked(static_cast<request>(number));
    } catch (const std::bad_alloc&) {
        if (!stream_)
            throw; // it is asked for again
        recover();
    }
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
            report_.tell(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, ENOMEM);
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
        return traffic_.read_rest();
    case request::read_last:
        return read_last();
    case request::refuse:
        return refuse();
    case request::close_before_traffic:
        return end_before_traffic();
    case request::close_after_output:
        // If the socket closes the pipe before all is done, its linger time counts.
        return end_by(event::end_output, what, -1);
    case request::close:
        return end_by(event::close, what, status_.linger_ms());
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
        report_.note_descriptor();
        prepare_opening(dialer_->endpoint().make_upgrades());
        begin_opening();
    });
}

void session::dialing(std::uint64_t event, int value) noexcept
{
    report_.tell(event, value);
}

void session::dialing_is_stuck() noexcept
{
    thread_.ask_later(*this, static_cast<unsigned>(request::go_on_dialing), shared_from_this());
}

// --- opening -----------------------------------------------------------------------------------

// Where the traffic begins at once, there is none.
void session::prepare_opening(transport::upgrades upgrades)
{
    // The mechanism is compiled in, or the socket would not have made this session.
    auto mechanism = make_mechanism(side_->mechanisms, *options_, [this](authentication how) {
        return std::make_shared<zap_conversation>(thread_, side_, options_, how);
    });
    auto stages = make_stages(*options_, transport_, std::move(upgrades), std::move(mechanism),
                              dialer_ != nullptr);
    if (!stages.empty())
        opening_ = std::make_shared<opening>(io_, stream_, std::move(stages.upgrades),
                                             std::move(stages.handshake), std::move(stages.frame));
}

void session::begin_opening()
{
    if (!opening_) {
        reached();
        return begin_traffic({.kind = opening::end_kind::succeeded});
    }
    opening_->start(life_.is_wanted() ? options_->handshake_interval_ms : 0,
                    {[self = shared_from_this()](const opening::ending& how) {
                         self->attempt([&] { self->end_opening(how); });
                     },
                     [this] { reached(); }},
                    dialer_ ? opening::first_look::none : opening::first_look::read);
}

// The connection leads to the peer.
void session::reached()
{
    life_.resume(event::reached);
    report_.note_descriptor();
    report_.tell(dialer_ ? ZMQ_EVENT_CONNECTED : ZMQ_EVENT_ACCEPTED, report_.descriptor());
}

void session::end_opening(const opening::ending& how)
{
    switch (how.kind) {
    case opening::end_kind::unreached:
        return unreached(how.error);
    case opening::end_kind::broken:
        if (life_.is_wanted())
            report_.tell(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, how.error);
        return lost(loss::connection);
    case opening::end_kind::refused:
        if (life_.is_wanted())
            report_.tell_failure(engine::event_of(how.refusal, how.reason));
        return lost(engine::is_temporary(how.refusal) ? loss::connection : loss::protocol);
    case opening::end_kind::passed_on:
        return pass_on();
    case opening::end_kind::succeeded:
        break;
    }
    if (opening_->has_upgrades())
        report_.forget_facts(); // there is more to say of the connection now
    opening_.reset();
    begin_traffic(how);
}

// From now on it is a connection of another socket.
void session::pass_on()
{
    if (life_.is_wanted())
        report_.tell(ZMQ_EVENT_DISCONNECTED, report_.descriptor());
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
    report_.forget_facts();
    return report_.descriptor();
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
    const transport::stream_info& known = report_.facts();
    const bool is_new = !announced_;
    if (!traffic_.has_link())
        create_pipe();
    if (!dialer_)
        socket_end_->origin.far_end = known.remote_endpoint;
    auto peer = std::make_unique<peer_info>(describe_peer(how.remote, known));
    bool is_there = true;
    traffic_.begin({how, *stream_, socket_end_, exchanges_plain_bytes(*options_, transport_),
                    known.packet_bytes, side_->subscriptions.get()},
                   [&] {
                       socket_end_->set_peer(std::move(peer));
                       life_.resume(event::opened);
                       is_there =
                           socket_end_->notify(is_new ? pipe_end::attached | pipe_end::identified
                                                      : pipe_end::identified);
                       announced_ = true;
                   });
    if (dialer_)
        dialer_->succeeded();
    if (is_new && !is_there)
        return finish(); // the socket was closed meanwhile; an older pipe is closed by a call
    // After the socket knows: who hears of it may send. Older protocols have no handshake to speak
    // of.
    if (how.remote.major >= 3)
        report_.tell(ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 0);
    report_.forget_unless_monitored(); // an idle connection keeps little
    traffic_.run(how);
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

// What has come is read, but not from here.
void session::output_failed()
{
    if (life_.resume(event::output_failed) == action::read_rest)
        ask(request::read_rest);
}

// The socket wants no more of this connection, but what has come by now.
void session::read_last()
{
    traffic_.read_last();
    tell_socket(pipe_end::closed);
}

// --- ends --------------------------------------------------------------------------------------

void session::lost(loss why)
{
    if (!life_.has_connection())
        return;
    traffic_.stop(); // before the descriptor goes
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
        socket_end_->origin.takes_subscriptions = false;
    if (after.tells_application) {
        if (after.ends_pipe() && traffic_.incoming().tells_of_loss())
            tell_socket(pipe_end::leaving);
        traffic_.incoming().tell_of_loss(after.retries());
    }
    if (after.ends_pipe())
        tell_socket(pipe_end::closed);
    if (after.gives_up)
        leave_endpoint(why == loss::connection ? endpoint_status::end::lost
                                               : endpoint_status::end::unusable);
    if (after.tells_monitor)
        report_.tell(ZMQ_EVENT_DISCONNECTED, report_.descriptor());
}

void session::drop_connection() noexcept
{
    report_.forget_facts();
    stop_opening();
    transport::close_after_peer(io_, std::move(stream_));
    traffic_.stop_waiting();
}

// The socket has closed the pipe, as it does not want the peer now. The next connection, if this
// side makes it, has a new one: what is left in this is of no use.
void session::refuse()
{
    if (!socket_end_ || !socket_end_->is_refused())
        return; // there is another pipe by now, or none
    switch (life_.resume(event::refuse)) {
    case action::finish:
        return finish();
    case action::refuse_peer:
        report_.tell(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EADDRINUSE);
        lost(loss::connection);
        break;
    default:
        break;
    }
    if (socket_end_)
        leave_pipe();
}

// Else the socket has the pipe, and closes it.
void session::end_before_traffic()
{
    if (!announced_)
        finish();
}

// The next connection has another one.
void session::leave_pipe() noexcept
{
    announced_ = false;
    socket_end_.reset();
    traffic_.leave_link();
}

// There is no connection, and none will be made: the pipe ends as it does with a connection.
void session::give_up()
{
    tell_socket(pipe_end::closed);
    if (life_.is_wanted()) // else the socket knows: it has ended this
        leave_endpoint(endpoint_status::end::unusable);
    finish();
}

// zmq_disconnect() answers ENOENT afterwards, as in libzmq. The socket has been told of the end of
// the pipe before: whoever sees this has that mail.
void session::leave_endpoint(endpoint_status::end how) noexcept
{
    status_.give_up(how);
    side_->endpoints_given_up.fetch_add(1, std::memory_order_release);
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
        report_.tell(ZMQ_EVENT_CLOSED, drop_unreached());
    dialer_->stop();
    give_up();
}

void session::close(int linger_ms) noexcept
{
    status_.close(linger_ms);
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
    traffic_.input_means_nothing();
    // A SUB socket has nothing to deliver but subscriptions that nobody needs any more.
    if (!announced_ || linger_ms == 0 || !options_->traits->lingers)
        return finish();
    finish_if_drained();
    if (life_.has_ended())
        return;
    if (linger_ms > 0) {
        if (opening_)
            opening_->lift_time_limit();
        delivery_.end_after(std::chrono::milliseconds(linger_ms),
                            [self = shared_from_this()] { self->finish(); });
    }
    traffic_.drain();
    traffic_.read();
}

void session::finish_if_drained()
{
    if (life_.has_ended() || life_.is_wanted() || delivery_.running() || !traffic_.drained())
        return;
    if (life_.resume(event::drained) == action::finish)
        return finish();
    const auto self = shared_from_this();
    try {
        delivery_.begin(
            [self] { return self->has_traffic() ? self->stream_->undelivered_bytes() : 0; },
            [self] { self->finish(); },
            traffic_.judges_peer() ? delivery_wait::limit::none
                                   : delivery_wait::limit::short_stall);
    } catch (const std::bad_alloc&) {
        traffic_.drain_later(); // comes here again
    }
}

void session::finish()
{
    const phase before = life_.at();
    const bool had_traffic = has_traffic();
    if (life_.resume(event::end) != action::finish)
        return;
    if (had_traffic)
        traffic_.say_farewell(engine::farewell::done);
    traffic_.stop_serving();
    --thread_.load();
    if (dialer_)
        std::exchange(dialer_, nullptr)->stop();
    delivery_.stop();
    traffic_.detach();
    if (before == phase::reaching)
        report_.tell(ZMQ_EVENT_CLOSED, drop_unreached());
    stop_opening();
    if (had_traffic)
        transport::close_after_peer(io_, std::move(stream_));
    else if (stream_)
        stream_->close();
    stream_.reset();
    traffic_.stop_waiting();
    traffic_.discard(); // the application has its memory back now, not some time later
    if (life_.ends_with_output())
        tell_socket(pipe_end::closed);
    socket_end_.reset();
    traffic_.incoming().leave();
    report_.stop();
    side_.reset();
}

} // namespace zlink::core
