import type { StreamEncoder } from "../../codecs/codec.ts";
import type { ChatEvent, ChatEvents } from "../../core/chat/chat-event.ts";
import { ServiceError, toServiceError } from "../../core/service-error.ts";
import {
  nextOf,
  type ReceivingSource,
  receive,
  type Source,
  type Taker,
} from "../../lib/receive.ts";
import { atTurnEnd, type TurnWork } from "../../lib/time/at-turn-end.ts";
import { type TimeWatcher, unwatchTime, watchTimeBy } from "../../lib/time/watch-time.ts";
import { isSettledWithin } from "../server/is-settled-within.ts";

type Step = IteratorResult<readonly ChatEvent[]>;

export interface EventStream {
  /** Pending until the engine begins to answer. */
  readonly events: Promise<ChatEvents>;
  /** Called once, on the first event or the failure. */
  readonly createEncoder: () => StreamEncoder;
  /** The text that is written when the engine is silent. */
  readonly keepalive: string;
  /** The silence of the engine after which the stream gets a keepalive. */
  readonly keepaliveMs: number;
  /** The time for which the client may leave available data unread. */
  readonly slowClientMs: number;
  /** Aborts the call, because the client disconnected or stopped reading. */
  readonly abort: (reason?: ServiceError) => void;
  /** Called with the error that ends the stream. */
  readonly report: (error: ServiceError) => void;
  /** Called once, when nothing more will be written. */
  readonly onEnd: () => void;
}

/** Headers of a response whose body is an event stream. */
export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
};

const utf8 = new TextEncoder();

/**
 * Writes a call's events as a server-sent event stream. One pull by the client takes one batch, so a client that stops
 * reading stops the engine. Whole frames leave in one write, the first of them together with the response headers.
 * Resolves when the first frames exist, or with a stream that begins with a keepalive when the engine is silent for
 * that long. Rejects with a failure before that, because the status is not yet sent.
 */
export async function writeEventStream(stream: EventStream): Promise<ReadableStream<Uint8Array>> {
  const texts = new EventTexts(stream);
  const first = stream.events.then(() => texts.next());
  // There may be events nevertheless: the failure may be in their encoding.
  first.catch(() => closeEvents(stream.events));
  const isBegun = await isSettledWithin(first, stream.keepaliveMs);
  const begun = isBegun ? { text: await first } : { text: stream.keepalive, late: first };
  return new ReadableStream<Uint8Array>(new EventBody(stream, texts, begun));
}

interface Begun {
  /** What leaves with the head of the response. */
  readonly text: string;
  /** The first frames, when they are still to come. */
  readonly late?: Promise<string>;
}

// A class, because a stream lives long and each function of its own would take memory for all of its time.
class EventBody
  implements UnderlyingDefaultSource<Uint8Array>, Taker<string>, TimeWatcher, TurnWork
{
  readonly #stream: EventStream;
  readonly #texts: EventTexts;
  readonly #firstText: string;
  #late: Promise<string> | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The frames that leave at the end of this turn of the event loop. */
  #text = "";
  #waitingFor: "engine" | "client" = "engine";
  #since = performance.now();
  #isReading = false;
  #isOver = false;

  constructor(stream: EventStream, texts: EventTexts, { text, late }: Begun) {
    this.#stream = stream;
    this.#texts = texts;
    this.#firstText = text;
    this.#late = late;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    watchTimeBy(this);
    if (this.#holds(this.#firstText)) this.#write(this.#firstText);
  }

  pull(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#waitFor("engine");
    const late = this.#late;
    this.#late = undefined;
    if (late === undefined) {
      this.#texts.receive(this);
      return;
    }
    late
      .catch((thrown) => this.#texts.failure(thrown))
      .then(
        (text) => this.take(text),
        (thrown: unknown) => this.fail(thrown),
      );
  }

  /** The client has left. */
  cancel(): void {
    if (!this.#isOver) this.#leave();
  }

  take(text: string): void {
    if (this.#isOver || !this.#holds(text)) return;
    this.#text = text;
    atTurnEnd(this);
  }

  fail(thrown: unknown): void {
    // Only a defect of the gateway leads here: the failure itself cannot be encoded. It breaks off this stream and
    // nothing else.
    const error = toServiceError(thrown);
    this.#stream.report(error);
    if (!this.#isOver) this.#breakOff(error);
  }

  runAtTurnEnd(): void {
    // Not before: a pull meanwhile must not read the next frames.
    this.#isReading = false;
    if (!this.#isOver) this.#write(this.#text);
  }

  look(now: number): void {
    const { keepaliveMs, slowClientMs, keepalive } = this.#stream;
    const isForEngine = this.#waitingFor === "engine";
    if (now - this.#since < (isForEngine ? keepaliveMs : slowClientMs)) return;
    if (isForEngine) {
      this.#since = now;
      this.#write(keepalive);
    } else {
      this.#breakOff(new ServiceError("request_timeout", "The client stopped reading its stream."));
    }
  }

  /** Returns true for frames, which are now the client's to read; without any the stream ends. */
  #holds(text: string): boolean {
    if (text !== "") {
      this.#waitFor("client");
      return true;
    }
    this.#end();
    this.#controller?.close();
    return false;
  }

  #waitFor(whom: "engine" | "client"): void {
    this.#waitingFor = whom;
    this.#since = performance.now();
  }

  /** The client may pull again before it returns. */
  #write(text: string): void {
    try {
      this.#controller?.enqueue(utf8.encode(text));
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  #breakOff(error: ServiceError): void {
    this.#leave(error);
    this.#controller?.error(error);
  }

  #leave(reason?: ServiceError): void {
    this.#end();
    this.#stream.abort(reason);
    closeEvents(this.#stream.events);
  }

  #end(): void {
    this.#isOver = true;
    unwatchTime(this);
    this.#stream.onEnd();
  }
}

/** The frames of a stream, as texts. */
class EventTexts implements ReceivingSource<string>, Taker<Step> {
  readonly #stream: EventStream;
  #encoder: StreamEncoder | undefined;
  #source: (AsyncIterator<readonly ChatEvent[]> & Source<Step>) | undefined;
  #taker: Taker<string> | undefined;

  constructor(stream: EventStream) {
    this.#stream = stream;
  }

  next(): Promise<string> {
    return nextOf(this);
  }

  /** Reads the next frames, or a failure in the family's own form; empty at the end. */
  receive(taker: Taker<string>): void {
    this.#taker = taker;
    if (this.#source !== undefined) {
      receive(this.#source, this);
      return;
    }
    this.#stream.events.then(
      (events) => {
        this.#source = events[Symbol.asyncIterator]();
        receive(this.#source, this);
      },
      (thrown: unknown) => this.fail(thrown),
    );
  }

  take({ done, value }: Step): void {
    if (done === true) {
      this.#taker?.take("");
      return;
    }
    let text: string;
    try {
      const last = value.at(-1);
      if (last?.type === "error") this.#stream.report(last.error);
      text = this.#encode(value);
    } catch (thrown) {
      this.fail(thrown);
      return;
    }
    if (text !== "") this.#taker?.take(text);
    else if (this.#source !== undefined) receive(this.#source, this);
  }

  fail(thrown: unknown): void {
    let text: string;
    try {
      text = this.failure(thrown);
    } catch (defect) {
      this.#taker?.fail(defect);
      return;
    }
    this.#taker?.take(text);
  }

  /** Returns a failure as a frame; empty when the end of the stream was already written. */
  failure(thrown: unknown): string {
    const error = toServiceError(thrown);
    const text = this.#encode([{ type: "error", error }]);
    if (text !== "") this.#stream.report(error);
    return text;
  }

  #encode(events: readonly ChatEvent[]): string {
    this.#encoder ??= this.#stream.createEncoder();
    return this.#encoder.encode(events);
  }
}

/** Closes the events of a stream, so that a stream without a reader is closed and metered too. */
function closeEvents(events: Promise<ChatEvents>): void {
  events.then((begun) => begun[Symbol.asyncIterator]().return?.()).catch(() => {});
}
