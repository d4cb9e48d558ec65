import { randomBytes } from "node:crypto";
import type { Actor } from "../../../../src/access/actor.ts";
import { loadConfig } from "../../../../src/config/load-config.ts";
import type { Database } from "../../../../src/db/database.ts";
import { createEgress } from "../../../../src/lib/egress/egress.ts";
import type { Log } from "../../../../src/lib/log.ts";
import { createSecretBox, type SecretBox } from "../../../../src/lib/secret-box.ts";
import type { Clock } from "../../../../src/lib/time/clock.ts";
import { runTool } from "../../../../src/tools/run-tool.ts";
import {
  createToolServer,
  type ServerFields,
} from "../../../../src/tools/servers/changes/change-server.ts";
import { createToolServerClient } from "../../../../src/tools/servers/client/create-tool-server-client.ts";
import {
  type OpenedToolServers,
  openToolServers,
} from "../../../../src/tools/servers/open-tool-servers.ts";
import {
  findToolServer,
  type ShownServerWithTools,
} from "../../../../src/tools/servers/tool-servers.ts";
import type { ToolContext, ToolResult } from "../../../../src/tools/tool.ts";
import { testAssistant } from "../assistants.ts";

export interface ReplicaOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Who changes tool servers. */
  readonly actor: Actor;
  readonly secretBox?: SecretBox;
}

const BOX = createSecretBox(randomBytes(32));

/** The tool servers of one replica of several, as on PostgreSQL, whatever the database. Its jobs run when a test says so. */
export interface ToolServerReplica extends OpenedToolServers {
  readonly save: (
    fields: Pick<ServerFields, "name" | "url"> & Partial<ServerFields>,
  ) => Promise<ShownServerWithTools>;
  readonly show: (id: string) => ShownServerWithTools;
  /** Runs the job that checks all servers, and waits for its checks. */
  readonly checkAll: () => Promise<void>;
  readonly offered: () => readonly string[];
  readonly run: (tool: string, args?: string, signal?: AbortSignal) => Promise<ToolResult>;
  readonly countWith: (status: string) => number;
}

export async function openToolServerReplica(options: ReplicaOptions): Promise<ToolServerReplica> {
  const { database, clock, log, actor, secretBox = BOX } = options;
  const { settings } = loadConfig({ EGRESS_ALLOW: "127.0.0.1" });
  const client = createToolServerClient({
    egress: createEgress({ allow: settings.EGRESS_ALLOW }),
    info: { name: "test", version: "1" },
  });
  const onPostgres: Database = { ...database, kind: "postgres" };
  const base = { settings, database: onPostgres, clock, log };
  const opened = await openToolServers(base, { secretBox, client });
  const { toolServers, source, metrics = [], jobs = [] } = opened;
  const find = (name: string) => source.list().find((tool) => tool.name === name);
  return {
    ...opened,
    save: (fields) =>
      createToolServer(toolServers, actor, {
        ...{ headers: {}, enabled: true, timeoutMs: null },
        ...fields,
      }),
    show: (id) => findToolServer(toolServers, id),
    async checkAll() {
      for (const job of jobs) await job.run();
      // A check in progress is followed by the one that is asked for here.
      const { checks, known } = toolServers;
      await Promise.all(known.list().map(({ row }) => checks.check(row.id)));
    },
    offered: () => source.list().map(({ name }) => name),
    run(name, args = "{}", signal = new AbortController().signal) {
      const tool = find(name);
      if (tool === undefined) throw new Error(`${name} is not offered`);
      const context: ToolContext = { caller: actor.caller, assistant: testAssistant(1), signal };
      return runTool(tool, args, context, { timeoutMs: 30_000, maxResultBytes: 65_536 });
    },
    countWith: (status) =>
      metrics
        .filter(({ name }) => name === "svc_mcp_servers")
        .flatMap(({ read }) => read())
        .find(({ labels }) => labels["status"] === status)?.value ?? Number.NaN,
  };
}
