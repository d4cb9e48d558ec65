import type { ToolServerRequest } from "../../../simulator/tool-server/tool-server.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { startToolServer } from "./start-tool-server.ts";

/** A tool as a tool server lists it. */
export interface ServedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: JsonObject;
  readonly annotations?: JsonObject;
}

/** A tool server whose tools a test writes and changes. They answer with their arguments. */
export interface ChangingToolServer {
  readonly url: string;
  /** What it lists from now on. */
  readonly offer: (...tools: readonly ServedTool[]) => void;
  /** Lets lists without an answer from now on. Resolves with the next request of one. */
  readonly hang: () => Promise<ToolServerRequest>;
  /** Every request so far. */
  readonly heard: () => readonly ToolServerRequest[];
  /** Closes its port and all connections. */
  readonly stop: () => Promise<void>;
  /** Opens the same port again. */
  readonly start: () => Promise<void>;
}

export async function startChangingToolServer(
  ...tools: readonly ServedTool[]
): Promise<ChangingToolServer> {
  const server = await startToolServer({ tools: [] });
  const offer = (...offered: readonly ServedTool[]) =>
    server.offer(
      offered.map((tool) => ({
        name: tool.name,
        list: () => ({ description: "", inputSchema: { type: "object" }, ...tool }),
        run: ({ args }) => ({
          result: { content: [{ type: "text", text: JSON.stringify(args) }] },
        }),
      })),
    );
  offer(...tools);
  return {
    url: server.url,
    offer,
    hang() {
      const before = new Set(server.requests());
      server.hold("tools/list");
      return server.awaitRequest((one) => one.method === "tools/list" && !before.has(one));
    },
    heard: server.requests,
    stop: server.stop,
    start: server.listen,
  };
}
