// The proof of retryd's headers, for tests: with a key that everybody knows.
#pragma once

#include "core/names.h"
#include "core/own_headers.h"

namespace retryd::core::test {

inline const ProofKeys proof_keys{{0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL}};

/// The proof for headers of ours among these. `text` holds it, and must outlive the result.
inline Field proof_of(const Table& headers, ProofText& text) {
    text = proof_text(OwnHeaders(headers).digest(proof_keys.front()));
    return {header::proof, Value::of_longstr({text.data(), text.size()})};
}

}  // namespace retryd::core::test
