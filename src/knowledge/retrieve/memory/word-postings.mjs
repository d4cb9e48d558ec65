// @ts-check

const FIRST_LENGTH = 4_096;
/** BM25: how soon repetitions of a word count no more, and how far a long text is held against it. */
const SATURATION = 1.2;
const LENGTH_SHARE = 0.5;
/** A word's blocks have 1, 2, 4 and so on entries, up to this number. */
const BLOCK_MAX = 1_024;
/** What is kept of a word: its first block, its entries, its last block, that one's length, and the entries in it. */
const WORD_NUMBERS = 5;

/**
 * Which chunks hold a word, and how often. A word's entries lie in blocks, which are read from end to end; behind each
 * block is the place of the next one. An entry takes 5 bytes. Words are known by a hash of 32 bits; two of a store's
 * words rarely share one.
 */
export class WordPostings {
  /** @type {Map<number, number>} the number of each word. */
  #numbers = new Map();
  #words = new Int32Array(FIRST_LENGTH);
  #chunks = new Int32Array(FIRST_LENGTH);
  #times = new Uint8Array(FIRST_LENGTH);
  /** Where the next block begins. */
  #end = 0;
  /** By chunk: its words. */
  #lengths = new Uint16Array(256);
  #lengthSum = 0;
  #texts = 0;

  /** Including about 40 bytes for the place of a word in the map. */
  get bytes() {
    return (
      this.#chunks.length * 5 +
      this.#words.length * 4 +
      this.#lengths.length * 2 +
      this.#numbers.size * 40
    );
  }

  /**
   * @param {string} word
   * @returns the number of chunks that hold it.
   */
  count(word) {
    const at = this.#numberOf(word);
    return at === undefined ? 0 : (this.#words[at + 1] ?? 0);
  }

  /**
   * @param {number} chunk
   * @param {Buffer} words the output of `tsvectorsend`: the number of words, and of each the text, a zero byte, the
   *   number of its positions, and these, in 2 bytes each.
   */
  add(chunk, words) {
    let length = 0;
    let at = 4;
    for (let left = words.readInt32BE(0); left > 0; left -= 1) {
      const end = words.indexOf(0, at);
      const times = words.readUInt16BE(end + 1);
      this.#append(hashOf(words, at, end), chunk, Math.max(1, times));
      length += Math.max(1, times);
      at = end + 3 + times * 2;
    }
    if (chunk >= this.#lengths.length) {
      const lengths = new Uint16Array(this.#lengths.length * 2);
      lengths.set(this.#lengths);
      this.#lengths = lengths;
    }
    this.#lengths[chunk] = Math.min(length, 65_535);
    this.#lengthSum += length;
    this.#texts += 1;
  }

  /**
   * Calls back with each chunk that holds the word, and with how much the text is about it: more for each repetition,
   * less for a long text, below `SATURATION + 1`.
   *
   * @param {string} word
   * @param {(chunk: number, density: number) => void} visit
   */
  forEach(word, visit) {
    const at = this.#numberOf(word);
    if (at === undefined) return;
    const mean = this.#lengthSum / Math.max(1, this.#texts);
    let block = this.#words[at] ?? 0;
    let length = 1;
    for (let left = this.#words[at + 1] ?? 0; left > 0; ) {
      const end = block + Math.min(left, length);
      for (let entry = block; entry < end; entry += 1) {
        const chunk = this.#chunks[entry] ?? 0;
        const times = this.#times[entry] ?? 0;
        const share = (this.#lengths[chunk] ?? 0) / mean;
        const needed = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * share);
        visit(chunk, (times * (SATURATION + 1)) / (times + needed));
      }
      left -= end - block;
      block = this.#chunks[block + length] ?? 0;
      length = Math.min(BLOCK_MAX, length * 2);
    }
  }

  /** @param {string} word */
  #numberOf(word) {
    const bytes = Buffer.from(word);
    return this.#numbers.get(hashOf(bytes, 0, bytes.length));
  }

  /**
   * @param {number} hash
   * @param {number} chunk
   * @param {number} times
   */
  #append(hash, chunk, times) {
    const at = this.#numbers.get(hash) ?? this.#addWord(hash);
    const words = this.#words;
    let block = words[at + 2] ?? 0;
    let length = words[at + 3] ?? 1;
    let used = words[at + 4] ?? 0;
    if (used === length) {
      length = Math.min(BLOCK_MAX, length * 2);
      const next = this.#addBlock(length);
      this.#chunks[block + used] = next;
      [block, used] = [next, 0];
      words[at + 2] = block;
      words[at + 3] = length;
    }
    this.#chunks[block + used] = chunk;
    this.#times[block + used] = Math.min(times, 255);
    words[at + 1] = (words[at + 1] ?? 0) + 1;
    words[at + 4] = used + 1;
  }

  /** @param {number} hash */
  #addWord(hash) {
    const at = this.#numbers.size * WORD_NUMBERS;
    if (at + WORD_NUMBERS > this.#words.length) this.#words = grown(this.#words, Int32Array);
    const block = this.#addBlock(1);
    this.#words.set([block, 0, block, 1, 0], at);
    this.#numbers.set(hash, at);
    return at;
  }

  /** @param {number} length */
  #addBlock(length) {
    const block = this.#end;
    this.#end += length + 1;
    while (this.#end > this.#chunks.length) {
      this.#chunks = grown(this.#chunks, Int32Array);
      this.#times = grown(this.#times, Uint8Array);
    }
    return block;
  }
}

/**
 * @template {Int32Array | Uint8Array} List
 * @param {List} list
 * @param {new (length: number) => List} Kind
 * @returns {List} a list of twice the length.
 */
function grown(list, Kind) {
  const longer = new Kind(list.length * 2);
  longer.set(list);
  return longer;
}

/**
 * FNV-1a, of 32 bits.
 *
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 */
function hashOf(bytes, start, end) {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1)
    hash = Math.imul(hash ^ /** @type {number} */ (bytes[at]), 0x01000193);
  return hash | 0;
}
