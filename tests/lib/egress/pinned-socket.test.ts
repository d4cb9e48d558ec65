import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EgressError } from "../../../src/lib/egress/egress-error.ts";
import { createSocketGuard, normalHost } from "../../../src/lib/egress/pinned-socket.ts";

const never = new AbortController().signal;
let sentinel: Server;
let port: number;
let connections = 0;

beforeAll(async () => {
  sentinel = createServer((socket) => {
    connections += 1;
    socket.on("error", () => undefined).end("hello");
  });
  await new Promise<void>((resolve) => sentinel.listen(0, "127.0.0.1", resolve));
  port = (sentinel.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => sentinel.close(resolve)));

async function refusal(connecting: Promise<unknown>): Promise<EgressError> {
  const outcome = await connecting.then(
    () => "it was connected to",
    (thrown: unknown) => thrown,
  );
  if (outcome instanceof EgressError) return outcome;
  throw new Error(`expected an EgressError, but: ${String(outcome)}`);
}

describe("a server of the private network", () => {
  const connect = createSocketGuard({ allow: [] });
  it.each([
    ...["127.0.0.1", "127.1", "127.0.0.1.", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1"],
    ...["017700000001", "①②⑦.0.0.1", "0.0.0.0", "0", "::1", "[::1]", "::", "::ffff:127.0.0.1"],
    ...["[::ffff:127.0.0.1]", "64:ff9b::127.0.0.1", "fe80::1", "fd00::1", "10.1.2.3", "172.16.0.1"],
    ...["192.168.1.1", "169.254.169.254", "100.64.0.1", "198.18.0.1", "localhost", "localhost."],
  ])("is refused without a connection when it is named %s", async (host) => {
    const { reason } = await refusal(connect({ host, port }, never));
    // A machine may not know `localhost.`.
    if (host === "localhost.") expect(["forbidden", "unknown_host"]).toContain(reason);
    else expect(reason).toBe("forbidden");
    expect(connections).toBe(0);
  });

  it.each([
    ...["user@127.0.0.1", "127.0.0.1:80", "127.0.0.1/a", "/var/run/postgresql", "a b", ""],
    ...["http://127.0.0.1", "127.0.0.1#a", "127.0.0.1?a", "[::1", "::1]", "[::1%25lo]", "\\\\host"],
  ])("is none when the host is '%s'", async (host) => {
    const { reason } = await refusal(connect({ host, port }, never));
    expect(reason).toBe("invalid_url");
    expect(connections).toBe(0);
  });

  it("is refused when one of several addresses of a name is private", async () => {
    const resolve = async () => ["8.8.8.8", "127.0.0.1"];
    const mixed = createSocketGuard({ allow: [], resolve });
    const { reason } = await refusal(mixed({ host: "mixed.test", port }, never));
    expect([reason, connections]).toEqual(["forbidden", 0]);
  });
});

it("connects to exactly the address that was checked", async () => {
  let lookups = 0;
  const resolve = async () => [lookups++ === 0 ? "127.0.0.2" : "127.0.0.1"];
  // 127.0.0.2, where nobody listens, stands for the world outside.
  const connect = createSocketGuard({ allow: ["127.0.0.2"], resolve });
  const before = connections;
  const { reason, message } = await refusal(connect({ host: "changing.test", port }, never));
  expect([reason, message]).toEqual(["failed", "its server refuses connections on this port"]);
  expect([lookups, connections]).toEqual([1, before]);
});

it.each([
  ["an address", "127.0.0.1", "127.0.0.1"],
  ["a name", "db.test", "db.test"],
  ["the address of a name", "127.0.0.1", "db.test"],
])(
  "an entry of the allow list that is %s lets it through, and nothing else",
  async (_what, entry, host) => {
    const resolve = async () => ["127.0.0.1"];
    const connect = createSocketGuard({ allow: [entry], resolve });
    const socket = await connect({ host, port }, never);
    const [first] = (await new Promise((resolve) => {
      socket.once("data", (data) => resolve([data.toString()]));
    })) as string[];
    expect(first).toBe("hello");
    socket.destroy();
    const { reason } = await refusal(connect({ host: "127.0.0.3", port }, never));
    expect(reason).toBe("forbidden");
  },
);

it("tries the next address when one does not answer", async () => {
  const resolve = async () => ["127.0.0.9", "127.0.0.1"];
  const connect = createSocketGuard({ allow: ["127.0.0.0/8"], resolve });
  const socket = await connect({ host: "two.test", port }, never);
  expect(socket.remoteAddress).toBe("127.0.0.1");
  socket.destroy();
});

it("rejects with the reason of the signal, also while a name is looked up", async () => {
  const ending = new AbortController();
  const resolve = () => new Promise<readonly string[]>(() => undefined);
  const connecting = createSocketGuard({ allow: [], resolve })(
    { host: "slow.test", port },
    ending.signal,
  );
  const reason = new Error("the client left");
  ending.abort(reason);
  await expect(connecting).rejects.toBe(reason);
});

it("knows a host in all notations", () => {
  expect(normalHost("DB.Example.COM")).toBe("db.example.com");
  expect(normalHost("0x7f.1")).toBe("127.0.0.1");
  expect(normalHost("2001:DB8::1")).toBe("[2001:db8::1]");
});
