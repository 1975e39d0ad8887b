"""What happens to each mail: shown at once, remembered for the end, and checked against what retryd promises.

All of it is read from the mail itself, as any consumer could: x-death names the rung that it comes from, retryd-attempt
is the number of the attempt.
"""
from __future__ import annotations

import time
from dataclasses import dataclass, field

from pika import BasicProperties

import scene
import screen
from mails import MAILS, UNTIL_FIXED, Mail


@dataclass(frozen=True)
class Wait:
    """One time on a rung."""
    rung: str
    seconds: float  # measured at the consumer: from the rejection to the next delivery

    def __str__(self) -> str:
        configured = self.rung.rpartition(".")[2]
        return f"{self.seconds:.3f} s ({configured})"


@dataclass
class Story:
    mail: Mail
    rejections: list[float] = field(default_factory=list)  # when
    waits: list[Wait] = field(default_factory=list)
    is_parked: bool = False
    done: int = 0  # how many times


class Chronicle:
    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.stories = [Story(mail) for mail in MAILS]
        self.complaints = 0

    def story_of(self, properties: BasicProperties) -> Story:
        for story in self.stories:
            if story.mail.id == properties.message_id:
                return story
        raise RuntimeError("a message came that nobody has sent")

    def sent(self, mail: Mail) -> None:
        self._show(mail, "plain", "sent", f'"{mail.subject}", routing key {mail.routing_key}')

    def came(self, story: Story, properties: BasicProperties, body: bytes) -> None:
        now = time.monotonic()
        self.expect(not story.done, f"{story.mail.id} came once more after it was done")
        self.expect(story.mail.is_unchanged(properties, body), f"{story.mail.id} is not as it was sent")
        if story.rejections and not story.is_parked:
            self._came_back(story, properties.headers or {}, now - story.rejections[-1])

    def rejected(self, story: Story) -> None:
        story.rejections.append(time.monotonic())
        self._show(story.mail, "yellow", "rejected", f"try {len(story.rejections)} failed ({story.mail.trouble})")

    def done(self, story: Story) -> None:
        story.done += 1
        self._show(story.mail, "green", "done", f"on try {len(story.rejections) + 1}")

    def parked(self, story: Story, properties: BasicProperties, body: bytes) -> None:
        mail, reason = story.mail, (properties.headers or {}).get("retryd-parked-reason")
        self._show(mail, "magenta", "parked", f"in {scene.PARKING_QUEUE}: {reason}")
        self.expect(not story.is_parked, f"{mail.id} is parked twice")
        self.expect(reason == "attempts-exhausted", f"{mail.id} is parked for another reason than it should be")
        self.expect(len(story.rejections) > len(scene.LADDER), f"{mail.id} was parked too early")
        self.expect(mail.is_unchanged(properties, body), f"{mail.id} is not as it was sent")
        story.is_parked = True

    def expect(self, condition: bool, complaint: str) -> None:
        if not condition:
            self.complaints += 1
            screen.complaint(complaint)

    def is_settled(self) -> bool:
        """Whether each is done, or parked until somebody takes care of it."""
        return all(story.done or story.is_parked for story in self.stories)

    def show_ways(self) -> None:
        screen.say(screen.paint("dim", f"{'':30}{'waited on rungs 1, 2, 3 (configured)':45}end"))
        for story in self.stories:
            waits = [str(wait) for wait in story.waits] + ["-"] * (len(scene.LADDER) - len(story.waits))
            cells = "".join(f"{wait:15}" for wait in waits)
            if story.is_parked:
                end = screen.paint("magenta", "parked")
            elif story.done:
                end = screen.paint("green", "done") + f" on try {len(story.rejections) + 1}"
            else:
                end = screen.paint("red", "LOST")
            screen.say(f"{story.mail.id:8}{story.mail.subject:22}{cells}{end}")

    def show_verdict(self) -> bool:
        """Whether each mail was rejected, waited and was parked as expected, and nothing else went wrong."""
        for story in self.stories:
            self._check_end(story)
        done = [story for story in self.stories if story.done]
        replayed = [story for story in done if story.is_parked]
        waits = sum(len(story.waits) for story in self.stories)
        fine = not self.complaints
        verdict = screen.paint("green", "All as promised") if fine else screen.paint("red", "NOT as promised")
        screen.say(f"{verdict}: {len(self.stories)} sent, {len(done)} done ({len(replayed)} of them parked and "
                   f"replayed), {waits} waits, lost {len(self.stories) - len(done)}.")
        return fine

    def _came_back(self, story: Story, headers: dict, seconds: float) -> None:
        deaths = headers.get("x-death") or [{}]
        wait = Wait(deaths[0].get("queue", "nowhere"), seconds)
        story.waits.append(wait)
        self._show(story.mail, "cyan", "came back",
                   f"from {wait.rung} after {wait}, attempt {headers.get('retryd-attempt')}")
        self._check_wait(story.mail, len(story.rejections), wait, headers)

    def _check_wait(self, mail: Mail, attempt: int, wait: Wait, headers: dict) -> None:
        if attempt > len(scene.LADDER):
            self.expect(False, f"{mail.id} came back although its ladder is used up")
            return
        delay = scene.LADDER[attempt - 1]
        origin = {"retryd-queue": scene.WORK_QUEUE, "retryd-reason": "rejected",
                  "retryd-exchange": scene.EXCHANGE, "retryd-routing-key": mail.routing_key}
        self.expect(wait.rung == scene.rung(delay), f"{mail.id} should have waited in {scene.rung(delay)}")
        self.expect(wait.seconds >= delay, f"{mail.id} came back too early")
        self.expect(headers.get("retryd-attempt") == attempt, f"{mail.id} was rejected {attempt} times, not as it says")
        self.expect(origin.items() <= headers.items(), f"{mail.id} does not say in its headers where it comes from")

    def _check_end(self, story: Story) -> None:
        mail = story.mail
        is_hopeless = mail.failures == UNTIL_FIXED
        waits = len(scene.LADDER) if is_hopeless else mail.failures
        self.expect(story.done > 0, f"{mail.id} is lost")
        self.expect(len(story.waits) == waits, f"{mail.id} should have waited {waits} times")
        self.expect(story.is_parked == is_hopeless, f"{mail.id} was {'not ' if is_hopeless else ''}parked")

    def _show(self, mail: Mail, colour: str, what: str, details: str) -> None:
        screen.event(time.monotonic() - self.begin, mail.id, colour, what, details)
