import { execFileSync, spawn } from "node:child_process";
import { getEventListeners } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createEgress,
  type Egress,
  type EgressRequest,
  type EgressResponse,
} from "../../../src/lib/egress/egress.ts";
import { EgressError } from "../../../src/lib/egress/egress-error.ts";
import { freePort } from "../../support/processes/free-port.ts";
import { PRIVATE_HOSTS } from "./private-hosts.ts";

/** A listener that does with a connection whatever the test says. */
interface Listener {
  readonly port: number;
  readonly url: string;
  /** What each connection has sent, in the order in which they came. */
  readonly received: () => readonly string[];
  /** The number of connections that are closed. */
  readonly closed: () => number;
  /** What happens when the first bytes of a connection have come. */
  readonly use: (answer: (socket: Socket) => void) => void;
  readonly stop: () => void;
}

async function listen(host: string, port = 0): Promise<Listener> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  let closed = 0;
  let answer: (socket: Socket) => void = (socket) => socket.end(ok("hello"));
  const server: Server = createServer((socket) => {
    const index = received.push("") - 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      closed += 1;
    });
    socket.once("data", () => answer(socket));
    socket.on("data", (bytes: Buffer) => (received[index] += bytes.toString("latin1")));
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const { port: bound } = server.address() as AddressInfo;
  return {
    port: bound,
    url: `http://${host}:${bound}/mcp`,
    received: () => received,
    closed: () => closed,
    use: (next) => {
      answer = next;
    },
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const ok = (body: string, lines = "") =>
  `HTTP/1.1 200 OK\r\n${lines}content-length: ${body.length}\r\n\r\n${body}`;
const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

let inside: Listener;
let outside: Listener;
beforeAll(async () => {
  inside = await listen("127.0.0.1");
  // 127.0.0.2 stands for the world outside.
  outside = await listen("127.0.0.2");
});
afterAll(() => {
  inside.stop();
  outside.stop();
});

const egress = createEgress({ allow: ["127.0.0.2"] });

const request = (more: Partial<EgressRequest> = {}): EgressRequest => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: "{}",
  signal: new AbortController().signal,
  connectTimeoutMs: 20_000,
  maxBytes: 2 ** 20,
  ...more,
});

const send = (more: Partial<EgressRequest> = {}, by: Egress = egress) =>
  by.send(outside.url, request(more));

async function textOf({ body }: EgressResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** Why the guard refuses or gives up; fails when it does neither. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const outcome = await work.then(
    () => "it succeeded",
    (thrown: unknown) => thrown,
  );
  if (outcome instanceof EgressError) return outcome.reason;
  throw new Error(`expected an EgressError, but: ${String(outcome)}`);
}

describe("A request to an address of the private network", () => {
  it.each(PRIVATE_HOSTS)("is refused without a connection when it is written %s", async (host) => {
    const sent = createEgress({ allow: [] }).send(`http://${host}:${inside.port}/`, request());
    const reason = await refusal(sent);
    // A machine may not know `localhost.`; it knows all the others.
    expect(/localhost/i.test(host) ? ["forbidden", "unknown_host"] : ["forbidden"]).toContain(
      reason,
    );
    expect(inside.received()).toEqual([]);
  });

  it.each([
    ["http://user@127.0.0.1/", "credentials"],
    ["http://:word@example.com/", "credentials"],
    ["file:///etc/passwd", "invalid_url"],
    ["ws://127.0.0.1/", "invalid_url"],
    ["no address", "invalid_url"],
  ])("is refused as %s: %s", async (url, reason) => {
    expect(await refusal(egress.send(url, request()))).toBe(reason);
  });

  it("is refused when one of several addresses of a name is private, or the name is rebound", async () => {
    const answers = [["127.0.0.2", "127.0.0.1"], ["127.0.0.2"], ["127.0.0.1"]];
    const resolve = async () => answers.shift() ?? [];
    const rebound = createEgress({ allow: ["127.0.0.2"], resolve });
    const url = `http://rebound.test:${outside.port}/`;
    expect(await refusal(rebound.send(url, request()))).toBe("forbidden");
    expect(await textOf(await rebound.send(url, request()))).toBe("hello");
    expect(await refusal(rebound.send(url, request()))).toBe("forbidden");
    expect(await refusal(rebound.send(url, request()))).toBe("unknown_host");
    expect(inside.received()).toEqual([]);
  });

  it("is not sent on by a redirect: the caller gets the redirect", async () => {
    const location = `location: http://127.0.0.1:${inside.port}/\r\n`;
    for (const status of [301, 302, 303, 307, 308]) {
      outside.use((socket) =>
        socket.end(`HTTP/1.1 ${status} Moved\r\n${location}content-length: 0\r\n\r\n`),
      );
      const response = await send();
      expect(response.status).toBe(status);
      response.cancel();
    }
    expect(inside.received()).toEqual([]);
  });

  it("goes out when the allow list has its host, and only then", async () => {
    outside.use((socket) => socket.end(ok("hello")));
    const resolve = async () => ["127.0.0.1"];
    const allowed = createEgress({ allow: ["tools.test"], resolve });
    const port = inside.port;
    expect(await refusal(allowed.send(`http://other.test:${port}/`, request()))).toBe("forbidden");
    expect(await refusal(allowed.send(`http://127.0.0.1:${port}/`, request()))).toBe("forbidden");
    expect(inside.received()).toEqual([]);
    const response = await allowed.send(`http://tools.test:${port}/a?b=c`, request());
    expect(await textOf(response)).toBe("hello");
    expect(inside.received()[0]).toMatch(
      new RegExp(`^POST /a\\?b=c HTTP/1.1\r\n(?:.+\r\n)*host: tools.test:${port}\r\n`, "i"),
    );
  });
});

describe("A request", () => {
  it("has the headers of its caller beside those of the connection, which nobody replaces", async () => {
    outside.use((socket) => socket.end(ok("hello", "x-one: 1\r\nX-One: 2\r\nset-cookie: a=b\r\n")));
    const response = await send({
      headers: {
        Host: "169.254.169.254",
        "Content-Length": "1",
        "Transfer-Encoding": "chunked",
        Connection: "upgrade",
        Upgrade: "h2c",
        Expect: "100-continue",
        "Proxy-Authorization": "Basic a",
        Authorization: "Bearer key",
      },
      body: '{"a":"é"}',
    });
    expect(response.header("x-one")).toBe("1, 2");
    expect(response.header("set-cookie")).toBe("a=b");
    expect(response.header("x-none")).toBeUndefined();
    expect(await textOf(response)).toBe("hello");
    const [head = "", body] = outside.received().at(-1)?.split("\r\n\r\n") ?? [];
    const lines = head.toLowerCase().split("\r\n").slice(1).sort();
    expect(lines).toEqual([
      "accept-encoding: identity",
      "authorization: bearer key",
      "connection: close",
      "content-length: 10",
      `host: 127.0.0.2:${outside.port}`,
      "user-agent: inference-gateway",
    ]);
    expect(Buffer.from(body ?? "", "latin1").toString()).toBe('{"a":"é"}');
  });

  it.each(["line\r\nx-other: 1", "nul\0", "snow ☃"])(
    "with a header that cannot be sent is refused without a connection: %j",
    async (value) => {
      const before = outside.received().length;
      expect(await refusal(send({ headers: { "x-key": value } }))).toBe("invalid_header");
      expect(await refusal(send({ headers: { "x key": "a" } }))).toBe("invalid_header");
      expect(outside.received()).toHaveLength(before);
    },
  );

  it("goes to the next address when nobody listens at the first, but not once it was sent", async () => {
    const port = await freePort();
    const third = await listen("127.0.0.3", port);
    const resolve = async () => ["127.0.0.2", "127.0.0.3", "127.0.0.4"];
    const several = createEgress({ allow: ["127.0.0.0/8"], resolve });
    const url = `http://several.test:${port}/`;
    expect(await textOf(await several.send(url, request()))).toBe("hello");
    const fourth = await listen("127.0.0.4", port);
    third.use((socket) => socket.destroy());
    expect(await refusal(several.send(url, request()))).toBe("failed");
    expect(third.received()).toHaveLength(2);
    expect(fourth.received()).toEqual([]);
    third.stop();
    fourth.stop();
  });

  it("whose name is not resolved, or whose server is silent in the handshake, fails in time", async () => {
    const stuck = createEgress({ allow: [], resolve: () => new Promise(() => {}) });
    const limited = request({ connectTimeoutMs: 100 });
    expect(await refusal(stuck.send("http://stuck.test/", limited))).toBe("timeout");
    outside.use(() => undefined);
    const silent = egress.send(`https://127.0.0.2:${outside.port}/`, limited);
    expect(await refusal(silent)).toBe("timeout");
    await expect.poll(outside.closed).toBe(outside.received().length);
  });

  it("is given up at once while its name is resolved, with the caller's reason", async () => {
    const stuck = createEgress({ allow: [], resolve: () => new Promise(() => {}) });
    const leaving = new AbortController();
    const sent = stuck.send("http://stuck.test/", request({ signal: leaving.signal }));
    leaving.abort(new Error("left"));
    await expect(sent).rejects.toThrow("left");
    await expect(send({ signal: leaving.signal })).rejects.toThrow("left");
  });

  it("closes its connection at once when it is given up, before the answer and amid it", async () => {
    for (const start of ["", `${CHUNKED}5\r\nhello\r\n`]) {
      outside.use((socket) => socket.write(start));
      const before = outside.closed();
      const arrived = outside.received().length + 1;
      const leaving = new AbortController();
      const sent = send({ signal: leaving.signal });
      const reading = sent.then(textOf);
      void reading.catch(() => undefined);
      await expect.poll(() => outside.received().length).toBe(arrived);
      if (start !== "") await sent;
      leaving.abort(new Error("left"));
      await expect(reading).rejects.toThrow("left");
      await expect.poll(outside.closed).toBe(before + 1);
      expect(getEventListeners(leaving.signal, "abort")).toHaveLength(0);
    }
  });
});

describe("An answer", () => {
  it("arrives as it is sent, and its connection is closed at its end", async () => {
    let go: (text: string) => void = () => undefined;
    outside.use((socket) => {
      go = (text) => socket.write(text);
      go(`${CHUNKED}5\r\nfirst\r\n`);
    });
    const before = outside.closed();
    const { signal } = new AbortController();
    const { body } = await send({ signal });
    const pieces = body[Symbol.asyncIterator]();
    expect(String((await pieces.next()).value)).toBe("first");
    go("6\r\nsecond\r\n");
    expect(String((await pieces.next()).value)).toBe("second");
    go("0\r\n\r\n");
    expect((await pieces.next()).done).toBe(true);
    await expect.poll(outside.closed).toBe(before + 1);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("that comes before the whole request counts, and the rest of the request is not sent", async () => {
    const before = outside.closed();
    let paused: Socket | undefined;
    outside.use((socket) => {
      paused = socket.pause();
      socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 7\r\n\r\ntoo big");
    });
    const response = await send({ body: "x".repeat(30_000_000) });
    expect(response.status).toBe(413);
    expect(await textOf(response)).toBe("too big");
    paused?.resume();
    await expect.poll(outside.closed).toBe(before + 1);
    expect(outside.received().at(-1)?.length).toBeLessThan(30_000_000);
    outside.use((socket) => socket.end(ok("hello")));
    expect(await textOf(await send())).toBe("hello");
  });

  it.each([
    ["a stream without its end", `${CHUNKED}5\r\nhello\r\n`],
    ["a stream cut inside a chunk", `${CHUNKED}9\r\nhel`],
    ["less than its length", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello"],
  ])("that is %s ends with an error", async (_what, text) => {
    for (const end of ["end", "resetAndDestroy"] as const) {
      outside.use((socket) => socket.write(text, () => setTimeout(() => socket[end](), 20)));
      const response = await send();
      expect(response.status).toBe(200);
      expect(await refusal(textOf(response))).toBe("failed");
    }
  });

  it.each([
    ["nothing", ""],
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["a switch of protocols", "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\n\r\n"],
    ["a switch to a named one", "HTTP/1.1 101 S\r\nupgrade: a\r\nconnection: upgrade\r\n\r\n"],
    ["too many headers", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(17_000)}\r\n\r\n`],
  ])("that is %s is a failure", async (_what, text) => {
    outside.use((socket) => socket.end(text));
    expect(await refusal(send())).toBe("failed");
  });

  it("may have larger headers where the caller allows them", async () => {
    const value = "y".repeat(20_000);
    outside.use((socket) => socket.end(ok("hello", `x-large: ${value}\r\n`)));
    const response = await send({ maxHeaderBytes: 32_768 });
    expect(response.header("x-large")).toBe(value);
    expect(await textOf(response)).toBe("hello");
  });

  it("is cut off where it is too large", async () => {
    const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
    outside.use((socket) => {
      socket.write(CHUNKED);
      const pour = () => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.on("drain", pour);
      pour();
    });
    const before = outside.closed();
    expect(await refusal(send().then(textOf))).toBe("too_large");
    await expect.poll(outside.closed).toBe(before + 1);
  });

  it("closes its connection when it is cancelled, and when its reader stops", async () => {
    outside.use((socket) => socket.write(`${CHUNKED}5\r\nhello\r\n`));
    const before = outside.closed();
    (await send()).cancel();
    for await (const _piece of (await send()).body) break;
    await expect.poll(outside.closed).toBe(before + 2);
  });
});

describe("A process of its own", () => {
  const folder = mkdtempSync(join(tmpdir(), "egress-"));
  const key = join(folder, "key.pem");
  const certificate = join(folder, "certificate.pem");
  let tls: ReturnType<typeof createHttpsServer>;
  beforeAll(async () => {
    const subject = ["-subj", "/CN=tools.test", "-addext", "subjectAltName=DNS:tools.test"];
    const options = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    const files = ["-nodes", "-days", "2", "-keyout", key, "-out", certificate];
    execFileSync("openssl", ["req", ...options, ...files, ...subject], { stdio: "ignore" });
    tls = createHttpsServer(
      { key: readFileSync(key), cert: readFileSync(certificate) },
      (_request, response) => response.end("over TLS"),
    );
    await new Promise<void>((resolve) => tls.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    tls.close();
    rmSync(folder, { recursive: true });
  });

  /** What the process prints for the answer to its post. */
  function sendFrom(url: string, environment: Record<string, string>): Promise<string> {
    const runtime = process.versions["bun"] === undefined ? ["--import", "tsx"] : [];
    const child = spawn(process.execPath, [...runtime, "tests/support/programs/send.ts", url], {
      env: { PATH: "/usr/bin:/bin", ...environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    return new Promise((resolve) => child.once("close", () => resolve(output)));
  }

  it("reaches a server over TLS by its name, and refuses a certificate that is not good for it", async () => {
    const { port } = tls.address() as AddressInfo;
    const trusting = { NODE_EXTRA_CA_CERTS: certificate };
    const outputs = await Promise.all([
      sendFrom(`https://tools.test:${port}/`, trusting),
      sendFrom(`https://other.test:${port}/`, trusting),
      sendFrom(`https://tools.test:${port}/`, {}),
    ]);
    expect(outputs).toEqual(["200 over TLS", "certificate", "certificate"]);
  });

  it("uses no proxy that its environment names", async () => {
    const proxy = outside.url;
    const before = outside.received().length;
    const environment = { HTTP_PROXY: proxy, http_proxy: proxy, ALL_PROXY: proxy };
    const output = await sendFrom(inside.url, { ...environment, NODE_USE_ENV_PROXY: "1" });
    expect(output).toBe("200 hello");
    expect(outside.received()).toHaveLength(before);
  });
});
