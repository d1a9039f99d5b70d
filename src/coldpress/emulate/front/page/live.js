// What the server tells while it runs: kept here, as far as the page shows it, and handed to whoever draws.

const MOST_REQUESTS = 200;
const MOST_LOGS = 1000;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;

export const live = {
  function: null,
  world: [],
  sandboxes: [],
  totals: {},
  requests: [],
  byId: new Map(),
  // Until when a sandbox is shown as busy: an answer takes a few milliseconds, an eye more.
  busyUntil: new Map(),
};

export const BUSY_SHOWN = 400;

/**
 * Listen for ever. `on.connection(word)` hears "live" and "lost", `on.hello(again)` a whole new state, `on.state()`,
 * `on.request(record)` and `on.log(entries, fresh)` what changes.
 */
export function listen(on) {
  let wait = FIRST_WAIT;
  let known = false;
  let source = null;

  const open = () => {
    source = new EventSource("events");
    source.addEventListener("hello", (event) => {
      const status = read(event);
      if (!status) return;
      wait = FIRST_WAIT;
      take(status);
      live.requests = list(status.requests).slice(-MOST_REQUESTS);
      live.byId = new Map(live.requests.map((record) => [record.id, record]));
      on.connection("live");
      on.hello(known);
      on.log(list(status.logs).slice(-MOST_LOGS), true);
      known = true;
    });
    source.addEventListener("state", (event) => {
      const status = read(event);
      if (!status) return;
      take(status);
      on.state();
    });
    source.addEventListener("request", (event) => {
      const record = read(event);
      if (!record) return;
      remember(record);
      on.request(record);
    });
    source.addEventListener("log", (event) => {
      const entry = read(event);
      if (entry) on.log([entry], false);
    });
    source.addEventListener("error", () => {
      on.connection("lost");
      // A browser tries again by itself after a broken connection, but never after a refused one.
      if (source.readyState === EventSource.CLOSED) again();
    });
  };

  const again = () => {
    source.close();
    setTimeout(open, wait);
    wait = Math.min(LONGEST_WAIT, wait * 2);
  };

  open();
  // A page that leaves lets go of its connection at once; one that comes back from the cache opens a new one.
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => {
    if (event.persisted) open();
  });
}

function take(status) {
  live.function = status.function ?? live.function;
  live.world = list(status.world ?? live.world);
  live.sandboxes = list(status.sandboxes);
  live.totals = status.totals ?? live.totals;
}

function remember(record) {
  if (live.byId.has(record.id)) return;
  live.requests.push(record);
  live.busyUntil.set(record.sandbox, performance.now() + BUSY_SHOWN);
  live.byId.set(record.id, record);
  while (live.requests.length > MOST_REQUESTS) live.byId.delete(live.requests.shift().id);
}

function read(event) {
  try {
    return JSON.parse(event.data);
  } catch {
    return null;
  }
}

const list = (value) => (Array.isArray(value) ? value : []);
