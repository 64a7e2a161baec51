// SPDX-License-Identifier: Apache-2.0
#include "core/proxy.hpp"

#include "base/sleep.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <zmq.h>

namespace zlink::core {
namespace {

// So many messages are moved in one direction before the other one has its turn.
constexpr int burst_messages = 1000;

// Not now, or never by this socket: something else has to happen first.
bool has_to_wait(int error) noexcept
{
    return error == EAGAIN || error == EFSM || error == ENOTSUP;
}

} // namespace

proxy::proxy(socket& front, socket& back, socket* capture, socket* control)
    : front_{&front}, back_{&back}, capture_(capture), control_(control)
{
    ways_.push_back({&front_, &back_});
    if (&front != &back)
        ways_.push_back({&back_, &front_});
    boxes_ = {&front.box(), &back.box()};
    if (control)
        boxes_.push_back(&control->box());
    std::ranges::sort(boxes_);
    boxes_.erase(std::unique(boxes_.begin(), boxes_.end()), boxes_.end());
}

int proxy::run()
{
    for (;;) {
        bool ended = false;
        if (const int error = obey(ended))
            return error;
        if (ended)
            return 0;
        bool moved = false;
        const std::uint32_t before = mail_seen();
        if (const int error = paused_ ? collect_mail() : turn(moved))
            return error;
        if (moved || mail_seen() != before)
            continue; // what one way has taken may be news for the other
        if (const int error = sleep())
            return error;
    }
}

std::uint32_t proxy::mail_seen() const noexcept
{
    return front_.at->mail_seen() + back_.at->mail_seen();
}

// All that can have become possible has come as mail to one of the sockets.
int proxy::sleep()
{
    for (socket* each : {front_.at, back_.at, capture_, control_})
        if (each)
            each->flush();
    const auto woken = base::sleep_until_mail(boxes_, waiter_, waiter_.count(), base::no_deadline);
    return woken == base::wait_result::interrupted ? EINTR : 0;
}

int proxy::collect_mail()
{
    for (const direction& way : ways_) {
        int ignored = 0;
        if (const int error = way.from->at->events(ignored))
            return error;
    }
    return 0;
}

// --- messages ----------------------------------------------------------------------------------

int proxy::turn(bool& moved)
{
    for (direction& way : ways_)
        for (int messages = 0; messages < burst_messages; ++messages) {
            switch (forward(way)) {
            case progress::moved:
                moved = true;
                continue;
            case progress::failed:
                return error_;
            case progress::waits:
                break;
            }
            break;
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
    if (way.from->at == way.to->at && way.to->at->options().type == ZMQ_REP)
        return answer(way);
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
        error_ = capture_ ? capture_->send(part, false) : 0;
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
        copy_.assign(part.data, part.data + part.size);
        part.data = copy_.data();
        part.owner = nullptr;
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
    error_ = capture_->send(part, false);
    if (error_)
        return progress::failed;
    way.captured = true;
    return progress::moved;
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

int proxy::obey(bool& ended)
{
    while (control_ && !ended) {
        frame part;
        if (const int error = control_->receive(part, true))
            return has_to_wait(error) ? 0 : error;
        const bool single = !part.more();
        const std::string command = single ? std::string(part.text()) : std::string();
        control_->received();
        for (bool more = !single; more;) {
            if (control_->receive(part, true) != 0)
                break;
            more = part.more();
            control_->received();
        }
        execute(command, ended);
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
    if (control_->options().type == ZMQ_REP)
        control_->send({}, true); // it has to answer before it can receive again
}

void proxy::reply_statistics()
{
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
