/** Name patterns for the purpose of a model, for servers that list all models without it. */
const EMBEDS: readonly RegExp[] = [/embed/i, /(^|[/_-])(bge|e5|gte|minilm|paraphrase)[-_]/i];
const RANKS = /rerank/i;
const TRANSCRIBES = /whisper|transcribe|parakeet|sense-?voice/i;
/** These models both transcribe and chat. */
const CHATS_AND_TRANSCRIBES = /voxtral/i;

/** Returns false for an embedding, ranking or transcription model, judged by its name. */
export function isChatModelName(name: string): boolean {
  return !EMBEDS.some((pattern) => pattern.test(name)) && !isOtherName(name);
}

/** Returns true for an embedding model, judged by its name. */
export function isEmbeddingModelName(name: string): boolean {
  return EMBEDS.some((pattern) => pattern.test(name)) && !isOtherName(name);
}

/** Returns true for a transcription model, judged by its name. */
export function isSpeechModelName(name: string): boolean {
  return TRANSCRIBES.test(name) || CHATS_AND_TRANSCRIBES.test(name);
}

function isOtherName(name: string): boolean {
  return RANKS.test(name) || TRANSCRIBES.test(name);
}
