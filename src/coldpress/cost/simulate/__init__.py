"""A month of traffic in seconds: what a fleet of sandboxes, or servers with a queue, would make of it."""

from coldpress.cost.simulate.arrivals import Chunk as Chunk
from coldpress.cost.simulate.fleet import Fleet as Fleet
from coldpress.cost.simulate.fleet import Limits as Limits
from coldpress.cost.simulate.fleet import Times as Times
from coldpress.cost.simulate.servers import Servers as Servers
