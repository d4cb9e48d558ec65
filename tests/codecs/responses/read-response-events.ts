import type { ResponseEvent } from "../../../src/codecs/responses/server/wire-events.ts";
import { responseEventSchema } from "../../../src/codecs/responses/server/wire-events.ts";

type OutputItem = Extract<ResponseEvent, { type: "response.output_item.done" }>["item"];

/** What a stream says when it is read as its clients read it: by its deltas alone, and by its last event. */
export interface ReadStream {
  readonly events: readonly ResponseEvent[];
  readonly last: Extract<ResponseEvent, { response: unknown }>;
  /** The text, summary, refusal, arguments or input of every item, put together from its deltas. */
  readonly texts: ReadonlyMap<number, string>;
}

/** Reads a whole stream. Throws on an event of the wrong form, at the wrong place, or at odds with the others. */
export function readResponseEvents(text: string): ReadStream {
  const frames = text.split("\n\n");
  if (frames.pop() !== "") throw new Error("the last event does not end with an empty line");
  const events = frames.filter((frame) => !frame.startsWith(":")).map(readFrame);
  const order = new EventOrder();
  for (const [index, event] of events.entries()) {
    if (event.sequence_number !== index) throw new Error(`event ${index} is out of number`);
    order.add(event);
  }
  const last = events.at(-1);
  if (last === undefined || !("response" in last)) throw new Error("there is no last event");
  order.end(last);
  return { events, last, texts: order.texts };
}

function readFrame(frame: string): ResponseEvent {
  const [, name, data] = /^event: ([\w.]+)\ndata: ([^\n]*)$/.exec(frame) ?? [];
  if (data === undefined) throw new Error(`no event: ${frame.slice(0, 200)}`);
  const { data: event, error } = responseEventSchema.safeParse(JSON.parse(data));
  if (error !== undefined) throw new Error(`${name}: ${error.message}`);
  if (event.type !== name) throw new Error(`the event ${event.type} is named ${name}`);
  return event;
}

interface OpenItem {
  readonly id: string;
  readonly type: OutputItem["type"];
  /** Texts of its parts: of a call one part. */
  readonly parts: { text: string; isDone: boolean }[];
}

/** The rules of wire.md 3.3: what may follow what. */
class EventOrder {
  readonly texts = new Map<number, string>();
  readonly #open = new Map<number, OpenItem>();
  readonly #done: OutputItem[] = [];
  #added = 0;
  #count = 0;
  #over = false;

  add(event: ResponseEvent): void {
    if (this.#over) throw new Error(`${event.type} comes after the end`);
    const place = this.#count++;
    if (place < 2) {
      const first = place === 0 ? "response.created" : "response.in_progress";
      if (event.type !== first) throw new Error(`${event.type} in the place of ${first}`);
      return;
    }
    if ("response" in event) {
      if (event.response.status === "in_progress") throw new Error(`${event.type} in progress`);
      this.#over = true;
    } else if (event.type === "response.output_item.added") this.#addItem(event);
    else if (event.type === "response.output_item.done") this.#endItem(event);
    else this.#addToItem(event);
  }

  end({ response, type }: ReadStream["last"]): void {
    if (!this.#over || type !== `response.${response.status}`) throw new Error("no proper end");
    const done = this.#done.filter((item) => item !== undefined);
    if (JSON.stringify(done) !== JSON.stringify(response.output)) {
      throw new Error("the last event has another output than the items");
    }
    if (response.status === "failed") return;
    if (this.#open.size > 0) throw new Error("an item is open at the end");
    for (const item of done.slice(0, -1)) {
      if ("status" in item && item.status !== "completed") throw new Error("an item is cut midway");
    }
    const last = done.at(-1);
    if (last !== undefined && "status" in last && last.status !== response.status) {
      throw new Error(`the last item is ${last.status}, the response ${response.status}`);
    }
  }

  #addItem({ output_index, item }: Extract<ResponseEvent, { type: "response.output_item.added" }>) {
    if (output_index !== this.#added++) throw new Error("an item is out of turn");
    if ("status" in item && item.status !== "in_progress") throw new Error("an item begins ended");
    const isCall = item.type === "function_call" || item.type === "custom_tool_call";
    const parts = isCall ? [{ text: "", isDone: false }] : [];
    this.#open.set(output_index, { id: item.id, type: item.type, parts });
    if (textOf(item) !== "") throw new Error("an item begins with content");
  }

  #endItem({ output_index, item }: Extract<ResponseEvent, { type: "response.output_item.done" }>) {
    const open = this.#itemAt(output_index, item.id);
    if (open.parts.some(({ isDone }) => !isDone)) throw new Error("an item ends before its parts");
    const text = open.parts.map((part) => part.text).join("");
    if (textOf(item) !== text) throw new Error("an item's text is not that of its deltas");
    this.texts.set(output_index, text);
    this.#open.delete(output_index);
    this.#done[output_index] = item;
  }

  #addToItem(event: Extract<ResponseEvent, { item_id: string }>): void {
    const { parts, type } = this.#itemAt(event.output_index, event.item_id);
    if (EVENTS_OF[type].every((prefix) => !event.type.startsWith(prefix))) {
      throw new Error(`${event.type} in an item of the type ${type}`);
    }
    // A search has no content, and an annotation adds none.
    if (type === "file_search_call" || "annotation" in event) return;
    const index = partIndexOf(event);
    if (event.type.endsWith("_part.added")) {
      if (index !== parts.length) throw new Error("a part is out of turn");
      if (parts.some(({ isDone }) => !isDone)) throw new Error("two parts are open");
      parts.push({ text: "", isDone: false });
      return;
    }
    const part = parts[index];
    if (part === undefined) throw new Error(`${event.type} of no part`);
    if ("delta" in event) {
      if (part.isDone) throw new Error("a delta after the end of its part");
      if (loneSurrogate.test(event.delta)) throw new Error("a delta ends within a character");
      part.text += event.delta;
      return;
    }
    part.isDone = true;
    if (wholeText(event) !== part.text) throw new Error(`${event.type} is not its deltas`);
  }

  #itemAt(index: number, id: string): OpenItem {
    const item = this.#open.get(index);
    if (item?.id !== id) throw new Error(`no item ${id} is open at ${index}`);
    return item;
  }
}

const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

const EVENTS_OF: Readonly<Record<OutputItem["type"], readonly string[]>> = {
  message: ["response.content_part", "response.output_text", "response.refusal"],
  reasoning: ["response.reasoning_summary"],
  function_call: ["response.function_call_arguments"],
  custom_tool_call: ["response.custom_tool_call_input"],
  file_search_call: ["response.file_search_call"],
};

function partIndexOf(event: Extract<ResponseEvent, { item_id: string }>): number {
  if ("content_index" in event) return event.content_index;
  return "summary_index" in event ? event.summary_index : 0;
}

function wholeText(event: Extract<ResponseEvent, { item_id: string }>): string | undefined {
  if ("text" in event) return event.text;
  if ("refusal" in event) return event.refusal;
  if ("arguments" in event) return event.arguments;
  if ("input" in event) return event.input;
  if (!("part" in event)) return undefined;
  return event.part.type === "refusal" ? event.part.refusal : event.part.text;
}

/** All text of an item. */
export function textOf(item: OutputItem): string {
  switch (item.type) {
    case "message":
      return item.content
        .map((part) => (part.type === "refusal" ? part.refusal : part.text))
        .join("");
    case "reasoning":
      return item.summary.map(({ text }) => text).join("");
    case "function_call":
      return item.arguments;
    case "custom_tool_call":
      return item.input;
    case "file_search_call":
      return "";
  }
}
