import type { Model } from "../../backends/backend.ts";
import { withOnlyTools } from "../../backends/rules/parameter-rules.ts";
import type { Caller } from "../../core/callers/caller.ts";
import type {
  ChatRequest,
  GenerationParameters,
  ResponseFormat,
  SystemMessage,
  ToolDefinition,
} from "../../core/chat/chat-request.ts";
import { coversName } from "../../core/name-patterns.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Assistant, Grounding } from "../../knowledge/assistants/assistant.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import type { Tool } from "../../tools/tool.ts";
import { visibleTools } from "../../tools/visible-tools.ts";
import type { ChatTarget } from "../resolve-target.ts";
import type { AssistantServices } from "./assistant-services.ts";
import { CITE, groundingText, TOOLS_ARE_DATA } from "./grounding.ts";

/** A call that the gateway adds something to: an assistant's, or one whose client wants a search first. */
export interface AssistedRun {
  /** Undefined for a plain model. */
  readonly assistant: Assistant | undefined;
  /** How far the answer keeps to the passages; `off` where nothing is searched for the assistant. */
  readonly grounding: Grounding;
  /** The gateway's own tools that the model is offered, by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** The client's request with the assistant's instructions, parameters and tools; without passages. */
  readonly request: ChatRequest;
  /** Parameters of the request that the client has not sent, by their chat-completions names. */
  readonly notAsked: ReadonlySet<string>;
  /** What the client has sent and the assistant has no use for, by the same names. */
  readonly unused: readonly string[];
}

/**
 * Combines a client's request with what the assistant adds, whose tools take the place of the client's. A passthrough
 * caller gets nothing but the assistant's model. Throws `invalid_value` for a tool that it cannot see.
 */
export function prepareRun(
  services: AssistantServices,
  caller: Caller,
  { assistant, model }: ChatTarget,
  request: ChatRequest,
): AssistedRun {
  if (request.fileSearch !== undefined) refuseOwnSearch(caller);
  if (assistant === undefined || caller.passthrough) return withoutAssistant(request);
  const tools = offeredTools(services, { assistant, caller, model }, request);
  const hasKnowledge = assistant.vectorStoreIds.length > 0;
  const grounding = hasKnowledge
    ? (assistant.grounding ?? services.settings.RAG_GROUNDING_MODE)
    : "off";
  const system = systemMessage(assistant, grounding, tools.size > 0);
  const parameters = withDefaults(request.parameters, assistant);
  const offered = withOnlyTools(request, Array.from(tools.values(), toDefinition));
  return {
    assistant,
    grounding,
    tools,
    notAsked: new Set(namesNotAsked(request)),
    unused: [...namesUnused(request, offered)],
    request: {
      ...offered,
      messages: system === undefined ? request.messages : [system, ...request.messages],
      effort: request.effort ?? assistant.reasoningEffort ?? undefined,
      parameters,
    },
  };
}

function withoutAssistant(request: ChatRequest): AssistedRun {
  const messages = [systemText(CITE), ...request.messages];
  return {
    assistant: undefined,
    grounding: "off",
    tools: new Map(),
    notAsked: new Set(),
    unused: [],
    request: request.fileSearch === undefined ? request : { ...request, messages },
  };
}

/** The client's own search would reach all stores of the key's owner; the binding grants those of its assistant. */
function refuseOwnSearch(caller: Caller): void {
  if (caller.kind !== "key" || caller.assistantId === null) return;
  throw new ServiceError(
    "insufficient_permission",
    "This API key is bound to an assistant and searches its knowledge only. Leave the tool `file_search` out.",
    { param: "tools" },
  );
}

interface Offer {
  readonly assistant: Assistant;
  readonly caller: Caller;
  readonly model: Model;
}

function offeredTools(
  { tools: registry }: AssistantServices,
  { assistant, caller, model }: Offer,
  { toolsScope, toolChoice }: ChatRequest,
): ReadonlyMap<string, Tool> {
  const visible = visibleTools(registry, assistant, caller);
  checkScope(toolsScope, visible);
  if (!model.tools || toolChoice?.type === "none") return new Map();
  return new Map(
    visible
      .filter(({ name }) => toolsScope === undefined || coversName(toolsScope, name))
      .map((tool) => [tool.name, tool]),
  );
}

function checkScope(scope: readonly string[] | undefined, visible: readonly Tool[]): void {
  const unknown = scope?.find(
    (wanted) => !wanted.endsWith("*") && !visible.some(({ name }) => name === wanted),
  );
  if (unknown === undefined) return;
  throw new ServiceError(
    "invalid_value",
    `'metadata.ext.tools_scope' names '${unknown.slice(0, 64)}', which is no tool of this assistant that this caller may use; see GET /v1/tools.`,
    { param: "metadata.ext.tools_scope" },
  );
}

function toDefinition({ name, description, parameters }: Tool): ToolDefinition {
  return { name, description, parameters };
}

function systemMessage(
  assistant: Assistant,
  grounding: Grounding,
  hasTools: boolean,
): SystemMessage | undefined {
  // The text about passages says the same of tools.
  const alone = grounding === "off" && hasTools ? TOOLS_ARE_DATA : "";
  const texts = [assistant.instructions ?? "", groundingText(grounding, assistant), alone];
  const text = texts.filter((part) => part.trim() !== "").join("\n\n");
  return text === "" ? undefined : systemText(text);
}

function systemText(text: string): SystemMessage {
  return { role: "system", content: [{ type: "text", text }] };
}

/** The client's parameters win. */
function withDefaults(
  parameters: GenerationParameters,
  { temperature, topP, responseFormat }: Assistant,
): GenerationParameters {
  const hasOwnFormat = parameters.extra?.["response_format"] !== undefined;
  return {
    ...parameters,
    temperature: parameters.temperature ?? temperature ?? undefined,
    topP: parameters.topP ?? topP ?? undefined,
    responseFormat:
      parameters.responseFormat ?? (hasOwnFormat ? undefined : toResponseFormat(responseFormat)),
  };
}

/** Reads the stored format, which was checked when the assistant was saved. */
function toResponseFormat(format: JsonObject | null): ResponseFormat | undefined {
  if (format?.["type"] === "json_object") return { type: "json_object" };
  const schema = format?.["json_schema"];
  if (format?.["type"] !== "json_schema" || !isJsonObject(schema)) return undefined;
  const { name, schema: inner, strict, description } = schema;
  return {
    type: "json_schema",
    name: typeof name === "string" ? name : "answer",
    schema: isJsonObject(inner) ? inner : undefined,
    ...(typeof strict === "boolean" && { strict }),
    ...(typeof description === "string" && { description }),
  };
}

/** A client is not told that a parameter was ignored that it has not sent. */
function* namesNotAsked({ parameters, effort, tools, toolChoice }: ChatRequest) {
  if (parameters.temperature === undefined) yield "temperature";
  if (parameters.topP === undefined) yield "top_p";
  if (parameters.responseFormat === undefined) yield "response_format";
  if (effort === undefined) yield "reasoning_effort";
  if (tools.length === 0) yield "tools";
  if (toolChoice === undefined) yield "tool_choice";
}

function* namesUnused(asked: ChatRequest, offered: ChatRequest) {
  if (asked.tools.length > 0) yield "tools";
  if (asked.toolChoice !== offered.toolChoice) yield "tool_choice";
}
