import type { FitOptions } from "../backends/fit-output.ts";
import type { Target } from "../backends/model-catalog.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import type { Grant } from "./grant.ts";

/** A chat call on its way through the pipeline. */
export interface ChatRun {
  readonly gateway: Gateway;
  readonly call: ClientCall;
  readonly request: ChatRequest;
  /** Who is asked; another one once a fallback takes over. */
  target: Target;
  /** The id of the model that is asked, for those who outlive the run. */
  readonly answering: { model: string };
  /** What it may spend; undefined when nothing limits it. */
  readonly grant: Grant | undefined;
}

/** What fitting and calling a model need of the call. */
export function targetOptions({ gateway, call }: Pick<ChatRun, "gateway" | "call">): FitOptions {
  const { signal, trace, caller } = call;
  const { defaultMaxOutputTokens } = gateway;
  return { signal, trace, passthrough: caller.passthrough, defaultMaxOutputTokens };
}
