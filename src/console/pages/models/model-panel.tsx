import { useEngines } from "../../api/queries/engines.ts";
import { useSession } from "../../api/queries/session.ts";
import { countOf } from "../../lib/count.ts";
import { LinkButton } from "../../ui/navigation/link-button.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { Count, Duration } from "../../ui/text/count.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Backend, type ModelRow } from "./model-columns.tsx";
import { EngineState, enginesOf, ModelState } from "./model-state.tsx";

interface ModelPanelProps {
  readonly id: string;
  /** Undefined for an id that is not listed. */
  readonly row: ModelRow | undefined;
  readonly onClose: () => void;
}

/** One model: what it can do, how it has answered, and where to use it. */
export function ModelPanel({ id, row, onClose }: ModelPanelProps) {
  return (
    <SidePanel title={row?.model.name ?? id} of={id} onClose={onClose}>
      {row === undefined ? (
        <EmptyState title="Not listed">
          No model of this name is listed now. Its server may be down, or may have unloaded it.
        </EmptyState>
      ) : (
        <>
          <Actions row={row} />
          <Properties row={row} />
          <Figures figures={row.figures} />
          <Engines row={row} />
        </>
      )}
    </SidePanel>
  );
}

interface RowProps {
  readonly row: ModelRow;
}

function Actions({ row: { model } }: RowProps) {
  const isChat = model.kind !== "embedding";
  return (
    <div className="flex flex-wrap gap-2">
      {isChat && (
        <>
          <LinkButton look="primary" to="/chat" search={{ model: model.id }}>
            Try in chat
          </LinkButton>
          <LinkButton to="/connect" search={{ model: model.id }}>
            Connect a client
          </LinkButton>
        </>
      )}
      <CallButton
        call={{
          method: "GET",
          path: isChat ? `/v1/models/${encodeURIComponent(model.id)}` : "/v1/models?type=embedding",
          credential: "key",
        }}
      />
    </div>
  );
}

function Properties({ row: { model } }: RowProps) {
  const { id, kind, context, output, abilities, assistantId, description } = model;
  return (
    <PropertyList
      properties={[
        ["State", <ModelState key="state" model={model} />],
        ["Called by", <Code key="id" text={id} />],
        ["Backend", <Backend key="backend" model={model} />],
        ["Purpose", description ?? undefined],
        ["Assistant", assistantId === undefined ? undefined : <Code key="a" text={assistantId} />],
        ["Context", <Count key="context" value={context} instead="not known" />],
        [
          "Answer at most",
          kind === "embedding" ? undefined : (
            <Count key="output" value={output} instead="what the context leaves" />
          ),
        ],
        [
          "Abilities",
          kind === "embedding" ? "vectors of texts" : ["text", ...abilities].join(", "),
        ],
      ]}
    />
  );
}

function Code({ text }: { readonly text: string }) {
  return <code className="break-all font-mono text-sm">{text}</code>;
}

function Figures({ figures }: { readonly figures: ModelRow["figures"] }) {
  if (figures === undefined) {
    return <p className="text-muted">No program called it by this name in the last 24 hours.</p>;
  }
  return (
    <section className="grid gap-2" aria-labelledby="model-figures">
      <h3 id="model-figures" className="font-medium">
        Last 24 hours
      </h3>
      <PropertyList
        properties={[
          ["Requests", <Count key="requests" value={figures.requests} />],
          ["Failed", <Count key="failed" value={figures.failures} />],
          ["Input tokens", <Count key="input" value={figures.input_tokens} />],
          ["Output tokens", <Count key="output" value={figures.output_tokens} />],
          ["Latency p50", <Duration key="p50" value={figures.latency_ms_p50} />],
          ["Latency p95", <Duration key="p95" value={figures.latency_ms_p95} />],
          ["First token p50", <Duration key="f50" value={figures.first_token_ms_p50} />],
          ["First token p95", <Duration key="f95" value={figures.first_token_ms_p95} />],
          ["Tokens per second", <Count key="speed" value={figures.tokens_per_second} />],
        ]}
      />
      <p className="text-sm text-muted">
        Over all keys, without chats of this console. Times are of the newest{" "}
        <Count value={figures.sampled} /> answers.
      </p>
    </section>
  );
}

/** Where its calls go, for administrators. */
function Engines({ row: { model } }: RowProps) {
  const isAdmin = useSession().data?.role === "admin";
  const engines = enginesOf(model, useEngines(isAdmin).data?.data ?? []);
  if (engines.length === 0) return null;
  return (
    <section className="grid gap-2" aria-labelledby="model-engines">
      <h3 id="model-engines" className="font-medium">
        Engines
      </h3>
      <PropertyList
        properties={engines.map((engine) => [
          engine.host,
          <span key={engine.host} className="flex flex-wrap gap-x-3">
            <EngineState engine={engine} />
            <span className="text-muted">{countOf(engine.open_calls, "call")} under way</span>
          </span>,
        ])}
      />
    </section>
  );
}
