/** What requests come in by, as people call it. */
export const CHANNEL_NAMES = {
  chat: "Chat completions",
  messages: "Messages",
  responses: "Responses",
  embeddings: "Embeddings",
  audio: "Audio",
  mcp: "MCP tools",
} as const;

export type Channel = keyof typeof CHANNEL_NAMES;

/** Returns the channel that a text names. */
export function readChannel(text: string): Channel | undefined {
  return Object.hasOwn(CHANNEL_NAMES, text) ? (text as Channel) : undefined;
}
