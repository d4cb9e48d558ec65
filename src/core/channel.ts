/** What a metered call comes in by. This is the one list of them. */
export const CHANNELS = ["chat", "messages", "responses", "embeddings", "audio", "mcp"] as const;
export type Channel = (typeof CHANNELS)[number];
