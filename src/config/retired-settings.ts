/** Names of earlier releases. They are ignored; the start says so once. */
export const RETIRED_SETTINGS: readonly RegExp[] = [
  /^MAX_PDF_PAGES$/,
  /^CLOUD_DEFAULT_MAX_TOKENS$/,
  /^SESSION_RAG_/,
  /^RAG_DEFAULT_/,
  /^BOT_RAG_TOP_K$/,
  /^RAG_GROUNDING_INSTRUCTION$/,
];
