import { z } from "zod";
import { chatCompletionsClient } from "../../codecs/chat-completions/client.ts";
import { readContextOverflow } from "../../codecs/shared/errors/openai-overflow.ts";
import type { ChatRequest } from "../../core/chat/chat-request.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import type { Backend, CallOptions, Model } from "../backend.ts";
import { isChatModelName } from "../models/model-traits.ts";
import { TELLING_SYSTEM, withoutEffort } from "../rules/concessions.ts";
import type { EffortRule } from "../rules/effort-rule.ts";
import { LOCAL_PARAMETERS, withoutTools } from "../rules/parameter-rules.ts";
import { type ChatEngine, createChat } from "../run-chat.ts";
import { askCount } from "../upstream/ask-count.ts";
import { askStatus, askUpstream } from "../upstream/ask-upstream.ts";
import { parseReply } from "../upstream/parse-reply.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { readLlamaCppRefusal } from "./llama-cpp-refusal.ts";

const NAME = "vllm";

/** Old engines support only these three levels, and models differ in the name of the switch. */
export const VLLM_EFFORT: EffortRule = {
  table: { none: "off", low: "low", medium: "medium", high: "high", max: "high" },
  fields(setting, _model, { parameters }) {
    const thinks = setting !== "off";
    const asked = parameters.extra?.["chat_template_kwargs"];
    const kwargs = isJsonObject(asked) ? asked : {};
    return {
      chat_template_kwargs: { ...kwargs, enable_thinking: thinks, thinking: thinks },
      ...(setting !== "off" && setting !== "on" && { reasoning_effort: setting }),
    };
  },
};

const modelCards = z.object({
  data: z.array(
    z.object({
      id: z.string().min(1),
      created: z.number().int().nonnegative().catch(0),
      owned_by: z.string().catch(NAME),
      max_model_len: z.number().int().positive().optional().catch(undefined),
      simulated: z.literal(true).optional().catch(undefined),
      // From llama.cpp: the context the server was started with, not the one the model was trained on.
      meta: z.object({ n_ctx: z.number().int().positive() }).optional().catch(undefined),
    }),
  ),
});
const tokenCount = z
  .object({ count: z.number().int().nonnegative() })
  .transform(({ count }) => count);

/** Creates the backend of the GPU-server engine, and of any server with its format. */
export function createVllm(upstream: Upstream): Backend {
  const engine: ChatEngine = {
    upstream,
    path: () => "/v1/chat/completions",
    codec: chatCompletionsClient,
    parameters: LOCAL_PARAMETERS,
    effort: () => VLLM_EFFORT,
    concessions: [
      // Models with their own tokenizer have no template and refuse its arguments.
      withoutEffort((message) => /chat_template|reasoning_effort/i.test(message)),
      // Without a tool parser none of the engine's models accepts tools.
      { isCause: (message) => /--tool-call-parser/.test(message), concede: withoutTools },
      TELLING_SYSTEM,
    ],
    readOverflow: readContextOverflow,
    readRefusalBody: readLlamaCppRefusal,
  };
  const chat = createChat(engine);
  /** vLLM writes the time of the request into each card, so that a model seems to be another one each time. */
  let createdById: ReadonlyMap<string, number> = new Map();
  return {
    name: NAME,
    chat: chat.run,
    async listModels(signal) {
      const reply = await askUpstream(upstream, { path: "/v1/models", signal });
      const { data } = parseReply(modelCards, reply);
      const models = data
        .filter(({ id }) => isChatModelName(id))
        .map((card) => toModel({ ...card, created: createdById.get(card.id) ?? card.created }));
      createdById = new Map(models.map(({ id, created }) => [id, created]));
      chat.noteModels(models);
      return models;
    },
    async isReachable(signal) {
      const status = await askStatus(upstream, { path: "/health", signal });
      if (status === undefined || status === 200 || status >= 500) return status === 200;
      // Not every server of this format has this path.
      return (await askStatus(upstream, { path: "/v1/models", signal })) === 200;
    },
    countTokens: (request, model, options) =>
      countTokens(upstream, chat.prepare(request, model, options), { ...options, model }),
  };
}

function toModel(card: z.output<typeof modelCards>["data"][number]): Model {
  return {
    id: card.id,
    backend: NAME,
    created: card.created,
    ownedBy: card.owned_by,
    isSimulated: card.simulated,
    contextLength: card.max_model_len ?? card.meta?.n_ctx,
    // The engine does not report capabilities: it refuses requests that a model cannot handle.
    tools: true,
    vision: true,
    documents: false,
    structuredOutputs: true,
    audio: true,
    thinking: true,
  };
}

async function countTokens(
  upstream: Upstream,
  request: ChatRequest,
  { model, signal }: CallOptions & { readonly model: Model },
): Promise<number | undefined> {
  const chatBody: unknown = JSON.parse(
    chatCompletionsClient.build(request, { name: model.id, contextLength: model.contextLength }),
  );
  if (!isJsonObject(chatBody)) return undefined;
  const { messages, tools, chat_template_kwargs } = chatBody;
  const body = {
    model: model.id,
    messages,
    tools,
    chat_template_kwargs,
    add_generation_prompt: true,
  };
  // Other servers of this format have no tokenizer endpoint.
  const question = { path: "/tokenize", body: JSON.stringify(body), signal };
  return askCount(upstream, question, tokenCount);
}
