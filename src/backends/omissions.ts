import type { ChatRequest } from "../core/chat-request.ts";

/** Something that some models refuse and that a call can do without: it is left out, and the call made again. */
export interface Omission {
  readonly isCause: (message: string) => boolean;
  readonly leaveOut: (request: ChatRequest) => ChatRequest;
}

/** The effort, for models of which we do not know that they take none, or not this one. */
export function effortOmission(isCause: Omission["isCause"]): Omission {
  return { isCause, leaveOut: ({ effort: _effort, ...request }) => request };
}
