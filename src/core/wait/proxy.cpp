// SPDX-License-Identifier: Apache-2.0
#include "core/wait/proxy.hpp"

#include "base/tuning.hpp"

#include "core/pace/flush_list.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <pthread.h>
#include <zmq.h>

namespace zlink::core {
namespace {

// Not now, or never by this socket: something else has to happen first.
bool has_to_wait(int error) noexcept
{
    return error == EAGAIN || error == EFSM || error == ENOTSUP;
}

// A turn of each of these sockets that many threads use; nothing for others.
class turns {
public:
    explicit turns(socket& only) : turns(only, only) {}
    turns(socket& one, socket& other) : one_(one), other_(other)
    {
        // In the order of their addresses: another proxy may be between the same sockets.
        socket_gate* first = one.gate();
        socket_gate* second = other.gate();
        if (std::less<>()(second, first))
            std::swap(first, second);
        if (first)
            first_.emplace(*first);
        if (second && second != first)
            second_.emplace(*second);
    }

    /// ENOTSOCK if another thread has closed one.
    int error() const noexcept { return one_.closed() || other_.closed() ? ENOTSOCK : 0; }

private:
    const socket& one_;
    const socket& other_;
    std::optional<socket_gate::turn> first_;
    std::optional<socket_gate::turn> second_;
};

// Calls of the proxy that do not wait leave the batches of this socket to it, as long as this is
// there. Others may call one that many threads use.
class own_batches {
public:
    explicit own_batches(socket& of) noexcept : of_(of)
    {
        if (!of_.gate())
            of_.leave_batches_to_caller(true);
    }
    ~own_batches()
    {
        if (!of_.gate())
            of_.leave_batches_to_caller(false);
    }
    own_batches(const own_batches&) = delete;
    own_batches& operator=(const own_batches&) = delete;

private:
    socket& of_;
};

int send_with_group(socket& to, std::string_view group, const frame& part, bool dont_wait)
{
    return to.gate() ? to.send_to_group(group, part, dont_wait) : to.send(part, dont_wait);
}

} // namespace

proxy::proxy(socket& front, socket& back, socket* capture, socket* control)
    : front_{&front}, back_{&back}, capture_(capture), control_(control)
{
    ways_.push_back({&front_, &back_});
    if (&front != &back)
        ways_.push_back({&back_, &front_});
    for (socket* each : {&front, &back, control})
        if (each && std::ranges::find(sockets_, each, &waited_for::at) == sockets_.end()) {
            sockets_.push_back({each, 0});
            sleeper_.add(*each, true);
        }
}

int proxy::run()
{
    const wait_mark marks[] = {wait_mark(front_.at), wait_mark(back_.at), wait_mark(capture_),
                               wait_mark(control_)};
    const own_batches mine[] = {own_batches(*front_.at), own_batches(*back_.at)};
    sleeper_.watch();
    return base::blocking_wait(-1).run([this] { return move_all(); }, [this] { write_batches(); },
                                       sleeper_);
}

// Until nothing can be moved.
base::poll_answer proxy::move_all()
{
    using base::poll_answer;
    bool news = false;
    for (bool moved = true; moved;) {
        pthread_testcancel();
        sleeper_.begin();
        if (const int error = note_mail())
            return poll_answer::ended(error);
        bool ended = false;
        moved = false;
        if (const int error = obey(ended, moved); error || ended)
            return poll_answer::ended(error);
        if (const int error = paused_ ? collect_mail() : move_messages(moved))
            return poll_answer::ended(error);
        // What one way has taken may be news for the other, or commands wait.
        if (const int error = moved ? 0 : look_for_news(news))
            return poll_answer::ended(error);
    }
    return news ? poll_answer::changed() : poll_answer::nothing();
}

// --- waiting -----------------------------------------------------------------------------------

int proxy::note_mail()
{
    for (waited_for& each : sockets_) {
        const turns mine(*each.at);
        if (const int error = mine.error())
            return error;
        each.mail_seen = each.at->mail_seen();
    }
    return 0;
}

// All that can have become possible has come as mail to one of the sockets. The other way, or
// another thread, may have looked at it when this one had found nothing to do already.
int proxy::look_for_news(bool& news)
{
    for (const waited_for& each : sockets_) {
        const turns mine(*each.at);
        if (const int error = mine.error())
            return error;
        if (each.at->gate() ? !each.at->expect_mail(each.mail_seen)
                            : each.at->mail_seen() != each.mail_seen)
            news = true;
    }
    return 0;
}

// Of all sockets first: to flush them is cheaper by their pipes.
void proxy::write_batches()
{
    for (socket* each : {front_.at, back_.at, capture_, control_})
        if (each) {
            const turns mine(*each);
            if (!mine.error())
                each->flush();
        }
    flush_list::flush_this_thread();
}

int proxy::collect_mail()
{
    for (const waited_for& each : sockets_) {
        const turns mine(*each.at);
        int ignored = 0;
        if (const int error = mine.error() ? mine.error() : each.at->events(ignored))
            return error;
    }
    return 0;
}

// --- messages ----------------------------------------------------------------------------------

int proxy::move_messages(bool& moved)
{
    std::optional<flush_list::held_readers> held;
    if (!front_.at->gate() && !back_.at->gate()) // others may close one that many threads use
        held.emplace();
    for (direction& way : ways_) {
        bool moved_this_way = false;
        for (int messages = 0; messages < tuning::turn::proxy_messages; ++messages) {
            if (messages % tuning::turn::proxy_messages_between_checks == 0)
                flush_list::flush_due_of_this_thread();
            switch (forward(way)) {
            case progress::moved:
                moved = moved_this_way = true;
                continue;
            case progress::failed:
                return error_;
            case progress::waits:
                break;
            }
            break;
        }
        if (moved_this_way)
            write_batches();
    }
    return 0;
}

proxy::progress proxy::wait_or_fail(int error) noexcept
{
    error_ = error;
    return has_to_wait(error) ? progress::waits : progress::failed;
}

// One message, or what is left of one.
proxy::progress proxy::forward(direction& way)
{
    if (way.from->at == way.to->at && way.to->at->options().traits->answers)
        return answer(way);
    if (way.from->at->gate() || way.to->at->gate())
        return forward_shared(way);
    for (bool first = true;; first = false) {
        frame part;
        if (const int error = way.from->at->receive(part, true))
            return wait_or_fail(error);
        part.flags &= engine::zmtp3::flag_more;
        const bool more = part.more();
        if (const progress result = forward_part(way, part, first);
            result != progress::moved || !more)
            return result;
    }
}

// A single REP socket: it can send only after it has received all of a request, and then does not
// have to wait.
proxy::progress proxy::answer(direction& way)
{
    std::vector<std::string> parts;
    for (bool more = true; more;) {
        frame part;
        if (const int error = way.from->at->receive(part, true))
            return wait_or_fail(error);
        more = part.more();
        parts.emplace_back(part.text());
        way.from->at->received();
        ++way.from->received;
        way.from->received_bytes += part.size;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const frame part = frame_of(parts[i], i + 1 < parts.size());
        error_ = capture_ ? send_to_capture(part, {}) : 0;
        if (!error_)
            error_ = way.to->at->send(part, true);
        if (error_)
            return progress::failed;
        ++way.to->sent;
        way.to->sent_bytes += part.size;
    }
    return progress::moved;
}

proxy::progress proxy::forward_part(direction& way, frame part, bool first)
{
    socket& to = *way.to->at;
    if (way.from->at == &to) { // sending may end what the part lies in
        copy_ = part.text();
        part = frame_of(copy_, part.more());
    }
    if (capture_ && !way.captured)
        if (const progress result = capture(way, part, first); result != progress::moved)
            return result;
    if (const int error = to.send(part, true)) {
        if (!has_to_wait(error))
            drop_message(way);
        return wait_or_fail(error);
    }
    way.captured = false;
    way.from->at->received();
    ++way.from->received;
    way.from->received_bytes += part.size;
    ++way.to->sent;
    way.to->sent_bytes += part.size;
    return progress::moved;
}

// Before it is sent: if the capture fails the part is still there, and nothing is lost.
proxy::progress proxy::capture(direction& way, const frame& part, bool first)
{
    int ready = 0;
    if (const int error = first ? way.to->at->events(ready) : 0)
        return wait_or_fail(error);
    if (first && !(ready & ZMQ_POLLOUT))
        return progress::waits;
    error_ = send_to_capture(part, {});
    if (error_)
        return progress::failed;
    way.captured = true;
    return progress::moved;
}

// One message from or to a socket that many threads use; it has one part then, or is refused.
// The capture gets it last, and must be waited for in no turn: were it first, another thread could
// take the message away meanwhile.
proxy::progress proxy::forward_shared(direction& way)
{
    const progress result = move_shared(way);
    if (result != progress::moved || !capture_)
        return result;
    error_ = send_to_capture(frame_of(copy_, false), copied_group_);
    return error_ ? progress::failed : progress::moved;
}

proxy::progress proxy::move_shared(direction& way)
{
    socket& from = *way.from->at;
    socket& to = *way.to->at;
    const turns mine(from, to);
    if (const int error = mine.error())
        return wait_or_fail(error);
    frame part;
    if (const int error = from.receive(part, true))
        return wait_or_fail(error);
    part.flags &= engine::zmtp3::flag_more;
    std::string_view group = from.source_group();
    if (capture_ || &from == &to) {
        copy_ = part.text();
        copied_group_ = group;
        part = frame_of(copy_, part.more());
        group = copied_group_;
    }
    part.routing_id = from.source_id();
    if (const int error = send_with_group(to, group, part, true)) {
        if (!has_to_wait(error))
            drop_message(way);
        else if (int ready = 0; from.gate() && to.events(ready) == 0 && (ready & ZMQ_POLLOUT))
            from.tell_next_use(); // another message could be sent: who takes this one away?
        return wait_or_fail(error);
    }
    from.received();
    ++way.from->received;
    way.from->received_bytes += part.size;
    ++way.to->sent;
    way.to->sent_bytes += part.size;
    return progress::moved;
}

int proxy::send_to_capture(const frame& part, std::string_view group)
{
    const turns mine(*capture_); // lets others in while it waits
    const int error = mine.error();
    return error ? error : send_with_group(*capture_, group, part, false);
}

// Nobody wants it: what is behind it must not wait.
void proxy::drop_message(direction& way)
{
    way.captured = false;
    for (;;) {
        frame part;
        if (way.from->at->receive(part, true) != 0)
            return;
        const bool more = part.more();
        way.from->at->received();
        if (!more)
            return;
    }
}

// --- commands ----------------------------------------------------------------------------------

int proxy::obey(bool& ended, bool& more)
{
    for (int commands = 0; control_ && !ended; ++commands) {
        if (commands == tuning::turn::proxy_commands) {
            more = true;
            return 0;
        }
        std::string command;
        if (const int error = next_command(command))
            return has_to_wait(error) ? 0 : error;
        execute(command, ended);
    }
    return 0;
}

// A message of several parts is the empty command.
int proxy::next_command(std::string& command)
{
    const turns mine(*control_);
    if (const int error = mine.error())
        return error;
    frame part;
    if (const int error = control_->receive(part, true))
        return error;
    const bool single = !part.more();
    if (single)
        command = part.text();
    control_->received();
    for (bool more = !single; more;) {
        if (control_->receive(part, true) != 0)
            break;
        more = part.more();
        control_->received();
    }
    return 0;
}

void proxy::execute(std::string_view command, bool& ended)
{
    if (command == "STATISTICS")
        return reply_statistics();
    if (command == "PAUSE")
        paused_ = true;
    else if (command == "RESUME")
        paused_ = false;
    else if (command == "TERMINATE")
        ended = true;
    if (control_->options().traits->answers)
        control_->send({}, true); // it has to answer before it can receive again
}

void proxy::reply_statistics()
{
    const turns mine(*control_);
    if (mine.error())
        return;
    const std::array<std::uint64_t, 8> numbers{
        front_.received, front_.received_bytes, front_.sent, front_.sent_bytes,
        back_.received,  back_.received_bytes,  back_.sent,  back_.sent_bytes};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        std::string bytes(sizeof numbers[i], '\0');
        std::memcpy(bytes.data(), &numbers[i], bytes.size());
        if (control_->send(frame_of(bytes, i + 1 < numbers.size()), true) != 0)
            return; // who cannot hear it does not want it
    }
}

} // namespace zlink::core
