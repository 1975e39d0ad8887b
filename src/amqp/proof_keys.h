// The keys for the proof that `retryd-*` headers carry (core/own_headers.h).
//
// All that work on one error queue have to know the same one: several daemons, the one of tomorrow, and `retryd
// parked`. That is what errors.key_file is for. Without it they share what they log in with, so the key is made from
// that:
// - from the password, with 200,000 rounds of PBKDF2, which take about a tenth of a second. Whoever sees messages that
//   were retried can try passwords against a proof, so slowly, without asking the broker. For a password that a machine
//   has made that is hopeless, for one out of a dictionary it is not;
// - with broker.auth_mechanism external from the private key of the certificate.
// So another password, or another user for `retryd parked`, is another key. Nothing is lost by that: what carries a
// proof of the former one counts as in read_retry_history without a proof.
//
// Not from anything on the broker, such as a message in a queue of its own: that would be one more thing to declare, to
// permit, to guard against a purge, and to wait for before the first message.
#pragma once

#include "config/settings.h"
#include "core/own_headers.h"

namespace retryd::amqp {

/// Never empty. Another one for each vhost and error queue.
core::ProofKeys proof_keys(const config::Settings& settings);

}  // namespace retryd::amqp
