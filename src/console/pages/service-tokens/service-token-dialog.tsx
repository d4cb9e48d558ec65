import type { IssuedServiceToken } from "../../api/queries/service-tokens.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Dialog } from "../../ui/dialog.tsx";

interface IssuedDialogProps {
  readonly issued: IssuedServiceToken | undefined;
  readonly onClose: () => void;
}

/** A token's secret, which is shown this once: only its own button closes the dialog. */
export function IssuedDialog({ issued, onClose }: IssuedDialogProps) {
  return (
    <Dialog
      isOpen={issued !== undefined}
      onClose={onClose}
      title={`The secret of ${issued?.name ?? ""}`}
      description="It is shown this once. Who has it can do what its scopes say."
      isFirm
    >
      {issued !== undefined && (
        <>
          <CodeBlock label="The token" text={issued.token} />
          <CodeBlock label="A first call" text={firstCall(issued)} />
          <div className="flex justify-end">
            <Button look="primary" onClick={onClose}>
              I have copied it
            </Button>
          </div>
        </>
      )}
    </Dialog>
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
