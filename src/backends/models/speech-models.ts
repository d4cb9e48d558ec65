import type { Upstream } from "../upstream/upstream.ts";
import { createKnownNames } from "./known-names.ts";
import { isNameOf, type ListedName } from "./list-names.ts";
import { isSpeechModelName } from "./model-traits.ts";

export interface SpeechModelsOptions {
  readonly upstream: Upstream;
  readonly listNames: (upstream: Upstream, signal: AbortSignal) => Promise<readonly ListedName[]>;
  /** The server only transcribes. It may load a model by name that it does not list. */
  readonly isDedicated: boolean;
}

const LIST_TIMEOUT_MS = 15_000;

export interface SpeechModels {
  /**
   * Returns the model to request for the name in a client's request. A listed name is used as it is. A missing name
   * becomes the server's first transcription model. So does an unknown one, unless the server is dedicated and may know
   * it anyway. If the list is inconclusive, the name is passed on and the server decides. Never rejects.
   */
  readonly modelFor: (word: string | undefined) => Promise<string | undefined>;
  /** Returns whether the server's last list contains a model of exactly this name. */
  readonly isListed: (model: string) => boolean;
}

/** Creates the model list of a transcription server. */
export function createSpeechModels(options: SpeechModelsOptions): SpeechModels {
  const { upstream, listNames, isDedicated } = options;
  const known = createKnownNames(
    () => listNames(upstream, AbortSignal.timeout(LIST_TIMEOUT_MS)),
    upstream.clock,
  );
  return {
    isListed: (model) => known.now().some(({ name }) => name === model),
    async modelFor(word) {
      const settled = known.settled();
      const find = () => known.now().find(({ name }) => word !== undefined && isNameOf(name, word));
      if (find() === undefined) await settled;
      const listed = find();
      if (listed !== undefined) return listed.name;
      if (word !== undefined && isDedicated) return word;
      const only = isDedicated ? known.now()[0] : undefined;
      return (known.now().find(transcribes) ?? only)?.name ?? word;
    },
  };
}

function transcribes({ name, capabilities }: ListedName): boolean {
  return isSpeechModelName(name) || capabilities?.includes("audio") === true;
}
