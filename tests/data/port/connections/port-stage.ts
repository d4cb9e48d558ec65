import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPort, type PortServices } from "../../../../src/data/port/connections/open-port.ts";
import type { PortClock } from "../../../../src/data/port/connections/port-clock.ts";
import type { Control } from "../../../../src/data/port/control.ts";
import type {
  Engine,
  EngineSession,
  OpenSession,
  SessionReceiver,
} from "../../../../src/data/port/engine.ts";
import {
  errorResponse,
  readyForQuery,
} from "../../../../src/data/port/protocol/backend-messages.ts";
import { int16, int32, message, text } from "../../../../src/data/port/protocol/fields.ts";
import { MessageReader } from "../../../../src/data/port/protocol/message-reader.ts";
import type {
  ServeSession,
  SessionToServe,
} from "../../../../src/data/port/session/served-session.ts";
import type { Admission, Principal } from "../../../../src/data/principal.ts";
import type { PortConfig } from "../../../../src/data/process/process-messages.ts";

/** A clock whose timers run when it is moved. */
export class SetClock implements PortClock {
  #now = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>();

  readonly now = (): number => this.#now;

  readonly after = (milliseconds: number, run: () => void): (() => void) => {
    const timer = { at: this.#now + milliseconds, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  get timers(): number {
    return this.#timers.size;
  }

  move(milliseconds: number): void {
    const until = this.#now + milliseconds;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= until);
      const next = due.toSorted((one, other) => one.at - other.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = until;
  }
}

export const principal = (id: string, fields: Partial<Principal> = {}): Principal => ({
  id,
  name: id,
  views: [],
  rowLimit: 1000,
  timeoutSeconds: 30,
  maxConnections: 10,
  expiresAt: null,
  ...fields,
});

const ANSWER = Buffer.concat([
  message("T", int16(1), text("one"), int32(0), int16(0), int32(23), int16(4), int32(-1), int16(0)),
  message("D", int16(1), int32(1), Buffer.from("1")),
  message("C", text("SELECT 1")),
  readyForQuery("I"),
]);
const CANCELLED = Buffer.concat([
  errorResponse({ severity: "ERROR", code: "57014", message: "canceled" }),
  readyForQuery("I"),
]);

/** Answers every simple query with one row, but for one with `wait`: that lasts until it is cancelled. */
const fakeEngine = (opened: OpenSession[], sessions: Set<EngineSession>): Engine => ({
  async open(request: OpenSession, receiver: SessionReceiver) {
    opened.push(request);
    const session: EngineSession = {
      parameters: new Map([["server_version", "15.0"]]),
      catalog: undefined as never,
      takePlace: null,
      send: (messages) => {
        if (!messages.toString("latin1").includes("wait")) receiver.bytes(ANSWER);
        return true;
      },
      drained: async () => undefined,
      isWaiting: false,
      rest: () => undefined,
      resume: () => undefined,
      cancel: () => receiver.bytes(CANCELLED),
      close: () => sessions.delete(session),
    };
    sessions.add(session);
    return session;
  },
  close: async () => undefined,
});

/** Passes simple queries on, and answers everything of the extended protocol at its Sync. */
const fakeServe: ServeSession = ({ client, engine, receive, leftover }: SessionToServe) => {
  const reader = new MessageReader(1_048_576);
  const done = new Promise<void>((resolve) => client.once("close", resolve));
  receive({
    bytes: (bytes) => client.write(bytes),
    began: () => undefined,
    ended: () => client.destroy(),
  });
  const take = (bytes: Buffer): void => {
    for (const { type, body } of reader.read(bytes)) {
      if (type === "Q") engine.send(message("Q", body));
      else if (type === "X") client.end();
    }
  };
  client.on("data", take);
  if (leftover.length > 0) take(leftover);
  client.resume();
  return {
    done,
    cancel: engine.cancel,
    end: (code, text) => client.end(errorResponse({ severity: "FATAL", code, message: text })),
  };
};

export type PortStage = Awaited<ReturnType<typeof startPort>>;

/** Opens a port over a fake engine, whose keys are those of `keys`. */
export async function startPort(
  config: Partial<PortConfig> = {},
  services: Partial<PortServices> = {},
) {
  const selfSignedFolder = await mkdtemp(join(tmpdir(), "port-"));
  const keys = new Map<string, Admission>();
  const logins: { readonly secret: string; readonly address: string }[] = [];
  const refused: string[] = [];
  const lines: string[] = [];
  const opened: OpenSession[] = [];
  const engineSessions = new Set<EngineSession>();
  const stage = { open: 0, end: (() => undefined) as Parameters<Control["onEnd"]>[0] };
  const control: Control = {
    async login(secret, address) {
      logins.push({ secret, address });
      const refusal = { code: "28P01", message: "The key is not known." };
      return keys.get(secret) ?? { refusal };
    },
    statement: () => undefined,
    refused: (code) => void refused.push(code),
    connections: (open) => {
      stage.open = open;
    },
    log: (_level, line, fields) => void lines.push(`${line} ${JSON.stringify(fields ?? {})}`),
    onEnd: (listener) => {
      stage.end = listener;
    },
    onCalls: () => undefined,
    exitForTurn: () => undefined,
  };
  const port = await openPort(
    {
      ...{ host: "127.0.0.1", port: 0, isPlainAllowed: false, maxConnections: 100 },
      ...{ certificateFile: null, keyFile: null, selfSignedFolder, ...config },
    },
    {
      engine: fakeEngine(opened, engineSessions),
      control,
      serveSession: fakeServe,
      ...services,
    },
  );
  return {
    ...{ keys, logins, refused, lines, opened, engineSessions, selfSignedFolder, control },
    port: port.port ?? 0,
    failure: port.failure,
    openCount: () => stage.open,
    end: (ids: readonly string[] | "all", reason: string) => stage.end(ids, reason),
    addKey: (secret: string, fields: Partial<Principal> = {}) => {
      keys.set(secret, { principal: principal(`bik_${secret.slice(3)}`, fields), login: null });
      return secret;
    },
    close: async () => {
      await port.close();
      await rm(selfSignedFolder, { recursive: true, force: true });
    },
  };
}

/** A connection whose bytes are the test's own. */
export class RawConnection {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #received = Buffer.alloc(0);
  #isClosed = false;
  #wake = new Set<() => void>();

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#awake();
    });
    socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#isClosed = true;
        this.#awake();
        resolve();
      });
    });
  }

  static async open(port: number, host = "127.0.0.1"): Promise<RawConnection> {
    const socket = connect({ port, host });
    const connection = new RawConnection(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    return connection;
  }

  /** Over a socket that is connected, such as one of TLS. */
  static over(socket: Socket): RawConnection {
    return new RawConnection(socket);
  }

  get received(): string {
    return this.#received.toString("latin1");
  }

  send(...bytes: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(bytes));
  }

  /** Resolves with all that was received, as Latin-1, once it has this in it. Rejects when the connection ends before. */
  async until(part: string): Promise<string> {
    while (!this.received.includes(part)) {
      if (this.#isClosed) throw new Error(`closed after ${JSON.stringify(this.received)}`);
      await new Promise<void>((resolve) => this.#wake.add(resolve));
    }
    return this.received;
  }

  /** Resolves with all that was received before the connection was closed. */
  async untilClosed(): Promise<string> {
    await this.closed;
    return this.received;
  }

  #awake(): void {
    for (const wake of this.#wake) wake();
    this.#wake.clear();
  }
}

const packet = (...fields: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(fields);
  return Buffer.concat([int32(body.length + 4), body]);
};

export const SSL_REQUEST = packet(int32(80_877_103));
export const GSS_REQUEST = packet(int32(80_877_104));
export const cancelRequest = (processId: number, secret: number): Buffer =>
  packet(int32(80_877_102), int32(processId), int32(secret));
export const startup = (
  parameters: Readonly<Record<string, string>> = { user: "any" },
  version = 0x3_00_00,
): Buffer =>
  packet(int32(version), ...Object.entries(parameters).flat().map(text), Buffer.from([0]));
export const password = (secret: string): Buffer => message("p", text(secret));
export const query = (sql: string): Buffer => message("Q", text(sql));
/** AuthenticationCleartextPassword, as Latin-1. */
export const ASKED = message("R", int32(3)).toString("latin1");
export const READY = readyForQuery("I").toString("latin1");

/** Logs in without TLS, which loopback may. */
export async function logInPlain(
  port: number,
  secret: string,
  parameters?: Readonly<Record<string, string>>,
): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  connection.send(startup(parameters), password(secret));
  return connection;
}

/** The fields of BackendKeyData in what was received. */
export function cancelKeyOf(received: string): { processId: number; secret: number } {
  const bytes = Buffer.from(received, "latin1");
  const at = bytes.indexOf(Buffer.from("K\0\0\0\x0c", "latin1"));
  return { processId: bytes.readInt32BE(at + 5), secret: bytes.readInt32BE(at + 9) };
}
