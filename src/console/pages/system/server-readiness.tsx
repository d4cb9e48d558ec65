import { useStatus } from "../../api/queries/status.ts";
import { type Readiness, useReadiness } from "../../api/queries/system.ts";
import { countOf } from "../../lib/count.ts";
import { Link } from "../../ui/navigation/link.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";

/** Each check with what to do about it, and what this server is. */
export function ServerReadiness() {
  const { data, error, refetch } = useReadiness();
  return (
    <div className="grid max-w-4xl gap-8">
      {error !== null && (
        <ErrorCard
          what="The readiness could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {data === undefined && error === null && (
        <Skeleton shape="rows" count={4} label="The readiness is loading" />
      )}
      {data !== undefined && <Checks readiness={data} />}
      <Server />
    </div>
  );
}

/** What the checks look at; the server may have more. */
const MEANINGS: Readonly<Record<string, string>> = {
  db: "The database answers, and there is room for usage.",
  migrations: "The database's tables are those of this release.",
  llm: "The local engine answers.",
  stopping: "The server is stopping.",
  limits:
    "The limits of keys can be checked. While they cannot, calls of keys with limits are refused.",
  bi: "The PostgreSQL port for BI keys.",
};

interface Check {
  readonly name: string;
  readonly tone: "ok" | "warn" | "bad";
  readonly word: string;
  readonly text: string;
}

function Checks({ readiness }: { readonly readiness: Readiness }) {
  return (
    <section className="grid gap-2" aria-labelledby="checks">
      <h2 id="checks" className="text-lg">
        Checks
      </h2>
      <p className="text-muted">
        The server takes calls while db, migrations and llm pass. Load balancers ask{" "}
        <code className="font-mono text-sm">GET /api/ready</code>.
      </p>
      <ul className="rounded-lg border border-line bg-surface">
        {checksOf(readiness).map(({ name, tone, word, text }) => (
          <li
            key={name}
            className="grid gap-x-4 gap-y-1 border-b border-line px-3 py-2 last:border-b-0 sm:grid-cols-[9rem_8rem_1fr]"
          >
            <code className="font-mono text-sm">{name}</code>
            <StatusDot tone={tone}>{word}</StatusDot>
            <span className="min-w-0 break-words">{text}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const HEAD = new Set(["ready", "failed", "checks", "hints", "bi"]);

/** Returns the checks that decide, then the others that the server tells of. */
function checksOf(readiness: Readiness): readonly Check[] {
  const { checks, hints = {}, failed = [], bi } = readiness;
  const deciding = [...new Set([...Object.keys(checks), ...failed])].map((name): Check => {
    const isPassed = checks[name] === true;
    const meaning = MEANINGS[name] ?? "";
    return {
      name,
      tone: isPassed ? "ok" : "bad",
      word: isPassed ? "Passes" : "Fails",
      text: isPassed ? meaning : (hints[name] ?? meaning),
    };
  });
  const others = Object.keys(readiness)
    .filter((name) => !HEAD.has(name))
    .map(
      (name): Check => ({
        name,
        tone: "warn",
        word: "Unavailable",
        text: MEANINGS[name] ?? "It does not answer; the log says why.",
      }),
    );
  const port: readonly Check[] = bi === undefined ? [] : [portCheck(bi)];
  return [...deciding, ...others, ...port];
}

function portCheck(bi: string): Check {
  const isOpen = bi === "open";
  const text = isOpen ? (MEANINGS["bi"] ?? "") : bi;
  return { name: "bi", tone: isOpen ? "ok" : "warn", word: isOpen ? "Open" : "Not open", text };
}

function Server() {
  const { data } = useStatus();
  if (data === undefined) return null;
  const { build, engine, administration } = data;
  return (
    <section className="grid gap-2" aria-labelledby="server">
      <h2 id="server" className="text-lg">
        This server
      </h2>
      <PropertyList
        properties={[
          ["Version", data.version],
          ["Runtime", `${build.runtime === "bun" ? "Bun" : "Node"} ${build.runtime_version}`],
          ["Platform", build.platform],
          ["Console", consoleBuild() ?? "unknown"],
          [
            "Database",
            administration &&
              (administration.database === "postgres" ? "PostgreSQL" : "embedded, in DATA_DIR"),
          ],
          [
            "Engine",
            `${engine.backend}, ${engine.reachable ? countOf(engine.models, "model") : "no answer"}${engine.simulated ? ", simulated" : ""}`,
          ],
          [
            "API",
            <a
              key="api"
              href="/v1/docs"
              target="_blank"
              rel="noreferrer"
              className="text-accent underline"
            >
              Reference
            </a>,
          ],
          [
            "License",
            <Link key="license" to="/license">
              {data.license.valid ? "Valid" : "Not valid"}
            </Link>,
          ],
        ]}
      />
    </section>
  );
}

/** The id of the build that this tab runs. */
function consoleBuild(): string | undefined {
  return document.querySelector<HTMLMetaElement>("meta[name=build]")?.content;
}
