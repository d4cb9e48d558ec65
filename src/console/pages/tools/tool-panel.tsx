import { Suspense, useState } from "react";
import type { ListedTool } from "../../api/queries/tools.ts";
import { initialValue } from "../../lib/json/schema-value.ts";
import { SchemaView } from "../../parts/schema/schema-view.tsx";
import { ToolLevelBadge } from "../../parts/tool-level.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";

// Forms from schemas bring every kind of field.
const ToolTrial = lazyPart(async () => (await import("./tool-trial.tsx")).ToolTrial);

const DEFAULTS = { view: "arguments" };

interface ToolPanelProps {
  readonly name: string;
  /** Undefined while it is loading, and for a name that no tool has. */
  readonly tool: ListedTool | undefined;
  readonly isLoading: boolean;
  readonly error: Error | null;
  readonly onRetry: () => void;
  readonly onClose: () => void;
}

/** One tool: what a model is told of it, and a call by hand. */
export function ToolPanel({ name, tool, isLoading, error, onRetry, onClose }: ToolPanelProps) {
  return (
    <SidePanel title={<bdi>{name}</bdi>} of={name} onClose={onClose}>
      {error !== null && (
        <ErrorCard what="The tool could not be loaded" error={error} onRetry={onRetry} />
      )}
      {isLoading && <Skeleton shape="lines" label="The tool is loading" />}
      {tool !== undefined && <Details tool={tool} />}
      {tool === undefined && !isLoading && error === null && (
        <EmptyState title="There is no such tool" action={<Link to="/tools">All tools</Link>}>
          It may wait for approval, or its tool server or connection is gone.
        </EmptyState>
      )}
    </SidePanel>
  );
}

function Details({ tool }: { readonly tool: ListedTool }) {
  const { name, description, level, available, parameters } = tool;
  const [{ view }, change] = useUrlState(DEFAULTS);
  // Here, so that what is typed stays while the other view is shown.
  const [args, setArgs] = useState(() => initialValue(parameters, parameters));
  return (
    <>
      <p className="break-words whitespace-pre-line">
        <bdi>{description}</bdi>
      </p>
      <PropertyList
        properties={[
          ["Level", <ToolLevelBadge key="level" level={level} />],
          ["Source", <Source key="source" tool={tool} />],
          [
            "State",
            available ? "Usable" : (LACKS[name] ?? "Not usable: it lacks what it works on"),
          ],
        ]}
      />
      {tool.schema_replaced && (
        <p className="text-warn">
          The tool server&apos;s schema is too large: any object is accepted here, and the tool
          server checks it.
        </p>
      )}
      <Tabs
        label="Views of the tool"
        value={view === "try" ? "try" : "arguments"}
        onChange={(next) => change({ view: next })}
        tabs={[
          {
            id: "arguments",
            label: "Arguments",
            content: <SchemaView schema={parameters} label="Arguments" />,
          },
          {
            id: "try",
            label: "Try it",
            content: (
              <Suspense fallback={<Skeleton shape="lines" label="The form is loading" />}>
                <ToolTrial tool={tool} args={args} onArgs={setArgs} />
              </Suspense>
            ),
          },
        ]}
      />
    </>
  );
}

function Source({ tool: { source, description } }: { readonly tool: ListedTool }) {
  if (source !== "mcp") return "Built in";
  const server = /^\[Tool server ([a-z0-9-]+)\]/.exec(description)?.[1] ?? "";
  return (
    <Link to="/tool-servers" search={{ search: server }}>
      Tool server {server}
    </Link>
  );
}

/** What to do about a built-in tool that cannot be used yet. */
const LACKS: Readonly<Record<string, string>> = {
  query_sql: "Not usable: no connection to a database is saved",
  search_knowledge: "Usable with a vector store",
  list_my_connections: "Not usable: no connection to a database is saved",
};
