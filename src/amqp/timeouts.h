// All timeouts of amqp, each defined once.
#pragma once

#include "core/time.h"

namespace retryd::amqp {

/// For an answer to a method. A quorum queue may take its time where a node is slow or just gone.
inline constexpr core::Milliseconds answer_timeout{60'000};

/// For an answer to one step of what the daemon declares: many times what a new leader or a slow disk takes, and short
/// enough that the log says so, and another broker of the list is tried, before an operator has to look for the reason.
inline constexpr core::Milliseconds declare_timeout{30'000};

/// A step that is not answered holds up the next one so long: most take a few milliseconds, and each that is overtaken
/// takes a channel.
inline constexpr core::Milliseconds overtaking_after{300};

/// For the confirm of a publication by a command: far longer than one ever takes, the election of a queue's new leader
/// included.
inline constexpr core::Milliseconds confirm_timeout{60'000};

/// For any answer at all while publications wait for theirs: what a session asks every minute must have been answered.
inline constexpr core::Milliseconds answers_timeout{120'000};

/// A confirm that is missing for so long is looked into: has the broker got the whole message at all?
inline constexpr core::Milliseconds look_into_confirms_after{10'000};

/// A quorum queue forgets acks that are still on their way to it when their channel ends, however politely, and
/// delivers their messages again. So a connection stays open so long after the last ack (tried on 3.10.8, 4.0.5 and
/// 4.3.6 with a busy disk: 20 ms were too short once, 100 ms never).
inline constexpr core::Milliseconds ack_linger{250};

/// For the answer to connection.close.
inline constexpr core::Milliseconds close_timeout{2'000};

/// For one poll(): heartbeats have to be served more often than the shortest interval between them, which is a second.
inline constexpr core::Milliseconds longest_poll{400};

}  // namespace retryd::amqp
