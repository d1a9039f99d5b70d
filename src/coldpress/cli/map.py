"""coldpress map"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from coldpress.bulk.result import Result

_FAILURES_SHOWN = 5


@click.command()
@click.argument("source", metavar="FROM")
@click.option("--to", required=True, metavar="TO", help="Where the answers go: s3://bucket/prefix/, or a folder.")
@click.option("--name", help="The deployed function that answers.")
@click.option(
    "--local",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Answer on this machine, by the artifact in DIR.",
)
@click.option("--resume", is_flag=True, help="Go on with the job that is in TO.")
@click.option(
    "--chunk", type=int, help="Bytes that one invocation answers.  [default: 131072; less in small jobs]"
)
@click.option("--concurrency", type=click.IntRange(1, 10000), help="At once.  [default: 100; CPUs with --local]")
@click.option(
    "--memory", type=click.IntRange(128, 10240), default=1769, show_default=True, help="MB, with --local."
)
@click.option("--region", help="[default: the credentials' own]")
@click.option("--endpoint-url", metavar="URL", help="A stand-in for AWS.")
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as JSON.")
def map(  # noqa: A001 - the command's name
    source: str,
    to: str,
    name: str | None,
    local: Path | None,
    resume: bool,
    chunk: int | None,
    concurrency: int | None,
    memory: int,
    region: str | None,
    endpoint_url: str | None,
    as_json: bool,
) -> None:
    """Answer every line of the JSON Lines files that FROM names, many at once.

    FROM is a pattern: * and ? stay inside a folder, ** crosses them; a folder means all *.jsonl below it. A line
    is a request, as {"text": "…"}; line n of the answers answers line n of the file, and a line that is wrong gets
    its error there. Interrupted anywhere, the same command with --resume goes on, and gives the same bytes.

    \b
    Examples:
      coldpress map 'texts/*.jsonl' --to answers --local out
      coldpress map 'texts/*.jsonl' --to answers --local out --resume
      coldpress map 's3://texts/2026/*.jsonl' --to s3://answers/2026/ --name minilm
    """
    from coldpress.cli.show import stderr
    from coldpress.errors import UsageError
    from coldpress.progress import Shown

    if (name is None) == (local is None):
        raise UsageError(
            "say who answers: --name NAME for a deployed function, or --local DIR for an artifact here"
        )
    progress = Shown(stderr())
    if local is not None:
        from coldpress.bulk.local import map_local

        result = map_local(
            source,
            Path(to),
            local,
            resume=resume,
            chunk_bytes=chunk,
            concurrency=concurrency,
            memory_mb=memory,
            progress=progress,
        )
    else:
        from coldpress.bulk.remote import map_aws
        from coldpress.deploy.aws import connect

        assert name is not None
        result = map_aws(
            connect(region, endpoint_url),
            source,
            to,
            name,
            resume=resume,
            chunk_bytes=chunk,
            concurrency=concurrency,
            progress=progress,
        )
    _show(result, as_json)


def _show(result: "Result", as_json: bool) -> None:
    from coldpress.errors import FunctionError
    from coldpress.words import rate_text

    rate = f", {rate_text(result.lines / result.seconds)}" if result.seconds and not result.done_before else ""
    click.echo(f"{result.lines:,} lines answered, {result.failed_lines:,} of them with an error{rate}", err=True)
    if result.dollars is not None:
        click.echo(f"${result.dollars:,.4f} ({result.note})", err=True)
    if as_json:
        click.echo(result.as_json())
    else:
        for one in result.outputs:
            click.echo(one)
    for failure in result.failures[:_FAILURES_SHOWN]:
        click.echo(f"failed: {failure.part}: {failure.reason}", err=True)
    if not result.whole:
        raise FunctionError(
            f"{result.chunks - result.done:,} of {result.chunks:,} stretches are not answered: "
            "see why above; the same command with --resume tries them again"
        )
