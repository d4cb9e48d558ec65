import type { Target } from "../backends/models/model-catalog.ts";
import type { FitOptions } from "../backends/rules/fit-output.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import type { Grant } from "./grant.ts";

/** What those who outlive a run need to know of the model that is asked. */
export interface Answering {
  /** Its id. */
  model: string;
  /** The parameters that it is not told, by their names in the chat-completions format. */
  ignored: readonly string[];
}

/** A chat call on its way through the pipeline. */
export interface ChatRun {
  readonly gateway: Gateway;
  readonly call: ClientCall;
  readonly request: ChatRequest;
  /** Who is asked; another one once a fallback takes over. */
  target: Target;
  readonly answering: Answering;
  /** What it may spend; undefined when nothing limits it. */
  readonly grant: Grant | undefined;
}

/** What calling the model of a run needs of it. What the model asked before was not told is forgotten. */
export function runOptions(run: ChatRun): FitOptions {
  const { answering } = run;
  answering.ignored = [];
  const onIgnored = (names: readonly string[]) => {
    answering.ignored = names;
  };
  return { ...targetOptions(run), onIgnored };
}

/** What fitting and calling a model need of the call. */
export function targetOptions({ gateway, call }: Pick<ChatRun, "gateway" | "call">): FitOptions {
  const { signal, trace, caller } = call;
  const { defaultMaxOutputTokens } = gateway;
  return { signal, trace, passthrough: caller.passthrough, defaultMaxOutputTokens };
}
