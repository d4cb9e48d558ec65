import { useState } from "react";
import {
  type ToolServer,
  useCheckToolServer,
  useToolServer,
} from "../../api/queries/tool-servers.ts";
import { countOf } from "../../lib/count.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { Duration } from "../../ui/text/count.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { ReviewDialog } from "./review-dialog.tsx";
import { ChangeDialog, DeleteDialog, EnabledButton } from "./server-actions.tsx";
import { ServerStatus } from "./server-status.tsx";
import { ServerTools } from "./server-tools.tsx";

/** One tool server: its state, what waits, and its tools with their levels. */
export function ServerPanel({ id, onClose }: { readonly id: string; onClose: () => void }) {
  const { data: server, error, refetch } = useToolServer(id);
  return (
    <SidePanel title={server?.name ?? "Tool server"} of={id} onClose={onClose}>
      {error !== null && (
        <ErrorCard
          what="The tool server could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {server === undefined && error === null && (
        <Skeleton shape="lines" label="The tool server is loading" />
      )}
      {server !== undefined && (
        <>
          <Actions server={server} onClose={onClose} />
          {server.status === "error" && server.status_reason !== null && (
            <p className="rounded-lg border border-line bg-bad-soft p-3 break-words">
              {server.status_reason}
            </p>
          )}
          <Waiting server={server} />
          <Properties server={server} />
          <ServerTools server={server} />
          <LeftOut server={server} />
        </>
      )}
    </SidePanel>
  );
}

interface ActionsProps {
  readonly server: ToolServer;
  readonly onClose: () => void;
}

function Actions({ server, onClose }: ActionsProps) {
  const [open, setOpen] = useState<"change" | "delete">();
  const check = useCheckToolServer(server.id);
  const close = () => setOpen(undefined);
  useKeys([{ keys: "e", label: "Change the open tool server", run: () => setOpen("change") }]);
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap gap-2">
        <Button
          isBusy={check.isPending}
          disabledReason={server.enabled ? undefined : "A disabled tool server is not asked."}
          onClick={() =>
            check.mutate(undefined, {
              onSuccess: ({ status }) =>
                showToast(
                  `Tool server ${server.name} ${status === "connected" ? "answers" : "cannot be used"}`,
                ),
            })
          }
        >
          Check now
        </Button>
        <Button onClick={() => setOpen("change")}>Change tool server</Button>
        <EnabledButton server={server} />
        <Button look="danger" onClick={() => setOpen("delete")}>
          Delete tool server
        </Button>
        <CallButton
          call={{
            method: "GET",
            path: `/api/mcp-servers/${server.id}`,
            credential: "token",
            scope: "mcp_servers:read",
          }}
        />
      </div>
      {check.error !== null && (
        <ErrorCard what="The tool server could not be checked" error={check.error} />
      )}
      <ChangeDialog server={server} isOpen={open === "change"} onClose={close} />
      <DeleteDialog
        server={server}
        isOpen={open === "delete"}
        onClose={close}
        onDeleted={onClose}
      />
    </div>
  );
}

/** What an administrator has to look at before models get it. */
function Waiting({ server }: { readonly server: ToolServer }) {
  // What is reviewed stays as it was when the dialog was opened.
  const [reviewed, setReviewed] = useState<ToolServer>();
  const { waiting, changed } = server.tool_counts;
  const count = waiting + changed;
  return (
    <>
      {count > 0 && (
        <div className="flex flex-wrap items-center gap-3 rounded-lg border border-line bg-warn-soft p-3">
          <p className="min-w-0 flex-1 text-warn">
            {countOf(count, "tool waits", "tools wait")} for approval.
          </p>
          <Button look="primary" onClick={() => setReviewed(server)}>
            Review tools
          </Button>
        </div>
      )}
      <ReviewDialog
        reviewed={reviewed}
        current={server}
        onRenew={() => setReviewed(server)}
        onClose={() => setReviewed(undefined)}
      />
    </>
  );
}

function Properties({ server }: { readonly server: ToolServer }) {
  const { approved, gone } = server.tool_counts;
  return (
    <PropertyList
      properties={[
        ["Status", <ServerStatus key="status" server={server} />],
        ["Since", <Time key="since" value={server.status_since} instead="–" />],
        ["Checked", <Time key="checked" value={server.checked_at} isRelative />],
        [
          "Address",
          <code key="url" className="font-mono text-sm break-all">
            {server.url}
          </code>,
        ],
        ["Headers", server.header_names.length === 0 ? "none" : server.header_names.join(", ")],
        [
          "Time limit",
          <Duration key="timeout" value={server.timeout_ms} instead="TOOL_TIMEOUT_MS" />,
        ],
        ["Tools", gone === 0 ? `${approved} approved` : `${approved} approved, ${gone} gone`],
        [
          "Id",
          <code key="id" className="font-mono text-sm break-all">
            {server.id}
          </code>,
        ],
        ["Added", <Time key="added" value={server.created_at} />],
      ]}
    />
  );
}

function LeftOut({ server }: { readonly server: ToolServer }) {
  if (server.left_out.length === 0) return null;
  return (
    <section className="grid gap-2" aria-labelledby="left-out">
      <h3 id="left-out" className="text-base">
        Left out
      </h3>
      <p className="text-muted">It lists these, but they cannot be offered.</p>
      <ul className="grid gap-2">
        {server.left_out.map(({ name, reason }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they have no id, and come in one order
          <li key={index} className="min-w-0 break-words">
            <code className="font-mono text-sm break-all">
              <bdi>{name ?? "without a name"}</bdi>
            </code>
            : {reason}
          </li>
        ))}
      </ul>
    </section>
  );
}
