"""EventBridge: an event's detail is what is asked."""

from coldpress_runtime.events.items import Item, field, text_of
from coldpress_runtime.events.sns import settle as settle

PARTIAL = False


def items(event: dict[str, object]) -> list[Item]:
    name = text_of(event, "id")
    return [Item(name, name).read(lambda: field(event, "detail"))]
