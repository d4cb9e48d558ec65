import type { Caller, KeyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Assistant, KnownAssistants } from "./assistant.ts";
import { nameKey } from "./name-key.ts";

const ASSISTANT_PREFIX = "asst_";

/**
 * Returns the assistant that answers a call by its `model`; undefined when a model answers. A listed model's name means
 * the model, even if an assistant had the name before. A key that is bound to an assistant gets that one or an error,
 * and never a model. Throws `model_not_found` for the id of an assistant that does not exist for the caller, and
 * `assistant_not_allowed` when a bound key names something else that exists.
 */
export function chooseAssistant(
  known: KnownAssistants,
  isListedModel: (name: string) => boolean,
  caller: Caller,
  name: string | undefined,
): Assistant | undefined {
  if (caller.kind === "key" && caller.assistantId !== null) {
    const own = ownAssistant(known, caller, caller.assistantId);
    if (name !== undefined) refuseOthers(known, isListedModel, caller, name);
    return own;
  }
  if (name === undefined || isListedModel(name)) return undefined;
  const found = known.find(name, caller);
  if (found === undefined) refuseUnknownId(name);
  return found;
}

function ownAssistant(known: KnownAssistants, caller: KeyCaller, id: string): Assistant {
  const own = known.find(id, caller);
  if (own !== undefined) return own;
  throw new ServiceError(
    "model_not_found",
    "The assistant that this API key is bound to was deleted. Bind the key to another one, or use another key.",
    { param: "model" },
  );
}

/** Throws unless the name means the key's own assistant, or nothing. */
function refuseOthers(
  known: KnownAssistants,
  isListedModel: (name: string) => boolean,
  caller: KeyCaller,
  name: string,
): void {
  // Its own name is first: a model that gets the same name later takes nothing from the key's clients.
  if (known.find(name, caller) !== undefined) return;
  if (isListedModel(name) || known.find(name, { ...caller, assistantId: null }) !== undefined) {
    throw new ServiceError(
      "assistant_not_allowed",
      "This API key is bound to an assistant and calls no other assistant or model. Leave out `model`, or use a key whose `assistant_id` is null.",
      { param: "model" },
    );
  }
  refuseUnknownId(name);
}

function refuseUnknownId(name: string): void {
  if (!nameKey(name.slice(0, 64)).startsWith(ASSISTANT_PREFIX)) return;
  throw new ServiceError("model_not_found", "There is no such assistant; see GET /v1/models.", {
    param: "model",
  });
}
