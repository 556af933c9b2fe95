#!/usr/bin/env python3
"""Renders the chat templates of tests/golden/templates with Hugging Face transformers (jinja2).

Writes prompts.json (each template over each conversation) and expressions.json (small templates over
the variables below). Needs transformers (see tests/golden/templates/README.md for the version).
With --templates DIR --out DIR it does the first part for other templates, to compare by hand.
"""
import argparse
import datetime
import json
import pathlib

from jinja2.exceptions import TemplateError
from transformers.utils import chat_template_utils

from template_expressions import EXPRESSIONS, VARIABLES

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/templates"
BOS, EOS = "<BOS>", "<EOS>"


class FixedClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 11, 29)


chat_template_utils.datetime = FixedClock


def outcome(render):
    try:
        return {"text": render()}
    except Exception as error:  # whatever Python raises, the template failed
        if type(error) is TemplateError:
            return {"raises": str(error)}
        return {"fails": f"{type(error).__name__}: {error}"}


def render_chat(source, case, tools, add_generation_prompt):
    rendered, _ = chat_template_utils.render_jinja_template(
        [case["messages"]], tools=tools.get(case.get("tools")), chat_template=source,
        add_generation_prompt=add_generation_prompt, bos_token=BOS, eos_token=EOS,
        **case.get("extra", {}))
    return rendered[0]


def make_prompts(templates, out):
    cases = json.loads((GOLDEN / "conversations.json").read_text())
    tools = json.loads((GOLDEN / "tools.json").read_text())
    rows = []
    for path in sorted(templates.glob("*.jinja")):
        source = path.read_text()
        for case in cases:
            for add in (True, False):
                if not add and case["name"] not in ("hello", "answer last", "reasoning", "tool round"):
                    continue
                row = {"template": path.stem, "conversation": case["name"], "generation": add}
                row.update(outcome(lambda: render_chat(source, case, tools, add)))
                rows.append(json.dumps(row, ensure_ascii=False))
    (out / "prompts.json").write_text("[\n" + ",\n".join(rows) + "\n]\n")


def make_expressions(out):
    rows = []
    for source in EXPRESSIONS:
        row = {"source": source}
        row.update(outcome(
            lambda: chat_template_utils._compile_jinja_template(source).render(**VARIABLES)))
        rows.append(json.dumps(row, ensure_ascii=False))
    variables = json.dumps(VARIABLES, ensure_ascii=False)
    (out / "expressions.json").write_text(
        '{"variables": ' + variables + ',\n"cases": [\n' + ",\n".join(rows) + "\n]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--templates", type=pathlib.Path, default=GOLDEN)
    parser.add_argument("--out", type=pathlib.Path, default=GOLDEN)
    arguments = parser.parse_args()
    make_prompts(arguments.templates, arguments.out)
    if arguments.out == GOLDEN:
        make_expressions(arguments.out)


if __name__ == "__main__":
    main()
