import { type Json, objectsOf } from "../json.ts";

/** Refuses tool calls without a result, and results without a call. */
export function checkConversation(
  messages: readonly Json[],
  refuse: (message: string) => Error,
): void {
  let open: string[] = [];
  for (const message of messages) {
    if (message["role"] === "tool") {
      const id = String(message["tool_call_id"]);
      if (!open.includes(id)) {
        throw refuse(
          "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
        );
      }
      open = open.filter((other) => other !== id);
    } else {
      if (open.length > 0) throw unanswered(open, refuse);
      open = objectsOf(message["tool_calls"]).map(({ id }) => String(id));
    }
  }
  if (open.length > 0) throw unanswered(open, refuse);
}

function unanswered(ids: readonly string[], refuse: (message: string) => Error): Error {
  return refuse(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message: ${ids.join(", ")})`,
  );
}
