import { markSeal } from "../../core/chat/seal.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { rewriteJson } from "../../lib/json/json-strings.ts";
import { rawMember } from "../../lib/json/raw-json.ts";
import type { EventWriter } from "../shared/event-writer.ts";
import { PartialArguments } from "./partial-arguments.ts";

/** Removes the white space between the tokens of a JSON text; all other characters stay the same. */
function compactJson(text: string): string {
  return rewriteJson(text, (part) => part.replace(/\s+/g, ""));
}

/**
 * The maximum number of characters of the vendor's answer id in a generated call id; ids have at most 64 characters.
 */
const MAX_SEED_LENGTH = 40;

/** Reads the calls of one answer. A call comes whole, or as its name followed by its arguments value by value. */
export class CallReader {
  readonly #writer: EventWriter;
  readonly #callIds = new Set<string>();
  #open: { readonly block: number; readonly partial: PartialArguments } | undefined;

  constructor(writer: EventWriter) {
    this.#writer = writer;
  }

  /** True after a call was written. */
  get any(): boolean {
    return this.#callIds.size > 0;
  }

  /** True when a call was written and none is still open. */
  get hasWhole(): boolean {
    return this.any && this.#open === undefined;
  }

  /**
   * Reads a call or a part of one.
   * @param raw the JSON text of the call, in which numbers are exact.
   * @param signature the vendor's seal on the call.
   * @param seed distinguishes this answer from others; generated call ids contain it.
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

  /** Writes the arguments and the end of the open call. */
  end(args?: string): void {
    if (this.#open === undefined) return;
    const { block, partial } = this.#open;
    this.#open = undefined;
    const isWhole = args !== undefined && args !== "null";
    // The vendor formats non-streaming answers over many lines.
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
