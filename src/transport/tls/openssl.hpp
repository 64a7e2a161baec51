// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/lasting.hpp"

#include <memory>
#include <mutex>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string>
#include <vector>

namespace zlink::transport::tls_parts {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* object) const noexcept
    {
        Free(object);
    }
};
using x509_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free>>;

/// OpenSSL leaves what went wrong in a list of the thread, which may be an application's that uses
/// OpenSSL itself, and some of its functions empty that list. During the life of this object the
/// list is the library's and begins empty; afterwards it is as before, apart from marks. Without
/// memory an error of the application may get lost.
class own_errors {
public:
    own_errors() noexcept
    {
        if (ERR_peek_error() != 0)
            before_ = take_errors();
    }
    ~own_errors()
    {
        ERR_clear_error();
        if (before_)
            give_back(*before_);
    }
    /// Throws std::bad_alloc: an error could not be noted.
    void be_ready() const;
    /// Is one of them that memory was exhausted? The list is empty afterwards.
    bool has_lack_of_memory() const noexcept;
    own_errors(const own_errors&) = delete;
    own_errors& operator=(const own_errors&) = delete;

private:
    struct error {
        unsigned long code;
        int line;
        std::string file;
        std::string function;
        std::string data; ///< a text that says more; may be empty
    };
    using errors = std::vector<error>;

    static std::unique_ptr<errors> take_errors() noexcept;
    static void give_back(const errors& all) noexcept;

    std::unique_ptr<errors> before_; ///< null: none
};

/// What `make()` returns, which is called again while that is null, for want of memory. It is never
/// freed.
template <auto make>
auto made_once() noexcept
{
    static base::lasting<std::mutex> mutex;
    static decltype(make()) made = nullptr;
    const std::lock_guard lock(mutex.value);
    if (!made)
        made = make();
    return made;
}

/// Whether the process has begun to exit. OpenSSL, which an application may use as well, gives up
/// what it has then, while threads may still read and write: they must not call it any more.
bool is_over() noexcept;

} // namespace zlink::transport::tls_parts
