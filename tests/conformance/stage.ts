import type { Script } from "../../simulator/script.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";
import { BACKENDS, type Backend, type BackendName } from "./backends.ts";

/** The real server before simulators of every vendor. */
export interface Stage {
  /** The gateway that has this backend; a gateway has one local engine. */
  readonly urlOf: (backend: BackendName) => string;
  readonly simulatorOf: (backend: BackendName) => TestSimulator;
  /** A key for agents, and one whose tools go by the table. */
  readonly keys: { readonly passthrough: string; readonly plain: string };
  /** What the vendor says to the next call of this backend that holds the marker. */
  readonly script: (backend: BackendName, marker: string, script: Script) => void;
  readonly close: () => Promise<void>;
}

const PLAIN_KEY = "sk-plain-0123456789abcdefghijklmnopqrstuvwxyz";
const CLOUDS = [
  ["OPENAI", "openai", "/v1"],
  ["ANTHROPIC", "anthropic", ""],
  ["GEMINI", "google", "/v1beta"],
  ["COMPATIBLE", "compatible", "/v1"],
] as const;

export async function startStage(): Promise<Stage> {
  const simulators = new Map<BackendName, TestSimulator>();
  for (const { name, engine } of BACKENDS) simulators.set(name, await startSimulator({ engine }));
  const simulatorOf = (name: BackendName) => found(simulators.get(name));

  const clouds = Object.fromEntries(
    CLOUDS.flatMap(([prefix, name, path]) => [
      [`${prefix}_API_KEY`, `canary-${name}-key-0123456789`],
      [`${prefix}_BASE_URL`, simulatorOf(name).url + path],
      [`${prefix}_MODELS`, modelsOf(name).join(",")],
    ]),
  );
  const start = (engine: "vllm" | "ollama") =>
    startGateway({
      ...clouds,
      COMPATIBLE_VENDOR: "mistral",
      LLM_BACKEND: engine,
      LLM_BASE_URL: simulatorOf(engine).url,
      BOOTSTRAP_API_KEY_PASSTHROUGH: "1",
      DEV_API_KEY: PLAIN_KEY,
    });
  const [vllm, ollama] = await Promise.all([start("vllm"), start("ollama")]);
  const gateways: Readonly<Record<"vllm" | "ollama", TestGateway>> = { vllm, ollama };

  return {
    urlOf: (name) => gateways[name === "ollama" ? "ollama" : "vllm"].url,
    simulatorOf,
    keys: { passthrough: TEST_KEY, plain: PLAIN_KEY },
    script: (name, marker, script) =>
      simulatorOf(name).script({ match: { body: marker }, ...script }),
    async close() {
      await Promise.all([vllm.stop(), ollama.stop()]);
      for (const simulator of simulators.values()) await simulator.stop();
    },
  };
}

function modelsOf(name: BackendName): string[] {
  const { model, thinker }: Backend = found(BACKENDS.find((backend) => backend.name === name));
  return [model, thinker];
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("there is no such backend");
  return value;
}
