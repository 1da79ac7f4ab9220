"""What Kimi CLI and Kimi Code have in common: parts of messages, and arguments that are JSON in a text."""

from facts import at, maps, parse, text_of


def part(facts, author, value, time):
    kind = value.get("type")
    if kind == "text":
        facts.say(author, text_of(value.get("text")), time)
    elif kind == "think":
        facts.think(text_of(value.get("think")), time)
    else:
        facts.show(address(value))


def parts(facts, author, content, time):
    if isinstance(content, str):
        facts.say(author, content, time)
    for value in maps(content):
        part(facts, author, value, time)


def address(value):
    for old, new in (("image_url", "imageUrl"), ("video_url", "videoUrl"), ("audio_url", "audioUrl")):
        found = at(value, old, "url") or at(value, new, "url")
        # A record has no word for a film or a sound whose type nobody tells: such an address stays in the kept line.
        if found and (old == "image_url" or found.startswith("data:")):
            return found
    return None


def output(facts, value):
    """The text of what a tool gave, with its pictures shown."""
    if isinstance(value, str):
        return value
    for element in maps(value):
        facts.show(address(element))
    return "".join(text_of(element.get("text")) for element in maps(value))


def arguments(value):
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except ValueError:
        return value
