import type { ReactNode } from "react";
import { ApiError } from "../../api/errors.ts";
import { type MeteredRequest, useRequest } from "../../api/queries/requests.ts";
import { CHANNEL_NAMES } from "../../lib/clients/channels.ts";
import { formatExact } from "../../lib/count.ts";
import { CopyRequestId } from "../../ui/buttons/copy-button.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { OUTCOMES } from "./request-filters.ts";
import { RequestTimeline } from "./request-timeline.tsx";
import { RequestsAround } from "./requests-around.tsx";

interface RequestPanelProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** One request: how it went, what it used, who made it, and what the same key called around it. */
export function RequestPanel({ id, onClose }: RequestPanelProps) {
  const { data: request, error, refetch } = useRequest(id);
  const isUnknown = error instanceof ApiError && error.status === 404;
  return (
    <SidePanel title="Request" of={id} onClose={onClose}>
      <p className="flex items-center gap-2">
        <code className="min-w-0 font-mono text-sm break-all">{id}</code>
        <CopyRequestId id={id} />
        <span className="ml-auto">
          <CallButton
            call={{
              method: "GET",
              path: `/api/requests/${encodeURIComponent(id)}`,
              credential: "token",
              scope: "requests:read",
            }}
          />
        </span>
      </p>
      {isUnknown && <Unknown />}
      {error !== null && !isUnknown && (
        <ErrorCard
          what="The request could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {request === undefined && error === null && (
        <Skeleton shape="lines" label="The request is loading" />
      )}
      {request !== undefined && (
        <>
          <Properties request={request} />
          <RequestTimeline request={request} />
          <RequestsAround request={request} />
        </>
      )}
    </SidePanel>
  );
}

/** Why an id that a client was given may have no row. */
export function Unknown() {
  return (
    <div className="grid gap-2">
      <p className="font-medium">No row has this id.</p>
      <ul className="grid list-disc gap-1 ps-5 text-muted">
        <li>
          Calls that were refused leave none: a wrong key, a limit, a request that is not valid, a
          model that is not there.
        </li>
        <li>A row appears about a second after its call has ended.</li>
        <li>Rows are kept for USAGE_RETENTION_DAYS; sums of usage stay longer.</li>
        <li>Users see the requests of the keys that they own now.</li>
      </ul>
    </div>
  );
}

function Properties({ request }: { readonly request: MeteredRequest }) {
  const { outcome, status, model, estimated } = request;
  const { tone, label } = OUTCOMES[outcome];
  return (
    <PropertyList
      properties={[
        [
          "Outcome",
          <StatusDot key="outcome" tone={tone}>
            {label}, status {status}
          </StatusDot>,
        ],
        [
          "Key",
          request.key_name === null ? (
            `deleted, ${request.key_id}`
          ) : (
            <Open key="key" list="keys" id={request.key_id} name={request.key_name} />
          ),
        ],
        ["Owner", request.owner_name ?? undefined],
        ["Model", model === "" ? undefined : <Open key="model" list="models" id={model} />],
        ["Tool", request.tool_name ?? undefined],
        [
          "Assistant",
          request.assistant_id === null ? undefined : (
            <Open key="assistant" list="assistants" id={request.assistant_id} />
          ),
        ],
        [
          "Made by run",
          request.run_id === null ? undefined : <Open key="run" list="runs" id={request.run_id} />,
        ],
        ["Came in by", CHANNEL_NAMES[request.channel]],
        ["Input", withPart(request.input_tokens, request.cached_tokens, "cached")],
        ["Output", withPart(request.output_tokens, request.reasoning_tokens, "thinking")],
        ["Counted by", estimated ? "the gateway: the engine did not count" : "the engine"],
      ]}
    />
  );
}

interface OpenProps {
  /** The page that lists it. */
  readonly list: string;
  readonly id: string;
  readonly name?: string;
}

function Open({ list, id, name = id }: OpenProps) {
  return <Link to={`/${list}/${encodeURIComponent(id)}`}>{name}</Link>;
}

function withPart(tokens: number, part: number, name: string): ReactNode {
  const of = part > 0 ? `, ${formatExact(part)} of them ${name}` : "";
  return `${formatExact(tokens)} tokens${of}`;
}
