import { quoteName, quoteText } from "../../copy/quote-sql.ts";
import type { Principal } from "../../principal.ts";
import type { ServerError } from "../protocol/backend-messages.ts";
import { sync } from "../protocol/frontend-messages.ts";
import type { CopyDatabase } from "./copy-database.ts";
import type { CopyRoles } from "./copy-roles.ts";
import type { SessionMemory } from "./session-memory.ts";
import type { TurnQueue } from "./turn-queue.ts";

/** What the host sees of a session. */
export interface HostedSession {
  readonly principal: Principal;
  readonly memory: SessionMemory;
  readonly end: (code: string, message: string) => void;
}

/** What sessions of the copy share. */
export interface SessionHost {
  readonly database: CopyDatabase;
  readonly queue: TurnQueue;
  /** Makes the database the session's: its role, settings and statements. The session has the turn. */
  readonly occupy: (session: HostedSession) => Promise<void>;
  /** Ends whatever is in progress and forgets everything of a session. */
  readonly clear: () => Promise<void>;
  /** The same where it is needed: for the feeding, which comes often. */
  readonly vacate: () => Promise<void>;
  readonly roleOf: (session: HostedSession) => string;
  /** The statement that tells the session whose the database is how old its rows are. */
  readonly timeSql: () => string;
  /** Ends the process, because a statement cannot be ended otherwise. */
  readonly exit: (guilty: HostedSession, reason: ServerError) => void;
  /** The session is over. */
  readonly gone: (session: HostedSession) => void;
  readonly broken: (thrown: unknown) => void;
}

interface HostParts {
  readonly database: CopyDatabase;
  readonly queue: TurnQueue;
  readonly roles: CopyRoles;
  /** The time of the oldest of these views, Unix milliseconds. */
  readonly asOf: (views: readonly string[]) => number | undefined;
}

/** Follows whose the database is now. */
export function createOccupation({ database, roles, asOf }: HostParts) {
  let occupant: HostedSession | undefined;
  let prepared = "";
  let isClear = false;
  let told = "";
  const timeSql = (): string =>
    `select pg_catalog.set_config('data.as_of', ${quoteText(told)}, false)`;
  const clear = async (): Promise<void> => {
    occupant = undefined;
    isClear = false;
    await database.execute(sync());
    await database.query("rollback");
    await database.query("discard all");
    isClear = true;
  };
  const roleOf = ({ principal }: HostedSession): string => `reader_${principal.id}`;
  return {
    ...{ clear, roleOf, timeSql },
    vacate: async (): Promise<void> => {
      if (!isClear) await clear();
    },
    occupy: async (session: HostedSession): Promise<void> => {
      const { principal, memory } = session;
      const time = asOf(principal.views);
      const wanted = `${roles.generation()} ${time}`;
      if (occupant === session && prepared === wanted) return;
      await clear();
      isClear = false;
      const role = await roles.prepare(principal);
      told = time === undefined ? "" : new Date(time).toISOString();
      await database.query(`${timeSql()}; set role ${quoteName(role)}`);
      await memory.setUp(database);
      occupant = session;
      prepared = wanted;
    },
  };
}
