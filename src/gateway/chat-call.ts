import type { Target } from "../backends/models/model-catalog.ts";
import type { FitOptions } from "../backends/rules/fit-output.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { CallMeter } from "./call-meter.ts";
import type { ClientCall, Gateway, Reservation, TokenBudget } from "./gateway.ts";

/** A chat call that was admitted: one reservation, one usage row, one abort signal, and one or several rounds. */
export interface ChatCall {
  readonly gateway: Gateway;
  readonly client: ClientCall;
  /** What it may spend in all its rounds; undefined when nothing limits it. */
  readonly reservation: Reservation | undefined;
  readonly meter: CallMeter;
}

/** One question to a model within a call. */
export interface Round {
  readonly request: ChatRequest;
  /** Who is asked; another one once a fallback takes over. */
  target: Target;
  readonly answering: Answering;
  /** What this round may spend of the call's reservation; undefined when no limit on tokens holds. */
  budget?: TokenBudget | undefined;
}

/** What is still needed of a round when its request is no longer held. */
export interface Answering {
  /** The id of the model that is asked. */
  model: string;
  /** The parameters that the model does not get, by their names in the chat-completions format. */
  ignored: readonly string[];
}

/** The request of a round with the output limit of its budget, which no backend may exceed. */
export function withBudget({ request, budget }: Round): ChatRequest {
  return budget === undefined ? request : { ...request, reservedOutputTokens: budget.outputTokens };
}

/** Options for calling the target of a round. Forgets what an earlier target ignored. */
export function callOptions(call: ChatCall, { answering }: Round): FitOptions {
  answering.ignored = [];
  const onIgnored = (names: readonly string[]) => {
    answering.ignored = names;
  };
  return { ...fitOptions(call), onIgnored };
}

/** Options for fitting a request to a model, and for counting its prompt. */
export function fitOptions({ gateway, client }: Pick<ChatCall, "gateway" | "client">): FitOptions {
  const { signal, trace, caller } = client;
  const { defaultMaxOutputTokens } = gateway;
  return { signal, trace, passthrough: caller.passthrough, defaultMaxOutputTokens };
}
