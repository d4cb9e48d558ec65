import type { Assistant } from "../../api/queries/assistants.ts";
import { useBoundKeys } from "../../api/queries/bound-keys.ts";
import { curlOf } from "../../lib/clients/curl.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";

interface AssistantUseProps {
  readonly assistant: Assistant;
  /** What programs call it. */
  readonly model: string;
}

/** How programs call an assistant, and which keys are bound to it. */
export function AssistantUse({ assistant, model }: AssistantUseProps) {
  const { id, ext } = assistant;
  const origin = window.location.origin;
  const call = {
    ...({ method: "POST", path: "/v1/chat/completions", credential: "key" } as const),
    body: { model, messages: [{ role: "user", content: "Hello" }] },
  };
  return (
    <div className="grid max-w-3xl gap-6">
      <section className="grid gap-3" aria-labelledby="use-call">
        <h2 id="use-call" className="text-lg">
          Call it as a model
        </h2>
        <p className="text-muted">
          By its name, its id or <code className="font-mono text-sm">{ext.slug}</code>, which never
          changes.
        </p>
        <CodeBlock label="Its id" text={id} />
        <CodeBlock label="curl" text={curlOf(call, origin)} />
        <CodeBlock label="Python, with OpenAI's library" text={pythonOf(model, origin)} />
      </section>
      <BoundKeys id={id} />
      <PropertyList
        properties={[
          ["Owner", ext.owner_id === null ? "nobody" : <UserName key="owner" id={ext.owner_id} />],
          ["Made", <Time key="made" value={assistant.created_at * 1_000} />],
        ]}
      />
    </div>
  );
}

function BoundKeys({ id }: { readonly id: string }) {
  const { data, error, refetch } = useBoundKeys(id);
  return (
    <section className="grid gap-2" aria-labelledby="use-keys">
      <h2 id="use-keys" className="text-lg">
        Bound keys
      </h2>
      {error !== null && (
        <ErrorCard
          what="The keys could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {data?.data.length === 0 && (
        <p className="text-muted">None. A bound key answers with this assistant alone.</p>
      )}
      <ul className="grid gap-1">
        {data?.data.map((key) => (
          <li key={key.id}>
            <Link to={`/keys/${key.id}`}>{key.name}</Link>{" "}
            <code className="font-mono text-sm text-muted">{`${key.prefix}…${key.last_four}`}</code>
          </li>
        ))}
      </ul>
      {data !== undefined && data.total > data.data.length && (
        <p className="text-sm text-muted">and {data.total - data.data.length} more</p>
      )}
    </section>
  );
}

function pythonOf(model: string, origin: string): string {
  return [
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${JSON.stringify(`${origin}/v1`)}, api_key="sk-…")`,
    "answer = client.chat.completions.create(",
    `    model=${JSON.stringify(model)},`,
    '    messages=[{"role": "user", "content": "Hello"}],',
    ")",
    "print(answer.choices[0].message.content)",
  ].join("\n");
}
