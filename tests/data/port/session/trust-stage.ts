import { openPostgresEngine } from "../../../../src/data/port/postgres/postgres-engine.ts";
import {
  bind,
  describePortal,
  execute,
  parse,
} from "../../../../src/data/port/protocol/frontend-messages.ts";
import { databaseServerUrl } from "../../../support/servers/databases/database-server.ts";
import { createDataDatabase, type DataDatabase } from "./data-database.ts";
import { openTrustListener, type TrustListener, type TrustOptions } from "./trust-listener.ts";

export interface TrustStage {
  readonly database: DataDatabase;
  readonly listener: TrustListener;
  readonly close: () => Promise<void>;
}

/** Sessions of one principal on a database of their own. */
export async function openTrustStage(
  options: Pick<TrustOptions, "check" | "principal">,
): Promise<TrustStage> {
  const engine = openPostgresEngine({
    now: Date.now,
    mostSessions: 50,
    mostRunning: null,
    failed: () => undefined,
  });
  const database = await createDataDatabase(databaseServerUrl ?? "");
  const listener = await openTrustListener({ ...options, engine, url: database.url });
  return {
    database,
    listener,
    async close() {
      await listener.close();
      await engine.close();
      await database.drop();
    },
  };
}

/** The messages that run a statement by the extended protocol. */
export const run = (sql: string) => [
  parse("", sql),
  bind("", "", []),
  describePortal(""),
  execute("", 0),
];
