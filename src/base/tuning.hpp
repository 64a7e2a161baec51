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
/// counted. Longer = less is lost to trials, but a change is noticed later. 0013, 0017, 0022
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
/// Up to so many children of a node of the prefix tree a plain loop beats a call of memchr. -
inline constexpr std::size_t max_scanned_children = 16;

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
/// The sender of a loan copies so much between two checks whether the reader has come, and both
/// copy pieces of this size when they copy together. Larger = they meet less evenly. 0015
inline constexpr std::size_t piece_bytes = 16 * 1024;
/// The beginning of a loan that is copied before it is announced: enough to match it with
/// subscriptions. 0015
inline constexpr std::size_t copied_at_once_bytes = 4 * 1024;
/// A side that waits for the copy of the other yields so often before it sleeps: a copy of some
/// hundred KiB takes less time. 0015
inline constexpr int yields_before_sleep = 200;
/// Messages in the queue with which a loan is offered: the reader still counts the one that it has
/// copied already. 0015
inline constexpr std::uint64_t max_waiting_to_lend = 1;

} // namespace inproc

/// How long a sending thread waits for a connection that takes no more: 0014.
namespace write_retry {

/// The longest wait. Longer = fewer hand-overs to the I/O thread, but a send call that takes
/// longer.
inline constexpr milliseconds max_wait{1};
/// The longest time without progress. It ends before if there is none.
inline constexpr microseconds max_stall{300};
/// The same for a reader that may come for a loan over inproc. 0015
inline constexpr microseconds max_stall_of_loan{100};
/// Attempts before any of these times counts: the reader may have to wait for a processor as well.
inline constexpr unsigned min_attempts = 16;
/// The same, of attempts without progress.
inline constexpr unsigned min_vain_attempts = 4;
/// A thread with several peers waits for one of them 1 of so many units of time. More = slow peers
/// cost the others less, but fewer hand-overs are spared.
inline constexpr int time_per_wait = 4;
/// After waits in vain, at most so many stalls are passed over.
inline constexpr unsigned max_passed_stalls = 64;

} // namespace write_retry

/// Whether a thread spins before it sleeps: 0013.
namespace spin {

/// A spin ends this long after the last progress. Longer = more processor time for nothing; shorter
/// = more sleeps, each of which costs a wake-up.
inline constexpr microseconds max_time{100};
/// A sleep that was not longer may have been a dialogue: two threads that talk to each other and
/// both sleep between see sleeps of two wake-ups.
inline constexpr microseconds short_sleep{300};
/// A spin is good if it took half the time of the sleeps before it, or no more than this.
inline constexpr microseconds always_good_time{20};
/// Where a check is a few loads, to yield takes several times as long and notices news late. Longer
/// = a thread on the same processor that is to bring the news waits longer.
inline constexpr microseconds between_yields{2};
/// A thread that received more messages since its last wait is in a stream: it sleeps, and gets the
/// next ones together.
inline constexpr unsigned max_messages_in_dialogue = 16;
/// After so many spins in a row that ended with the first yield the next ones yield at once: the
/// producer shares this processor.
inline constexpr unsigned spins_by_yield = 2;
/// Every so many of those try without.
inline constexpr unsigned spins_between_trials = 16;
/// Short sleeps in a row before spins are tried.
inline constexpr unsigned min_short_sleeps = 4;
/// Spins are tried with this credit; good ones add 1.
inline constexpr int first_credit = 6;
inline constexpr int max_credit = 16;
inline constexpr int cost_of_bad_spin = 2;

} // namespace spin

/// A rule that tries the other way and compares measures the usual way again after so many windows.
/// Longer = less is lost to that, but a change is noticed later. 0017
inline constexpr unsigned max_windows_of_trial = 256;

/// Whether a reader over inproc that keeps up with the writer backs off: 0017.
namespace back_off {

/// One break. Longer = the writer commits more undisturbed, but messages are read later.
inline constexpr nanoseconds break_time{500};
/// Breaks before the reader would announce its sleep.
inline constexpr int max_breaks = 4;
/// Messages that come slower than one in this time are no stream.
inline constexpr nanoseconds max_message_time{400};
/// Nothing is to be gained if a read of the queue finds so many messages or more.
inline constexpr std::uint64_t max_messages_per_read = 4;
/// Reads of the queue that are compared: without breaks, and with them.
inline constexpr unsigned reads_in_window = 64;
inline constexpr unsigned breaks_in_window = 32;
/// With so many windows the breaks have paid, whatever ended them.
inline constexpr unsigned min_good_windows = 4;

} // namespace back_off

/// Reading a connection in the thread that waits for it: 0007, 0008.
namespace direct_reading {

/// Waits that follow each other within this time are in quick succession. 0008
inline constexpr milliseconds quick_wait{2};
/// Such waits until the thread asks for the reading; it asks again after so many. 0008
inline constexpr unsigned quick_waits_until_asking = 8;
inline constexpr unsigned quick_waits_between_asking = 64;
/// A thread reads at most so many connections: each wait polls all of them. 0008
inline constexpr std::size_t max_connections = 8;
/// What is leased and not used in this time is taken back. Longer = input lies in the kernel
/// longer, shorter = leases of slow dialogues end. 0008
inline constexpr milliseconds watch_interval{10};
/// What the thread reads in one go leaves its cache again if it is much more. 0007
inline constexpr std::size_t read_ahead_bytes = 256 * 1024;
/// With several connections, a body that was read to the receiver's memory may have to make way for
/// the message of another one. After such bodies so many offers at most are not made. More = less
/// is copied twice, but it is noticed later that the connections take turns again. 0016
inline constexpr unsigned max_skipped_offers = 64;
/// A poll that has no descriptor for its mailbox checks that in intervals that begin with 1 ms and
/// double up to this. 0008
inline constexpr milliseconds max_poll_slice{8};

} // namespace direct_reading

/// Whether large bodies are read into the receiver's memory: 0016.
namespace placement {

/// What is moved at most to go on elsewhere with a body that has begun.
inline constexpr std::size_t max_moved_bytes = 16 * 1024;

} // namespace placement

/// Reading from a stream, for all decoders.
namespace reading {

/// The size of a read: begins with the smallest, which is also what is read along with the rest of
/// a large body, and doubles as long as reads are filled. Smaller = less is moved or set aside;
/// larger = fewer calls. 0024
inline constexpr std::size_t min_read_bytes = 2 * 1024;
inline constexpr std::size_t max_read_bytes = 64 * 1024;
/// So many reads in a row, each of less than a quarter of the size, halve it: one of them between
/// large ones is usual in a stream.
inline constexpr unsigned small_reads_to_halve = 4;
/// A new chunk that is read to has at least so much room. 0024
inline constexpr std::size_t min_room_bytes = 1024;
/// Bodies from here on get memory of their own, unless they have arrived as a whole already. 0016
inline constexpr std::size_t min_large_body_bytes = 24 * 1024;
/// Reads of what is left when a stream is shut down, before other connections are served. -
inline constexpr int reads_at_shutdown = 256;

} // namespace reading

/// Writing to a stream.
namespace writing {

/// Pieces of memory in one call. More = larger calls, but more of them on the stack. -
inline constexpr std::size_t max_pieces = 64;
/// From here on a body of an encoded batch is referred to, or gets a block of its own if it is
/// changed: below that a copy costs less than a piece of its own. 0025
inline constexpr std::size_t min_apart_bytes = 2 * 1024;
/// An encoded batch is written when it has so many bytes: what a sending thread commits before it
/// writes, batching::flush_bytes in the format of a queue, goes in one write, also if small frames
/// have longer heads on the wire. 0025
inline constexpr std::size_t encoded_batch_bytes = 96 * 1024;
/// Memory of a batch that is kept for the next one. 0024
inline constexpr std::size_t kept_batch_bytes = 256 * 1024;
/// What is listed of a queue for one call. Messages count as taken when they are listed, so the
/// high-water mark may be exceeded by this. 0002
inline constexpr std::size_t listed_bytes = 128 * 1024;
/// Small messages that a codec encodes in one call. 0025
inline constexpr std::size_t run_messages = 256;

} // namespace writing

/// Chunks of byte queues: 0018, 0024.
namespace queue {

/// Chunks start tiny, as many queues carry a short message now and then: 128 bytes with what a
/// buffer begins with. 0024
inline constexpr std::size_t first_chunk_bytes = 80;
/// So many of those; then a queue at work has chunks of the next size, which it keeps.
inline constexpr int first_chunks = 8;
inline constexpr std::size_t min_kept_chunk_bytes = 4 * 1024;
inline constexpr int kept_chunks = 2;
/// The largest chunk. 0018
inline constexpr std::size_t max_chunk_bytes = 32 * 1024;
/// Chunks that have come back and are kept by the whole process. More = more memory; less = the
/// writer gets chunks that lie in the cache of the reader. 0018
inline constexpr std::size_t max_rotating_bytes = 3 * 512 * 1024;
/// Without a high-water mark the reader tells of what it has taken in steps of so many messages.
/// 0001
inline constexpr std::uint64_t unlimited_step_messages = 4096;

} // namespace queue

/// Blocks that are recycled. -
namespace pool {

/// Blocks between these sizes are kept by the process: malloc would give their pages back to the
/// system, and every message would pay for mapping them again.
inline constexpr std::size_t min_block_bytes = 16 * 1024;
inline constexpr std::size_t max_block_bytes = 1024 * 1024;
/// Sizes from one doubling to the next. More = less is wasted in a block, but fewer fit.
inline constexpr std::size_t steps_per_doubling = 4;
inline constexpr std::size_t kept_bytes = 4 * 1024 * 1024;
/// With so much given out it is worth waiting for a block that is about to come back, as that is in
/// the caches and mapped: so many yields at most, in so much time, as a yield takes long where
/// others want the processor.
inline constexpr std::size_t min_bytes_to_wait = 2 * 1024 * 1024;
inline constexpr int max_yields = 16;
inline constexpr microseconds max_wait{200};
/// After waits in vain, at most so many blocks are not waited for.
inline constexpr unsigned max_blocks_without_wait = 1024;
/// Small blocks that each thread keeps: all together, and their sizes.
inline constexpr std::size_t kept_by_thread_bytes = 16 * 1024;
inline constexpr std::size_t small_step_bytes = 64;
inline constexpr std::size_t small_classes = 18;

} // namespace pool

/// How long one may keep others waiting.
namespace turn {

/// A thread does so many things of one kind (requests, datagrams, accepted connections, records of
/// tls) before it does others. -
inline constexpr int operations_per_call = 64;
/// A proxy moves so many messages in one direction before the other one has its turn. 0022
inline constexpr int proxy_messages = 1000;
/// A proxy checks `batching::max_delay` of held wake-ups after so many. 0022
inline constexpr int proxy_messages_between_checks = 64;
/// Commands of a steerable proxy before it moves messages again. -
inline constexpr int proxy_commands = 16;
/// A thread that takes turn after turn at a socket makes way after so many: if the others share its
/// processor, it is mostly interrupted within its turns. 0011
inline constexpr unsigned socket_turns_in_a_row = 16;
/// With more pipes a flush of each before a sleep costs more than it brings. 0022
inline constexpr std::size_t max_flushed_pipes = 64;

} // namespace turn

/// The time that a socket spends on subscriptions and the like between two calls. -
namespace reading_share {

/// The cost of reading is counted in units of some 0.1 us, one more for each so many bytes.
inline constexpr std::size_t bytes_per_unit = 512;
inline constexpr std::size_t min_units = 16;
inline constexpr std::size_t max_units = 50'000;
/// The longest time, whatever it was expected to cost; the clock is read after so many parts.
inline constexpr milliseconds max_time{5};
inline constexpr unsigned parts_between_clocks = 64;

} // namespace reading_share

/// tcp within a machine, and tls.
namespace stream {

/// Buffers of the kernel for connections within a machine, where nothing is in flight for long. It
/// doubles them for its own needs. Larger = bytes leave the caches before they are read; smaller =
/// both sides wait for each other more often. 0014
inline constexpr int local_send_buffer_bytes = 256 * 1024;
inline constexpr int local_receive_buffer_bytes = 512 * 1024;
/// So much is encrypted before it is written: enough for calls of the kernel to cost little, and
/// for the caches. -
inline constexpr std::size_t tls_batch_bytes = 128 * 1024;

} // namespace stream

} // namespace zlink::base::tuning

namespace zlink {
namespace tuning = base::tuning;
} // namespace zlink
