"""coldpress clean"""

import click


@click.command()
def clean() -> None:
    """Empty the cache of exported graphs, candidates and measurements."""
    from coldpress import cache
    from coldpress.cli.show import megabytes

    place = cache.root()
    click.echo(f"{megabytes(cache.clean())} removed from {place}")
