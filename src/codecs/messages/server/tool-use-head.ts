import type { JsonObject } from "../../../lib/json.ts";
import { writeToolId } from "./tool-ids.ts";

/** A call without its input. Every call is the model's own: none comes from code that a vendor's servers run. */
export function toolUseHead(callId: string, name: string): JsonObject {
  return { type: "tool_use", id: writeToolId(callId), name, caller: { type: "direct" } };
}
