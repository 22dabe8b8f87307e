"""Secrets in a text, found and masked.

Token shapes come from detect-secrets' plugins, called in process: their compiled patterns are searched directly, so its
global settings are never touched and any number of threads may call this. Left out are the two entropy plugins and the
one for public addresses (neither says "credential"), and the keyword and JWT plugins, whose patterns take quadratic
time; the patterns below cover those in linear time, and the tokens that detect-secrets does not know.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple, cast

MASK = "[redacted]"


class Secret(NamedTuple):
    """Where a credential stands in a text, as offsets in characters."""

    kind: str
    start: int
    end: int


# Plugin class by module, and where the secret is: the whole match, or its last group. "guarded" is a whole match of a
# loose pattern: without a digit it is a word.
_PLUGINS = (
    ("artifactory", "ArtifactoryDetector", "guarded"),
    ("aws", "AWSKeyDetector", "group"),
    ("azure_storage_key", "AzureStorageKeyDetector", "match"),
    ("cloudant", "CloudantDetector", "group"),
    ("discord", "DiscordBotTokenDetector", "match"),
    ("github_token", "GitHubTokenDetector", "match"),
    ("gitlab_token", "GitLabTokenDetector", "match"),
    ("ibm_cloud_iam", "IbmCloudIamDetector", "group"),
    ("ibm_cos_hmac", "IbmCosHmacDetector", "group"),
    ("mailchimp", "MailchimpDetector", "match"),
    ("pypi_token", "PypiTokenDetector", "match"),
    ("sendgrid", "SendGridDetector", "match"),
    ("slack", "SlackDetector", "match"),
    ("softlayer", "SoftlayerDetector", "group"),
    ("square_oauth", "SquareOAuthDetector", "match"),
    ("stripe", "StripeDetector", "match"),
    ("telegram_token", "TelegramBotTokenDetector", "match"),
    ("twilio", "TwilioKeyDetector", "match"),
)

_OWN = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("Anthropic API key", r"(?<![\w-])sk-ant-[A-Za-z0-9_-]{16,512}"),
        ("OpenAI API key", r"(?<![\w-])sk-(?:proj-|svcacct-|admin-)[A-Za-z0-9_-]{16,512}"),
        ("OpenAI API key", r"(?<![\w-])sk-[A-Za-z0-9]{32,128}(?![\w-])"),
        ("Google API key", r"(?<![\w-])AIza[A-Za-z0-9_-]{35}(?![\w-])"),
        ("Google OAuth secret", r"(?<![\w-])GOCSPX-[A-Za-z0-9_-]{28}"),
        ("Hugging Face token", r"(?<![\w-])hf_[A-Za-z0-9]{30,64}(?!\w)"),
        ("GitHub Token", r"(?<![\w-])gh[pousr]_[A-Za-z0-9]{30,255}"),
        ("GitHub Token", r"(?<![\w-])github_pat_[A-Za-z0-9_]{22,255}"),
        ("npm token", r"(?<![\w-])npm_[A-Za-z0-9]{36}(?!\w)"),
        ("Slack Token", r"(?<![\w-])xox[abposre]-[A-Za-z0-9-]{20,255}"),
        ("Slack Token", r"(?<![\w-])xapp-\d-[A-Za-z0-9-]{20,255}"),
        ("Azure DevOps PAT", r"(?<![A-Za-z0-9])[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
        ("Azure client secret", r"(?<![\w~.-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![\w~-])"),
    )
)

_SIGNATURE = re.compile(r"(?<![\w%])sig=(?P<secret>[A-Za-z0-9%+/]{43,64}(?:=|%3[dD]))")
_BEARER = re.compile(r"[Bb]earer[ \t]{1,8}(?P<secret>[A-Za-z0-9._~+/=-]{20,2048})")
_CONNECTION = re.compile(
    r"://(?P<user>[^\s:/@\"'<>`]{0,64}):(?P<secret>[^\s:/@\"'<>`?#]{3,200})@(?P<host>[\w.-]{1,253})"
)
_JWT = re.compile(r"(?<![\w-])eyJ[\w=-]{8,4096}\.eyJ[\w=-]{8,8192}\.[\w=+/-]{0,2048}", re.ASCII)

_NAMES = (
    r"pass(?:word|wd|phrase)|(?<![a-z])pass(?![a-z])|pwd|secret"
    r"|(?:api|access|auth|account|private|client|service|signing|encryption)[_-]?key"
    r"|token(?![a-z])|contrase(?:ñ|n)a|clave|credential"
)
_ASSIGNMENT = re.compile(
    rf"(?P<name>{_NAMES})(?P<suffix>[\w-]{{0,24}})[\"'\]]{{0,2}}[ \t]{{0,8}}(?::=|=>|={{1,3}}|!=|:)[ \t]{{0,8}}@?"
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\s\"'`]{6,256})(?P=quote)|(?P<bare>[^\s\"'`,;(){}\[\]<>$]{8,256}))",
    re.IGNORECASE,
)
_NOT_THE_VALUE = re.compile(
    r"(?:name|id|ids|ref|refs|path|file|dir|url|uri|arn|len|length|min|max|policy|type|field|header|env|var|count"
    r"|manager|provider|hash|format|prefix|label|hint|ttl|expiry|expires\w*|at)$",
    re.IGNORECASE,
)
_NOT_A_CREDENTIAL = re.compile(
    r"(?:max|min|num|total|input|output|prompt|new|partition|page|next|prev|previous|continuation|sync|start|stop|end|eos"
    r"|bos|pad|unk|primary|foreign|sort|row)[_-]?$",
    re.IGNORECASE,
)
"""What stands before "token" or "clave" where it is a piece of text, a position or a key of a table."""
_DATA = re.compile(r"\d{4}-\d\d(?:-\d\d.*)?|\d+[A-Za-z]+|[a-z]+\d{1,4}|[a-z]+(?:_[a-z0-9]+)+")
"""A date, an amount with its unit, a name with a number: no token, though a person's password may be one."""
_HUMAN = ("pass", "pwd", "contra")
"""How a name begins whose value a person chose."""
_PHRASE_LETTERS = 20
"""So many small letters in one go are no word."""

_VALUE = r"(?P<secret>[^\s\"'`,;(){}\[\]<>$]{6,128})"
_STATED = re.compile(
    rf"(?P<name>{_NAMES}|(?:api|access|private|client)[ ]key)(?:[ ](?:for|of|to|de|del|para)[ ][\w .'-]{{1,40}}?)?"
    rf"[ ](?:is|es|to|a|as|será|sera)[ :]{{1,2}}[\"'`]?{_VALUE}",
    re.IGNORECASE,
)
_TECHNICAL = re.compile(
    r"base\d|sha\d|md5|oauth2|utf|x509|bcrypt|argon2|aes|rsa|[rhep]s\d{3}|pbkdf2|ed25519|k8s|v\d"
    r"|[A-Za-z]+\d+(?:\.\d+)+$|.*-(?:\w+ed|based|bit|byte|char\w*|only|free|safe|style|wide)$|[a-z]+(?:[A-Z][a-z]+)+V?\d{0,2}$",
)
"""How words begin or end that have a digit and are no secret: base64-encoded, 32-byte, accessTokenV2."""
_ARGUMENTS = tuple(
    (re.compile(argument), re.compile(command))
    for argument, command in (
        (rf"(?<=\s)-p[\"']?{_VALUE}", r"\b(?:mysql|mariadb)"),
        (rf"(?<=\s)-p[ ][\"']?{_VALUE}", r"\bsshpass\b|\b(?:docker|podman|az|oc|helm registry) login\b"),
        (rf"(?<=\s)(?:-u|--user)[ =][\"']?[\w.@-]{{1,64}}:{_VALUE}", r"\bcurl\b"),
        (rf"(?<=\s)-a[ ][\"']?{_VALUE}", r"\b(?:redis|valkey)-cli\b"),
        (rf"(?<=\s)--(?:password|passwd|token|api-key|secret)[ ][\"']?{_VALUE}", r""),
        (rf"\([ ]?[\"'][^\"'\n]{{1,64}}[\"'][ ]?,[ ]?[\"']{_VALUE}[\"']", r"(?i:auth)[ ]?=?[ ]?$"),
    )
)
"""A credential as a command's argument, and what stands before it on the line."""
_COMMAND_REACH = 200
_PLACEHOLDER = re.compile(
    r"""^[<$%{[(]|\$\{|\{\{|x{4,}|\*{3}|\.{3}|…|redacted|example|changeme|change[-_]me|placeholder|dummy|not[-_]?a[-_]?real
    |replace[-_]?(?:me|with|this)|insert[-_]|ejemplo|cambi(?:a|ame)[-_]|reempla|censurad|ocultad
    |(?<![a-z0-9])(?:your|tu)[-_]|[-_](?:here|aqui|aquí)$|^(?:os\.|process\.|env\.|self\.|config\.|settings\.)""",
    re.IGNORECASE | re.VERBOSE,
)
_DULL = re.compile(
    r"pass(?:word|wd)?|pwd|secret|token|user(?:name)?|contrase(?:ñ|n)a|clave|string|none|null|true|false", re.IGNORECASE
)
_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\.?|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_WORDY = re.compile(r"[^\W\d_]+(?:[-_./:][^\W\d_]+)*[.!?]?")
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[23]:")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]{0,80}")
_KEY_BODY = re.compile(r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{20,})*(?:(?:\n|\\n)[A-Za-z0-9+/=]{1,19}(?=[\s\"'\\]|$))?")
_KEY_CHARACTERS = 40
"""A private key has more base64 than this."""
_PUBLIC_PREFIX = re.compile(
    r"sk-(?:ant|proj|svcacct|admin)-|sk-|AIza|GOCSPX-|hf_|gh[pousr]_|github_pat_|npm_|pypi-|gl[a-z]{2,6}-|xox[a-z]-|xapp-"
    r"|A(?:KIA|SIA|BIA|CCA)|eyJ|SG\.|[rs]k_live_|sq0csp-|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
)
_LONG_BLANKS = re.compile(r" {9,}")
_LOCAL_HOST = re.compile(r"[\w-]+|127\.0\.0\.1")


def find_secrets(text: str) -> tuple[Secret, ...]:
    """The credentials in ``text``, in order, none overlapping another.

    Placeholders (``<token>``, ``$TOKEN``, ``xxxx``, ``example``, ``your-…``) are none, nor are the names of variables.
    Time is linear in the text's length.
    """
    kept: list[Secret] = []
    for secret in sorted(_candidates(text), key=lambda secret: (secret.start, -secret.end)):
        if kept and secret.start < kept[-1].end:
            kept[-1] = kept[-1]._replace(end=max(kept[-1].end, secret.end))
        else:
            kept.append(secret)
    return tuple(kept)


def redact(text: str) -> str:
    """``text`` with every credential masked; what tells its kind stays: ``ghp_…[redacted]``."""
    return mask(text, find_secrets(text))


def mask(text: str, secrets: Iterable[Secret]) -> str:
    """``text`` with the credentials that :func:`find_secrets` found in it masked."""
    parts: list[str] = []
    at = 0
    for secret in secrets:
        known = _PUBLIC_PREFIX.match(text, secret.start, secret.end)
        parts += [text[at : secret.start], f"{known[0]}…{MASK}" if known else MASK]
        at = secret.end
    return "".join([*parts, text[at:]])


def _candidates(text: str) -> Iterator[Secret]:
    for search in (_plugin_matches, _token_matches, _web_tokens, _assignments, _statements, _arguments):
        for secret in search(text):
            if not _placeholder(text[secret.start : secret.end]):
                yield secret
    yield from _private_keys(text)


@cache
def _plugin_patterns() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Kind, where the secret is, pattern: loaded when first needed, for the import takes a tenth of a second."""
    patterns: list[tuple[str, str, re.Pattern[str]]] = []
    for module, name, where in _PLUGINS:
        plugin = getattr(import_module(f"detect_secrets.plugins.{module}"), name)
        patterns += [(plugin.secret_type, where, pattern) for pattern in cast("list[re.Pattern[str]]", plugin.denylist)]
    return tuple(patterns)


def _plugin_matches(text: str) -> Iterator[Secret]:
    # The assignment patterns allow blanks in three places: cubic time on a long run, so such a run becomes tabs.
    flattened = _LONG_BLANKS.sub(lambda run: "\t" * len(run[0]), text)
    for kind, where, pattern in _plugin_patterns():
        for match in pattern.finditer(flattened):
            in_group = where == "group" and match.lastindex is not None
            start, end = match.span(match.lastindex if in_group and match.lastindex else 0)
            value = text[start:end]
            start += len(value) - len(value.lstrip(' \t\r\n=:"'))
            end -= len(value) - len(value.rstrip(' \t\r\n"'))
            inside_a_word = text[start - 1 : start].isalnum() and text[start : start + 1].isalnum()
            a_word = (in_group or where == "guarded") and not re.search(r"\d", value)
            if not inside_a_word and not a_word:
                yield Secret(kind, start, end)


def _token_matches(text: str) -> Iterator[Secret]:
    for kind, pattern in _OWN:
        for match in pattern.finditer(text):
            yield Secret(kind, *match.span())
    for match in _BEARER.finditer(text):
        if re.search(r"\d", match["secret"]):
            yield Secret("bearer token", *match.span("secret"))
    for match in _SIGNATURE.finditer(text):
        yield Secret("Azure shared access signature", *match.span("secret"))
    for match in _CONNECTION.finditer(text):
        default = match["user"] == match["secret"] and _LOCAL_HOST.fullmatch(match["host"])
        if not default:
            yield Secret("connection URL", *match.span("secret"))


def _web_tokens(text: str) -> Iterator[Secret]:
    matches = list(_JWT.finditer(text))
    if matches:
        valid = import_module("detect_secrets.plugins.jwt").JwtTokenDetector.is_formally_valid
        for match in matches:
            if valid(match[0].rpartition(".")[0]):
                yield Secret("JSON Web Token", *match.span())


def _assignments(text: str) -> Iterator[Secret]:
    for match in _ASSIGNMENT.finditer(text):
        group = "quoted" if match["quoted"] else "bare"
        value = match[group].rstrip(".!?") if group == "bare" else match[group]
        human = match["name"].lower().startswith(_HUMAN)
        if _NOT_THE_VALUE.search(match["suffix"]) or _refers(value):
            continue
        if not human and _NOT_A_CREDENTIAL.search(text, max(0, match.start() - 16), match.start()):
            continue
        if _WORDY.fullmatch(value) and not (human and group == "quoted" and _phrase(value)):
            continue
        if group == "bare" and not _bare_secret(match[0], value, human=human):
            continue
        yield Secret("assigned secret", match.start(group), match.start(group) + len(value))


def _refers(value: str) -> bool:
    """Whether a value names where the secret is: a variable, an attribute, an address, a file."""
    if _REFERENCE.fullmatch(value) or "://" in value or value.startswith(("/", "./", "~/", "../")):
        return True
    return re.search(r"/.*\.\w{1,5}$", value) is not None


def _phrase(value: str) -> bool:
    return len(value) >= _PHRASE_LETTERS and value.isalpha() and value.islower()


def _bare_secret(assignment: str, value: str, *, human: bool) -> bool:
    """Whether an unquoted value is one: after ``name=`` without a blank, or ``password:``; prose has colons too."""
    assigned = re.search(r"\w=\S", assignment) is not None or (human and not assignment.lower().startswith("pass:"))
    return assigned and len(value) >= 8 and _mixed(value) and (human or not _DATA.fullmatch(value))


def _mixed(value: str) -> bool:
    return re.search(r"\d", value) is not None and re.search(r"[^\W\d]", value) is not None


def _statements(text: str) -> Iterator[Secret]:
    """Secrets in a sentence: "the password is …", "set the token to …"."""
    for match in _STATED.finditer(text):
        value = match["secret"].rstrip(".!?:")
        if len(value) < 8 or not _mixed(value) or _refers(value) or _TECHNICAL.match(value):
            continue
        human = match["name"].lower().startswith(_HUMAN)
        random = re.search(r"[a-z]", value) and re.search(r"[A-Z]", value)
        if random or re.search(r"[!@#%^&*?+~]", value) or (human and value.isalnum()):
            yield Secret("stated secret", match.start("secret"), match.start("secret") + len(value))


def _arguments(text: str) -> Iterator[Secret]:
    """Secrets on a command line or in a pair of user and password."""
    for argument, command in _ARGUMENTS:
        for match in argument.finditer(text):
            line = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _COMMAND_REACH)
            value = match["secret"].rstrip(".!?")
            if _mixed(value) and not _refers(value) and command.search(text, line, match.start()):
                yield Secret("secret as an argument", match.start("secret"), match.start("secret") + len(value))


def _private_keys(text: str) -> Iterator[Secret]:
    """Blocks with a body; a header that is only talked about is none."""
    at = 0
    while begin := _KEY_BEGIN.search(text, at):
        following = _KEY_BEGIN.search(text, begin.end())
        limit = following.start() if following else len(text)
        end = _KEY_END.search(text, begin.end(), limit)
        body = _KEY_BODY.match(text, begin.end(), limit)
        at = end.end() if end else body.end() if body else begin.end()
        inside = text[begin.end() : end.start() if end else at]
        if len(re.findall(r"[A-Za-z0-9+/=]", inside)) >= _KEY_CHARACTERS and not _PLACEHOLDER.search(inside[:200]):
            yield Secret("Private Key", begin.start(), at)


def _placeholder(value: str) -> bool:
    if _PLACEHOLDER.search(value) or _DULL.fullmatch(value):
        return True
    tail = value[-24:]
    return len(set(tail.lower())) <= 3
