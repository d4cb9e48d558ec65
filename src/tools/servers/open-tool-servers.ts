import { byLabel, type Metric } from "../../core/metric.ts";
import type { Part } from "../../core/part.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Base } from "../../db/base.ts";
import type { SecretBox } from "../../lib/secret-box.ts";
import type { ToolSource } from "../registry.ts";
import { createKeepList } from "./changes/keep-list.ts";
import { createAskServer } from "./client/ask-server.ts";
import type { ToolServerClient } from "./client/tool-server-client.ts";
import { followServers } from "./known-servers.ts";
import { createServerChecks, type ServerChecks } from "./server-checks.ts";
import { serverErrorAlert } from "./server-error-alert.ts";
import { createServerHealths, type ServerHealths } from "./server-health.ts";
import { type ServerRow, type ToolRow, toToolServer } from "./tool-server.ts";
import type { ToolServers } from "./tool-servers.ts";
import { createToolSource } from "./tool-source.ts";

/** From one check of each server to the next. */
const CHECK_PAUSE_MS = 20_000;

export interface OpenToolServersOptions {
  readonly secretBox: SecretBox;
  readonly client: ToolServerClient;
}

export interface OpenedToolServers extends Part {
  readonly toolServers: ToolServers;
  readonly source: ToolSource;
}

/** Tool servers: their records, their checks, and the tools that they offer. */
export async function openToolServers(
  { settings, database, clock, log }: Base,
  { secretBox, client }: OpenToolServersOptions,
): Promise<OpenedToolServers> {
  const closing = new AbortController();
  const { signal } = closing;
  const options = { openHeaders: secretBox.open, timeoutMs: settings.TOOL_TIMEOUT_MS };
  const toServer = (row: ServerRow, tools: readonly ToolRow[]) => toToolServer(row, tools, options);
  let onChange: () => void = () => undefined;
  const followed = await followServers({ database, log, toServer, onChange: () => onChange() });
  const { known, catchUp } = followed;
  const healths = createServerHealths({ clock, log, list: known.list });
  const ask = createAskServer({ client, log, closing: signal });
  const keepList = createKeepList({ database, clock, log, catchUp });
  const checks = createServerChecks({ known, healths, ask, keepList, closing: signal });
  onChange = () => {
    healths.prune();
    checks.checkNew();
  };
  checks.checkNew();
  return {
    toolServers: { database, clock, secretBox, known, catchUp, toServer, healths, checks, ask },
    source: createToolSource({ known, healths, checks, client }),
    jobs: [
      {
        name: "check tool servers",
        pauseMs: CHECK_PAUSE_MS,
        // The pause is from start to start: a server that hangs must not delay the next checks of others.
        run: async () => checks.checkAll(),
      },
    ],
    metrics: metricsOf(healths, checks),
    alerts: [serverErrorAlert({ known, healths, checks })],
    async close(limitMs) {
      followed.close();
      closing.abort(serverStops());
      await checks.close(limitMs);
    },
  };
}

/** For a request whose tool server is being checked. */
function serverStops(): ServiceError {
  return new ServiceError("overloaded", "The server is stopping; send the request again.", {
    retryAfterSeconds: 1,
  });
}

function metricsOf(
  healths: Pick<ServerHealths, "count">,
  checks: Pick<ServerChecks, "counts">,
): readonly Metric[] {
  return [
    {
      name: "svc_mcp_servers",
      type: "gauge",
      help: "Custom tool servers by status.",
      labels: ["status"],
      read: () => byLabel("status", healths.count()),
    },
    {
      name: "svc_mcp_server_checks_total",
      type: "counter",
      help: "Checks of tool servers by outcome.",
      labels: ["outcome"],
      read: () => byLabel("outcome", checks.counts()),
    },
  ];
}
