import type { Target } from "../backends/models/model-catalog.ts";
import type { Caller } from "../core/callers/caller.ts";
import { type ChatRequest, MAX_FALLBACKS } from "../core/chat/chat-request.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Assistant } from "../knowledge/assistants/assistant.ts";
import { chooseAssistant } from "../knowledge/assistants/choose-assistant.ts";
import { refuseBoundKey } from "./admit.ts";
import { isServerFailure } from "./fall-back.ts";
import type { Gateway } from "./gateway.ts";

/** The model that answers, for an assistant or by itself. */
export interface ChatTarget extends Target {
  readonly assistant?: Assistant | undefined;
}

const NO_ASSISTANT = "applies to assistants only; remove it, or name an assistant.";
const NO_OWN_TOOLS =
  "has no effect for a key with passthrough, which gets no tools of an assistant; remove it.";

/** `fixed` for names that nobody types anew for each call: no default of another backend may stand in for them. */
type Binding = "fixed" | undefined;

type Models = Pick<Gateway, "models" | "fallbacks">;

type Question = Pick<ChatRequest, "model" | "toolsScope" | "fallbacks">;

/**
 * Finds the target for the client's model name, synchronously when the models are known. A listed model costs one
 * lookup; only other names can be assistants. Throws or rejects with a `ServiceError` that names `model` or the
 * unsuitable field.
 *
 * @param binding is `fixed` where a workflow names the model.
 */
export function resolveTarget(
  gateway: Pick<Gateway, "models" | "assistants" | "fallbacks">,
  caller: Caller,
  question: Question,
  binding?: Binding,
): ChatTarget | Promise<ChatTarget> {
  const { models, assistants } = gateway;
  const { model } = question;
  if (assistants === undefined) {
    refuseBoundKey(caller);
    return plainTarget(gateway, question, binding);
  }
  const isBound = caller.kind === "key" && caller.assistantId !== null;
  if (isBound) refuseFallbacks(question);
  else {
    const listed = model === undefined ? undefined : models.find(model);
    if (listed !== undefined && question.toolsScope === undefined) return listed;
    if (listed !== undefined || model === undefined) return plainTarget(gateway, question, binding);
  }
  const isListed = (name: string) => models.find(name) !== undefined;
  const assistant = chooseAssistant(assistants.known, isListed, caller, model);
  if (assistant === undefined) return plainTarget(gateway, question, binding);
  if (caller.passthrough && question.toolsScope !== undefined) refuseToolsScope(NO_OWN_TOOLS);
  return assistantTarget(gateway, question, assistant);
}

function assistantTarget(
  gateway: Models,
  question: Question,
  assistant: Assistant,
): ChatTarget | Promise<ChatTarget> {
  const asked = { ...question, model: assistant.model ?? undefined };
  const target = resolveModel(gateway, asked, "fixed");
  return target instanceof Promise
    ? target.then((resolved) => ({ ...resolved, assistant }))
    : { backend: target.backend, model: target.model, assistant };
}

/** A model that the client chooses would get the assistant's knowledge, and answer at its operator's cost. */
function refuseFallbacks({ fallbacks = [] }: Question): void {
  if (fallbacks.length === 0) return;
  throw new ServiceError(
    "assistant_not_allowed",
    "This API key is bound to an assistant and chooses no other model. Leave out `ext.fallbacks`, or use a key whose `assistant_id` is null.",
    { param: "ext.fallbacks" },
  );
}

function plainTarget(
  gateway: Models,
  question: Question,
  binding: Binding,
): Target | Promise<Target> {
  const target = resolveModel(gateway, question, binding);
  const { toolsScope } = question;
  if (toolsScope === undefined) return target;
  const refuse = () => refuseToolsScope(NO_ASSISTANT);
  return target instanceof Promise ? target.then(refuse) : refuse();
}

/**
 * Returns the model of the question. While its server has never been reached, nothing is known of it, and the first
 * listed fallback stands in, as it does for a known model that cannot be reached.
 */
function resolveModel(
  { models, fallbacks: configured = [] }: Models,
  { model, fallbacks = configured }: Question,
  binding: Binding,
): Target | Promise<Target> {
  const target = models.resolve(model, binding);
  if (!(target instanceof Promise)) return target;
  return target.catch((thrown: unknown) => {
    if (!isServerFailure(thrown)) throw thrown;
    for (const name of fallbacks.slice(0, MAX_FALLBACKS)) {
      const other = models.find(name);
      if (other !== undefined) return other;
    }
    throw thrown;
  });
}

function refuseToolsScope(reason: string): never {
  const param = "metadata.ext.tools_scope";
  throw new ServiceError("unsupported_parameter", `${param} ${reason}`, { param });
}
