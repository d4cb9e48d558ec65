import type { ListedToolServer } from "../../api/queries/tool-servers.ts";
import { StatusDot } from "../../ui/status/status-dot.tsx";

export function ServerStatus({ server }: { readonly server: ListedToolServer }) {
  if (server.status === "connected") return <StatusDot tone="ok">Connected</StatusDot>;
  if (server.status === "disabled") return <StatusDot tone="plain">Disabled</StatusDot>;
  return server.checked_at === null ? (
    <StatusDot tone="plain">Being checked</StatusDot>
  ) : (
    <StatusDot tone="bad">Error</StatusDot>
  );
}
