import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { trialTarget } from "../../../src/tools/connections/change-connection.ts";
import type { ConnectionTrial } from "../../../src/tools/connections/connection.ts";
import {
  type ConnectionsStage,
  openConnectionsStage,
} from "../../support/stages/tools/connections-stage.ts";

let stage: ConnectionsStage;
let servers: Server[] = [];
const sockets = new Set<Socket>();
const faults: unknown[] = [];
const note = (fault: unknown) => void faults.push(fault);

beforeAll(async () => {
  stage = await openConnectionsStage();
  process.on("unhandledRejection", note);
  process.on("uncaughtException", note);
});
afterAll(async () => {
  process.off("unhandledRejection", note);
  process.off("uncaughtException", note);
  await stage.close();
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
  servers = [];
});

async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    serve(socket);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

function trial(kind: "postgres" | "mysql", port: number): Promise<ConnectionTrial> {
  const { connections } = stage;
  const given = { name: "hostile", kind, host: "127.0.0.1", port, database: "d", user: "u" };
  const target = trialTarget(connections.desk, { ...given, password: "canary", tls: "off" });
  return connections.tryTarget(target, new AbortController().signal);
}

/** A message of PostgreSQL. */
function message(type: string, body: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.write(type, 0, "latin1");
  header.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([header, body]);
}
function login(kind: number, text = ""): Buffer {
  const body = Buffer.alloc(4);
  body.writeUInt32BE(kind, 0);
  return message("R", Buffer.concat([body, Buffer.from(text, "latin1")]));
}
const endless = (socket: Socket, chunk: Buffer) => {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on("drain", more);
  more();
};
const MIB = Buffer.alloc(2 ** 20, "x");

type Serve = (socket: Socket) => void;
const afterData =
  (serve: Serve): Serve =>
  (socket) => {
    socket.once("data", () => serve(socket));
  };
const SASL = login(10, "SCRAM-SHA-256\0\0");
const sasl = (text: string): Serve =>
  afterData((socket) => {
    socket.write(SASL);
    socket.once("data", () => socket.write(login(11, text)));
  });

describe("a server that is none of PostgreSQL, or a faulty one", () => {
  const cases: readonly (readonly [string, Serve])[] = [
    ["that hangs up at once", (socket) => socket.destroy()],
    ["that speaks HTTP", afterData((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))],
    [
      "that sends an endless message",
      afterData((socket) =>
        endless(
          socket,
          Buffer.concat([
            message("N", Buffer.alloc(0)).subarray(0, 1),
            Buffer.from([0x3f, 0, 0, 0]),
            MIB,
          ]),
        ),
      ),
    ],
    [
      "that never ends its notices",
      afterData((socket) => endless(socket, message("S", Buffer.from("a\0b\0")))),
    ],
    ["that wants a key derived for hours", sasl("r=abc,s=QSXCR+Q6sek8bf92,i=2147483647")],
    ["that wants a key derived for no time", sasl("r=abc,s=QSXCR+Q6sek8bf92,i=0")],
    ["that leaves out the salt", sasl("r=abc,i=4096")],
    ["that sends nothing of a login", sasl("")],
    [
      "that sends a login of two bytes",
      afterData((socket) => socket.write(message("R", Buffer.from([0, 0])))),
    ],
    [
      "that sends a message of an impossible length",
      afterData((socket) => socket.write(Buffer.from([0x52, 0, 0, 0, 1]))),
    ],
    ["that starts a copy", afterData((socket) => socket.write(message("H", Buffer.alloc(3))))],
    [
      "that claims to be ready, and sends a row nobody asked for",
      afterData((socket) =>
        socket
          .write(
            Buffer.concat([
              login(0),
              message("Z", Buffer.from("I")),
              message("D", Buffer.from([0, 1, 0, 0, 0, 1, 65])),
            ]),
          )
          .valueOf(),
      ),
    ],
  ];
  it.each(cases)("%s is answered with an error, and nothing else happens", async (name, serve) => {
    const port = await listen(serve);
    const shown = await trial("postgres", port);
    expect(shown).toMatchObject({ ok: false, tables: null });
    expect([name, shown.error]).toEqual([
      name,
      expect.stringMatching(/^Saved connection 'hostile': /),
    ]);
    expect(shown.error).not.toMatch(/canary|127\.0\.0\.1/);
    expect(faults).toEqual([]);
  });
});

/** A packet of MySQL. */
function packet(sequence: number, body: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUIntLE(body.length, 0, 3);
  header[3] = sequence;
  return Buffer.concat([header, body]);
}
/** The greeting of a MySQL 8 without TLS. */
const GREETING = packet(
  0,
  Buffer.concat([
    ...[Buffer.from([10]), Buffer.from("8.0.0\0"), Buffer.from([1, 0, 0, 0])],
    ...[Buffer.from("12345678\0"), Buffer.from([0xff, 0xf7, 45, 2, 0, 0xff, 0x80, 21])],
    ...[Buffer.alloc(10), Buffer.from("123456789012\0"), Buffer.from("mysql_native_password\0")],
  ]),
);
const OK = (sequence: number) => packet(sequence, Buffer.from([0, 0, 0, 2, 0, 0, 0]));

describe("a server that is none of MySQL, or a faulty one", () => {
  const sent: Buffer[] = [];
  const cases: readonly (readonly [string, Serve])[] = [
    ["that hangs up at once", (socket) => socket.destroy()],
    ["that speaks HTTP", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
    [
      "that sends an endless packet",
      (socket) => endless(socket, Buffer.concat([Buffer.from([255, 255, 255, 0]), MIB])),
    ],
    [
      "that sends random bytes",
      (socket) => socket.write(Buffer.from([9, 0, 0, 0, 10, 200, 201, 0, 1, 2, 3, 255, 254])),
    ],
    [
      "that asks for a file of this machine",
      (socket) => {
        socket.write(GREETING);
        socket.once("data", () => {
          socket.write(OK(2));
          socket.once("data", (data) => {
            sent.push(data);
            socket.write(packet(1, Buffer.from("\xfb/etc/hostname", "latin1")));
            socket.once("data", (file) => {
              sent.push(file);
              socket.destroy();
            });
          });
        });
      },
    ],
    [
      "that asks for the password in plain text",
      (socket) => {
        socket.write(GREETING);
        socket.once("data", () => {
          socket.on("data", (data) => sent.push(data));
          socket.write(packet(2, Buffer.from("\xfemysql_clear_password\0", "latin1")));
        });
      },
    ],
  ];
  it.each(cases)("%s is answered with an error, and nothing else happens", async (name, serve) => {
    const port = await listen(serve);
    const shown = await trial("mysql", port);
    expect([name, shown]).toMatchObject([name, { ok: false, tables: null }]);
    expect(shown.error).toMatch(/^Saved connection 'hostile': /);
    expect(Buffer.concat(sent).toString("latin1")).not.toMatch(/canary|root:/);
    for (const data of sent.slice(1)) expect(data.length).toBeLessThan(200);
    expect(faults).toEqual([]);
  });
});
