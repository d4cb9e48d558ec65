import { toAbortSignal } from "../lib/cancellation.ts";
import type { Tool, ToolResult } from "../tools/tool.ts";
import { callTool, type ToolCall, type ToolGateway } from "./call-tool.ts";
import { type ClientCall, originOf } from "./gateway.ts";

/**
 * Runs a tool for an administrator who tries it. It is a call as any other, under the same limits, and the audit log has
 * it whatever its level is: here a person chose the arguments. Rejects as `callTool` does, and with
 * `storage_unavailable` when the audit log cannot be written.
 */
export async function tryTool(
  gateway: ToolGateway,
  client: ClientCall,
  call: ToolCall,
): Promise<ToolResult> {
  const end = await auditReading(gateway, client, call);
  try {
    const { result } = await callTool(gateway, client, call);
    const ended = await result;
    end?.(ended.isError === true ? "error" : "ok");
    return ended;
  } catch (thrown) {
    end?.(client.signal.aborted ? "aborted" : "error");
    throw thrown;
  }
}

/** Calls above `read_only` are recorded where they run. */
async function auditReading(
  { assistants }: ToolGateway,
  client: ClientCall,
  { tool, assistant }: { readonly tool: Tool; readonly assistant: ToolCall["assistant"] },
) {
  if (tool.level !== "read_only") return undefined;
  const { caller } = client;
  const context = { caller, assistant, origin: originOf(client) };
  return assistants.auditToolCall?.(tool, { ...context, signal: toAbortSignal(client.signal) });
}
