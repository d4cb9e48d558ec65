import { useEngines } from "../api/queries/engines.ts";
import { useStatus } from "../api/queries/status.ts";
import { countOf } from "../lib/count.ts";
import { Link } from "../ui/navigation/link.tsx";
import type { Tone } from "../ui/status/badge.tsx";
import { ErrorCard } from "../ui/status/error-card.tsx";
import { Skeleton } from "../ui/status/skeleton.tsx";
import { StatusDot } from "../ui/status/status-dot.tsx";

const FEW_DAYS = 30;
const QUIET = "hover:underline";

/** How the gateway is, in one line, for administrators: what it needs to answer, and what waits for somebody. */
export function StatusStrip() {
  const { data, error, refetch } = useStatus();
  if (data === undefined) {
    return error === null ? (
      <Skeleton shape="lines" count={1} label="The status is loading" />
    ) : (
      <ErrorCard
        what="The status could not be loaded"
        error={error}
        onRetry={() => void refetch()}
      />
    );
  }
  return (
    <section
      aria-label="Status"
      className="grid gap-2 rounded-lg border border-line bg-surface px-4 py-2"
    >
      <ul className="flex flex-wrap gap-x-6 gap-y-1">
        <Engine status={data} />
        <Database status={data} />
        <License license={data.license} />
        <DeadEvents count={data.administration?.dead_events ?? 0} />
        {data.unavailable.map((name) => (
          <li key={name}>
            <StatusDot tone="warn">{name} unavailable</StatusDot>
          </li>
        ))}
      </ul>
      {data.engine.simulated && (
        <p className="text-sm text-muted">
          Answers come from the built-in simulator. Set{" "}
          <code className="break-all font-mono">LLM_BACKEND</code> and{" "}
          <code className="break-all font-mono">LLM_BASE_URL</code> to a model server, and start
          again.
        </p>
      )}
      {Object.values(data.administration?.hints ?? {}).map((hint) => (
        <p key={hint} className="text-sm">
          {hint}
        </p>
      ))}
    </section>
  );
}

type Status = NonNullable<ReturnType<typeof useStatus>["data"]>;

function Engine({ status: { engine } }: { readonly status: Status }) {
  const engines = useEngines().data?.data ?? [];
  const local = engines.filter(({ backend }) => backend === engine.backend);
  const up = local.filter(({ state }) => state === "up").length;
  const upTone = local.length > 1 && up < local.length ? "warn" : "ok";
  const name = local.length === 1 ? local[0]?.host : `${up} of ${local.length} up`;
  return (
    <li>
      <Link to="/models" className={QUIET}>
        <StatusDot tone={engine.reachable ? upTone : "bad"}>
          Engine {engine.backend}
          {local.length > 0 && ` ${name}`}
          {!engine.reachable && ": no answer"}
        </StatusDot>
      </Link>
    </li>
  );
}

function Database({ status }: { readonly status: Status }) {
  const { failed, administration } = status;
  const isFailing = failed.includes("db") || failed.includes("migrations");
  const name = administration?.database === "embedded" ? "Embedded database" : "Database";
  return (
    <li>
      <StatusDot tone={isFailing ? "bad" : "ok"}>
        {name}
        {isFailing && ": no answer"}
      </StatusDot>
    </li>
  );
}

function License({ license }: { readonly license: Status["license"] }) {
  const [tone, text] = licenseState(license);
  return (
    <li>
      <Link to="/license" className={QUIET}>
        <StatusDot tone={tone}>{text}</StatusDot>
      </Link>
    </li>
  );
}

function licenseState(license: Status["license"]): readonly [Tone, string] {
  const { valid, in_grace: isInGrace, days_left: days } = license;
  if (!valid) return ["bad", "License not valid"];
  if (days === null) return ["ok", "License without end"];
  const left = `${countOf(days, "day")} left`;
  if (isInGrace) return ["bad", `License expired, ${left} of its grace`];
  return [days <= FEW_DAYS ? "warn" : "ok", `License ${left}`];
}

function DeadEvents({ count }: { readonly count: number }) {
  const text = countOf(count, "dead event");
  return (
    <li>
      <Link to="/events" className={QUIET}>
        <StatusDot tone={count > 0 ? "bad" : "ok"}>{text}</StatusDot>
      </Link>
    </li>
  );
}
