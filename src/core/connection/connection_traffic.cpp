// SPDX-License-Identifier: Apache-2.0
#include "core/connection/connection_traffic.hpp"

#include "core/pipe/notices.hpp"

#include <new>
#include <utility>

namespace zlink::core {

connection_traffic::connection_traffic(boost::asio::io_context& io,
                                       std::shared_ptr<const socket_options> options,
                                       const connection_life& life, connection_report& report,
                                       traffic_owner& owner)
    : options_(std::move(options)),
      life_(life),
      report_(report),
      owner_(owner),
      in_(options_, *this),
      keepalive_(io, options_->heartbeat, *this)
{}

template <class Body>
void connection_traffic::attempt(Body body) noexcept
{
    try {
        body();
    } catch (const std::bad_alloc&) {
        owner_.out_of_memory();
    }
}

// --- beginning and end -------------------------------------------------------------------------

void connection_traffic::use(std::shared_ptr<link> pipe_link) noexcept
{
    link_ = std::move(pipe_link);
    link_->set_owner(this);
}

void connection_traffic::stop_serving() noexcept
{
    if (!link_)
        return;
    link_->lease().stop();
    link_->set_owner(nullptr);
}

// The pipe end, and threads in the middle of a call, may still hold the link.
void connection_traffic::leave_link() noexcept
{
    in_.incoming().leave();
    stop_serving();
    link_.reset();
}

void connection_traffic::begin(const connection& how, const std::function<void()>& announce)
{
    const engine::wire wire = make_wire(how.opened, how.plain_bytes);
    stop_waiting();
    in_.begin(wire, how.pipe, link_->shared_lease());
    stream_ = &how.stream;
    attach(how, wire, announce);
}

void connection_traffic::attach(const connection& how, engine::wire wire,
                                const std::function<void()>& announce)
{
    std::vector<std::byte> first = hello_frame(*options_);
    const announced announces = options_->traits->announces;
    const bool subscribes = announces != announced::nothing && how.subscriptions;
    if (subscribes) {
        if (!relay_)
            relay_ = std::make_unique<subscription_relay>();
        relay_->begin(first, *how.subscriptions, announces, how.opened.remote, *how.pipe, announce);
        wire.filter = relay_.get();
        wire.batches = false;
    }
    keepalive_.append_first_ping(first, carries_commands(how.opened));
    link_->out().attach(*stream_, how.opened.unsent, std::move(wire), first, how.packet_bytes);
    if (!subscribes)
        announce();
}

void connection_traffic::run(const opening::ending& opened)
{
    if (notifies_connect(*options_))
        in_.incoming().tell({}); // not before it can know whom it comes from
    keepalive_.begin(carries_commands(opened));
    drain();
    if (has_traffic())
        begin_reading(opened);
}

void connection_traffic::begin_reading(const opening::ending& opened)
{
    if (!life_.is_wanted()) {
        keepalive_.input_means_nothing();
        return read();
    }
    // A subscriber of this age chooses by itself.
    if (opened.remote.unversioned &&
        options_->traits->keeps == engine::kept_commands::subscriptions)
        in_.incoming().subscribe_to_all();
    if (const auto read = in_.feed(opened.rest); read != reader::status::dry)
        lost_by(read);
    if (has_traffic()) // more may be there already, but rarely is
        wait(transport::direction::read);
}

void connection_traffic::stop()
{
    in_.stop_sharing();
    end_writing();
    in_.incoming().reset();
}

void connection_traffic::stop_waiting() noexcept
{
    keepalive_.stop();
    input_wait_.forget();
    room_wait_.forget();
    stream_ = nullptr;
}

void connection_traffic::discard()
{
    in_.incoming().reset();
    if (link_)
        link_->out().discard();
}

void connection_traffic::wait(transport::direction which)
{
    const bool for_input = which == transport::direction::read;
    pending_wait& wait = for_input ? input_wait_ : room_wait_;
    if (wait.pending)
        return;
    wait.pending = true;
    // Little to hold: this is what each idle connection has.
    stream_->async_wait(which, [self = held(), number = wait.number,
                                for_input](const transport::error_code& error) {
        pending_wait& wait = for_input ? self->input_wait_ : self->room_wait_;
        if (wait.number != number)
            return;
        wait.pending = false;
        self->attempt([&] {
            if (error)
                return self->owner_.connection_lost(false);
            if (for_input)
                return self->read();
            self->drain();
        });
    });
}

// --- writing -----------------------------------------------------------------------------------

void connection_traffic::end_writing() noexcept
{
    if (link_ && link_->out().detach())
        tell_of_room();
}

void connection_traffic::drain()
{
    if (has_traffic())
        handle(link_->out().drain());
}

// What the writer has left.
void connection_traffic::handle(plan rest)
{
    if (rest.credit_freed)
        tell_of_room();
    if (rest.who == writer_is::blocked) {
        wait(transport::direction::write);
    } else if (rest.who == writer_is::io_thread && link_->out().error() == 0) {
        link_->ask(link::request::drain); // others shall have their turn
    } else if (rest.who == writer_is::io_thread) {
        end_writing();
        owner_.output_failed();
    }
    owner_.output_written();
}

// --- reading -----------------------------------------------------------------------------------

void connection_traffic::read()
{
    if (!has_traffic() || input_wait_.pending)
        return;
    if (life_.is_wanted())
        return follow(in_.read(*stream_, pulse()));
    // What comes means nothing any more, but that something comes shows that the peer lives.
    if (keepalive_.listens_to_the_end())
        follow(reader::listen(*stream_, pulse()));
}

void connection_traffic::follow(reader::status read)
{
    using status = reader::status;
    switch (read) {
    case status::dry:
        return wait(transport::direction::read);
    case status::full:
        return; // link::made_room() goes on
    case status::limit_reached:
        return link_->ask(link::request::read);
    case status::lost:
    case status::violated:
    case status::damaged:
        return lost_by(read);
    }
}

// The kernel may hold what the peer has sent before it left. The next connection need not wait
// until the application has received it.
void connection_traffic::read_rest()
{
    if (life_.at() != connection_life::phase::cut_off)
        return;
    if (!life_.is_wanted())
        return owner_.connection_lost(false);
    lost_by(in_.read_all(*stream_));
}

void connection_traffic::read_last() noexcept
{
    attempt([this] {
        if (life_.at() == connection_life::phase::traffic && life_.is_wanted())
            if (const auto read = in_.read_all(*stream_); read != reader::status::dry)
                lost_by(read);
    });
}

// What somebody on the way has damaged says nothing about the peer: it may be tried again.
void connection_traffic::lost_by(reader::status read)
{
    if (read == reader::status::damaged && life_.is_wanted())
        report_.tell_failure(engine::event_of(in_.fault()));
    if (in_.farewell() && has_traffic())
        link_->out().say_farewell(*in_.farewell());
    owner_.connection_lost(read == reader::status::violated);
}

void connection_traffic::grant_lease()
{
    link_->lease().begin_answer();
    if (!has_traffic() || !life_.is_wanted() || !input_wait_.pending ||
        !in_.grant_lease(*stream_, keepalive_.timer()))
        return;
    input_wait_.forget();
    watch_reading();
    owner_.tell_socket(pipe_end::leased); // it looks at once for what has come meanwhile
}

void connection_traffic::watch_reading()
{
    if (has_traffic())
        link_->lease().watch([self = held()] { self->attempt([&self] { self->read(); }); });
}

// --- requests and commands ---------------------------------------------------------------------

void connection_traffic::serve(link::request what)
{
    const auto self = owner_.hold();
    attempt([&] {
        switch (what) {
        case link::request::write_for_batcher:
            if (has_traffic())
                handle(link_->out().write_for_batcher());
            return;
        case link::request::grant_lease:
            return grant_lease();
        case link::request::watch_reading:
            return watch_reading();
        case link::request::read:
            return read();
        case link::request::tell_of_room:
            if (has_traffic())
                tell_of_room();
            return;
        case link::request::drain:
            return drain();
        }
    });
}

void connection_traffic::on_command(std::span<const std::byte> body)
{
    if (!link_->lease().keep_for_later(body))
        keepalive_.command_received(body);
}

void connection_traffic::send_command(const engine::traffic_command& command)
{
    handle(link_->out().send_command(command));
}

void connection_traffic::end_connection() noexcept
{
    attempt([this] { owner_.connection_lost(false); });
}

} // namespace zlink::core
