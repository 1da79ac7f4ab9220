"""Changes of the evidence of a run, each of which the judge must find. A change returns whether it applies to the run."""

import json

from cells import FINAL, STATES, THOUGHTS
from verdict import declares


def failing(_, __, ___, evidence):
    evidence.code = 1
    return True


def not_edited(_, __, ___, evidence):
    evidence.notes = "first\nlast\n"
    return True


def other_transport(_, agent, __, evidence):
    evidence.errors = ""
    return bool(agent.logs)


def no_file(_, __, ___, evidence):
    evidence.notes = None
    return True


def changed_settings(_, __, ___, evidence):
    evidence.changed = ["settings.json"]
    return True


def left_folder(_, __, ___, evidence):
    evidence.left = ["interlingua-x"]
    return True


def no_closing_text(_, __, ___, evidence):
    for piece in (FINAL, *FINAL.split()):
        evidence.output = evidence.output.replace(piece, "")
    return True


def no_result_shown(_, __, ___, evidence):
    evidence.output = evidence.output.replace(evidence.secrets[1], "")
    return True


def failure_hidden(_, agent, __, evidence):
    evidence.output = evidence.output.replace(agent.failed[-1], "")
    return True


def no_thought(_, agent, __, evidence):
    evidence.output = evidence.output.replace(THOUGHTS[1], "")
    return agent.shows_thoughts


def last_of_task(cell, turns, evidence):
    return max(number for number, exchange in enumerate(evidence.exchanges) if declares(exchange.body, turns, cell.dialect))


def in_last_request(old, new):
    """Replaces a text in the last request of the task."""
    def change(cell, _, turns, evidence):
        number = last_of_task(cell, turns, evidence)
        before = json.dumps(evidence.exchanges[number].body)
        text = before.replace(old(evidence), new(evidence))
        evidence.exchanges[number] = evidence.exchanges[number]._replace(body=json.loads(text))
        return text != before
    return change


def swapped(cell, _, turns, evidence):
    """The results of the two commands, each with the call of the other command."""
    number = last_of_task(cell, turns, evidence)
    left, right = evidence.secrets
    text = json.dumps(evidence.exchanges[number].body).replace(left, "@").replace(right, left).replace("@", right)
    evidence.exchanges[number] = evidence.exchanges[number]._replace(body=json.loads(text))
    return True


def no_state(cell, agent, turns, evidence):
    return in_last_request(lambda _: STATES[0], lambda _: "")(cell, agent, turns, evidence) and cell.state


def no_last_request(cell, _, turns, evidence):
    del evidence.exchanges[last_of_task(cell, turns, evidence)]
    return True


def one_more_request(cell, _, turns, evidence):
    evidence.exchanges.append(evidence.exchanges[last_of_task(cell, turns, evidence)])
    return True


def refused(_, __, ___, evidence):
    evidence.exchanges[0] = evidence.exchanges[0]._replace(status=400)
    return True


def unanswered(cell, _, turns, evidence):
    """The last request without the result of the last call."""
    number = last_of_task(cell, turns, evidence)
    body = evidence.exchanges[number].body
    if cell.dialect == "gemini":
        body["contents"] = [content for content in body["contents"] if "functionResponse" not in str(content) or content is not body["contents"][-1]]
    elif cell.dialect == "openai-responses":
        body["input"] = [item for item in body["input"] if item is not body["input"][-1]]
    else:
        body["messages"] = body["messages"][:-1]
    return True


BREAKS = {
    "exit code 1": failing,
    "file not edited": not_edited,
    "no file": no_file,
    "not logged": other_transport,
    "settings changed": changed_settings,
    "private folder left": left_folder,
    "no closing text": no_closing_text,
    "a result is not shown": no_result_shown,
    "the failure is not shown": failure_hidden,
    "a thought is not shown": no_thought,
    "a result is lost": in_last_request(lambda evidence: evidence.secrets[0], lambda _: ""),
    "an argument is changed": in_last_request(lambda _: "left.txt", lambda _: "other.txt"),
    "results are swapped": swapped,
    "the state of a thought is lost": no_state,
    "a request is missing": no_last_request,
    "a request is sent twice": one_more_request,
    "a request is refused": refused,
    "a call has no result": unanswered,
}
