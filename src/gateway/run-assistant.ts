import type { Caller } from "../core/callers/caller.ts";
import type { ChatEvent, ChatEvents } from "../core/chat/chat-event.ts";
import type { ChatMessage, ToolChoice } from "../core/chat/chat-request.ts";
import { ServiceError } from "../core/service-error.ts";
import { toAbortSignal } from "../lib/cancellation.ts";
import { SEARCH_KNOWLEDGE } from "../tools/builtin/search-knowledge.ts";
import { visibleTools } from "../tools/visible-tools.ts";
import { askModel } from "./ask-model.ts";
import { type AssistantServices, toolLimitsOf } from "./assistant/assistant-services.ts";
import { fitTurn, type TurnParts } from "./assistant/fit-turn.ts";
import { GivenPassages, toFound } from "./assistant/given-passages.ts";
import { noAnswerText } from "./assistant/grounding.ts";
import type { AssistedRun } from "./assistant/prepare-run.ts";
import { type Retrieved, retrievePassages } from "./assistant/retrieve-passages.ts";
import { type CallRunner, type FoundTool, runCalls } from "./assistant/run-calls.ts";
import { TurnReader } from "./assistant/turn-reader.ts";
import type { Answering, ChatCall, Round } from "./chat-call.ts";
import { originOf } from "./gateway.ts";
import { meterRound } from "./meter/meter.ts";

const UNMEASURED = { isUnmeasured: true } as const;

type Batch = readonly ChatEvent[];
type Batches = AsyncGenerator<Batch, void>;

/** An answer with everything that the gateway adds to it. */
export interface Assisted {
  readonly services: AssistantServices;
  readonly run: AssistedRun;
  readonly target: Round["target"];
  readonly answering: Answering;
}

/**
 * Answers an admitted call as an assistant, or with the search that its client wants: searches first, then asks the
 * model, runs the tools that it calls, and asks again until it answers. All turns make one answer. Resolves with the
 * first event and rejects with a `ServiceError` before it. The events must be metered by `meterRounds`.
 */
export async function runAssistant(call: ChatCall, assisted: Assisted): Promise<ChatEvents> {
  const events = answer(call, assisted);
  let first: IteratorResult<Batch, void> | undefined = await events.next();
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        const step = first;
        first = undefined;
        return step === undefined ? events.next() : Promise.resolve(step);
      },
      return: () => events.return(),
    }),
  };
}

async function* answer(call: ChatCall, assisted: Assisted): Batches {
  const { run, target } = assisted;
  const passages = new GivenPassages();
  const { query, ...retrieved } = await retrieve(call, assisted);
  const given = passages.add(retrieved.passages);
  const found = retrieved.found && passages.add(retrieved.found);
  const all = [...new Set([...given, ...(found ?? [])])];
  // A `strict` answer without the passage that was found would say that there is none.
  const fewestPassages = run.grounding === "strict" ? Math.min(all.length, 1) : 0;
  const parts: TurnParts = { request: run.request, passages: all, fewestPassages, history: [] };
  // What does not fit into the first turn is never given, and is no source.
  fitTurn(parts, target.model, call.gateway.defaultMaxOutputTokens);
  passages.keep(parts.passages.length);
  const opening: Batch =
    found === undefined
      ? []
      : [{ type: "search", queries: [query], found: found.filter(passages.has).map(toFound) }];
  const isRefused = parts.passages.length === 0 && answersFromNothingElse(run);
  const turns = isRefused
    ? refuseToAnswer(call, assisted)
    : takeTurns(call, assisted, { parts, passages });
  yield* withOpening(opening, turns);
}

/** A call that ends here has a usage row, too. */
async function retrieve(call: ChatCall, { services, run, target }: Assisted): Promise<Retrieved> {
  try {
    return await retrievePassages(services, call.client, run);
  } catch (thrown) {
    await call.meter.begin({ model: target.model.id, inputTokens: 0 });
    throw thrown;
  }
}

interface Material {
  readonly parts: TurnParts;
  readonly passages: GivenPassages;
}

async function* takeTurns(call: ChatCall, assisted: Assisted, material: Material): Batches {
  const { services, run, answering } = assisted;
  const { parts, passages } = material;
  const { ASSISTANT_MAX_TURNS: maxTurns, ASSISTANT_MAX_TOOL_CALLS: maxCalls } = services.settings;
  const asking: ChatCall = { ...call, hasOwnTools: run.tools.size > 0 };
  const reader = new TurnReader(run.assistant === undefined);
  const runner = createRunner(call, assisted, passages);
  let { target } = assisted;
  let callsLeft = maxCalls;
  for (let turn = 1; ; turn += 1) {
    const isLast = turn >= maxTurns || callsLeft <= 0;
    const request = requestOf(parts, target, { call, turn, isLast });
    const isAdmitted = request === run.request;
    const round: Round = { request, target, answering, ...(!isAdmitted && UNMEASURED) };
    yield* askTurn(asking, round, reader);
    // A model that took over goes on: it has made the calls.
    target = round.target;
    const calls = isLast ? [] : reader.callsToRun();
    if (runner === undefined || calls.length === 0) {
      yield endOf(reader, passages);
      return;
    }
    const results = yield* runCalls(runner, calls, callsLeft);
    callsLeft -= calls.length;
    const said: ChatMessage = { role: "assistant", content: reader.parts() };
    parts.history = [...parts.history, said, ...results];
  }
}

async function* askTurn(call: ChatCall, round: Round, reader: TurnReader): Batches {
  reader.beginTurn();
  for await (const batch of meterRound(call.meter, await askModel(call, round))) {
    const passed = reader.read(batch);
    if (passed.length > 0) yield passed;
  }
}

function endOf({ end, text }: TurnReader, passages: GivenPassages): Batch {
  if (end === undefined) throw new Error("a turn of a model has no end");
  return end.type === "error" ? [end] : [...passages.sources(text), end];
}

interface Turn {
  readonly call: ChatCall;
  readonly turn: number;
  readonly isLast: boolean;
}

/** A forced call holds for the first turn, or no answer would come; the last turn has no tools for the same reason. */
function requestOf(parts: TurnParts, target: Round["target"], { call, turn, isLast }: Turn) {
  const request = fitTurn(parts, target.model, call.gateway.defaultMaxOutputTokens);
  if (isLast && request.tools.length > 0) {
    const { toolChoice: _choice, parallelToolCalls: _parallel, ...rest } = request;
    return { ...rest, tools: [] };
  }
  if (turn === 1 || request.toolChoice === undefined) return request;
  const auto: ToolChoice = { type: "auto" };
  return { ...request, toolChoice: request.toolChoice.type === "none" ? request.toolChoice : auto };
}

function createRunner(
  call: ChatCall,
  { services, run }: Assisted,
  passages: GivenPassages,
): CallRunner | undefined {
  const { caller, signal, requestId } = call.client;
  if (run.assistant === undefined) return undefined;
  let runs = 0;
  return {
    find: (name) => (run.tools.has(name) ? findNow(services, run, caller, name) : "unknown"),
    context: { signal: toAbortSignal(signal), origin: originOf(call.client) },
    limits: toolLimitsOf(services, requestId),
    clock: call.gateway.clock,
    passages,
    nextId() {
      runs += 1;
      return `run_${runs}`;
    },
  };
}

/** Rights hold for the next call of a tool, not only for the next answer. */
async function findNow(
  { known, tools: registry, currentCaller }: AssistantServices,
  { assistant: asked }: AssistedRun,
  client: Caller,
  name: string,
): Promise<FoundTool> {
  let caller: Caller | undefined;
  try {
    caller = await currentCaller(client);
  } catch (thrown) {
    if (thrown instanceof ServiceError) return "unchecked";
    throw thrown;
  }
  if (asked === undefined || caller === undefined) return "withdrawn";
  const assistant = known.find(asked.id, caller);
  if (assistant === undefined) return "withdrawn";
  const tool = visibleTools(registry, assistant, caller).find((one) => one.name === name);
  return tool === undefined ? "withdrawn" : { tool, caller, assistant };
}

/** Inserts events after the start of an answer. */
async function* withOpening(opening: Batch, batches: Batches): Batches {
  if (opening.length === 0) return yield* batches;
  let isOpen = false;
  for await (const batch of batches) {
    const [first, ...rest] = batch;
    if (isOpen || first?.type !== "start") yield batch;
    else {
      isOpen = true;
      yield [first, ...opening, ...rest];
    }
  }
}

/** Whether passages are all that a `strict` answer could come from. */
function answersFromNothingElse({ grounding, tools }: AssistedRun): boolean {
  if (grounding !== "strict") return false;
  return tools.size === (tools.has(SEARCH_KNOWLEDGE) ? 1 : 0);
}

/** Answers without a model, and without a token. */
async function* refuseToAnswer({ meter }: ChatCall, { run, target }: Assisted): Batches {
  await meter.begin({ model: target.model.id, inputTokens: 0 });
  const text = noAnswerText({ noAnswerText: run.assistant?.noAnswerText ?? null });
  const events: Batch = [
    { type: "start", inputTokens: 0 },
    { type: "block-start", block: 0, kind: "text" },
    { type: "text-delta", block: 0, text },
    { type: "block-end", block: 0 },
    { type: "finish", reason: "stop", usage: { inputTokens: 0, outputTokens: 0 } },
  ];
  yield* meterRound(
    meter,
    (async function* () {
      yield events;
    })(),
  );
}
