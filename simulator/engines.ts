import { anthropicEngine } from "./anthropic/anthropic-engine.ts";
import { compatibleEngine } from "./compatible/compatible-engine.ts";
import type { Engine } from "./engine.ts";
import { geminiEngine } from "./gemini/gemini-engine.ts";
import { llamaCppRoutes } from "./llama-cpp/llama-cpp-routes.ts";
import { localEngine } from "./local-engine.ts";
import { ollamaRoutes } from "./ollama/routes.ts";
import { openAiEngine } from "./openai/openai-engine.ts";
import type { EngineName } from "./options.ts";
import { vllmRoutes } from "./vllm/routes.ts";

export const engines: Readonly<Record<EngineName, Engine>> = {
  vllm: localEngine(vllmRoutes),
  ollama: localEngine(ollamaRoutes),
  "llama-cpp": localEngine(llamaCppRoutes),
  both: localEngine({ ...vllmRoutes, ...ollamaRoutes }),
  openai: openAiEngine,
  anthropic: anthropicEngine,
  gemini: geminiEngine,
  compatible: compatibleEngine,
};
