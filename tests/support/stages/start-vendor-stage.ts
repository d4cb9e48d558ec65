import { startGateway, type TestGateway } from "../servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../servers/start-simulator.ts";

export const VENDORS = ["openai", "anthropic", "gemini", "compatible"] as const;
export type Vendor = (typeof VENDORS)[number];

/** The gateway's key for each cloud: seen by that cloud alone, and by nobody else. */
export const VENDOR_KEYS: Readonly<Record<Vendor, string>> = {
  openai: "canary-of-openai-3b1f77c0e2",
  anthropic: "canary-of-anthropic-90d4a6e815",
  gemini: "canary-of-gemini-5ce8207bd4",
  compatible: "canary-of-compatible-a17f3390c6",
};

/** Where the API begins at each cloud. */
const BASE_PATHS: Readonly<Record<Vendor, string>> = {
  openai: "/v1",
  anthropic: "",
  gemini: "/v1beta",
  compatible: "/v1",
};

/** The real server before a simulated local engine and a simulator of every cloud. */
export interface VendorStage {
  readonly gateway: TestGateway;
  readonly local: TestSimulator;
  readonly clouds: Readonly<Record<Vendor, TestSimulator>>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts the gateway with every cloud's key, address and models set. Each cloud takes only its own key.
 *
 * @param models the models to offer of each cloud.
 * @param environment further settings.
 */
export async function startVendorStage(
  models: Readonly<Record<Vendor, readonly string[]>>,
  environment: Readonly<Record<string, string>> = {},
): Promise<VendorStage> {
  const start = (engine: Vendor) => startSimulator({ engine, apiKey: VENDOR_KEYS[engine] });
  const [local, openai, anthropic, gemini, compatible] = await Promise.all([
    startSimulator({ engine: "vllm" }),
    start("openai"),
    start("anthropic"),
    start("gemini"),
    start("compatible"),
  ]);
  const clouds = { openai, anthropic, gemini, compatible };
  const settings = VENDORS.flatMap((vendor) => {
    const prefix = vendor.toUpperCase();
    return [
      [`${prefix}_API_KEY`, VENDOR_KEYS[vendor]],
      [`${prefix}_BASE_URL`, clouds[vendor].url + BASE_PATHS[vendor]],
      [`${prefix}_MODELS`, models[vendor].join(",")],
    ];
  });
  const gateway = await startGateway({
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: local.url,
    ...Object.fromEntries(settings),
    ...environment,
  });
  const stop = async () => {
    await gateway.stop();
    await Promise.all([local, ...Object.values(clouds)].map((simulator) => simulator.stop()));
  };
  return { gateway, local, clouds, stop };
}
