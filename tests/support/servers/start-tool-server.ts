import {
  startToolServer as startAnyToolServer,
  type ToolServer,
  type ToolServerOptions,
  type ToolServerRequest,
} from "../../../simulator/tool-server/tool-server.ts";
import { freePort } from "../processes/free-port.ts";

const POLL_MS = 5;

export interface TestToolServer extends ToolServer {
  /** The first request for which the condition holds, as soon as there is one. */
  readonly awaitRequest: (
    condition: (request: ToolServerRequest) => boolean,
    timeoutMs?: number,
  ) => Promise<ToolServerRequest>;
}

/**
 * The scripted tool server in this process, with all its tools in the modern mode unless told otherwise. It may stop and
 * listen again: no other test gets its port meanwhile.
 */
export async function startToolServer(
  options: Partial<ToolServerOptions> = {},
): Promise<TestToolServer> {
  const server = await startAnyToolServer({
    port: await freePort(),
    mode: "modern",
    tools: undefined,
    pageSize: 100,
    token: undefined,
    ...options,
  });
  const awaitRequest: TestToolServer["awaitRequest"] = async (condition, timeoutMs = 60_000) => {
    const until = Date.now() + timeoutMs;
    while (Date.now() < until) {
      const found = server.requests().find(condition);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`the tool server got no such request within ${timeoutMs} ms`);
  };
  return { ...server, awaitRequest };
}
