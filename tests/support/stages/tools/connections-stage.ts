import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../../../src/config/load-config.ts";
import { openFileConnections } from "../../../../src/knowledge/file-connections.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { createSecretBox } from "../../../../src/lib/secret-box.ts";
import { createConnection } from "../../../../src/tools/connections/change-connection.ts";
import type {
  QueryRows,
  ReadQuery,
  SavedConnection,
} from "../../../../src/tools/connections/connection.ts";
import type { NewConnection } from "../../../../src/tools/connections/connection-fields.ts";
import {
  type Connections,
  openConnections,
} from "../../../../src/tools/connections/open-connections.ts";
import { openUserAccess, type TestUserAccess } from "../access/user-access.ts";

export interface ConnectionsStage {
  readonly access: TestUserAccess;
  readonly connections: Connections;
  /** WORKSPACE_DIR, in DATA_DIR. */
  readonly workspace: string;
  readonly dataDir: string;
  readonly save: (fields: NewConnection) => Promise<SavedConnection>;
  /** Reads over a saved connection, at most ten rows within ten seconds unless told otherwise. */
  readonly read: (
    connection: SavedConnection,
    sql: string,
    more?: Partial<ReadQuery>,
  ) => Promise<QueryRows>;
  readonly close: () => Promise<void>;
}

export interface ConnectionsStageOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly authorities?: string;
}

/** Saved connections on a database of their own, whose servers are on the loopback. */
export async function openConnectionsStage({
  environment,
  authorities,
}: ConnectionsStageOptions = {}): Promise<ConnectionsStage> {
  const access = await openUserAccess();
  const dataDir = mkdtempSync(join(tmpdir(), "connections-"));
  const workspace = mkdtempSync(join(dataDir, "workspace-"));
  const { settings } = loadConfig({
    DATA_DIR: dataDir,
    WORKSPACE_DIR: workspace,
    EGRESS_ALLOW: "127.0.0.1",
    ...environment,
  });
  const connections = await openConnections(
    { settings, database: access.database, clock: access.access.clock, log: createLog("silent") },
    {
      secretBox: createSecretBox(Buffer.alloc(32, 7)),
      fileConnections: openFileConnections(settings),
      ...(authorities !== undefined && { authorities }),
    },
  );
  return {
    access,
    connections,
    workspace,
    dataDir,
    async save(fields) {
      const { id } = await createConnection(connections.desk, access.admin, fields);
      const saved = connections.saved.list().find((one) => one.id === id);
      if (saved === undefined) throw new Error("a saved connection is not in memory");
      return saved;
    },
    read: (connection, sql, more) =>
      connections.saved.read(connection, {
        sql,
        maxRows: 10,
        timeoutMs: 10_000,
        signal: new AbortController().signal,
        ...more,
      }),
    async close() {
      await connections.close?.(1_000);
      await access.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** What a promise rejects with; fails when it does not. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => "it did not reject",
    (thrown: unknown) => thrown,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error(String(outcome));
}
