import { networkInterfaces } from "node:os";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { int32, text } from "../../../../src/data/port/protocol/fields.ts";
import { trialSize } from "../../../support/faults/trial-size.ts";
import {
  ASKED,
  logInPlain,
  type PortStage,
  password,
  query,
  RawConnection,
  READY,
  SSL_REQUEST,
  startPort,
  startup,
} from "./port-stage.ts";

const KEY = "bk-one";
const stages: PortStage[] = [];
const open = async (...options: Parameters<typeof startPort>): Promise<PortStage> => {
  const stage = await startPort(...options);
  stages.push(stage);
  stage.addKey(KEY);
  return stage;
};

afterEach(async () => {
  await Promise.all(stages.splice(0).map((stage) => stage.close()));
});

const withLength = (length: number, rest = ""): Buffer =>
  Buffer.concat([int32(length), Buffer.from(rest, "latin1")]);
const packet = (body: Buffer): Buffer => Buffer.concat([int32(body.length + 4), body]);
const TLS_ALERT = "\x15\x03";
const VERSION = int32(0x3_00_00);

const BAD_STARTS: readonly (readonly [name: string, bytes: Buffer])[] = [
  ["garbage", Buffer.from("\x99\xfe~~ no protocol at all", "latin1")],
  ["HTTP", Buffer.from("GET / HTTP/1.1\r\nhost: a\r\n\r\n")],
  ["a length of 0", withLength(0, "abcd")],
  ["a length of 3", withLength(3, "abcd")],
  ["a length of 2^31 - 1", withLength(2 ** 31 - 1, "abcd")],
  ["a negative length", withLength(-(2 ** 31), "abcd")],
  ["more than 10,000 bytes", withLength(10_001, "abcd")],
  ["an unknown request", packet(int32(1234 * 65_536 + 1))],
  ["a cancel without its secret", packet(Buffer.concat([int32(80_877_102), int32(1)]))],
  ["TLS that is none", Buffer.from("\x16\x03\x01\xff\xff\xff\xff\xff\xff\xff", "latin1")],
  ["a NUL inside of a name", packet(Buffer.concat([VERSION, text("us\0er"), text("x"), text("")]))],
  ["pairs without an end", packet(Buffer.concat([VERSION, text("user"), Buffer.from("x")]))],
  ["a name without a value", packet(Buffer.concat([VERSION, text("user"), text("")]))],
  ["nothing but a version", packet(VERSION)],
  ["protocol 2.0", packet(int32(0x2_00_00))],
  ["a second StartupMessage", Buffer.concat([startup(), startup()])],
  ["a query instead of the password", Buffer.concat([startup(), query("SELECT 1")])],
  ["a password of 2^31", Buffer.concat([startup(), Buffer.from("p\x7f\xff\xff\xff", "latin1")])],
  ["a password with a NUL", Buffer.concat([startup(), password("bk-\0one")])],
  ["two requests for TLS", Buffer.concat([SSL_REQUEST, SSL_REQUEST])],
];

describe("what is no login", () => {
  test.each(BAD_STARTS)("%s is closed and logged once", async (_name, bytes) => {
    const { port, logins, refused, lines } = await open();
    for (let count = 0; count < 3; count += 1) {
      const connection = await RawConnection.open(port);
      connection.send(bytes);
      const answer = await connection.untilClosed();
      const isAnswered = answer !== "" && answer !== ASKED && !answer.startsWith(TLS_ALERT);
      if (isAnswered) expect(answer).toMatch(/C(08P01|0A000|28000)\0/);
    }
    expect(refused).toHaveLength(3);
    expect(lines).toHaveLength(1);
    expect(logins).toEqual([]);
  });

  test("bytes after a request for TLS that are no handshake are closed", async () => {
    const { port, lines } = await open();
    const connection = await RawConnection.open(port);
    connection.send(SSL_REQUEST);
    await connection.until("S");
    for (let count = 0; count < 1_000; count += 1) connection.send(SSL_REQUEST);
    await connection.closed;
    expect(lines).toHaveLength(1);
  });

  test("a client that leaves at any point leaves nothing and is not logged", async () => {
    const { port, lines, refused, openCount } = await open();
    for (const bytes of [[], [SSL_REQUEST], [startup()], [startup().subarray(0, 5)]]) {
      const connection = await RawConnection.open(port);
      connection.send(...bytes);
      connection.socket.end();
      await connection.closed;
    }
    expect([lines, refused, openCount()]).toEqual([[], [], 0]);
  });
});

test("a password is not asked for from another machine without TLS, unless plain is allowed", async () => {
  const own = Object.values(networkInterfaces())
    .flat()
    .find((found) => found?.family === "IPv4" && !found.internal)?.address;
  // Without a network there is no other machine.
  if (own === undefined) return;
  for (const isPlainAllowed of [false, true]) {
    const { port } = await open({ host: "0.0.0.0", isPlainAllowed });
    const connection = await RawConnection.open(port, own);
    connection.send(startup(), password(KEY));
    if (isPlainAllowed) await connection.until(READY);
    else {
      const answer = await connection.untilClosed();
      expect(answer).toContain("C28000\0MThis connection requires TLS.");
      expect(answer).not.toContain(ASKED);
    }
    connection.socket.destroy();
  }
});

test("thousands of requests for TLS lock out nobody and leave nothing", async () => {
  const { port, openCount, lines } = await open();
  const count = trialSize(300, 10_000);
  const first = await logInPlain(port, KEY);
  await first.until(READY);
  const held: RawConnection[] = [];
  for (let done = 0; done < count; done += 100) {
    const batch = await Promise.all(Array.from({ length: 100 }, () => RawConnection.open(port)));
    for (const connection of batch) connection.send(SSL_REQUEST);
    held.push(...batch);
    while (held.length > 900) held.shift()?.socket.destroy();
  }
  first.send(query("SELECT 1"));
  await first.until("SELECT 1\0");
  const second = await logInPlain(port, KEY);
  await second.until(READY);
  for (const { socket } of [...held, first, second]) socket.destroy();
  await expect.poll(openCount).toBe(0);
  expect(lines.length).toBeLessThanOrEqual(1);
});

test("a reader that stalls in TLS holds its session back, and gets all of it later", async () => {
  const size = 32 * 1_048_576;
  const chunk = Buffer.alloc(65_536, 1);
  let waits = 0;
  let sent = 0;
  const { port } = await open(
    {},
    {
      serveSession: ({ client }) => {
        const send = (): void => {
          while (sent < size) {
            sent += chunk.length;
            if (client.write(chunk)) continue;
            waits += 1;
            client.once("drain", send);
            return;
          }
          client.end();
        };
        send();
        const done = new Promise<void>((resolve) => client.once("close", resolve));
        return { done, cancel: () => undefined, end: () => client.destroy() };
      },
    },
  );
  const options = { port, host: "127.0.0.1", rejectUnauthorized: false };
  const socket = connectTls({ ...options, ALPNProtocols: ["postgresql"] });
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  socket.write(Buffer.concat([startup(), password(KEY)]));
  let received = 0;
  socket.on("data", (bytes: Buffer) => {
    received += bytes.length;
  });
  await expect.poll(() => received).toBeGreaterThan(0);
  socket.pause();
  await expect.poll(() => waits).toBeGreaterThan(0);
  expect(sent).toBeLessThan(size);
  socket.resume();
  await new Promise((resolve) => socket.once("close", resolve));
  expect(received).toBeGreaterThan(size);
});
