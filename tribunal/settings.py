"""One frozen ``Settings``: file, then environment, then flags. Nothing is read at import."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any, cast

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from tribunal.errors import ConfigurationError, did_you_mean
from tribunal.model import SUBJECT_LIMIT

CONFIG_NAME = "tribunal.toml"
ENV_PREFIX = "TRIBUNAL_"


class Settings(BaseSettings):
    """Where things are and how large they may be. In ``tribunal.toml``, the table ``[settings]``."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, frozen=True, extra="forbid", allow_inf_nan=False)

    redis_url: str | None = None
    """The docket's Redis (``redis://…``, ``unix://…``); without it, the embedded Valkey of ``tribunal up``."""
    broker_url: str | None = None
    """Celery's broker; without it, ``redis_url``."""
    ledger_url: str | None = None
    """SQLAlchemy URL of the ledger; without it, SQLite in ``state_dir``."""
    namespace: str = Field("tribunal", pattern=r"^[a-z][a-z0-9_-]{0,31}$")
    """Prefix of every key, queue and exchange of ours: two installations can share one Redis."""
    state_dir: Path = Path(".tribunal")
    """Where ``tribunal up`` keeps Valkey's data, the ledger and the logs."""
    output_dir: Path = Path("output")
    """Audit files go below it."""
    subject_limit: int = Field(SUBJECT_LIMIT, ge=1, le=64 * 1024 * 1024)
    """Largest subject, in bytes of UTF-8."""
    context_roots: tuple[Path, ...] = ()
    """Folders that a case's workspace, memory and expertise must lie in; empty: anywhere the worker can read."""
    wait_aof_ms: int = Field(1000, ge=0, le=10_000)
    """How long submit waits for the append-only file, in milliseconds; 0 asks for no acknowledgement."""
    log_level: str = Field("info", pattern=r"^(debug|info|warning|error)$")
    """``debug``, ``info``, ``warning`` or ``error``."""
    config_path: Path | None = None
    """The file that was read; given by the flag ``--config`` or ``TRIBUNAL_CONFIG``, not in the file itself."""

    @property
    def effective_broker_url(self) -> str | None:
        """The broker's URL."""
        return self.broker_url or self.redis_url

    @property
    def effective_ledger_url(self) -> str:
        """The ledger's SQLAlchemy URL."""
        return self.ledger_url or f"sqlite:///{(self.state_dir / 'ledger.db').absolute()}"

    def environment(self) -> dict[str, str]:
        """The same settings as ``TRIBUNAL_*`` variables, for a process that this one starts."""
        values = {name: value for name, value in self.model_dump(mode="json").items() if value is not None}
        names = {"config_path": "config"}
        return {
            ENV_PREFIX + names.get(name, name).upper(): value if isinstance(value, str) else json.dumps(value)
            for name, value in values.items()
        }


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dictionary.

    Raises:
        ConfigurationError: it cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}); check the path and its mode") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: not valid TOML: {error}") from error


def config_file(named: Path | None = None) -> Path | None:
    """The configuration file: ``named``, else ``TRIBUNAL_CONFIG``, else ``tribunal.toml`` here if there is one."""
    if named is None and os.environ.get(ENV_PREFIX + "CONFIG"):
        named = Path(os.environ[ENV_PREFIX + "CONFIG"])
    if named is None and Path(CONFIG_NAME).exists():
        named = Path(CONFIG_NAME)
    return named.absolute() if named else None


def load_settings(config: Path | None = None, **flags: Any) -> Settings:
    """The settings of this process: the file, overridden by ``TRIBUNAL_*``, overridden by ``flags``.

    Relative paths are below the file's folder. Flags that are None count as not given.

    Raises:
        ConfigurationError: the file is missing or wrong, or a value is; the message names it and its source.
    """
    path = config_file(config)
    table: object = read_toml(path).get("settings", {}) if path else {}
    if not isinstance(table, dict):
        raise ConfigurationError(f"{path}: [settings] must be a table; {type(table).__name__} came")
    in_file = cast("dict[str, Any]", table)
    known = set(Settings.model_fields) - {"config_path"}
    for name in in_file:
        if name not in known:
            raise ConfigurationError(f'{path}: unknown setting "{name}"{did_you_mean(name, known)}')

    class Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=in_file)

    given = {name: value for name, value in flags.items() if value is not None}
    try:
        settings = Loaded(**given, config_path=path)
    except SettingsError as error:
        raise ConfigurationError(f"environment: {error}; lists are written as JSON") from error
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        variable = ENV_PREFIX + name.upper()
        source = "a flag" if name in given else variable if variable in os.environ else str(path)
        raise ConfigurationError(f"setting {name} (from {source}): {first['msg']}") from error
    base = path.parent if path else Path.cwd()
    values = settings.model_dump()
    values["state_dir"] = base / settings.state_dir
    values["output_dir"] = base / settings.output_dir
    values["context_roots"] = tuple(base / root for root in settings.context_roots)
    return Settings.model_construct(**values)
