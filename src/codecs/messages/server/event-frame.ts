import type { JsonObject } from "../../../lib/json.ts";

/** One event of a stream. Client libraries drop those without their name in a line of its own. */
export function eventFrame(data: JsonObject & { readonly type: string }): string {
  return `${frameHead(data.type)}${JSON.stringify(data)}\n\n`;
}

/** What stands before an event's data. */
export function frameHead(type: string): string {
  return `event: ${type}\ndata: `;
}
