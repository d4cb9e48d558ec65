import { type Engine, EngineRefusal, type EngineSession } from "../engine.ts";
import { requestCancel } from "./cancel-request.ts";
import { logIn } from "./log-in.ts";
import { toEngineRefusal } from "./login-refusal.ts";
import { SharedCatalog } from "./shared-catalog.ts";
import { readAddress, type UpstreamAddress } from "./upstream-address.ts";
import { UpstreamSession } from "./upstream-session.ts";

export interface PostgresEngineOptions {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** For the operator: why a login failed, which the client is not told. */
  readonly failed: (thrown: unknown) => void;
}

/** Opens sessions on a PostgreSQL server, each by a login of its principal's role. */
export function openPostgresEngine({ now, failed }: PostgresEngineOptions): Engine {
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
        const prepare = catalog.read.bind(catalog);
        return await logIn({ address, request, prepare }, (session) => {
          const upstream: EngineSession = new UpstreamSession({
            session,
            receiver,
            catalog: () => catalog.current,
            requestCancel: () => requestCancel(address, session.key),
            closed: () => sessions.delete(upstream),
          });
          sessions.add(upstream);
          if (isClosed) upstream.close();
          return upstream;
        });
      } catch (thrown) {
        failed(thrown);
        throw toEngineRefusal(thrown);
      }
    },
    async close() {
      isClosed = true;
      for (const session of sessions) session.close();
    },
  };
}
