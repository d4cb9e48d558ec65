/** Names of models that are no chat models, on servers that list all they have without saying what it is for. */
const NO_CHAT_MODELS: readonly RegExp[] = [
  /embed/i,
  /(^|[/_-])(bge|e5|gte|minilm)[-_]/i,
  /rerank/i,
  /whisper/i,
];

/** False for a model that embeds, ranks or transcribes, as far as its name tells. */
export function isChatModelName(name: string): boolean {
  return !NO_CHAT_MODELS.some((pattern) => pattern.test(name));
}
