// SPDX-License-Identifier: Apache-2.0
#include "base/memory/lasting.hpp"
#include "engine/codec/zmtp1.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/wire/frame_codec.hpp"

namespace zlink::engine {
namespace {

class zmtp3_frames : public frame_codec {
public:
    zmtp3_frames() noexcept
        : zmtp3_frames({.encodes_queue_format = true, .decodes_queue_format = true})
    {}
    std::size_t head_bytes(std::uint64_t body_bytes) const noexcept override
    {
        return zmtp3::header_bytes_for(body_bytes);
    }
    std::size_t encode_head(std::byte* out, std::uint8_t flags,
                            std::uint64_t body_bytes) noexcept override
    {
        return zmtp3::encode_header(out, flags, body_bytes);
    }
    decoded decode_head(const std::byte* at, std::size_t available,
                        frame_head& head) noexcept override
    {
        zmtp3::frame_header header;
        if (!zmtp3::decode_header(at, available, header))
            return decoded::incomplete;
        head = {static_cast<std::uint8_t>(header.flags & known_flags()), false, header.header_bytes,
                header.body_bytes};
        return decoded::head;
    }

protected:
    explicit zmtp3_frames(const codec_traits& traits) noexcept : frame_codec(traits) {}

private:
    std::uint8_t known_flags() const noexcept
    {
        return zmtp3::flag_more | (traits().carries_commands ? zmtp3::flag_command : 0);
    }
};

// What means a command in ZMTP 3 is a bit without meaning.
class zmtp2_frames final : public zmtp3_frames {
public:
    zmtp2_frames() noexcept
        : zmtp3_frames({.encodes_queue_format = true, .carries_commands = false})
    {}
};

class zmtp1_frames final : public frame_codec {
public:
    zmtp1_frames() noexcept : frame_codec({.carries_commands = false}) {}
    std::size_t head_bytes(std::uint64_t body_bytes) const noexcept override
    {
        return body_bytes > zmtp1::max_short_body_bytes ? zmtp1::long_header_bytes
                                                        : zmtp1::short_header_bytes;
    }
    std::size_t encode_head(std::byte* out, std::uint8_t flags,
                            std::uint64_t body_bytes) noexcept override
    {
        return zmtp1::encode_header(out, (flags & zmtp3::flag_more) != 0, body_bytes);
    }
    decoded decode_head(const std::byte* at, std::size_t available,
                        frame_head& head) noexcept override
    {
        zmtp3::frame_header header;
        switch (zmtp1::decode_header(at, available, header)) {
        case zmtp1::decoded::incomplete:
            return decoded::incomplete;
        case zmtp1::decoded::no_frame:
            return decoded::no_frame;
        case zmtp1::decoded::header:
            break;
        }
        head = {header.flags, false, header.header_bytes, header.body_bytes};
        return decoded::head;
    }
};

// The pointer counts nothing.
template <class Codec>
std::shared_ptr<frame_codec> shared() noexcept
{
    static base::lasting<Codec> codec;
    return {std::shared_ptr<void>(), &codec.value};
}

} // namespace

std::shared_ptr<frame_codec> zmtp3_codec() noexcept
{
    return shared<zmtp3_frames>();
}

std::shared_ptr<frame_codec> zmtp2_codec() noexcept
{
    return shared<zmtp2_frames>();
}

std::shared_ptr<frame_codec> zmtp1_codec() noexcept
{
    return shared<zmtp1_frames>();
}

} // namespace zlink::engine
