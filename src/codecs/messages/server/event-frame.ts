import type { JsonObject } from "../../../lib/json/json.ts";

/** Returns one event of a stream. Client libraries drop events without an `event:` line. */
export function eventFrame(data: JsonObject & { readonly type: string }): string {
  return `${frameHead(data.type)}${JSON.stringify(data)}\n\n`;
}

/** Returns the text before an event's data. */
export function frameHead(type: string): string {
  return `event: ${type}\ndata: `;
}
