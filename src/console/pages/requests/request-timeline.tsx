import type { ReactNode } from "react";
import type { MeteredRequest } from "../../api/queries/requests.ts";
import { formatDuration } from "../../lib/count.ts";
import { Time } from "../../ui/text/time.tsx";

/** When a request began, answered first and ended, and what it waited for. */
export function RequestTimeline({ request }: { readonly request: MeteredRequest }) {
  const { started_at: at, latency_ms: total, first_token_ms: first } = request;
  const isStreamed = first !== null && first < total;
  return (
    <section className="grid gap-2" aria-labelledby="request-timeline">
      <h3 id="request-timeline" className="font-medium">
        Timeline
      </h3>
      {isStreamed && <Bar share={first / total} />}
      <ol className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        <Step after={0}>
          Accepted <Time value={at} hasSeconds />
        </Step>
        {isStreamed && <Step after={first}>First token</Step>}
        <Step after={total}>{ENDS[request.outcome]}</Step>
      </ol>
      {isStreamed && <Pace request={request} streamedMs={total - first} />}
    </section>
  );
}

const ENDS: Readonly<Record<MeteredRequest["outcome"], string>> = {
  ok: "Answer ended",
  error: "Failed",
  rate_limited: "Refused by the engine",
  aborted: "Client left",
};

interface StepProps {
  /** Milliseconds since the beginning. */
  readonly after: number;
  readonly children: ReactNode;
}

function Step({ after, children }: StepProps) {
  return (
    <li className="contents">
      <span className="text-end text-muted">
        {after === 0 ? "0 ms" : `+ ${formatDuration(after)}`}
      </span>
      <span>{children}</span>
    </li>
  );
}

/** Waiting and writing as shares of a bar; the steps below say the same in words. */
function Bar({ share }: { readonly share: number }) {
  return (
    <div aria-hidden className="grid gap-1">
      <div className="flex h-2 gap-px overflow-hidden rounded-full">
        <span className="bg-line" style={{ width: `${share * 100}%` }} />
        <span className="flex-1 bg-accent" />
      </div>
      <div className="flex justify-between text-sm text-muted">
        <span>waiting</span>
        <span>writing</span>
      </div>
    </div>
  );
}

interface PaceProps {
  readonly request: MeteredRequest;
  readonly streamedMs: number;
}

/** The first token is there when writing begins. */
function Pace({ request, streamedMs }: PaceProps) {
  const written = request.output_tokens - 1;
  if (written < 1 || streamedMs < 1) return null;
  const pace = (written / streamedMs) * 1_000;
  return <p className="text-muted">{pace.toFixed(pace < 10 ? 1 : 0)} tokens a second</p>;
}
