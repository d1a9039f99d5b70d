"""Every shipped book is whole, and says where each figure is from."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from coldpress.cli.prices import prices
from coldpress.cost.bill import server_bill
from coldpress.cost.book import (
    PriceBook,
    price_book,
    read_book,
    refreshed_path,
    regions,
    shipped_content,
)
from coldpress.cost.figures import all_prices
from coldpress.errors import UsageError

WANTED_REGIONS = {"us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-1"}
#: of all figures, those that a person would miss
SERVERS = {"g4dn.xlarge", "g5.xlarge", "c7i.large", "m7i.large", "m7g.large", "t3.medium"}


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDPRESS_CACHE", str(tmp_path / "cache"))


@pytest.fixture(
    params=sorted(path.stem for path in Path(__file__).parents[2].glob("src/coldpress/cost/prices/*.json"))
)
def book(request: pytest.FixtureRequest) -> PriceBook:
    return price_book(request.param)


def test_the_regions() -> None:
    assert set(regions()) >= WANTED_REGIONS


def test_each_figure_is_above_nothing_and_has_a_source_and_a_day(book: PriceBook) -> None:
    for name, price in all_prices(book).items():
        assert price.value > 0, name
        assert price.source and price.unit, name
        assert date.fromisoformat(price.date).isoformat() == price.date, name


def test_lambda_tiers_go_up_and_get_cheaper(book: PriceBook) -> None:
    for arch in ("x86_64", "arm64"):
        tiers = book.lambda_.gb_second[arch]
        ends = [tier.up_to for tier in tiers]
        assert ends[-1] is None and None not in ends[:-1]
        assert ends[:-1] == sorted(end for end in ends[:-1] if end is not None)
        dollars = [tier.price.value for tier in tiers]
        assert dollars == sorted(dollars, reverse=True)
        assert book.lambda_.provisioned_gb_second[arch].value < dollars[0]
        assert book.lambda_.provisioned_running_gb_second[arch].value < dollars[0]


def test_arm_costs_less(book: PriceBook) -> None:
    assert book.lambda_.gb_second["arm64"][0].price.value < book.lambda_.gb_second["x86_64"][0].price.value
    if "arm64" in book.fargate:
        assert book.fargate["arm64"]["vcpu_hour"].value < book.fargate["x86_64"]["vcpu_hour"].value


def test_servers_have_shapes_and_an_on_demand_price(book: PriceBook) -> None:
    assert set(book.ec2) >= SERVERS and set(book.ec2_shapes) == set(book.ec2)
    for kind, terms in book.ec2.items():
        shape = book.ec2_shapes[kind]
        assert shape.vcpus >= 1 and shape.memory_gb >= 1 and shape.arch in {"x86_64", "arm64"}
        assert bool(shape.gpu) == kind.startswith("g")
        if "spot_hour" in terms:
            assert terms["spot_hour"].value < terms["on_demand_hour"].value
            assert terms["spot_hour"].note


def test_fargate_has_both_halves_or_none(book: PriceBook) -> None:
    for halves in book.fargate.values():
        assert set(halves) == {"vcpu_hour", "gb_hour"}


def test_a_borrowed_figure_says_so_and_is_the_other_region_s() -> None:
    frankfurt, virginia = price_book("eu-central-1"), price_book("us-east-1")
    arm = frankfurt.lambda_.provisioned_gb_second["arm64"]
    assert arm.value == virginia.lambda_.provisioned_gb_second["arm64"].value
    assert arm.like == "us-east-1" and "none was found for this region" in arm.note
    assert not [price for price in all_prices(virginia).values() if price.like]


def test_nothing_borrows_from_what_is_borrowed(book: PriceBook) -> None:
    assert {price.like for price in all_prices(book).values()} <= {"", "us-east-1"}


def test_a_server_or_terms_without_a_price() -> None:
    ireland = price_book("eu-west-1")
    with pytest.raises(
        UsageError, match=r"no price for 'g6\.xlarge' among EC2 types in eu-west-1; there is for: g4dn"
    ):
        server_bill(ireland, "g6.xlarge", servers=1, hours=1)
    with pytest.raises(UsageError, match=r"no price for 'spot_hour' among those of g5\.xlarge in eu-west-1"):
        server_bill(ireland, "g5.xlarge", servers=1, hours=1, terms="spot_hour")
    with pytest.raises(UsageError, match="no price for 'x86_64' among Fargate's in us-west-2; there is for none"):
        price_book("us-west-2").fargate["x86_64"]


def test_another_format() -> None:
    with pytest.raises(UsageError, match="format 2"):
        read_book(shipped_content("us-east-1") | {"format": 2})


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "lambda": 3}', "null", "\0"]
)
def test_a_refreshed_book_that_cannot_be_read(content: str) -> None:
    path = refreshed_path("us-east-1")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(UsageError) as error:
        price_book("us-east-1")
    assert str(path) in str(error.value) or "format" in str(error.value)


def test_a_region_without_a_book_names_the_way_to_one() -> None:
    with pytest.raises(UsageError, match="--refresh --region eu-west-3"):
        price_book("eu-west-3")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(prices, arguments, env={"COLUMNS": "200"})


def test_the_command_shows_a_book() -> None:
    shown = run("--region", "eu-central-1")
    assert shown.exit_code == 0 and run("--show", "--region", "eu-central-1").stdout == shown.stdout
    assert "EC2 c7i.large (2 vCPU, 4 GB), on demand hour" in shown.stdout
    assert "none was found for this region" in shown.stdout and "as us-east-1" in shown.stdout
    book = json.loads(run("--json", "--region", "eu-central-1").stdout)
    assert book["ec2"]["c7i.large"]["on_demand_hour"]["value"] == 0.10185
    assert book["ec2_shapes"]["c7i.large"]["vcpus"] == 2


def test_the_command_lists_regions() -> None:
    assert run("--regions").stdout.split() == regions()
    assert json.loads(run("--regions", "--json").stdout) == regions()


def test_a_mirror_without_a_refresh() -> None:
    assert isinstance(run("--from", "http://localhost").exception, UsageError)
