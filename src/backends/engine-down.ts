import { setTimeout as sleep } from "node:timers/promises";
import type { AlertRule } from "../core/part.ts";
import type { Backend } from "./backend.ts";

const HOUR_MS = 3_600_000;
const PROBE_TIMEOUT_MS = 5_000;
/** From a probe that failed to the next. */
const SECOND_PROBE_MS = 2_000;

/** Warns when the local engine fails two probes in a row: a single lost probe is no news. */
export function engineDownAlert(
  engine: Pick<Backend, "isReachable">,
  { LLM_BACKEND: backend }: { readonly LLM_BACKEND: string },
): AlertRule {
  const answers = () => engine.isReachable(AbortSignal.timeout(PROBE_TIMEOUT_MS));
  return {
    type: "llm_backend_down",
    window: HOUR_MS,
    async find() {
      if (await answers()) return [];
      await sleep(SECOND_PROBE_MS, undefined, { ref: false });
      if (await answers()) return [];
      const text = `The local engine (${backend}) does not answer; calls of its models fail until it does. Look whether it runs, and at LLM_BASE_URL.`;
      return [
        { subject: "engine", text, details: { backend }, over: "the local engine answers again" },
      ];
    },
  };
}
