#!/usr/bin/env python3
"""Makes tests/golden/tokenizer: small vocabularies and the token ids that the references give.

Usage: make_tokenizer_goldens.py [--gemma GEMMA3_270M.gguf] [--smollm SMOLLM2_135M.gguf]
(needs tokenizers 0.23.3, sentencepiece 0.2.3, gguf). Without the models only the small ones are made.

Truth by vocabulary:
  qwen2, llama-bpe, gpt-4o, deepseek-v3   Hugging Face `tokenizers`: trained here (its BPE trainer) on the
      corpus below behind the model family's own Split expression; encoded and decoded by it.
  llama2, gemma-like   `sentencepiece`, the original of those models: trained here (BPE, byte fallback).
      `tokenizers`, given the merges that follow from the scores, must agree on every text, or this fails.
  smollm2-135m   `tokenizers` with the GGUF's tokens and merges, Digits + ByteLevel.
  gemma3-270m    `sentencepiece` on a model made of the GGUF's tokens, scores and kinds; again `tokenizers` (BPE with
      merges by score, byte fallback, the user-defined tokens added) must agree. sentencepiece knows no control
      tokens in text: texts with those, parsed, come from `tokenizers` alone.
A golden text is encoded as user text ("ids", control tokens are plain text) and, where it has control tokens, as
template text ("parsed"). "decoded" is given where it is not the text itself.
"""
import argparse
import io
import json
import pathlib
import random

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from sentencepiece_proto import NORMAL, CONTROL, UNKNOWN, USER_DEFINED, model_bytes, read_pieces

OUT = pathlib.Path(__file__).parent.parent / "tests/golden/tokenizer"
SPACE = "\u2581"

WORDS = """the quick brown fox jumps It's we'll THEY'RE don't I'M I'd naïve café Straße Größe Ελληνικά Привет мир שלום
עולם مرحبا بالعالم नमस्ते दुनिया ไทย สวัสดี 你好世界 日本語のテキスト 한국어 Việt ｆｕｌｌ Ⅷ ½ ² ١٢٣ 12 3456 7890123 3.14 1,000 0x1F
foo_bar camelCase HTTPServer __init__ a+b==c // /* */ {}; "q" `x` $HOME <b> </b> <table> <h1> [multimodal] <0x0A> ▁ ▁▁
Ġ Ċ ſ 'ſ K ﬁ e\u0301 \u200d \ufeff \u180e 👍 👍🏽 👨‍👩‍👧‍👦 🇩🇪🇫🇷 ❤️ 🏴\U000e0067\U000e0062\U000e007f \ufffd \x00 \x01 \x04 \x7f \u0378 \U000e0001
\U0010ffff 𝒳 𐍈 ㎏ … — “” \u1c89 \U00032000 \U0001e4f0 \ua7da""".split()
GAPS = [" "] * 6 + ["", "", "", "  ", "   ", " " * 7, " " * 40, "\n", "\n\n", "\n" * 5, "\n" * 33, "\r\n", "\t", "\t\t\t",
                    " \n", "\n  ", "\u00a0", "\u3000", "\u0085", "\u2028"]
CONTROL_TEXTS = ["<s>", "</s>", "<unk>", "<bos>", "<eos>", "<unused5>", "<start_of_turn>", "<end_of_turn>",
                 "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|special|>"]
PROSE = [
    "Der Fluß führt Hochwasser; die Wehre halten ihn zurück. Das Wasser fällt 3,5 m tief.",
    "A weir is a low dam: it holds a pool back and lets water pass to the next one.\n\nIt doesn't stop it, it's slow.",
    "Плотина удерживает воду. Η υδατοφράχτης κρατά το νερό. 堰は水をせき止める。둑은 물을 막는다. הסכר עוצר את המים.",
    "السد يحجز المياه ١٢٣. बाँध पानी को रोकता है। เขื่อนกั้นน้ำ Đập giữ nước lại. Ünïcödé ÀÉÎÕÜ ñandú.",
    "def weir(height: float, *, width=1_000) -> float:\n\t\"\"\"Flow in m³/s.\"\"\"\n\treturn 1.84 * width * height ** 1.5\n",
    "for (size_t i = 0; i < n; ++i) {\n    sum += a[i] * b[i];  // dot product\n}\n",
    "{\"id\": 12345, \"tags\": [\"α\", null, true], \"url\": \"https://example.org/a?b=c&d=%20\"}\r\n",
    "2026-11-29 19:09:56,123 WARN  [io] short read: 4096 of 65536 bytes (retry 3/10)\n",
    "I'M SURE YOU'RE RIGHT, SHE'D SAID; THEY'LL COME. i'm, you're, she'd, they'll, we've, it's, don't",
    "👍 👨‍👩‍👧‍👦 🇩🇪🇯🇵 ❤️‍🔥 1️⃣ ☕️ 🏳️‍🌈 e\u0301 n\u0303 \u1100\u1161\u11a8",
]


def corpus(seed, count):
    """Texts of every kind that a user or a hostile client may send: valid UTF-8, NUL and all."""
    random_ = random.Random(seed)
    texts = ["", " ", "  ", "\n", "\x00", "a", "\u2581", "".join(map(chr, range(256)))] + PROSE
    texts += [c * n for c in ["a", " ", "\n", "\t", "1", ".", "é", "👍", "aA", "ab ", "\r\n"] for n in (2, 3, 17, 70)]
    planes = [(1, 0x80), (1, 0x800), (1, 0x3000), (0x3000, 0xD800), (0xE000, 0x110000)]
    while len(texts) < count:
        kind = random_.random()
        if kind < 0.6:
            parts = [random_.choice(WORDS) + random_.choice(GAPS) for _ in range(random_.randint(1, 12))]
        elif kind < 0.7:
            parts = [random_.choice(WORDS + CONTROL_TEXTS) + random_.choice(GAPS) for _ in range(random_.randint(1, 8))]
        elif kind < 0.85:
            ranges = [random_.choice(planes) for _ in range(random_.randint(1, 30))]
            parts = [chr(random_.randrange(*r)) for r in ranges]
        else:
            parts = random_.choices(" \n\t\rab1.,'\"sS/", k=random_.randint(1, 40))
        texts.append("".join(parts).encode("utf-8", "ignore").decode())
    return texts


def training_text():
    # Trained on prose and half of the words only, so that the goldens meet words never seen.
    return (PROSE + [" ".join(WORDS[::2])] + [w for w in WORDS[:60:2]]) * 4


def split_on(*expressions):
    splits = [pre_tokenizers.Split(Regex(e), "isolated", invert=False) for e in expressions]
    return pre_tokenizers.Sequence(splits + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
PRE_TOKENIZERS = {
    "llama-bpe": split_on(CONTRACTIONS + "|" + LEAD + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL),
    "qwen2": split_on(CONTRACTIONS + "|" + LEAD + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL),
    "gpt-4o": split_on(f"{LEAD}{UPPER}*{LOWER}+{CONTRACTIONS}?|{LEAD}{UPPER}+{LOWER}*{CONTRACTIONS}?"
                       r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + TAIL),
    "deepseek-v3": split_on(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
                            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
                            r"| ?[\p{P}\p{S}]+[\r\n]*" + TAIL),
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]),
}


def with_added_tokens(tokenizer, user_defined, control):
    """Two tokenizers: of user text (control tokens are text) and of template text."""
    user = Tokenizer.from_str(tokenizer.to_str())
    user.add_tokens([AddedToken(t, normalized=True, special=False) for t in user_defined])
    template = Tokenizer.from_str(user.to_str())
    template.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in control])
    return user, template


def golden(texts, user_encode, template, control):
    cases = []
    for text in texts:
        ids = user_encode(text)
        case = {"text": text, "ids": ids}
        if any(token in text for token in control):
            case["parsed"] = template.encode(text, add_special_tokens=False).ids
        decoded = template.decode(ids, skip_special_tokens=True)
        if decoded != text:
            case["decoded"] = decoded
        cases.append(case)
    return cases


def write(name, content):
    path = OUT / name
    path.write_text(json.dumps(content, ensure_ascii=True, separators=(",", ":")).replace("},{", "},\n{") + "\n")
    print(f"{path.name}: {path.stat().st_size} bytes")


def make_byte_level(name, vocabulary_tokens):
    tokenizer = Tokenizer(models.BPE(ignore_merges=name == "llama-bpe"))
    tokenizer.pre_tokenizer = PRE_TOKENIZERS[name]
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary_tokens, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(training_text(), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    user_defined, control = ["<tool_call>", "<b>"], ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    user, template = with_added_tokens(tokenizer, user_defined, control)
    encode = lambda text: user.encode(text, add_special_tokens=False).ids
    write(f"{name}.json", {
        "pre": name, "tokens": tokens + user_defined + control,
        "kinds": {"user_defined": user_defined, "control": control},
        "merges": [" ".join(m) for m in model["merges"]],
        "cases": golden(corpus(name, 260), encode, template, control)})


def merges_by_score(pieces):
    """The merges that Hugging Face's converter derives from scores: best score first, then longest left part."""
    vocabulary = {text for text, _, kind in pieces if kind in (NORMAL, USER_DEFINED)}
    ids = {text: i for i, (text, _, _) in enumerate(pieces)}
    merges = []
    for text, score, kind in pieces:
        if kind != NORMAL:
            continue
        local = [(text[:k], text[k:], score) for k in range(1, len(text))
                 if text[:k] in vocabulary and text[k:] in vocabulary]
        merges += sorted(local, key=lambda m: (ids[m[0]], ids[m[1]]))
    merges.sort(key=lambda m: (m[2], len(m[0]), len(m[1])), reverse=True)
    return [(left, right) for left, right, _ in merges]


def tokenizers_of_pieces(pieces, space_prefix):
    model = models.BPE(vocab={text: i for i, (text, _, _) in enumerate(pieces)}, merges=merges_by_score(pieces),
                       byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    tokenizer = Tokenizer(model)
    replace = normalizers.Replace(" ", SPACE)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), replace]) if space_prefix else replace
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if space_prefix else []))
    return with_added_tokens(tokenizer, [t for t, _, k in pieces if k == USER_DEFINED],
                             [t for t, _, k in pieces if k in (CONTROL, UNKNOWN)])


def pieces_golden(name, pieces, space_prefix, texts, vocabulary):
    """`sentencepiece` decides; where it can be asked, `tokenizers` must say the same."""
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model_bytes(pieces, space_prefix))
    user, template = tokenizers_of_pieces(pieces, space_prefix)
    control = [t for t, _, k in pieces if k in (CONTROL, UNKNOWN)]

    def encode(text):
        ids = user.encode(text, add_special_tokens=False).ids
        if "\0" not in text:  # sentencepiece's Python binding ends a text there
            original = processor.encode(text)
            assert original == ids, (name, text, original, ids)
        return ids

    write(f"{name}.json", {**vocabulary, "cases": golden(texts, encode, template, control)})


def make_pieces(name, user_defined, space_prefix):
    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for text in training_text() for line in text.split("\n")), model_writer=trained,
        model_type="bpe", vocab_size=1200, byte_fallback=True, character_coverage=0.98,
        normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=space_prefix,
        user_defined_symbols=user_defined, minloglevel=2, num_threads=1)
    pieces = read_pieces(trained.getvalue())
    pieces_golden(name, pieces, space_prefix, corpus(name, 260), {
        "tokens": [t.replace(SPACE, " ") if k == USER_DEFINED else t for t, _, k in pieces],
        "scores": [s for _, s, _ in pieces], "token_types": [k for _, _, k in pieces], "space_prefix": space_prefix})


def read_gguf(path):
    import gguf
    fields = gguf.GGUFReader(path).fields
    return lambda key: fields[f"tokenizer.ggml.{key}"].contents()


def make_smollm(path):
    field = read_gguf(path)
    tokens, kinds = field("tokens"), field("token_type")
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)},
                                     merges=[tuple(m.split(" ")) for m in field("merges")]))
    tokenizer.pre_tokenizer = PRE_TOKENIZERS["smollm"]
    tokenizer.decoder = decoders.ByteLevel()
    control = [t for t, k in zip(tokens, kinds) if k == CONTROL]
    user, template = with_added_tokens(tokenizer, [], control)
    encode = lambda text: user.encode(text, add_special_tokens=False).ids
    write("smollm2-135m.json", {"cases": golden(corpus("smollm", 400), encode, template, control)})


def make_gemma(path):
    field = read_gguf(path)
    pieces = []
    for text, score, kind in zip(field("tokens"), field("scores"), field("token_type")):
        # The converter to GGUF wrote U+2581 of user-defined tokens as spaces and called <unk> a control token.
        pieces.append((text.replace(" ", SPACE) if kind == USER_DEFINED else text, score,
                       UNKNOWN if text == "<unk>" else kind))
    pieces_golden("gemma3-270m", pieces, False, corpus("gemma", 400), {})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gemma")
    parser.add_argument("--smollm")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    for name in ("qwen2", "llama-bpe", "gpt-4o", "deepseek-v3"):
        make_byte_level(name, 1500)
    make_pieces("llama2", [], True)
    make_pieces("gemma-like", ["<b>", "<table>"] + [SPACE * n for n in range(2, 9)] + ["\n" * n for n in range(1, 5)],
                False)
    if arguments.smollm:
        make_smollm(arguments.smollm)
    if arguments.gemma:
        make_gemma(arguments.gemma)


if __name__ == "__main__":
    main()
