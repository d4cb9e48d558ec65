import type { Socket } from "node:net";
import { Client } from "pg";
import type { Engine } from "../../../src/data/port/engine.ts";

/** An engine on a PostgreSQL server without roles: every session is one of the URL's user. */
export interface SocketEngine extends Engine {
  /** Sessions that were opened so far. */
  readonly opened: () => number;
}

const NO_FUNCTIONS = {
  safeFunctions: new Map(),
  unsafeFunctions: new Map(),
  unsafeFields: new Set<string>(),
  safeOperators: new Map(),
  unsafeOperators: new Map(),
  unsafeTypes: new Set<string>(),
};

interface PgConnection {
  readonly stream: Socket;
  removeAllListeners: () => void;
}

/** `pg` logs in; its socket is the session's from then on. */
export function createSocketEngine(url: string): SocketEngine {
  const open = new Set<Socket>();
  let opened = 0;
  return {
    opened: () => opened,
    async open(_request, receiver) {
      const client = new Client({ connectionString: url });
      await client.connect();
      const { rows } = await client.query("select pg_backend_pid() as pid");
      const pid = rows[0].pid as number;
      const { connection } = client as unknown as { connection: PgConnection };
      const { stream } = connection;
      stream.removeAllListeners();
      connection.removeAllListeners();
      open.add(stream);
      opened += 1;
      let isClosed = false;
      stream.on("data", (bytes: Buffer) => {
        if (!isClosed && !receiver.bytes(bytes)) stream.pause();
      });
      stream.on("error", () => undefined);
      stream.on("close", () => {
        open.delete(stream);
        if (!isClosed) receiver.ended("57P01", "The database ended the session.");
      });
      return {
        parameters: new Map(),
        catalog: NO_FUNCTIONS,
        takePlace: null,
        send: (messages) => stream.write(messages),
        drained: async () => undefined,
        isWaiting: false,
        rest: () => undefined,
        resume: () => stream.resume(),
        cancel: () => void cancel(url, pid).catch(() => undefined),
        close() {
          isClosed = true;
          stream.destroy();
        },
      };
    },
    async close() {
      for (const stream of open) stream.destroy();
    },
  };
}

async function cancel(url: string, pid: number): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("select pg_cancel_backend($1)", [pid]);
  await client.end();
}
