// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/openssl.hpp"

#include <new>
#include <utility>

namespace zlink::transport::tls_parts {

// OpenSSL has the list of a thread once it is first needed, if there is memory for it.
void own_errors::be_ready() const
{
    ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
    if (ERR_get_error() == 0)
        throw std::bad_alloc();
}

bool own_errors::has_lack_of_memory() const noexcept
{
    bool found = false;
    while (const unsigned long each = ERR_get_error())
        found |= ERR_GET_REASON(each) == ERR_R_MALLOC_FAILURE;
    return found;
}

std::unique_ptr<own_errors::errors> own_errors::take_errors() noexcept
{
    try {
        auto all = std::make_unique<errors>();
        const char* file = nullptr;
        const char* function = nullptr;
        const char* data = nullptr;
        int line = 0;
        int flags = 0;
        const auto text = [](const char* from) { return std::string(from ? from : ""); };
        while (const unsigned long code = ERR_get_error_all(&file, &line, &function, &data, &flags))
            all->push_back({code, line, text(file), text(function),
                            text((flags & ERR_TXT_STRING) != 0 ? data : nullptr)});
        return all;
    } catch (...) {
        return nullptr;
    }
}

void own_errors::give_back(const errors& all) noexcept
{
    for (const error& each : all) {
        ERR_new();
        ERR_set_debug(each.file.c_str(), each.line, each.function.c_str());
        if (each.data.empty())
            ERR_set_error(ERR_GET_LIB(each.code), ERR_GET_REASON(each.code), nullptr);
        else
            ERR_set_error(ERR_GET_LIB(each.code), ERR_GET_REASON(each.code), "%s",
                          each.data.c_str());
    }
}

} // namespace zlink::transport::tls_parts
