import type { Duplex } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { within } from "../../../lib/time/within.ts";
import { EngineRefusal, type OpenSession } from "../engine.ts";
import { MessageScanner } from "../protocol/message-reader.ts";
import type { BackendKey } from "./cancel-request.ts";
import { isRoleUnknown } from "./login-refusal.ts";
import { applicationName, startOptions, type UpstreamAddress } from "./upstream-address.ts";

export interface LoggedIn {
  /** After ReadyForQuery; it flows, so the caller must listen in the same turn. */
  readonly stream: Duplex;
  readonly parameters: ReadonlyMap<string, string>;
  readonly key: BackendKey;
}

/** Runs one statement and returns its rows. */
export type RunStatement = (sql: string) => Promise<readonly (readonly unknown[])[]>;

interface LoginOptions {
  readonly address: UpstreamAddress;
  readonly request: OpenSession;
  /** Uses the session before it is handed over. */
  readonly prepare: (run: RunStatement) => Promise<void>;
}

const CONNECT_MS = 5000;
const KEEP_ALIVE_MS = 30_000;
/** A role that was just made reaches a replica after a moment. */
const ROLE_MS = 2000;
const ROLE_INTERVAL_MS = 200;

/** Logs in, and takes the socket over. Rejects as the login failed. Calls `use` in the turn in which it is taken. */
export async function logIn<Result>(
  options: LoginOptions,
  use: (session: LoggedIn) => Result,
): Promise<Result> {
  const startedAt = performance.now();
  for (;;) {
    try {
      return await logInOnce(options, use);
    } catch (thrown) {
      if (!isRoleUnknown(thrown) || performance.now() - startedAt > ROLE_MS) throw thrown;
      await wait(ROLE_INTERVAL_MS);
    }
  }
}

async function logInOnce<Result>(
  { address, request, prepare }: LoginOptions,
  use: (session: LoggedIn) => Result,
): Promise<Result> {
  const client = new Client({
    ...address,
    options: startOptions(request.parameters),
    application_name: applicationName(request),
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
  const { connection } = client as unknown as { readonly connection: LoginConnection };
  client.on("error", () => undefined);
  const parameters = new Map<string, string>();
  connection.on("parameterStatus", (status) =>
    parameters.set(status.parameterName, status.parameterValue),
  );
  const scanner = new MessageScanner(() => undefined);
  connection.once(address.ssl === false ? "connect" : "sslconnect", () =>
    connection.stream.on("data", (bytes: Buffer) => scanner.scan(bytes)),
  );
  try {
    await within(
      client.connect().then(() => prepare((sql) => runStatement(client, sql))),
      CONNECT_MS,
      () => new EngineRefusal("57P03", "The database did not answer in time.", "Try again later."),
    );
    // The library may have read the begin of a message that it would never finish.
    if (!scanner.isAtBorder) throw new Error("The database went on after the login.");
  } catch (thrown) {
    connection.stream.destroy();
    throw thrown;
  }
  connection.removeAllListeners();
  connection.on("error", () => undefined);
  connection.stream.removeAllListeners("data");
  const { processID, secretKey } = client as unknown as { processID: number; secretKey: number };
  const key = { processId: processID, secret: secretKey };
  return use({ stream: connection.stream, parameters, key });
}

async function runStatement(client: Client, sql: string) {
  const { rows } = await client.query<unknown[]>({ text: sql, rowMode: "array" });
  return rows;
}

/** What the library's types leave out. */
interface LoginConnection {
  readonly stream: Duplex;
  readonly on: {
    (
      event: "parameterStatus",
      listener: (status: { parameterName: string; parameterValue: string }) => void,
    ): void;
    (event: "error", listener: () => void): void;
  };
  readonly once: (event: "connect" | "sslconnect", listener: () => void) => void;
  readonly removeAllListeners: () => void;
}
