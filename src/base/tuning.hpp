// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// Every number that was chosen rather than derived: what it trades, and the decision that has the
/// reasons and the measurements (docs/decisions/NNNN; "-" = none needed one). Limits of the
/// protocol and layouts are not here. Durations have the unit in their type, all others in their
/// name.
namespace zlink::base::tuning {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// What was tried in vain is tried again after intervals that double up to this many of whatever is
/// counted. Longer = less is lost to trials, but a change is noticed later. 0013, 0017, 0019, 0022
inline constexpr unsigned max_trial_interval = 1024;

/// When a sending thread batches instead of writing each message: 0002, 0022.
namespace batching {

/// The most that a message in a batch, or the wake-up of a reader, is delayed while its thread goes
/// on sending. Longer = larger batches, but later messages. 0022
inline constexpr nanoseconds max_delay{90'000};
/// A commit within this time after the write before it is in quick succession. Longer = dialogues
/// on a shared processor are batched too, and wait in vain. 0002, 0012
inline constexpr nanoseconds quick_succession{3'000};
/// A stream that is written by I/O threads, or whose connections were busy, has paused after this
/// time without a wake-up. Shorter = direct writes amid a stream. 0012
inline constexpr nanoseconds pause_of_stream{500'000};
/// Quick commits in a row before a batch begins. More = more single writes at the beginning of each
/// burst; fewer = single messages wait in vain. 0002
inline constexpr unsigned quick_commits_until_batching = 3;
/// A thread whose last bursts had this many messages each batches earlier. 0022
inline constexpr unsigned messages_of_long_burst = 3;
/// Long bursts until a thread is known for them. 0022
inline constexpr unsigned long_bursts_until_known = 2;
/// Long bursts are counted up to here: as many short ones end what is known. 0022
inline constexpr unsigned max_long_bursts_counted = 4;
/// To more connections than this one thread does not write by itself: the I/O threads do, and find
/// a batch in each. More = the last connection waits for the writes to all others. 0012, 0022
inline constexpr std::size_t max_connections_per_thread = 16;
/// Longest interval of the guard of a thread's batches: begins with `max_delay` and doubles. Longer
/// = fewer timers, but the end of a burst waits longer. 0022
inline constexpr nanoseconds max_guard_interval{200'000};
/// The guard ends after so many rounds without a batch, some 5 ms: longer = timers for nothing,
/// shorter = a new guard for each burst. 0022
inline constexpr unsigned idle_guard_rounds = 25;
/// Messages that must join a batch within one interval of the guard: with fewer, single writes are
/// as good and earlier. 0022
inline constexpr std::uint64_t min_messages_per_round = 8;
/// A message counts there as one for each so many bytes. 0022
inline constexpr std::uint64_t counted_message_bytes = 2 * 1024;
/// Messages written at once after a batch that nothing has joined; doubled each time. 0022
inline constexpr unsigned min_unbatched_messages = 8;

/// A batch of the sending thread is written when it has so many bytes: with a small message more it
/// still fits in a packet of the loopback interface. 0002, 0020
inline constexpr std::size_t flush_bytes = 62 * 1024;
/// What the loopback interface carries in one packet (IPv4, with timestamps). 0020
inline constexpr std::size_t loopback_packet_bytes = 65'483;
/// A thread with several batches reads the clock each time one has grown by so much. 0022
inline constexpr std::size_t clock_check_bytes = 4 * 1024;
/// From here on a body is written by itself: to copy it into a batch costs more than the write that
/// this spares. Such messages fill their packets by themselves. 0002, 0019
inline constexpr std::size_t min_unbatched_bytes = 32 * 1024;
/// The end of a large message that would need a packet of its own waits for the next message if it
/// is not larger. 0020
inline constexpr std::size_t max_held_tail_bytes = 8 * 1024;
/// Batches that one call writes to a connection, before others have their turn. 0002
inline constexpr int batches_per_call = 16;
/// Queued messages behind the one that is read, of which so many parts are passed over to find out
/// whether a whole one follows: then replies are expected to follow each other closely. 0022
inline constexpr int max_parts_scanned = 4;
/// Readers whose wake-up a proxy delays; more are woken at once. 0022
inline constexpr std::size_t max_held_readers = 64;

} // namespace batching

/// Messages to many peers: 0012.
namespace fan_out {

/// Larger parts are shared one by one instead of being encoded once for all. 0012
inline constexpr std::size_t max_logged_part_bytes = 2 * 1024;
/// With fewer peers, copies are as good as sharing. 0012
inline constexpr std::size_t min_peers = 4;
/// A chunk of the log: kept as long as one peer has part of it to send. 0012
inline constexpr std::size_t log_chunk_bytes = 16 * 1024;
/// References to shared data that are taken at a time, to spare atomic operations. -
inline constexpr int references_at_once = 100;

} // namespace fan_out

/// How a body is passed on, by its size: copied, referred to, or written from where it is.
namespace body {

/// From here on memory of the application that is given over inproc is never copied, so that
/// programs may use it as shared memory. By rate alone 2 KiB would do. 0015
inline constexpr std::size_t min_shared_user_bytes = 1024;
/// From here on a body that may be shared is referred to rather than copied. 0001
inline constexpr std::size_t min_shared_bytes = 4 * 1024;
/// From here on a copy into the queue is avoided: a direct write takes the caller's memory, and
/// what has to be copied gets a block of its own, which the receiver can keep. 0002, 0014
inline constexpr std::size_t min_uncopied_bytes = 8 * 1024;

} // namespace body

/// Large bodies over inproc: 0014, 0015.
namespace inproc {

/// The writer of a large message waits for the reader while more than this is queued. More leaves
/// the caches, less lets one of the two run dry. 0014
inline constexpr std::size_t max_backlog_bytes = 384 * 1024;
/// From here on a copy costs more than to announce a loan and hear of it. 0015
inline constexpr std::size_t min_lent_bytes = 32 * 1024;
/// Messages in the queue with which a loan is offered: the reader still counts the one that it has
/// copied already. 0015
inline constexpr std::uint64_t max_waiting_to_lend = 1;

} // namespace inproc

} // namespace zlink::base::tuning

namespace zlink {
namespace tuning = base::tuning;
} // namespace zlink
