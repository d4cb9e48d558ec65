import type { ReactNode } from "react";
import { useModelFigures } from "../../api/queries/models.ts";
import { type MeteredRequest, useLastFailures, useTopKeys } from "../../api/queries/overview.ts";
import { wordFor } from "../../lib/count.ts";
import { RequestLink } from "../../parts/request-link.tsx";
import { BarList } from "../../ui/charts/bar-list.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { Count } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";

const TOP = 5;

interface SinceProps {
  readonly from: string | undefined;
}

/** Who called most, what was called most, and what went wrong last. */
export function Tops({ from }: SinceProps) {
  return (
    <div className="grid items-start gap-4 lg:grid-cols-3">
      <TopKeys from={from} />
      <TopModels />
      <LastFailures from={from} />
    </div>
  );
}

function TopKeys({ from }: SinceProps) {
  const { data, error, refetch } = useTopKeys(from);
  const bars = data?.data.map((row) => ({
    id: row.key_id ?? "none",
    name:
      row.key_id == null ? (
        "Deleted keys"
      ) : (
        <Link to={`/keys/${row.key_id}`}>{row.key_name ?? row.key_id}</Link>
      ),
    value: row.requests,
    text: <Amount requests={row.requests} tokens={row.total_tokens} />,
  }));
  return (
    <Panel
      title="Top keys"
      error={error}
      onRetry={() => void refetch()}
      isEmpty={bars?.length === 0}
    >
      {bars && <BarList label="Top keys" bars={bars} />}
    </Panel>
  );
}

function TopModels() {
  const { data, error, refetch } = useModelFigures();
  const bars = data?.data.slice(0, TOP).map((one) => ({
    id: one.model,
    name: <Link to={`/models/${encodeURIComponent(one.model)}`}>{one.model}</Link>,
    value: one.requests,
    text: <Amount requests={one.requests} tokens={one.input_tokens + one.output_tokens} />,
  }));
  return (
    <Panel
      title="Top models"
      error={error}
      onRetry={() => void refetch()}
      isEmpty={bars?.length === 0}
    >
      {bars && <BarList label="Top models" bars={bars} />}
    </Panel>
  );
}

function Amount({ requests, tokens }: { readonly requests: number; readonly tokens: number }) {
  return (
    <>
      <Count value={requests} /> {wordFor(requests, "call")} · <Count value={tokens} /> tokens
    </>
  );
}

function LastFailures({ from }: SinceProps) {
  const { data, error, refetch } = useLastFailures(from);
  return (
    <Panel
      title="Last failures"
      error={error}
      onRetry={() => void refetch()}
      isEmpty={data?.length === 0}
      empty="No request has failed."
    >
      {data && (
        <ul aria-label="Last failures" className="grid gap-2">
          {data.map((request) => (
            <Failure key={request.id} request={request} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Failure({ request }: { readonly request: MeteredRequest }) {
  const { id, status, model, tool_name: tool, key_name: key, started_at: at } = request;
  return (
    <li className="grid grid-cols-[auto_minmax(0,1fr)_auto] gap-x-3">
      <span className="font-medium text-bad">{status}</span>
      <RequestLink id={id} />
      <span className="text-sm text-muted">
        <Time value={at} isRelative />
      </span>
      <span className="col-start-2 truncate text-sm text-muted">
        {tool ?? model} · {key ?? "a deleted key"}
      </span>
    </li>
  );
}

interface PanelProps {
  readonly title: string;
  readonly error: Error | null;
  readonly onRetry: () => void;
  readonly isEmpty: boolean;
  readonly empty?: string;
  /** Undefined while it is loading. */
  readonly children: ReactNode;
}

/** One of the three lists in each of its states; what was there stays while a refresh fails. */
function Panel({ title, error, onRetry, isEmpty, empty, children }: PanelProps) {
  const isLoading = children === undefined && error === null;
  return (
    <section
      aria-label={title}
      className="grid min-w-0 gap-3 rounded-lg border border-line bg-surface p-4"
    >
      <h2 className="text-base">{title}</h2>
      {error !== null && (
        <ErrorCard what={`${title} could not be loaded`} error={error} onRetry={onRetry} />
      )}
      {isLoading && <Skeleton shape="lines" count={3} label={`${title} are loading`} />}
      {isEmpty ? (
        <p className="text-muted">{empty ?? "No calls in the last 24 hours."}</p>
      ) : (
        children
      )}
    </section>
  );
}
