import type { Settings } from "../../config/settings.ts";
import type { Log } from "../../lib/log.ts";
import type { Backend } from "../backend.ts";
import type { FetchImage } from "../images/fetch-image.ts";
import { withInlineImages } from "../images/inline-images.ts";
import type { Cloud } from "../models/trait-table.ts";
import { createReplayMemory } from "../replay/replay-memory.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { UpstreamBook } from "../upstream/upstream-figures.ts";
import { createAnthropic } from "./anthropic.ts";
import type { CloudSetup } from "./cloud.ts";
import { createCompatible } from "./compatible.ts";
import { createGoogle } from "./google.ts";
import { createOpenai } from "./openai.ts";

interface CloudKind {
  readonly name: Cloud;
  /** The prefix of its settings. */
  readonly prefix: "OPENAI" | "ANTHROPIC" | "GEMINI" | "COMPATIBLE";
  readonly credential: (key: string) => Readonly<Record<string, string>>;
  readonly create: (setup: CloudSetup, settings: Settings) => Backend;
  /** It does not fetch images by address, so the gateway does. */
  readonly inlinesImages?: true;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

const CLOUDS: readonly CloudKind[] = [
  { name: "openai", prefix: "OPENAI", credential: bearer, create: createOpenai },
  {
    name: "anthropic",
    prefix: "ANTHROPIC",
    credential: (key) => ({ "x-api-key": key }),
    create: createAnthropic,
  },
  // The key is in a header and not in the URL, which others may log.
  {
    name: "google",
    prefix: "GEMINI",
    credential: (key) => ({ "x-goog-api-key": key }),
    create: createGoogle,
    inlinesImages: true,
  },
  { name: "compatible", prefix: "COMPATIBLE", credential: bearer, create: createCompatible },
];

export interface CloudOptions {
  /** Shared by all clouds; the rest is specific to each. */
  readonly shared: Pick<Upstream, "client" | "clock" | "limits">;
  readonly fetchImage: FetchImage;
  readonly book: UpstreamBook;
  readonly log: Log;
}

/** Warns that only one of key and list of models is set, which offers no model. */
function warnOfHalf(log: Log, prefix: CloudKind["prefix"], hasKey: boolean): void {
  const [present, missing] = hasKey ? ["API_KEY", "MODELS"] : ["MODELS", "API_KEY"];
  const setting = `${prefix}_${missing}`;
  log.warn({ setting }, `${prefix}_${present} is set but ${setting} is not: no model is offered`);
}

/**
 * Creates the backends of the clouds that have a key, in the order of the specification's vendors. Warns when only one
 * of key and models is set.
 */
export function createCloudBackends(
  settings: Settings,
  { shared, fetchImage, book, log }: CloudOptions,
): readonly Backend[] {
  const backends: Backend[] = [];
  const memory = createReplayMemory(shared.clock);
  for (const { name, prefix, credential, create, inlinesImages } of CLOUDS) {
    const key = settings[`${prefix}_API_KEY`];
    const models = settings[`${prefix}_MODELS`];
    if ((key === undefined) !== (models.length === 0)) warnOfHalf(log, prefix, key !== undefined);
    if (key === undefined) continue;
    const address = settings[`${prefix}_BASE_URL`];
    const upstream = {
      ...shared,
      address,
      addressSetting: `${prefix}_BASE_URL`,
      headers: credential(key),
      secrets: [key],
      figures: book.open(name, address),
    };
    const forward = settings[`${prefix}_FORWARD`];
    const backend = create({ upstream, models, forward, memory }, settings);
    backends.push(inlinesImages ? withInlineImages(backend, fetchImage) : backend);
  }
  return backends;
}
