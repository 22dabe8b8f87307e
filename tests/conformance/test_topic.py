"""The verdict topic's contract, on every broker alike."""

import logging
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from kombu import Producer

from tribunal import topic as topic_module
from tribunal.errors import ConfigurationError, ContractError, DispatchError
from tribunal.model import Authority, Decision, Grade, Verdict
from tribunal.topic import HEARTBEAT_SECONDS, Topic, check_pattern, kombu_url, matches

Sealed = Callable[..., Verdict]
SOON = 5.0

CASES = [
    ("recommendation.pass", "recommendation.pass", True),
    ("recommendation.pass", "recommendation.veto", False),
    ("*.escalate", "routine-review.escalate", True),
    ("*.escalate", "routine-review.escalate.auto", False),
    ("*", "routine-review.escalate", False),
    ("*.*", "routine-review.escalate", True),
    ("#", "routine-review.approved.auto", True),
    ("recommendation.#", "recommendation.needs_revision", True),
    ("recommendation.#", "recommendationx.pass", False),
    ("recommendation.pass.#", "recommendation.pass", True),
    ("#.recommendation.pass", "recommendation.pass", True),
    ("#.auto", "routine-review.approved.auto", True),
    ("#.auto", "routine-review.approved.human", False),
    ("routine-review.#.auto.#", "routine-review.auto", True),
    ("#.approved.#", "routine-review.approved.auto", True),
]


@pytest.mark.parametrize(("pattern", "key", "expected"), CASES)
def test_patterns_match_as_in_amqp(pattern: str, key: str, expected: bool) -> None:
    assert matches(check_pattern(pattern), key) is expected


WORDS = st.sampled_from(["a", "b", "c-d"])


@given(
    pattern=st.lists(st.one_of(WORDS, st.just("*"), st.just("#")), min_size=1, max_size=5),
    key=st.lists(WORDS, min_size=1, max_size=4),
)
def test_patterns_match_as_an_independent_regular_expression_does(pattern: list[str], key: list[str]) -> None:
    each = {"*": r"(\.[^.]+)", "#": r"(\.[^.]+)*"}
    oracle = "".join(each.get(word, re.escape("." + word)) for word in pattern)

    assert matches(".".join(pattern), ".".join(key)) == bool(re.fullmatch(oracle, "." + ".".join(key)))


@pytest.mark.parametrize("pattern", ["", ".", "a.", ".a", "a..b", "A", "a b", "a*", "#.#.#.#.#", "a" * 256, "é", "a\n"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ContractError, match="a pattern is"):
        check_pattern(pattern)


def test_a_verdict_reaches_whom_it_concerns_as_it_was_sealed(topic: Topic, sealed: Sealed) -> None:
    verdict = sealed(outcome="veto", facts={"matched": ["ñ", 0.1, None]})

    with topic.listen("*.veto") as concerned, topic.listen("*.pass") as other:
        topic.publish(verdict)

        assert concerned.get(SOON) == verdict
        assert other.get(0.05) is None


def test_every_broker_routes_as_the_matcher_says(topic: Topic, sealed: Sealed) -> None:
    published = [
        sealed(panel=key.split(".")[0], decision=_decision(key)) for key in sorted({key for _, key, _ in CASES})
    ]
    listeners = [topic.listen(pattern) for pattern in sorted({pattern for pattern, _, _ in CASES})]
    try:
        for verdict in published:
            topic.publish(verdict)
        for listener in listeners:
            expected = [verdict for verdict in published if matches(listener.pattern, verdict.routing_key)]
            assert [listener.get(SOON) for _ in expected] == expected, listener.pattern
            assert listener.get(0.01) is None, listener.pattern
    finally:
        for listener in listeners:
            listener.close()


def _decision(key: str) -> Decision:
    _, outcome, *authority = key.split(".")
    return Decision(outcome=outcome, grade=Grade.PERMISSIVE, authority=Authority(authority[0]) if authority else None)


def test_every_listener_gets_its_own_copy_in_order(
    topic: Topic, sealed: Sealed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_module, "PREFETCH", 3)
    verdicts = [sealed() for _ in range(20)]

    with topic.listen("#") as one, topic.listen("recommendation.*") as two:
        for verdict in verdicts:
            topic.publish(verdict)

        assert [one.get(SOON) for _ in verdicts] == verdicts
        assert [two.get(SOON) for _ in verdicts] == verdicts


def test_what_was_published_before_is_not_replayed(topic: Topic, sealed: Sealed) -> None:
    topic.publish(sealed())

    with topic.listen("#") as listener:
        topic.publish(later := sealed())

        assert listener.get(SOON) == later


def test_the_iteration_ends_when_told_to(topic: Topic, sealed: Sealed) -> None:
    with topic.listen("#") as listener:
        topic.publish(verdict := sealed())
        seen: list[Verdict] = []
        for arrived in listener:
            seen.append(arrived)
            listener.stop()

        assert seen == [verdict]


def test_a_nudge_takes_all_that_wait(topic: Topic, sealed: Sealed) -> None:
    with topic.listen("#") as listener:
        assert not listener.nudge(0.01)
        for _ in range(3):
            topic.publish(sealed())

        assert listener.nudge(SOON)
        assert not listener.nudge(0.05)


def test_i7_what_is_not_sealed_is_not_published(topic: Topic, sealed: Sealed) -> None:
    verdict = sealed()
    with topic.listen("#") as listener:
        for wrong in (verdict.model_copy(update={"seq": None}), verdict.model_copy(update={"final": False})):
            with pytest.raises(ContractError, match="only a sealed verdict"):
                topic.publish(wrong)

        assert listener.get(0.05) is None


@pytest.mark.parametrize("body", [b"", b"{}", b"no json \xff", b'{"schema_version": 2}', b"[" * 10_000])
def test_a_foreign_message_is_dropped_with_a_word_in_the_log(
    topic: Topic, sealed: Sealed, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with topic.listen("#") as listener, topic.connection(1) as connection, connection.channel() as channel:
        stranger = Producer(channel, exchange=topic.exchange)
        stranger.publish(
            body,
            routing_key="recommendation.pass",
            content_type="application/x-python-serialize",
            content_encoding="binary",
        )
        topic.publish(verdict := sealed())

        assert listener.get(SOON) == verdict
        assert "no verdict" in caplog.text


def test_closing_leaves_no_connection(topic: Topic, sealed: Sealed) -> None:
    def one_round() -> None:
        with topic.listen("#") as listener:
            topic.publish(verdict := sealed())
            assert listener.get(SOON) == verdict
        topic.sweep()
        topic.close()

    def descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    one_round()
    before = descriptors()
    for _ in range(3):
        one_round()

    assert descriptors() == before


def test_closing_removes_the_queue(topic: Topic) -> None:
    listener = topic.listen("#")
    name = listener.queue
    listener.close()

    with topic.connection(1) as connection:
        channel: Any = connection.channel()
        with pytest.raises(topic.faults, match="NOT_FOUND"):
            channel.queue_declare(name, passive=True)


def test_a_closed_listener_says_nothing_more(topic: Topic, sealed: Sealed) -> None:
    listener = topic.listen("#")
    listener.close()
    topic.publish(sealed())

    assert listener.get(SOON) is None
    assert list(listener) == []


def test_redis_a_silent_consumers_queue_is_swept_and_the_others_are_trimmed(
    redis_topic: Topic, redis_client: redis.Redis, sealed: Sealed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_module, "QUEUE_LIMIT", 3)
    topic, binding = redis_topic, f"_kombu.binding.{redis_topic.exchange.name}"
    verdicts = [sealed() for _ in range(5)]
    with topic.listen("#") as silent, topic.listen("recommendation.#") as living:
        assert 0 < redis_client.ttl(topic.heartbeat_key(living.queue)) <= HEARTBEAT_SECONDS
        for verdict in verdicts:
            topic.publish(verdict)
        redis_client.delete(topic.heartbeat_key(silent.queue))  # as if a minute had passed

        assert topic.sweep() == 1

        assert not redis_client.exists(silent.queue)
        assert [row for row in redis_client.smembers(binding) if silent.queue in str(row)] == []
        assert redis_client.llen(living.queue) == 3
        assert [living.get(SOON) for _ in range(3)] == verdicts[2:]


def test_redis_what_a_publisher_had_routed_before_the_sweep_goes_with_the_next(
    redis_topic: Topic, redis_client: redis.Redis
) -> None:
    topic = redis_topic
    with topic.listen("#") as silent:
        redis_client.delete(topic.heartbeat_key(silent.queue))
        assert topic.sweep() == 1
        redis_client.lpush(silent.queue, "routed before, pushed after")

        assert topic.sweep() == 1
        assert not redis_client.exists(silent.queue)
        assert redis_client.exists(topic.subscribers_key)
        assert topic.sweep() == 0
        assert not redis_client.exists(topic.subscribers_key)


def test_redis_queues_of_others_on_the_exchange_are_left_alone(
    redis_topic: Topic, redis_client: redis.Redis, sealed: Sealed
) -> None:
    topic = redis_topic
    foreign = f"{topic.exchange.name}-archive"
    with topic.connection(1) as connection:
        channel: Any = connection.channel()
        topic.exchange(channel).declare()
        channel.queue_declare(foreign)
        channel.queue_bind(foreign, topic.exchange.name, "#")
    topic.publish(sealed())

    assert topic.sweep() == 0

    assert redis_client.llen(foreign) == 1


def test_redis_a_consumer_that_was_swept_comes_back_and_says_so(
    redis_topic: Topic,
    redis_client: redis.Redis,
    sealed: Sealed,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic = redis_topic
    with topic.listen("#") as listener:
        redis_client.delete(topic.heartbeat_key(listener.queue))
        topic.sweep()
        topic.publish(sealed())
        monkeypatch.setattr(topic_module, "BEAT_SECONDS", 0.0)

        assert listener.get(0.1) is None
        assert "silent for over 60 s" in caplog.text
        topic.publish(verdict := sealed())
        assert listener.get(SOON) == verdict


def test_redis_nothing_is_left_behind(redis_topic: Topic, redis_client: redis.Redis, sealed: Sealed) -> None:
    topic = redis_topic
    with topic.listen("recommendation.#") as listener:
        topic.publish(sealed())
        listener.get(SOON)
    topic.sweep()

    assert list(redis_client.scan_iter(f"*{topic.exchange.name.split('.')[0]}*")) == []
    assert not redis_client.exists("unacked")


def test_redis_a_listener_restores_nothing_of_the_workers_that_share_the_broker(valkey: str, sealed: Sealed) -> None:
    topic = Topic(valkey, "testshared")
    with topic.listen("#") as listener, redis.Redis.from_url(valkey) as client:
        client.zadd("unacked_index", {"a worker's message": 0})  # overdue by kombu's own hour

        assert listener.get(0.1) is None

        assert client.zcard("unacked_index") == 1
        client.delete("unacked_index")
    topic.sweep()


@pytest.mark.parametrize("rubbish", ["rubbish", "[]", "1", "{}", '{"body": 1, "properties": {}}'])
def test_redis_rubbish_in_the_queue_is_dropped_too(
    redis_topic: Topic, redis_client: redis.Redis, sealed: Sealed, rubbish: str, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_topic.listen("#") as listener:
        redis_client.lpush(listener.queue, rubbish)
        redis_topic.publish(verdict := sealed())

        assert listener.get(SOON) == verdict
        assert caplog.records


def test_a_listener_outlives_its_connection(valkey: str, sealed: Sealed, caplog: pytest.LogCaptureFixture) -> None:
    topic = Topic(valkey, "testcut")
    with topic.listen("#") as listener, redis.Redis.from_url(valkey) as client:
        topic.publish(first := sealed())
        assert listener.get(SOON) == first
        client.client_kill_filter(_type="normal", skipme=True)
        topic.publish(later := sealed())

        assert listener.get(SOON) == later
        assert "lost the broker" in caplog.text
    topic.close()
    topic.sweep()


@pytest.mark.parametrize("url", ["redis://:hush@127.0.0.1:{}/0", "amqp://ana:hush@127.0.0.1:{}//"])
@pytest.mark.parametrize("answers", [True, False])
def test_a_broker_that_is_not_there_or_mute_costs_a_bounded_time(url: str, answers: bool, sealed: Sealed) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1] if answers else 1
        topic = Topic(url.format(port))
        begin = time.monotonic()

        with pytest.raises(DispatchError, match="call again") as told:
            topic.publish(sealed())

        assert time.monotonic() - begin < 1.9
        assert told.value.retryable
        assert "hush" not in str(told.value)
        assert f"127.0.0.1:{port}" in str(told.value)
        topic.close()


def test_listening_on_a_broker_that_is_not_there_says_so() -> None:
    with pytest.raises(DispatchError, match="is the broker up"):
        Topic("redis://127.0.0.1:1/0").listen("#")
    with pytest.raises(DispatchError, match="not swept"):
        Topic("redis://127.0.0.1:1/0").sweep()


def test_a_broker_that_kombu_does_not_know_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'gopher' came"):
        Topic("gopher://ana:hush@host")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock"),
        ("unix:///run/valkey.sock?db=3", "redis+socket:///run/valkey.sock?virtual_host=3"),
        ("redis://host/3", "redis://host/3"),
    ],
)
def test_a_unix_sockets_url_is_written_as_kombu_wants_it(url: str, expected: str) -> None:
    assert kombu_url(url) == expected


def test_warnings_are_logged_by_the_topic_only(topic: Topic, sealed: Sealed, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), topic.listen("#") as listener:
        topic.publish(sealed())
        assert listener.get(SOON)

    assert caplog.records == []
