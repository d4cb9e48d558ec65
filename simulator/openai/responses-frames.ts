import type { Frame } from "../content/speak.ts";
import { tokenize } from "../content/tokenizer.ts";
import type { Json } from "../json.ts";
import type { Script } from "../script.ts";
import { type ItemStatus, refusalPart, renderItem, summaryPart, textPart } from "./render-item.ts";
import {
  type ResponseHead,
  type ResponseState,
  renderResponse,
  statusOf,
} from "./render-response.ts";
import type { ResponseItem } from "./response-items.ts";

interface Event {
  readonly type: string;
  readonly payload: Json;
  readonly tokens: number;
}

interface Place {
  readonly script: Script | undefined;
  readonly outputIndex: number;
  readonly status: ItemStatus;
}

/** Numbers the events of one stream. */
export class ResponseEvents {
  #sequence = 0;

  write(type: string, payload: Json): string {
    const data = JSON.stringify({ type, sequence_number: this.#sequence, ...payload });
    this.#sequence += 1;
    return `event: ${type}\ndata: ${data}\n\n`;
  }
}

/** Yields the events of a streamed response, in OpenAI's order. */
export function* responsesFrames(
  items: readonly ResponseItem[],
  end: ResponseState,
  { events, head }: { readonly events: ResponseEvents; readonly head: ResponseHead },
): Iterable<Frame> {
  const begun = renderResponse(head, { status: "in_progress", output: [], usage: null });
  for (const type of ["response.created", "response.in_progress"]) {
    yield { bytes: events.write(type, { response: begun }), tokens: 0 };
  }
  const { script } = head.call;
  const perItem = items.map((item, outputIndex) => {
    const status = statusOf(end.incompleteReason, outputIndex === items.length - 1);
    return [...itemEvents(item, { script, outputIndex, status })];
  });
  for (const { type, payload, tokens } of ordered(items, perItem, script)) {
    yield { bytes: events.write(type, payload), tokens };
  }
  const last = { response: renderResponse(head, end) };
  const bytes = events.write(`response.${end.status}`, last);
  yield { bytes, tokens: 0, tells: end.usage ?? undefined, isTerminal: true };
}

/** Orders the events. Items come one after another, but scripted calls may be interleaved. */
function ordered(
  items: readonly ResponseItem[],
  perItem: readonly Event[][],
  script: Script | undefined,
): Event[] {
  if (!script?.interleaveToolCalls) return perItem.flat();
  const isCall = (index: number) =>
    items[index]?.kind === "function" || items[index]?.kind === "custom";
  const said = perItem.filter((_, index) => !isCall(index)).flat();
  const calls = perItem.filter((_, index) => isCall(index));
  const longest = Math.max(0, ...calls.map(({ length }) => length));
  const inTurn = Array.from({ length: longest }, (_, at) =>
    calls.flatMap((events) => events.slice(at, at + 1)),
  );
  return [...said, ...inTurn.flat()];
}

function* itemEvents(item: ResponseItem, place: Place): Iterable<Event> {
  const index = { output_index: place.outputIndex };
  const added = { ...index, item: renderItem(item, "in_progress") };
  yield event("response.output_item.added", added);
  yield* contentEvents(item, place);
  yield event("response.output_item.done", { ...index, item: renderItem(item, place.status) });
}

function* contentEvents(item: ResponseItem, place: Place): Iterable<Event> {
  const at = { item_id: item.id, output_index: place.outputIndex };
  switch (item.kind) {
    case "reasoning":
      return yield* summaryEvents(item.pieces, at);
    case "message":
      return yield* textEvents(item, at);
    case "refusal":
      return yield* refusalEvents(item.text, at);
    case "function":
      yield* pieceEvents("response.function_call_arguments.delta", item.text, { at, place });
      return yield event("response.function_call_arguments.done", { ...at, arguments: item.text });
    case "custom":
      yield* pieceEvents("response.custom_tool_call_input.delta", item.text, { at, place });
      return yield event("response.custom_tool_call_input.done", { ...at, input: item.text });
  }
}

function* summaryEvents(pieces: readonly string[], at: Json): Iterable<Event> {
  if (pieces.length === 0) return;
  const where = { ...at, summary_index: 0 };
  const text = pieces.join("");
  yield event("response.reasoning_summary_part.added", { ...where, part: summaryPart("") });
  for (const delta of pieces) {
    const payload = { ...where, delta, obfuscation: "k2Q" };
    yield event("response.reasoning_summary_text.delta", payload, delta);
  }
  yield event("response.reasoning_summary_text.done", { ...where, text });
  yield event("response.reasoning_summary_part.done", { ...where, part: summaryPart(text) });
}

function* textEvents(
  { pieces, repeat }: { readonly pieces: readonly string[]; readonly repeat: number },
  at: Json,
): Iterable<Event> {
  const where = { ...at, content_index: 0 };
  yield event("response.content_part.added", { ...where, part: textPart("") });
  for (let round = 0; round < repeat; round += 1) {
    for (const delta of pieces) {
      const payload = { ...where, delta, logprobs: [], obfuscation: "m8Zt" };
      yield event("response.output_text.delta", payload, delta);
    }
  }
  const text = pieces.join("").repeat(repeat);
  yield event("response.output_text.done", { ...where, text, logprobs: [] });
  yield event("response.content_part.done", { ...where, part: textPart(text) });
}

function* refusalEvents(text: string, at: Json): Iterable<Event> {
  const where = { ...at, content_index: 0 };
  yield event("response.content_part.added", { ...where, part: refusalPart("") });
  for (const delta of tokenize(text)) {
    yield event("response.refusal.delta", { ...where, delta }, delta);
  }
  yield event("response.refusal.done", { ...where, refusal: text });
  yield event("response.content_part.done", { ...where, part: refusalPart(text) });
}

function* pieceEvents(
  type: string,
  text: string,
  { at, place }: { readonly at: Json; readonly place: Place },
): Iterable<Event> {
  const length = place.script?.argumentCharacters ?? (text.length || 1);
  for (let start = 0; start < text.length; start += length) {
    const delta = text.slice(start, start + length);
    yield event(type, { ...at, delta, obfuscation: "pL" }, delta);
  }
}

function event(type: string, payload: Json, said = ""): Event {
  return { type, payload, tokens: said === "" ? 0 : tokenize(said).length };
}
