"""Conversations of a wanted length, the same in every run, and what people do to them."""

import random

DETERMINERS = "the a this that every another".split()
ADJECTIVES = "old new small large red blue green cold warm quiet long early late strange heavy open".split()
NOUNS = """house river garden window road city table letter story horse tree island ship train bridge door school
    teacher doctor farmer child friend morning winter market bank paper stone silver water fire snow bread machine
    map clock""".split()
VERBS = "found lost kept sold moved opened watched carried painted built reached crossed heard turned cleaned".split()
QUESTION, ANSWER, NEXT_QUESTION = 60, 140, 32  # words of a message
MARKS = 5  # tokens around a message


def words(count, seed):
    """About `count` tokens of plain sentences; a common word and a full stop are a token each."""
    rng = random.Random(f"words {seed}")
    said = []
    while len(said) < count:
        said += [rng.choice(DETERMINERS), rng.choice(ADJECTIVES), rng.choice(NOUNS), rng.choice(VERBS),
                 rng.choice(DETERMINERS), rng.choice(NOUNS), "."]
    return " ".join(said).replace(" .", ".")


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def chat(tokens, seed):
    """Questions and answers of about so many tokens in all, ending with a question."""
    messages = []
    for i in range(max(2, tokens // (QUESTION + ANSWER + 2 * MARKS))):
        messages += [user(words(QUESTION, f"{seed} q{i}")), assistant(words(ANSWER, f"{seed} a{i}"))]
    return [*messages, user(next_question(seed, 0))]


def next_question(seed, turn):
    return words(NEXT_QUESTION, f"{seed} next {turn}")


def edited(messages, share):
    """Another word in the middle of the message that stands at this share of the chat."""
    i = int(len(messages) * share)
    said = messages[i]["content"].split()
    said[len(said) // 2] = "piano"
    return [*messages[:i], {**messages[i], "content": " ".join(said)}, *messages[i + 1 :]]


def branched(messages, share, seed):
    """The chat up to a share of it, and then another question."""
    kept = 2 * max(1, int(len(messages) * share / 2))  # whole exchanges
    return [*messages[:kept], user(words(QUESTION, f"{seed} instead"))]
