import { markSeal } from "../../core/seal.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import { rawMember } from "../../lib/raw-json.ts";
import type { EventWriter } from "../shared/event-writer.ts";
import { PartialArguments } from "./partial-arguments.ts";

const STRING_OR_SPACE = /"[^"\\]*(?:\\.[^"\\]*)*"|\s+/g;

/** A JSON text without the spaces between its parts, else in the very characters it came in. */
function compactJson(text: string): string {
  return text.replace(STRING_OR_SPACE, (found) => (found.startsWith('"') ? found : ""));
}

/** Characters of the vendor's answer id that go into a call id of ours; ids have 64 characters at most. */
const MAX_SEED_LENGTH = 40;

/** Reads the calls of one answer. A call comes whole, or as its name and then its arguments value by value. */
export class CallReader {
  readonly #writer: EventWriter;
  readonly #callIds = new Set<string>();
  #open: { readonly block: number; readonly partial: PartialArguments } | undefined;

  constructor(writer: EventWriter) {
    this.#writer = writer;
  }

  /** True when a call was written. */
  get any(): boolean {
    return this.#callIds.size > 0;
  }

  /** True when a call was written and none is still open. */
  get hasWhole(): boolean {
    return this.any && this.#open === undefined;
  }

  /**
   * @param raw the JSON text of the call, in which numbers are whole.
   * @param signature the vendor's seal on the call.
   * @param seed tells this answer from others; call ids are made of it where the vendor gives none.
   */
  read(
    call: JsonObject,
    raw: string,
    { signature, seed }: { readonly signature: unknown; readonly seed: string },
  ): void {
    const { id, name, partialArgs, willContinue } = call;
    if (typeof name === "string" && name !== "") {
      this.end();
      const seal = typeof signature === "string" && signature !== "" ? signature : undefined;
      const block = this.#writer.startCall(
        this.#callId(id, seed),
        name,
        seal && markSeal("gemini", seal),
      );
      this.#open = { block, partial: new PartialArguments() };
    } else if (this.#open === undefined) {
      throw new ServiceError("upstream_error", "The engine sent a tool call without a name.");
    }
    this.#open?.partial.add(partialArgs);
    if (willContinue !== true) this.end(rawMember(raw, "args"));
  }

  /** Writes the arguments of the call that is open, and its end. */
  end(args?: string): void {
    if (this.#open === undefined) return;
    const { block, partial } = this.#open;
    this.#open = undefined;
    const isWhole = args !== undefined && args !== "null";
    // The vendor lays its whole answers out over many lines.
    this.#writer.callDelta(block, isWhole ? compactJson(args) : partial.toText());
    this.#writer.endCall(block);
  }

  #callId(id: unknown, seed: string): string {
    const stamp = seed.replace(/[^\w-]/g, "").slice(0, MAX_SEED_LENGTH);
    const made = `call_${stamp}_${this.#callIds.size}`;
    const callId = typeof id === "string" && id !== "" && !this.#callIds.has(id) ? id : made;
    this.#callIds.add(callId);
    return callId;
  }
}
