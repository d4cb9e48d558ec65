import type { IssuedServiceToken } from "../../api/queries/service-tokens.ts";
import { IssuedDialog } from "../../parts/credentials/issued-dialog.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";

interface ServiceTokenDialogProps {
  readonly issued: IssuedServiceToken | undefined;
  readonly onClose: () => void;
}

/** A token's secret, and a call that it may make. */
export function ServiceTokenDialog(props: ServiceTokenDialogProps) {
  return (
    <IssuedDialog
      {...props}
      title={({ name }) => `The secret of ${name}`}
      description="It is shown this once. Who has it can do what its scopes say."
    >
      {(issued) => (
        <>
          <CodeBlock label="The token" text={issued.token} />
          <CodeBlock label="A first call" text={firstCall(issued)} />
        </>
      )}
    </IssuedDialog>
  );
}

/** A call that reads, for each scope that can. */
const READS: Readonly<Record<string, string>> = {
  "audit:read": "/api/admin/audit?limit=10",
  "connections:read": "/api/connections",
  "datasets:read": "/api/datasets",
  "events:read": "/api/admin/events",
  "keys:read": "/v1/api-keys",
  "license:read": "/api/license/details",
  "mcp_servers:read": "/api/mcp-servers",
  "requests:read": "/api/requests?limit=10",
  "usage:read": "/api/usage",
  "users:read": "/api/admin/users",
  "watched_folders:read": "/api/admin/watched-folders",
  "workflows:read": "/api/pipeline/workflows",
};

/** Returns a call that the token may make; for one that only writes the state of the server, which is open. */
function firstCall({ token, scopes }: IssuedServiceToken): string {
  const path = scopes.map((scope) => READS[scope]).find((found) => found !== undefined);
  return `curl '${window.location.origin}${path ?? "/api/health"}' \\\n  -H 'Authorization: Bearer ${token}'`;
}
