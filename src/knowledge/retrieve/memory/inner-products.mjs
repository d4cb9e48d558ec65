// @ts-check
// The inner products of a question with many vectors, in WebAssembly: it multiplies four numbers with one instruction,
// which JavaScript has no way to ask for. Vectors are copied into its memory by portions that stay in the processor's
// cache, so that stores need no memory of its kind.

const PAGE_BYTES = 65_536;
/** Four pages of vectors, or one vector that is longer. */
const PORTION_BYTES = 4 * PAGE_BYTES;
const NUMBER_BYTES = 4;
/** The loop takes two times four numbers a turn. */
const TURN_NUMBERS = 8;

/**
 * `(question, vectors, end, bytes, products)`, all addresses or lengths in bytes: multiplies the question with each vector
 * of `bytes` from `vectors` to `end`, and writes one number for each to `products`.
 */
const MODULE = Uint8Array.of(
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  // Types: one function of five i32 that returns nothing.
  ...[0x01, 0x09, 0x01, 0x60, 0x05, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x00],
  // Imports: the memory "m" "m", from one page.
  ...[0x02, 0x08, 0x01, 0x01, 0x6d, 0x01, 0x6d, 0x02, 0x00, 0x01],
  ...[0x03, 0x02, 0x01, 0x00],
  // Exports: the function as "f".
  ...[0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00],
  ...[0x0a, 0xa1, 0x01, 0x01, 0x9e, 0x01],
  // Locals: 5 the place in the question (i32); 6 and 7 the sums (v128).
  ...[0x02, 0x01, 0x7f, 0x02, 0x7b],
  // A block that is left when vectors >= end, and in it a loop over the vectors.
  ...[0x02, 0x40, 0x03, 0x40, 0x20, 0x01, 0x20, 0x02, 0x4f, 0x0d, 0x01],
  // The place is the question's begin; both sums are 0.
  ...[0x20, 0x00, 0x21, 0x05],
  ...[0xfd, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x22, 0x06, 0x21, 0x07],
  // A loop over the numbers: sum += question[place] * vector[place], four at a time, twice.
  ...[0x03, 0x40],
  ...[0x20, 0x06, 0x20, 0x05, 0xfd, 0x00, 0x04, 0x00, 0x20, 0x01, 0xfd, 0x00, 0x04, 0x00],
  ...[0xfd, 0xe6, 0x01, 0xfd, 0xe4, 0x01, 0x21, 0x06],
  ...[0x20, 0x07, 0x20, 0x05, 0xfd, 0x00, 0x04, 0x10, 0x20, 0x01, 0xfd, 0x00, 0x04, 0x10],
  ...[0xfd, 0xe6, 0x01, 0xfd, 0xe4, 0x01, 0x21, 0x07],
  // Both places move on by 32 bytes, until the question's end.
  ...[0x20, 0x01, 0x41, 0x20, 0x6a, 0x21, 0x01, 0x20, 0x05, 0x41, 0x20, 0x6a, 0x22, 0x05],
  ...[0x20, 0x00, 0x20, 0x03, 0x6a, 0x49, 0x0d, 0x00, 0x0b],
  // products[0] = the four numbers of both sums together; products moves on.
  ...[0x20, 0x04, 0x20, 0x06, 0x20, 0x07, 0xfd, 0xe4, 0x01, 0x22, 0x06],
  ...[0xfd, 0x1f, 0x00, 0x20, 0x06, 0xfd, 0x1f, 0x01, 0x92],
  ...[0x20, 0x06, 0xfd, 0x1f, 0x02, 0x92, 0x20, 0x06, 0xfd, 0x1f, 0x03, 0x92, 0x38, 0x02, 0x00],
  ...[0x20, 0x04, 0x41, 0x04, 0x6a, 0x21, 0x04, 0x0c, 0x00, 0x0b, 0x0b, 0x0b],
);

/** Undefined where the processor lacks these instructions, or the runtime has no WebAssembly. */
const program = compile();
/** @type {Map<number, InnerProducts>} */
const shared = new Map();

/**
 * Returns what multiplies vectors of a length. All stores share it: a question of `ask` holds until the next one, and a
 * search is not interrupted by another.
 *
 * @param {number} dimensions
 */
export function innerProductsOf(dimensions) {
  const known = shared.get(dimensions) ?? new InnerProducts(dimensions, program);
  shared.set(dimensions, known);
  return known;
}

/** Multiplies one question with vectors of its length. */
export class InnerProducts {
  #dimensions;
  /** With zeros at the end, up to a whole number of turns. */
  #stride;
  #portion;
  /** @type {((question: number, vectors: number, end: number, bytes: number, products: number) => void) | undefined} */
  #multiply;
  /** The question, a portion of vectors, and their products. */
  #numbers;

  /**
   * @param {number} dimensions
   * @param {WebAssembly.Module | undefined} module undefined: in plain JavaScript.
   */
  constructor(dimensions, module) {
    this.#dimensions = dimensions;
    this.#stride = Math.ceil(dimensions / TURN_NUMBERS) * TURN_NUMBERS;
    const bytes = this.#stride * NUMBER_BYTES;
    this.#portion = Math.max(1, Math.floor(PORTION_BYTES / bytes));
    const needed = bytes + this.#portion * (bytes + NUMBER_BYTES);
    const made = module && instantiate(module, Math.ceil(needed / PAGE_BYTES));
    this.#multiply = made?.multiply;
    this.#numbers = made?.numbers ?? new Float32Array(dimensions);
  }

  /** @param {Float32Array} question for all calls of `each` until the next one */
  ask(question) {
    this.#numbers.set(question);
  }

  /**
   * Calls back with the number of each vector of a block and its product.
   *
   * @param {Float32Array} block vectors, one after another
   * @param {number} count
   * @param {(index: number, product: number) => void} visit
   */
  each(block, count, visit) {
    const numbers = this.#numbers;
    const stride = this.#stride;
    const dimensions = this.#dimensions;
    const multiply = this.#multiply;
    if (multiply === undefined) {
      for (let index = 0; index < count; index += 1)
        visit(index, innerProduct(numbers, block, index * dimensions, dimensions));
      return;
    }
    const products = stride * (1 + this.#portion);
    for (let from = 0; from < count; from += this.#portion) {
      const to = Math.min(count, from + this.#portion);
      if (stride === dimensions)
        numbers.set(block.subarray(from * dimensions, to * dimensions), stride);
      else
        for (let index = from; index < to; index += 1) {
          const at = index * dimensions;
          numbers.set(block.subarray(at, at + dimensions), stride * (1 + index - from));
        }
      const bytes = stride * NUMBER_BYTES;
      multiply(0, bytes, bytes * (1 + to - from), bytes, products * NUMBER_BYTES);
      for (let index = from; index < to; index += 1)
        visit(index, /** @type {number} */ (numbers[products + index - from]));
    }
  }
}

/**
 * @param {Float32Array} question
 * @param {Float32Array} vectors
 * @param {number} offset
 * @param {number} dimensions
 */
export function innerProduct(question, vectors, offset, dimensions) {
  let sum = 0;
  for (let index = 0; index < dimensions; index += 1)
    sum +=
      /** @type {number} */ (question[index]) * /** @type {number} */ (vectors[offset + index]);
  return sum;
}

function compile() {
  try {
    return new WebAssembly.Module(MODULE);
  } catch {
    return undefined;
  }
}

/**
 * @param {WebAssembly.Module} module
 * @param {number} pages
 * @returns undefined where the process may take no such memory: a runtime reserves gigabytes of addresses for it.
 */
function instantiate(module, pages) {
  try {
    const memory = new WebAssembly.Memory({ initial: pages });
    const { exports } = new WebAssembly.Instance(module, { m: { m: memory } });
    const multiply = /** @type {any} */ (exports["f"]);
    return { multiply, numbers: new Float32Array(memory.buffer) };
  } catch {
    return undefined;
  }
}
