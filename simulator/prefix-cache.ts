import { renderPrompt } from "./content/render-prompt.ts";
import { tokenize } from "./content/tokenizer.ts";
import type { Turn } from "./content/turn.ts";

const BLOCK_TOKENS = 16;
/** A million tokens; the least recently used blocks are evicted first. */
const BLOCKS_LIMIT = 65_536;

/**
 * An engine's cache of the prompts it has read, in blocks of 16 tokens, as in vLLM. A block is identified by its
 * content and everything before it, so only a common prefix is reused.
 */
export class PrefixCache {
  readonly #blocks = new Set<number>();

  /** Returns the number of cached tokens of the turn's prompt, and caches all its complete blocks. */
  admit({ model, messages, tools }: Turn): number {
    const tokens = tokenize(renderPrompt(messages, tools));
    // The last token is always computed, because the answer starts from its output.
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

/** Returns a hash of 53 bits over the text and the preceding hash. */
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
