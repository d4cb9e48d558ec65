import { useState } from "react";
import {
  type ServerTool,
  type ToolServer,
  useSetToolLevel,
} from "../../api/queries/tool-servers.ts";
import { LEVELS } from "../../parts/tool-level.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";

/** More are shown on request. */
const SHOWN_FIRST = 30;

/** The tools of a server with their states, and the level of each. */
export function ServerTools({ server }: { readonly server: ToolServer }) {
  const [isWhole, setWhole] = useState(false);
  const { tools } = server;
  const shown = isWhole ? tools : tools.slice(0, SHOWN_FIRST);
  return (
    <section className="grid gap-2" aria-labelledby="server-tools">
      <h3 id="server-tools" className="text-base">
        Tools
      </h3>
      {tools.length === 0 && <p className="text-muted">It has listed no tools so far.</p>}
      <ul className="grid gap-3">
        {shown.map((tool) => (
          <ToolRow key={tool.name} serverId={server.id} tool={tool} />
        ))}
      </ul>
      {shown.length < tools.length && (
        <div>
          <Button onClick={() => setWhole(true)}>Show all {tools.length} tools</Button>
        </div>
      )}
    </section>
  );
}

const STATES = {
  approved: ["ok", "Approved"],
  waiting: ["warn", "Waits"],
  changed: ["warn", "Changed, waits"],
  gone: ["plain", "No longer listed"],
} as const;
const BY_SERVER = "server";

function ToolRow({ serverId, tool }: { readonly serverId: string; readonly tool: ServerTool }) {
  const set = useSetToolLevel(serverId);
  const [tone, state] = STATES[tool.state];
  const { tool: published } = tool;
  const choose = (choice: string) => {
    if (published === null) return;
    const level = choice === BY_SERVER ? null : (choice as ServerTool["level"]);
    set.mutate(
      { tool: published, level },
      { onSuccess: () => showToast(`${tool.name}: level set`) },
    );
  };
  const own = tool.level_source === "annotations" ? ` (${LEVELS[tool.level]})` : "";
  return (
    <li className="grid min-w-0 gap-1 border-b border-line pb-3 last:border-b-0">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <code className="min-w-0 font-mono text-sm font-medium break-all">
          <bdi>{tool.name}</bdi>
        </code>
        <StatusDot tone={tone}>{state}</StatusDot>
      </div>
      {published === null ? (
        <p className="text-sm text-muted">Not offered: no name is left for it.</p>
      ) : (
        <div className="flex flex-wrap items-center gap-2">
          <Select
            label={`Level of ${tool.name}`}
            value={tool.level_source === "annotations" ? BY_SERVER : tool.level}
            onChange={choose}
            choices={[
              { value: BY_SERVER, label: `By the server${own}` },
              ...Object.entries(LEVELS).map(([value, label]) => ({ value, label })),
            ]}
          />
          {tool.state === "approved" && <Link to={`/tools/${published}`}>Try it</Link>}
        </div>
      )}
      {tool.schema_replaced && (
        <p className="text-sm text-warn">Its schema is too large: any object is accepted.</p>
      )}
      {set.error !== null && <ErrorCard what="The level was not set" error={set.error} />}
    </li>
  );
}
