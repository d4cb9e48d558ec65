import { type Engine, useEngines, useRecheckEngines } from "../../api/queries/engines.ts";
import { useStatus } from "../../api/queries/status.ts";
import { type Setting, useSettings } from "../../api/queries/system.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";

const NAMES = ["LLM_BACKEND", "LLM_BASE_URL", "LLM_API_KEY"] as const;
const EXAMPLE = "LLM_BACKEND=vllm\nLLM_BASE_URL=http://gpu-1:8000";

/** Nothing while an engine answers with models; else what was asked, what came back, and what to set. */
export function NoEngine() {
  const engine = useStatus().data?.engine;
  if (engine === undefined || (engine.reachable && engine.models > 0)) return null;
  return <Diagnosis isSilent={!engine.reachable} backend={engine.backend} />;
}

interface DiagnosisProps {
  readonly isSilent: boolean;
  readonly backend: string;
}

function Diagnosis({ isSilent, backend }: DiagnosisProps) {
  const engines = useEngines().data?.data ?? [];
  const settings = useSettings().data?.data;
  const recheck = useRecheckEngines();
  const local = engines.filter((engine) => engine.backend === backend);
  return (
    <section
      aria-labelledby="no-engine"
      className="grid gap-4 rounded-lg border border-warn bg-surface p-4"
    >
      <div className="flex flex-wrap items-center gap-2">
        <h2 id="no-engine" className="text-lg">
          {isSilent ? "No engine answers" : "The engine has no model"}
        </h2>
        <div className="ml-auto">
          <Button look="primary" isBusy={recheck.isPending} onClick={() => recheck.mutate()}>
            Recheck engine
          </Button>
        </div>
      </div>
      {recheck.error !== null && (
        <ErrorCard what="The engine could not be rechecked" error={recheck.error} />
      )}
      <ul className="grid gap-2" aria-label="What was asked">
        {local.map((engine) => (
          <Asked key={engine.host} engine={engine} />
        ))}
      </ul>
      <p>
        {isSilent
          ? "Start the model server, or set its address and kind, and start the gateway again. It is asked every few seconds."
          : "Load a chat model there. It appears here within 15 seconds."}
      </p>
      <CodeBlock label="The settings" text={EXAMPLE} />
      {settings !== undefined && (
        <PropertyList
          properties={NAMES.map((name) => [
            name,
            <Value key={name} setting={settings.find((setting) => setting.name === name)} />,
          ])}
        />
      )}
    </section>
  );
}

function Asked({ engine }: { readonly engine: Engine }) {
  const { host, state, failure } = engine;
  return (
    <li className="flex flex-wrap items-center gap-x-3">
      <StatusDot tone={state === "up" ? "ok" : "bad"}>
        <code className="font-mono text-sm">{host}</code>
      </StatusDot>
      <span className="text-muted">
        {failure ?? (state === "up" ? "It answers." : "It was not asked yet.")}
      </span>
    </li>
  );
}

/** What a setting is now, and what it is for. */
function Value({ setting }: { readonly setting: Setting | undefined }) {
  if (setting === undefined) return null;
  const { value, set: isSet, secret, text } = setting;
  const known = Array.isArray(value) ? value.join(", ") : String(value ?? "");
  const shown = secret && isSet ? "set" : known;
  return (
    <>
      <code className="break-all font-mono text-sm">{shown === "" ? "not set" : shown}</code>
      <span className="block text-sm text-muted">{text}</span>
    </>
  );
}
