"""Credentials are found and masked; what only looks like one is left alone."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tribunal.redaction import MASK, find_secrets, redact

RANDOM = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2dE3fG4hJ5"
KEY_BODY = "\n".join(["MIIEowIBAAKCAQEAx7aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2dE3fG4hJ5k"] * 3)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

SECRETS = {
    "GitHub classic": ("ghp_" + RANDOM[:36], "ghp_"),
    "GitHub server": ("ghs_" + RANDOM[:36], "ghs_"),
    "GitHub fine-grained": ("github_pat_" + RANDOM[:22] + "_" + RANDOM[:40], "github_pat_"),
    "Anthropic": ("sk-ant-api03-" + RANDOM, "sk-ant-"),
    "OpenAI project": ("sk-proj-" + RANDOM, "sk-proj-"),
    "OpenAI": ("sk-" + RANDOM, "sk-"),
    "Google": ("AIza" + RANDOM[:35], "AIza"),
    "Hugging Face": ("hf_" + RANDOM[:34], "hf_"),
    "npm": ("npm_" + RANDOM[:36], "npm_"),
    "AWS": ("AKIA2E0A8F3B244C9986", "AKIA"),
    "GitLab": ("glpat-" + RANDOM[:20], "glpat-"),
    "Slack bot": ("xoxb-123456789012-1234567890123-" + RANDOM[:24], "xoxb-"),
    "Slack app": ("xapp-1-A012BCDEFGH-1234567890123-" + RANDOM[:24], "xapp-"),
    "Azure DevOps": ("a1B2" * 19 + "AZDO" + "a1B2", ""),
    "Azure storage": ("AccountKey=" + "a1B2" * 21 + "aB==", ""),
    "SendGrid": ("SG." + RANDOM[:22] + "." + RANDOM[:43], "SG."),
    "Stripe": ("sk_live_" + RANDOM[:24], "sk_live_"),
    "JWT": (JWT, "eyJ"),
    "private key": (
        f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----",
    ),
    "private key cut off": (
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY_BODY}\n",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
    ),
}


@pytest.mark.parametrize(("secret", "shown"), SECRETS.values(), ids=SECRETS.keys())
def test_a_token_is_masked_and_its_kind_stays_readable(secret: str, shown: str) -> None:
    text = f"Configure it with {secret} and go on."

    masked = redact(text)

    assert secret.strip() not in masked
    assert masked.startswith(f"Configure it with {shown}")
    assert MASK in masked
    assert masked.endswith("and go on.")
    assert redact(masked) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('password = "hunter2!"', 'password = "[redacted]"'),
        ("export DB_PASSWORD=s3cr3tpass", "export DB_PASSWORD=[redacted]"),
        ('la contraseña: "Verano2024!"', 'la contraseña: "[redacted]"'),
        ("{'api_key': 'k9f3-22ab-91cd'}", "{'api_key': '[redacted]'}"),
        ("client_secret: 'a8f$kq02'", "client_secret: '[redacted]'"),
        ("postgres://app:p4ss-w0rd@db.internal:5432/shop", "postgres://app:[redacted]@db.internal:5432/shop"),
        ("redis://:s3cr3t99@cache:6379/0", "redis://:[redacted]@cache:6379/0"),
        ("Authorization: Bearer abcdef1234567890abcdef", "Authorization: Bearer [redacted]"),
        ("curl --token=abc123def456", "curl --token=[redacted]"),
        ("db_pass = 'S3cretPassw0rd!'", "db_pass = '[redacted]'"),
        ("password = 'correcthorsebatterystaple'", "password = '[redacted]'"),
        ("The password is Lamp4ras2024.", "The password is [redacted]."),
        (
            "La contraseña de la base de datos es Lamp4ras-de-Pie; ponla.",
            "La contraseña de la base de datos es [redacted]; ponla.",
        ),
        ("Set password to Tr0ub4dor&3 in config.yml", "Set password to [redacted] in config.yml"),
        ("mysql -u root -pLamp4ras2024 shop", "mysql -u root -p[redacted] shop"),
        ("sshpass -p Lamp4ras2024 ssh root@db", "sshpass -p [redacted] ssh root@db"),
        ("curl -u ana:Lamp4ras2024 https://a.example", "curl -u ana:[redacted] https://a.example"),
        ("redis-cli -h db -a Lamp4ras2024 ping", "redis-cli -h db -a [redacted] ping"),
        ("get(url, auth=('ana', 'Lamp4ras-de-Pie'))", "get(url, auth=('ana', '[redacted]'))"),
    ],
)
def test_what_is_assigned_to_a_secret_name_is_masked(text: str, masked: str) -> None:
    assert redact(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "export GITHUB_TOKEN=<token>",
        'password = "$DB_PASSWORD"',
        "password: ${DB_PASSWORD}",
        "TOKEN=$(cat $PAT_FILE)",
        'api_key = "xxxxxxxxxxxxxxxx"',
        'api_key = "your-api-key-1"',
        'token = "changeme123"',
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        'password = os.environ["DB_PASSWORD1"]',
        'token_name = "GITHUB_TOKEN_2"',
        'secretName: "db-creds-v2"',
        "postgres://user:password@localhost/db",
        "postgres://postgres:postgres@localhost:5432/app",
        "The key starts with -----BEGIN RSA PRIVATE KEY----- as always.",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
        "max_tokens: 4096 and tokenizer='gpt2-xl1'",
        "La clave: escribir menos y probar más.",
        "see https://host:8080/path?email=someone@example.org",
        "git commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "LOS APARTAMENTOS están listos",
        'tu contraseña: "tu_clave_aqui1"',
        "eyJust a word.eyJoy of.reading",
        "partition_token=2026-11-30T00",
        "max_token=4096tokens",
        "clave=pedido_id2",
        "clave=valor1234 pairs",
        "The password is base64-encoded, the key a 32-byte one.",
        "The token is `accessTokenV2`, its password is settings.DB_PASSWORD_2.",
        "First pass: refactor2024",
        "mkdir -p build2024 && ssh -p 22022 host2024",
        "curl -u $USER:$PASS2 https://a.example",
        "mysql -u root -p shop2024",
        "password = 'required'",
    ],
)
def test_a_placeholder_or_a_name_is_no_secret(text: str) -> None:
    assert find_secrets(text) == ()
    assert redact(text) == text


def test_a_secret_tells_its_kind_and_place() -> None:
    text = "one ghp_" + RANDOM[:36] + " two"

    (secret,) = find_secrets(text)

    assert secret.kind == "GitHub Token"
    assert text[secret.start : secret.end] == "ghp_" + RANDOM[:36]


def test_many_threads_find_the_same() -> None:
    text = "\n".join(secret for secret, _ in SECRETS.values())
    expected = find_secrets(text)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(find_secrets(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


# Each repeats what some pattern begins with: a quadratic pattern would take hours on it, and the test its timeout.
HOSTILE = [
    "password",
    "password ",
    "eyJ",
    "eyJaaaaaaaaa.",
    "sk-",
    "glagent-",
    "://a:",
    "-----BEGIN PRIVATE KEY-----",
    '"',
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", [*HOSTILE, "api_key" + " " * 500])
def test_hostile_text_of_a_mebibyte_is_read_in_linear_time(piece: str) -> None:
    assert isinstance(find_secrets(piece * (1024 * 1024 // len(piece))), tuple)


@given(st.text(max_size=300), st.sampled_from([secret for secret, _ in SECRETS.values()]), st.text(max_size=300))
def test_whatever_stands_around_it_a_secret_does_not_get_through(before: str, secret: str, after: str) -> None:
    assert secret not in redact(f"{before}\n{secret}\n{after}")


@given(st.text(max_size=500))
def test_secrets_are_ordered_disjoint_and_inside_the_text(text: str) -> None:
    at = 0
    for secret in find_secrets(text):
        assert at <= secret.start < secret.end <= len(text)
        at = secret.end
