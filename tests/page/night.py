"""Which tests are for the night: what every run need not show, because a shorter or a similar test shows it there."""


def night(test):
    """Decorates a test, or a class whose tests all are."""
    test.for_the_night = True
    return test


def every_run(*names):
    """Decorates a class of which no other tests than these are for every run."""
    def decorate(tests):
        tests.for_every_run = names
        return tests
    return decorate


def is_for_the_night(test):
    tests, name = type(test), test.id().rsplit(".", 1)[1]
    if "for_every_run" in vars(tests):
        return name not in tests.for_every_run
    return "for_the_night" in vars(tests) or hasattr(getattr(tests, name), "for_the_night")
