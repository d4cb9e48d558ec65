import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import type { Engine, SessionReceiver } from "../../../../src/data/port/engine.ts";
import type { CheckText } from "../../../../src/data/port/gate/statement-gate.ts";
import {
  authenticationOk,
  backendKeyData,
  errorResponse,
  parameterStatus,
  readyForQuery,
} from "../../../../src/data/port/protocol/backend-messages.ts";
import { createServeSession } from "../../../../src/data/port/session/serve-session.ts";
import type { ServedSession } from "../../../../src/data/port/session/served-session.ts";
import type { SessionClock } from "../../../../src/data/port/session/session-limits.ts";
import type { Principal } from "../../../../src/data/principal.ts";
import type { Statement } from "../../../../src/data/process/process-messages.ts";

export interface TrustListener {
  readonly port: number;
  readonly statements: Statement[];
  readonly refused: string[];
  readonly sessions: ServedSession[];
  readonly close: () => Promise<void>;
}

export interface TrustOptions {
  readonly engine: Engine;
  readonly check: CheckText;
  readonly url: string;
  readonly principal?: Partial<Principal>;
  readonly clock?: SessionClock;
  /** Changes how the engine's bytes are cut. */
  readonly relay?: (receiver: SessionReceiver) => SessionReceiver;
}

const SSL_REQUEST = 80_877_103;
const CANCEL_REQUEST = 80_877_102;

const systemSessionClock: SessionClock = {
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Lets everybody in as one principal, and serves them. */
export async function openTrustListener(options: TrustOptions): Promise<TrustListener> {
  const statements: Statement[] = [];
  const refused: string[] = [];
  const sessions: ServedSession[] = [];
  const sockets = new Set<Socket>();
  const serveSession = createServeSession({
    check: options.check,
    clock: options.clock ?? systemSessionClock,
    control: {
      statement: (statement) => statements.push(statement),
      refused: (code) => refused.push(code),
      log: () => undefined,
    },
  });

  const start = async (client: Socket, parameters: ReadonlyMap<string, string>, rest: Buffer) => {
    const principal: Principal = {
      id: "bik_test",
      name: "test",
      views: [],
      rowLimit: 1_000_000,
      timeoutSeconds: 30,
      maxConnections: 10,
      expiresAt: null,
      ...options.principal,
    };
    let receiver: SessionReceiver | undefined;
    const relayed: SessionReceiver = {
      bytes: (bytes) => receiver?.bytes(bytes) ?? true,
      began: () => receiver?.began(),
      ended: (code, message) => receiver?.ended(code, message),
    };
    const request = { principal, login: { url: options.url }, parameters };
    const engine = await options.engine.open(request, options.relay?.(relayed) ?? relayed);
    const key = sessions.length;
    client.write(
      Buffer.concat([
        authenticationOk(),
        ...[...engine.parameters].map(([name, value]) => parameterStatus(name, value)),
        backendKeyData(key, key),
        readyForQuery("I"),
      ]),
    );
    const receive = (given: SessionReceiver) => {
      receiver = given;
    };
    sessions.push(serveSession({ client, principal, engine, receive, leftover: rest }));
  };

  const server: Server = createServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined);
    let seen = Buffer.alloc(0);
    const read = (bytes: Buffer) => {
      seen = Buffer.concat([seen, bytes]);
      while (seen.length >= 8) {
        const length = seen.readInt32BE(0);
        if (seen.length < length) return;
        const packet = seen.subarray(0, length);
        seen = seen.subarray(length);
        const code = packet.readInt32BE(4);
        if (code === SSL_REQUEST) {
          client.write("N");
          continue;
        }
        client.off("data", read);
        client.pause();
        if (code === CANCEL_REQUEST) {
          sessions[packet.readInt32BE(8)]?.cancel();
          client.end();
          return;
        }
        start(client, readParameters(packet.subarray(8)), seen).catch((thrown: Error) =>
          client.end(
            errorResponse({
              severity: "FATAL",
              code: (thrown as { code?: string }).code ?? "XX000",
              message: thrown.message,
            }),
          ),
        );
        return;
      }
    };
    client.on("data", read);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    statements,
    refused,
    sessions,
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(sessions.map(({ done }) => done));
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function readParameters(body: Buffer): Map<string, string> {
  const words = body.toString().split("\0");
  const parameters = new Map<string, string>();
  for (let at = 0; words[at]; at += 2) parameters.set(words[at] ?? "", words[at + 1] ?? "");
  return parameters;
}
