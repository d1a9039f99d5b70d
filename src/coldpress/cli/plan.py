"""coldpress plan"""

from pathlib import Path

import click


@click.command()
@click.argument("artifact", metavar="[DIR]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--trace", type=click.Path(path_type=Path), help="Recorded traffic: CSV, CloudWatch JSON, access log."
)
@click.option("--pattern", help="Or a kind: steady, diurnal, bursty, sporadic.  [default: diurnal]")
@click.option("--rate", type=float, help="A pattern's requests a second, on average.  [default: 1]")
@click.option("--duration", metavar="TIME", help="How much of a pattern: 12h, 7d, 30d.  [default: 7d]")
@click.option("--functions", type=int, default=1, show_default=True, help="As many tenants, by Zipf's law.")
@click.option("--slo", metavar="WISHES", help="As p99=300ms,cold=1%,throttled=0.1%.")
@click.option("--request", metavar="SHAPE", help="Which of the measured requests, as '128 tokens'.")
@click.option(
    "--memory", type=click.IntRange(128, 10240), help="Of strategies with one size.  [default: as recommended]"
)
@click.option("--ms", type=click.FloatRange(0.01, 900_000), help="A request's duration, instead of DIR's.")
@click.option(
    "--cold-ms", type=click.FloatRange(0), default=0.0, show_default=True, help="What a cold start adds to --ms."
)
@click.option(
    "--only", metavar="NAMES", help="Of: on-demand, arm64, provisioned, scheduled, tracked, snapstart, …"
)
@click.option("--provisioned", type=int, help="Sandboxes kept ready.  [default: by the busiest minute]")
@click.option("--schedule", metavar="8-20=N", help="Kept ready between two hours.")
@click.option("--autoscale", metavar="MIN:MAX@TARGET", help="Kept ready as they are used.")
@click.option(
    "--server", "servers", multiple=True, metavar="TYPE=RATE", help="A server and its requests a second."
)
@click.option("--server-source", help="Who says so; printed beside it.")
@click.option("--terms", type=click.Choice(["on-demand", "spot"]), default="on-demand", show_default=True)
@click.option("--idle", type=float, default=300.0, show_default=True, help="Seconds that Lambda keeps a sandbox.")
@click.option("--concurrency", type=int, default=1000, show_default=True, help="The account's limit.")
@click.option("--placing-ms", type=float, help="Before an init.  [default: 6 for each MB of the package]")
@click.option("--arm64-factor", type=float, help="Its durations over x86_64's, if you know.")
@click.option("--restore-ms", type=float, help="A SnapStart restore, if you know.")
@click.option("--free-tier", is_flag=True, help="Take off what AWS gives for free every month.")
@click.option("--region", default="us-east-1", show_default=True)
@click.option("--sagemaker", metavar="MS,GB,MS", help="Request, memory, cold start.  [default: 560ms,4GB,2000ms]")
@click.option("--bytes", "moved", type=click.IntRange(0), default=10_000, show_default=True, help="In and out.")
@click.option(
    "--utilization", type=float, default=0.7, show_default=True, help="Of servers, in the busiest minute."
)
@click.option(
    "--own-server", "own_servers", multiple=True, metavar="TYPE", help="A server to run this function on."
)
@click.option("--managed", metavar="TYPE", help="Of Managed Instances.  [default: c7i.large, arm64: m7g.large]")
@click.option("--managed-least", type=int, default=3, show_default=True, help="Of them, at least.")
@click.option("--scale-up", type=int, default=1000, show_default=True, help="Sandboxes started in 10 s, at most.")
@click.option("--burst", metavar="TIMES,SECONDS,AN_HOUR", help="Of bursty.  [default: 20,30,4]")
@click.option("--visit", type=float, default=5.0, show_default=True, help="Requests in one visit, of sporadic.")
@click.option("--zipf", type=float, default=1.1, show_default=True, help="How unequal --functions are.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="The same gives the same traffic."
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    artifact: Path | None,
    trace: Path | None,
    pattern: str | None,
    rate: float | None,
    duration: str | None,
    functions: int,
    slo: str | None,
    request: str | None,
    memory: int | None,
    ms: float | None,
    cold_ms: float,
    only: str | None,
    provisioned: int | None,
    schedule: str | None,
    autoscale: str | None,
    servers: tuple[str, ...],
    server_source: str | None,
    terms: str,
    idle: float,
    concurrency: int,
    placing_ms: float | None,
    arm64_factor: float | None,
    restore_ms: float | None,
    free_tier: bool,
    region: str,
    sagemaker: str | None,
    moved: int,
    utilization: float,
    own_servers: tuple[str, ...],
    managed: str | None,
    managed_least: int,
    scale_up: int,
    burst: str | None,
    visit: float,
    zipf: float,
    seed: int,
    as_json: bool,
) -> None:
    """Play traffic to every way to run the function in DIR: what each costs, how slow, and which to take.

    Simulated from what `coldpress bench DIR` measured: Lambda at each memory size, with provisioned concurrency
    (fixed, scheduled, tracked), SnapStart, arm64, SageMaker Serverless, Managed Instances and servers.

    \b
    Examples:
      coldpress plan out --pattern diurnal --rate 20 --slo p99=300ms
      coldpress plan out --trace access.log.gz --server g4dn.xlarge=900 --server-source 'our load test'
      coldpress plan --ms 40 --cold-ms 300 --memory 1024 --pattern bursty --rate 5
    """
    import json

    from coldpress.cli.plan_table import progress_bar, show_plan
    from coldpress.cost.book import price_book
    from coldpress.cost.plan.breakeven import curves
    from coldpress.cost.plan.options import (
        Options,
        SageMaker,
        read_autoscale,
        read_sagemaker,
        read_schedule,
        read_server,
        read_slo,
    )
    from coldpress.cost.plan.planner import make_plan
    from coldpress.cost.plan.profile import find_profile
    from coldpress.cost.plan.saved import as_json as plan_json
    from coldpress.cost.plan.saved import save
    from coldpress.cost.plan.survey import Shape, find_traffic, read_burst
    from coldpress.errors import UsageError

    options = Options(
        memory_mb=None if artifact is None else memory,
        only=tuple(name.strip() for name in only.split(",")) if only else (),
        idle=idle,
        concurrency=concurrency,
        placing_ms=placing_ms,
        arm64_factor=arm64_factor,
        restore_ms=restore_ms,
        provisioned=provisioned,
        schedule=read_schedule(schedule) if schedule else None,
        autoscale=read_autoscale(autoscale) if autoscale else None,
        servers=tuple(read_server(text, server_source) for text in servers),
        terms=f"{terms.replace('-', '_')}_hour",
        free_tier=free_tier,
        sagemaker=read_sagemaker(sagemaker) if sagemaker else SageMaker(),
        bytes_in_out=moved,
        utilization=utilization,
        own_servers=own_servers or None,
        managed=managed,
        managed_least=managed_least,
        scale_up=scale_up,
        seed=seed,
    )
    if server_source and not servers:
        raise UsageError(
            f"--server-source {server_source!r} says where a --server's figure is from; there is none"
        )
    wishes = read_slo(slo) if slo else None
    book = price_book(region)
    more = Shape(functions, zipf, visit, read_burst(burst) if burst else None)
    traffic = find_traffic(trace, pattern, rate, duration, more, seed)
    profile = find_profile(artifact, request, ms, cold_ms, memory)
    with progress_bar("simulating") as done:
        made = make_plan(profile, traffic, options, book, wishes, done)
    with progress_bar("looking for break-evens") as done:
        crossings = curves(profile, options, book, done)
    if as_json:
        click.echo(json.dumps(plan_json(made, crossings, options, book), indent=1))
    else:
        show_plan(made, crossings, options, profile, book)
    if artifact is not None:
        save(artifact, made, crossings, options, book)
