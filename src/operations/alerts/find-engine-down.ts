import { setTimeout as sleep } from "node:timers/promises";
import type { AlertRule } from "./alert-rule.ts";

/** From a probe that failed to the next. */
const SECOND_PROBE_MS = 2_000;

/** The local engine, when it does not answer twice in a row: one lost probe is no news. */
export const findEngineDown: AlertRule["find"] = async (facts, { LLM_BACKEND: backend }) => {
  if (await facts.engineAnswers()) return [];
  await sleep(SECOND_PROBE_MS, undefined, { ref: false });
  if (await facts.engineAnswers()) return [];
  const text = `The local engine (${backend}) does not answer; calls of its models fail until it does. Look whether it runs, and at LLM_BASE_URL.`;
  return [
    { subject: "engine", text, details: { backend }, over: "the local engine answers again" },
  ];
};
