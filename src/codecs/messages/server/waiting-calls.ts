import { ServiceError } from "../../../core/service-error.ts";

/** The maximum number of characters of arguments held for waiting calls. */
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024;

export interface WaitingCall {
  readonly block: number;
  readonly callId: string;
  readonly name: string;
  /** The arguments received so far. */
  arguments: string;
  hasEnded: boolean;
}

/** Calls that started while another one was being written: the format has one block open at a time. */
export class WaitingCalls {
  readonly #calls = new Map<number, WaitingCall>();
  #characters = 0;

  add(block: number, callId: string, name: string): void {
    this.#calls.set(block, { block, callId, name, arguments: "", hasEnded: false });
  }

  /** Throws `upstream_error` when the arguments exceed any sensible answer. */
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

  /** Removes and returns the waiting call that came first; undefined when none waits. */
  next(): WaitingCall | undefined {
    const [call] = this.#calls.values();
    if (call === undefined) return undefined;
    this.#calls.delete(call.block);
    this.#characters -= call.arguments.length;
    return call;
  }
}
