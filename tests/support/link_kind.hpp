// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace zlink::test {

class test_socket;

/// How two sockets are connected in a test: by a transport, with or without a security mechanism.
/// Each is a row of the table in link_kind.cpp; a new transport or mechanism gets a row of its own,
/// and the tests that ask for its traits run over it.
enum class link_kind {
    tcp,
    ipc,
    inproc,
    ws,
    tls,
    wss,
    curve, ///< tcp, and the mechanism CURVE
    plain, ///< tcp, and the mechanism PLAIN, with a handler of ZAP that admits
};

/// In tests that name one of the transports.
using transport = link_kind;

/// Which end of a connection a socket is.
enum class link_side { bound, connecting };

/// What tests have to know of a row.
struct link_traits {
    const char* name;   ///< of the test's instance
    const char* scheme; ///< what its addresses have before `://`
    /// A connection of the system carries the messages. What it has taken lies in buffers whose
    /// size no test knows.
    bool has_wire = true;
    /// The address is a host and a port, of which `*` is any.
    bool has_ports = true;
    /// The connection carries ZMTP with the mechanism NULL and nothing around it: a peer made of
    /// bytes (raw_peer) can take part.
    bool has_plain_zmtp = false;
    /// The mechanism is the test's to choose.
    bool has_free_mechanism = true;
    /// Each side learns the other one's socket type, also if the two do not fit.
    bool tells_socket_types = true;
    /// A subscription is a command, and no message, whose size may be limited.
    bool has_subscribe_command = true;
    /// A connection outlives that memory is exhausted for a moment.
    bool survives_lack_of_memory = true;
};

const link_traits& traits_of(link_kind kind);
/// The name of its row; for a transport, what its addresses have before `://`.
const char* name_of(link_kind kind);

/// The rows that the library under test has. With ZLINK_TEST_TOY_WIRES in the environment it is one
/// of tests/wires: those are the rows tcp, ipc and inproc, of which none has plain ZMTP.
std::vector<link_kind> all_links();
/// Those of them with a trait.
std::vector<link_kind> links_with(bool link_traits::*trait);
/// Those of them with both traits.
std::vector<link_kind> links_with(bool link_traits::*trait, bool link_traits::*other);

/// Lets GoogleTest print the parameter of a test.
void PrintTo(link_kind kind, std::ostream* out);

/// While such an object lives, test_socket::bind() and connect() give each socket the options that
/// the kind needs on this side, certificates or keys, before they call the library. The options of
/// a socket may change between two calls: each endpoint has those of the time when it was made.
class link_in_use {
public:
    explicit link_in_use(link_kind kind);
    ~link_in_use();
    link_in_use(const link_in_use&) = delete;
    link_in_use& operator=(const link_in_use&) = delete;

    /// Sets the options on a socket for an address, where there is such an object and the address
    /// has its scheme.
    static void configure(test_socket& socket, link_side side, const std::string& address);

private:
    const std::optional<link_kind> before_;
};

} // namespace zlink::test
