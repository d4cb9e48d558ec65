import { ServiceError } from "../../../core/service-error.ts";

/** Calls that wait hold so many characters of arguments at most. */
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024;

export interface WaitingCall {
  readonly block: number;
  readonly callId: string;
  readonly name: string;
  /** What has come of its arguments. */
  arguments: string;
  hasEnded: boolean;
}

/** Calls that came while another one was being written: the format has one block open at a time. */
export class WaitingCalls {
  readonly #calls = new Map<number, WaitingCall>();
  #characters = 0;

  add(block: number, callId: string, name: string): void {
    this.#calls.set(block, { block, callId, name, arguments: "", hasEnded: false });
  }

  /** Throws `upstream_error` when there is more than an answer can sensibly hold. */
  append(block: number, text: string): void {
    const call = this.#calls.get(block);
    if (call === undefined) return;
    this.#characters += text.length;
    if (this.#characters > MAX_WAITING_CHARACTERS) {
      throw new ServiceError("upstream_error", "The engine's parallel tool calls are too long.");
    }
    call.arguments += text;
  }

  end(block: number): void {
    const call = this.#calls.get(block);
    if (call !== undefined) call.hasEnded = true;
  }

  /** The call that came first of those that wait; undefined when none does. */
  next(): WaitingCall | undefined {
    const [call] = this.#calls.values();
    if (call === undefined) return undefined;
    this.#calls.delete(call.block);
    this.#characters -= call.arguments.length;
    return call;
  }
}
