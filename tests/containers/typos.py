"""Whether a schema is strict: misspells each field once and looks whether anybody sees it."""
import copy


def maps(value, free, path=()):
    """The path of every map in it, but for those whose name is in `free`: their keys are anybody's."""
    if isinstance(value, dict):
        if not path or path[-1] not in free:
            yield path
        for key, part in value.items():
            yield from maps(part, free, path + (key,))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from maps(part, free, path + (number,))


def at(value, path):
    for step in path:
        value = value[step]
    return value


def unseen(value, free, refused):
    """The fields that can be misspelt without `refused` giving a single reason."""
    for path in maps(value, free):
        for key in at(value, path):
            spoilt = copy.deepcopy(value)
            place = at(spoilt, path)
            place[key + "s"] = place.pop(key)
            if not list(refused(spoilt)):
                yield "nobody sees that %s is misspelt" % ".".join(map(str, path + (key,)))
