"""E-mail, to a server that speaks SMTP with encryption and logins."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from harness.core.alarm_message import AlarmMessage
from harness.core.alarm_protocols import AlarmChannel
from harness.core.errors import DeliveryFailed, UsageError
from harness.plugins import alarm_channel
from tests.e2e.repositories import need
from tests.reporters.channels.messages import ALL, MANY, NASTY, ONE, TEST, UPDATE
from tests.reporters.channels.smtp_server import MailBox, run_mail_server

LOGIN = ("ada", "secretpart")
ENVIRONMENT = {"HARNESS_SMTP_USER": LOGIN[0], "HARNESS_SMTP_PASSWORD": LOGIN[1]}
FROM = "from=harness@example.org"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 with its key, signed by itself."""
    need("openssl")
    file = tmp_path_factory.mktemp("certificate") / "server.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    extensions = ("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(file), "-out", f"{file}.crt")
    subprocess.run(["openssl", *words.split(), *extensions], check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


@pytest.fixture
def tls(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Encryption of a server, whose certificate this process trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def open_mail(
    box: MailBox, query: str = f"to=perf@example.org&{FROM}", *, scheme: str = "smtp", login: bool = False
) -> AlarmChannel:
    target = f"{scheme}://127.0.0.1:{box.port}?{query}"
    channel = alarm_channel("mail", target, ENVIRONMENT if login else {}, is_named=True)
    assert channel is not None
    return channel


def test_a_mail_is_text_and_html_for_all_receivers() -> None:
    with run_mail_server(MailBox()) as box:
        answer = open_mail(box, f"to=perf@example.org,ada@example.org&{FROM}").send(ONE)
    (mail,) = box.mails
    assert answer == "127.0.0.1 accepted it for perf@example.org, ada@example.org"
    assert (mail.sender, mail.receivers) == ("harness@example.org", ("perf@example.org", "ada@example.org"))
    assert mail.message["Subject"].startswith("▼ mv2/mv2-xnnpack_q8 on Pixel 8 became 3.1 % slower [2.6, 3.6] with")
    for kind in ("plain", "html"):
        part = mail.message.get_body((kind,))
        assert part is not None
        text = part.get_content()
        assert "+3.10 %" in text
        assert "https://perf.example/results/alarms/5f2b/index.html" in text
        assert "3.12" not in text


@pytest.mark.parametrize("name", ALL)
def test_each_message_is_taken(name: str) -> None:
    with run_mail_server(MailBox()) as box:
        open_mail(box).send(ALL[name])
    assert len(box.mails) == 1


def test_texts_of_commits_are_no_markup_and_no_headers() -> None:
    with run_mail_server(MailBox()) as box:
        open_mail(box).send(NASTY)
    (mail,) = box.mails
    part = mail.message.get_body(("html",))
    assert part is not None
    assert "<img" not in part.get_content()
    assert "\n" not in mail.message["Subject"]


def test_messages_about_one_cause_are_one_thread_and_a_repeated_one_is_the_same_mail() -> None:
    first = UPDATE.model_copy(update={"key": "k1", "is_update": False})
    with run_mail_server(MailBox()) as box:
        for message in (first, UPDATE, UPDATE):
            open_mail(box).send(message)
    opened, update, again = (mail.message for mail in box.mails)
    assert update["In-Reply-To"] == update["References"] == opened["Message-ID"]
    assert update["Message-ID"] == again["Message-ID"] != opened["Message-ID"]


def test_the_connection_is_encrypted_before_the_password_is_sent(tls: ssl.SSLContext) -> None:
    with run_mail_server(MailBox(tls=tls, login=LOGIN)) as box:
        open_mail(box, login=True).send(ONE)
    (mail,) = box.mails
    assert mail.is_encrypted
    assert mail.user == "ada"
    assert box.commands.index("STARTTLS") < box.commands.index("AUTH")


def test_smtps_is_encrypted_at_once(tls: ssl.SSLContext) -> None:
    with run_mail_server(MailBox(tls=tls, is_tls=True, login=LOGIN)) as box:
        open_mail(box, scheme="smtps", login=True).send(ONE)
    assert box.mails[0].is_encrypted
    assert "STARTTLS" not in box.commands


def test_a_server_that_is_not_trusted_gets_neither_password_nor_mail(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with (
        run_mail_server(MailBox(tls=context, login=LOGIN)) as box,
        pytest.raises(DeliveryFailed, match="certificate verify failed") as caught,
    ):
        open_mail(box, login=True).send(ONE)
    assert not caught.value.final
    assert "AUTH" not in box.commands
    assert box.mails == []


def test_a_password_is_never_sent_without_encryption() -> None:
    with run_mail_server(MailBox(login=LOGIN)) as box, pytest.raises(DeliveryFailed, match="not sent without it"):
        open_mail(box, login=True).send(ONE)
    assert "AUTH" not in box.commands


def test_a_wrong_password_is_tried_again_later_and_never_shown(tls: ssl.SSLContext) -> None:
    with (
        run_mail_server(MailBox(tls=tls, login=("ada", "another"))) as box,
        pytest.raises(DeliveryFailed, match="535") as caught,
    ):
        open_mail(box, login=True).send(ONE)
    assert not caught.value.final
    assert "secretpart" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "final"), [("451 4.3.0 try again later", False), ("552 5.3.4 too large", True), ("550 5.7.1 spam", True)]
)
def test_the_answer_tells_whether_to_try_again(answer: str, final: bool) -> None:
    with run_mail_server(MailBox(answer=answer)) as box, pytest.raises(DeliveryFailed, match=answer[:3]) as caught:
        open_mail(box).send(MANY)
    assert caught.value.final is final


@pytest.mark.parametrize("message", [ONE, TEST])
def test_a_receiver_that_is_refused_is_named_and_the_others_do_not_get_it_again(message: AlarmMessage) -> None:
    with run_mail_server(MailBox(refused={"gone@example.org": "550 5.1.1 no such user"})) as box:
        channel = open_mail(box, f"to=perf@example.org,gone@example.org&{FROM}")
        with pytest.raises(DeliveryFailed) as caught:
            channel.send(message)
        assert caught.value.message == (
            "127.0.0.1 accepted it for perf@example.org, but refused gone@example.org "
            "(127.0.0.1 answered 550 5.1.1 no such user)"
        )
        assert caught.value.final
        assert caught.value.received == ("perf@example.org",)
        box.refused.clear()
        rest = message.model_copy(update={"received": caught.value.received})
        assert channel.send(rest) == "127.0.0.1 accepted it for gone@example.org"
        everybody = message.model_copy(update={"received": ("perf@example.org", "gone@example.org")})
        assert channel.send(everybody) == "127.0.0.1 has accepted it for perf@example.org, gone@example.org"
    assert [mail.receivers for mail in box.mails] == [("perf@example.org",), ("gone@example.org",)]


@pytest.mark.parametrize(("second", "final"), [("550 5.1.1 no such user", True), ("450 4.2.0 greylisted", False)])
def test_a_receiver_that_may_be_accepted_later_is_tried_again(second: str, final: bool) -> None:
    refusing = MailBox(refused={"gone@example.org": "550 5.1.1 no such user", "slow@example.org": second})
    with run_mail_server(refusing) as box, pytest.raises(DeliveryFailed, match=second[:3]) as caught:
        open_mail(box, f"to=gone@example.org,slow@example.org&{FROM}").send(ONE)
    assert caught.value.final is final
    assert caught.value.received == ()


def test_a_server_that_is_not_there_is_tried_again() -> None:
    with run_mail_server(MailBox()) as box:
        channel = open_mail(box)
    with pytest.raises(DeliveryFailed, match="cannot be reached: Connection refused") as caught:
        channel.send(ONE)
    assert not caught.value.final


@pytest.mark.parametrize(
    ("target", "environment", "message"),
    [
        ("https://mail.example.org?to=a@b.c", {}, "no smtp://"),
        ("smtp://?to=a@b.c", {}, "no smtp://"),
        ("smtp://host:x?to=a@b.c", {}, "no smtp://"),
        ("smtp://mail.example.org", {}, "names nobody"),
        ("smtp://mail.example.org?to=nobody", {}, "no address"),
        ("smtp://mail.example.org?to=a@b.c&from=a@b.c%0d%0aBcc:x@y.z", {}, "no address"),
        ("smtp://mail.example.org?to=a@b.c&cc=x@y.z", {}, "unknown part `cc`"),
        ("smtp://ada:secretpart@mail.example.org?to=a@b.c", {}, "contains a user"),
        ("smtp://mail.example.org?to=a@b.c", {"HARNESS_SMTP_USER": "ada"}, "without HARNESS_SMTP_PASSWORD"),
    ],
)
def test_mistakes_are_found_before_anything_is_measured(target: str, environment: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        alarm_channel("mail", target, environment, is_named=True)
    assert "secretpart" not in str(caught.value)
