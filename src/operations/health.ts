import type { Settings } from "../config/settings.ts";
import type { Check, Part } from "../core/part.ts";
import type { JsonObject } from "../lib/json/json.ts";

/** The settings that determine the hints to the operator. */
type HintSettings = Pick<Settings, "LLM_BACKEND" | "DATABASE_URL">;

export interface ReadinessOptions {
  readonly parts: readonly Pick<Part, "checks" | "hints" | "states">[];
  /** A stopping server is not ready, whatever its parts report. */
  readonly isStopping: () => boolean;
  readonly settings: HintSettings;
}

export interface Readiness {
  readonly ready: boolean;
  /** The names of the deciding checks that failed. */
  readonly failed: readonly string[];
  /**
   * `{ready, failed?, checks, hints?}`, `"unavailable"` for each other check that failed, and what parts say of
   * themselves; `hints` has one sentence for each name in `failed`.
   */
  readonly report: JsonObject;
}

/** The checks that make a server unready. Failures of the others are only reported. */
const DECIDING: readonly string[] = ["db", "migrations", "llm"];
/** A check without a result after this time has failed. */
const TIMEOUT_MS = 1_000;

/**
 * Creates the function that reports whether the server should receive calls. It answers within `TIMEOUT_MS` even if a
 * check hangs, and immediately while the server stops. Concurrent callers share one run of each check.
 */
export function createReadiness(options: ReadinessOptions): () => Promise<Readiness> {
  const asks = [...checksByName(options.parts)].map(
    ([name, checks]) => [name, ask(checks)] as const,
  );
  const general = hintsFor(options.settings);
  const hintOf = (name: string) => partsHint(options.parts, name) ?? general[name];
  return async () => {
    const isStopping = options.isStopping();
    const timeoutMs = isStopping ? 0 : TIMEOUT_MS;
    const passes = new Map(
      await Promise.all(asks.map(async ([name, pass]) => [name, await pass(timeoutMs)] as const)),
    );
    const checks = Object.fromEntries(DECIDING.map((name) => [name, passes.get(name) === true]));
    const failed = DECIDING.filter((name) => checks[name] === false);
    if (isStopping) failed.push("stopping");
    const ready = failed.length === 0;
    const others = [...passes].filter(([name, passed]) => !DECIDING.includes(name) && !passed);
    const report = {
      ready,
      ...(!ready && { failed }),
      checks,
      ...(!ready && { hints: Object.fromEntries(failed.map((name) => [name, hintOf(name)])) }),
      ...Object.fromEntries(others.map(([name]) => [name, "unavailable"])),
      ...statesOf(options.parts),
    };
    return { ready, failed, report };
  };
}

function statesOf(parts: ReadinessOptions["parts"]): JsonObject {
  const states = parts.flatMap((part) => Object.entries(part.states ?? {}));
  return Object.fromEntries(
    states.flatMap(([name, read]) => {
      const state = read();
      return state === undefined ? [] : [[name, state]];
    }),
  );
}

function partsHint(parts: ReadinessOptions["parts"], name: string): string | undefined {
  for (const { hints } of parts) {
    const hint = hints?.[name]?.();
    if (hint !== undefined) return hint;
  }
  return undefined;
}

function checksByName(parts: ReadinessOptions["parts"]): ReadonlyMap<string, readonly Check[]> {
  const byName = new Map<string, Check[]>();
  for (const { checks = {} } of parts)
    for (const [name, check] of Object.entries(checks))
      byName.set(name, [...(byName.get(name) ?? []), check]);
  return byName;
}

/** Runs the checks of one name, once for all concurrent callers. A timeout of 0 returns the last result. */
function ask(checks: readonly Check[]): (timeoutMs: number) => Promise<boolean> {
  let running: Promise<boolean> | undefined;
  let last = true;
  const run = async () => {
    last = await allPass(checks);
    running = undefined;
    return last;
  };
  return (timeoutMs) => {
    if (timeoutMs === 0) return Promise.resolve(last);
    running ??= run();
    return orFalse(running, timeoutMs);
  };
}

/** Runs them one after the other, until one fails. */
async function allPass(checks: readonly Check[]): Promise<boolean> {
  for (const check of checks) if (!(await check())) return false;
  return true;
}

function orFalse(asking: Promise<boolean>, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timeoutMs);
    void asking.then((answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

/** Hints are public, so they contain no address, and no names except those of settings. */
function hintsFor({ LLM_BACKEND, DATABASE_URL }: HintSettings): JsonObject {
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
