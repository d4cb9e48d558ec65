import {
  FUNCTION_CATALOG_SQL,
  type FunctionCatalog,
  readFunctionCatalog,
} from "../../../lib/sql-gate/postgres/function-catalog.ts";
import type { CopyStates, FeedRequest } from "../../copy/copy-messages.ts";
import { quoteText } from "../../copy/quote-sql.ts";
import type { CopyConfig } from "../../process/process-messages.ts";
import type { Control } from "../control.ts";
import { type Engine, EngineRefusal, type OpenSession, type SessionReceiver } from "../engine.ts";
import { type CopyDatabase, CopyError, openCopyDatabase } from "./copy-database.ts";
import { createCopyRoles } from "./copy-roles.ts";
import { CopySession } from "./copy-session.ts";
import { type CopyTables, createCopyTables } from "./copy-tables.ts";
import { createOccupation, type HostedSession, type SessionHost } from "./session-host.ts";
import { SessionMemory } from "./session-memory.ts";
import { isUtf8 } from "./split-query.ts";
import { TurnQueue } from "./turn-queue.ts";

/** How long a new session waits for the first copy to be whole. */
const FIRST_COPY_MS = 10_000;
const ENDED_WITH_PROCESS = "a statement on the embedded copy is ended with its process";
/** For the sockets to tell clients why they end. */
const EXIT_PAUSE_MS = 100;
const START_PARAMETERS = new Set([
  ...["application_name", "datestyle", "timezone", "intervalstyle", "extra_float_digits"],
  ...["search_path", "statement_timeout"],
]);

export interface CopyEngine extends Engine {
  /** Does what the server asks for with `POST /copy`, one request at a time. Returns the answer's value. */
  readonly applyFeed: (request: FeedRequest) => Promise<CopyStates | Record<string, never>>;
}

interface Opened {
  readonly database: CopyDatabase;
  readonly tables: CopyTables;
  readonly host: SessionHost;
  readonly catalog: FunctionCatalog;
  readonly forgetRoles: () => void;
}

interface EngineParts {
  readonly control: Pick<Control, "exitForTurn" | "log">;
  readonly firstCopyMs?: number;
}

/** The embedded copy as an engine. Its database opens at the first use. */
export function openCopyEngine(
  config: CopyConfig,
  { control, firstCopyMs = FIRST_COPY_MS }: EngineParts,
): CopyEngine {
  const queue = new TurnQueue();
  const sessions = new Set<HostedSession>();
  const whole = waitForWhole();
  let opening: Promise<Opened> | undefined;
  let isExiting = false;

  const exit: SessionHost["exit"] = (guilty, { code, message }) => {
    if (isExiting) return;
    isExiting = true;
    control.log("warn", ENDED_WITH_PROCESS, { principal_id: guilty.principal.id });
    guilty.end(code, message);
    endAll("terminating connection: the embedded copy is restarted; connect again");
    setTimeout(control.exitForTurn, EXIT_PAUSE_MS);
  };
  const endAll = (text: string): void => {
    for (const session of sessions) session.end("57P01", text);
    sessions.clear();
  };
  const broken = (thrown: unknown): void => {
    if (isExiting) return;
    isExiting = true;
    control.log("error", "the embedded copy failed", { error: String(thrown) });
    endAll("terminating connection because the embedded copy failed; connect again");
    setTimeout(control.exitForTurn, EXIT_PAUSE_MS);
  };
  const open = async (): Promise<Opened> => {
    const database = await openCopyDatabase(config);
    const roles = createCopyRoles(database);
    const tables = createCopyTables(database, roles.forget);
    const asOf = (views: readonly string[]) => {
      const times = views.flatMap((view) => tables.asOf.get(view) ?? []);
      return times.length === 0 ? undefined : Math.min(...times);
    };
    const occupation = createOccupation({ database, queue, roles, asOf });
    const catalog = readFunctionCatalog(await database.query(FUNCTION_CATALOG_SQL));
    const gone = (session: HostedSession): void => void sessions.delete(session);
    const host = { database, queue, exit, broken, gone, ...occupation };
    return { database, tables, host, catalog, forgetRoles: roles.forget };
  };
  const opened = (): Promise<Opened> => {
    opening ??= open().catch((thrown: unknown) => {
      opening = undefined;
      throw thrown;
    });
    return opening;
  };
  const begin = async (request: Extract<FeedRequest, { type: "begin" }>): Promise<CopyStates> => {
    const { tables, database, forgetRoles } = await opened();
    if (await tables.hasMark(request.mark)) {
      forgetRoles();
      return tables.begin(request);
    }
    whole.reset();
    endAll("terminating connection: the embedded copy is made anew; connect again");
    opening = undefined;
    await database.destroy();
    return (await opened()).tables.begin(request);
  };

  return {
    async applyFeed(request) {
      const { host } = await opened();
      const turn = await queue.take(null);
      try {
        await host.vacate();
        if (request.type === "begin") return await begin(request);
        await follow(await opened(), request);
        if (request.type === "whole") whole.settle();
        return {};
      } finally {
        turn.end();
      }
    },
    async open(request, receiver) {
      await whole.wait(firstCopyMs);
      const { host, catalog, database } = await opened().catch((thrown: unknown) => {
        throw new EngineRefusal("57P03", `The embedded copy does not open: ${String(thrown)}`);
      });
      const session = await createSession({ request, receiver, host, catalog, database });
      sessions.add(session);
      return session;
    },
    async close() {
      endAll("terminating connection due to administrator command");
      const current = await opening?.catch(() => undefined);
      await current?.database.close();
    },
  };
}

/** The state of the first copy: nobody reads half of it. */
function waitForWhole() {
  let isWhole = false;
  const waiting = new Set<() => void>();
  return {
    settle() {
      isWhole = true;
      for (const wake of waiting) wake();
      waiting.clear();
    },
    reset() {
      isWhole = false;
    },
    async wait(limitMs: number): Promise<void> {
      if (isWhole) return;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, limitMs);
        waiting.add(wake);
      });
      if (isWhole) return;
      throw new EngineRefusal(
        "57P03",
        "The copy for BI keys is being made.",
        "Try again in some seconds.",
      );
    },
  };
}

async function follow(
  { tables }: Pick<Opened, "tables">,
  request: Exclude<FeedRequest, { type: "begin" }>,
): Promise<void> {
  if (request.type === "rows" || request.type === "gone") await tables.add(request);
  else if (request.type === "apply") await tables.apply(request);
  else if (request.type === "discard") await tables.discard(request.view);
  else if (request.type === "unchanged") await tables.unchanged(request.views, request.asOf);
}

interface NewSession {
  readonly request: OpenSession;
  readonly receiver: SessionReceiver;
  readonly host: SessionHost;
  readonly catalog: FunctionCatalog;
  readonly database: CopyDatabase;
}

/** Checks the client's parameters in a turn of their own. */
async function createSession({ request, receiver, host, catalog, database }: NewSession) {
  const { principal, parameters: given } = request;
  refuseEncoding(given);
  const wanted = [...given].filter(([name]) => START_PARAMETERS.has(name.toLowerCase()));
  const settings = new Map<string, string>();
  if (wanted.length > 0) {
    const signal = AbortSignal.timeout(principal.timeoutSeconds * 1000);
    const turn = await host.queue.take(principal.id, signal).catch((thrown: unknown) => {
      throw new EngineRefusal("53300", `The embedded copy is busy: ${String(thrown)}`);
    });
    try {
      await host.clear();
      for (const [name, value] of wanted) await set(database, settings, { name, value });
    } catch (thrown) {
      if (thrown instanceof CopyError) {
        // biome-ignore lint/style/useErrorCause: the client gets the code and the words, and nobody else reads it
        throw new EngineRefusal(thrown.code, thrown.message);
      }
      throw thrown;
    } finally {
      await host.clear().finally(() => turn.end());
    }
  }
  const parameters = new Map(database.parameters);
  for (const [name, value] of settings) if (parameters.has(name)) parameters.set(name, value);
  parameters.set("is_superuser", "off");
  parameters.set("session_authorization", principal.id);
  const memory = new SessionMemory(settings);
  return new CopySession(host, { principal, receiver, parameters, catalog, memory });
}

function refuseEncoding(parameters: ReadonlyMap<string, string>): void {
  for (const [name, value] of parameters) {
    if (name.toLowerCase() !== "client_encoding" || value === "auto" || isUtf8(value)) continue;
    const hint = "Use client_encoding UTF8.";
    throw new EngineRefusal("0A000", "The embedded database sends UTF8 only.", hint);
  }
}

/** Notes a setting under PostgreSQL's own spelling of its name and value. */
async function set(
  database: CopyDatabase,
  settings: Map<string, string>,
  { name, value }: { readonly name: string; readonly value: string },
): Promise<void> {
  await database.query(`select set_config(${quoteText(name)}, ${quoteText(value)}, false)`);
  const [row] = await database.query(
    `select name, setting from pg_settings where lower(name) = ${quoteText(name.toLowerCase())}`,
  );
  settings.set(row?.[0] ?? name, row?.[1] ?? value);
}
