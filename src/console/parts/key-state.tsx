import type { ApiKey } from "../../api/queries/api-keys.ts";
import { StatusDot } from "../../ui/status-dot.tsx";
import { useNow } from "../../ui/time.tsx";

/** Whether a key opens anything now. */
export function KeyState({ apiKey }: { readonly apiKey: ApiKey }) {
  const now = useNow();
  const { state, expires_at: expiresAt } = apiKey;
  if (expiresAt !== null && Date.parse(expiresAt) <= now) {
    return <StatusDot tone="bad">Expired</StatusDot>;
  }
  if (state === "inactive") return <StatusDot tone="plain">Off</StatusDot>;
  return <StatusDot tone="ok">Active</StatusDot>;
}
