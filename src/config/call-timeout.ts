import type { Settings } from "./settings.ts";

type TimeSettings = Pick<
  Settings,
  "GATEWAY_REQUEST_TIMEOUT" | "LLM_REQUEST_TIMEOUT" | "MODEL_FALLBACKS"
>;

/**
 * Returns how long a client's whole call may take, in milliseconds. Where other models stand in, a server that takes all
 * of its own time leaves as much for one of them.
 */
export function callTimeoutMs(settings: TimeSettings): number {
  const { GATEWAY_REQUEST_TIMEOUT, LLM_REQUEST_TIMEOUT, MODEL_FALLBACKS } = settings;
  const servers = MODEL_FALLBACKS.length > 0 ? 2 : 1;
  return (GATEWAY_REQUEST_TIMEOUT ?? servers * LLM_REQUEST_TIMEOUT) * 1_000;
}
