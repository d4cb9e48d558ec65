import type { CallerMemory } from "../../../../core/callers/caller-memory.ts";
import { ServiceError } from "../../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../../lib/json/json.ts";
import { checkItemCount } from "../../../shared/check-item-count.ts";
import { type RememberedTurn, recallTurn, responseIdOfItem } from "../remembered-response.ts";
import type { ResponsesRequest } from "../wire.ts";

type Path = readonly PropertyKey[];
export type Item = Exclude<ResponsesRequest["input"], string>[number];

/** An item of the conversation, and its path in the request, or the path of the reference to it. */
export interface PlacedItem {
  readonly item: Item;
  readonly path: Path;
}

/**
 * Returns the whole conversation as items: first the conversation that the request continues, then the request's own
 * items. References are replaced by the items of earlier answers. Throws `previous_response_not_found` or
 * `item_not_found`.
 */
export function recallItems(
  {
    input,
    previous_response_id: previousId,
  }: Pick<ResponsesRequest, "input" | "previous_response_id">,
  memory: CallerMemory | undefined,
): PlacedItem[] {
  const recollection = new Recollection(memory);
  const items = previousId ? recollection.conversationUpTo(previousId) : [];
  for (const [index, item] of itemsOf(input).entries()) {
    const said = recollection.resolve(item);
    if (said === "forgotten") throw itemNotFound(item);
    if (said !== "told") items.push({ item: said, path: ["input", index] });
  }
  if (previousId) checkItemCount({ input: items.map(({ item }) => item as JsonObject) });
  return items;
}

class Recollection {
  readonly #memory: CallerMemory | undefined;
  /** The output of each response that was looked up, by response id. */
  readonly #outputs = new Map<string, readonly Item[]>();
  /** Ids of the answer items that are already in the conversation. */
  readonly #told = new Set<unknown>();

  constructor(memory: CallerMemory | undefined) {
    this.#memory = memory;
  }

  conversationUpTo(responseId: string): PlacedItem[] {
    const path = ["previous_response_id"];
    const placed: PlacedItem[] = [];
    const add = (item: Item) => {
      const said = this.resolve(item);
      if (said === "forgotten") throw previousNotFound(responseId);
      if (said !== "told") placed.push({ item: said, path });
    };
    for (const { input, output } of this.#turnsUpTo(responseId)) {
      itemsOf(JSON.parse(input)).forEach(add);
      for (const item of output) {
        this.#told.add(item["id"]);
        placed.push({ item, path });
      }
    }
    return placed;
  }

  /** Returns the item itself, or the one that it refers to; `told` when the conversation already has that one. */
  resolve(item: Item): Item | "told" | "forgotten" {
    if (!isReference(item)) return item;
    const id = item["id"];
    if (this.#told.has(id)) return "told";
    const responseId = typeof id === "string" ? responseIdOfItem(id) : undefined;
    const output = responseId === undefined ? undefined : this.#outputOf(responseId);
    const said = output?.find((one) => one["id"] === id);
    if (said === undefined) return "forgotten";
    this.#told.add(id);
    return said;
  }

  /** Returns the turns in order, from the first one. */
  #turnsUpTo(responseId: string): { readonly input: string; readonly output: readonly Item[] }[] {
    const turns = [];
    for (let id: string | undefined = responseId; id !== undefined; ) {
      const found = this.#find(id);
      if (found === undefined) throw previousNotFound(responseId);
      turns.push({ input: found.input, output: this.#readOutput(id, found) });
      id = found.previousId;
    }
    return turns.reverse();
  }

  #outputOf(responseId: string): readonly Item[] | undefined {
    const known = this.#outputs.get(responseId);
    if (known !== undefined) return known;
    const found = this.#find(responseId);
    return found && this.#readOutput(responseId, found);
  }

  #readOutput(responseId: string, turn: RememberedTurn): readonly Item[] {
    const output: readonly Item[] = JSON.parse(turn.output);
    this.#outputs.set(responseId, output);
    return output;
  }

  #find(responseId: string): RememberedTurn | undefined {
    return this.#memory && recallTurn(this.#memory, responseId);
  }
}

function itemsOf(input: ResponsesRequest["input"]): readonly Item[] {
  return typeof input === "string" ? [{ role: "user", content: input }] : input;
}

/** Recognises a reference by its type, or by an id without other content. */
function isReference(item: Item): boolean {
  if (!isJsonObject(item)) return false;
  if (item["type"] === "item_reference") return true;
  return (
    item["type"] == null && item["id"] != null && item["role"] == null && item["content"] == null
  );
}

const MAX_SHOWN_LENGTH = 100;

function previousNotFound(id: string): ServiceError {
  return new ServiceError(
    "previous_response_not_found",
    `Previous response with id '${id.slice(0, MAX_SHOWN_LENGTH)}' not found. ` +
      "Responses are remembered only for a while: send the whole conversation in 'input'.",
    { param: "previous_response_id" },
  );
}

function itemNotFound({ id }: Item): ServiceError {
  return new ServiceError(
    "item_not_found",
    `Item with id '${String(id).slice(0, MAX_SHOWN_LENGTH)}' not found. ` +
      "Items are remembered only for a while, and not with `store` set to false: send the item itself in 'input'.",
    { param: "input" },
  );
}
