import type { ToolLevel } from "../../knowledge/assistants/assistant.ts";
import type { ListedTool } from "./client/tool-server-client.ts";

/**
 * Returns the level that a tool has by what its server says of it. One of which nothing is known may do anything: the
 * protocol's default is a tool that destroys.
 */
export function levelByAnnotations({
  readOnlyHint,
  destructiveHint,
}: ListedTool["annotations"]): ToolLevel {
  if (readOnlyHint === true) return "read_only";
  return destructiveHint === false ? "write" : "full_auto";
}
