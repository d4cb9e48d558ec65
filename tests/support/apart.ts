import type { ChatEvent } from "../../src/core/chat/chat-event.ts";

/** The events with each piece of text as an event of its own, as they are when every event is parsed. */
export function apart(events: readonly ChatEvent[]): readonly ChatEvent[] {
  return events.flatMap((event) => {
    if (!("literals" in event) || event.literals === undefined) return [event];
    const { literals, ...rest } = event;
    const pieces: string[] = literals.map((literal) => JSON.parse(`"${literal}"`));
    if (pieces.join("") !== event.text) throw new Error("the literals are not those of the text");
    return pieces.map((text) => ({ ...rest, text }));
  });
}
