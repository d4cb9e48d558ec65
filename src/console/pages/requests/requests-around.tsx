import { type MeteredRequest, useRequestsAround } from "../../api/queries/requests.ts";
import { formatDuration } from "../../lib/count.ts";
import { RequestLink } from "../../parts/request-link.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { whatAnswered } from "./request-columns.tsx";
import { OUTCOMES } from "./request-filters.ts";

const FEW = 5;

/** What the same key called right after and right before, the newest first. */
export function RequestsAround({ request }: { readonly request: MeteredRequest }) {
  const { data, error, refetch } = useRequestsAround(request, FEW);
  return (
    <section className="grid gap-2" aria-labelledby="requests-around">
      <h3 id="requests-around" className="font-medium">
        Calls of this key around it
      </h3>
      {error !== null && (
        <ErrorCard
          what="The calls around it could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {data === undefined && error === null && (
        <Skeleton shape="lines" count={3} label="The calls around it are loading" />
      )}
      {data !== undefined && (
        <ol className="grid gap-1">
          {data.after.map((each) => (
            <Neighbour key={each.id} of={request} request={each} />
          ))}
          <li className="rounded-md bg-accent-soft px-2 py-1">this request</li>
          {data.before.map((each) => (
            <Neighbour key={each.id} of={request} request={each} />
          ))}
        </ol>
      )}
      <p>
        <Link to="/requests" search={{ key: request.key_id }}>
          All requests of this key
        </Link>
      </p>
    </section>
  );
}

interface NeighbourProps {
  readonly of: MeteredRequest;
  readonly request: MeteredRequest;
}

function Neighbour({ of, request }: NeighbourProps) {
  const distance = Date.parse(request.started_at) - Date.parse(of.started_at);
  const { tone, label } = OUTCOMES[request.outcome];
  const sign = distance < 0 ? "−" : "+";
  return (
    <li className="grid grid-cols-[6.5rem_1fr_auto] items-center gap-2 px-2">
      <span className="min-h-(--control) content-center">
        <RequestLink id={request.id}>
          {sign} {formatDuration(Math.abs(distance))}
        </RequestLink>
      </span>
      <span className="min-w-0 truncate">{whatAnswered(request)}</span>
      <span className="flex items-center gap-3">
        <span className="text-muted">{formatDuration(request.latency_ms)}</span>
        <StatusDot tone={tone}>
          <span className="sr-only">{label}</span>
        </StatusDot>
      </span>
    </li>
  );
}
