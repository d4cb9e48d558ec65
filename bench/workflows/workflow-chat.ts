// Measures the calls/s of a `chat` step beside the same calls by the official SDK over HTTP, in alternating rounds:
// bun bench/workflows/workflow-chat.ts [--quick] [--rounds 3]
import { type ChildProcess, spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { OpenAI } from "openai";
import { createLog } from "../../src/lib/log.ts";
import { createStepModels } from "../../src/workflows/models/create-step-models.ts";
import { chatStep as chat } from "../../src/workflows/steps/chat.ts";
import type { StepServices } from "../../src/workflows/steps/step-services.ts";
import { issueKey } from "../../tests/support/clients/issue-key.ts";
import { TEST_KEY } from "../../tests/support/servers/start-gateway.ts";
import { serveDeps } from "../../tests/support/stages/served-deps.ts";
import { simpleTexts } from "../../tests/support/workflows/simple-texts.ts";
import { runStep } from "../../tests/support/workflows/step-stage.ts";
import { median } from "../comparison/report.ts";

const CONCURRENCY = 16;
const MAX_TOKENS = 24;
const GOAL = 0.8;
const MODEL = "sim-chat";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string", default: "3" },
    /** For the process of the SDK. */
    client: { type: "string" },
    calls: { type: "string", default: "0" },
  },
});

function promptOf(index: number): string {
  return `Summarize ticket ${index} in a sentence.`;
}

/** The SDK's side, in a process of its own as a client is. Prints the calls/s. */
async function callBySdk(baseURL: string, calls: number): Promise<void> {
  const client = new OpenAI({ baseURL, apiKey: TEST_KEY, maxRetries: 0 });
  let next = 0;
  const beganAt = performance.now();
  const lane = async () => {
    for (let index = next++; index < calls; index = next++) {
      await client.chat.completions.create({
        model: MODEL,
        max_tokens: MAX_TOKENS,
        messages: [{ role: "user", content: promptOf(index) }],
      });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
  process.stdout.write(`${(calls * 1_000) / (performance.now() - beganAt)}\n`);
}

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...args], { stdio: ["ignore", "pipe", "inherit"] });
}

/** Resolves with the first match in what a process prints. */
function printed(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout?.on("data", (piece) => {
      output += piece;
      const found = pattern.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.on("exit", () => reject(new Error(`the process ended: ${output}`)));
  });
}

async function measure(calls: number, rounds: number): Promise<void> {
  const simulator = start(["simulator/main.ts", "--engine", "vllm", "--tokens-per-second", "0"]);
  const address = await printed(simulator, /listening ([\d.]+:\d+)\n/);
  const served = await serveDeps(undefined, {
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: `http://${address}`,
  });
  const { deps, url } = served;
  try {
    const models = createStepModels({
      ...{ gateway: deps.gateway, clock: deps.clock, log: createLog("silent") },
      ...{ openCalls: deps.openCalls, callGate: deps.callGate, findKeyCaller: deps.findKeyCaller },
      isLicensed: () => true,
    });
    const kind = chat({ models, rowProcess: simpleTexts } as unknown as StepServices);
    const { id: keyId } = await issueKey({ url }, {});
    const rows = Array.from({ length: calls }, (_, index) => ({ prompt: promptOf(index) }));
    const settings = {
      ...{ model: MODEL, prompt: "{{ row.prompt }}" },
      ...{ max_tokens: MAX_TOKENS, concurrency: CONCURRENCY },
    };
    const byStep = async (): Promise<number> => {
      const beganAt = performance.now();
      const done = await runStep(kind, { settings, rows, run: { keyId } });
      if (done.outputs.main.length !== calls) throw new Error("rows are missing");
      return (calls * 1_000) / (performance.now() - beganAt);
    };
    const bySdk = async (): Promise<number> => {
      const args = [
        "bench/workflows/workflow-chat.ts",
        "--client",
        `${url}/v1`,
        "--calls",
        String(calls),
      ];
      return Number(await printed(start(args), /^([\d.]+)\n/));
    };
    await runStep(kind, { settings, rows: rows.slice(0, 200), run: { keyId } });
    const step: number[] = [];
    const sdk: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      sdk.push(await bySdk());
      step.push(await byStep());
      process.stdout.write(
        `round ${round + 1}: step ${step.at(-1)?.toFixed(0)} calls/s, SDK ${sdk.at(-1)?.toFixed(0)} calls/s\n`,
      );
    }
    report(step, sdk);
  } finally {
    await served.close();
    simulator.kill();
  }
}

function report(step: readonly number[], sdk: readonly number[]): void {
  const stepPerS = median(step) ?? Number.NaN;
  const sdkPerS = median(sdk) ?? Number.NaN;
  const ratio = stepPerS / sdkPerS;
  process.stdout.write(
    `chat step to the SDK: ${ratio.toFixed(2)} (goal ${GOAL}): ${ratio >= GOAL ? "reached" : "missed"}\n`,
  );
}

if (values.client === undefined)
  await measure(values.quick ? 2_000 : 10_000, Number(values.rounds));
else await callBySdk(values.client, Number(values.calls));
