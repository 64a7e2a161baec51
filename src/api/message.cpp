// SPDX-License-Identifier: Apache-2.0
#include "api/message.hpp"

#include "base/tuning.hpp"

#include "api/objects.hpp"
#include "core/pipe/pipe.hpp"

#include <cstring>

namespace zlink::api {

bool message::init_size(std::size_t bytes) noexcept
{
    init_empty();
    if (bytes <= inline_bytes) {
        inlined_size_ = static_cast<std::uint8_t>(bytes);
        return true;
    }
    base::buffer* const owner = base::allocate_buffer(bytes);
    if (!owner) {
        mark_ = 0;
        return false;
    }
    set_outside(counted, {owner->data, bytes, owner});
    return true;
}

bool message::init_user(void* data, std::size_t bytes, zmq_free_fn* free, void* hint) noexcept
{
    const bool needs_owner = free || bytes >= tuning::body::min_shared_user_bytes;
    base::buffer* const owner =
        needs_owner ? base::wrap_user_memory(data, bytes, free, hint) : nullptr;
    if (!owner) {
        init_constant(data, bytes); // may be copied
        if (free)
            mark_ = 0;
        return !free;
    }
    owner->shared = !free;
    init_empty();
    set_outside(counted, {owner->data, bytes, owner});
    return true;
}

void message::init_constant(const void* data, std::size_t bytes) noexcept
{
    init_empty();
    set_outside(constant, {static_cast<std::byte*>(const_cast<void*>(data)), bytes, nullptr});
}

bool message::replace(const core::frame& part) noexcept
{
    const bool outside = part.size > inline_bytes;
    if (outside && part.owner) {
        part.owner->add_reference();
        close();
        init_empty();
        set_outside(counted, {const_cast<std::byte*>(part.data), part.size, part.owner});
        more_ = part.more();
        return true;
    }
    base::buffer* const block = outside ? base::allocate_buffer(part.size) : nullptr;
    if (outside && !block)
        return false;
    hold_copy(block, part.data, part.size, part.more());
    return true;
}

// What is neither usual.
void message::close_outside() noexcept
{
    if (body() == counted)
        outside_body().owner->drop_reference();
    drop_group();
}

void message::drop_group() noexcept
{
    if (kind_ & outside_group)
        group_block()->drop_reference();
    kind_ = body();
    group_[0] = '\0';
}

std::string_view message::group() const noexcept
{
    return kind_ & outside_group ? reinterpret_cast<const char*>(group_block()->data) : group_;
}

bool message::set_group(std::string_view group) noexcept
{
    base::buffer* block = nullptr;
    if (group.size() > inline_group_bytes) {
        block = base::allocate_buffer(group.size() + 1);
        if (!block)
            return false;
    }
    drop_group();
    char* const text = block ? reinterpret_cast<char*>(block->data) : group_;
    std::memcpy(text, group.data(), group.size());
    text[group.size()] = '\0';
    if (block) {
        std::memcpy(group_ + group_block_at, &block, sizeof block);
        kind_ |= outside_group;
    }
    return true;
}

void message::move_from(message& from) noexcept
{
    if (this == &from)
        return;
    close();
    std::memcpy(static_cast<void*>(this), &from, sizeof *this);
    from.init_empty();
}

void message::copy_from(message& from) noexcept
{
    if (this == &from)
        return;
    close();
    if (from.body() == counted) {
        from.outside_body().owner->shared = true;
        from.outside_body().owner->add_reference();
    }
    if (from.kind_ & outside_group)
        from.group_block()->add_reference();
    if (from.properties_)
        from.properties_->add_references(1);
    std::memcpy(static_cast<void*>(this), &from, sizeof *this);
}

bool message::shared() const noexcept
{
    return body() == constant || (body() == counted && outside_body().owner->shared);
}

} // namespace zlink::api

using zlink::api::fail;
using zlink::api::message;

extern "C" {

int zmq_msg_init(zmq_msg_t* msg)
{
    message::of(msg).init_empty();
    return 0;
}

int zmq_msg_init_size(zmq_msg_t* msg, size_t size)
{
    return message::of(msg).init_size(size) ? 0 : fail(ENOMEM);
}

int zmq_msg_init_buffer(zmq_msg_t* msg, const void* buf, size_t size)
{
    message& content = message::of(msg);
    if (!content.init_size(size))
        return fail(ENOMEM);
    if (size) // memcpy must not see null
        std::memcpy(content.data(), buf, size);
    return 0;
}

int zmq_msg_init_data(zmq_msg_t* msg, void* data, size_t size, zmq_free_fn* ffn, void* hint)
{
    return message::of(msg).init_user(data, size, ffn, hint) ? 0 : fail(ENOMEM);
}

int zmq_msg_close(zmq_msg_t* msg)
{
    if (!msg || !message::of(msg).valid())
        return fail(EFAULT);
    message::of(msg).close();
    return 0;
}

int zmq_msg_move(zmq_msg_t* dest, zmq_msg_t* src)
{
    if (!dest || !src || !message::of(dest).valid() || !message::of(src).valid())
        return fail(EFAULT);
    message::of(dest).move_from(message::of(src));
    return 0;
}

int zmq_msg_copy(zmq_msg_t* dest, zmq_msg_t* src)
{
    if (!dest || !src || !message::of(dest).valid() || !message::of(src).valid())
        return fail(EFAULT);
    message::of(dest).copy_from(message::of(src));
    return 0;
}

void* zmq_msg_data(zmq_msg_t* msg)
{
    return msg && message::of(msg).valid() ? message::of(msg).data() : nullptr;
}

size_t zmq_msg_size(const zmq_msg_t* msg)
{
    return msg && message::of(msg).valid() ? message::of(msg).size() : 0;
}

int zmq_msg_more(const zmq_msg_t* msg)
{
    return msg && message::of(msg).valid() && message::of(msg).more() ? 1 : 0;
}

int zmq_msg_get(const zmq_msg_t* msg, int property)
{
    if (!msg || !message::of(msg).valid())
        return fail(EFAULT);
    const message& content = message::of(msg);
    switch (property) {
    case ZMQ_MORE:
        return content.more() ? 1 : 0;
    case ZMQ_SHARED:
        return content.shared() ? 1 : 0;
    case ZMQ_SRCFD:
        if (content.properties() && content.properties()->descriptor() >= 0)
            return content.properties()->descriptor();
        return fail(EINVAL);
    default:
        return fail(EINVAL);
    }
}

int zmq_msg_set(zmq_msg_t*, int, int)
{
    return fail(EINVAL); // there is no property to set
}

const char* zmq_msg_gets(const zmq_msg_t* msg, const char* property)
{
    const char* value = nullptr;
    if (msg && property && message::of(msg).valid() && message::of(msg).properties())
        value = message::of(msg).properties()->find(property);
    if (!value)
        errno = EINVAL;
    return value;
}

int zmq_msg_set_routing_id(zmq_msg_t* msg, uint32_t routing_id)
{
    if (!msg || !message::of(msg).valid())
        return fail(EFAULT);
    if (routing_id == 0)
        return fail(EINVAL);
    message::of(msg).set_routing_id(routing_id);
    return 0;
}

uint32_t zmq_msg_routing_id(zmq_msg_t* msg)
{
    return msg && message::of(msg).valid() ? message::of(msg).routing_id() : 0;
}

int zmq_msg_set_group(zmq_msg_t* msg, const char* group)
{
    if (!msg || !group || !message::of(msg).valid())
        return fail(EFAULT);
    const std::size_t bytes = strnlen(group, ZMQ_GROUP_MAX_LENGTH + 1);
    if (bytes > ZMQ_GROUP_MAX_LENGTH)
        return fail(EINVAL); // cut off it would be another group
    return message::of(msg).set_group({group, bytes}) ? 0 : fail(ENOMEM);
}

const char* zmq_msg_group(zmq_msg_t* msg)
{
    return msg && message::of(msg).valid() ? message::of(msg).group().data() : "";
}

} // extern "C"
