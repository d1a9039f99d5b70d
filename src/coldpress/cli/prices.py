"""coldpress prices"""

import click


@click.command()
@click.option("--region", default="us-east-1", show_default=True)
@click.option("--show", is_flag=True, help="Show the book; what is done without any flag, or after --refresh.")
@click.option("--regions", "list_regions", is_flag=True, help="List the regions that there is a book for.")
@click.option("--refresh", "renew", is_flag=True, help="Read AWS's public price list into a book of your own.")
@click.option("--from", "host", metavar="URL", help="A mirror of AWS's price list, for --refresh.")
@click.option("--json", "as_json", is_flag=True, help="Print the book, the changes or the regions as JSON.")
def prices(region: str, show: bool, list_regions: bool, renew: bool, host: str | None, as_json: bool) -> None:
    """Show the prices that `coldpress cost` uses, each with its source and date.

    --refresh takes today's from AWS's list, which needs no account; EC2's part of it is some 300 MB. The new book
    lies in the cache, and is used from then on; `coldpress clean` brings back the one that was shipped.

    \b
    Examples:
      coldpress prices --region eu-central-1
      coldpress prices --refresh --region eu-west-3
    """
    import json
    from dataclasses import asdict

    from rich.console import Console

    from coldpress.cli.prices_table import prices_table
    from coldpress.cost.book import price_book, regions
    from coldpress.errors import UsageError

    if host and not renew:
        raise UsageError("--from names a mirror of the price list for --refresh, which is not there")
    if list_regions:
        names = regions()
        click.echo(json.dumps(names) if as_json else "\n".join(names))
        return
    if renew:
        _refresh(region, host, as_json and not show)
        if not show:
            return
    book = price_book(region)
    if as_json:
        click.echo(json.dumps(asdict(book), indent=1))
    else:
        Console().print(prices_table(book))


def _refresh(region: str, host: str | None, as_json: bool) -> None:
    import json
    from dataclasses import asdict

    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

    from coldpress.cli.prices_table import changes_table, refreshed_text
    from coldpress.cli.show import stderr
    from coldpress.cost.refresh import refresh
    from coldpress.cost.refresh.download import AWS
    from coldpress.errors import PriceListError

    bars = Progress(
        TextColumn("{task.description:<16}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=stderr(),
    )
    with bars:
        tasks: dict[str, TaskID] = {}

        def told(service: str, done: int, total: int | None) -> None:
            if service not in tasks:
                tasks[service] = bars.add_task(service, total=total)
            bars.update(tasks[service], completed=done)

        outcome = refresh(region, host or AWS, told)
    if as_json:
        click.echo(json.dumps(asdict(outcome), indent=1))
    elif outcome.changes:
        Console().print(changes_table(outcome))
    stderr().print(refreshed_text(outcome), highlight=False, markup=False)
    if outcome.refused:
        raise PriceListError(
            f"{len(outcome.refused)} figures of the list cannot be right; the old ones stay, all others are taken."
            " If AWS did change them so far, please report it."
        )
