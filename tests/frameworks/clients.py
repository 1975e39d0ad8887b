"""The clients: each is a program in clients/, which uses its library as its users do. What it has to do is the same for all
(clients/scenario.js, scenario.py): it declares its queue, consumes it, publishes its messages when told so, and rejects each as
often as that says."""
import dataclasses
import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ALL = ("3.10", "4.0", "4.3")
FROM_4_0 = ("4.0", "4.3")
NEWEST = ("4.3",)


@dataclasses.dataclass(frozen=True)
class Client:
    name: str          # as its users call it
    program: str       # in clients/
    source: str        # the package that it is from: npm's name, or Debian's
    versions: tuple = NEWEST
    returned: str = "queue"       # the `return` of its ladder
    declares: bool = True         # its queue; else the test does
    queue_type: str = "classic"   # of a queue that the test declares
    keyed: bool = False           # it publishes to an exchange, with this routing key
    verdicts: bool = False        # it tells with `modified` when to come back
    x_death: str = "remove"       # of its entry

    @property
    def queue(self):
        return "orders." + self.program.rpartition(".")[0]

    def command(self, build):
        path = HERE / "clients" / self.program
        return {".js": ["node", path], ".py": ["/usr/bin/python3", path], ".rb": ["/usr/bin/ruby", path],
                ".php": ["/usr/bin/php", path], ".go": [build / path.stem], ".pl": ["/usr/bin/perl", path]}[path.suffix]

    @property
    def from_npm(self):
        return self.program.endswith(".js")


CLIENTS = (
    Client("amqplib", "amqplib.js", "amqplib", ALL),
    Client("amqp-connection-manager", "amqp-connection-manager.js", "amqp-connection-manager"),
    Client("Rascal", "rascal.js", "rascal", keyed=True),
    Client("Rascal, republish with immediateNack", "rascal-republish.js", "rascal", ALL, keyed=True, x_death="keep"),
    Client("NestJS microservices", "nestjs.js", "@nestjs/microservices", ALL),
    Client("golevelup/nestjs-rabbitmq", "golevelup.js", "@golevelup/nestjs-rabbitmq", keyed=True),
    Client("foo-foo-mq", "foo-foo-mq.js", "foo-foo-mq", ("3.10", "4.0"), returned="headers", keyed=True),
    Client("rabbitmq-client", "rabbitmq-client.js", "rabbitmq-client"),
    Client("Moleculer channels", "moleculer-channels.js", "@moleculer/channels", keyed=True),
    # On 4.0.5 the last rejection of a message did not reach the error queue, in five runs of five: see docs/frameworks.md.
    Client("rhea (AMQP 1.0)", "rhea.js", "rhea", declares=False, queue_type="quorum", verdicts=True),
    Client("Qpid Proton (AMQP 1.0)", "client_proton.py", "python3-qpid-proton", FROM_4_0, declares=False,
           queue_type="quorum", verdicts=True),
    Client("pika", "client_pika.py", "python3-pika", ALL),
    Client("aio-pika", "client_aio_pika.py", "python3-aio-pika"),
    Client("kombu", "client_kombu.py", "python3-kombu", keyed=True),
    Client("Celery", "client_celery.py", "python3-celery"),
    Client("Bunny", "bunny.rb", "ruby-bunny", ALL),
    Client("php-amqplib", "php-amqplib.php", "php-amqplib"),
    Client("Symfony Messenger", "symfony.php", "php-symfony-messenger", keyed=True),
    Client("stomp.py (STOMP)", "client_stomp.py", "python3-stomp", ALL, declares=False),
    Client("paho (MQTT), its messages read by pika", "client_paho.py", "python3-paho-mqtt", ALL),
    Client("amqp091-go", "amqp091-go.go", "golang-github-rabbitmq-amqp091-go-dev"),
)


def of_version(version):
    only = os.environ.get("RETRYD_FRAMEWORKS")
    return [client for client in CLIENTS
            if version in client.versions and (not only or client.program.rpartition(".")[0] in only.split(","))]
