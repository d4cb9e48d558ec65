import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEgress, type EgressLimits } from "../../../src/lib/egress/egress.ts";
import { EgressError } from "../../../src/lib/egress/egress-error.ts";
import { StartRefusal } from "../../../src/lib/folders/start-refusal.ts";
import { PRIVATE_HOSTS } from "./private-hosts.ts";

/** A listener of the private network: whoever connects has got through. */
interface Sentinel {
  readonly port: number;
  readonly connections: () => number;
  readonly stop: () => Promise<void>;
}

type Answer = (path: string, response: ServerResponse) => unknown;

async function startSentinel(host: string, answer: Answer, port = 0): Promise<Sentinel> {
  let connections = 0;
  const server: Server = createServer((request, response) => answer(request.url ?? "", response));
  server.on("connection", () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

const say: Answer = (path, response) => {
  response.setHeader("content-type", "Text/Plain; charset=utf-8");
  response.end(`hello from ${path}`);
};

let sentinel: Sentinel;
beforeAll(async () => {
  sentinel = await startSentinel("127.0.0.1", say);
});
afterAll(() => sentinel.stop());

function limits(more: Partial<EgressLimits> = {}): EgressLimits {
  const signal = new AbortController().signal;
  return { accept: "*/*", maxBytes: 2 ** 20, timeoutMs: 10_000, signal, ...more };
}

/** Why the guard refuses; fails when it does not. */
async function refusal(promise: Promise<unknown>): Promise<EgressError> {
  const outcome = await promise.then(
    () => "it was fetched",
    (thrown: unknown) => thrown,
  );
  if (outcome instanceof EgressError) return outcome;
  throw new Error(`expected an EgressError, but: ${String(outcome)}`);
}

describe("an address of the private network", () => {
  const egress = createEgress({ allow: [] });

  it.each(PRIVATE_HOSTS)("is refused without a connection when it is written %s", async (host) => {
    const before = sentinel.connections();
    const error = await refusal(egress.fetch(`http://${host}:${sentinel.port}/`, limits()));
    // A machine may not know `localhost.`; it knows all the others.
    expect(["forbidden", "unknown_host"]).toContain(error.reason);
    if (!/localhost/i.test(host)) expect(error.reason).toBe("forbidden");
    expect(sentinel.connections()).toBe(before);
  });

  it("is refused when one of several addresses of a name is private", async () => {
    const resolve = async () => ["8.8.8.8", "2606:4700::1111", "127.0.0.1"];
    const mixed = createEgress({ allow: [], resolve });
    const error = await refusal(mixed.fetch(`http://mixed.test:${sentinel.port}/`, limits()));
    expect(error.reason).toBe("forbidden");
    expect(sentinel.connections()).toBe(0);
  });

  it("is refused when a name resolves to something that is no address", async () => {
    const odd = createEgress({ allow: [], resolve: async () => ["not an address"] });
    expect((await refusal(odd.fetch("http://odd.test/", limits()))).reason).toBe("forbidden");
  });
});

it.each([
  ["http://user@127.0.0.1/", "credentials"],
  ["http://user:word@example.com/", "credentials"],
  ["file:///etc/passwd", "invalid_url"],
  ["ftp://example.com/a", "invalid_url"],
  ["gopher://127.0.0.1/", "invalid_url"],
  ["no address", "invalid_url"],
  ["http://", "invalid_url"],
])("%s is refused as %s before its host is looked up", async (url, reason) => {
  const lookedUp: string[] = [];
  const resolve = async (host: string) => {
    lookedUp.push(host);
    return ["8.8.8.8"];
  };
  const egress = createEgress({ allow: [], resolve });
  expect((await refusal(egress.fetch(url, limits()))).reason).toBe(reason);
  expect(lookedUp).toEqual([]);
});

it("says that a host cannot be found when nobody knows it", async () => {
  const resolve = () => Promise.reject(new Error("ENOTFOUND"));
  const egress = createEgress({ allow: [], resolve });
  expect((await refusal(egress.fetch("http://nowhere.test/", limits()))).reason).toBe(
    "unknown_host",
  );
});

describe("an entry of the allow list", () => {
  const resolve = async (host: string) => [
    /^pictures\.test\.?$/.test(host) ? "127.0.0.1" : "127.0.0.2",
  ];
  const fetchFrom = (allow: readonly string[], host: string) =>
    createEgress({ allow, resolve }).fetch(`http://${host}:${sentinel.port}/a?b=c`, limits());

  it.each([
    ["a host", "pictures.test", "pictures.test"],
    ["a host in other letters and with its dot", "Pictures.Test.", "pictures.test."],
    ["an address", "127.0.0.1", "127.0.0.1"],
    ["the address of a name", "127.0.0.1", "pictures.test"],
    ["a range", "127.0.0.0/31", "127.0.0.1"],
    ["an address inside another one", "127.0.0.1", "[::ffff:127.0.0.1]"],
  ])("lets %s through", async (_what, entry, host) => {
    const fetched = await fetchFrom([entry], host);
    expect(Buffer.from(fetched.bytes).toString()).toBe("hello from /a?b=c");
    expect(fetched.mediaType).toBe("text/plain");
  });

  it.each([
    ["127.0.0.2", "127.0.0.1"],
    ["127.0.0.2", "pictures.test"],
    ["pictures.test", "other.test"],
    ["pictures.test", "127.0.0.1"],
    ["127.0.0.2/31", "127.0.0.1"],
    ["::1", "127.0.0.1"],
  ])("%s lets nothing else through: not %s", async (entry, host) => {
    const before = sentinel.connections();
    expect((await refusal(fetchFrom([entry], host))).reason).toBe("forbidden");
    expect(sentinel.connections()).toBe(before);
  });

  it.each(["10.0.0.0/33", "http://pictures.test", "pictures.test:80", "a b", "10.0.0.0/x"])(
    "%s is no entry, and the start is refused",
    (entry) => {
      expect(() => createEgress({ allow: [entry] })).toThrow(StartRefusal);
    },
  );
});

it("goes to the address that was checked, though the name leads to another one a moment later", async () => {
  const outside = await startSentinel("127.0.0.2", say, sentinel.port);
  const before = sentinel.connections();
  let lookups = 0;
  const resolve = async () => [lookups++ === 0 ? "127.0.0.2" : "127.0.0.1"];
  // 127.0.0.2 stands for the world outside.
  const egress = createEgress({ allow: ["127.0.0.2"], resolve });
  const fetched = await egress.fetch(`http://rebound.test:${sentinel.port}/x`, limits());
  expect(Buffer.from(fetched.bytes).toString()).toBe("hello from /x");
  const again = egress.fetch(`http://rebound.test:${sentinel.port}/x`, limits());
  expect((await refusal(again)).reason).toBe("forbidden");
  expect(outside.connections()).toBe(1);
  expect(sentinel.connections()).toBe(before);
  await outside.stop();
});

describe("a server outside", () => {
  let outside: Sentinel;
  const hung: ServerResponse[] = [];
  const redirect =
    (location?: () => string): Answer =>
    (_path, response) =>
      response.writeHead(302, location === undefined ? {} : { location: location() }).end();
  const answers: Readonly<Record<string, Answer>> = {
    "/hop/N": (path, response) => {
      const left = Number(path.at(-1));
      response.writeHead(302, { location: left === 0 ? "/end" : `/hop/${left - 1}` }).end();
    },
    "/inwards": redirect(() => `http://127.0.0.1:${sentinel.port}/`),
    "/to-a-file": redirect(() => "file:///etc/passwd"),
    "/nowhere": redirect(),
    "/missing": (_path, response) => response.writeHead(404).end("secret of the server"),
    "/declared": (_path, response) =>
      response.writeHead(200, { "content-length": "3000000" }).write("x"),
    "/endless": (_path, response) => pour(response),
    "/silent": (_path, response) => hung.push(response),
    "/broken": (_path, response) => {
      response.writeHead(200, { "content-length": "10" }).write("half");
      setTimeout(() => response.destroy(), 20);
    },
  };
  beforeAll(async () => {
    outside = await startSentinel("127.0.0.2", (path, response) => {
      const answer = answers[path.replace(/\d/, "N")] ?? say;
      answer(path, response);
    });
  });
  afterAll(() => outside.stop());

  const egress = createEgress({ allow: ["127.0.0.2"] });
  const fetch = (path: string, more: Partial<EgressLimits> = {}) =>
    egress.fetch(`http://127.0.0.2:${outside.port}${path}`, limits(more));

  it("is followed over three redirects and not over four", async () => {
    expect(Buffer.from((await fetch("/hop/2")).bytes).toString()).toBe("hello from /end");
    expect((await refusal(fetch("/hop/3"))).reason).toBe("redirects");
  });

  it("is not followed where it redirects inwards, to a file or to nowhere", async () => {
    const before = sentinel.connections();
    expect((await refusal(fetch("/inwards"))).reason).toBe("forbidden");
    expect((await refusal(fetch("/to-a-file"))).reason).toBe("invalid_url");
    expect((await refusal(fetch("/nowhere"))).reason).toBe("invalid_url");
    expect(sentinel.connections()).toBe(before);
  });

  it("is quoted by its status alone when it fails", async () => {
    const error = await refusal(fetch("/missing"));
    expect(error.message).toBe("its server answered with status 404");
  });

  it.each(["/declared", "/endless"])("is cut off where %s is too large", async (path) => {
    const error = await refusal(fetch(path));
    expect(error.message).toBe("it is larger than 1 MiB");
  });

  it("is given up when its time is over, and when its connection breaks", async () => {
    expect((await refusal(fetch("/silent", { timeoutMs: 100 }))).reason).toBe("timeout");
    expect((await refusal(fetch("/broken"))).reason).toBe("failed");
    const closed = egress.fetch("http://127.0.0.2:1/", limits());
    expect((await refusal(closed)).reason).toBe("failed");
  });

  it("is given up at once when the caller leaves, with the caller's reason", async () => {
    const leaving = new AbortController();
    const reason = new Error("left");
    const fetching = fetch("/silent", { signal: leaving.signal });
    const before = hung.length;
    while (hung.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
    leaving.abort(reason);
    await expect(fetching).rejects.toBe(reason);
    await expect(fetch("/end", { signal: leaving.signal })).rejects.toBe(reason);
  });

  it("is tried at its next address when nobody listens at the first", async () => {
    const resolve = async () => ["::1", "127.0.0.3", "127.0.0.2"];
    const several = createEgress({ allow: ["127.0.0.0/8", "::1"], resolve });
    const fetched = await several.fetch(`http://several.test:${outside.port}/end`, limits());
    expect(Buffer.from(fetched.bytes).toString()).toBe("hello from /end");
  });

  it("is tried at its next address when the first one takes the connection and says nothing", async () => {
    const accepted = createTcpServer();
    await new Promise<void>((resolve) => accepted.listen(outside.port, "127.0.0.3", resolve));
    const resolve = async () => ["127.0.0.3", "127.0.0.2"];
    const several = createEgress({ allow: ["127.0.0.0/8"], resolve });
    const before = outside.connections();
    // The second one speaks no TLS either, and is asked in time.
    const address = `https://several.test:${outside.port}/end`;
    expect((await refusal(several.fetch(address, limits({ timeoutMs: 1_000 })))).reason).toBe(
      "failed",
    );
    expect(outside.connections()).toBe(before + 1);
    accepted.close();
  });

  it("waits for no name longer than the call's time", async () => {
    const resolve = () => new Promise<never>(() => {});
    const stuck = createEgress({ allow: [], resolve });
    const error = await refusal(stuck.fetch("http://stuck.test/", limits({ timeoutMs: 100 })));
    expect(error.reason).toBe("timeout");
  });
});

/** Writes for as long as somebody reads. */
function pour(response: ServerResponse): void {
  response.on("error", () => {});
  const write = () => {
    while (!response.destroyed && response.write(Buffer.alloc(65_536)));
  };
  response.on("drain", write);
  write();
}

describe("Names", () => {
  it("are looked up one at a time, and not at all once nobody waits", async () => {
    const asked: string[] = [];
    const answers: (() => void)[] = [];
    const egress = createEgress({
      allow: [],
      resolve: (hostname) => {
        asked.push(hostname);
        return new Promise((answer) => answers.push(() => answer(["127.0.0.1"])));
      },
    });
    const leaving = new AbortController();
    const first = refusal(egress.fetch("http://one.test/", limits()));
    const second = egress.fetch("http://two.test/", limits({ signal: leaving.signal }));
    const third = refusal(egress.fetch("http://three.test/", limits()));
    await expect.poll(() => asked).toEqual(["one.test"]);
    leaving.abort(new Error("The client left."));
    await expect(second).rejects.toThrow("The client left.");
    answers.shift()?.();
    expect((await first).reason).toBe("forbidden");
    await expect.poll(() => asked).toEqual(["one.test", "three.test"]);
    answers.shift()?.();
    expect((await third).reason).toBe("forbidden");
  });
});
