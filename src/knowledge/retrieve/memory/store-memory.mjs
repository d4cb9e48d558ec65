// @ts-check
// The vectors and words of one vector store in memory: exact search by cosine, and by words with the weights of BM25.
import { innerProduct, innerProductsOf } from "./inner-products.mjs";
import { WordPostings } from "./word-postings.mjs";

/** @typedef {import("./memory-thread.ts").LoadedChunk} LoadedChunk */
/** @typedef {import("../searched-store.ts").Hit} Hit */
/** @typedef {import("./memory-thread.ts").Wanted} Wanted */

const BLOCK_BYTES = 4 * 1024 * 1024;
/** In the binary form of `real[]`: before the first element, and before each one. */
const ARRAY_HEADER_BYTES = 20;
const ELEMENT_HEADER_BYTES = 4;

export class StoreMemory {
  #dimensions;
  #blockChunks;
  /** @type {Float32Array[]} */
  #blocks = [];
  /** By chunk: its id in the database, and its file. */
  #ids = new Float64Array(256);
  #files = new Uint32Array(256);
  #count = 0;
  #products;
  #postings = new WordPostings();
  /** By chunk: what it got for its words in the search that runs; 0 in between. */
  #scores = new Float64Array(256);
  /** By file: 1 while it is in the store, and its chunks. */
  #isAlive = new Uint8Array(64);
  #fileChunks = new Uint32Array(64);
  #removed = 0;

  /** @param {number} dimensions */
  constructor(dimensions) {
    this.#dimensions = dimensions;
    this.#products = innerProductsOf(dimensions);
    this.#blockChunks = Math.max(1, Math.floor(BLOCK_BYTES / (dimensions * 4)));
  }

  /**
   * @param {readonly LoadedChunk[]} chunks
   * @returns the bytes that the store takes.
   */
  add(chunks) {
    for (const { id, file, vector, words } of chunks) {
      const chunk = this.#count;
      this.#place(chunk, file);
      this.#ids[chunk] = id;
      this.#files[chunk] = file;
      this.#readVector(chunk, Buffer.from(vector, "base64"));
      this.#postings.add(chunk, Buffer.from(words, "base64"));
      this.#isAlive[file] = 1;
      this.#fileChunks[file] = (this.#fileChunks[file] ?? 0) + 1;
      this.#count += 1;
    }
    return this.#bytes();
  }

  /**
   * Their chunks are no longer found; their memory is released with the store.
   *
   * @param {readonly number[]} files
   */
  removeFiles(files) {
    for (const file of files) {
      if (this.#isAlive[file] !== 1) continue;
      this.#isAlive[file] = 0;
      this.#removed += this.#fileChunks[file] ?? 0;
    }
    return this.#bytes();
  }

  /**
   * @param {readonly string[]} words
   * @returns how many chunks there are, and how many of them hold each word.
   */
  countWords(words) {
    const isAlive = this.#isAlive;
    const files = this.#files;
    const counts = words.map((word) => {
      if (this.#removed === 0) return this.#postings.count(word);
      let count = 0;
      this.#postings.forEach(word, (chunk) => {
        if (isAlive[/** @type {number} */ (files[chunk])] === 1) count += 1;
      });
      return count;
    });
    return { chunks: this.#count - this.#removed, counts };
  }

  /**
   * @param {Wanted} wanted
   * @returns {{ nearest: Hit[], worded: Hit[] }}
   */
  search({ vector, words, files, limit }) {
    const allowed = files === undefined ? this.#isAlive : this.#allowed(files);
    const nearest = new Best(limit);
    this.#scan(vector, allowed, nearest);
    const { scored, codes } = this.#scoreWords(words, allowed);
    const scores = this.#scores;
    const worded = new Best(limit);
    for (const chunk of scored) worded.offer(chunk, scores[chunk] ?? 0);
    const hitOf = (/** @type {number} */ chunk) => ({
      id: this.#ids[chunk] ?? 0,
      cosine: this.#cosine(vector, chunk),
      words: scores[chunk] ?? 0,
      hasCode: codes.has(chunk),
    });
    const hits = { nearest: nearest.items().map(hitOf), worded: worded.items().map(hitOf) };
    for (const chunk of scored) scores[chunk] = 0;
    return hits;
  }

  /**
   * @param {Wanted["words"]} words
   * @param {Uint8Array} allowed
   */
  #scoreWords(words, allowed) {
    const files = this.#files;
    const scores = this.#scores;
    /** @type {number[]} */
    const scored = [];
    /** @type {Set<number>} */
    const codes = new Set();
    for (const { word, weight, isCode } of words) {
      // A word of every chunk tells nothing.
      if (weight === 0) continue;
      this.#postings.forEach(word, (chunk, density) => {
        if (allowed[/** @type {number} */ (files[chunk])] !== 1) return;
        const before = /** @type {number} */ (scores[chunk]);
        if (before === 0) scored.push(chunk);
        scores[chunk] = before + weight * density;
        if (isCode) codes.add(chunk);
      });
    }
    return { scored, codes };
  }

  /** @param {Uint32Array} files */
  #allowed(files) {
    const allowed = new Uint8Array(this.#isAlive.length);
    for (const file of files) allowed[file] = this.#isAlive[file] ?? 0;
    return allowed;
  }

  /**
   * @param {Float32Array} question
   * @param {Uint8Array} allowed
   * @param {Best} best
   */
  #scan(question, allowed, best) {
    const files = this.#files;
    this.#products.ask(question);
    let first = 0;
    for (const block of this.#blocks) {
      const count = Math.min(this.#blockChunks, this.#count - first);
      this.#products.each(block, count, (index, product) => {
        const chunk = first + index;
        if (product > best.least && allowed[/** @type {number} */ (files[chunk])] === 1)
          best.offer(chunk, product);
      });
      first += count;
    }
  }

  /**
   * @param {Float32Array} question
   * @param {number} chunk
   */
  #cosine(question, chunk) {
    const { block, offset } = this.#placeOf(chunk);
    return innerProduct(question, block, offset, this.#dimensions);
  }

  /** @param {number} chunk */
  #placeOf(chunk) {
    const block = this.#blocks[Math.floor(chunk / this.#blockChunks)];
    if (block === undefined) throw new RangeError(`no chunk ${chunk}`);
    return { block, offset: (chunk % this.#blockChunks) * this.#dimensions };
  }

  /**
   * @param {number} chunk
   * @param {Buffer} bytes the output of `array_send`.
   */
  #readVector(chunk, bytes) {
    const { block, offset } = this.#placeOf(chunk);
    const stride = ELEMENT_HEADER_BYTES + 4;
    if (bytes.length !== ARRAY_HEADER_BYTES + this.#dimensions * stride)
      throw new Error("a vector of another length");
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = ARRAY_HEADER_BYTES + ELEMENT_HEADER_BYTES;
    for (let index = 0; index < this.#dimensions; index += 1, at += stride)
      block[offset + index] = view.getFloat32(at);
  }

  /**
   * @param {number} chunk
   * @param {number} file
   */
  #place(chunk, file) {
    if (chunk >= this.#blocks.length * this.#blockChunks)
      this.#blocks.push(new Float32Array(this.#blockChunks * this.#dimensions));
    if (chunk >= this.#ids.length) {
      this.#ids = grown(this.#ids, new Float64Array(this.#ids.length * 2));
      this.#files = grown(this.#files, new Uint32Array(this.#files.length * 2));
      this.#scores = new Float64Array(this.#ids.length);
    }
    if (file < this.#isAlive.length) return;
    const length = Math.max(file + 1, this.#isAlive.length * 2);
    this.#isAlive = grown(this.#isAlive, new Uint8Array(length));
    this.#fileChunks = grown(this.#fileChunks, new Uint32Array(length));
  }

  #bytes() {
    const vectors = this.#blocks.length * this.#blockChunks * this.#dimensions * 4;
    return vectors + this.#ids.length * 20 + this.#isAlive.length * 5 + this.#postings.bytes;
  }
}

/** The items with the highest scores, the best first. */
class Best {
  #limit;
  /** @type {number[]} */
  #items = [];
  /** @type {number[]} */
  #scores = [];
  /** An item needs a higher score than this. */
  least = Number.NEGATIVE_INFINITY;

  /** @param {number} limit */
  constructor(limit) {
    this.#limit = limit;
  }

  /**
   * @param {number} item
   * @param {number} score
   */
  offer(item, score) {
    if (!(score > this.least)) return;
    const scores = this.#scores;
    let at = scores.length;
    while (at > 0 && /** @type {number} */ (scores[at - 1]) < score) at -= 1;
    scores.splice(at, 0, score);
    this.#items.splice(at, 0, item);
    if (scores.length > this.#limit) {
      scores.pop();
      this.#items.pop();
    }
    if (scores.length === this.#limit) this.least = /** @type {number} */ (scores[this.#limit - 1]);
  }

  items() {
    return this.#items;
  }
}

/**
 * @template {Float64Array | Uint32Array | Uint8Array} List
 * @param {List} from
 * @param {List} to longer
 */
function grown(from, to) {
  to.set(/** @type {any} */ (from));
  return to;
}
