import { useState } from "react";
import { type ListedTool, type ToolTrialResult, useCallTool } from "../../api/queries/tools.ts";
import type { JsonValue } from "../../lib/json/json-schema.ts";
import { SchemaForm } from "../../parts/schema/schema-form.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";
import { Duration } from "../../ui/text/count.tsx";

interface ToolTrialProps {
  readonly tool: ListedTool;
  readonly args: JsonValue | undefined;
  readonly onArgs: (args: JsonValue | undefined) => void;
}

/** A call by hand: what a model would send, and what it would be given. */
export function ToolTrial({ tool, args, onArgs }: ToolTrialProps) {
  const { name, parameters, available, level } = tool;
  const [stores, setStores] = useState("");
  const [result, setResult] = useState<ToolTrialResult>();
  const call = useCallTool();
  const isSearch = name === "search_knowledge";
  const ids = stores.split(/[\s,]+/).filter((id) => id !== "");
  const trial = {
    arguments: (args ?? {}) as Record<string, unknown>,
    ...(isSearch && { vector_store_ids: ids }),
  };
  return (
    <section className="grid gap-3" aria-label="Try it">
      {level !== "read_only" && (
        <p className="text-warn">
          {level === "write"
            ? "It changes something: the call is real."
            : "It may do anything, and cannot be undone: the call is real."}
        </p>
      )}
      <Form
        action="Call tool"
        disabledReason={
          available || isSearch ? undefined : "It lacks what it works on; see its state above."
        }
        onSubmit={async () => {
          setResult(undefined);
          setResult(await call.mutateAsync({ name, ...trial }));
        }}
      >
        {isSearch && (
          <TextField
            name="vector_store_ids"
            label="Vector stores"
            hint="Their ids, as vs_…, with commas between them."
            value={stores}
            onChange={setStores}
            spellCheck={false}
          />
        )}
        <SchemaForm
          schema={parameters}
          value={args}
          onChange={onArgs}
          faults={faultsOf(result)}
          label="Arguments"
          prefix="arguments."
        />
      </Form>
      <div className="flex justify-end">
        <CallButton
          call={{
            method: "POST",
            path: `/api/tools/${encodeURIComponent(name)}/call`,
            body: trial,
            credential: "session",
          }}
        />
      </div>
      {result !== undefined && <Result result={result} />}
    </section>
  );
}

function faultsOf(result: ToolTrialResult | undefined): Readonly<Record<string, string>> {
  if (result?.param == null) return {};
  return { [result.param]: result.text };
}

function Result({ result }: { readonly result: ToolTrialResult }) {
  const { is_error: isError, text, duration_ms: duration } = result;
  return (
    <div role="status" className="grid gap-2">
      <p className="flex flex-wrap items-center gap-3">
        <StatusDot tone={isError ? "bad" : "ok"}>{isError ? "It failed" : "It answered"}</StatusDot>
        <span className="text-muted">
          after <Duration value={duration} />
        </span>
      </p>
      {text === "" ? (
        <p className="text-muted">The result is empty.</p>
      ) : (
        <CodeBlock label="The result, as a model is given it" text={text} />
      )}
    </div>
  );
}
