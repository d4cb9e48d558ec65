import { ServiceError } from "../../../core/service-error.ts";
import { newJobId } from "../../../queue/enqueue.ts";
import type { RowChunk } from "../../rows/row.ts";
import type { DiscardReason } from "../run.ts";
import { newRunId, utcDay } from "../run-id.ts";
import {
  type Acceptance,
  answerOf,
  CHAIN_MAX,
  COALESCED_ROWS_MAX,
  type RunRequest,
} from "./acceptance.ts";
import type { LockedQueue } from "./lock-queue.ts";
import { factKey, type KnownFact, type QueueState, type WaitingRun } from "./queue-state.ts";

export interface PlanOptions {
  /** Unix milliseconds. */
  readonly now: number;
  readonly isLicensed: boolean;
  /** PIPELINE_MAX_QUEUED_RUNS. */
  readonly maxQueued: number;
}

export interface PlannedRun {
  readonly id: string;
  readonly number: number;
  readonly request: RunRequest;
  readonly rowsReceived: number;
  /** The job of a run that begins; null for one that waits. */
  readonly jobId: string | null;
  /** Without those that joined it. */
  readonly chain: readonly string[];
}

export interface PlannedRows {
  readonly runId: string;
  readonly day: string;
  readonly first: number;
  readonly chunks: readonly RowChunk[];
}

export interface PlannedFact extends KnownFact {
  readonly triggerKey: string;
  readonly fact: string;
}

/** What a plan wants stored. */
export interface AcceptanceChanges {
  readonly queue: LockedQueue;
  readonly now: number;
  readonly day: string;
  readonly runs: readonly PlannedRun[];
  readonly rows: readonly PlannedRows[];
  readonly facts: readonly PlannedFact[];
  /** Waiting runs that were there before, and took rows. */
  readonly joined: readonly WaitingRun[];
  readonly queued: number;
  readonly lastNumber: number;
  readonly discarded: Readonly<Record<string, number>>;
  readonly hasDiscarded: boolean;
}

/** Decides over triggers of one workflow, one after another, without touching the database. */
export class AcceptancePlan {
  readonly #queue: LockedQueue;
  readonly #options: PlanOptions;
  readonly #day: string;
  readonly #waiting: Map<string, WaitingRun>;
  readonly #facts: Map<string, KnownFact>;
  readonly #runs: PlannedRun[] = [];
  readonly #rows: PlannedRows[] = [];
  readonly #newFacts: PlannedFact[] = [];
  readonly #joined = new Set<WaitingRun>();
  readonly #discarded: Record<string, number>;
  #isRunning: boolean;
  #queued: number;
  #lastNumber: number;
  #hasDiscarded = false;

  constructor(queue: LockedQueue, state: QueueState, options: PlanOptions) {
    this.#queue = queue;
    this.#options = options;
    this.#day = utcDay(options.now);
    this.#waiting = new Map(state.waiting);
    this.#facts = new Map(state.facts);
    this.#discarded = { ...queue.discarded };
    this.#isRunning = state.isRunning;
    this.#queued = queue.queued;
    this.#lastNumber = queue.lastNumber;
  }

  /** Throws `run_active` for a request that wants a free workflow. */
  decide(request: RunRequest): Acceptance {
    const { fact, triggerKey } = request;
    if (!this.#queue.enabled && !request.evenDisabled) return { kind: "unavailable" };
    const known = fact && this.#facts.get(factKey(triggerKey, fact.fact));
    if (known !== undefined) {
      const { runId, bodyHash, answer } = known;
      return { kind: "repeated", runId, bodyHash, answer };
    }
    if (request.onlyWhenFree && (this.#isRunning || this.#queued > 0)) throw runActive();
    const refusal = this.#refusal(request);
    if (refusal !== undefined) return this.#discard(request, refusal);
    const waiting = this.#waiting.get(triggerKey);
    if (request.coalesce && waiting !== undefined && this.#hasRoom(waiting, request)) {
      return this.#join(request, waiting);
    }
    if (request.atMostOneWaiting && waiting !== undefined) return this.#discard(request, "overlap");
    if (this.#isRunning && this.#queued >= this.#options.maxQueued) {
      return this.#discard(request, "queue_full");
    }
    return this.#accept(request);
  }

  changes(): AcceptanceChanges {
    return {
      queue: this.#queue,
      now: this.#options.now,
      day: this.#day,
      runs: this.#runs,
      rows: this.#rows,
      facts: this.#newFacts,
      joined: [...this.#joined],
      queued: this.#queued,
      lastNumber: this.#lastNumber,
      discarded: this.#discarded,
      hasDiscarded: this.#hasDiscarded,
    };
  }

  /** Why nothing starts, whatever the queue holds. */
  #refusal({ chain = [], allowLoop }: RunRequest): DiscardReason | undefined {
    if (!this.#options.isLicensed) return "license";
    if (!this.#queue.hasActiveOwner) return "owner";
    const isLoop = chain.includes(this.#queue.workflowId);
    return isLoop && (!allowLoop || chain.length >= CHAIN_MAX) ? "loop" : undefined;
  }

  #hasRoom(waiting: WaitingRun, request: RunRequest): boolean {
    return waiting.rowsReceived + rowsOf(request) <= COALESCED_ROWS_MAX;
  }

  #discard(request: RunRequest, reason: DiscardReason): Acceptance {
    this.#discarded[reason] = (this.#discarded[reason] ?? 0) + 1;
    this.#hasDiscarded = true;
    if (request.fact?.remembersDiscard) this.#remember(request, { runId: null, answer: null });
    return { kind: "discarded", reason };
  }

  #join(request: RunRequest, waiting: WaitingRun): Acceptance {
    const { runId, day } = waiting;
    this.#rows.push({ runId, day, first: waiting.nextChunk, chunks: request.rows });
    waiting.nextChunk += request.rows.length;
    waiting.rowsReceived += rowsOf(request);
    // The loop check of what this run causes must know every workflow that led to it.
    const further = (request.chain ?? []).filter((id) => !waiting.chain.includes(id));
    waiting.chain = [...waiting.chain, ...further];
    this.#joined.add(waiting);
    const run = { runId, status: "queued", rowsReceived: waiting.rowsReceived } as const;
    this.#remember(request, { runId, answer: answerOf(this.#queue.workflowId, run) });
    return { kind: "joined", ...run };
  }

  #accept(request: RunRequest): Acceptance {
    const status = this.#isRunning ? "queued" : "running";
    const id = newRunId(this.#options.now);
    const rowsReceived = rowsOf(request);
    const chain = request.chain ?? [];
    this.#lastNumber += 1;
    if (status === "queued") {
      this.#queued += 1;
      const nextChunk = request.rows.length;
      const waiting = { runId: id, day: this.#day, rowsReceived, chain, nextChunk };
      this.#waiting.set(request.triggerKey, waiting);
    }
    this.#isRunning = true;
    const jobId = status === "running" ? newJobId() : null;
    this.#runs.push({ id, number: this.#lastNumber, request, rowsReceived, jobId, chain });
    this.#rows.push({ runId: id, day: this.#day, first: 0, chunks: request.rows });
    const run = { runId: id, status, rowsReceived } as const;
    this.#remember(request, { runId: id, answer: answerOf(this.#queue.workflowId, run) });
    return { kind: "accepted", ...run };
  }

  #remember(request: RunRequest, { runId, answer }: Pick<KnownFact, "runId" | "answer">): void {
    const { fact, triggerKey } = request;
    if (fact === undefined) return;
    const known = { runId, answer, bodyHash: fact.bodyHash ?? null };
    this.#facts.set(factKey(triggerKey, fact.fact), known);
    this.#newFacts.push({ ...known, triggerKey, fact: fact.fact });
  }
}

function rowsOf({ rows }: RunRequest): number {
  return rows.reduce((sum, chunk) => sum + chunk.rows, 0);
}

function runActive(): ServiceError {
  return new ServiceError(
    "run_active",
    "A run of this workflow is queued or running. Wait for it to end, or stop it first.",
  );
}
