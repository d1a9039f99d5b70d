"""Signatures are botocore's, for whatever is asked."""

import datetime
from unittest.mock import patch
from urllib.parse import quote

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as TheirCredentials
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coldpress_runtime.aws.signing import Credentials, query_string, quoted, signed

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_words = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789/+=", min_size=1, max_size=12)
_names = st.from_regex(r"x-amz-[a-z0-9-]{1,12}[a-z0-9]", fullmatch=True).filter(
    lambda name: name not in ("x-amz-date", "x-amz-security-token", "x-amz-content-sha256")
)
_values = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
_times = st.datetimes(datetime.datetime(2020, 1, 1), datetime.datetime(2099, 1, 1))


def theirs(
    service: str,
    method: str,
    url: str,
    headers: dict[str, str],
    body: bytes,
    who: Credentials,
    when: datetime.datetime,
) -> dict[str, str]:
    request = AWSRequest(method, url, headers=dict(headers), data=body)
    kind = S3SigV4Auth if service == "s3" else SigV4Auth
    their = TheirCredentials(who.key, who.secret, who.session or None)
    aware = when.replace(tzinfo=datetime.timezone.utc)
    with patch("botocore.auth.get_current_datetime", lambda remove_tzinfo=True: when if remove_tzinfo else aware):
        kind(their, service, "eu-west-1").add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()}


@settings(max_examples=5000, deadline=None)
@given(
    service=st.sampled_from(["s3", "sqs", "lambda", "states"]),
    method=st.sampled_from(["GET", "PUT", "POST", "DELETE", "HEAD"]),
    parts=st.lists(_texts, max_size=3),
    pairs=st.lists(st.tuples(_texts, _texts), max_size=3),
    headers=st.dictionaries(_names, _values, max_size=2),
    body=st.binary(max_size=8),
    who=st.builds(Credentials, _words, _words, st.one_of(st.just(""), _words)),
    when=_times,
    host=st.sampled_from(["bucket.s3.eu-west-1.amazonaws.com", "localhost:4566", "sqs.eu-west-1.amazonaws.com"]),
)
@example(
    "s3",
    "GET",
    ["a b", "..", "é", ""],
    [("k", "1"), ("k", "0"), ("", "")],
    {},
    b"",
    Credentials("a", "b", "c"),
    datetime.datetime(2026, 1, 2),
    "x",
)
@example(
    "sqs",
    "POST",
    ["..", "a//b", "."],
    [("a", ""), ("a", "é&=")],
    {"x-amz-a": "  b   c "},
    b"x",
    Credentials("a", "b"),
    datetime.datetime(2026, 1, 2),
    "x",
)
def test_as_botocore_signs(
    service: str,
    method: str,
    parts: list[str],
    pairs: list[tuple[str, str]],
    headers: dict[str, str],
    body: bytes,
    who: Credentials,
    when: datetime.datetime,
    host: str,
) -> None:
    path, query = "/" + "/".join(quoted(part, b"/") for part in parts), query_string(pairs)
    stamp = when.strftime("%Y%m%dT%H%M%SZ")
    ours = signed(who, "eu-west-1", service, stamp, method, host, path, query, headers, body)
    url = f"https://{host}{path}" + (f"?{query}" if query else "")
    expected = theirs(service, method, url, headers, body, who, when)
    assert ours["authorization"] == expected["authorization"]
    assert ours.get("x-amz-security-token", "") == who.session
    assert ours["x-amz-date"] == expected["x-amz-date"]
    assert ours.get("x-amz-content-sha256") == expected.get("x-amz-content-sha256")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_quoted_as_others_do(text: str) -> None:
    assert quoted(text) == quote(text, safe="-_.~")


def test_other_requests_have_other_signatures() -> None:
    who = Credentials("key", "secret")
    seen = {
        signed(who, "eu-west-1", "sqs", when, method, "host", "/", query, {}, body)["authorization"]
        for when in ("20260102T030405Z", "20260102T030406Z")
        for method in ("GET", "POST")
        for query in ("", "a=b")
        for body in (b"", b"x")
    }
    assert len(seen) == 16


@pytest.mark.parametrize("secret", ["s", "s" * 60, "s" * 61, "s" * 200])
def test_secrets_of_any_length(secret: str) -> None:
    who, when = Credentials("key", secret), datetime.datetime(2026, 1, 2, 3, 4, 5)
    ours = signed(who, "eu-west-1", "sqs", "20260102T030405Z", "GET", "host", "/", "", {}, b"")
    assert ours["authorization"] == theirs("sqs", "GET", "https://host/", {}, b"", who, when)["authorization"]
