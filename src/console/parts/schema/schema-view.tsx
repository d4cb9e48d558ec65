import { describeSchema, type SchemaLine, takesAnything } from "../../lib/json/describe-schema.ts";
import type { JsonSchema } from "../../lib/json/json-schema.ts";
import { CodeBlock } from "../../ui/text/code-block.tsx";

/** What a schema takes, in words, and the schema itself behind a summary. */
export function SchemaView({ schema, label }: { readonly schema: JsonSchema; label: string }) {
  const lines = describeSchema(schema);
  const text = JSON.stringify(schema, null, 2);
  return (
    <div className="grid gap-3">
      {lines.length === 0 ? (
        <p className="text-muted">
          {takesAnything(schema) ? "It takes any object." : "It takes no arguments."}
        </p>
      ) : (
        <ul aria-label={label} className="grid gap-2">
          {lines.map((line) => (
            <Line key={line.path} line={line} />
          ))}
        </ul>
      )}
      <details>
        <summary className="min-h-6 cursor-pointer text-sm text-muted">JSON Schema</summary>
        <div className="pt-2">
          <CodeBlock label={`The schema: ${label}`} text={text} />
        </div>
      </details>
    </div>
  );
}

const INDENTS = ["", "pl-4", "pl-8", "pl-12", "pl-16"];

function Line({ line }: { readonly line: SchemaLine }) {
  const { name, type, isRequired, description, limits, depth } = line;
  return (
    <li className={INDENTS[Math.min(depth, INDENTS.length - 1)]}>
      <div className="flex flex-wrap items-baseline gap-x-2">
        <code className="font-mono text-sm font-medium break-all">
          <bdi>{name}</bdi>
        </code>
        <span className="text-sm break-words text-muted">
          {[type, isRequired && "required", ...limits].filter(Boolean).join(" · ")}
        </span>
      </div>
      {description !== "" && <p className="break-words whitespace-pre-line">{description}</p>}
    </li>
  );
}
