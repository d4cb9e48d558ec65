import type { ChatRequest } from "../../core/chat/chat-request.ts";
import { foldEvents } from "../../core/chat/fold-events.ts";
import { answerChat } from "../../gateway/answer-chat.ts";
import { type EmbeddingGateway, embed } from "../../gateway/embed.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { meterEmbedding } from "../../gateway/meter/meter-embedding.ts";
import type { Assistant } from "../../knowledge/assistants/assistant.ts";
import { chooseAssistant } from "../../knowledge/assistants/choose-assistant.ts";
import { toAbortSignal } from "../../lib/cancellation.ts";
import { makeStepCalls, noKey, type StepCallParts } from "./make-step-calls.ts";
import type { ModelName, StepModels } from "./step-models.ts";
import { StepRefusal, toStepFailure } from "./to-step-failure.ts";

export interface StepModelParts extends StepCallParts {
  readonly gateway: Gateway & EmbeddingGateway;
}

export function createStepModels(parts: StepModelParts): StepModels {
  const { gateway } = parts;
  const make = makeStepCalls(parts);
  const found = async (name: ModelName) => {
    const assistant = await findModel(parts, name);
    if (assistant !== undefined || name.kind !== "assistant") return assistant;
    throw new StepRefusal(
      "model_not_found",
      `There is no assistant '${shown(name.model)}' that the workflow's key may call; see GET /v1/models.`,
    );
  };
  return {
    chat: (call, request) =>
      make(call, {
        channel: "chat",
        bytes: bytesOf(request),
        async work(client) {
          const reply = await answerChat(gateway, client, request);
          const answer = await foldEvents(await reply.events);
          return { answer, model: reply.model() };
        },
      }),
    embed: (call, request) =>
      make(call, {
        channel: "embeddings",
        bytes: request.inputs.reduce((sum, { length }) => sum + length, 0),
        work: (client) => embed(gateway, client, request),
      }),
    search: (call, { model, query, search }) =>
      make(call, {
        channel: "embeddings",
        bytes: query.length,
        async work(client) {
          const metered = { model, inputs: [query] };
          const signal = toAbortSignal(client.signal);
          const { result } = await meterEmbedding(gateway, client, metered, (onEmbedded) =>
            search({ signal, onEmbedded }),
          );
          return result;
        },
      }),
    fault: (name) => found(name).then(() => undefined, toStepFailure),
    async assistant(keyId, model) {
      const failed = (thrown: unknown) => Promise.reject(toStepFailure(thrown));
      return (await found({ keyId, model, kind: "assistant" }).catch(failed)) as Assistant;
    },
  };
}

/**
 * Returns the assistant of a name, undefined for a model. A name that neither has is refused, unlike a client's, which
 * takes the default model: a workflow asks for thousands of rows what nobody looks at. Rejects.
 */
async function findModel(
  { gateway, findKeyCaller }: StepModelParts,
  { keyId, model, kind }: ModelName,
): Promise<Assistant | undefined> {
  if (keyId === null) throw noKey();
  const caller = await findKeyCaller(keyId);
  if (kind === "embeddings") {
    const names = await gateway.embeddings.list();
    await gateway.embeddings.resolve(model);
    if (model !== undefined && names.length > 0) refuseUnlisted(names.some(isNamed(model)), model);
    return undefined;
  }
  await gateway.models.list();
  const isListed = (name: string) => gateway.models.find(name) !== undefined;
  const { assistants } = gateway;
  // The name of an assistant is asked for as such, also where a model has the same.
  const isModel = kind === "assistant" ? () => false : isListed;
  const assistant = assistants && chooseAssistant(assistants.known, isModel, caller, model);
  if (assistant !== undefined || model === undefined || kind === "assistant") return assistant;
  // While an engine does not answer nobody knows its models.
  if (gateway.models.isComplete()) refuseUnlisted(isListed(model), model);
  return undefined;
}

/** Ollama's `:latest` may be omitted. */
function isNamed(model: string): (name: string) => boolean {
  return (name) => name === model || name === `${model}:latest`;
}

function refuseUnlisted(isListed: boolean, model: string): void {
  if (isListed) return;
  throw new StepRefusal(
    "model_not_found",
    `There is no model or assistant '${shown(model)}' that the workflow's key may call; see GET /v1/models.`,
  );
}

function shown(name: string | undefined): string {
  return (name ?? "").slice(0, 80);
}

/** Characters are near enough to bytes for the budget of bodies. */
function bytesOf({ messages, parameters }: ChatRequest): number {
  let bytes = 0;
  for (const { content } of messages) {
    for (const part of content) if (part.type === "text") bytes += part.text.length;
  }
  const { responseFormat } = parameters;
  if (responseFormat?.type !== "json_schema") return bytes;
  return bytes + JSON.stringify(responseFormat.schema ?? null).length;
}
