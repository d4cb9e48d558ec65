import type { Target } from "../backends/models/model-catalog.ts";
import type { FitOptions } from "../backends/rules/fit-output.ts";
import type { ChatRequest } from "../core/chat/chat-request.ts";
import type { ClientCall, Gateway, Reservation, TokenBudget } from "./gateway.ts";
import type { CallMeter } from "./meter/call-meter.ts";

const NONE: readonly string[] = [];

/** An admitted chat call: one reservation, one usage row, one abort signal, and one or several rounds. */
export interface ChatCall {
  readonly gateway: Gateway;
  readonly client: ClientCall;
  /** The tokens that the call may spend in all its rounds; undefined when it has no limits. */
  readonly reservation: Reservation | undefined;
  readonly meter: CallMeter;
  /** The tools in the requests are the gateway's own, which are sent whatever the parameter table says about tools. */
  readonly hasOwnTools?: boolean | undefined;
}

/** One request to a model within a call. */
export interface Round {
  readonly request: ChatRequest;
  /** The target of the call, replaced when a fallback takes over. */
  target: Target;
  readonly answering: Answering;
  /** The request is not the one for which the call was admitted, so its tokens must be measured. */
  readonly isUnmeasured?: true;
  /** The tokens of the reservation that this round may spend; undefined when the call has no token limit. */
  budget?: TokenBudget | undefined;
}

/** The part of a round that is needed after its request has been released. */
export interface Answering {
  model: string;
  /** The parameters that the model does not get, by their chat-completions names. */
  ignored: readonly string[];
}

/** Returns the request of a round with the output limit of its budget, which no backend may exceed. */
export function withBudget({ request, budget }: Round): ChatRequest {
  return budget === undefined ? request : { ...request, reservedOutputTokens: budget.outputTokens };
}

/** Builds the options for calling the target of a round. Forgets the parameters that an earlier target ignored. */
export function callOptions(call: ChatCall, { answering }: Round): FitOptions {
  answering.ignored = NONE;
  const onIgnored = (names: readonly string[]) => {
    answering.ignored = names;
  };
  return fitOptions(call, onIgnored);
}

/** Builds the options for fitting a request to a model and for counting its prompt. */
export function fitOptions(
  { gateway, client, hasOwnTools }: Pick<ChatCall, "gateway" | "client" | "hasOwnTools">,
  onIgnored?: FitOptions["onIgnored"],
): FitOptions {
  const { signal, trace, caller, added } = client;
  const { passthrough } = caller;
  const { defaultMaxOutputTokens } = gateway;
  return { signal, trace, added, passthrough, hasOwnTools, defaultMaxOutputTokens, onIgnored };
}
