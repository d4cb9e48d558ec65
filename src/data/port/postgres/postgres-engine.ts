import { Turns } from "../../../lib/worker/turns.ts";
import { type Engine, EngineRefusal, type EngineSession } from "../engine.ts";
import { requestCancel } from "./cancel-request.ts";
import { logIn, type RunStatement } from "./log-in.ts";
import { toEngineRefusal } from "./login-refusal.ts";
import { placeAgainStatement, takePlace } from "./session-places.ts";
import { SharedCatalog } from "./shared-catalog.ts";
import { readAddress, type UpstreamAddress } from "./upstream-address.ts";
import { UpstreamSession } from "./upstream-session.ts";

export interface PostgresEngineOptions {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Sessions at once on a database, of this process and all others that are given the same number. */
  readonly mostSessions: number;
  /** Statements that the server works on at once for all sessions; null for any number. */
  readonly mostRunning: number | null;
  /** For the operator: why a login failed, which the client is not told. */
  readonly failed: (thrown: unknown) => void;
}

/** Opens sessions on a PostgreSQL server, each by a login of its principal's role. */
export function openPostgresEngine(options: PostgresEngineOptions): Engine {
  const { now, mostSessions, mostRunning, failed } = options;
  const turns =
    mostRunning === null
      ? null
      : // Half of them are left to the other keys.
        new Turns(mostRunning, Math.ceil(mostRunning / 2));
  const sessions = new Set<EngineSession>();
  const catalogs = new Map<string, SharedCatalog>();
  let isClosed = false;

  const catalogOf = ({ host, port, database }: UpstreamAddress): SharedCatalog => {
    const place = JSON.stringify([host, port, database]);
    const catalog = catalogs.get(place) ?? new SharedCatalog(now);
    catalogs.set(place, catalog);
    return catalog;
  };

  return {
    async open(request, receiver) {
      if (request.login === null) throw new EngineRefusal("58000", "This key has no login.");
      try {
        const address = readAddress(request.login);
        const catalog = catalogOf(address);
        const prepare = async (run: RunStatement) => {
          await takePlace(run, mostSessions);
          await catalog.read(run);
        };
        return await logIn({ address, request, prepare }, (session) => {
          const upstream: EngineSession = new UpstreamSession({
            session,
            receiver,
            catalog: () => catalog.current,
            takePlace: placeAgainStatement(mostSessions),
            requestCancel: () => requestCancel(address, session.key),
            closed: () => sessions.delete(upstream),
            ...{ turns, turnKey: request.turnKey ?? request.principal.id },
          });
          sessions.add(upstream);
          if (isClosed) upstream.close();
          return upstream;
        });
      } catch (thrown) {
        // What a client is told whole is nothing for the log: there may be a thousand of them at once.
        if (!(thrown instanceof EngineRefusal)) failed(thrown);
        throw toEngineRefusal(thrown);
      }
    },
    async close() {
      isClosed = true;
      for (const session of sessions) session.close();
    },
  };
}
