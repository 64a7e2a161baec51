// SPDX-License-Identifier: Apache-2.0
#include "transport/ipc/peer_filter.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>

namespace zlink::transport::ipc_filter {
namespace {

template <class Id>
bool lists(const std::vector<Id>& ids, Id id)
{
    return std::ranges::find(ids, id) != ids.end();
}

/// The groups the user is a member of, by the user and group databases.
std::vector<gid_t> groups_of(uid_t user)
{
    constexpr std::size_t most_bytes = 1024 * 1024;
    std::vector<char> text(1024);
    passwd entry{};
    passwd* found = nullptr;
    int error = 0;
    while ((error = ::getpwuid_r(user, &entry, text.data(), text.size(), &found)) == ERANGE &&
           text.size() < most_bytes)
        text.resize(text.size() * 2);
    if (error || !found)
        return {};
    std::vector<gid_t> groups(32);
    int count = static_cast<int>(groups.size());
    while (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0) {
        if (count <= static_cast<int>(groups.size()))
            return {};
        groups.resize(static_cast<std::size_t>(count));
    }
    groups.resize(static_cast<std::size_t>(count));
    return groups;
}

} // namespace

bool admits(int fd, const options& settings)
{
    const auto& gids = settings.accepted_gids;
    if (settings.accepted_pids.empty() && settings.accepted_uids.empty() && gids.empty())
        return true;
    ucred peer{};
    socklen_t bytes = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return false;
    if (lists(settings.accepted_pids, peer.pid) || lists(settings.accepted_uids, peer.uid) ||
        lists(gids, peer.gid))
        return true;
    return !gids.empty() && std::ranges::any_of(groups_of(peer.uid),
                                                [&](gid_t group) { return lists(gids, group); });
}

} // namespace zlink::transport::ipc_filter
