import type { LedgerEntry } from "../../../simulator/ledger.ts";
import type { SimulatorOptions } from "../../../simulator/options.ts";
import { callGateway } from "../../support/clients/call-gateway.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import type { Engine } from "../../support/stages/engine-stage.ts";
import { CHAT_CALLS } from "../../support/stages/engine-stage.ts";
import { until } from "./stage.ts";

const TIMEOUT_MS = 60_000;

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** The real server in front of several simulators of one engine. */
export interface ReplicaGateway {
  readonly gateway: TestGateway;
  readonly simulators: readonly TestSimulator[];
  readonly chat: (
    messages: readonly ChatMessage[],
    more?: Readonly<Record<string, unknown>>,
  ) => Promise<RawResponse>;
  /** The chat calls that each of them has seen. */
  readonly calls: () => readonly (readonly LedgerEntry[])[];
  readonly stop: () => Promise<void>;
}

export async function startReplicaGateway(
  engine: Engine,
  count: number,
  options: Partial<SimulatorOptions> = {},
): Promise<ReplicaGateway> {
  const simulators = await Promise.all(
    Array.from({ length: count }, () => startSimulator({ ...options, engine })),
  );
  const gateway = await startGateway({
    LLM_BACKEND: engine,
    LLM_BASE_URL: simulators.map(({ url }) => url).join(","),
  });
  const isCall = ({ path }: LedgerEntry) => path === CHAT_CALLS[engine];
  return {
    gateway,
    simulators,
    chat: (messages, more = {}) =>
      callGateway(gateway.port, { body: { model: "sim-chat", messages, ...more } }, TIMEOUT_MS),
    calls: () => simulators.map((simulator) => simulator.ledger().filter(isCall)),
    async stop() {
      await gateway.stop();
      await Promise.all(simulators.map((simulator) => simulator.stop()));
    },
  };
}

/** Waits until the server has logged it so many times. */
export function logged(gateway: TestGateway, text: string, times = 1): Promise<void> {
  return until(`"${text}" in the log`, () => gateway.output().split(text).length > times);
}
