import { renderPrompt } from "./content/render-prompt.ts";
import { tokenize } from "./content/tokenizer.ts";
import type { Turn } from "./content/turn.ts";

const BLOCK_TOKENS = 16;
/** A million tokens; the blocks that were not needed for longest go first. */
const BLOCKS_LIMIT = 65_536;

/**
 * What an engine keeps of the prompts it has read, in blocks of 16 tokens, as vLLM does. A block is known by itself and
 * by all that stands before it, so that only a common beginning is found again.
 */
export class PrefixCache {
  readonly #blocks = new Set<number>();

  /** Tokens of the turn's prompt that were there already. From now on all its whole blocks are. */
  admit({ model, messages, tools }: Turn): number {
    const tokens = tokenize(renderPrompt(messages, tools));
    // The last token is always computed: the answer begins with what comes out of it.
    const reusable = Math.floor((tokens.length - 1) / BLOCK_TOKENS);
    let key = hashText(0, model.name);
    let found = 0;
    for (let block = 0; (block + 1) * BLOCK_TOKENS <= tokens.length; block += 1) {
      const at = block * BLOCK_TOKENS;
      key = hashText(key, tokens.slice(at, at + BLOCK_TOKENS).join(""));
      const isKnown = this.#blocks.delete(key);
      if (isKnown && found === block && block < reusable) found += 1;
      this.#blocks.add(key);
    }
    this.#forgetOldest();
    return found * BLOCK_TOKENS;
  }

  clear(): void {
    this.#blocks.clear();
  }

  #forgetOldest(): void {
    for (const oldest of this.#blocks) {
      if (this.#blocks.size <= BLOCKS_LIMIT) return;
      this.#blocks.delete(oldest);
    }
  }
}

/** A hash of 53 bits of the text and of what came before it. */
function hashText(before: number, text: string): number {
  let low = 0x811c9dc5 ^ before;
  let high = 0x9e3779b9 ^ Math.floor(before / 2 ** 32);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b) ^ (high >>> 13);
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}
