import { ollamaChatClient } from "../../codecs/ollama-chat/client.ts";
import {
  isThinkingLevelUnsupported,
  isThinkingUnsupported,
  isToolsUnsupported,
  readContextOverflow,
} from "../../codecs/ollama-chat/engine-errors.ts";
import type { ChatRequest } from "../../core/chat/chat-request.ts";
import type { Backend } from "../backend.ts";
import { createOllamaModels } from "../models/ollama-models.ts";
import { isMisplacedSystem, TELLING_SYSTEM } from "../rules/concessions.ts";
import type { EffortRule } from "../rules/effort-rule.ts";
import { LOCAL_PARAMETERS, withoutTools } from "../rules/parameter-rules.ts";
import { type ChatEngine, createChat } from "../run-chat.ts";
import { askStatus } from "../upstream/ask-upstream.ts";
import type { Upstream } from "../upstream/upstream.ts";

const NAME = "ollama";

/** Models that take a level instead of a switch and whose thinking cannot be disabled. */
const THINKS_IN_LEVELS = /gpt-?oss/i;

export const OLLAMA_EFFORT: EffortRule = {
  table: { none: "off", low: "default", medium: "default", high: "on", max: "on" },
  fields(setting, model) {
    const thinks = setting !== "off";
    return { think: thinks && THINKS_IN_LEVELS.test(model.id) ? "high" : thinks };
  },
};

/**
 * Creates the backend of the single-machine engine. `contextLength`: the requested context in tokens, capped to the
 * model's own.
 */
export function createOllama(upstream: Upstream, contextLength: number): Backend {
  const engine: ChatEngine = {
    upstream,
    path: () => "/api/chat",
    codec: ollamaChatClient,
    parameters: LOCAL_PARAMETERS,
    effort: () => OLLAMA_EFFORT,
    concessions: [
      { isCause: isThinkingUnsupported, concede: withoutThinking },
      { isCause: isThinkingLevelUnsupported, concede: withoutThinking, isOfThisCall: true },
      { isCause: isToolsUnsupported, concede: withoutTools },
      TELLING_SYSTEM,
    ],
    readOverflow: readContextOverflow,
    // The engine calls it a fault of its own.
    readRefusalBody: (body) => (isMisplacedSystem(body) ? { status: 400 } : {}),
  };
  const chat = createChat(engine);
  const listModels = createOllamaModels(upstream, { name: NAME, contextLength });
  return {
    name: NAME,
    chat: chat.run,
    async listModels(signal) {
      const models = await listModels(signal);
      chat.noteModels(models);
      return models;
    },
    isReachable: async (signal) =>
      (await askStatus(upstream, { path: "/api/version", signal })) === 200,
  };
}

function withoutThinking({ effort: _effort, ...request }: ChatRequest): ChatRequest {
  const { think: _think, ...extra } = request.parameters.extra ?? {};
  return { ...request, parameters: { ...request.parameters, extra } };
}
