/** Names that tell what a model is for, on servers that list all they have without saying so. */
const EMBEDS: readonly RegExp[] = [/embed/i, /(^|[/_-])(bge|e5|gte|minilm|paraphrase)[-_]/i];
const RANKS = /rerank/i;
const TRANSCRIBES = /whisper|transcribe|parakeet|sense-?voice/i;
/** These listen as well as they chat. */
const CHATS_AND_TRANSCRIBES = /voxtral/i;

/** False for a model that embeds, ranks or transcribes, as far as its name tells. */
export function isChatModelName(name: string): boolean {
  return !EMBEDS.some((pattern) => pattern.test(name)) && !isOtherName(name);
}

/** True for a model that embeds, as far as its name tells. */
export function isEmbeddingModelName(name: string): boolean {
  return EMBEDS.some((pattern) => pattern.test(name)) && !isOtherName(name);
}

/** True for a model that transcribes, as far as its name tells. */
export function isSpeechModelName(name: string): boolean {
  return TRANSCRIBES.test(name) || CHATS_AND_TRANSCRIBES.test(name);
}

function isOtherName(name: string): boolean {
  return RANKS.test(name) || TRANSCRIBES.test(name);
}
