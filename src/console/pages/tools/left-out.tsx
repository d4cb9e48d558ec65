import type { LeftOutTool } from "../../api/queries/tools.ts";
import { countOf } from "../../lib/count.ts";
import { Link } from "../../ui/navigation/link.tsx";

/** What tool servers list but nobody is offered, and why. */
export function LeftOut({ tools }: { readonly tools: readonly LeftOutTool[] }) {
  const count = countOf(tools.length, "listed tool is", "listed tools are");
  return (
    <details className="rounded-lg border border-line bg-warn-soft px-3 py-1">
      <summary className="cursor-pointer py-1.5 text-warn touch:py-3">{count} left out</summary>
      <ul className="grid gap-2 pb-2">
        {tools.map(({ server, server_id: id, name, reason }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they have no id, and come in one order
          <li key={index} className="min-w-0 break-words">
            <Link to={`/tool-servers/${id}`}>{server}</Link>:{" "}
            {name === null ? (
              "a tool without a name"
            ) : (
              <code className="font-mono text-sm break-all">
                <bdi>{name}</bdi>
              </code>
            )}
            . {reason}
          </li>
        ))}
      </ul>
    </details>
  );
}
