import type { IssuedApiKey } from "../../api/queries/api-keys.ts";
import { type Model, useModels } from "../../api/queries/models.ts";
import { CLIENT_GUIDES, findGuide, KEY_PLACEHOLDER } from "../../lib/clients/snippets.ts";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";
import { ModelPicker } from "../pickers/model-picker.tsx";

/** What is chosen: the empty text is the first client, and the first model. */
export interface ChosenClient {
  readonly client: string;
  readonly model: string;
}

interface ClientSnippetsProps {
  readonly chosen: ChosenClient;
  readonly onChange: (change: Partial<ChosenClient>) => void;
  /** A key with its secret, where it was issued just now. */
  readonly issued: IssuedApiKey | undefined;
}

const MODEL_PLACEHOLDER = "YOUR-MODEL";
/** Hosts that name another machine on each machine. */
const LOOPBACK = /^(localhost|127\.|\[::1\])/;

/** What connects a client to this gateway, to be copied: with this address, a model, and a key where one is known. */
export function ClientSnippets({ chosen, onChange, issued }: ClientSnippetsProps) {
  const models = useModels();
  const model = modelOf(models.data, chosen.model);
  const { origin, hostname } = window.location;
  const connection = {
    origin,
    model: model?.id ?? (chosen.model || MODEL_PLACEHOLDER),
    context: model?.context ?? null,
    output: model?.output ?? null,
    key: issued?.key ?? KEY_PLACEHOLDER,
  };
  return (
    <div className="grid min-w-0 gap-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <span className="flex min-w-0 max-w-full flex-wrap items-center gap-2">
          <span aria-hidden>Model</span>
          <ModelPicker
            value={model?.id ?? chosen.model}
            onChange={(id) => onChange({ model: id })}
            className="min-w-0 max-w-full"
          />
        </span>
        <span className="text-sm text-muted">
          {model?.leaves === undefined ? "" : `Goes to ${model.leaves}. `}
          {issued === undefined && (
            <>
              Put your key where it says{" "}
              <code className="break-all font-mono">{KEY_PLACEHOLDER}</code>.{" "}
            </>
          )}
          {LOOPBACK.test(hostname) &&
            `On other machines, put this machine's name in the place of ${hostname}.`}
        </span>
      </div>
      {models.error !== null && (
        <ErrorCard
          what="The models could not be loaded"
          error={models.error}
          onRetry={() => void models.refetch()}
        />
      )}
      {models.data?.length === 0 && (
        <p className="text-muted">
          No model answers yet. Put a model's name where it says {MODEL_PLACEHOLDER}.
        </p>
      )}
      <Tabs
        label="Clients"
        value={findGuide(chosen.client).id}
        onChange={(client) => onChange({ client })}
        tabs={CLIENT_GUIDES.map(({ id, name, note, isAgent, snippets }) => ({
          id,
          label: name,
          content: (
            <div className="grid gap-3">
              {snippets(connection).map(({ place, text }) => (
                <div key={place} className="grid min-w-0 gap-1">
                  <span className="text-sm text-muted">{place}</span>
                  <CodeBlock label={`${name}: ${place}`} text={text} />
                </div>
              ))}
              {isAgent && issued?.passthrough !== true && (
                <p className="text-sm text-muted">
                  {name} brings tools and prompts of its own. Give it a key with passthrough, so
                  that every model gets them unchanged.
                </p>
              )}
              {note !== undefined && <p className="text-sm text-muted">{note}</p>}
            </div>
          ),
        }))}
      />
    </div>
  );
}

function modelOf(models: readonly Model[] | undefined, chosen: string): Model | undefined {
  return chosen === "" ? models?.[0] : models?.find(({ id }) => id === chosen);
}
