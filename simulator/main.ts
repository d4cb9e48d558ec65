import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { engines } from "./engines.ts";
import { parseModels } from "./models.ts";
import type { EngineName, SimulatorOptions } from "./options.ts";
import { startSimulator } from "./simulator.ts";

const usage = `usage: main.ts [--port 0] [--engine name] [--seed 0] [--models file.json]
               [--latency ms] [--tokens-per-second 40] [--legacy] [--no-reasoning-parser]
               [--prompt-tokens-details] [--api-key key] [--unique-usage]
engines: ${Object.keys(engines).join(", ")}`;

/** Reads the options of the command line. Throws an error that names the invalid one. */
function readOptions(): SimulatorOptions {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      engine: { type: "string", default: "both" },
      seed: { type: "string", default: "0" },
      models: { type: "string" },
      latency: { type: "string", default: "0" },
      "tokens-per-second": { type: "string", default: "40" },
      legacy: { type: "boolean", default: false },
      "no-reasoning-parser": { type: "boolean", default: false },
      "prompt-tokens-details": { type: "boolean", default: false },
      "api-key": { type: "string" },
      "unique-usage": { type: "boolean", default: false },
    },
  });
  const { engine } = values;
  if (!isEngine(engine)) throw new Error(`--engine: ${engine} is unknown`);
  return {
    port: readNumber("--port", values.port),
    engine,
    seed: values.seed,
    models: values.models
      ? parseModels(JSON.parse(readFileSync(values.models, "utf8")))
      : engines[engine].models,
    latencyMs: readNumber("--latency", values.latency),
    tokensPerSecond: readNumber("--tokens-per-second", values["tokens-per-second"]),
    legacy: values.legacy,
    reasoningParser: !values["no-reasoning-parser"],
    promptTokensDetails: values["prompt-tokens-details"],
    apiKey: values["api-key"],
    uniqueUsage: values["unique-usage"],
  };
}

function isEngine(name: string): name is EngineName {
  return Object.hasOwn(engines, name);
}

function readNumber(name: string, text: string): number {
  const number = Number(text);
  if (text === "" || !Number.isFinite(number) || number < 0) {
    throw new Error(`${name}: ${text} is not a number from 0`);
  }
  return number;
}

try {
  const simulator = await startSimulator(readOptions());
  process.stdout.write(`listening 127.0.0.1:${simulator.port}\n`);
  const stop = () => {
    simulator.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}\n`);
  process.exitCode = 2;
}
