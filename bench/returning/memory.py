"""Flags of memory: all that a program likes, or the same few bytes for both; and what is best with few."""

import dataclasses
import math

import chats
from programs import Program

TILE = 128
CELLS = 256  # the peer rounds its cells up to a multiple
BATCH = 512  # of the peer, which its window cells hold too
SHOW_BYTES = ["--log-verbosity", "4"]  # the peer then says what it allocated


def round_up(count, unit):
    return -(-count // unit) * unit


def roomy(weir, peers, size):
    """Everything fits. The peer has a slot a conversation, and RAM for those that lose theirs."""
    context = round_up(size.context, CELLS)
    commands = {"weir": [*weir, "-c", str(context), "--kv-memory", "2G"]}
    for name, command in peers.items():
        commands[name] = [*command, "-np", str(size.chats), "-c", str(size.chats * context), "--cache-ram", "8192",
                          "--no-cache-idle-slots"]
    return commands


@dataclasses.dataclass(frozen=True)
class KvBytes:
    """KV of a model: bytes of a token in all layers of a group, and the window in tokens."""

    full: int
    window: int
    window_tokens: int

    def weir(self, tokens):
        """Of a conversation: whole tiles, and of windows the most that a sequence can own."""
        window_tiles = round_up(self.window_tokens - 1, TILE) // TILE + 1
        return round_up(tokens, TILE) * self.full + window_tiles * TILE * self.window

    def peer(self, slots, cells):
        """Its two caches, unified, as it allocates them at start."""
        window_cells = min(cells, round_up(slots * self.window_tokens + BATCH, CELLS))
        return cells * self.full + window_cells * self.window


@dataclasses.dataclass(frozen=True)
class Budget:
    """KV memory for `size.room` conversations."""

    kv: KvBytes
    room: int
    tokens: int  # of a conversation at its end

    @property
    def cells(self):
        return round_up(self.room * self.tokens, CELLS)

    @property
    def bytes(self):
        """What the more demanding of the two needs for them."""
        return max(self.room * self.kv.weir(self.tokens), self.kv.peer(self.room, self.cells))

    @property
    def window_share(self):
        """Of Weir's bytes, for its windows: just those of the conversations that fit."""
        windows = self.room * (self.kv.weir(self.tokens) - round_up(self.tokens, TILE) * self.kv.full)
        return math.floor(100 * windows / self.bytes) / 100

    def commands(self, weir, name, peer):
        """The peer twice: as many slots as conversations fit, or one slot and the rest for its host cache."""
        peer, one = [*peer, *SHOW_BYTES], round_up(self.tokens, CELLS)
        rest_mib = (self.bytes - self.kv.peer(1, one)) >> 20
        return {
            "weir": [*weir, "-c", str(self.tokens), "--kv-memory", str(self.bytes),
                     "--kv-window-share", str(self.window_share)],
            f"{name}, {self.room} slots": [*peer, "-np", str(self.room), "-kvu", "-c", str(self.cells),
                                           "--cache-ram", "0"],
            f"{name}, host cache": [*peer, "-np", "1", "-c", str(one), "--cache-ram", str(max(rest_mib, 1))],
        }


def measure_budget(weir, size, window_tokens):
    """Asks a small server for its tiles and for the tokens of the longest conversation."""
    with Program("weir", [*weir, "-c", "1024", "--kv-memory", "128M"]) as program:
        pools = {p["name"]: p["tile_bytes"] for p in program.json("GET", "/v1/cache")["pools"]}
        tokens = max(count_tokens(program, size, i) for i in range(size.chats))
    kv = KvBytes(pools.get("full", 0) // TILE, pools.get("window", 0) // TILE, window_tokens)
    return Budget(kv, size.room, round_up(tokens, TILE))


def count_tokens(program, size, chat):
    """Of a conversation at its end, about."""
    said = chats.chat(size.tokens, chat) + [chats.user(chats.next_question(chat, r + 1)) for r in range(size.rounds)]
    text = "\n".join(message["content"] for message in said)
    said_tokens = program.json("POST", "/tokenize", {"content": text})["count"]
    answers = size.rounds + 1
    return said_tokens + answers * size.answer + chats.MARKS * (len(said) + answers)


def best_hits(order, room):
    """Whether each turn finds its conversation if always the one that returns last leaves (Belady's MIN).

    The conversation whose turn it is must be held meanwhile, so it is never the one that leaves.
    """
    held, hits = set(), []
    for i, chat in enumerate(order):
        hits.append(chat in held)
        if chat not in held and len(held) == room:
            later = order[i + 1 :]
            held.remove(max(held, key=lambda c: later.index(c) if c in later else len(order)))
        held.add(chat)
    return hits
