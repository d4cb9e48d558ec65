import { expect } from "vitest";

/** Fails unless the text is one whole stream of the family that is served at this path. */
export function expectWholeStream(path: string, text: string): void {
  if (path.startsWith("/v1/messages")) expectMessages(text);
  else if (path.startsWith("/v1/responses")) expectResponses(text);
  else expectChat(text);
}

function expectChat(text: string): void {
  const frames = text.split("\n\n").filter((frame) => frame.startsWith("data: "));
  expect(frames.at(-1)).toBe("data: [DONE]");
  const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame.slice("data: ".length)));
  const choices = chunks.flatMap((chunk) => chunk.choices);
  expect(choices[0]?.delta.role).toBe("assistant");
  expect(choices.filter(({ finish_reason }) => finish_reason !== null)).toHaveLength(1);
  expect(choices.at(-1)?.finish_reason).not.toBeNull();
}

/** One letter an event: what the order of the format says is then an expression over them. */
const MESSAGE_LETTERS: Readonly<Record<string, string>> = {
  message_start: "S",
  content_block_start: "b",
  content_block_delta: "d",
  content_block_stop: "e",
  message_delta: "D",
  message_stop: "E",
  ping: "",
};

function expectMessages(text: string): void {
  const letters = eventsOf(text).map(({ type }) => MESSAGE_LETTERS[type] ?? `<${type}>`);
  expect(letters.join("")).toMatch(/^S(bd*e)*DE$/);
}

function expectResponses(text: string): void {
  const events = eventsOf(text);
  const types = events.map(({ type }) => type);
  expect(types.slice(0, 2)).toEqual(["response.created", "response.in_progress"]);
  expect(["response.completed", "response.incomplete"]).toContain(types.at(-1));
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
  const count = (type: string) => types.filter((each) => each === type).length;
  expect(count("response.output_item.added")).toBe(count("response.output_item.done"));
  expect(count("response.output_item.added")).toBe(events.at(-1)?.response?.output.length);
}

interface WireEvent {
  readonly type: string;
  readonly sequence_number?: number;
  readonly response?: { readonly output: readonly unknown[] };
}

function eventsOf(text: string): WireEvent[] {
  return text
    .split("\n\n")
    .filter((frame) => frame.startsWith("event: "))
    .map((frame) => {
      const [name = "", data = ""] = frame.split("\n");
      const event: WireEvent = JSON.parse(data.slice("data: ".length));
      expect(event.type).toBe(name.slice("event: ".length));
      return event;
    });
}
