"""What returning users do. A scenario runs on fresh servers, which take turns request by request."""

import contextlib
import dataclasses
import itertools

import chats
from programs import Program


@dataclasses.dataclass(frozen=True)
class Size:
    chats: int  # conversations
    room: int  # of these, what memory holds in `tight`
    tokens: int  # of a conversation at its start
    rounds: int  # in which each conversation takes a turn
    samples: int  # of edits, of branches
    answer: int = 16  # tokens

    @property
    def context(self):
        """Tokens that hold a conversation at its end."""
        return self.tokens + 512 + self.rounds * (self.answer + 2 * chats.NEXT_QUESTION)


class Field:
    """The running servers of a scenario. `samples` gets a record of each request."""

    def __init__(self, scenario, commands, samples):
        self.scenario, self.commands, self.samples = scenario, commands, samples
        self._first = itertools.count()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.programs = [stack.enter_context(Program(*named)) for named in self.commands.items()]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        with self._stack:
            if error == (None, None, None):
                self.samples += [{"scenario": self.scenario, "step": "end", "program": program.name,
                                  "command": program.command, "peak_bytes": program.peak_bytes(),
                                  "kv_buffer_bytes": program.kv_buffer_bytes()} for program in self.programs]

    def in_turns(self):
        """The programs, each time another one first."""
        k = next(self._first) % len(self.programs)
        return [*self.programs[k:], *self.programs[:k]]

    def ask(self, program, step, messages, max_tokens, known=0):
        """`known`: tokens that this conversation had shown to the program before."""
        answer = program.chat(messages, max_tokens)
        self.samples.append({"scenario": self.scenario, "step": step, "program": program.name, "known": known,
                             **dataclasses.asdict(answer)})
        return answer

    def ask_all(self, step, messages, max_tokens):
        for program in self.in_turns():
            self.ask(program, step, messages, max_tokens)


class Talk:
    """One conversation, a copy for each program, because each has its own answers."""

    def __init__(self, field, messages, max_tokens):
        self.field, self.max_tokens = field, max_tokens
        self.messages = {p.name: messages for p in field.programs}
        self.known = {p.name: 0 for p in field.programs}

    def turn(self, step):
        for program in self.field.in_turns():
            name = program.name
            answer = self.field.ask(program, step, self.messages[name], self.max_tokens, self.known[name])
            self.known[name] = answer.prompt_tokens
            self.messages[name] = [*self.messages[name], chats.assistant(answer.text)]

    def say(self, text):
        self.messages = {name: [*said, chats.user(text)] for name, said in self.messages.items()}


def turns(field, size):
    """Conversations are read, and then go on one after the other, round by round."""
    talks = [Talk(field, chats.chat(size.tokens, i), size.answer) for i in range(size.chats)]
    for round_number in range(size.rounds + 1):
        for i, talk in enumerate(talks):
            if round_number:
                talk.say(chats.next_question(i, round_number))
            talk.turn("next turn" if round_number else "first reading")


def order_of_turns(size):
    return [*range(size.chats)] * (size.rounds + 1)


def edit(field, size):
    """A word is changed in the middle of a known chat."""
    for i in range(size.samples):
        messages = chats.chat(size.tokens, f"edit {i}")
        field.ask_all("first reading", messages, size.answer)
        field.ask_all("edited at 50 %", chats.edited(messages, 0.5), size.answer)


def branch(field, size):
    """A chat goes another way from somewhere inside, and then on from its end."""
    for i in range(size.samples):
        talk = Talk(field, chats.chat(size.tokens, f"branch {i}"), size.answer)
        talk.turn("first reading")
        share = (i + 1) / (size.samples + 1)
        for program in field.in_turns():
            other_way = chats.branched(talk.messages[program.name], share, i)
            field.ask(program, "branch", other_way, size.answer)
        talk.say(chats.next_question(f"branch {i}", 1))
        talk.turn("return")


def short(field, size):
    """A prompt shorter than the window is sent again."""
    for i, count in enumerate([90, 250, 400] * size.samples):
        messages = [chats.user(chats.words(count, f"short {i}"))]
        field.ask_all("first reading", messages, size.answer)
        field.ask_all("again", messages, size.answer)
