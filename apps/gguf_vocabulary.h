// The tokenizer's part of a GGUF file.
#pragma once

#include "base/result.h"
#include "model/gguf.h"
#include "text/vocabulary.h"

namespace weir {

// From the keys "tokenizer.ggml.*". Views into the file. kUnsupported for a tokenizer model that is
// neither SentencePiece-like ("llama") nor byte-level BPE ("gpt2").
[[nodiscard]] Result<Vocabulary> ReadVocabulary(const GgufFile& file);

}  // namespace weir
