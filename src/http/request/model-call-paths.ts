/** Where models are called. A server that has too much to do refuses these, and none of what manages or watches it. */
const MODEL_CALL_PATHS: ReadonlySet<string> = new Set([
  "/v1/chat/completions",
  "/v1/messages",
  "/v1/messages/count_tokens",
  "/v1/responses",
  "/v1/embeddings",
  "/v1/audio/transcriptions",
]);

export function isModelCall(method: string, path: string): boolean {
  return method === "POST" && MODEL_CALL_PATHS.has(path);
}
