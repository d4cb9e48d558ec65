import type { MeteredRequest, RequestFilters } from "../../api/queries/requests.ts";
import { readChannel } from "../../lib/clients/channels.ts";
import { readRange } from "../../lib/range.ts";
import type { Tone } from "../../ui/status/badge.tsx";

/** What the address of the page says, with its defaults. An empty range is any time. */
export const DEFAULTS = {
  id: "",
  range: "",
  until: "",
  key: "",
  user: "",
  model: "",
  assistant: "",
  run: "",
  channel: "",
  outcome: "",
  status: "",
  live: "",
};
export type ViewState = typeof DEFAULTS;

type Outcome = MeteredRequest["outcome"];

/** A record, so that an outcome which the server adds is missed by the compiler. */
export const OUTCOMES: Readonly<Record<Outcome, { readonly label: string; readonly tone: Tone }>> =
  {
    ok: { label: "Answered", tone: "ok" },
    error: { label: "Failed", tone: "bad" },
    rate_limited: { label: "Engine refused", tone: "warn" },
    aborted: { label: "Client left", tone: "plain" },
  };

/** Returns the filters as the server knows them. What is none in the address is left out. */
export function toFilters(state: ViewState, now: number): RequestFilters {
  const channel = readChannel(state.channel);
  const outcome = Object.hasOwn(OUTCOMES, state.outcome) ? (state.outcome as Outcome) : undefined;
  const status = /^[1-5]\d\d$/.test(state.status) ? Number(state.status) : undefined;
  const range = state.range === "" ? undefined : readRange(state, now);
  return {
    ...(state.id !== "" && { request_id: state.id }),
    ...(range && { from: range.from, ...(!range.isLive && { to: range.to }) }),
    ...(state.key !== "" && { key_id: state.key }),
    ...(state.user !== "" && { user_id: state.user }),
    ...(state.model !== "" && { model: state.model }),
    ...(state.assistant !== "" && { assistant_id: state.assistant }),
    ...(state.run !== "" && { run_id: state.run }),
    ...(channel && { channel }),
    ...(outcome && { outcome }),
    ...(status && { status }),
  };
}

/** Returns how many filters are set. */
export function countActive({ live: _live, until: _until, ...filters }: ViewState): number {
  return Object.values(filters).filter((value) => value !== "").length;
}
