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
  /** Of its settings. */
  readonly prefix: "OPENAI" | "ANTHROPIC" | "GEMINI" | "COMPATIBLE";
  readonly credential: (key: string) => Readonly<Record<string, string>>;
  readonly create: (setup: CloudSetup, settings: Settings) => Backend;
  /** It takes no images by their address, so that the gateway fetches them. */
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
  // In a header and never in the address, which others may log.
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
  /** What all calls have in common; the rest is the cloud's own. */
  readonly shared: Pick<Upstream, "client" | "clock" | "limits">;
  readonly fetchImage: FetchImage;
  readonly book: UpstreamBook;
  readonly log: Log;
}

/** Neither a key nor a list of models is of any use alone. */
function warnOfHalf(log: Log, prefix: CloudKind["prefix"], hasKey: boolean): void {
  const [present, missing] = hasKey ? ["API_KEY", "MODELS"] : ["MODELS", "API_KEY"];
  const setting = `${prefix}_${missing}`;
  log.warn({ setting }, `${prefix}_${present} is set but ${setting} is not: no model is offered`);
}

/** The clouds that have a key, in the order of the specification's vendors. Warns of a key that opens nothing. */
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
    const upstream = {
      ...shared,
      address: settings[`${prefix}_BASE_URL`],
      addressSetting: `${prefix}_BASE_URL`,
      headers: credential(key),
      secrets: [key],
      figures: book.open(name),
    };
    const forward = settings[`${prefix}_FORWARD`];
    const backend = create({ upstream, models, forward, memory }, settings);
    backends.push(inlinesImages ? withInlineImages(backend, fetchImage) : backend);
  }
  return backends;
}
