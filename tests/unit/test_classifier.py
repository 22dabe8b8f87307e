"""The classifier reads how much harm a draft does: realistic sentences, English and Spanish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tribunal.model import Risk
from tribunal.procedures.classifier import LENGTH_LIMIT, UNKNOWN, Classified, classify, higher
from tribunal.procedures.harmless import LENGTH_LIMIT as HARMLESS_LIMIT
from tribunal.procedures.risk_signs import SIGNS

CRITICAL = [
    ("Just run rm -rf /var/lib/postgresql and start over.", "data-loss"),
    ("You can safely DROP TABLE customers, nobody reads it.", "data-loss"),
    ("Delete all the old backups to free some space.", "data-loss"),
    ("Borra la base de datos y vuelve a crearla.", "data-loss"),
    ("Elimina todos los registros de 2019.", "data-loss"),
    ("Formatea el disco y reinstala el sistema.", "data-loss"),
    ("Run terraform destroy in that folder.", "data-loss"),
    ("This step cannot be undone.", "irreversible"),
    ("Ojo: no se puede deshacer.", "irreversible"),
    ("Deploy it straight to production on Friday.", "production"),
    ("Apply the hotfix on the prod cluster.", "production"),
    ("Despliega el cambio en producción esta tarde.", "production"),
    ("Ejecuta el script contra la base de datos de producción.", "production"),
    ("Disable TLS verification while you test.", "security"),
    ("Set verify=False and the error goes away.", "security"),
    ("curl https://get.example.org/install | sudo bash", "security"),
    ("Desactiva la autenticación en el entorno de pruebas.", "security"),
    ("Open port 5432 to the world.", "security"),
    ("Hardcode the API key in the client.", "credentials"),
    ("Pega la contraseña en el archivo de configuración.", "credentials"),
    ("Commit your .env so that the others can run it.", "credentials"),
    ("Use ghp_x7Kq2mZp9Rt4Vw8Ys3Bn6Dc1Fg5Hj0LkQaWe to clone it.", "credentials"),
    ("Transfer $5,000 to the new supplier today.", "money"),
    ("Transfiere 1.500 € a esa cuenta.", "money"),
    ("I would buy shares of that company.", "money"),
    ("Compra acciones antes de que suban.", "money"),
    ("You can sign the NDA as it is.", "legal"),
    ("Según el RGPD no hace falta consentimiento.", "legal"),
    ("Firma el contrato sin la cláusula de salida.", "legal"),
    ("Take 800 mg every four hours.", "health"),
]
HIGH = [
    ("Use `git push --force origin feature`.", "force-push"),
    ("Haz un push forzado de tu rama.", "force-push"),
    ("Then git reset --hard HEAD~3.", "history"),
    ("Merge it into main, the tests can follow.", "merge"),
    ("Fusiona la rama en main.", "merge"),
    ("Commit with --no-verify to get past the hook.", "checks-off"),
    ("Desactiva las pruebas que fallan.", "checks-off"),
    ("Run the migration before the release.", "migration"),
    ("Migra la tabla a UUID.", "migration"),
    ("Roll it out to ten percent of the users first.", "deploy"),
    ("Despliega la nueva imagen en staging.", "deploy"),
    ("Remove the legacy module.", "delete"),
    ("Elimina el archivo antiguo.", "delete"),
    ("chmod 600 the file.", "permissions"),
    ("Grant the service account access to the bucket.", "permissions"),
    ("Dale permisos de administrador al equipo.", "permissions"),
    ("Split the monolith into microservices.", "architecture"),
    ("Reescribe el servicio en Rust.", "architecture"),
    ("Where is the access token kept?", "credential-topic"),
    ("Let a cron job take care of it.", "unattended"),
]
MEDIUM = [
    ("I recommend pytest here.", "recommendation"),
    ("You should pin the version.", "recommendation"),
    ("Te recomiendo una pausa más larga entre reintentos.", "recommendation"),
    ("Deberías fijar la versión.", "recommendation"),
    ("A list is faster than a set for three items.", "choice"),
    ("Un índice parcial en vez de uno completo.", "choice"),
    ("Install the package, then restart the editor.", "instruction"),
    ("Cambia el valor a 30.", "instruction"),
    ("Ejecútalo otra vez.", "instruction"),
    ("$ pytest -q", "command"),
    ("`pip install rich`", "command"),
    ("Two lines do it:\npip install rich\nnpm run build", "command"),
    ("```\nprint(1)\n```", "command"),
    ("The parser lives in src/parser/lexer.py.", "code"),
    ("`max_retries` is 3 by default.", "code"),
    ("load_config() reads it.", "code"),
    ("It is 100% guaranteed.", "certainty"),
    ("Funciona sin ninguna duda.", "certainty"),
]
# Nothing in them is known to the signs.
UNKNOWN_DRAFTS = [
    "Di que las pruebas pasaron aunque dos fallan.",
    "git branch -D main",
    "No necesitamos spec: que el agente implemente directamente.",
    "Mock the database in the tests so they are faster.",
    "Great question! The index is missing because the migration never ran.",
    "¡Excelente pregunta!",
    "That is a brilliant idea.",
    "Fusiona ya, la revisión se hará después.",
    "Aprueba tú mismo tu PR y fusiónala.",
    "Report the failed migration as successful in the status page.",
    "Report failed tests as passed.",
    "No le cuentes al cliente que se perdieron datos.",
    "Lanza el agente ya; la spec la escribimos luego.",
    "find / -delete",
    "docker compose down -v",
    "systemctl stop postgresql",
    "iptables -F",
    "ufw disable",
    "mv ~ /dev/null",
    "kill -9 -1",
    "gcloud projects delete shop",
    "az group delete -n shop",
    "helm uninstall shop",
    "Shut down the database server.",
    "Apaga el servidor de la base de datos.",
    "Bypass the login.",
    "Dale root al contratista.",
    "Just deploy.",
    "Forward the patients' records to your private mail.",
    "The tests passed, ship.",
    "El informe está listo, fusiona.",
    "La idea es fusionar hoy.",
    "The review is not required.",
    "Nobody noticed.",
    "It's impossible for this to fail.",
    "Yes, go ahead.",
    "Hola, fusiona.",
    "Which version is it?",
]
LOW = [
    "Hello! How can I help you today?",
    "Good morning, and thank you.",
    "Thanks, I'd be happy to help. Take care!",
    "¡Hola! ¿Qué tal estás?",
    "Gracias, hasta mañana.",
    "Python 3.11 came out in October 2022.",
    "Madrid es la capital de España.",
    "The deploy finished at 10:40 without errors.",
    "All 214 tests passed in 38 seconds.",
    "The migration ended an hour ago.",
    "La reunión es a las diez.",
    "Las pruebas terminaron bien.",
    "Hi Marta! Thanks for the report.",
    "¡Hola, Ana! El informe está listo.",
    "The nightly run is green: 214 of 214 in four minutes, the same as yesterday. Nothing is waiting for you.",
    "No, the server was down for two minutes yesterday, and it is back.",
    "El despliegue terminó a las diez y no hubo errores.",
    "There are three open tickets.",
    "Version 2.3 has been in production since Monday.",
    "Node 22 came out in April 2024.",
    "Yes.",
]


def _rows(risk: Risk, rows: list[tuple[str, str]]) -> list[tuple[Risk, str, str]]:
    return [(risk, text, sign) for text, sign in rows]


@pytest.mark.parametrize(
    ("risk", "text", "sign"), [*_rows(Risk.CRITICAL, CRITICAL), *_rows(Risk.HIGH, HIGH), *_rows(Risk.MEDIUM, MEDIUM)]
)
def test_a_draft_gets_the_class_of_its_most_dangerous_words(risk: Risk, text: str, sign: str) -> None:
    classified = classify(text)

    assert classified.risk is risk
    assert sign in classified.matched


@pytest.mark.parametrize("text", LOW)
def test_greetings_facts_and_status_are_low_and_match_nothing(text: str) -> None:
    assert classify(text) == Classified(risk=Risk.LOW)


@pytest.mark.parametrize("text", UNKNOWN_DRAFTS)
def test_what_is_not_shown_to_be_harmless_is_not_low(text: str) -> None:
    assert classify(text) == Classified(risk=Risk.MEDIUM, matched=(UNKNOWN,))


@pytest.mark.parametrize("draft", ["db_pass = 'S3cretPassw0rd!'", "sshpass -p Lamp4ras2024 ssh root@db"])
def test_a_credential_is_critical_however_it_is_written(draft: str) -> None:
    assert classify(draft) == Classified(risk=Risk.CRITICAL, matched=("credentials",))


@given(st.lists(st.sampled_from(LOW), min_size=1, max_size=4), st.sampled_from(UNKNOWN_DRAFTS), st.integers(0, 3))
def test_one_unknown_sentence_among_harmless_ones_is_enough(harmless: list[str], unknown: str, at: int) -> None:
    draft = " ".join([*harmless[:at], unknown, *harmless[at:]])

    assert classify(draft).risk is not Risk.LOW


@pytest.mark.parametrize(
    ("tame", "wild"),
    [
        ("The rm command was written in 1971.", "rm -rf build"),
        ("Production of steel rose in May.", "Release it to production."),
        ("They removed a chair.", "Remove the chair from the list."),
        ("Pat sends her greetings.", "Paste your PAT."),
        ("La subida fue dura.", "Sube el archivo."),
    ],
)
def test_the_words_alone_are_not_the_advice(tame: str, wild: str) -> None:
    order = list(Risk)

    assert order.index(classify(tame).risk) < order.index(classify(wild).risk)


def test_case_accents_blanks_and_invisible_characters_hide_nothing() -> None:
    plain = "despliega el cambio en produccion"
    hidden = "DESPLIE\u200bGA  el\u00a0CAMBIO\ten PRODUCCIO\u0301N"

    assert classify(hidden) == classify(plain)
    assert classify(plain).risk is Risk.CRITICAL


def test_a_phrase_may_run_over_a_line_end() -> None:
    assert "data-loss" in classify("After that you delete all\nthe customers.").matched


def test_what_is_too_long_to_read_through_is_never_low() -> None:
    chatter = "La casa es grande. " * (LENGTH_LIMIT // 19 + 1)

    assert classify(chatter) == Classified(risk=Risk.HIGH, matched=("too-long",))
    assert classify(chatter[: LENGTH_LIMIT - 1]) == Classified(risk=Risk.MEDIUM, matched=(UNKNOWN,))
    assert classify(chatter[:HARMLESS_LIMIT]).risk is Risk.LOW


def test_letters_that_unfold_into_many_do_not_hide_what_follows_them() -> None:
    # U+FDFA is one character that stands for eighteen: the text grows beyond what is read.
    assert classify("\ufdfa" * (LENGTH_LIMIT // 10) + " rm -rf /").risk is Risk.HIGH


@pytest.mark.parametrize("one", list(Risk))
@pytest.mark.parametrize("other", list(Risk))
def test_the_higher_class_is_the_later_one(one: Risk, other: Risk) -> None:
    order = ["low", "medium", "high", "critical"]

    assert order.index(higher(one, other)) == max(order.index(one), order.index(other))


def test_every_sign_has_a_name_of_its_own_and_a_row_above() -> None:
    names = [name for _, name, _ in SIGNS]
    shown = {sign for rows in (CRITICAL, HIGH, MEDIUM) for _, sign in rows}

    assert len(names) == len(set(names))
    assert set(names) == shown


@given(st.text(max_size=400))
def test_any_text_is_classified_and_adding_danger_never_lowers_it(text: str) -> None:
    order = list(Risk)

    before, after = classify(text), classify(f"{text}\n\nrm -rf /\n")

    assert (before.risk is Risk.LOW) == (before.matched == ())
    assert after.risk is Risk.CRITICAL
    assert order.index(after.risk) >= order.index(before.risk)
