import type { ClientCodec } from "../../codecs/codec.ts";
import type { ChatRequest } from "../../core/chat-request.ts";

/** Something that some models refuse and that a call can do without: it is given up, and the call made again. */
export interface Concession {
  readonly isCause: (message: string) => boolean;
  readonly concede: (request: ChatRequest) => ChatRequest;
  /** Writes the call from then on, where a habit of the format is to be given up. */
  readonly codec?: ClientCodec;
}

type IsCause = Concession["isCause"];

/** The effort, for models of which we do not know that they take none, or not this one. */
export function withoutEffort(isCause: IsCause): Concession {
  return { isCause, concede: ({ effort: _effort, ...request }) => request };
}

/** The habits of a format that not every server of it shares. */
export function inDialect(isCause: IsCause, codec: ClientCodec): Concession {
  return { isCause, concede: (request) => request, codec };
}

/** Turns that begin with their thoughts, for servers that want these back from clients that have not kept them. */
export function withThoughts(isCause: IsCause): Concession {
  return {
    isCause,
    concede: (request) => ({
      ...request,
      messages: request.messages.map((message) => {
        if (message.role !== "assistant") return message;
        if (message.content.some(({ type }) => type === "reasoning")) return message;
        return { ...message, content: [NO_THOUGHT, ...message.content] };
      }),
    }),
  };
}

/** Not empty, so that it is sent. */
const NO_THOUGHT = { type: "reasoning", text: " " } as const;
