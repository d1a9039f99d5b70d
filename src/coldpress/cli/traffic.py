"""coldpress traffic"""

import json
from pathlib import Path
from typing import BinaryIO

import click

OUT = click.Path(dir_okay=False, writable=True, allow_dash=True, path_type=Path)


@click.command()
@click.argument("url")
@click.option("--rate", type=float, help="Requests a second.")
@click.option("--duration", metavar="TIME", help="How long: 500ms, 30s, 5m, 1h.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="Recorded traffic instead: CSV of times or counts, CloudWatch JSON, access logs, JSON Lines.",
)
@click.option("--speed", type=float, default=1.0, show_default=True, help="Times the trace's own.")
@click.option("--data", help="The body of every request, as JSON.  [default: {}]")
@click.option("--event", type=click.File("rb"), help="A file that holds the body; - for stdin.")
@click.option("--header", "headers", multiple=True, metavar="NAME: VALUE", help="Sent along; may be repeated.")
@click.option(
    "--poisson/--even", default=True, show_default=True, help="As independent people ask, or at the same pause."
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same gives the same times.")
@click.option("--connections", type=click.IntRange(1, 20_000), default=256, show_default=True, help="At most.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 900),
    default=30.0,
    show_default=True,
    help="Seconds from a request's time.",
)
@click.option("--json", "json_file", type=OUT, help="Write all figures there; - for standard output.")
@click.option("--chart", type=OUT, help="Draw every request: FILE.svg or FILE.html.")
@click.pass_context
def traffic(
    ctx: click.Context,
    url: str,
    rate: float | None,
    duration: str | None,
    trace: Path | None,
    speed: float,
    data: str | None,
    event: BinaryIO | None,
    headers: tuple[str, ...],
    poisson: bool,
    seed: int,
    connections: int,
    timeout: float,
    json_file: Path | None,
    chart: Path | None,
) -> None:
    """Send requests to URL at times fixed beforehand, and show how long each took from its time on.

    URL is a Function URL, any address that takes a POST, or the Invoke API's …/functions/NAME/invocations.
    Slow answers do not slow the sending, so what waits behind them is counted. Ctrl-C ends it with what there is.

    \b
    Examples:
      coldpress traffic http://127.0.0.1:9000/ --rate 50 --duration 30s --data '{"text": "hi"}'
      coldpress traffic http://127.0.0.1:9000/ --rate 200 --duration 5m --even --chart out.svg
      coldpress traffic http://127.0.0.1:9000/ --trace day.csv --speed 60 --json - | jq .latency_ms
    """
    from rich.console import Console

    from coldpress.errors import FunctionError
    from coldpress.traffic import send_traffic
    from coldpress.traffic.chart import check_path, write
    from coldpress.traffic.schedule import seconds
    from coldpress.traffic.show import summary_table, watching

    if chart is not None:
        check_path(chart)
    for path in (chart, json_file):
        _check_folder(path)
    console = Console(stderr=True)
    with watching(console) as watch:
        done = send_traffic(
            url,
            rate=rate,
            duration=None if duration is None else seconds(duration),
            trace=trace,
            speed=speed,
            poisson=poisson,
            seed=seed,
            body=_body(data, event),
            kind=_kind(event),
            headers=headers,
            connections=connections,
            timeout=timeout,
            watch=watch,
        )
    console.print(summary_table(done))
    if json_file is not None:
        with click.open_file(json_file, "w", encoding="utf-8") as file:
            click.echo(json.dumps(done.as_json()), file)
    if chart is not None:
        write(done, chart)
    if done.summary.interrupted:
        ctx.exit(130)
    if not done.summary.good:
        raise FunctionError(f"none of the {done.summary.scheduled:,} requests was answered well; see above")


def _body(data: str | None, event: BinaryIO | None) -> bytes:
    from coldpress.errors import UsageError

    if data is not None and event is not None:
        raise UsageError("give the body either as --data or as --event, not both")
    if event is not None:
        return event.read()
    try:
        json.loads(data or "{}")
    except ValueError as error:
        raise UsageError(f"--data {data!r} is not JSON: {error}") from None
    return (data or "{}").encode()


def _kind(event: BinaryIO | None) -> str:
    """A picture is sent as one: what is not text reaches a function in base64."""
    from mimetypes import guess_type

    return (event and guess_type(event.name)[0]) or "application/json"


def _check_folder(path: Path | None) -> None:
    """Before anything is sent: a run must not end in a folder that is not there."""
    from coldpress.errors import UsageError

    if path is not None and not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no folder {path.parent}")
