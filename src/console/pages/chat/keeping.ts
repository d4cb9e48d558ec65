import { ApiError } from "../../api/errors.ts";

/** Where a chat stands with the server. */
export type Keeping =
  | { readonly state: "temporary" }
  | { readonly state: "kept" | "saving" }
  /** Another tab has saved meanwhile: this one keeps its own until somebody decides. */
  | { readonly state: "conflict" }
  /** It was deleted elsewhere: it is kept as a new one if somebody wants that. */
  | { readonly state: "gone"; readonly error: unknown }
  | {
      readonly state: "failed";
      readonly error: unknown;
      /** It is sent again by itself: what kept it from being saved may be over. */
      readonly isPassing: boolean;
    };

const NOT_FOUND = 404;
/** No session, and too many calls. */
const PASSING: ReadonlySet<number> = new Set([0, 401, 429]);

/** Returns where a chat stands after a save that failed. What was refused for good is refused again. */
export function keepingAfter(thrown: unknown): Keeping {
  if (!(thrown instanceof ApiError)) return { state: "failed", error: thrown, isPassing: false };
  const { status, code } = thrown;
  if (code === "version_conflict") return { state: "conflict" };
  if (status === NOT_FOUND) return { state: "gone", error: thrown };
  // The chats that give way were others: their list is read again by then.
  const isPassing = PASSING.has(status) || status >= 500 || code === "changed_meanwhile";
  return { state: "failed", error: thrown, isPassing };
}
