// @ts-check

const FIRST_LENGTH = 4_096;
/** BM25: how soon repetitions of a word count no more, and how far a long text is held against it. */
const SATURATION = 1.2;
const LENGTH_SHARE = 0.5;
const NONE = -1;

/**
 * Which chunks hold a word, and how often. Each word is a chain of entries in shared arrays, so that adding is cheap and
 * an entry takes 9 bytes. Words are known by a hash of 32 bits; two of a store's words rarely share one.
 */
export class WordPostings {
  /** @type {Map<number, number>} the first entry of each word. */
  #first = new Map();
  #chunks = new Int32Array(FIRST_LENGTH);
  #next = new Int32Array(FIRST_LENGTH);
  #times = new Uint8Array(FIRST_LENGTH);
  #count = 0;
  /** By chunk: its words. */
  #lengths = new Uint16Array(256);
  #lengthSum = 0;
  #texts = 0;

  /** Including about 40 bytes for the place of a word in the map. */
  get bytes() {
    return this.#chunks.length * 9 + this.#lengths.length * 2 + this.#first.size * 40;
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
    const bytes = Buffer.from(word);
    const mean = this.#lengthSum / Math.max(1, this.#texts);
    let entry = this.#first.get(hashOf(bytes, 0, bytes.length)) ?? NONE;
    while (entry !== NONE) {
      const chunk = this.#chunks[entry] ?? 0;
      const times = this.#times[entry] ?? 0;
      const length = (this.#lengths[chunk] ?? 0) / mean;
      const needed = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length);
      visit(chunk, (times * (SATURATION + 1)) / (times + needed));
      entry = this.#next[entry] ?? NONE;
    }
  }

  /**
   * @param {number} word
   * @param {number} chunk
   * @param {number} times
   */
  #append(word, chunk, times) {
    if (this.#count === this.#chunks.length) this.#grow();
    const entry = this.#count;
    this.#chunks[entry] = chunk;
    this.#times[entry] = Math.min(times, 255);
    this.#next[entry] = this.#first.get(word) ?? NONE;
    this.#first.set(word, entry);
    this.#count += 1;
  }

  #grow() {
    const length = this.#chunks.length * 2;
    const [chunks, next, times] = [this.#chunks, this.#next, this.#times];
    this.#chunks = new Int32Array(length);
    this.#next = new Int32Array(length);
    this.#times = new Uint8Array(length);
    this.#chunks.set(chunks);
    this.#next.set(next);
    this.#times.set(times);
  }
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
