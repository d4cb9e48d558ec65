import { ServiceError } from "../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { JsonProgress } from "../../../lib/json/json-progress.ts";
import type { EventWriter } from "../../shared/event-writer.ts";

/**
 * The maximum number of characters of the vendor's answer id in a generated call id; ids have at most 64 characters.
 */
const MAX_SEED_LENGTH = 40;

interface Call {
  /** The vendor's id; empty when there is none. */
  readonly id: string;
  /** Undefined until the name is known. */
  block: number | undefined;
  /** Arguments that came before the name. */
  pending: string;
  readonly progress: JsonProgress;
}

/** A piece of a call, or a whole one. */
export interface Fragment {
  /** Which call it belongs to where it names none itself. */
  readonly place: number;
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/**
 * Assembles tool calls from fragments. Calls may come whole or in pieces, interleaved, without an index, without an id,
 * with id and name in every piece, or all with the same index.
 */
export class ToolCallReader {
  readonly #writer: EventWriter;
  readonly #calls: Call[] = [];
  readonly #byIndex = new Map<number, Call>();
  readonly #callIds = new Set<string>();

  constructor(writer: EventWriter) {
    this.#writer = writer;
  }

  /** True after a call was written. */
  get any(): boolean {
    return this.#callIds.size > 0;
  }

  /**
   * Whether this text interrupts the arguments of an open call, which continue after it. Before the arguments begin, only
   * white space does: a call may have no arguments.
   */
  isWithinCall(text: string): boolean {
    const isBlank = text.trim() === "";
    return this.#calls.some((call) => {
      if (!this.#isOpen(call)) return false;
      const progress = call.progress.read();
      return progress === "within" || (progress === "before" && isBlank);
    });
  }

  /** Writes the fragments that go on with open calls, and returns the others. */
  continue(values: readonly unknown[], seed: string): readonly Fragment[] {
    const others: Fragment[] = [];
    for (const [position, value] of values.entries()) {
      if (!isJsonObject(value)) continue;
      const place = values.length === 1 ? this.#calls.length - 1 : position;
      const fragment = { place, ...readFragment(value) };
      const call = this.#find(fragment);
      if (call !== undefined && this.#isOpen(call)) this.#write(call, fragment, seed);
      else others.push(fragment);
    }
    return others;
  }

  /**
   * Writes the calls in these fragments.
   * @param seed distinguishes this answer from others; generated call ids contain it.
   */
  read(fragments: readonly Fragment[], seed: string): void {
    for (const fragment of fragments) {
      this.#write(this.#find(fragment) ?? this.#add(fragment), fragment, seed);
    }
  }

  /** Ends the answer. Throws for a call that has arguments but no name. */
  end(): void {
    if (this.#calls.some((call) => call.pending !== "")) {
      throw new ServiceError("upstream_error", "The engine sent a tool call without a name.");
    }
  }

  #isOpen({ block }: Call): boolean {
    return block !== undefined && this.#writer.isCallOpen(block);
  }

  #find({ index, id, name, place }: Fragment): Call | undefined {
    if (index !== undefined) {
      const call = this.#byIndex.get(index);
      if (call === undefined || isAnother(call, id, name)) return undefined;
      return call;
    }
    if (id !== "") return this.#calls.find((call) => call.id === id);
    const call = this.#calls[place];
    return name === "" || call?.progress.read() === "within" ? call : undefined;
  }

  #add({ index, id }: Fragment): Call {
    const call: Call = {
      ...{ id, block: undefined, pending: "" },
      progress: new JsonProgress(),
    };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  #write(call: Call, fragment: Fragment, seed: string): void {
    const { name } = fragment;
    if (call.block === undefined && name !== "") {
      call.block = this.#writer.startCall(this.#callId(call, seed), name);
    }
    const text = call.pending + fragment.arguments;
    if (call.block === undefined) {
      call.pending = text;
      return;
    }
    call.pending = "";
    if (text === "") return;
    if (!this.#writer.isCallOpen(call.block)) {
      if (text.trim() === "") return;
      throw new ServiceError(
        "upstream_error",
        "The engine continued a tool call that it had ended.",
      );
    }
    call.progress.add(text);
    this.#writer.callDelta(call.block, text);
  }

  #callId({ id }: Call, seed: string): string {
    const stamp = seed.replace(/[^\w-]/g, "").slice(0, MAX_SEED_LENGTH);
    const made = `call_${stamp}_${this.#calls.length - 1}`;
    const callId = id === "" || this.#callIds.has(id) ? made : id;
    this.#callIds.add(callId);
    return callId;
  }
}

/**
 * Reports whether a fragment starts another call. Vendors that give every call the index 0 send each call whole. Others
 * repeat the name in every fragment of a call, or give each an id of its own.
 */
function isAnother(call: Call, id: string, name: string): boolean {
  const hasOtherId = id !== "" && call.id !== "" && id !== call.id;
  if (hasOtherId && name !== "") return true;
  const isMarked = hasOtherId || (id === "" && name !== "");
  return isMarked && call.progress.read() === "after";
}

function readFragment(value: JsonObject): Omit<Fragment, "place"> {
  const { index, id, function: named } = value;
  const { name, arguments: text } = isJsonObject(named) ? named : {};
  return {
    index: typeof index === "number" ? index : undefined,
    id: typeof id === "string" ? id : "",
    name: typeof name === "string" ? name : "",
    arguments: readArguments(text),
  };
}

/** Reads the arguments. Some engines send them as an object. */
function readArguments(value: unknown): string {
  if (typeof value === "string") return value;
  return isJsonObject(value) ? JSON.stringify(value) : "";
}
