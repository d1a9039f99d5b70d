"""Every figure of a price book under a name that a person can read."""

from dataclasses import fields

from coldpress.cost.book import Price, PriceBook


def all_prices(book: PriceBook) -> dict[str, Price]:
    """Every figure of the book under a name."""
    found: dict[str, Price] = {}
    for part in fields(book.lambda_):
        value = getattr(book.lambda_, part.name)
        name = f"Lambda {part.name.replace('_', ' ')}"
        if isinstance(value, Price):
            found[name] = value
            continue
        for arch, price in value.items():
            if isinstance(price, Price):
                found[f"{name}, {arch}"] = price
            else:
                found |= {f"{name}, {arch}, tier {number}": tier.price for number, tier in enumerate(price, 1)}
    found["SageMaker Serverless GB second"] = book.sagemaker_gb_second
    found["SageMaker Serverless GB in and out"] = book.sagemaker_gb_in_out
    for kind, prices in book.ec2.items():
        shape = book.ec2_shapes[kind]
        what = f"EC2 {kind} ({shape.vcpus:g} vCPU, {shape.memory_gb:g} GB{', ' + shape.gpu if shape.gpu else ''})"
        found |= {f"{what}, {terms.replace('_', ' ')}": price for terms, price in prices.items()}
    for arch, prices in book.fargate.items():
        found |= {f"Fargate {name.replace('_', ' ')}, {arch}": price for name, price in prices.items()}
    found["ECR GB month"] = book.ecr_gb_month
    return found
