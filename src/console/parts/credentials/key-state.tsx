import { StatusDot } from "../../ui/status/status-dot.tsx";
import { useNow } from "../../ui/text/time.tsx";

interface KeyStateProps {
  readonly apiKey: { readonly state: "active" | "inactive"; readonly expires_at: string | null };
}

/** Whether a key, of any kind, opens anything now. */
export function KeyState({ apiKey }: KeyStateProps) {
  const now = useNow();
  const { state, expires_at: expiresAt } = apiKey;
  if (expiresAt !== null && Date.parse(expiresAt) <= now) {
    return <StatusDot tone="bad">Expired</StatusDot>;
  }
  if (state === "inactive") return <StatusDot tone="plain">Off</StatusDot>;
  return <StatusDot tone="ok">Active</StatusDot>;
}
