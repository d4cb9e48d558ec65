import type { Settings } from "../config/settings.ts";
import type { JsonObject } from "../lib/json.ts";

/** What readiness asks. None of them throws. */
export interface ReadinessProbes {
  readonly db: () => Promise<boolean>;
  readonly migrations: () => boolean;
  readonly llm: () => Promise<boolean>;
  /** False while calls of keys with limits are refused. The others go on, so it makes no server unready. */
  readonly limits: () => boolean;
  /** A stopping server is not ready, whatever its parts say. */
  readonly stopping: () => boolean;
}

/** What decides what an operator is told to look at. */
type Parts = Pick<Settings, "LLM_BACKEND" | "DATABASE_URL">;

export interface Readiness {
  readonly ready: boolean;
  /** The names of the checks that failed. */
  readonly failed: readonly string[];
  /** `{ready, failed?, checks, hints?, limits?}`; `hints` has one sentence for each name in `failed`. */
  readonly report: JsonObject;
}

/** A part that has not answered by then counts as failed. */
const PATIENCE_MS = 1_000;

/**
 * Makes the question whether the server should be sent calls. It is answered within `PATIENCE_MS` whatever hangs, and
 * at once while the server stops; however many ask at a time, each part is asked once.
 */
export function createReadiness(probes: ReadinessProbes, parts: Parts): () => Promise<Readiness> {
  const askDb = askedOnce(probes.db);
  const askLlm = askedOnce(probes.llm);
  const hints = hintsFor(parts);
  return async () => {
    const isStopping = probes.stopping();
    const patienceMs = isStopping ? 0 : PATIENCE_MS;
    const [db, llm] = await Promise.all([askDb(patienceMs), askLlm(patienceMs)]);
    const checks = { db, migrations: probes.migrations(), llm };
    const failed = Object.entries(checks).flatMap(([name, passed]) => (passed ? [] : [name]));
    if (isStopping) failed.push("stopping");
    const ready = failed.length === 0;
    const said = failed.map((name) => [name, hints[name]]);
    const report = {
      ready,
      ...(!ready && { failed }),
      checks,
      ...(!ready && { hints: Object.fromEntries(said) }),
      ...(!probes.limits() && { limits: "unavailable" }),
    };
    return { ready, failed, report };
  };
}

/** No patience takes the last answer. */
function askedOnce(probe: () => Promise<boolean>): (patienceMs: number) => Promise<boolean> {
  let asking: Promise<boolean> | undefined;
  let last = true;
  const ask = async () => {
    last = await probe();
    asking = undefined;
    return last;
  };
  return (patienceMs) => {
    if (patienceMs === 0) return Promise.resolve(last);
    asking ??= ask();
    return orFalse(asking, patienceMs);
  };
}

function orFalse(asking: Promise<boolean>, patienceMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), patienceMs);
    void asking.then((answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

/** Anybody may read them: no address, no name but those of settings. */
function hintsFor({ LLM_BACKEND, DATABASE_URL }: Parts): JsonObject {
  return {
    db:
      DATABASE_URL === undefined
        ? "The embedded database does not answer, or its disk and the journal's are full; make room, the rest it does by itself, and the log says why it was lost."
        : "PostgreSQL does not answer, or its disk and the journal's are full; see that it runs, has room and that DATABASE_URL is right, the server connects again by itself.",
    migrations:
      "The database's tables are not those of this release; start the server again, which brings them up to date.",
    llm: `The local engine (${LLM_BACKEND}) does not answer; start it, or correct LLM_BASE_URL and LLM_BACKEND.`,
    stopping:
      "The server is stopping and ends the calls it has; send new ones to another replica, or start it again.",
  };
}
