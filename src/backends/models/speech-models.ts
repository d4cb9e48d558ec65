import type { Upstream } from "../upstream/upstream.ts";
import { createKnownNames } from "./known-names.ts";
import { isNameOf, type ListedName } from "./list-names.ts";
import { isSpeechModelName } from "./model-traits.ts";

export interface SpeechModelsOptions {
  readonly upstream: Upstream;
  readonly listNames: (upstream: Upstream, signal: AbortSignal) => Promise<readonly ListedName[]>;
  /** The server is there to transcribe, and may load a model that it does not list when it is named. */
  readonly isDedicated: boolean;
}

const LIST_TIMEOUT_MS = 15_000;

export interface SpeechModels {
  /**
   * The model that is asked for by a client's word. A listed name stands. For a missing one the server's first model
   * that transcribes is named, and for an unknown one too, unless the server is there to transcribe and may know it all
   * the same. Where the list does not tell, the word stands and the server decides. Never rejects.
   */
  readonly modelFor: (word: string | undefined) => Promise<string | undefined>;
  /** Whether the server lists a model of exactly this name, as it was last heard of. */
  readonly isListed: (model: string) => boolean;
}

/** The models of the server that transcribes. */
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
