import { type Engine, useEngines } from "../../api/queries/engines.ts";
import type { Model } from "../../api/queries/models.ts";
import { useSession } from "../../api/queries/session.ts";
import { useStatus } from "../../api/queries/status.ts";
import type { Tone } from "../../ui/status/badge.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";

/** Whether a model answers now, as far as one may know: administrators see each server. */
export function ModelState({ model }: { readonly model: Model }) {
  const isAdmin = useSession().data?.role === "admin";
  const engines = useEngines(isAdmin).data?.data;
  const local = useStatus().data?.engine;
  if (model.backend === null) return <StatusDot tone="bad">No model</StatusDot>;
  if (engines !== undefined) {
    const [tone, text] = stateByEngines(enginesOf(model, engines));
    return <StatusDot tone={tone}>{text}</StatusDot>;
  }
  if (model.leaves !== undefined) return <StatusDot tone="plain">Cloud</StatusDot>;
  if (local === undefined) return <span className="text-muted">–</span>;
  return local.reachable ? (
    <StatusDot tone="ok">Ready</StatusDot>
  ) : (
    <StatusDot tone="bad">No answer</StatusDot>
  );
}

/** Returns the servers that a model's calls go to. */
export function enginesOf(model: Model, engines: readonly Engine[]): readonly Engine[] {
  if (model.kind === "embedding") {
    const dedicated = engines.filter(({ backend }) => backend === "embeddings");
    if (dedicated.length > 0) return dedicated;
  }
  const own = engines.filter(({ backend }) => backend === model.backend);
  // An assistant's card names no model, and of embedding models no list says which server has them.
  if (model.kind !== "chat") return own;
  const listing = own.filter(({ models }) => models?.includes(model.id));
  return listing.length > 0 ? listing : own;
}

const ENGINE_STATES = {
  up: ["ok", "Up"],
  down: ["bad", "Down"],
  unknown: ["plain", "Not called yet"],
} as const;

/** How a server is, by its last answer or silence. */
export function EngineState({ engine }: { readonly engine: Engine }) {
  const [tone, text] = ENGINE_STATES[engine.state];
  return (
    <span title={engine.failure ?? undefined}>
      <StatusDot tone={tone}>{text}</StatusDot>
    </span>
  );
}

function stateByEngines(engines: readonly Engine[]): readonly [Tone, string] {
  const up = engines.filter(({ state }) => state === "up").length;
  const down = engines.filter(({ state }) => state === "down").length;
  if (up > 0 && down > 0) return ["warn", `${up} of ${engines.length} engines`];
  if (up > 0) return ["ok", "Ready"];
  return down > 0 ? ["bad", "No answer"] : ["plain", "Not called yet"];
}
