import { describe, expect, it } from "vitest";
import {
  InnerProducts,
  innerProductsOf,
} from "../../../../src/knowledge/retrieve/memory/inner-products.mjs";
import { createRandom } from "../../../support/faults/random.ts";

const random = createRandom(7);
const numbers = (length: number) => Float32Array.from({ length }, () => random() - 0.5);

const KINDS = [
  { kind: "in WebAssembly", make: innerProductsOf },
  { kind: "in plain JavaScript", make: (length: number) => new InnerProducts(length, undefined) },
];

describe.each(KINDS)("The inner products of a question $kind", ({ make }) => {
  // Lengths below, at and between whole turns; and counts in one portion, at its end, and in several.
  it.each([
    { dimensions: 1, count: 3 },
    { dimensions: 8, count: 1 },
    { dimensions: 13, count: 6_000 },
    { dimensions: 384, count: 170 },
    { dimensions: 768, count: 86 },
    { dimensions: 4_000, count: 40 },
    { dimensions: 100_000, count: 2 },
  ])("are right for $count vectors of $dimensions numbers", ({ dimensions, count }) => {
    const products = make(dimensions);
    // There is room for more vectors in the block than there are.
    const block = numbers(dimensions * (count + 1));
    for (const question of [numbers(dimensions), numbers(dimensions)]) {
      products.ask(question);
      const found: number[] = [];
      products.each(block, count, (index, product) => {
        expect(index).toBe(found.length);
        found.push(product);
      });
      expect(found).toHaveLength(count);
      for (const index of [0, Math.floor(count / 2), count - 1]) {
        const vector = block.subarray(index * dimensions, (index + 1) * dimensions);
        const wanted = vector.reduce((sum, one, place) => sum + one * (question[place] ?? 0), 0);
        expect(Math.abs((found[index] ?? Number.NaN) - wanted)).toBeLessThan(1e-3);
      }
    }
  });
});
