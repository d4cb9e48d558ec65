import { setTimeout as sleep } from "node:timers/promises";
import { percentile } from "../../tests/support/percentile.ts";
import { type Address, loadRequests, type RequestLoad } from "../load/load-tools.ts";

const PER_SECOND = 100;
const CONNECTIONS = 64;
const MOST_MORE_MS = 10;

export interface BesideChats {
  readonly address: Address;
  readonly rounds: number;
  readonly seconds: number;
  /** Sends one webhook and returns the status of its answer. */
  readonly send: () => Promise<number>;
}

interface Sent {
  readonly sent: number;
  readonly accepted: number;
  /** From the time at which a webhook was due. */
  readonly latencies: readonly number[];
}

/**
 * Sends 100 chats a second at fixed times, without and beside 100 webhooks a second, in alternating rounds. Returns
 * whether every webhook was accepted, every chat answered, and the p99 of chats grew by 10 ms at most.
 */
export async function measureBesideChats(options: BesideChats): Promise<boolean> {
  const { address, rounds, seconds, send } = options;
  const load = { connections: CONNECTIONS, seconds, ratePerS: PER_SECOND };
  const more: number[] = [];
  let isWhole = true;
  for (let round = 1; round <= rounds; round += 1) {
    const alone = await loadRequests(address, load);
    const sending = sendAtFixedTimes(send, seconds);
    const beside = await loadRequests(address, load);
    const { sent, accepted, latencies } = await sending;
    more.push(beside.latencyMs.p99 - alone.latencyMs.p99);
    isWhole &&= accepted === sent && areAnswered(alone) && areAnswered(beside);
    console.log(
      `round ${round}: ${beside.answered} chats p99 ${beside.latencyMs.p99.toFixed(1)} ms (without ${alone.latencyMs.p99.toFixed(1)} ms), ` +
        `${accepted} of ${sent} webhooks accepted, p99 ${percentile(latencies, 0.99).toFixed(1)} ms`,
    );
  }
  more.sort((one, other) => one - other);
  const median = more[Math.floor(more.length / 2)] ?? Number.NaN;
  console.log(
    `${PER_SECOND} webhooks/s beside ${PER_SECOND} chats/s: the chats' p99 grows by ${median.toFixed(1)} ms (at most ${MOST_MORE_MS}), ` +
      `${isWhole ? "all answered" : "NOT all answered"}`,
  );
  return isWhole && median <= MOST_MORE_MS;
}

function areAnswered({ sent, answered }: RequestLoad): boolean {
  return answered === sent;
}

async function sendAtFixedTimes(send: () => Promise<number>, seconds: number): Promise<Sent> {
  const latencies: number[] = [];
  const sending: Promise<boolean>[] = [];
  const startedAt = performance.now();
  for (let index = 0; index < PER_SECOND * seconds; index += 1) {
    const dueAt = startedAt + (index * 1_000) / PER_SECOND;
    await sleep(Math.max(0, dueAt - performance.now()));
    sending.push(
      send().then(
        (status) => {
          latencies.push(performance.now() - dueAt);
          return status === 202;
        },
        () => false,
      ),
    );
  }
  const answers = await Promise.all(sending);
  return { sent: answers.length, accepted: answers.filter(Boolean).length, latencies };
}
