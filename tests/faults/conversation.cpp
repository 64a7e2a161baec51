// SPDX-License-Identifier: Apache-2.0
#include "conversation.hpp"

#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <thread>
#include <vector>

#include "injector.hpp"
#include "support/endpoint.hpp"
#include "support/wait.hpp"
#if ZLINK_HAS_TLS
#include "support/certificates.hpp"
#endif

namespace zlink::test {
namespace {

using steady = std::chrono::steady_clock;

constexpr int call_limit_ms = 100;
constexpr int most_tries = 40;
constexpr int first_messages = 16;
constexpr int most_in_vain = 3;
constexpr int old_probes = 100; ///< the first number of those that look whether the old pair works
constexpr int fresh_probes = 200;
constexpr int most_numbers = 300;
constexpr long first_limit_ms = 400;
constexpr long later_limit_ms = 250;
constexpr long req_limit_ms = 2000; ///< a REQ that asks again throws the late answer away
constexpr std::size_t largest_bytes = 150'000;
constexpr std::array<std::size_t, 8> sizes_bytes{16, 100, 300, 5000, 16, 40'000, 64, largest_bytes};

long ms_since(steady::time_point begin)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - begin).count();
}

struct header {
    int number;
    int part;
};

std::size_t size_of(header at)
{
    return sizes_bytes[static_cast<std::size_t>(at.number) % sizes_bytes.size()] -
           static_cast<std::size_t>(at.part);
}

unsigned char byte_of(header at, std::size_t place)
{
    return static_cast<unsigned char>(at.number * 31 + at.part * 7 + int(place * 13 + place / 256));
}

void fill(unsigned char* bytes, header at)
{
    std::memcpy(bytes, &at, sizeof at);
    for (std::size_t place = sizeof at; place < size_of(at); ++place)
        bytes[place] = byte_of(at, place);
}

bool is_right(const unsigned char* bytes, std::size_t size, header at)
{
    if (size != size_of(at) || std::memcmp(bytes, &at, sizeof at) != 0)
        return false;
    for (std::size_t place = sizeof at; place < size; ++place)
        if (bytes[place] != byte_of(at, place))
            return false;
    return true;
}

/// A socket, and what it has received.
struct talker {
    void* socket = nullptr;
    std::array<int, most_numbers> count{};
    int subscriptions = 0;

    void forget()
    {
        count.fill(0);
        subscriptions = 0;
    }
};

} // namespace

// While calls fail nothing of this allocates: what fails is the library's.
struct conversation::impl {
    impl(conversation& owner, const fault_setting& what);
    ~impl();

    fault_outcome run();

    template <typename Call>
    int try_call(const char* name, const Call& call)
    {
        owner.step_ = name;
        int result = -1;
        for (int tries = 0; tries < most_tries && (result = call()) < 0; ++tries) {
            ++outcome.said;
            // Others have to go on for some errors to pass.
            if (tries > 2)
                std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
        return result;
    }

    bool open(talker& who, int type, bool is_server);
    bool bind();
    bool connect(talker& who);
    void make_secure(void* socket, bool is_server);
    void set(void* socket, int option, int value);
    void set(void* socket, int option, const std::string& value);

    bool send_part(void* socket, const void* bytes, std::size_t size, int flags);
    bool send(talker& from, int number, int parts);
    bool take(talker& at, bool answers);
    void pump(talker& peer, int wait_ms);
    bool transfer(talker& peer, int number, long limit_ms);
    bool works(talker& peer, int first_number);
    void exchange();
    int missing() const;
    void talk();
    void answer_zap();

    conversation& owner;
    const fault_setting what;
    const bool is_pipeline; ///< the peer sends, the bound one receives
    const bool is_published;
    const bool is_answered;
    const bool has_ids;
    fault_outcome outcome;
    void* context = nullptr;
    std::string place; ///< to bind to
    std::array<char, 256> endpoint{};
    talker bound;
    talker old;
    talker fresh;
    std::array<bool, first_messages> is_sent{};
    std::vector<unsigned char> buffer = std::vector<unsigned char>(largest_bytes);
    std::array<char, 41> server_open{}, server_secret{}, client_open{}, client_secret{};
#if ZLINK_HAS_TLS
    certificate authority = certificate::authority();
    certificate own = authority.sign();
#endif
    // The handler of ZAP lives in a thread of the program, and is told the context it is for.
    std::mutex mutex;
    std::condition_variable changed;
    void* zap_context = nullptr;
    bool zap_is_ready = false;
    bool is_over = false;
    std::thread zap;
};

conversation::impl::impl(conversation& its_owner, const fault_setting& setting)
    : owner(its_owner),
      what(setting),
      is_pipeline(setting.pattern == "push-pull"),
      is_published(setting.pattern == "pub-sub"),
      is_answered(!is_pipeline && !is_published),
      has_ids(setting.pattern == "dealer-router")
{
    place = what.transport + "://127.0.0.1:*";
    for (const transport kind : {transport::ipc, transport::inproc})
        if (what.transport == name_of(kind))
            place = fresh_bind_address(kind);
    zmq_curve_keypair(server_open.data(), server_secret.data());
    zmq_curve_keypair(client_open.data(), client_secret.data());
    if (what.mechanism == "plain")
        zap = std::thread([this] { answer_zap(); });
}

conversation::impl::~impl()
{
    {
        const std::lock_guard lock(mutex);
        is_over = true;
    }
    changed.notify_all();
    if (zap.joinable())
        zap.join();
}

void conversation::impl::answer_zap()
{
    fault_own_thread();
    std::unique_lock lock(mutex);
    while (true) {
        changed.wait(lock, [this] { return is_over || zap_context != nullptr; });
        if (is_over)
            return;
        void* const own_context = zap_context;
        lock.unlock();
        void* socket = nullptr;
        for (int tries = 0; tries < most_tries && !socket; ++tries)
            socket = zmq_socket(own_context, ZMQ_REP);
        for (int tries = 0;
             socket && tries < most_tries && zmq_bind(socket, "inproc://zeromq.zap.01") != 0;
             ++tries) {
        }
        lock.lock();
        zap_is_ready = true;
        changed.notify_all();
        lock.unlock();
        bool goes_on = socket != nullptr;
        while (goes_on) {
            char id[256];
            int id_size = 0;
            int number = 0;
            int more = 1;
            while (more && goes_on) {
                char part[256];
                const int size = zmq_recv(socket, part, sizeof part, 0);
                if (size < 0) {
                    goes_on = zmq_errno() != ETERM;
                    continue;
                }
                if (number++ == 1) {
                    id_size = std::min(size, 255);
                    std::memcpy(id, part, static_cast<std::size_t>(id_size));
                }
                std::size_t more_size = sizeof more;
                zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &more_size);
            }
            const auto reply = [&](const char* bytes, int size, int flags) {
                while (goes_on &&
                       zmq_send(socket, bytes, static_cast<std::size_t>(size), flags) < 0)
                    goes_on = zmq_errno() != ETERM && zmq_errno() != EFSM;
            };
            reply("1.0", 3, ZMQ_SNDMORE);
            reply(id, id_size, ZMQ_SNDMORE);
            reply("200", 3, ZMQ_SNDMORE);
            reply("OK", 2, ZMQ_SNDMORE);
            reply("user", 4, ZMQ_SNDMORE);
            reply("", 0, 0);
        }
        if (socket)
            zmq_close(socket);
        lock.lock();
        zap_context = nullptr;
        zap_is_ready = false;
        changed.notify_all();
    }
}

void conversation::impl::set(void* socket, int option, int value)
{
    try_call("zmq_setsockopt",
             [&] { return zmq_setsockopt(socket, option, &value, sizeof value); });
}

void conversation::impl::set(void* socket, int option, const std::string& value)
{
    try_call("zmq_setsockopt",
             [&] { return zmq_setsockopt(socket, option, value.data(), value.size()); });
}

void conversation::impl::make_secure(void* socket, bool is_server)
{
    static const std::string user = "user";
    if (what.mechanism == "plain") {
        if (is_server) {
            set(socket, ZMQ_PLAIN_SERVER, 1);
        } else {
            set(socket, ZMQ_PLAIN_USERNAME, user);
            set(socket, ZMQ_PLAIN_PASSWORD, user);
        }
    }
    const auto set_key = [&](int option, const std::array<char, 41>& key) {
        try_call("zmq_setsockopt", [&] { return zmq_setsockopt(socket, option, key.data(), 40); });
    };
    if (what.mechanism == "curve") {
        if (is_server) {
            set(socket, ZMQ_CURVE_SERVER, 1);
            set_key(ZMQ_CURVE_SECRETKEY, server_secret);
        } else {
            set_key(ZMQ_CURVE_SERVERKEY, server_open);
            set_key(ZMQ_CURVE_PUBLICKEY, client_open);
            set_key(ZMQ_CURVE_SECRETKEY, client_secret);
        }
    }
#if ZLINK_HAS_TLS
    if (what.transport == "tls" || what.transport == "wss") {
        if (is_server) {
            set(socket, ZMQ_TLS_CERT, own.text());
            set(socket, ZMQ_TLS_KEY, own.key());
        } else {
            set(socket, ZMQ_TLS_CA, authority.text());
        }
    }
#endif
}

bool conversation::impl::open(talker& who, int type, bool is_server)
{
    who.forget();
    try_call("zmq_socket", [&] { return (who.socket = zmq_socket(context, type)) ? 0 : -1; });
    if (!who.socket)
        return false;
    set(who.socket, ZMQ_LINGER, linger_ms);
    set(who.socket, ZMQ_SNDTIMEO, call_limit_ms);
    set(who.socket, ZMQ_RCVTIMEO, call_limit_ms);
    set(who.socket, ZMQ_RECONNECT_IVL, 10);
    set(who.socket, ZMQ_HANDSHAKE_IVL, 1000);
    if (type == ZMQ_REQ) {
        set(who.socket, ZMQ_REQ_RELAXED, 1);
        set(who.socket, ZMQ_REQ_CORRELATE, 1);
    }
    make_secure(who.socket, is_server);
    return true;
}

bool conversation::impl::bind()
{
    if (try_call("zmq_bind", [&] { return zmq_bind(bound.socket, place.c_str()); }) < 0)
        return false;
    std::size_t size = endpoint.size();
    return try_call("zmq_getsockopt ZMQ_LAST_ENDPOINT", [&] {
               return zmq_getsockopt(bound.socket, ZMQ_LAST_ENDPOINT, endpoint.data(), &size);
           }) == 0;
}

bool conversation::impl::connect(talker& who)
{
    const int type = is_pipeline                 ? ZMQ_PUSH
                     : is_published              ? ZMQ_SUB
                     : what.pattern == "req-rep" ? ZMQ_REQ
                                                 : ZMQ_DEALER;
    if (!open(who, type, false))
        return false;
    if (is_published)
        try_call("zmq_setsockopt ZMQ_SUBSCRIBE",
                 [&] { return zmq_setsockopt(who.socket, ZMQ_SUBSCRIBE, "", 0); });
    return try_call("zmq_connect", [&] { return zmq_connect(who.socket, endpoint.data()); }) == 0;
}

bool conversation::impl::send_part(void* socket, const void* bytes, std::size_t size, int flags)
{
    owner.step_ = "zmq_send";
    for (int tries = 0; tries < most_tries; ++tries) {
        if (zmq_send(socket, bytes, size, flags) >= 0)
            return true;
        if (zmq_errno() != EAGAIN)
            ++outcome.said;
        else if (tries > 3)
            break;
    }
    return false;
}

bool conversation::impl::send(talker& from, int number, int parts)
{
    for (int part = 0; part < parts; ++part) {
        const header at{number, part};
        fill(buffer.data(), at);
        if (!send_part(from.socket, buffer.data(), size_of(at), part + 1 < parts ? ZMQ_SNDMORE : 0))
            return false;
    }
    return true;
}

/// Takes one message. @return false if there is none.
bool conversation::impl::take(talker& at, bool answers)
{
    owner.step_ = "zmq_msg_recv";
    std::array<char, 256> id{};
    std::size_t id_size = 0;
    header last{-1, -1};
    int parts = 0;
    bool is_first = true;
    bool goes_on = true;
    bool is_damaged = false;
    bool is_word = false;
    while (goes_on) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        int size = -1;
        for (int tries = 0; tries < most_tries && size < 0; ++tries) {
            size = zmq_msg_recv(&message, at.socket, ZMQ_DONTWAIT);
            // A REQ that has not asked has nothing to receive.
            if (size < 0 && (zmq_errno() == EAGAIN || zmq_errno() == EFSM))
                break;
            outcome.said += size < 0;
        }
        if (size < 0) {
            zmq_msg_close(&message);
            if (!is_first) // a message is there as a whole
                ++outcome.wrong;
            return false;
        }
        const auto* const bytes = static_cast<const unsigned char*>(zmq_msg_data(&message));
        goes_on = zmq_msg_more(&message) != 0;
        if (is_first && has_ids && answers) {
            id_size = std::min<std::size_t>(static_cast<std::size_t>(size), id.size());
            std::memcpy(id.data(), bytes, id_size);
        } else if (is_published && &at == &bound) {
            is_word = true;
            at.subscriptions += size == 1 && bytes[0] == 1;
        } else {
            header now{-1, -1};
            if (static_cast<std::size_t>(size) >= sizeof now)
                std::memcpy(&now, bytes, sizeof now);
            is_damaged = is_damaged || now.number < 0 || now.number >= most_numbers ||
                         now.part != parts || (parts > 0 && now.number != last.number) ||
                         !is_right(bytes, static_cast<std::size_t>(size), now);
            last = now;
            ++parts;
        }
        is_first = false;
        zmq_msg_close(&message);
    }
    if (is_word)
        return true;
    if (is_damaged || parts != (last.number % 4 == 3 ? 3 : 1)) {
        ++outcome.wrong;
        return true;
    }
    if (++at.count[static_cast<std::size_t>(last.number)] > 1)
        ++outcome.twice;
    if (answers && (id_size == 0 || send_part(at.socket, id.data(), id_size, ZMQ_SNDMORE)))
        send(at, last.number, parts);
    return true;
}

void conversation::impl::pump(talker& peer, int wait_ms)
{
    owner.step_ = "zmq_poll";
    zmq_pollitem_t items[] = {{bound.socket, 0, ZMQ_POLLIN, 0}, {peer.socket, 0, ZMQ_POLLIN, 0}};
    if (is_pipeline)
        items[1].events = 0;
    if (zmq_poll(items, 2, wait_ms) < 0)
        ++outcome.said;
    while (take(bound, is_answered)) {
    }
    while (!is_pipeline && take(peer, false)) {
    }
}

/// Sends a message, and waits until it has come where it is to come to.
bool conversation::impl::transfer(talker& peer, int number, long limit_ms)
{
    const auto begin = steady::now();
    if (!send(is_published ? bound : peer, number, number % 4 == 3 ? 3 : 1))
        return false;
    if (number < first_messages)
        is_sent[static_cast<std::size_t>(number)] = true;
    const int& count = (is_pipeline ? bound : peer).count[static_cast<std::size_t>(number)];
    while (count == 0 && ms_since(begin) < limit_ms)
        pump(peer, 10);
    return count != 0;
}

/// Sends until something comes.
bool conversation::impl::works(talker& peer, int first_number)
{
    constexpr int most_probes = 40;
    for (int probe = 0; probe < most_probes; ++probe)
        if (transfer(peer, first_number + probe, 200))
            return true;
    return false;
}

/// The messages during which calls fail.
void conversation::impl::exchange()
{
    const auto begin = steady::now();
    while (is_published && bound.subscriptions == 0 && ms_since(begin) < first_limit_ms)
        pump(old, 10);
    if (!is_pipeline) {
        int in_vain = 0; // one after the other: so will be the others
        for (int number = 0; number < first_messages && in_vain < most_in_vain; ++number) {
            const bool has_come = transfer(
                old, number,
                what.pattern == "req-rep" && missing() == 0 ? req_limit_ms : later_limit_ms);
            in_vain = has_come ? 0 : in_vain + 1;
        }
        return;
    }
    for (int number = 0; number < first_messages; ++number)
        is_sent[static_cast<std::size_t>(number)] = send(old, number, number % 4 == 3 ? 3 : 1);
    for (stopwatch clock; missing() != 0 && clock.elapsed_ms() < first_limit_ms;)
        pump(old, 10);
}

/// How many of the first messages have been sent and have not come.
int conversation::impl::missing() const
{
    const talker& receiver = is_pipeline ? bound : old;
    int count = 0;
    for (std::size_t number = 0; number < is_sent.size(); ++number)
        count += is_sent[number] && receiver.count[number] == 0;
    return count;
}

void conversation::impl::talk()
{
    const int type = is_pipeline                 ? ZMQ_PULL
                     : is_published              ? ZMQ_XPUB
                     : what.pattern == "req-rep" ? ZMQ_REP
                                                 : ZMQ_ROUTER;
    const bool is_there = open(bound, type, true) && bind() && connect(old);
    if (is_there)
        exchange();
    fault_disarm();
    outcome.refused = !is_there;
    if (is_there) {
        owner.step_ = "looking whether the old connection works";
        outcome.deaf = !works(old, old_probes);
    }
    if (endpoint[0] != '\0') {
        outcome.unserved = !connect(fresh) || !works(fresh, fresh_probes);
    }
    // Now, when what comes late has come.
    if (is_there)
        outcome.lost = missing();
}

fault_outcome conversation::impl::run()
{
    outcome = {};
    is_sent.fill(false);
    endpoint.fill('\0');
    for (talker* const each : {&bound, &old, &fresh})
        each->socket = nullptr;
    fault_arm();
    try_call("zmq_ctx_new", [&] { return (context = zmq_ctx_new()) ? 0 : -1; });
    if (!context) {
        fault_disarm();
        outcome.refused = true;
        return outcome;
    }
    if (zap.joinable()) {
        std::unique_lock lock(mutex);
        zap_context = context;
        changed.notify_all();
        // It has given up if it could have no socket.
        changed.wait(lock, [this] { return zap_is_ready || zap_context == nullptr; });
    }
    talk();
    fault_disarm();
    owner.step_ = "zmq_close";
    for (talker* const each : {&fresh, &old, &bound})
        if (each->socket)
            zmq_close(each->socket);
    owner.step_ = "zmq_ctx_term";
    const auto begin = steady::now();
    while (zmq_ctx_term(context) != 0 && zmq_errno() == EINTR) {
    }
    outcome.end_ms = ms_since(begin);
    if (zap.joinable()) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return zap_context == nullptr; });
    }
    return outcome;
}

conversation::conversation(const fault_setting& what) : impl_(new impl(*this, what)) {}

conversation::~conversation()
{
    delete impl_;
}

fault_outcome conversation::run()
{
    return impl_->run();
}

} // namespace zlink::test
