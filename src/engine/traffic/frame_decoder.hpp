// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/traffic/decoder.hpp"
#include "engine/traffic/message_rules.hpp"
#include "engine/traffic/outside_memory.hpp"
#include "engine/traffic/read_size.hpp"

#include <cstddef>

namespace zlink::engine {

/// What the decoders of frames have in common: the rules that messages must keep to, and the
/// memory of the consumer's that a large body may go to.
///
/// Thread safety: that of the decoder.
class frame_decoder : public decoder {
public:
    frame_decoder(base::channel& to, message_rules rules, command_handler& commands) noexcept
        : decoder(to), rules_(rules), commands_(commands)
    {}

    /// The consumer takes the parts of a message off up to the first empty one: the part that it
    /// comes for is the next, see offer_memory().
    void take_off_envelope() noexcept { outside_.take_off_envelope(); }

    bool reads_outside() const noexcept final { return outside_.in_use(); }
    bool has_outside_body() const noexcept final { return outside_.has_finished(); }
    outside_body take_outside_body() noexcept final { return outside_.take_finished(); }

protected:
    message_rules rules_;
    command_handler& commands_;
    outside_memory outside_;
    read_size read_size_;
};

} // namespace zlink::engine
