import { type Call, sendJson } from "../call.ts";
import type { Framing } from "../http/exchange.ts";
import type { Usage } from "../ledger.ts";
import type { Moment } from "../script.ts";

/** Events that are due at the same time are written together up to this size. */
const BATCH_CHARACTERS = 16 * 1024;

/** One encoded event of a stream. */
export interface Frame {
  readonly bytes: string;
  readonly tokens: number;
  /** The usage that it reports. */
  readonly tells?: Usage | undefined;
  readonly isTerminal?: boolean;
}

export interface Speech {
  readonly contentType: string;
  readonly frames: Iterable<Frame>;
  /** Frames a line as an event of the format. */
  readonly frameLine: (line: string) => string;
  /** Renders the engine's error in the stream, up to its end; an undefined body selects the engine's usual error. */
  readonly frameError: (body: unknown) => string;
}

/** Sends a stream at its pace and injects the script's faults at their moments. */
export function speak(call: Call, speech: Speech): Promise<void> {
  return new Speaker(call, speech).run();
}

/** An engine's error before the start of the answer. */
export interface Failure {
  readonly status: number;
  readonly body: unknown;
}

/** Sends a non-streaming JSON answer, which takes as long as its stream would. */
export async function speakWhole(
  call: Call,
  value: unknown,
  usage: Usage | null,
  failure: Failure = { status: 500, body: { error: "internal error" } },
): Promise<void> {
  const { script } = call;
  if (script?.error) return sendJson(call, failure.status, script.error.body ?? failure.body);
  const body = script?.inject?.line ?? script?.injectRaw?.bytes ?? JSON.stringify(value);
  const half = Math.floor(body.length / 2);
  const tells = usage ?? undefined;
  const frames = [
    { bytes: body.slice(0, half), tokens: tells?.outputTokens ?? 0 },
    { bytes: body.slice(half), tokens: 0, tells, isTerminal: true },
  ];
  const rest = { contentType: "application/json", frameLine: String, frameError: String };
  const lengthBytes = Buffer.byteLength(body);
  await new Speaker(call, { ...rest, frames }, { lengthBytes }).run();
}

class Speaker {
  readonly #call: Call;
  readonly #speech: Speech;
  readonly #framing: Framing;
  readonly #isWhole: boolean;
  readonly #tokensPerSecond: number;
  #startedAt = 0;
  #tokens = 0;
  #pending: Frame[] = [];
  #pendingCharacters = 0;

  constructor(call: Call, speech: Speech, framing: Framing = "chunked") {
    this.#call = call;
    this.#speech = speech;
    this.#framing = framing;
    this.#isWhole = framing !== "chunked";
    this.#tokensPerSecond = call.script?.tokensPerSecond ?? call.options.tokensPerSecond;
  }

  async run(): Promise<void> {
    const { exchange, options, script } = this.#call;
    exchange.segments = script?.segments;
    await exchange.sleep(script?.latencyMs ?? options.latencyMs);
    if (await this.#reach("headers")) return;
    if (this.#isWhole) await this.#awaitPace(this.#wholeTokens());
    const type = { "content-type": this.#speech.contentType };
    exchange.head(200, this.#framing, { ...type, ...this.#call.headers });
    this.#startedAt = performance.now();
    if (await this.#sayFrames()) return;
    await this.#flush();
    exchange.end();
  }

  /** Returns true when a fault ended the stream. */
  async #sayFrames(): Promise<boolean> {
    let events = 0;
    let isNearEnd = false;
    for (const frame of this.#speech.frames) {
      if (frame.isTerminal && !isNearEnd) {
        isNearEnd = true;
        if (await this.#reach("terminal")) return true;
      }
      if (await this.#reach(events)) return true;
      if (!this.#isWhole) await this.#awaitPace(frame.tokens);
      if (this.#call.exchange.gone) return true;
      await this.#say(frame);
      events += 1;
    }
    return this.#reach(events);
  }

  #wholeTokens(): number {
    this.#startedAt = performance.now();
    return [...this.#speech.frames].reduce((sum, frame) => sum + frame.tokens, 0);
  }

  async #awaitPace(tokens: number): Promise<void> {
    this.#tokens += tokens;
    if (this.#tokensPerSecond <= 0 || tokens === 0) return;
    await this.#flush();
    const dueAt = this.#startedAt + (this.#tokens * 1000) / this.#tokensPerSecond;
    await this.#call.exchange.sleep(dueAt - performance.now());
  }

  async #say(frame: Frame): Promise<void> {
    this.#pending.push(frame);
    this.#pendingCharacters += frame.bytes.length;
    if (this.#pendingCharacters >= BATCH_CHARACTERS) await this.#flush();
  }

  async #flush(): Promise<void> {
    const frames = this.#pending;
    if (frames.length === 0) return;
    this.#pending = [];
    this.#pendingCharacters = 0;
    const { exchange, entry } = this.#call;
    entry.firstByteAt ??= Date.now();
    await exchange.write(frames.map(({ bytes }) => bytes).join(""));
    if (exchange.gone) return;
    for (const { tokens, tells } of frames) {
      entry.sentEvents += 1;
      entry.sentTokens += tokens;
      if (tells) entry.told = tells;
    }
  }

  /** Injects the script's faults for this moment; returns true when the answer is over. */
  async #reach(moment: Moment): Promise<boolean> {
    const { exchange, script } = this.#call;
    if (!script || exchange.gone) return exchange.gone;
    const { stall, inject, injectRaw, error, cut } = script;
    if (![stall, inject, injectRaw, error, cut].some((fault) => fault?.at === moment)) return false;
    await this.#flush();
    if (stall?.at === moment) await exchange.sleep(stall.forMs ?? Number.POSITIVE_INFINITY);
    if (inject?.at === moment) await this.#inject(this.#speech.frameLine(inject.line));
    if (injectRaw?.at === moment) await this.#inject(injectRaw.bytes);
    if (error?.at === moment) return this.#fail(error.body);
    if (cut?.at === moment) return this.#cut(cut.how);
    return exchange.gone;
  }

  async #inject(bytes: string): Promise<void> {
    if (!this.#isWhole) await this.#call.exchange.write(bytes);
  }

  async #fail(body: unknown): Promise<boolean> {
    await this.#call.exchange.write(this.#speech.frameError(body));
    this.#close("cut");
    this.#call.exchange.end();
    return true;
  }

  async #cut(how: "reset" | "fin" | "end"): Promise<boolean> {
    const { exchange } = this.#call;
    this.#close(how === "end" ? "cut" : how);
    if (how === "reset") await exchange.reset();
    else if (how === "fin") exchange.fin();
    else exchange.end();
    return true;
  }

  #close(end: "cut" | "reset" | "fin"): void {
    const { entry } = this.#call;
    entry.end = end;
    entry.endedAt = Date.now();
  }
}
