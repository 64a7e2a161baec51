// SPDX-License-Identifier: Apache-2.0
//
// Sockets in an event loop of Boost.Asio, without ZMQ_FD: zlink_arm has the library post to the
// loop when a socket may have become ready, and zlink_flush writes what a turn has sent. Two
// sockets, a timer, one thread.
#include <zlink.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

namespace asio = boost::asio;

/// A socket whose events are handled in the loop. It has to outlive the loop's last handler.
class loop_socket {
public:
    /// `handle` does all that can be done at once: until it would fail with EAGAIN.
    loop_socket(asio::io_context& loop, void* socket, std::function<void()> handle)
        : loop_(loop), alive_(loop.get_executor()), socket_(socket), handle_(std::move(handle))
    {
        asio::post(loop_, [this] { turn(); });
    }
    ~loop_socket() { end(); }
    loop_socket(const loop_socket&) = delete;
    loop_socket& operator=(const loop_socket&) = delete;

    /// No more wake-ups: the loop may run out of work.
    void end()
    {
        ended_ = true;
        zlink_arm(socket_, nullptr, nullptr);
        alive_.reset();
    }

private:
    void turn()
    {
        do {
            if (ended_)
                return;
            handle_();
        } while (!ended_ && zlink_arm(socket_, wake, this) == 1);
        zlink_flush();
    }
    // In the thread that has brought the event: only posts.
    static void wake(void* self)
    {
        auto& mine = *static_cast<loop_socket*>(self);
        asio::post(mine.loop_, [&mine] { mine.turn(); });
    }

    asio::io_context& loop_;
    asio::executor_work_guard<asio::io_context::executor_type> alive_;
    void* const socket_;
    const std::function<void()> handle_;
    bool ended_ = false;
};

int main()
{
    constexpr int questions = 1000;
    char endpoint[128];
    std::size_t endpoint_size = sizeof endpoint;
    void* const context = zmq_ctx_new();
    void* const server = zmq_socket(context, ZMQ_REP);
    void* const client = zmq_socket(context, ZMQ_REQ);
    zmq_bind(server, "tcp://127.0.0.1:*");
    zmq_getsockopt(server, ZMQ_LAST_ENDPOINT, endpoint, &endpoint_size);
    zmq_connect(client, endpoint);

    int answers = 0;
    bool is_right = true;
    {
        asio::io_context loop;
        loop_socket* sockets[2]{};
        const auto end = [&] {
            for (loop_socket* each : sockets)
                each->end();
        };
        loop_socket serving(loop, server, [&] {
            int number = 0;
            while (zmq_recv(server, &number, sizeof number, ZMQ_DONTWAIT) == sizeof number) {
                number *= number;
                zmq_send(server, &number, sizeof number, ZMQ_DONTWAIT);
            }
        });
        bool asked = false;
        loop_socket asking(loop, client, [&] {
            for (;;) {
                if (!asked &&
                    zmq_send(client, &answers, sizeof answers, ZMQ_DONTWAIT) != sizeof answers)
                    return;
                asked = true;
                int answer = 0;
                if (zmq_recv(client, &answer, sizeof answer, ZMQ_DONTWAIT) != sizeof answer)
                    return;
                asked = false;
                is_right = is_right && answer == answers * answers;
                if (++answers == questions)
                    return end();
            }
        });
        sockets[0] = &serving;
        sockets[1] = &asking;
        asio::steady_timer limit(loop, std::chrono::seconds(20));
        limit.async_wait([&](const auto& error) {
            if (!error)
                end();
        });
        while (answers != questions && loop.run_one() != 0) {
        }
        limit.cancel();
        loop.run();
    }
    std::printf("%d answers%s\n", answers, is_right ? "" : ", not all of them right");
    zmq_close(client);
    zmq_close(server);
    zmq_ctx_term(context);
    return is_right && answers == questions ? EXIT_SUCCESS : EXIT_FAILURE;
}
