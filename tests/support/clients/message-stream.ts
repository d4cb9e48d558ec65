/** A block put together from its deltas, the input of a call as the text it came in. */
export interface StreamedBlock {
  readonly type: string;
  readonly start: Readonly<Record<string, unknown>>;
  text: string;
  input: string;
  signature: string | undefined;
}

export interface StreamedMessage {
  readonly start: Readonly<Record<string, unknown>>;
  readonly blocks: readonly StreamedBlock[];
  /** The data of `message_delta`; undefined when the stream ended with an error. */
  readonly end: Readonly<Record<string, unknown>> | undefined;
  readonly error: { readonly type: string; readonly message: string } | undefined;
  readonly pings: number;
}

interface Event {
  readonly type: string;
  readonly index?: number;
  readonly message?: Readonly<Record<string, unknown>>;
  readonly content_block?: { readonly type: string };
  readonly delta?: Readonly<Record<string, string>>;
  readonly error?: { readonly type: string; readonly message: string };
}

const FRAME = /^event: (\w+)\ndata: (\{[^\n]*\})$/;
/** The deltas that fit each type of block. */
const DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ["text_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  redacted_thinking: [],
  tool_use: ["input_json_delta"],
};

/**
 * Reads a whole stream of the messages format. Throws at the first event that has no place where it stands:
 * `message_start (content_block_start content_block_delta* content_block_stop)* (message_delta message_stop | error)`.
 */
export function readMessageStream(text: string): StreamedMessage {
  if (!text.endsWith("\n\n")) throw new Error("the last event is not whole");
  const reader = new Reader();
  const frames = text.slice(0, -2).split("\n\n");
  for (const [index, frame] of frames.entries()) {
    const [, name, data = ""] = FRAME.exec(frame) ?? [];
    const event = JSON.parse(data || "null") as Event | null;
    const fault = event?.type === name ? reader.take(event as Event) : "is no event of its name";
    if (fault !== undefined) throw new Error(`event ${index} (${frame.slice(0, 200)}): ${fault}`);
  }
  return reader.result();
}

class Reader {
  #start: StreamedMessage["start"] | undefined;
  readonly #blocks: StreamedBlock[] = [];
  #isOpen = false;
  #end: StreamedMessage["end"];
  #error: StreamedMessage["error"];
  #isOver = false;
  #pings = 0;

  /** What is wrong with the event; undefined when it may come here. */
  take(event: Event): string | undefined {
    if (this.#isOver) return "comes after the end";
    switch (event.type) {
      case "ping":
        this.#pings += 1;
        return undefined;
      case "message_start":
        if (this.#start !== undefined) return "is the second start";
        this.#start = event.message;
        return undefined;
      case "error":
        this.#error = event.error;
        this.#isOver = true;
        return undefined;
      case "message_stop":
        this.#isOver = true;
        return this.#end === undefined ? "comes without message_delta" : undefined;
      default:
        return this.#start === undefined ? "comes before message_start" : this.#takeInside(event);
    }
  }

  result(): StreamedMessage {
    if (!this.#isOver) throw new Error("the stream has no end");
    return {
      start: this.#start ?? {},
      blocks: this.#blocks,
      end: this.#end,
      error: this.#error,
      pings: this.#pings,
    };
  }

  #takeInside(event: Event): string | undefined {
    if (this.#end !== undefined) return "comes after message_delta";
    if (event.type === "message_delta") {
      this.#end = event as unknown as Readonly<Record<string, unknown>>;
      return this.#isOpen ? "comes while a block is open" : undefined;
    }
    if (event.type === "content_block_start") return this.#openBlock(event);
    const block = this.#blocks.at(-1);
    if (!this.#isOpen || block === undefined) return "comes while no block is open";
    if (event.index !== this.#blocks.length - 1) return "is of another block than the open one";
    if (event.type === "content_block_delta") return takeDelta(block, event.delta ?? {});
    if (event.type !== "content_block_stop") return "is unknown";
    this.#isOpen = false;
    return block.type === "thinking" && !block.signature ? "ends a thought unsealed" : undefined;
  }

  #openBlock({ index, content_block: start }: Event): string | undefined {
    if (this.#isOpen) return "comes while another block is open";
    if (index !== this.#blocks.length) return "is numbered out of turn";
    if (start === undefined || DELTAS[start.type] === undefined) return "is of no known type";
    const { type } = start;
    this.#blocks.push({ type, start: { ...start }, text: "", input: "", signature: undefined });
    this.#isOpen = true;
    return undefined;
  }
}

function takeDelta(block: StreamedBlock, delta: NonNullable<Event["delta"]>): string | undefined {
  const { type = "" } = delta;
  if (DELTAS[block.type]?.includes(type) !== true) return `does not fit a ${block.type} block`;
  if (block.signature !== undefined) return "comes after the seal";
  block.text += delta["text"] ?? delta["thinking"] ?? "";
  block.input += delta["partial_json"] ?? "";
  block.signature = delta["signature"];
  return undefined;
}
