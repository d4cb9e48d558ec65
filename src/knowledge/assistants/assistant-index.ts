import type { Caller } from "../../core/callers/caller.ts";
import { mayUse, type Visibility } from "../rights.ts";
import type { Assistant, KnownAssistants } from "./assistant.ts";
import { nameKey } from "./name-key.ts";

/** No name of an assistant is longer, and a longer word of a request is not worth normalizing. */
const MAX_WORD_LENGTH = 1_024;

/**
 * Assistants by every word that names them: id, name and slug. Words are compared as `nameKey` has them, so that no
 * other spelling of an assistant's name counts as a name that nothing has.
 */
export class AssistantIndex implements KnownAssistants {
  readonly #byId = new Map<string, Assistant>();
  readonly #idByWord = new Map<string, string>();

  /** Adds an assistant, or replaces the one of the same id. */
  set(assistant: Assistant): void {
    this.delete(assistant.id);
    this.#byId.set(assistant.id, assistant);
    for (const word of wordsOf(assistant)) this.#idByWord.set(word, assistant.id);
  }

  delete(id: string): void {
    const known = this.#byId.get(id);
    if (known === undefined) return;
    this.#byId.delete(id);
    for (const word of wordsOf(known)) {
      // Another assistant may have taken the name since.
      if (this.#idByWord.get(word) === id) this.#idByWord.delete(word);
    }
  }

  /** The ids of all assistants. */
  ids(): readonly string[] {
    return [...this.#byId.keys()];
  }

  countByVisibility(): Readonly<Record<Visibility, number>> {
    const counts = { private: 0, everyone: 0 };
    for (const { visibility } of this.#byId.values()) counts[visibility] += 1;
    return counts;
  }

  find(name: string, caller: Caller): Assistant | undefined {
    if (this.#byId.size === 0 || name.length > MAX_WORD_LENGTH) return undefined;
    const word = nameKey(name);
    const found = this.#byId.get(this.#idByWord.get(word) ?? "");
    if (found === undefined || !mayCall(found, caller)) return undefined;
    return word === nameKey(found.id) || isNamedFor(found, caller) ? found : undefined;
  }

  list(caller: Caller): readonly Assistant[] {
    return [...this.#byId.values()]
      .filter((assistant) => mayCall(assistant, caller))
      .sort((one, other) => (shownName(one) < shownName(other) ? -1 : 1));
  }
}

/** The name under which clients see an assistant. */
export function shownName({ name, id }: Pick<Assistant, "name" | "id">): string {
  return name ?? id;
}

/** The word by which this caller reaches an assistant. */
export function callableName(assistant: Assistant, caller: Caller): string {
  return isNamedFor(assistant, caller) ? shownName(assistant) : assistant.id;
}

/**
 * Whether an assistant answers this caller by its name. Anybody may give a private one any name: by the name of a model
 * that is not listed it would answer the calls of administrators, who may use it. An id cannot be taken.
 */
function isNamedFor({ ownerId, visibility }: Assistant, caller: Caller): boolean {
  const isBound = caller.kind === "key" && caller.assistantId !== null;
  return isBound || visibility === "everyone" || ownerId === caller.ownerId;
}

/** Binding a key is the grant: whoever owns the assistant, the key may call it, and no other one. */
function mayCall(assistant: Assistant, caller: Caller): boolean {
  if (caller.kind === "key" && caller.assistantId !== null) {
    return caller.assistantId === assistant.id;
  }
  return mayUse(assistant, caller);
}

function wordsOf({ id, name, slug }: Assistant): readonly string[] {
  const words = [nameKey(id), nameKey(slug)];
  if (name !== null) words.push(nameKey(name));
  return words;
}
