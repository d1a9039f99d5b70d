"""What the dashboard shows: graphs of Lambda's own metrics and of those that the function writes."""

from collections.abc import Sequence
from typing import Any

from coldpress.cost.book import read_book, shipped_content
from coldpress.deploy.queues import Queue
from coldpress.deploy.wanted import ALIAS, Wanted
from coldpress.export.stack import Joined, Param, Region

#: of the metrics that the function writes
NAMESPACE = "coldpress"
#: seconds that a point stands for
PERIOD = 300
_COLUMNS, _WIDTH, _HEIGHT, _TITLE_HEIGHT = 24, 8, 6, 2
_SLOW = ("p50", "p95", "p99")
_PRICED = "us-east-1"
#: a metric as CloudWatch lists it: where, what, of whom, and how it is drawn
_Metric = list[Any]


def dashboard(wanted: Wanted, slow: Param, memory: Param) -> dict[str, Any]:
    """As CloudWatch reads it; `slow` is the line that the latency must not pass."""
    graphs = [
        _graph("Requests", [_live(wanted, name, "Sum") for name in ("Invocations", "Errors", "Throttles")]),
        _graph(
            "How long they take, as Lambda bills them (ms)",
            [_live(wanted, "Duration", one) for one in _SLOW],
            line=("alarm", slow),
        ),
        _graph("Latency, as the function measures it (ms)", [_own(wanted, "Latency", one) for one in _SLOW]),
        _graph("Cold starts", [_own(wanted, "ColdStart", "Sum")]),
        _graph("Loading models (ms)", [_own(wanted, "LoadTime", one) for one in ("p50", "p99")]),
        _graph("Failures in the function", [_own(wanted, "Failure", "Sum")]),
        _graph("Tokens", [_own(wanted, "Tokens", "Sum")]),
        _graph("Inputs in a batch", [_own(wanted, "BatchSize", one) for one in ("Average", "Maximum")]),
        _graph("Sandboxes at once", _at_once(wanted)),
        _graph("Latency of each model, p95 (ms)", [_each_model(wanted, "Latency", "p95")]),
        _graph("Models that were in memory already (share)", [_each_model(wanted, "CacheHit", "Average")]),
        _graph(f"About $ an hour, at {_PRICED}'s prices", _dollars(wanted, memory)),
        *(_graph(f"Queue {one.name}", _waiting(one)) for one in wanted.queues),
    ]
    return {"widgets": [_title(wanted), *_placed(graphs)]}


def of_alias(name: str, alias: str) -> dict[str, str]:
    """Whom Lambda counts for, where clients call an alias."""
    return {"FunctionName": name, "Resource": f"{name}:{alias}"}


def _title(wanted: Wanted) -> dict[str, Any]:
    words = (
        f"# {wanted.name}\n"
        f"Pressed by coldpress, on the alias {ALIAS}. The price is of requests and their duration alone: without "
        f"starts, what is kept ready, logs and metrics."
    )
    place = {"x": 0, "y": 0, "width": _COLUMNS, "height": _TITLE_HEIGHT}
    return {"type": "text", **place, "properties": {"markdown": words}}


def _placed(graphs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """In rows, from left to right."""
    in_row = _COLUMNS // _WIDTH
    return [
        {
            "type": "metric",
            "x": number % in_row * _WIDTH,
            "y": _TITLE_HEIGHT + number // in_row * _HEIGHT,
            "width": _WIDTH,
            "height": _HEIGHT,
            "properties": graph,
        }
        for number, graph in enumerate(graphs)
    ]


def _graph(title: str, metrics: list[_Metric], line: tuple[str, Param] | None = None) -> dict[str, Any]:
    lines = {"annotations": {"horizontal": [{"label": line[0], "value": line[1]}]}} if line else {}
    return {
        "title": title,
        "region": Region(),
        "view": "timeSeries",
        "period": PERIOD,
        "yAxis": {"left": {"min": 0, "showUnits": False}},
        "metrics": metrics,
        **lines,
    }


def _live(wanted: Wanted, metric: str, statistic: str, **drawn: Any) -> _Metric:
    """Of Lambda's own."""
    whom = [text for pair in of_alias(wanted.name, ALIAS).items() for text in pair]
    return ["AWS/Lambda", metric, *whom, {"stat": statistic, **_labelled(metric, statistic), **drawn}]


def _own(wanted: Wanted, metric: str, statistic: str) -> _Metric:
    """Of the function's own."""
    drawn = {"stat": statistic, **_labelled(metric, statistic)}
    return [NAMESPACE, metric, "FunctionName", wanted.name, drawn]


def _labelled(metric: str, statistic: str) -> dict[str, str]:
    return {"label": metric if statistic == "Sum" else statistic}


def _each_model(wanted: Wanted, metric: str, statistic: str) -> _Metric:
    """Whatever models there will be: CloudWatch looks for them when it draws."""
    whom = f'{{{NAMESPACE},FunctionName,Model}} MetricName="{metric}" FunctionName="{wanted.name}"'
    found = f"SEARCH('{whom}', '{statistic}', {PERIOD})"
    return [{"expression": found, "label": "${PROP('Dim.Model')}", "id": "models"}]


def _at_once(wanted: Wanted) -> list[_Metric]:
    """And of those that are kept ready the share that is busy, with the requests that found none of them free."""
    made = [_live(wanted, "ConcurrentExecutions", "Maximum", label="at once")]
    if wanted.provisioned or wanted.autoscale:
        share = {"label": "share of those kept ready that is busy", "yAxis": "right"}
        made.append(_live(wanted, "ProvisionedConcurrencyUtilization", "Maximum", **share))
        beyond = {"label": "requests beyond them"}
        made.append(_live(wanted, "ProvisionedConcurrencySpilloverInvocations", "Sum", **beyond))
    return made


def _dollars(wanted: Wanted, memory: Param) -> list[_Metric]:
    """By the book that this coldpress has, so that the same wish is the same bytes everywhere."""
    prices = read_book(shipped_content(_PRICED)).lambda_
    gb_second = prices.gb_second[wanted.architecture][0].price.value
    seconds = Joined(
        (
            "(ms / 1000 * ",
            memory,
            f" / 1024 * {gb_second:.12f} + requests * {prices.request.value:.12f}) * 3600 / PERIOD(ms)",
        )
    )
    return [
        [{"expression": seconds, "label": "$ an hour", "id": "dollars"}],
        _live(wanted, "Duration", "Sum", id="ms", visible=False),
        _live(wanted, "Invocations", "Sum", id="requests", visible=False),
    ]


def _waiting(queue: Queue) -> list[_Metric]:
    shown = (
        ("ApproximateNumberOfMessagesVisible", "Maximum", {"label": "waiting"}),
        ("ApproximateAgeOfOldestMessage", "Maximum", {"label": "age of the oldest (s)", "yAxis": "right"}),
    )
    return [["AWS/SQS", name, "QueueName", queue.name, {"stat": stat, **drawn}] for name, stat, drawn in shown]
