"""The clients: each is a program in clients/, which uses its library as its users do. What it has to do is the same for all
(clients/scenario.js, scenario.py): it declares its queue, consumes it, publishes its messages when told so, and rejects each as
often as that says."""
import dataclasses
import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ALL = ("3.10", "4.0", "4.3")
FROM_4_0 = ("4.0", "4.3")
BEFORE_4_1 = ("3.10", "4.0")


@dataclasses.dataclass(frozen=True)
class Client:
    name: str          # as its users call it
    program: str       # in clients/
    source: str        # the package that it is from: npm's name, or Debian's
    versions: tuple = ALL         # of RabbitMQ
    why: str = ""                 # of no others
    returned: str = "queue"       # the `return` of its ladder
    declares: bool = True         # its queue; else the test does
    queue_type: str = "classic"   # of a queue that the test declares
    keyed: bool = False           # it publishes to an exchange, with this routing key
    verdicts: bool = False        # it tells with `modified` when to come back
    x_death: str = "remove"       # of its entry
    dialect: str = ""             # its queue dead-letters into a queue of its own, which is a source of this dialect
    variant: str = ""             # of those of one program

    @property
    def queue(self):
        return "orders." + self.own

    @property
    def own(self):
        return self.program.rpartition(".")[0] + self.variant

    @property
    def dead(self):
        return self.queue + ".dead"

    def command(self, build):
        path = HERE / "clients" / self.program
        return {".js": ["node", path], ".py": ["/usr/bin/python3", path], ".rb": ["/usr/bin/ruby", path],
                ".php": ["/usr/bin/php", path], ".go": [build / path.stem], ".pl": ["/usr/bin/perl", path]}[path.suffix]

    @property
    def from_npm(self):
        return self.program.endswith(".js")


PLUGIN = "the AMQP 1.0 of 3.10 is a plugin, without `modified`"

CLIENTS = (
    Client("amqplib", "amqplib.js", "amqplib"),
    Client("amqp-connection-manager", "amqp-connection-manager.js", "amqp-connection-manager"),
    Client("Rascal", "rascal.js", "rascal", keyed=True),
    Client("Rascal, republish with immediateNack", "rascal-republish.js", "rascal", keyed=True, x_death="keep"),
    Client("NestJS microservices", "nestjs.js", "@nestjs/microservices"),
    Client("golevelup/nestjs-rabbitmq", "golevelup.js", "@golevelup/nestjs-rabbitmq", keyed=True),
    Client("foo-foo-mq", "foo-foo-mq.js", "foo-foo-mq", BEFORE_4_1,
           "its amqplib 0.8 offers a `frame_max` that RabbitMQ refuses from 4.1 on", returned="headers", keyed=True),
    Client("rabbitmq-client", "rabbitmq-client.js", "rabbitmq-client"),
    Client("Moleculer channels", "moleculer-channels.js", "@moleculer/channels", keyed=True),
    Client("rhea (AMQP 1.0)", "rhea.js", "rhea", FROM_4_0, PLUGIN, declares=False, queue_type="quorum", verdicts=True),
    Client("Qpid Proton (AMQP 1.0)", "client_proton.py", "python3-qpid-proton", FROM_4_0, PLUGIN, declares=False,
           queue_type="quorum", verdicts=True),
    Client("pika", "client_pika.py", "python3-pika"),
    Client("aio-pika", "client_aio_pika.py", "python3-aio-pika"),
    Client("kombu", "client_kombu.py", "python3-kombu", keyed=True),
    Client("Celery", "client_celery.py", "python3-celery"),
    Client("Celery, with a dead-letter queue that is a source", "client_celery.py", "python3-celery", dialect="celery",
           variant="-source"),
    Client("Bunny", "bunny.rb", "ruby-bunny"),
    Client("php-amqplib", "php-amqplib.php", "php-amqplib"),
    Client("Symfony Messenger", "symfony.php", "php-symfony-messenger", keyed=True),
    Client("stomp.py (STOMP)", "client_stomp.py", "python3-stomp", declares=False),
    Client("paho (MQTT), its messages read by pika", "client_paho.py", "python3-paho-mqtt"),
    Client("amqp091-go", "amqp091-go.go", "golang-github-rabbitmq-amqp091-go-dev"),
)

# What the page tells of all the same: not in npm, nor in Debian 12, so not tried.
NOT_HAD = (
    ("Kicks (Sneakers)", "RubyGems only; its handler Maxretry is played by Bunny in the storms"),
    ("Laravel", "its queue for RabbitMQ is in Packagist only"),
    ("Dramatiq", "PyPI only"),
    ("Spring AMQP", "Maven only"),
    ("MassTransit, NServiceBus, Rebus, EasyNetQ", "NuGet only"),
)


def of_version(version):
    only = os.environ.get("RETRYD_FRAMEWORKS")
    return [client for client in CLIENTS
            if version in client.versions and (not only or client.own in only.split(","))]
